#include "harness/tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_PASSED = 0, EXIT_FAILED = 1, EXIT_SKIPPED = 77 };

extern const struct tap_test *const __start_tap_tests[];
extern const struct tap_test *const __stop_tap_tests[];

static bool has_failed;

static void failed(const char *file, int line)
{
	has_failed = true;
	printf("# %s:%d: ", file, line);
}

void tap_check(bool holds, const char *file, int line, const char *what)
{
	if (holds)
		return;
	failed(file, line);
	printf("does not hold: %s\n", what);
}

void tap_check_int(int64_t got, int64_t want, const char *file, int line, const char *what)
{
	if (got == want)
		return;
	failed(file, line);
	printf("%s is %lld (0x%llx), not %lld (0x%llx)\n", what, (long long)got, (long long)got,
	       (long long)want, (long long)want);
}

void tap_check_real(double got, double want, double within, const char *file, int line,
		    const char *what)
{
	if (fabs(got - want) <= within)
		return;
	failed(file, line);
	printf("%s is %.17g, not within %g of %.17g\n", what, got, within, want);
}

void tap_check_string(const char *got, const char *want, const char *file, int line,
		      const char *what)
{
	if (got && want && !strcmp(got, want))
		return;
	if (!got && !want)
		return;
	failed(file, line);
	printf("%s is \"%s\", not \"%s\"\n", what, got ? got : "(null)", want ? want : "(null)");
}

void tap_end_test(void)
{
	fflush(stdout);
	_exit(has_failed ? EXIT_FAILED : EXIT_PASSED);
}

void tap_skip(const char *reason)
{
	printf("# skipped: %s\n", reason);
	fflush(stdout);
	_exit(EXIT_SKIPPED);
}

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2;
}

/* The child leaves through exit(), so that the sanitizers' own checks at exit run too. */
static int run_one(const struct tap_test *test)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return EXIT_FAILED;
	if (!pid) {
		test->run();
		fflush(stdout);
		exit(has_failed ? EXIT_FAILED : EXIT_PASSED);
	}
	if (waitpid(pid, &status, 0) != pid)
		return EXIT_FAILED;
	if (WIFSIGNALED(status)) {
		printf("# killed by signal %d (%s)\n", WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
		return EXIT_FAILED;
	}
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int number = 0, failures = 0;

	for (const struct tap_test *const *t = __start_tap_tests; t < __stop_tap_tests; t++) {
		int code;

		if (!is_wanted((*t)->name, argc, argv))
			continue;
		code = run_one(*t);
		number++;
		failures += code != EXIT_PASSED && code != EXIT_SKIPPED;
		printf("%sok %d - %s%s\n",
		       code == EXIT_PASSED || code == EXIT_SKIPPED ? "" : "not ", number,
		       (*t)->name, code == EXIT_SKIPPED ? " # SKIP" : "");
	}
	printf("1..%d\n", number);
	/* Meson reads the lines; an exit code of 1 would show as ERROR instead of FAIL. */
	return argc > 1 && failures ? 1 : 0;
}
