#include "profile/thread_states.h"

#include "fixture.h"
#include "harness/tap.h"

static uint64_t of(const struct sn_thread_states *states, uint32_t function,
		   enum sn_state_kind state)
{
	for (size_t i = 0; i < states->items.count; i++)
		if (states->items.items[i].function == function)
			return states->items.items[i].ns[state];
	return 0;
}

/* 100 samples a millisecond apart, then one after a gap of 40 ms and one after a gap of 10. */
static void late_samples(struct fixture *f, uint32_t app_main, uint32_t app_fib)
{
	struct sn_experiment *e = f->experiment;

	f->experiment->threads.items[0].start_ns = 0;
	fixture_samples(f, 0, app_main, 100, 1000);
	fixture_samples(f, 0, app_fib, 1, 1000);
	sn_vec_last(&e->samples).time_ns += 40000000;
	fixture_samples(f, 0, app_main, 1, 1000);
	sn_vec_last(&e->samples).time_ns += 10000000;
}

TEST(waiting_lies_in_the_gaps)
{
	struct fixture f;
	struct sn_thread_states states;
	uint32_t app_main, app_fib;

	fixture_begin(&f);
	app_main = fixture_stack(&f, 0, 1, APP, MAIN);
	app_fib = fixture_stack(&f, 0, 2, APP, FIB, APP, MAIN);
	late_samples(&f, app_main, app_fib);
	/* 25 of the 50 ms are known to be waiting for a CPU, 20 to be blocked */
	f.experiment->threads.items[0].account =
		(struct sn_time_account){ 152000000, 102000000, 0, 25000000, 20000000 };
	fixture_profile(&f, NULL);
	sn_thread_states_find(f.profile, &states);
	CHECK_INT(of(&states, fixture_function(&f, "fib"), SN_STATE_WAIT_CPU), 20000000);
	CHECK_INT(of(&states, fixture_function(&f, "main"), SN_STATE_WAIT_CPU), 5000000);
	CHECK_INT(of(&states, fixture_function(&f, "fib"), SN_STATE_OTHER_WAIT), 16000000);
	CHECK_INT(of(&states, fixture_function(&f, "main"), SN_STATE_OTHER_WAIT), 4000000);
	CHECK_INT(of(&states, fixture_function(&f, "main"), SN_STATE_USER), 101000000);
	CHECK_INT(states.ns[SN_STATE_WAIT_CPU], 25000000);
	CHECK_INT(states.threads_unknown, 0);
	CHECK_INT(states.items.items[0].function, fixture_function(&f, "main"));
	sn_thread_states_free(&states);
	fixture_end(&f);
}

TEST(calls_belong_to_who_made_them)
{
	struct fixture f;
	struct sn_thread_states states;
	uint32_t app_main, writing;

	fixture_begin(&f);
	app_main = fixture_stack(&f, 0, 1, APP, MAIN);
	writing = fixture_stack(&f, 0, 3, LIBC, WRITE, APP, FIB, APP, MAIN);
	f.experiment->threads.items[0].start_ns = 0;
	fixture_samples(&f, 0, app_main, 10, 1000);
	fixture_wait(&f, 0, writing, 10000, 5000, SN_WAIT_IO);
	fixture_wait(&f, 0, writing, 16000, 3000, SN_WAIT_CONDITION);
	fixture_samples(&f, 0, app_main, 1, 1000);
	sn_vec_last(&f.experiment->samples).time_ns += 9000000;
	f.experiment->threads.items[0].account =
		(struct sn_time_account){ 20000000, 11000000, 0, 1000000, 8000000 };
	fixture_profile(&f, NULL);
	sn_thread_states_find(f.profile, &states);
	CHECK_INT(of(&states, fixture_function(&f, "fib"), SN_STATE_IO), 5000000);
	CHECK_INT(of(&states, fixture_function(&f, "fib"), SN_STATE_LOCK), 3000000);
	/* what is left of the gap is less than a period: there is no place for the millisecond */
	CHECK_INT(of(&states, SN_NONE, SN_STATE_WAIT_CPU), 1000000);
	CHECK_INT(states.ns[SN_STATE_OTHER_WAIT], 0);
	sn_thread_states_free(&states);
	fixture_end(&f);
}

TEST(accounts_that_are_not_known_or_cut)
{
	struct fixture f;
	struct sn_thread_states states;
	uint32_t app_main;

	fixture_begin(&f);
	app_main = fixture_stack(&f, 0, 1, APP, MAIN);
	late_samples(&f, app_main, app_main);
	fixture_profile(&f, NULL);
	sn_thread_states_find(f.profile, &states);
	CHECK_INT(states.threads_unknown, 1);
	CHECK_INT(states.ns[SN_STATE_WAIT_CPU], 0);
	sn_thread_states_free(&states);
	f.experiment->threads.items[0].account =
		(struct sn_time_account){ 152000000, 102000000, 0, 25000000, 20000000 };
	fixture_profile(&f, &(struct sn_filter){ .to_ns = 50000000 });
	sn_thread_states_find(f.profile, &states);
	CHECK_INT(states.threads_unknown, 1);
	CHECK_INT(states.ns[SN_STATE_WAIT_CPU] + states.ns[SN_STATE_OTHER_WAIT], 0);
	sn_thread_states_free(&states);
	fixture_end(&f);
}
