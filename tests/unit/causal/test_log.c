/* The log of causal experiments: what is written is read, and damage is refused. */
#include "causal/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "causal/carry.h"
#include "harness/tap.h"

static struct sn_causal_log *make_log(void)
{
	struct sn_causal_log *log = sn_causal_log_new();
	struct sn_causal_candidate candidate = { .kind = "loop",
						 .id = "ab12:10:20",
						 .name = "a\tb\\c\nd.c:3-4",
						 .function = "solve",
						 .file = "/src/a.c",
						 .line_first = 3,
						 .line_last = 4,
						 .cpu_share = 0.25 };
	struct sn_causal_run run = { .elapsed_ns = 5,
				     .asked_ns = 7,
				     .slept_ns = 9,
				     .excess_ns = -2,
				     .ran_ns = 30,
				     .queued_ns = 10 };
	struct sn_causal_trial baseline = {
		.candidate = SN_CAUSAL_BASELINE, .step_ns = 1.5, .visits = 2, .time_ns = 3
	};
	struct sn_causal_trial trial = { .block = 4,
					 .candidate = 0,
					 .speedup = 0.25,
					 .step_ns = 1e6,
					 .visits = 10,
					 .time_ns = 1000,
					 .virtual_ns = -1,
					 .hits = 3,
					 .due_ns = 6,
					 .settle_ns = 1000000000 };

	log->kind = "heartbeat";
	log->name = "step \\ by step";
	log->threads = 2;
	log->refused = "one-thread";
	log->seed = 99;
	sn_vec_push(&log->candidates, candidate);
	sn_vec_push(&log->runs, run);
	sn_vec_push(&log->trials, baseline);
	sn_vec_push(&log->trials, trial);
	return log;
}

static char *write_log(const struct sn_causal_log *log, size_t *length)
{
	char folder[] = "/tmp/sonde-test-causal.XXXXXX";
	struct sn_text path = { 0 };
	struct sn_file_view view = { 0 };
	struct sn_error err;
	char *bytes;

	CHECK(mkdtemp(folder) != NULL);
	CHECK(!sn_causal_log_exists(folder));
	CHECK(sn_causal_log_write(log, folder, &err) == SN_OK);
	CHECK(sn_causal_log_exists(folder));
	sn_text_addf(&path, "%s/" SN_CAUSAL_LOG_NAME, folder);
	CHECK(sn_file_map(path.chars, &view, &err) == SN_OK);
	bytes = strndup((const char *)view.bytes, view.length);
	*length = view.length;
	sn_file_unmap(&view);
	unlink(path.chars);
	rmdir(folder);
	sn_text_free(&path);
	return bytes;
}

TEST(what_is_written_is_read)
{
	struct sn_causal_log *log = make_log(), *again = NULL;
	size_t length;
	char *bytes = write_log(log, &length);
	struct sn_error err;

	CHECK(sn_causal_log_parse(bytes, length, "x", &again, &err) == SN_OK);
	CHECK_STRING(again->kind, "heartbeat");
	CHECK_STRING(again->name, "step \\ by step");
	CHECK_STRING(again->refused, "one-thread");
	CHECK(again->threads == 2 && again->seed == 99 && isnan(again->overhead_share));
	CHECK(again->candidates.count == 1 && again->runs.count == 1 && again->trials.count == 2);
	CHECK_STRING(again->candidates.items[0].name, "a\tb\\c\nd.c:3-4");
	CHECK(again->candidates.items[0].cpu_share == 0.25);
	CHECK(again->runs.items[0].excess_ns == -2 && again->runs.items[0].slept_ns == 9);
	CHECK(again->runs.items[0].ran_ns == 30 && again->runs.items[0].queued_ns == 10);
	CHECK(sn_causal_queued_share(again) == 0.25);
	CHECK(again->trials.items[0].candidate == SN_CAUSAL_BASELINE);
	CHECK(again->trials.items[1].speedup == 0.25 && again->trials.items[1].virtual_ns == -1);
	CHECK(again->trials.items[1].block == 4 && again->trials.items[1].due_ns == 6);
	CHECK(again->trials.items[1].settle_ns == 1000000000);
	sn_causal_log_free(again);
	sn_causal_log_free(log);
	free(bytes);
}

TEST(every_cut_is_read_or_refused)
{
	struct sn_causal_log *log = make_log(), *again;
	size_t length, refused = 0, records = 0;
	char *bytes = write_log(log, &length);
	struct sn_error err;

	for (size_t cut = 0; cut < length; cut++) {
		again = NULL;
		if (sn_causal_log_parse(bytes, cut, "x", &again, &err) != SN_OK)
			refused++;
		else /* a record more, or the same, with each byte */
			CHECK(again->candidates.count + again->runs.count + again->trials.count >=
			      records);
		if (again)
			records = again->candidates.count + again->runs.count + again->trials.count;
		sn_causal_log_free(again);
	}
	CHECK(refused == strlen("sonde.causal-log\t1") && records == 3); /* the last one is cut */
	sn_causal_log_free(log);
	free(bytes);
}

/* Killed in the middle of a record, in a run that had not ended. */
TEST(records_are_added_one_by_one)
{
	struct sn_causal_log *log = make_log(), *again = NULL;
	char folder[] = "/tmp/sonde-test-causal.XXXXXX";
	struct sn_text path = { 0 };
	struct sn_error err;
	FILE *file;

	CHECK(mkdtemp(folder) != NULL);
	CHECK(sn_causal_log_append_trial(log, folder, &err) != SN_OK); /* there is no file */
	CHECK(sn_causal_log_write(log, folder, &err) == SN_OK);
	log->trials.items[1].step_ns = 7;
	log->trials.items[1].run = 1;
	CHECK(sn_causal_log_append_trial(log, folder, &err) == SN_OK);
	sn_text_addf(&path, "%s/" SN_CAUSAL_LOG_NAME, folder);
	CHECK((file = fopen(path.chars, "a")) != NULL);
	fputs("trial\t1\t4\t0", file);
	fclose(file);
	CHECK(sn_causal_log_open(folder, &again, &err) == SN_OK);
	CHECK(again->trials.count == 3 && again->trials.items[2].step_ns == 7);
	CHECK(again->trials.items[2].run == 1 && again->runs.count == 2);
	CHECK(again->runs.items[1].elapsed_ns == 0);
	CHECK(!sn_causal_trial_is_cut(again, &again->trials.items[1]));
	CHECK(sn_causal_trial_is_cut(again, &again->trials.items[2]));
	/* a later command writes it whole */
	CHECK(sn_causal_log_write(again, folder, &err) == SN_OK);
	sn_causal_log_free(again);
	CHECK(sn_causal_log_open(folder, &again, &err) == SN_OK);
	CHECK(again->runs.count == 2 && again->trials.count == 3);
	CHECK(!sn_causal_trial_is_cut(again, &again->trials.items[1]));
	CHECK(sn_causal_trial_is_cut(again, &again->trials.items[2]));
	sn_causal_log_free(again);
	sn_causal_log_free(log);
	unlink(path.chars);
	rmdir(folder);
	sn_text_free(&path);
}

/* Logs of before have no settling time: it was the least. */
TEST(an_old_trial_is_read)
{
	static const char lines[] =
		"sonde.causal-log\t1\ntrial\t0\t0\t-1\t0\t1\t1\t1\t1\t1\t1\t1\t1\n";
	struct sn_causal_log *log = NULL;
	struct sn_error err;

	CHECK(sn_causal_log_parse(lines, strlen(lines), "x", &log, &err) == SN_OK);
	CHECK(log->trials.items[0].settle_ns == SN_CAUSAL_SETTLE_LEAST_NS);
	sn_causal_log_free(log);
}

static bool is_refused(const char *lines)
{
	struct sn_causal_log *log = NULL;
	struct sn_text text = { 0 };
	struct sn_error err;
	sn_status status;

	sn_text_addf(&text, "sonde.causal-log\t1\n%s\n", lines);
	status = sn_causal_log_parse(text.chars, text.length, "x", &log, &err);
	sn_text_free(&text);
	sn_causal_log_free(log);
	return status == SN_ERR_FORMAT;
}

TEST(numbers_that_cannot_be_are_refused)
{
	CHECK(is_refused("run\t-1\t0\t0\t0\t0\t0\t0\t0\t0"));
	CHECK(is_refused("candidate\tloop\tx\tx\tx\tx\t1\t2\t1.5"));
	CHECK(is_refused("candidate\tloop\tx"));
	/* a candidate that is not there, a speed-up above 1, a step that is no number */
	CHECK(is_refused("trial\t0\t0\t0\t1\t1\t1\t1\t1\t1\t1\t1\t1"));
	CHECK(is_refused("trial\t0\t0\t-1\t1.5\t1\t1\t1\t1\t1\t1\t1\t1"));
	CHECK(is_refused("trial\t0\t0\t-1\t0\tnan\t1\t1\t1\t1\t1\t1\t1"));
	CHECK(!is_refused("of a later version\tx"));
}
