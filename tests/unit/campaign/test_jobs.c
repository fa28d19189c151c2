#include "campaign/jobs.h"

#include <string.h>

#include "campaign/queue.h"
#include "harness/tap.h"

static struct sn_job_size size_of(const char *plan_text)
{
	struct sn_campaign_plan *plan = NULL;
	struct sn_job_size size = { 0 };
	struct sn_error err = { 0 };

	sn_campaign_plan_read(plan_text, strlen(plan_text), "p", "/", &plan, &err);
	CHECK_STRING(err.sentence, "");
	REQUIRE(plan != NULL);
	for (size_t c = 0; c < plan->configurations.count; c++)
		sn_job_size_add(&size, plan, &plan->configurations.items[c]);
	sn_campaign_plan_free(plan);
	return size;
}

TEST(a_job_has_room_for_the_largest_of_its_runs)
{
	struct sn_job_size size =
		size_of("[campaign]\nlauncher=sbatch\n[default]\nprogram=a\n"
			"[configuration x]\nranks=8\n[configuration y]\nthreads=8\n");

	CHECK_INT(size.ranks, 8);
	CHECK_INT(size.threads, 1);
	CHECK(!(size.time_s > 0));
	size = size_of("[campaign]\nlauncher=sbatch\ntimeout=60\n[default]\nprogram=a\n[sweep]\n"
		       "ranks=1 2\nthreads=3 4\n");
	CHECK_INT(size.ranks, 2);
	CHECK_INT(size.threads, 4);
	CHECK(size.time_s >= 4 * 60);
}

TEST(a_script_has_its_names_filled_in)
{
	struct sn_job_size size = { .ranks = 2, .threads = 3, .time_s = 61 };
	static const char template[] = "-n {ranks} -c {threads} -t {time}\n${x} {{ {command}";
	struct sn_text script = { 0 };
	struct sn_error err = { 0 };

	CHECK_INT(sn_job_script(template, strlen(template), "t", &size, "it's", &script, &err),
		  SN_OK);
	CHECK_STRING(script.chars, "-n 2 -c 3 -t 2\n${x} { it's\n");
	sn_text_clear(&script);
	CHECK_INT(sn_job_script("{command}\n{nodes}\n", 18, "t", &size, "c", &script, &err),
		  SN_ERR_FORMAT);
	CHECK_STRING(err.sentence, "t:2: {nodes} has no value: set nodes");
	CHECK_INT(sn_job_script("x\0y", 3, "t", &size, "c", &script, &err), SN_ERR_FORMAT);
	sn_text_free(&script);
}

TEST(a_report_is_a_whole_line)
{
	static const char line[] = "timed_out 143\n";
	struct sn_job_report report = { 0 };

	REQUIRE(sn_job_report_read(line, strlen(line), &report));
	CHECK_INT(report.end, SN_CHILD_TIMED_OUT);
	CHECK_INT(report.exit_status, 143);
	for (size_t length = 0; length < strlen(line); length++)
		CHECK(!sn_job_report_read(line, length, &report));
	CHECK(!sn_job_report_read("gone 1\n", 7, &report));
	CHECK(!sn_job_report_read("ended 256\n", 10, &report));
	CHECK(!sn_job_report_read("ended -1\n", 9, &report));
}

TEST(a_script_that_was_taken_twice_is_the_job_that_lives)
{
	static const char text[] = "7|COMPLETED|None|/a|b/script\n"
				   "8|PENDING|Resources|/a|b/script\n"
				   "9|NODE_FAIL|None|/a|b/script\nslurm: a word\n||\n";
	struct sn_queue_rows rows = { 0 };
	struct sn_arena arena = { 0 };
	const struct sn_queue_row *row;

	sn_queue_read(text, strlen(text), &arena, &rows);
	CHECK_INT(rows.items.count, 3);
	row = sn_queue_find(&rows, "/a|b/script");
	REQUIRE(row != NULL);
	CHECK_STRING(row->job, "8");
	CHECK_STRING(row->reason, "Resources");
	CHECK_INT(row->state, SN_QUEUE_WAITS);
	CHECK_INT(rows.items.items[2].state, SN_QUEUE_LOST);
	CHECK(sn_queue_find(&rows, "/a") == NULL);
	sn_vec_free(&rows.items);
	sn_arena_free(&arena);
}

TEST(the_output_of_a_job_tells_how_it_ended)
{
	static const char limit[] = "x\nslurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026 DUE TO "
				    "TIME LIMIT ***\n";
	static const char by_hand[] = "slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026 ***\n";

	CHECK_INT(sn_queue_end_in(limit, strlen(limit)), SN_QUEUE_TIMED_OUT);
	CHECK_INT(sn_queue_end_in(by_hand, strlen(by_hand)), SN_QUEUE_CANCELLED);
	CHECK_INT(sn_queue_end_in("fine\n", 5), SN_QUEUE_GONE);
}
