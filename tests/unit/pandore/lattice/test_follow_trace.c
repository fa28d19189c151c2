/* Following a trace by its path: files, pipes, and the ways in which it ends. */
#include "pandore/lattice/follow_trace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/tap.h"
#include "pandore/lattice/reader.h"

static const char events[] = "{\"processes\":2}\n"
			     "{\"process\":0,\"index\":0}\n"
			     "{\"process\":1,\"index\":0}\n"
			     "{\"process\":1,\"index\":1,\"after\":[[0,0]]}\n";
static const char end[] = "{\"end\":true}\n";

static char path[] = "/tmp/test_follow_trace_XXXXXX";

static void write_trace(const char *bytes, const char *more)
{
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes));
	REQUIRE(write(fd, more, strlen(more)) == (ssize_t)strlen(more));
	close(fd);
}

struct followed {
	sn_status status;
	struct sn_error err;
	struct sn_execution *execution;
	char *lines;
};

static struct followed follow(const char *name, double every_s, double idle_s)
{
	struct followed f = { 0 };
	size_t length;
	struct sn_follow_options options = { .every_s = every_s,
					     .idle_s = idle_s,
					     .out = open_memstream(&f.lines, &length) };

	REQUIRE(options.out);
	f.status = sn_follow_trace(name, &options, &f.execution, &f.err);
	fclose(options.out);
	return f;
}

static void free_followed(struct followed *f)
{
	sn_execution_free(f->execution);
	free(f->lines);
}

/* What the last line says after the time. */
static const char *last_line(const struct followed *f)
{
	const char *line = strrchr(f->lines, '\n');

	while (line > f->lines && line[-1] != '\n')
		line--;
	line = strstr(line ? line : "", "processes");
	return line ? line : "";
}

TEST(a_trace_with_its_end_is_read_at_once)
{
	struct followed f;

	write_trace(events, end);
	f = follow(path, 1000, 0);
	CHECK_INT(f.status, SN_OK);
	CHECK_STRING(last_line(&f), "processes 2  events 3  cuts 5  arcs 5  "
				    "mean out-degree 1.250\n");
	REQUIRE(f.execution != NULL);
	CHECK_INT(f.execution->observed.event_count, 3);
	free_followed(&f);
	unlink(path);
}

TEST(silence_ends_a_trace_without_its_end)
{
	struct followed f;

	write_trace(events, "");
	f = follow(path, 1000, 0.05);
	CHECK_INT(f.status, SN_OK);
	REQUIRE(f.execution != NULL);
	CHECK_INT(f.execution->observed.event_count, 3);
	free_followed(&f);
	unlink(path);
}

TEST(an_event_waits_for_its_past)
{
	struct followed f;

	write_trace("{\"process\":1,\"index\":0,\"after\":[[0,0]]}\n", "");
	f = follow(path, 1000, 0.05);
	CHECK(strstr(last_line(&f), "events 0 (1 wait for others)") != NULL);
	CHECK(f.status != SN_OK);
	free_followed(&f);
	unlink(path);
}

TEST(a_file_that_never_comes_is_named)
{
	struct followed f = follow("/nowhere/trace.jsonl", 1000, 0.05);

	CHECK_INT(f.status, SN_ERR_NOT_FOUND);
	CHECK(strstr(f.err.sentence, "'/nowhere/trace.jsonl'") != NULL);
	CHECK(f.execution == NULL);
	free_followed(&f);
}

/* The file appears after the reader began, and grows. */
TEST(a_file_may_come_later)
{
	struct followed f;
	pid_t writer;

	write_trace("", "");
	unlink(path);
	writer = fork();
	REQUIRE(writer >= 0);
	if (writer == 0) {
		int fd;

		usleep(100000);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		for (const char *byte = events; *byte; byte++)
			if (write(fd, byte, 1) != 1)
				_exit(1);
		_exit(write(fd, end, strlen(end)) != (ssize_t)strlen(end));
	}
	f = follow(path, 0.01, 0);
	CHECK_INT(f.status, SN_OK);
	CHECK(strstr(last_line(&f), "events 3  cuts 5") != NULL);
	waitpid(writer, NULL, 0);
	free_followed(&f);
	unlink(path);
}

TEST(the_end_of_a_pipe_ends_the_trace)
{
	struct followed f;
	int ends[2];
	char name[32];

	REQUIRE(pipe(ends) == 0);
	REQUIRE(write(ends[1], events, strlen(events)) == (ssize_t)strlen(events));
	close(ends[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	f = follow(name, 1000, 0);
	CHECK_INT(f.status, SN_OK);
	CHECK(strstr(last_line(&f), "events 3  cuts 5") != NULL);
	close(ends[0]);
	free_followed(&f);
}

/* The reader has taken all bytes when its first line of counts comes; the file is then cut. */
TEST(a_file_that_becomes_shorter_is_a_fault)
{
	struct sn_follow_options options = { .every_s = 0.01 };
	struct sn_execution *execution = NULL;
	struct sn_error err = { 0 };
	int lines[2];
	pid_t cutter;

	write_trace(events, "");
	REQUIRE(pipe(lines) == 0);
	cutter = fork();
	REQUIRE(cutter >= 0);
	if (cutter == 0) {
		char byte;

		_exit(read(lines[0], &byte, 1) != 1 || truncate(path, 1));
	}
	options.out = fdopen(lines[1], "w");
	CHECK_INT(sn_follow_trace(path, &options, &execution, &err), SN_ERR_IO);
	CHECK(strstr(err.sentence, "became shorter") != NULL);
	waitpid(cutter, NULL, 0);
	fclose(options.out);
	sn_execution_free(execution);
	unlink(path);
}
