/* The spool of an agent: what was written whole is read, whatever became of the rest. */
#include "search/online/spool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "harness/tap.h"

static char *folder(void)
{
	static char path[] = "/tmp/sonde-spool.XXXXXX";

	strcpy(path + strlen(path) - 6, "XXXXXX");
	return mkdtemp(path);
}

static void folder_remove(const char *path)
{
	struct sn_text text = { 0 };

	sn_text_addf(&text, "%s/search.spool", path);
	unlink(text.chars);
	rmdir(path);
	sn_text_free(&text);
}

static void window_write(const char *path, int64_t from_ns)
{
	struct sn_mri_window window = { .from_ns = from_ns,
					.to_ns = from_ns + 500,
					.executions = 3,
					.processes = 1,
					.traces = 24,
					.overhead_ns = 900,
					.traced_ns = 30 };
	const struct sn_mri_thread thread = { 7, 8, 500, 400, -1 };
	const struct sn_mri_faults faults = { 7, 20, 1 };
	struct sn_error err;

	sn_vec_push(&window.threads, thread);
	sn_vec_push(&window.faults, faults);
	CHECK_INT(sn_spool_window(path, &window, &err), SN_OK);
	sn_mri_window_free(&window);
}

TEST(what_is_written_is_read)
{
	char *path = folder();
	struct sn_spool spool;
	struct sn_error err;

	REQUIRE(path);
	sn_spool_read(path, &spool);
	CHECK(!spool.windows.count && !spool.has_ended && !spool.agents.count);
	sn_spool_agent(path, 41, false, &err);
	sn_spool_agent(path, 42, true, &err);
	window_write(path, 1000);
	sn_spool_found(path, "step 1: 0.5 HotRegion", &err);
	window_write(path, 2000);
	sn_spool_end(path,
		     &(struct sn_spool_end){ .is_found = true,
					     .is_deaf = true,
					     .refused = 2,
					     .executions = 17,
					     .mean_s = 0.25 },
		     &err);
	sn_spool_read(path, &spool);
	REQUIRE(spool.windows.count == 2 && spool.agents.count == 2);
	CHECK_INT(spool.agents.items[1], 42);
	CHECK_INT(spool.restarted, 1);
	CHECK_INT(spool.windows.items[1].from_ns, 2000);
	CHECK_INT(spool.windows.items[1].threads.items[0].cpu_ns, 400);
	CHECK_INT(spool.windows.items[1].threads.items[0].wait_cpu_ns, -1);
	CHECK_INT(spool.windows.items[0].faults.items[0].minor, 20);
	CHECK(spool.windows.items[1].traces == 24 && spool.windows.items[1].overhead_ns == 900 &&
	      spool.windows.items[1].traced_ns == 30);
	CHECK(spool.has_ended && spool.end.is_found && spool.end.refused == 2 &&
	      spool.end.executions == 17 && spool.end.is_deaf && !spool.end.is_reached);
	CHECK_REAL(spool.end.mean_s, 0.25, 0);
	sn_spool_free(&spool);
	folder_remove(path);
}

/* Cut at every byte there are as many windows as were whole, and each is what it was. */
TEST(a_window_that_was_cut_off_does_not_count)
{
	static const char text[] = "agent 5 0\n\nwindow 10 20 1 1\nthread 1 2 3 4 5\nmeasured\n"
				   "\nwindow 30 40 2 1\nmeasured\n\nend 1 0 9 0.5\n";
	const size_t first = strstr(text, "measured\n") - text + 9;
	const size_t second = strstr(text + first, "measured\n") - text + 9;

	for (size_t length = 0; length < sizeof(text); length++) {
		struct sn_spool spool;

		sn_spool_read_memory(text, length, &spool);
		CHECK_INT(spool.windows.count, (length >= first) + (length >= second));
		if (length >= first)
			CHECK_INT(spool.windows.items[0].threads.count, 1);
		sn_spool_free(&spool);
	}
}

TEST(windows_that_cannot_be_are_left_out)
{
	static const char text[] =
		"window 20 10 1 1\nmeasured\nwindow 0 10 1 1\nmeasured\nwindow 1 2 0 1\n"
		"measured\nthread 1 2 3 4 5\nmeasured\nwindow x\nmeasured\n";
	struct sn_spool spool;

	sn_spool_read_memory(text, strlen(text), &spool);
	CHECK_INT(spool.windows.count, 0);
	sn_spool_free(&spool);
}

static int said;

static void say(const char *sentence)
{
	said += !strcmp(sentence, "one") || !strcmp(sentence, "two");
}

TEST(sentences_are_said_once)
{
	char *path = folder();
	struct sn_error err;
	uint64_t at;

	REQUIRE(path);
	said = 0;
	CHECK_INT(sn_spool_watch(path, 0, say), 0);
	sn_spool_agent(path, 1, false, &err);
	sn_spool_found(path, "one", &err);
	at = sn_spool_watch(path, 0, say);
	CHECK_INT(said, 1);
	sn_spool_found(path, "two", &err);
	at = sn_spool_watch(path, at, say);
	CHECK_INT(said, 2);
	sn_spool_watch(path, at, say);
	CHECK_INT(said, 2);
	folder_remove(path);
}
