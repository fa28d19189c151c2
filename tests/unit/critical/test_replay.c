/* The path over threads, and what a faster function would bring, of runs made by hand. */
#include "critical/critical.h"

#include <string.h>

#include "harness/tap.h"

enum { UNIT = 1000000 }; /* ns */

struct made {
	struct sn_experiment *e;
	struct sn_program *program;
	struct sn_locks locks;
	uint32_t stacks[4]; /* of functions f0, f1, ... */
};

/* A function every 256 bytes. */
static bool resolve(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
		    struct sn_resolved *out)
{
	static const char *const names[] = { "f0", "f1", "f2", "f3" };

	(void)context, (void)process, (void)module;
	*out = (struct sn_resolved){ .function_link_addr = link_addr & ~255ull, .scope_count = 1 };
	out->scopes[0] = (struct sn_resolved_scope){ .name = names[link_addr >> 8 & 3] };
	return true;
}

static void made_begin(struct made *made, int64_t units)
{
	*made = (struct made){ .e = sn_experiment_new("x") };
	made->e->elapsed_ns = units * UNIT;
	sn_vec_push(&made->e->processes,
		    (struct sn_process){ .pid = 7, .host = "h", .end_ns = units * UNIT });
	sn_vec_push(&made->e->modules,
		    (struct sn_module){ .path = "/app", .name = "app", .build_id = "" });
	for (uint32_t f = 0; f < 4; f++)
		made->stacks[f] = sn_experiment_add_stack(
			made->e, 0, &(struct sn_frame){ 0, 0x1000 + f * 256 }, 1, 0);
	made->locks.is_traced = true;
}

static uint32_t made_thread(struct made *made, int64_t start, int64_t end, uint32_t creator)
{
	sn_vec_push(&made->e->threads,
		    (struct sn_thread){ .tid = 100 + (int32_t)made->e->threads.count,
					.name = "t",
					.start_ns = start * UNIT,
					.end_ns = end * UNIT,
					.creator = creator });
	return (uint32_t)made->e->threads.count - 1;
}

/* The thread computes in the function from t0 to t1: a sample ends each unit. */
static void made_samples(struct made *made, uint32_t thread, uint32_t function, int64_t t0,
			 int64_t t1)
{
	for (int64_t t = t0; t < t1; t++)
		sn_vec_push(&made->e->samples,
			    (struct sn_sample){ .time_ns = (t + 1) * UNIT - 1,
						.cpu_ns = UNIT,
						.thread = thread,
						.stack = made->stacks[function] });
}

static void made_wait(struct made *made, uint32_t thread, int64_t t0, int64_t t1, int64_t released,
		      uint32_t by, uint32_t meeting)
{
	sn_vec_push(&made->locks.waits, (struct sn_lock_wait){ .t0_ns = t0 * UNIT,
							       .asked_ns = t0 * UNIT,
							       .t1_ns = t1 * UNIT,
							       .released_ns = released * UNIT,
							       .thread = thread,
							       .by = by,
							       .site = { SN_NONE, SN_NONE },
							       .meeting = meeting });
}

static struct sn_critical *made_path(struct made *made)
{
	static const struct sn_resolver resolver = { NULL, NULL, resolve };

	sn_experiment_sort(made->e);
	made->program = sn_program_new(made->e, &resolver);
	return sn_critical_of(made->program, NULL, &made->locks);
}

static void made_end(struct made *made, struct sn_critical *critical)
{
	sn_critical_free(critical);
	sn_program_free(made->program);
	sn_vec_free(&made->locks.waits);
	sn_experiment_free(made->e);
}

static uint32_t function_of(const struct made *made, const char *name)
{
	for (uint32_t f = 0; f < made->program->functions.count; f++)
		if (strcmp(made->program->functions.items[f].name, name) == 0)
			return f;
	return SN_NONE;
}

static double halved(const struct made *made, const struct sn_critical *critical, const char *name)
{
	return (double)sn_critical_halved_ns(critical, SN_CRITICAL_COMPUTE,
					     function_of(made, name)) /
	       UNIT;
}

/* Units on the path in one thread; the pieces reach from the end to 0. */
static double units_of(const struct sn_critical *critical, uint32_t thread, int64_t elapsed)
{
	int64_t sum = 0, at = elapsed * UNIT;

	for (size_t i = 0; i < critical->pieces.count; i++) {
		const struct sn_critical_piece *piece = &critical->pieces.items[i];

		tap_check(piece->t1_ns == at && piece->t0_ns < at, __FILE__, __LINE__, "a gap");
		at = piece->t0_ns;
		if (piece->thread == thread)
			sum += piece->t1_ns - piece->t0_ns;
	}
	tap_check(at == 0, __FILE__, __LINE__, "it begins at 0");
	return (double)sum / UNIT;
}

static bool is_near(double value, double wanted)
{
	return value > wanted - 0.01 && value < wanted + 0.01;
}

/* Main makes two threads at 1, which compute 10 (f1) and 7 (f2), meet at a barrier, and end at 12. */
static struct sn_critical *barrier_run(struct made *made)
{
	made_begin(made, 14);
	made_thread(made, 0, 14, 0);
	made_thread(made, 1, 12, 1);
	made_thread(made, 1, 12, 1);
	made_samples(made, 0, 0, 0, 1);
	made_samples(made, 1, 1, 1, 11);
	made_samples(made, 2, 2, 1, 8);
	made_samples(made, 1, 3, 11, 12);
	made_samples(made, 2, 3, 11, 12);
	made_samples(made, 0, 0, 12, 14);
	made_wait(made, 1, 11, 11, 11, SN_NONE, 1);
	made_wait(made, 2, 8, 11, 11, 1, 1);
	made_wait(made, 0, 1, 12, 12, 1, 0);
	made_wait(made, 0, 12, 12, 12, 2, 0);
	return made_path(made);
}

TEST(a_barrier_leads_to_who_came_last)
{
	struct made made;
	struct sn_critical *critical = barrier_run(&made);

	CHECK(critical->is_over_threads);
	CHECK(is_near(units_of(critical, 0, 14), 3));
	CHECK(is_near(units_of(critical, 1, 14), 11));
	CHECK(is_near(units_of(critical, 2, 14), 0));
	made_end(&made, critical);
}

TEST(what_is_halved_saves_until_another_one_is_last)
{
	struct made made;
	struct sn_critical *critical = barrier_run(&made);

	/* 5 of 10 would be saved, but the other thread needs 7 */
	CHECK(is_near(halved(&made, critical, "f1"), 11));
	CHECK(is_near(halved(&made, critical, "f2"), 14));
	CHECK(is_near(halved(&made, critical, "f3"), 13.5));
	CHECK(is_near(halved(&made, critical, "f0"), 12.5));
	CHECK_INT(sn_critical_halved_ns(critical, SN_CRITICAL_END, 0), -1);
	made_end(&made, critical);
}

/* Main makes two threads, which take 10 (f1) and 7 (f2), and joins them in that order: of the second one nothing is left
 * to wait for, but it would be. */
TEST(what_was_there_already_bounds_what_is_saved)
{
	struct made made;
	struct sn_critical *critical;

	made_begin(&made, 12);
	made_thread(&made, 0, 12, 0);
	made_thread(&made, 1, 11, 1);
	made_thread(&made, 1, 8, 1);
	made_samples(&made, 0, 0, 0, 1);
	made_samples(&made, 1, 1, 1, 11);
	made_samples(&made, 2, 2, 1, 8);
	made_samples(&made, 0, 0, 11, 12);
	made_wait(&made, 0, 1, 11, 11, 1, 0);
	made_wait(&made, 0, 11, 11, 11, 2, 0);
	made.locks.waits.items[1].kind = SN_SYNC_JOIN;
	critical = made_path(&made);
	CHECK(is_near(units_of(critical, 2, 12), 0));
	/* 5 of 10 would be saved, but the other thread needs 7 */
	CHECK(is_near(halved(&made, critical, "f1"), 9));
	CHECK(is_near(halved(&made, critical, "f2"), 12));
	CHECK(is_near(halved(&made, critical, "f0"), 11));
	made_end(&made, critical);
}

/* Thread 1 holds a lock from 2 to 6, and thread 0, which needs 3 units before and after, waits for it from 3 on
 * and runs again at 7. */
TEST(a_lock_leads_to_its_holder)
{
	struct made made;
	struct sn_critical *critical;

	made_begin(&made, 10);
	made_thread(&made, 0, 10, 0);
	made_thread(&made, 0, 9, 1);
	made_samples(&made, 0, 0, 0, 3);
	made_samples(&made, 1, 1, 0, 6);
	made_samples(&made, 1, 2, 6, 9);
	made_samples(&made, 0, 0, 7, 10);
	made_wait(&made, 0, 3, 7, 6, 1, 0);
	critical = made_path(&made);
	CHECK(is_near(units_of(critical, 1, 10), 6));
	CHECK(is_near(units_of(critical, 0, 10), 4));
	CHECK(critical->pieces.items[1].kind == SN_CRITICAL_SYNC);
	/* f1 halved: the lock is free at 3, as it is wanted; one unit goes by until the waiter runs */
	CHECK(is_near(halved(&made, critical, "f1"), 7));
	CHECK(is_near(halved(&made, critical, "f0"), 8.5));
	CHECK(is_near(halved(&made, critical, "f2"), 10));
	made_end(&made, critical);
}

/* The first thread has gone before the end, and the process ends with another one. */
TEST(the_path_ends_where_the_process_did)
{
	struct made made;
	struct sn_critical *critical;

	made_begin(&made, 10);
	made_thread(&made, 0, 3, 0);
	made_thread(&made, 2, 10, 1);
	made_samples(&made, 0, 0, 0, 3);
	made_samples(&made, 1, 1, 2, 10);
	critical = made_path(&made);
	CHECK(is_near(units_of(critical, 1, 10), 8));
	CHECK(is_near(units_of(critical, 0, 10), 2));
	made_end(&made, critical);
}

/* A call within a call is part of it; a wait within it leads on all the same. */
TEST(calls_within_calls)
{
	struct made made;
	struct sn_critical *critical;

	made_begin(&made, 10);
	made_thread(&made, 0, 10, 0);
	made_thread(&made, 0, 10, 1);
	made_wait(&made, 0, 1, 9, 9, SN_NONE, 0);
	made_wait(&made, 0, 2, 5, 4, 1, 0);
	critical = made_path(&made);
	CHECK_INT(critical->calls.count, 1);
	CHECK(is_near(units_of(critical, 0, 10), 6));
	CHECK(is_near(units_of(critical, 1, 10), 4));
	made_end(&made, critical);
}

/* Thread 0 asks every other unit whether thread 1 is done: it would have stopped sooner. */
TEST(a_wait_that_ran_out_of_time_began_before)
{
	struct made made;
	struct sn_critical *critical;

	made_begin(&made, 10);
	made_thread(&made, 0, 10, 0);
	made_thread(&made, 0, 9, 1);
	made_samples(&made, 1, 1, 0, 8);
	made_samples(&made, 0, 0, 8, 10);
	for (int64_t t = 0; t < 6; t += 2)
		made_wait(&made, 0, t, t + 1, t + 1, SN_NONE, 0);
	made_wait(&made, 0, 6, 8, 8, 1, 0);
	made.locks.waits.items[3].asked_ns = 0;
	critical = made_path(&made);
	CHECK(is_near(units_of(critical, 1, 10), 8));
	CHECK(is_near(halved(&made, critical, "f1"), 6));
	made_end(&made, critical);
}

static void made_blocked(struct made *made, uint32_t thread, uint32_t function, int64_t t0,
			 int64_t t1, enum sn_wait_kind kind)
{
	sn_vec_push(&made->e->waits, (struct sn_wait){ .time_ns = t0 * UNIT,
						       .duration_ns = (uint64_t)(t1 - t0) * UNIT,
						       .thread = thread,
						       .stack = made->stacks[function],
						       .kind = (uint8_t)kind });
}

static double halved_of(const struct made *made, const struct sn_critical *critical,
			enum sn_critical_kind kind, const char *name)
{
	return (double)sn_critical_halved_ns(critical, kind, function_of(made, name)) / UNIT;
}

/* f0 computes 3, sleeps 4, reads 2, computes 1: what is halved is of one kind. */
TEST(a_blocking_call_is_of_its_kind)
{
	struct made made;
	struct sn_critical *critical;

	made_begin(&made, 10);
	made_thread(&made, 0, 10, 0);
	made_samples(&made, 0, 0, 0, 3);
	made_blocked(&made, 0, 0, 3, 7, SN_WAIT_SLEEP);
	made_blocked(&made, 0, 0, 7, 9, SN_WAIT_IO);
	/* the call's own CPU time is no computing */
	made_samples(&made, 0, 1, 8, 9);
	made_samples(&made, 0, 0, 9, 10);
	critical = made_path(&made);
	CHECK(is_near(halved_of(&made, critical, SN_CRITICAL_COMPUTE, "f0"), 8));
	CHECK(is_near(halved_of(&made, critical, SN_CRITICAL_SLEEP, "f0"), 8));
	CHECK(is_near(halved_of(&made, critical, SN_CRITICAL_IO, "f0"), 9));
	CHECK(is_near(halved_of(&made, critical, SN_CRITICAL_POLL, "f0"), 10));
	CHECK(is_near(halved_of(&made, critical, SN_CRITICAL_COMPUTE, "f1"), 10));
	made_end(&made, critical);
}

/*
 * Thread 1 polls from 0 on. Thread 0 computes (f0) and waits from 6 to 9 until 1, which was woken at `woken`, has served
 * it (f1); then it goes on until 10. What 0 did before it asked is on the path, and no poll.
 */
static struct sn_critical *served_run(struct made *made, int64_t woken)
{
	made_begin(made, 10);
	made_thread(made, 0, 10, 0);
	made_thread(made, 0, 10, 1);
	made_samples(made, 0, 0, 0, 6);
	made_samples(made, 0, 0, 9, 10);
	made_blocked(made, 1, 1, 0, woken, SN_WAIT_POLL);
	made_samples(made, 1, 1, woken, 9);
	made_blocked(made, 0, 0, 6, 9, SN_WAIT_CONDITION);
	made_wait(made, 0, 6, 9, 9, 1, 0);
	return made_path(made);
}

TEST(who_serves_was_asked)
{
	struct made made;
	/* woken as it is waited for, and before */
	struct sn_critical *critical = served_run(&made, 7);

	CHECK(is_near(units_of(critical, 0, 10), 7));
	CHECK(is_near(units_of(critical, 1, 10), 3));
	CHECK(is_near(halved(&made, critical, "f0"), 6.5));
	made_end(&made, critical);
	critical = served_run(&made, 5);
	CHECK(is_near(units_of(critical, 0, 10), 6));
	CHECK(is_near(units_of(critical, 1, 10), 4));
	CHECK(is_near(halved(&made, critical, "f0"), 7));
	made_end(&made, critical);
}

/* It had done so before it slept; what ended the poll came from elsewhere. */
TEST(who_sleeps_asks_nobody)
{
	struct made made;
	struct sn_critical *critical;

	made_begin(&made, 10);
	made_thread(&made, 0, 10, 0);
	made_thread(&made, 0, 10, 1);
	made_samples(&made, 0, 0, 0, 2);
	made_blocked(&made, 0, 0, 2, 5, SN_WAIT_SLEEP);
	made_samples(&made, 0, 0, 5, 6);
	made_blocked(&made, 1, 1, 0, 4, SN_WAIT_POLL);
	made_samples(&made, 1, 1, 4, 9);
	made_samples(&made, 0, 0, 9, 10);
	made_wait(&made, 0, 6, 9, 9, 1, 0);
	critical = made_path(&made);
	CHECK(is_near(units_of(critical, 0, 10), 3));
	CHECK(is_near(units_of(critical, 1, 10), 7));
	made_end(&made, critical);
}
