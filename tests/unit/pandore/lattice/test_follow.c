/* What is shown of a running program against the execution built of what has been heard so far. */
#include <string.h>

#include "executions.h"
#include "harness/tap.h"
#include "pandore/lattice/follow.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/reader.h"

static bool is_hidden(const struct made_event *event, uint32_t every)
{
	return every && (event->process * 7 + event->index) % every == 0;
}

static struct sn_lattice_event given(const struct made_event *made, uint32_t every)
{
	struct sn_lattice_event event = made_given(made);

	event.is_observed = !is_hidden(made, every);
	return event;
}

/* The part of a prefix that holds together, by the builder and the interval count. */
static void count_prefix(const struct made *made, uint32_t heard, uint32_t every,
			 struct sn_text *cuts, struct sn_text *arcs, uint32_t *observed)
{
	struct sn_execution_builder builder = { .process_count = made->process_count };
	struct sn_lattice_budget budget = { 0 };
	struct sn_lattice_profile profile;
	struct sn_execution *execution = NULL;
	struct sn_error err;

	for (uint32_t e = 0; e < heard; e++) {
		struct sn_lattice_event event = given(&made->events[e], every);

		sn_execution_builder_add(&builder, &event);
	}
	sn_execution_build(&builder, &execution, &err);
	*observed = 0;
	if (!execution) { /* nothing holds together yet */
		sn_text_add(cuts, "1");
		sn_text_add(arcs, "0");
		return;
	}
	sn_lattice_profile_make(&execution->observed, &budget, &profile);
	sn_limbs_add_decimal(cuts, profile.windows.items[0].counts.cuts,
			     profile.windows.items[0].counts.limbs);
	sn_limbs_add_decimal(arcs, profile.windows.items[0].counts.arcs,
			     profile.windows.items[0].counts.limbs);
	*observed = execution->observed.event_count;
	sn_lattice_profile_free(&profile);
	sn_execution_free(execution);
}

static bool prefix_agrees(struct sn_follow *follow, const struct made *made, uint32_t heard,
			  uint32_t every)
{
	struct sn_lattice_budget budget = { 0 };
	struct sn_text cuts = { 0 }, arcs = { 0 };
	struct sn_follow_view view;
	uint32_t observed;
	bool holds;

	count_prefix(made, heard, every, &cuts, &arcs, &observed);
	sn_follow_look(follow, &budget, &view);
	holds = view.is_exact && view.observed == observed &&
		!strcmp(view.cuts.chars, cuts.chars) && !strcmp(view.arcs.chars, arcs.chars) &&
		view.events + view.pending == heard;
	sn_follow_view_free(&view);
	sn_text_free(&cuts);
	sn_text_free(&arcs);
	return holds;
}

/* Prefixes of shuffled executions that disagree. */
static int count_wrong(uint32_t node_limit, bool says_processes)
{
	struct sn_random random;
	int wrong = 0;

	sn_random_seed(&random, 20);
	for (int round = 0; round < 150; round++) {
		uint32_t processes = 1 + (uint32_t)sn_random_below(&random, 5);
		uint32_t events = 1 + (uint32_t)sn_random_below(&random, 30);
		uint32_t every = (uint32_t)sn_random_below(&random, 4);
		struct made made =
			made_random(&random, processes, events, sn_random_unit(&random), round & 1);
		struct sn_follow *follow = sn_follow_new(node_limit);

		if (round % 3)
			made_shuffle(&made, &random);
		if (says_processes)
			sn_follow_expect(follow, processes);
		for (uint32_t e = 0; e < made.event_count; e++) {
			struct sn_lattice_event event = given(&made.events[e], every);

			sn_follow_add(follow, &event);
			if (e % 3 == 0 || e + 1 == made.event_count)
				wrong += !prefix_agrees(follow, &made, e + 1, every);
		}
		sn_follow_free(follow);
		made_free(&made);
	}
	return wrong;
}

TEST(every_prefix_is_counted_as_the_builder_sees_it)
{
	CHECK_INT(count_wrong(1000000, true), 0);
}

TEST(also_when_the_graph_is_too_large)
{
	CHECK_INT(count_wrong(20, true), 0);
}

TEST(also_when_processes_appear_one_by_one)
{
	CHECK_INT(count_wrong(1000000, false), 0);
}

TEST(strange_events_do_no_harm)
{
	struct sn_follow *follow = sn_follow_new(1000);
	struct sn_lattice_ref nowhere = { 60000, 4000000 };
	struct sn_lattice_event event = { .process = 65535, .is_observed = true };
	struct sn_lattice_budget budget = { .seconds = 1 };
	struct sn_follow_view view;

	sn_follow_add(follow, &event);
	sn_follow_add(follow, &event); /* again */
	event = (struct sn_lattice_event){ .index = UINT32_MAX };
	sn_follow_add(follow, &event);
	event = (struct sn_lattice_event){ .process = UINT32_MAX };
	sn_follow_add(follow, &event);
	event = (struct sn_lattice_event){ .after = &nowhere, .after_count = 1 };
	sn_follow_add(follow, &event);
	sn_follow_look(follow, &budget, &view);
	CHECK_INT(view.events, 1);
	CHECK_INT(view.pending, 1);
	CHECK_INT(view.processes, 65536);
	sn_follow_view_free(&view);
	sn_follow_free(follow);
}

static void ignore(const struct sn_lattice_event *event, void *context)
{
	*(uint32_t *)context += event->index + 1;
}

TEST(a_trace_read_byte_by_byte_is_the_trace)
{
	static const char trace[] =
		"{\"processes\":2}\n{\"process\":0,\"index\":0}\n\n"
		"{\"process\":1,\"index\":0,\"after\":[[0,0]]}\n{\"end\":true}\n"
		"{\"process\":0,\"index\":1}";
	uint32_t seen = 0;
	struct sn_trace_reading *reading = sn_trace_reading_new(ignore, &seen);
	struct sn_execution *execution;
	struct sn_error err;

	for (size_t i = 0; i + 1 < sizeof(trace); i++)
		sn_trace_reading_add(reading, trace + i, 1);
	CHECK_INT(seen, 2); /* the last line has no end yet */
	CHECK_INT(sn_trace_reading_processes(reading), 2);
	CHECK(sn_trace_reading_has_ended(reading));
	CHECK_INT(sn_trace_reading_finish(reading, "t", &execution, &err), SN_OK);
	CHECK_INT(execution->event_count, 3);
	sn_execution_free(execution);
}
