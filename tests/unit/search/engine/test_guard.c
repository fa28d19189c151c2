/* Code that crashes comes back as an error, and the process has its handlers again. */
#include "search/engine/guard.h"

#include <signal.h>
#include <stdlib.h>

#include "harness/tap.h"

static int calls;

static void fine(void *context)
{
	calls += *(int *)context;
}

static void crash(void *context)
{
	raise(*(int *)context);
	calls += 100;
}

static const struct sn_guard_code nowhere;

static void quit(void *context)
{
	(void)context;
	abort();
}

TEST(what_returns_is_called_once)
{
	int three = 3, signal = -1;

	calls = 0;
	CHECK(sn_guarded(fine, &three, &nowhere, &signal));
	CHECK_INT(calls, 3);
	CHECK_INT(signal, 0);
}

TEST(each_fault_comes_back)
{
	static int all[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

	calls = 0;
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
			int signal = 0;

			CHECK(!sn_guarded(crash, &all[i], &nowhere, &signal));
			CHECK_INT(signal, all[i]);
		}
	CHECK_INT(calls, 0);
}

TEST(an_abort_comes_back)
{
	int signal = 0;

	CHECK(!sn_guarded(quit, NULL, &nowhere, &signal));
	CHECK_INT(signal, SIGABRT);
}

static volatile sig_atomic_t own_count;

static void own(int number)
{
	own_count += number == SIGFPE;
}

TEST(handlers_are_as_before)
{
	struct sigaction action = { .sa_handler = own }, before, after;
	int signal = 0, number = SIGFPE;

	sigaction(SIGFPE, &action, &before);
	CHECK(!sn_guarded(crash, &number, &nowhere, &signal));
	CHECK_INT(own_count, 0);
	raise(SIGFPE);
	CHECK_INT(own_count, 1);
	sigaction(SIGFPE, &before, &after);
	CHECK(after.sa_handler == own);
}

TEST(code_is_what_was_loaded_around_a_function)
{
	const struct sn_guard_code code = sn_guard_code_of((uintptr_t)quit);

	CHECK((uintptr_t)quit >= code.begin && (uintptr_t)quit < code.end);
	CHECK((uintptr_t)&calls < code.begin || (uintptr_t)&calls >= code.end);
}
