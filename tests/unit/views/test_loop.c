/* The page of one loop: each part says what it knows, and the parts stand in one order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"
#include "profile/fixture.h"
#include "views/view.h"

/* Two threads in the main loop of leaf, one of them in its tail too. */
static void fill(struct fixture *f)
{
	fixture_begin(f);
	fixture_add_thread(f, 0, 101, "worker");
	fixture_samples(f, 0, fixture_stack(f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN), 300, 1000);
	fixture_samples(f, 1, fixture_stack(f, 0, 2, APP, LEAF_MAIN_LOOP, APP, FIB), 100, 1000);
	fixture_samples(f, 1, fixture_stack(f, 0, 2, APP, LEAF_TAIL_LOOP, APP, FIB), 100, 1000);
	fixture_profile(f, NULL);
}

/* What the page of a loop shows; the caller frees. */
static char *page_of(struct fixture *f, const char *subject, enum sn_format format)
{
	const struct sn_view *view = sn_view_find("loop");
	struct sn_machine_choice machine = { 0 };
	struct sn_view_input input = { .profile = f->profile,
				       .machine = &machine,
				       .subject = subject };
	struct sn_table_view how = { .format = format };
	struct sn_error err;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	REQUIRE(view != NULL && out != NULL);
	REQUIRE(view->show(&input, &how, out, &err) == SN_OK);
	fclose(out);
	return text;
}

/* Whether the texts stand in the page in this order. */
static void check_order(const char *page, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *found = strstr(page, texts[i]);

		tap_check(found != NULL, __FILE__, __LINE__, texts[i]);
		if (found)
			page = found + strlen(texts[i]);
	}
}

TEST(a_page_has_its_parts_in_order)
{
	static const char *const texts[] = {
		"loop leaf.c:5-9 in leaf, app\nid   aa:3000:20\n",
		"80.0 % of CPU time exclusive",
		"depth 1, innermost, main loop\n",
		"other parts of the same source loop:\n   20.0 %  tail",
		"threads: 2 spend time in it",
		"reached through",
		"60.0 %  leaf < main",
		"20.0 %  leaf < fib",
		"static model: there is no model of this processor",
	};
	struct fixture f;
	char *page;

	fill(&f);
	page = page_of(&f, "aa:3000:20", SN_FORMAT_TEXT);
	check_order(page, texts, sizeof(texts) / sizeof(*texts));
	free(page);
	fixture_end(&f);
}

TEST(tools_have_an_object_with_a_member_for_each_part)
{
	static const char *const members[] = {
		"{\"schema\":\"sonde.loop/2\"",
		"\"loop\":\"aa:3000:40\"",
		"\"role\":\"tail\"",
		"\"unroll_count\":null",
		"\"instruction_count\":",
		"\"exclusive_share\":0.2",
		"\"thread_deviation\":",
		"\"threads\":[{\"process\":0,\"thread\":101,\"exclusive_cpu_s\":0.1}]",
		"\"paths\":[{\"inclusive_cpu_s\":0.1,\"functions\":[\"leaf\",\"fib\"]}]",
		"\"quality\":null",
		"\"source\":[",
		"\"asm\":[",
	};
	struct fixture f;
	char *page;

	fill(&f);
	page = page_of(&f, "leaf.c:6-8", SN_FORMAT_JSON);
	check_order(page, members, sizeof(members) / sizeof(*members));
	free(page);
	fixture_end(&f);
}

TEST(a_page_is_no_rows_of_csv)
{
	const struct sn_view *view = sn_view_find("loop");
	struct sn_machine_choice machine = { 0 };
	struct sn_table_view how = { .format = SN_FORMAT_CSV };
	struct sn_error err;
	struct fixture f;

	fill(&f);
	struct sn_view_input input = { .profile = f.profile, .machine = &machine, .subject = "#1" };
	CHECK_INT(view->show(&input, &how, stdout, &err), SN_ERR_USAGE);
	input.subject = "nowhere.c:7";
	CHECK_INT(view->show(&input, &how, stdout, &err), SN_ERR_NOT_FOUND);
	fixture_end(&f);
}
