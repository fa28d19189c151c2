/* Whatever name an enumeration has in a table or in JSON, `sonde explain` knows it. */
#include "views/explain.h"

#include <stdio.h>
#include <string.h>

#include "code/structure.h"
#include "compare/compare.h"
#include "cqa/words/advice.h"
#include "harness/tap.h"
#include "phases/phases.h"
#include "profile/category.h"
#include "profile/rank.h"
#include "profile/system_call.h"
#include "profile/wait.h"
#include "views/summary/verdict.h"
#include "views/view.h"
#include "views/whatif.h"

static void is_explained(const char *what, const char *word)
{
	if (!sn_explanation_find(word))
		printf("# %s: %s\n", what, word);
	CHECK(sn_explanation_find(word) != NULL);
}

#define EACH(name, count)                                                                          \
	for (int number = 0; number < (int)(count); number++)                                      \
	is_explained(#name, name(number))

TEST(names_of_values_are_explained)
{
	EACH(sn_verdict_kind_name, SN_VERDICT_KINDS);
	EACH(sn_trust_name, SN_TRUST_LOW + 1);
	EACH(sn_wait_kind_name, SN_WAIT_KINDS);
	EACH(sn_category_name, SN_CATEGORIES);
	EACH(sn_module_class_name, SN_MODULE_CLASS_OTHER + 1);
	EACH(sn_system_kind_name, SN_SYSTEM_UNKNOWN + 1);
	EACH(sn_loop_role_name, SN_LOOP_VERSION + 1);
	EACH(sn_confidence_name, SN_ADVICE_EXPERT + 1);
	EACH(sn_verdict_name, SN_VERDICT_DRIFT + 1);
	EACH(sn_site_type_name, 2);
	EACH(sn_cycle_kind_name, 3);
	for (int quality = 0; quality < 3; quality++) {
		is_explained("mark", sn_quality_mark(quality, true));
		is_explained("mark", sn_quality_mark(quality, false));
	}
}

TEST(headings_of_all_views_are_explained)
{
	for (const struct sn_view *const *view = sn_views; *view; view++)
		for (size_t c = 0; c < (*view)->column_count; c++)
			if ((*view)->columns[c].title && (*view)->columns[c].title[0])
				is_explained((*view)->name, (*view)->columns[c].title);
}

/* Words of the first screen and of the page before a table, as they are printed. */
TEST(words_beside_tables_are_explained)
{
	static const char *const words[] = {
		"at stake",    "of time",  "not seen",
		"_start",      "loops",	   "functions",
		"own workers", "in loops", "perf-signal, then timers"
	};

	for (size_t i = 0; sn_whatif_headings[i]; i++)
		is_explained("show whatif", sn_whatif_headings[i]);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		is_explained("show summary", words[i]);
}

/* The texts name further words: those are explained, too, or are commands. */
TEST(what_explanations_point_at_is_explained)
{
	const struct sn_explanation *e;

	for (size_t i = 0; (e = sn_explanation_at(i)) != NULL; i++) {
		char words[256];

		if (!e->see || strchr(e->see, '\'') || strchr(e->see, '.'))
			continue;
		snprintf(words, sizeof(words), "%s", e->see);
		for (char *rest = words, *word; (word = strsep(&rest, " ")) != NULL;)
			if (!sn_explanation_find(e->see))
				is_explained(e->key, word);
	}
}
