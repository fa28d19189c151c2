/* Folded stacks, and the list of formats. */
#include "exchange/exported.h"

TEST(formats_are_found_by_name)
{
	static const char *const names[] = { "folded", "speedscope", "pprof", "callgrind",
					     "chrome" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		REQUIRE(sn_export_find(names[i]) != NULL);
		CHECK_STRING(sn_export_find(names[i])->name, names[i]);
	}
	CHECK(sn_export_find("perf") == NULL);
	CHECK(sn_export_find("") == NULL);
}

TEST(folded_has_a_line_for_each_path_in_microseconds)
{
	check_exported("folded", &(struct sn_export_options){ 0 },
		       "main;kernel 2000\n"
		       "main;leaf 1000\n"
		       "main;leaf;malloc 6000\n");
}

TEST(folded_counts_observations)
{
	check_exported("folded", &(struct sn_export_options){ .count_samples = true },
		       "main;kernel 2\n"
		       "main;leaf 1\n"
		       "main;leaf;malloc 3\n");
}

TEST(folded_shows_loops_and_blocked_time)
{
	check_exported("folded",
		       &(struct sn_export_options){ .with_loops = true, .with_blocked = true },
		       "main;loop app.c:10-20;leaf;loop leaf.c:5-9 1000\n"
		       "main;loop app.c:10-20;leaf;malloc 6000\n"
		       "main;loop app.c:10-20;loop app.c:12-15;kernel;loop kernel.h:3-5 2000\n"
		       "main;write 5000\n");
}

/* Two addresses in one function are two stacks, and one path. */
TEST(folded_sums_equal_paths)
{
	struct fixture f;
	size_t length;
	char *got;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN), 1, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_OUTER), 1, 1000);
	fixture_profile(&f, NULL);
	got = exported(&f, "folded", &(struct sn_export_options){ 0 }, &length);
	CHECK_STRING(got, "main 2000\n");
	free(got);
	fixture_end(&f);
}
