/* Heartbeats of a run, nearest to a name first. */
#include "causal/beats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "causal/page.h"
#include "harness/tap.h"

static void add(struct sn_causal_control *page, uint32_t number, const char *name,
		uint32_t is_taken)
{
	sn_causal_page_add_beat(page, number, name);
	atomic_store(&page->points[number].is_taken, is_taken);
}

TEST(the_nearest_comes_first)
{
	struct sn_causal_control *page = sn_causal_page_new();
	struct sn_text text = { 0 };

	add(page, 0, "stpe", 1); /* asked for; no process has it */
	CHECK(sn_causal_beats_list(page, "stpe", &text) == 0 && !text.length);
	add(page, 1, "input", SN_CAUSAL_TAKEN_BY_PROCESS);
	add(page, 2, "step", SN_CAUSAL_TAKEN_BY_PROCESS);
	add(page, 3, "stop", SN_CAUSAL_TAKEN_BY_PROCESS);
	CHECK(sn_causal_beats_list(page, "stpe", &text) == 3);
	CHECK_STRING(text.chars, "'step', 'stop', 'input'");
	CHECK(!sn_causal_beat_is_there(page, "stpe") && sn_causal_beat_is_there(page, "step"));
	atomic_store(&page->points[0].is_taken, SN_CAUSAL_TAKEN_BY_PROCESS);
	CHECK(sn_causal_beat_is_there(page, "stpe"));
	sn_text_free(&text);
	free(page);
}

TEST(places_are_none)
{
	struct sn_causal_control *page = sn_causal_page_new();
	struct sn_text text = { 0 };

	add(page, 0, "step", SN_CAUSAL_TAKEN_BY_PROCESS);
	atomic_store(&page->points[0].kind, SN_CAUSAL_PLACE);
	CHECK(sn_causal_beats_list(page, "x", &text) == 0 &&
	      !sn_causal_beat_is_there(page, "step"));
	free(page);
}

TEST(many_are_counted)
{
	struct sn_causal_control *page = sn_causal_page_new();
	struct sn_text text = { 0 };
	char name[8];

	for (uint32_t p = 0; p < 11; p++) {
		snprintf(name, sizeof(name), "beat%u", p);
		add(page, p, name, SN_CAUSAL_TAKEN_BY_PROCESS);
	}
	CHECK(sn_causal_beats_list(page, "beat10", &text) == 10);
	CHECK(strstr(text.chars, "' and 2 more") != NULL);
	sn_text_free(&text);
	free(page);
}
