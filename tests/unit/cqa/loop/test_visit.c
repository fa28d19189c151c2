/* Which loops a user means by the names, lines and addresses that may be given. */
#include "cqa/loop/visit.h"

#include <string.h>

#include "cqa/made_executable.h"
#include "harness/tap.h"

/* Two loops, one behind the other, at +2 and +10:
 * xor eax,eax; inc eax; cmp eax,esi; jl -6; xor eax,eax; inc eax; cmp eax,edi; jl -6; ret */
static const uint8_t two_loops[] = { 0x31, 0xc0, 0xff, 0xc0, 0x39, 0xf0, 0x7c, 0xfa, 0x31,
				     0xc0, 0xff, 0xc0, 0x39, 0xf8, 0x7c, 0xfa, 0xc3 };
enum { SECOND_LOOP = 10 };

static struct sn_loop_choice choice_of(const char *function, const char *loop)
{
	struct sn_loop_choice choice;
	struct sn_error err = { 0 };

	REQUIRE(sn_loop_choice_read(function, loop, &choice, &err) == SN_OK);
	return choice;
}

static void open_two_loops(struct sn_cqa_module *module)
{
	struct sn_error err = { 0 };
	size_t length;
	const uint8_t *file = made_executable(two_loops, sizeof(two_loops), &length);

	REQUIRE(sn_cqa_module_open_memory(file, length, "made", module, &err) == SN_OK);
}

struct seen {
	size_t count;
	uint64_t first_link_addr;
	char id[128];
};

static void see(struct sn_loop_visit *visit, const struct sn_cqa_unit *unit,
		struct sn_cqa_loop *result)
{
	struct seen *seen = visit->context;

	(void)unit;
	seen->count++;
	seen->first_link_addr = result->loop->ranges[0].first_link_addr;
	snprintf(seen->id, sizeof(seen->id), "%s", result->loop->id);
}

static struct seen seen_of(const struct sn_loop_choice *choice)
{
	struct sn_cqa_module module;
	struct seen seen = { 0 };
	struct sn_loop_visit visit = { .choice = choice, .each = see, .context = &seen };

	REQUIRE(sn_machine_find("cascadelake", &visit.machine, NULL) == SN_OK);
	visit.bandwidths = sn_bandwidths_of(visit.machine);
	open_two_loops(&module);
	sn_loop_visit_module(&visit, &module);
	CHECK_INT(visit.summary.loops, seen.count);
	sn_cqa_module_close(&module);
	return seen;
}

TEST(an_empty_name_is_a_mistake)
{
	struct sn_loop_choice choice;
	struct sn_error err = { 0 };

	CHECK_INT(sn_loop_choice_read("", NULL, &choice, &err), SN_ERR_USAGE);
	CHECK_INT(sn_loop_choice_read(NULL, "", &choice, &err), SN_ERR_USAGE);
	CHECK_INT(sn_loop_choice_read("f", "g", &choice, &err), SN_OK);
}

TEST(a_colon_and_a_number_are_a_line)
{
	struct sn_loop_choice choice = choice_of(NULL, "solver.c:120");

	CHECK_INT(choice.line, 120);
	CHECK_INT(choice.file_length, strlen("solver.c"));
	/* an id has two colons, or hexadecimal parts */
	CHECK(choice_of(NULL, "solver.c:12a").file == NULL);
	CHECK(choice_of(NULL, "a:b:12").file == NULL);
	CHECK(choice_of(NULL, "solver.c:").file == NULL);
}

TEST(only_0x_makes_an_address)
{
	CHECK_INT(choice_of("0x1a0", NULL).function_link_addr, 0x1a0);
	CHECK(choice_of("0x1a0", NULL).has_function_addr);
	CHECK(!choice_of("1a0", NULL).has_function_addr);
	CHECK(!choice_of("0x", NULL).has_function_addr);
	CHECK(!choice_of("0x12g", NULL).has_function_addr);
	CHECK(choice_of(NULL, "0XFF").has_loop_addr);
}

TEST(without_a_name_all_innermost_loops_are_visited)
{
	struct sn_loop_choice all = choice_of(NULL, NULL), made = choice_of("made", NULL),
			      other = choice_of("other", NULL);

	CHECK_INT(seen_of(&all).count, 2);
	CHECK_INT(seen_of(&made).count, 2);
	CHECK_INT(seen_of(&other).count, 0);
}

TEST(an_address_means_the_loop_around_it)
{
	struct sn_loop_choice inside = choice_of(NULL, "0x40100c"),
			      behind = choice_of(NULL, "0x401010");
	struct seen seen = seen_of(&inside);

	CHECK_INT(seen.count, 1);
	CHECK_INT(seen.first_link_addr, MADE_CODE_LINK_ADDR + SECOND_LOOP);
	CHECK_INT(seen_of(&behind).count, 0);
}

TEST(an_id_is_settled_or_those_that_it_begins_are_named)
{
	struct sn_loop_choice second = choice_of(NULL, "0x40100c");
	struct seen seen = seen_of(&second);
	struct sn_loop_choice whole = choice_of(NULL, seen.id), begun;
	struct sn_cqa_module module;
	struct sn_error err = { 0 };
	char begin[2] = { seen.id[0] };
	size_t count;

	open_two_loops(&module);
	CHECK_INT(sn_loop_choice_settle(&whole, &module, &count, &err), SN_OK);
	CHECK_INT(count, 1);
	CHECK(whole.is_whole);
	begun = choice_of(NULL, begin);
	CHECK_INT(sn_loop_choice_settle(&begun, &module, &count, &err), SN_ERR_USAGE);
	CHECK_INT(count, 2);
	CHECK(strstr(err.sentence, seen.id) != NULL);
	sn_cqa_module_close(&module);
}
