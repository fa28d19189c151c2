/* Blocks given as text: which are refused, and that the others are timed. */
#include "cqa/calibrate/timed_block.h"

#include <string.h>

#include "harness/tap.h"

static const struct sn_machine *machine(void)
{
	const struct sn_machine *out = NULL;

	REQUIRE(sn_machine_find("cascadelake", &out, NULL) == SN_OK);
	return out;
}

static sn_status status_of(const char *hex)
{
	struct sn_timed_block block;
	sn_status status;

	sn_timed_block_read(machine(), hex, strlen(hex), false, &block);
	status = block.err.status;
	sn_timed_block_free(&block);
	return status;
}

TEST(what_is_no_loop_is_said_before_it_runs)
{
	CHECK_INT(status_of("4801c0 49ffcf 75f8"), SN_OK);
	CHECK_INT(status_of("48zz"), SN_ERR_FORMAT);
	CHECK_INT(status_of("480"), SN_ERR_FORMAT);
	CHECK_INT(status_of("0f05 49ffcf 75f9"), SN_ERR_UNSUPPORTED); /* a system call */
	CHECK_INT(status_of("4801c0"), SN_ERR_UNSUPPORTED);	      /* no branch */
}

TEST(blank_lines_and_remarks_are_no_blocks)
{
	static const char text[] = "# two\n4801c049ffcf75f8\n\n \t\nzz\n49ffcf75fb";
	sn_timed_blocks blocks = { 0 };

	sn_timed_blocks_read(machine(), text, strlen(text), false, &blocks);
	REQUIRE(blocks.count == 3);
	CHECK_INT(blocks.items[0].length, 8);
	CHECK_INT(blocks.items[1].err.status, SN_ERR_FORMAT);
	CHECK_INT(blocks.items[2].length, 5);
	sn_timed_blocks_free(&blocks);
}

TEST(each_pass_is_one_figure_and_the_lowest_counts)
{
	static const char text[] = "4801c049ffcf75f8\nzz";
	sn_timed_blocks blocks = { 0 };
	const struct sn_timing_result *result;

	if (TAP_IS_SANITIZED) /* its system calls are refused, too */
		SKIP("the sanitizer makes system calls where none are allowed");
	sn_timed_blocks_read(machine(), text, strlen(text), false, &blocks);
	REQUIRE(blocks.count == 2);
	sn_timed_blocks_run(&blocks, 3);
	result = &blocks.items[0].result;
	CHECK_INT(blocks.items[0].err.status, SN_OK);
	CHECK_INT(result->pass_count, 3);
	CHECK(result->cycles > 0);
	for (unsigned i = 0; i < result->pass_count; i++)
		CHECK(result->cycles <= result->passes[i]);
	CHECK_INT(blocks.items[1].result.pass_count, 0);
	sn_timed_blocks_free(&blocks);
}
