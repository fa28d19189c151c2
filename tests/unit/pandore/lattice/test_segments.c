#include <math.h>
#include <string.h>

#include "brute.h"
#include "harness/tap.h"
#include "pandore/lattice/enumerate.h"
#include "pandore/lattice/lattice.h"

static struct sn_lattice_answer answer_for(const struct sn_execution *execution)
{
	struct sn_lattice_budget budget = { 0 };
	struct sn_lattice_answer answer;

	sn_lattice_answer_make(execution, &budget, &answer);
	return answer;
}

TEST(figure_2_is_narrow_at_both_ends)
{
	struct sn_execution *execution = figure_2(false);
	struct sn_lattice_answer answer = answer_for(execution);
	const struct sn_segment *segment = answer.segments.items.items;

	REQUIRE(answer.segments.items.count == 2);
	CHECK_INT(segment->level_first, 0);
	CHECK_INT(segment->level_last, 0);
	CHECK_REAL(segment->mean_out_degree, 1, 1e-12);
	REQUIRE(segment->enabled.count == 1 && segment->blocked.count == 1);
	CHECK_STRING(execution->events[segment->enabled.items[0].event].label, "a");
	CHECK_STRING(execution->events[segment->blocked.items[0].event].label, "e");
	CHECK_STRING(execution->events[segment->blocked.items[0].waits_for].label, "a");
	CHECK_INT(segment[1].level_first, 7);
	CHECK_INT(segment[1].enabled.count, 2); /* d or h, whichever is left */
	CHECK_INT(segment[1].blocked.count, 0);
	sn_lattice_answer_free(&answer);
	sn_execution_free(execution);
}

/* For every level by itself, what the definition says of all its cuts. */
struct looking {
	const struct sn_lattice_order *order;
	const struct sn_segment *segment;
	uint8_t *enabled; /* by row */
	uint8_t *blocked; /* by row * P + process waited for */
};

static bool look(void *context, const uint32_t *cut, uint32_t level)
{
	struct looking *l = context;
	uint32_t processes = l->order->process_count;

	if (level < l->segment->level_first || level > l->segment->level_last)
		return true;
	for (uint32_t p = 0; p < processes; p++) {
		const uint32_t *past = sn_lattice_past(l->order, p, cut[p] + 1);
		uint32_t row = l->order->base[p] + cut[p] + 1;
		bool is_possible = true;

		if (cut[p] == l->order->counts[p])
			continue;
		for (uint32_t q = 0; q < processes; q++)
			if (q != p && past[q] > cut[q]) {
				is_possible = false;
				l->blocked[(size_t)row * processes + q] = 1;
			}
		l->enabled[row] |= is_possible;
	}
	return true;
}

/* The lists of a segment against a visit of every cut. */
static bool lists_agree(const struct sn_execution *execution, const struct sn_segment *segment)
{
	const struct sn_lattice_order *order = &execution->observed;
	uint32_t rows = order->base[order->process_count], seen = 0;
	struct looking l = { order, segment, sn_alloc_zeroed(rows + 1, 1),
			     sn_alloc_zeroed(((size_t)rows + 1) * order->process_count, 1) };
	bool holds = true;

	sn_lattice_enumerate_cuts(order, look, &l);
	for (uint32_t row = 0; row < rows; row++)
		seen += l.enabled[row];
	holds = seen == segment->enabled.count;
	for (size_t i = 0; i < segment->enabled.count; i++) {
		const struct sn_execution_event *event =
			&execution->events[segment->enabled.items[i].event];

		holds = holds && l.enabled[order->base[event->process] + event->index + 1];
	}
	for (size_t i = 0; i < segment->blocked.count; i++) {
		const struct sn_execution_event *event =
			&execution->events[segment->blocked.items[i].event];
		uint32_t q = execution->events[segment->blocked.items[i].waits_for].process;
		size_t row = order->base[event->process] + event->index + 1;

		holds = holds && l.blocked[row * order->process_count + q] == 1;
		l.blocked[row * order->process_count + q] = 2;
	}
	/* What is blocked must be listed with one wait at least. */
	for (uint32_t row = 0; row < rows; row++) {
		bool waits = false, listed = false;

		for (uint32_t q = 0; q < order->process_count; q++) {
			waits |= l.blocked[(size_t)row * order->process_count + q] > 0;
			listed |= l.blocked[(size_t)row * order->process_count + q] == 2;
		}
		holds = holds && waits == listed;
	}
	free(l.enabled);
	free(l.blocked);
	return holds;
}

TEST(who_acts_and_who_waits_is_what_the_cuts_of_a_segment_say)
{
	struct sn_random random;
	int segments = 0;

	sn_random_seed(&random, 7);
	for (int round = 0; round < 300; round++) {
		struct made made = made_any(&random);
		struct sn_execution *execution = made_execution(&made);
		struct sn_lattice_answer answer = answer_for(execution);

		for (size_t s = 0; s < answer.segments.items.count; s++, segments++)
			REQUIRE(lists_agree(execution, &answer.segments.items.items[s]));
		sn_lattice_answer_free(&answer);
		sn_execution_free(execution);
		made_free(&made);
	}
	CHECK(segments > 300);
}

/* Two rounds of two processes that meet after each; event `slow` takes 10 s, the others 1 s. */
static struct sn_execution *rounds_with(uint32_t slow)
{
	struct sn_execution_builder builder = { .process_count = 2 };
	struct sn_execution *execution = NULL;

	for (uint32_t i = 0; i < 4; i++) {
		struct sn_lattice_ref other = { 1 - i % 2, 0 };
		struct sn_lattice_event event = { .process = i % 2,
						  .index = i / 2,
						  .is_observed = true,
						  .duration_s = i == slow ? 10 : 1,
						  .start_s = NAN,
						  .after = &other,
						  .after_count = i / 2 };

		sn_execution_builder_add(&builder, &event);
	}
	REQUIRE(sn_execution_build(&builder, &execution, NULL) == SN_OK);
	return execution;
}

TEST(one_long_event_tells_two_equal_lattices_apart)
{
	struct sn_execution *early = rounds_with(0), *late = rounds_with(3);
	struct sn_lattice_answer first = answer_for(early), second = answer_for(late);

	CHECK_INT(*first.profile.windows.items[0].counts.cuts,
		  *second.profile.windows.items[0].counts.cuts);
	CHECK_REAL(first.schedule.work_s, 13, 1e-12);
	CHECK_REAL(first.schedule.critical_s, 11, 1e-12);
	REQUIRE(first.segments.items.count && second.segments.items.count);
	CHECK(first.segments.items.items[0].is_by_time);
	CHECK_INT(first.segments.items.items[0].level_first, 1);
	CHECK_INT(second.segments.items.items[0].level_first, 3);
	CHECK_REAL(first.segments.items.items[0].time_lost_s, 9, 1e-12);
	CHECK_REAL(second.segments.items.items[0].time_lost_s, 9, 1e-12);
	/* Process 1 idles for event 0 of process 0 in the one; nobody waits in the other. */
	CHECK_INT(first.segments.items.items[0].blocked.count, 1);
	CHECK_REAL(first.segments.items.items[0].blocked.items[0].seconds, 9, 1e-12);
	CHECK_INT(second.segments.items.items[0].blocked.count, 0);
	sn_lattice_answer_free(&first);
	sn_lattice_answer_free(&second);
	sn_execution_free(early);
	sn_execution_free(late);
}

TEST(over_budget_the_answer_is_windows_in_time)
{
	struct sn_random random;
	struct sn_lattice_budget budget = { .states = 3000, .seconds = 0.5 };
	struct sn_lattice_answer answer;
	struct sn_execution *execution;
	uint32_t known = 0;
	struct made made;

	sn_random_seed(&random, 3);
	made = made_random(&random, 12, 3000, 0.5, 0);
	execution = made_execution(&made);
	sn_lattice_answer_make(execution, &budget, &answer);
	CHECK(!sn_lattice_answer_is_exact(&answer));
	CHECK_STRING(answer.profile.stopped_by, "states");
	CHECK(answer.profile.windows.count > 3);
	CHECK(answer.profile.seconds < 10);
	for (uint32_t k = 0; k < answer.profile.level_count; k++)
		known += !isnan(answer.profile.level_mean[k]);
	CHECK(known > 300);
	for (size_t w = 0; w < answer.profile.windows.count; w++) {
		const struct sn_lattice_window *window = &answer.profile.windows.items[w];

		CHECK_INT(window->counts.levels[0], 1);
		CHECK_INT(window->counts.level_count, window->level_last - window->level_first + 1);
	}
	sn_lattice_answer_free(&answer);
	sn_execution_free(execution);
	made_free(&made);
}
