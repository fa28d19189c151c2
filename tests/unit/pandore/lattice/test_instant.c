/* The picture of an instant: what stands on which side of it, and what is left out of large ones. */
#include "pandore/lattice/instant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"

struct given {
	uint32_t process, index;
	const char *label; /* NULL: it only orders */
	struct sn_lattice_ref after;
	bool has_after;
};

static struct sn_execution *built(const struct given *events, size_t count, uint32_t processes)
{
	struct sn_execution_builder builder = { .process_count = processes };
	struct sn_execution *execution = NULL;
	struct sn_error err;

	for (size_t i = 0; i < count; i++)
		sn_execution_builder_add(
			&builder, &(struct sn_lattice_event){ .process = events[i].process,
							      .index = events[i].index,
							      .is_observed = events[i].label,
							      .label = events[i].label,
							      .duration_s = __builtin_nan(""),
							      .start_s = __builtin_nan(""),
							      .after = &events[i].after,
							      .after_count = events[i].has_after });
	CHECK(sn_execution_build(&builder, &execution, &err) == SN_OK);
	sn_execution_builder_free(&builder);
	return execution;
}

static char *drawn(const struct sn_lattice_instant *instant)
{
	char *chars = NULL;
	size_t length;
	FILE *out = open_memstream(&chars, &length);

	sn_lattice_draw_instant(instant, out);
	fclose(out);
	return chars;
}

static int times(const char *text, const char *part)
{
	int found = 0;

	while ((text = strstr(text, part))) {
		found++;
		text += strlen(part);
	}
	return found;
}

TEST(a_witness_is_the_least_instant_with_its_points)
{
	/* p0: a, send, b; p1: receive, c */
	const struct given events[] = { { 0, 0, "a", { 0 }, false },
					{ 0, 1, NULL, { 0 }, false },
					{ 0, 2, "b", { 0 }, false },
					{ 1, 0, NULL, { 0, 1 }, true },
					{ 1, 1, "c & d", { 0 }, false } };
	struct sn_execution *execution = built(events, 5, 2);
	struct sn_property *property = NULL;
	struct sn_property_answer answer;
	struct sn_lattice_instant instant;
	struct sn_error err;
	char *svg;

	CHECK(sn_property_parse("in(p0, \"a\") and in(p1, \"c & d\")", &property, &err) == SN_OK);
	CHECK(sn_property_names(property, 1));
	CHECK(!sn_property_names(property, 2));
	CHECK(sn_property_judge(property, execution, 1000, &answer, &err) == SN_OK);
	CHECK_INT(answer.possibly, SN_TRUTH_YES);
	sn_lattice_instant_of_witness(execution, property, answer.witness, "a <title>", &instant);
	CHECK_INT(instant.cut[0], 2); /* the message was sent */
	CHECK_INT(instant.cut[1], 2);
	svg = drawn(&instant);
	CHECK_INT(times(svg, "<circle"), 5);
	CHECK_INT(times(svg, "fill-opacity=\"0.45\""), 1); /* b is still to come */
	CHECK_INT(times(svg, "stroke=\"#8a8f98\" stroke-width"), 1);
	CHECK(strstr(svg, "a &lt;title&gt;") != NULL);
	CHECK(strstr(svg, ">c &amp; d</text>") != NULL);
	CHECK(strstr(svg, ">b</text>") == NULL);
	free(svg);
	sn_lattice_instant_free(&instant);
	sn_property_answer_free(&answer);
	sn_property_free(property);
	sn_execution_free(execution);
}

TEST(a_race_is_where_both_messages_are_on_their_way)
{
	/* p0 receives from p1, then from p2 */
	const struct given events[] = { { 0, 0, "first", { 1, 0 }, true },
					{ 0, 1, "second", { 2, 0 }, true },
					{ 1, 0, "send one", { 0 }, false },
					{ 2, 0, "send two", { 0 }, false } };
	struct sn_execution *execution = built(events, 4, 3);
	struct sn_lattice_race race = { execution->first[0], execution->first[1],
					execution->first[2] };
	struct sn_lattice_instant instant;
	char *svg;

	sn_lattice_instant_of_race(execution, &race, "race", &instant);
	CHECK_INT(instant.cut[0], 0);
	CHECK_INT(instant.cut[1], 1);
	CHECK_INT(instant.cut[2], 1);
	svg = drawn(&instant);
	/* two in the legend, two messages, and the message that came second */
	CHECK_INT(times(svg, "stroke=\"#1e707a\""), 2);
	CHECK_INT(times(svg, "stroke=\"#b03a24\""), 2);
	CHECK_INT(times(svg, "stroke=\"#8a8f98\" stroke-width"), 1);
	CHECK(strstr(svg, ">first</text>") != NULL);
	CHECK(strstr(svg, ">second</text>") == NULL);
	free(svg);
	sn_lattice_instant_free(&instant);
	sn_execution_free(execution);
}

TEST(large_executions_are_drawn_around_the_instant)
{
	enum { PROCESSES = 40, EACH = 50 };
	struct given *events = calloc((size_t)PROCESSES * EACH, sizeof(*events));
	struct sn_property *property = NULL;
	struct sn_execution *execution;
	uint32_t witness[PROCESSES];
	struct sn_lattice_instant instant;
	struct sn_error err;
	char *svg;

	for (uint32_t p = 0; p < PROCESSES; p++) {
		witness[p] = 1;
		for (uint32_t i = 0; i < EACH; i++)
			events[p * EACH + i] =
				(struct given){ p, i, i == 0 ? "point" : NULL, { 0 }, false };
	}
	execution = built(events, (size_t)PROCESSES * EACH, PROCESSES);
	CHECK(sn_property_parse("in(p39, \"point\")", &property, &err) == SN_OK);
	sn_lattice_instant_of_witness(execution, property, witness, "many", &instant);
	instant.cut[39] = 30; /* far behind its point */
	svg = drawn(&instant);
	CHECK(strstr(svg, ">process 39</text>") != NULL);
	CHECK(strstr(svg, ">process 14</text>") != NULL);
	CHECK(strstr(svg, ">process 15</text>") == NULL);
	CHECK(strstr(svg, "24 more processes are not drawn") != NULL);
	CHECK_INT(times(svg, "<circle"), 15 * (1 + 4) + 1 + 6 + 4);
	free(svg);
	sn_lattice_instant_free(&instant);
	sn_property_free(property);
	sn_execution_free(execution);
	free(events);
}
