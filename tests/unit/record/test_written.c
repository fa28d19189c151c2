/* What starts write: shown or aside, compared by size and hash. */
#include "record/written.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/tap.h"

/* A program that writes to both, with what it was given in their place. */
static void start(struct sn_written *written, bool is_aside, const char *output, const char *error)
{
	pid_t child;

	sn_written_begin(written, is_aside);
	child = fork();
	if (!child) {
		for (int s = 0; s < 2; s++)
			if (written->fds[s] >= 0)
				dup2(written->fds[s], s ? STDERR_FILENO : STDOUT_FILENO);
		_exit(write(STDOUT_FILENO, output, strlen(output)) < 0 ||
		      write(STDERR_FILENO, error, strlen(error)) < 0);
	}
	waitpid(child, NULL, 0);
	sn_written_end(written);
}

/* Standard output and error of the test itself go elsewhere until given back. */
static int taken[2];

static void take(int output, int error)
{
	fflush(stdout);
	taken[0] = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	taken[1] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	dup2(output, STDOUT_FILENO);
	dup2(error, STDERR_FILENO);
}

static void give_back(void)
{
	fflush(stdout);
	dup2(taken[0], STDOUT_FILENO);
	dup2(taken[1], STDERR_FILENO);
	close(taken[0]);
	close(taken[1]);
}

static bool differ(const struct sn_written *of, const struct sn_written *from, const char *words)
{
	struct sn_text text = { 0 };
	bool differs = sn_written_differ(of, from, &text);
	bool is_right = differs == (words != NULL) && (!words || !strcmp(text.chars, words));

	if (!is_right)
		printf("# %s\n", text.chars ? text.chars : "nothing differs");
	sn_text_free(&text);
	return is_right;
}

TEST(starts_aside_differ_by_size_and_by_bytes)
{
	struct sn_written a, b, c, d;
	int null = open("/dev/null", O_WRONLY), other[2];

	REQUIRE(pipe(other) == 0);
	take(null, other[1]);
	start(&a, true, "one", "e");
	start(&b, true, "one", "e");
	start(&c, true, "two", "e");
	start(&d, true, "three", "");
	give_back();
	CHECK(differ(&b, &a, NULL));
	CHECK(differ(&c, &a, "standard output (as many bytes, 3)"));
	CHECK(differ(&d, &a,
		     "standard output (5 bytes, not 3) and standard error (0 bytes, not 1)"));
	sn_written_close(&a);
	sn_written_close(&b);
	sn_written_close(&c);
	sn_written_close(&d);
}

/* With a pipe before the user's, whose reader gets all of it. */
TEST(what_goes_into_a_pipe_is_passed_on_and_told)
{
	struct sn_written shown, aside;
	int output[2], error[2];
	char got[64] = "";

	REQUIRE(pipe(output) == 0 && pipe(error) == 0);
	take(output[1], error[1]);
	start(&shown, false, "one", "e");
	start(&aside, true, "one", "f");
	give_back();
	CHECK_INT(read(output[0], got, sizeof(got)), 3);
	CHECK(!memcmp(got, "one", 3));
	CHECK_INT(read(error[0], got, sizeof(got)), 1);
	CHECK(shown.streams[0].is_known && shown.streams[1].is_known);
	CHECK(differ(&aside, &shown, "standard error (as many bytes, 1)"));
	sn_written_close(&shown);
	sn_written_close(&aside);
}

/* The file is the program's, from where it stood. */
TEST(what_goes_into_a_file_is_read_there)
{
	struct sn_written shown, aside;
	FILE *file = tmpfile();
	int null = open("/dev/null", O_WRONLY);

	REQUIRE(file && write(fileno(file), "before", 6) == 6);
	take(fileno(file), null);
	start(&shown, false, "one", "e");
	start(&aside, true, "one", "e");
	give_back();
	CHECK_INT(shown.fds[0], -1);
	CHECK_INT(shown.streams[0].bytes, 3);
	CHECK(!shown.streams[1].is_known);
	CHECK(differ(&aside, &shown, NULL));
	sn_written_close(&shown);
	sn_written_close(&aside);
	fclose(file);
}

/* Lines of both keep their order. */
TEST(output_and_error_in_one_pipe_stay_one)
{
	struct sn_written shown, aside;
	char got[64] = "";
	int both[2];

	REQUIRE(pipe(both) == 0);
	take(both[1], both[1]);
	start(&shown, false, "one", "e");
	start(&aside, true, "one", "f");
	give_back();
	CHECK_INT(read(both[0], got, sizeof(got)), 4);
	CHECK(!memcmp(got, "onee", 4));
	CHECK(differ(&aside, &shown, "output and errors (as many bytes, 4)"));
	sn_written_close(&shown);
	sn_written_close(&aside);
}

/* A reader that has gone is noticed by the program, as without us. */
TEST(a_pipe_that_nobody_reads_is_broken_for_the_program)
{
	struct sn_written shown;
	int output[2], null = open("/dev/null", O_WRONLY), status = 0;
	pid_t child;

	REQUIRE(pipe(output) == 0);
	take(output[1], null);
	close(output[0]);
	close(output[1]);
	sn_written_begin(&shown, false);
	child = fork();
	if (!child) {
		dup2(shown.fds[0], STDOUT_FILENO);
		close(shown.copies[0].from); /* as an exec does */
		for (int i = 0; i < 100000; i++)
			if (write(STDOUT_FILENO, "0123456789abcdef", 16) < 0)
				break;
		_exit(0);
	}
	waitpid(child, &status, 0);
	sn_written_end(&shown);
	give_back();
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
	CHECK(!shown.streams[0].is_known);
	sn_written_close(&shown);
}

TEST(what_never_began_can_be_closed)
{
	struct sn_written none = { 0 };

	sn_written_close(&none);
	CHECK(fcntl(STDIN_FILENO, F_GETFD) != -1);
}
