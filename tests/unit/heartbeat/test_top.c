/* What heartbeat top prints of files whose contents are known. */
#include "heartbeat/top.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/tap.h"

#define SECOND INT64_C(1000000000)
#define START  (1000 * SECOND) /* CLOCK_REALTIME of the process's start */

/* A file of a process of another host: it runs if its rows are fresh. */
static void write_process(int64_t rank, const char *arguments, int64_t row_count,
			  int64_t beat_count)
{
	char name[64];
	FILE *file;

	snprintf(name, sizeof(name), "heartbeat.elsewhere.%" PRId64 ".jsonl", rank);
	file = fopen(name, "w");
	REQUIRE(file);
	fprintf(file,
		"{\"schema\":\"sonde.heartbeat-header/1\",\"start_realtime_ns\":%" PRId64
		",\"start_monotonic_ns\":6,\"host\":\"elsewhere\",\"pid\":%" PRId64
		",\"rank\":%" PRId64 ",\"program\":\"app\",\"arguments\":%s,"
		"\"interval_s\":1,\"job_id\":\"77\"}\n",
		START, 100 + rank, rank, arguments);
	for (int64_t i = 1; i <= row_count; i++) {
		fprintf(file,
			"{\"schema\":\"sonde.heartbeat/1\",\"t_s\":%" PRId64
			",\"interval_s\":1,\"thread\":9,\"heartbeat\":\"step\",\"count\":%" PRId64
			",\"sum_ns\":%" PRId64 ",\"min_ns\":5,\"max_ns\":15,\"open\":1,"
			"\"open_ns\":2,\"work\":0,\"every\":1,\"misuse\":0,\"dropped\":0,"
			"\"histogram\":[%" PRId64,
			i, beat_count, beat_count * 1000 * (rank + 1), beat_count);
		for (int bucket = 1; bucket < 32; bucket++)
			fputs(",0", file);
		fputs("]}\n", file);
	}
	fclose(file);
}

static void enter_folder(void)
{
	static char folder[] = "/tmp/test_top_XXXXXX";

	REQUIRE(mkdtemp(folder) && !chdir(folder));
}

static void leave_folder(void)
{
	char folder[64];

	REQUIRE(getcwd(folder, sizeof(folder)));
	for (int rank = 0; rank < 2; rank++) {
		char name[64];

		snprintf(name, sizeof(name), "heartbeat.elsewhere.%d.jsonl", rank);
		unlink(name);
	}
	CHECK(!chdir("/") && !rmdir(folder));
}

static char *print(enum sn_live_by by, enum sn_format format, const char *columns, int64_t now_ns)
{
	struct sn_top top = { .by = by,
			      .window_s = 10,
			      .view = { .format = format, .columns = columns, .width = 200 } };
	struct sn_error err = { 0 };
	char *chars = NULL;
	size_t length;
	FILE *out = open_memstream(&chars, &length);

	REQUIRE(out);
	top.live = sn_live_new(".", 10 * SECOND);
	REQUIRE(sn_live_poll(top.live, now_ns, &err) == SN_OK);
	CHECK_INT(sn_top_print(&top, now_ns, out, &err), SN_OK);
	fclose(out);
	sn_live_free(top.live);
	return chars;
}

static void check_first_line(int64_t now_ns, const char *want)
{
	char *got = print(SN_LIVE_BY_HEARTBEAT, SN_FORMAT_TEXT, NULL, now_ns);

	*strchr(got, '\n') = 0;
	CHECK_STRING(got, want);
	free(got);
}

TEST(a_folder_without_heartbeats_says_so)
{
	enter_folder();
	check_first_line(START, "no process has written a heartbeat yet");
	leave_folder();
}

TEST(the_title_tells_who_runs_and_for_how_long)
{
	enter_folder();
	write_process(0, "[\"x\"]", 20, 50);
	check_first_line(START + 21 * SECOND,
			 "app [\"x\"], job 77: 1 process on 1 host, running for 21 s, "
			 "last row 1 s ago; figures of the last 10 s");
	write_process(1, "[]", 20, 50);
	check_first_line(START + 20 * SECOND,
			 "app [\"x\"], job 77: 2 processes on 1 host, running for 20 s, "
			 "last row 0 s ago; figures of the last 10 s");
	leave_folder();
}

TEST(ages_have_the_unit_that_fits)
{
	enter_folder();
	write_process(0, "[]", 20, 50);
	check_first_line(START + 620 * SECOND,
			 "app, job 77: 1 process on 1 host, ended; ran for 20 s, "
			 "last row 10 min ago; figures of the last 10 s");
	check_first_line(START + 7220 * SECOND,
			 "app, job 77: 1 process on 1 host, ended; ran for 20 s, "
			 "last row 2.0 h ago; figures of the last 10 s");
	leave_folder();
}

TEST(lines_that_cannot_be_read_are_counted)
{
	FILE *file;

	enter_folder();
	write_process(0, "[]", 20, 50);
	file = fopen("heartbeat.elsewhere.0.jsonl", "a");
	REQUIRE(file);
	fputs("no row\nnor this\n", file);
	fclose(file);
	check_first_line(START + 20 * SECOND,
			 "app, job 77: 1 process on 1 host, running for 20 s, last row 0 s ago; "
			 "figures of the last 10 s (2 lines could not be read)");
	leave_folder();
}

static bool has_heading(enum sn_live_by by, const char *heading)
{
	char *got = print(by, SN_FORMAT_TEXT, NULL, START + 20 * SECOND);
	char *head = strchr(got, '\n') + 1;
	bool has;

	*strchr(head, '\n') = 0;
	has = strstr(head, heading) != NULL;
	free(got);
	return has;
}

TEST(columns_that_say_nothing_are_left_out)
{
	enter_folder();
	write_process(0, "[]", 20, 50);
	CHECK(!has_heading(SN_LIVE_BY_HEARTBEAT, "Procs"));
	CHECK(!has_heading(SN_LIVE_BY_HEARTBEAT, "Slowest"));
	CHECK(has_heading(SN_LIVE_BY_RANK, "Rank"));
	CHECK(has_heading(SN_LIVE_BY_THREAD, "Thread "));
	write_process(1, "[]", 20, 50);
	CHECK(has_heading(SN_LIVE_BY_HEARTBEAT, "Procs"));
	CHECK(has_heading(SN_LIVE_BY_HEARTBEAT, "Slowest"));
	leave_folder();
}

/* Ten seconds of 50 beats by either process; a beat of rank 1 takes twice as long. */
TEST(figures_are_those_of_the_window)
{
	char *got;

	enter_folder();
	write_process(0, "[]", 20, 50);
	write_process(1, "[]", 20, 50);
	got = print(SN_LIVE_BY_HEARTBEAT, SN_FORMAT_CSV,
		    "heartbeat,processes,total,rate_hz,mean_s,slowest_rank,slowest_ratio",
		    START + 20 * SECOND);
	CHECK_STRING(got, "heartbeat,processes,total,rate_hz,mean_s,slowest_rank,slowest_ratio\n"
			  "step,2,2000,100,1.5e-06,1,1.3333333333333333\n");
	free(got);
	got = print(SN_LIVE_BY_RANK, SN_FORMAT_CSV, "rank,total,rate_hz,mean_s",
		    START + 20 * SECOND);
	CHECK_STRING(got, "rank,total,rate_hz,mean_s\n0,1000,50,1e-06\n1,1000,50,2e-06\n");
	free(got);
	leave_folder();
}

TEST(json_has_the_facts_of_the_title)
{
	char *got;

	enter_folder();
	write_process(0, "[]", 20, 50);
	got = print(SN_LIVE_BY_HEARTBEAT, SN_FORMAT_JSON, "heartbeat,total", START + 20 * SECOND);
	CHECK(strstr(got, "\"sonde.heartbeat-top/1\"") != NULL);
	CHECK(strstr(got, "\"processes\":1") != NULL);
	CHECK(strstr(got, "\"running\":1") != NULL);
	CHECK(strstr(got, "\"window_s\":10") != NULL);
	CHECK(strstr(got, "\"last_row_realtime_s\":1020") != NULL);
	free(got);
	leave_folder();
}
