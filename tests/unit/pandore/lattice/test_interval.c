#include <string.h>

#include "base/map.h"
#include "executions.h"
#include "harness/tap.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/lattice.h"

#include "brute.h"
#include "pandore/lattice/enumerate.h"

TEST(figure_2a_has_15_cuts)
{
	static const uint32_t LEVELS[] = { 1, 1, 2, 2, 2, 2, 2, 2, 1 };
	static const uint32_t LEVEL_ARCS[] = { 1, 2, 3, 3, 3, 3, 3, 2, 0 };
	struct sn_execution *execution = figure_2(false);
	struct sn_interval_counts counts = count_all(&execution->observed);

	CHECK_INT(*counts.cuts, 15);
	CHECK_INT(*counts.arcs, 20);
	for (int k = 0; k <= 8; k++) {
		CHECK_INT(counts.levels[k], LEVELS[k]);
		CHECK_INT(counts.level_arcs[k], LEVEL_ARCS[k]);
	}
	CHECK_INT(counts.degrees[0], 1);
	CHECK_INT(counts.degrees[1], 8);
	CHECK_INT(counts.degrees[2], 6);
	sn_interval_counts_free(&counts);
	sn_execution_free(execution);
}

TEST(figure_2b_has_8_cuts)
{
	static const uint32_t LEVELS[] = { 1, 2, 2, 2, 1 };
	struct sn_execution *execution = figure_2(true);
	struct sn_interval_counts counts = count_all(&execution->observed);

	CHECK_INT(*counts.cuts, 8);
	CHECK_INT(*counts.arcs, 10);
	for (int k = 0; k <= 4; k++)
		CHECK_INT(counts.levels[k], LEVELS[k]);
	CHECK_INT(counts.degrees[1], 4);
	CHECK_INT(counts.degrees[2], 3);
	sn_interval_counts_free(&counts);
	sn_execution_free(execution);
}

TEST(a_stencil_of_16_processes_has_the_known_number_of_cuts)
{
	struct made made = made_stencil(16, 2000, 5);
	struct sn_execution *execution = made_execution(&made);
	struct sn_interval_counts counts = count_all(&execution->observed);
	struct sn_text text = { 0 };

	sn_limbs_add_decimal(&text, counts.cuts, counts.limbs);
	CHECK_STRING(text.chars, "26439628355233251");
	sn_text_free(&text);
	sn_interval_counts_free(&counts);
	sn_execution_free(execution);
	made_free(&made);
}

/* (m + 1)^P cuts, P m (m + 1)^(P - 1) arcs: 600 bits of them. */
TEST(independent_processes_have_the_closed_form_in_any_size)
{
	enum { P = 60, M = 1000 };
	struct made made = { P, 0, sn_alloc_zeroed(P * M, sizeof(struct made_event)) };
	struct sn_text text = { 0 }, want = { 0 };
	struct sn_interval_counts counts;
	struct sn_execution *execution;
	uint64_t power[16] = { 1 }, next[16];

	for (uint32_t p = 0; p < P; p++)
		for (uint32_t i = 0; i < M; i++)
			made_next(&made, p, i);
	execution = made_execution(&made);
	counts = count_all(&execution->observed);
	for (int p = 0; p < P; p++) {
		memset(next, 0, sizeof(next));
		sn_limbs_add_times(next, power, M + 1, 1, 16);
		memcpy(power, next, sizeof(power));
	}
	sn_limbs_add_decimal(&text, counts.cuts, counts.limbs);
	sn_limbs_add_decimal(&want, power, 16);
	CHECK_STRING(text.chars, want.chars);
	CHECK_INT(strlen(text.chars), 181);
	sn_text_free(&text);
	sn_text_free(&want);
	sn_interval_counts_free(&counts);
	sn_execution_free(execution);
	made_free(&made);
}

TEST(a_thousand_random_executions_agree_with_brute_force)
{
	struct sn_random random;

	sn_random_seed(&random, 1);
	for (int round = 0; round < 1000; round++) {
		struct made made = made_any(&random);
		struct sn_execution *execution;
		struct brute brute;

		made_shuffle(&made, &random); /* whatever the order of arrival */
		execution = made_execution(&made);
		brute = brute_count(&made);
		REQUIRE(agrees_with_counts(&brute, &execution->observed));
		REQUIRE(agrees_with_profile(&brute, &execution->observed));
		brute_free(&brute);
		sn_execution_free(execution);
		made_free(&made);
	}
}

/* What a visit of all cuts sees between two of them. */
struct between {
	const struct sn_lattice_order *order;
	uint32_t a[8], b[8], level_of_a;
	struct brute seen;
};

static bool look_between(void *context, const uint32_t *cut, uint32_t level)
{
	struct between *w = context;
	uint32_t degree = 0, next[8];

	for (uint32_t p = 0; p < w->order->process_count; p++)
		if (cut[p] < w->a[p] || cut[p] > w->b[p])
			return true;
	for (uint32_t p = 0; p < w->order->process_count; p++) {
		const uint32_t *past;
		bool holds = cut[p] < w->b[p];

		memcpy(next, cut, w->order->process_count * sizeof(uint32_t));
		past = sn_lattice_past(w->order, p, cut[p] + holds);
		for (uint32_t q = 0; q < w->order->process_count; q++)
			holds = holds && (q == p || past[q] <= next[q]);
		degree += holds;
	}
	w->seen.cuts++;
	w->seen.arcs += degree;
	w->seen.levels[level - w->level_of_a]++;
	w->seen.level_arcs[level - w->level_of_a] += degree;
	w->seen.degrees[degree]++;
	return true;
}

/* A consistent cut that contains `lowest`: the past of an event of each process by chance. */
static uint32_t random_cut(struct sn_random *random, const struct sn_lattice_order *order,
			   const uint32_t *lowest, uint32_t *cut)
{
	uint32_t level = 0;

	memcpy(cut, lowest, order->process_count * sizeof(uint32_t));
	for (uint32_t p = 0; p < order->process_count; p++) {
		uint32_t c = (uint32_t)sn_random_below(random, order->counts[p] + 1ull);

		for (uint32_t q = 0; q < order->process_count; q++)
			if (sn_lattice_past(order, p, c)[q] > cut[q])
				cut[q] = sn_lattice_past(order, p, c)[q];
	}
	for (uint32_t p = 0; p < order->process_count; p++)
		level += cut[p];
	return level;
}

TEST(counts_between_any_two_cuts_agree_with_a_visit)
{
	struct sn_random random;

	sn_random_seed(&random, 5);
	for (int round = 0; round < 500; round++) {
		struct sn_interval_limits limits = { .want_levels = true, .want_histogram = true };
		struct made made = made_any(&random);
		struct sn_execution *execution = made_execution(&made);
		struct between w = { .order = &execution->observed };
		uint32_t zero[8] = { 0 };
		struct sn_interval_counts counts;

		w.level_of_a = random_cut(&random, w.order, zero, w.a);
		w.seen.event_count = random_cut(&random, w.order, w.a, w.b) - w.level_of_a;
		w.seen.levels = sn_alloc_zeroed(w.seen.event_count + 1, sizeof(uint64_t));
		w.seen.level_arcs = sn_alloc_zeroed(w.seen.event_count + 1, sizeof(uint64_t));
		sn_lattice_enumerate_cuts(w.order, look_between, &w);
		REQUIRE(sn_interval_count(w.order, w.a, w.b, &limits, &counts) == SN_INTERVAL_DONE);
		REQUIRE(agrees(&w.seen, &counts));
		sn_interval_counts_free(&counts);
		brute_free(&w.seen);
		sn_execution_free(execution);
		made_free(&made);
	}
}

TEST(limits_stop_a_count)
{
	struct sn_random random;
	struct sn_interval_limits limits = { .states = 100, .want_levels = true };
	struct sn_interval_counts counts;
	uint32_t zero[8] = { 0 };
	struct made made;
	struct sn_execution *execution;

	sn_random_seed(&random, 2);
	made = made_random(&random, 8, 4000, 0.3, 0);
	execution = made_execution(&made);
	CHECK_INT(sn_interval_count(&execution->observed, zero, execution->observed.counts, &limits,
				    &counts),
		  SN_INTERVAL_STATES);
	limits.states = 0;
	limits.deadline_ns = 1;
	CHECK_INT(sn_interval_count(&execution->observed, zero, execution->observed.counts, &limits,
				    &counts),
		  SN_INTERVAL_TIME);
	limits.deadline_ns = 0;
	limits.bytes = 10000;
	CHECK_INT(sn_interval_count(&execution->observed, zero, execution->observed.counts, &limits,
				    &counts),
		  SN_INTERVAL_STATES);
	sn_execution_free(execution);
	made_free(&made);
}
