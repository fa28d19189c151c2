/* Every figure has its explanation. */
#include <string.h>

#include "cqa/words/table.h"
#include "harness/tap.h"

static const char *explained(const char *key)
{
	static struct sn_text text;

	sn_text_clear(&text);
	for (size_t c = 0; c < sn_cqa_column_count; c++)
		if (strcmp(sn_cqa_columns[c].key, key) == 0 && sn_cqa_column_explain(c, &text))
			return text.chars;
	return "";
}

TEST(every_column_is_explained_in_words)
{
	for (size_t c = 0; c < sn_cqa_column_count; c++) {
		struct sn_text text = { 0 };

		if (!sn_cqa_column_explain(c, &text) || text.length < 10)
			CHECK_STRING(sn_cqa_columns[c].key, "a column that is explained");
		sn_text_free(&text);
	}
}

TEST(columns_of_a_family_are_told_apart)
{
	CHECK_STRING(explained("l2_ipc"), "instructions a cycle, if data come from L2");
	CHECK_STRING(explained("ram_max_cycles"),
		     "core cycles of the costliest path, if data come from RAM");
	CHECK_STRING(
		explained("vector_fp_add_sub_efficiency_share"),
		"mean part of the widest register that additions and subtractions on FP numbers "
		"use");
	CHECK_STRING(explained("vector_share"),
		     "work that vectors could do: the part that vector instructions do");
	CHECK_STRING(
		explained("no_dependence_ram_speedup"),
		"how many times as fast the loop would be without the dependence of a pass on the "
		"one before, if data come from RAM");
	CHECK_STRING(explained("latency_min_cycles"),
		     "cycles of the longest dependence in the path where they are least");
}
