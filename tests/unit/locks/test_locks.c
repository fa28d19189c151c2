#include "locks/locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/tap.h"

static char path[] = "/tmp/sonde-unit-locks.XXXXXX";

struct made {
	struct sn_trace_piece piece;
	struct sn_sync_entry entries[16];
	size_t count;
};

/* A piece of a thread: it begins with the time. A tick is a nanosecond. */
static void made_begin(struct made *made, uint32_t thread, uint32_t creator)
{
	memset(made, 0, sizeof(*made));
	made->piece = (struct sn_trace_piece){ .magic = SN_TRACE_PIECE_MAGIC,
					       .number = thread,
					       .pid = 7,
					       .thread_index = thread,
					       .kind = SN_TRACE_SYNC };
	made->entries[0] = (struct sn_sync_entry){ .type = SN_SYNC_TIME,
						   .begin_tsc = 1000000,
						   .ticks = 1000000,
						   .holder = 100 + thread,
						   .gate = creator };
	made->count = 1;
}

static void made_add(struct made *made, struct sn_sync_entry entry)
{
	made->entries[made->count++] = entry;
	made->piece.committed_bytes =
		(uint32_t)(sizeof(made->piece) + made->count * sizeof(*made->entries));
}

static bool resolve_nothing(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
			    struct sn_resolved *out)
{
	(void)context, (void)process, (void)module, (void)link_addr, (void)out;
	return false;
}

/* Of threads that all live from 0 to the end, but for the last, which begins at `last_start`. */
static struct sn_locks *locks_of(const struct made *made, size_t count, int64_t last_start)
{
	const struct sn_resolver resolver = { NULL, NULL, resolve_nothing };
	struct sn_experiment *e = sn_experiment_new("x");
	FILE *out = fdopen(mkstemp(path), "w");
	struct sn_program *program;
	struct sn_locks *locks = NULL;
	struct sn_error err;

	for (size_t i = 0; i < count; i++) {
		fwrite(&made[i].piece, 1, sizeof(made[i].piece), out);
		fwrite(made[i].entries, sizeof(*made[i].entries), made[i].count, out);
		sn_vec_push(&e->threads,
			    (struct sn_thread){ .tid = (int32_t)(100 + i),
						.name = "t",
						.start_ns = i + 1 == count ? last_start : 0,
						.end_ns = 900000 });
	}
	fclose(out);
	sn_vec_push(&e->processes, (struct sn_process){ .pid = 7, .host = "h", .end_ns = 900000 });
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	program = sn_program_new(e, &resolver);
	tap_check(sn_locks_read(program, &locks, &err) == SN_OK, __FILE__, __LINE__, "reading");
	unlink(path);
	strcpy(path + strlen(path) - 6, "XXXXXX");
	sn_program_free(program);
	sn_experiment_free(e);
	return locks;
}

static struct sn_sync_entry order(uint64_t held, uint64_t object, uint64_t tsc, uint32_t gate)
{
	return (struct sn_sync_entry){ .type = SN_SYNC_ORDER,
				       .object = object,
				       .held = held,
				       .count = 1,
				       .begin_tsc = tsc,
				       .gate = gate };
}

static struct sn_sync_entry wait(uint64_t object, uint64_t tsc, uint64_t ticks, uint32_t holder)
{
	return (struct sn_sync_entry){ .type = SN_SYNC_WAIT,
				       .flags = ticks == SN_SYNC_OPEN ? 0 : SN_SYNC_ACQUIRED,
				       .object = object,
				       .begin_tsc = tsc,
				       .ticks = ticks,
				       .holder = holder };
}

TEST(counts_and_waits_add_up)
{
	struct made made[2];
	struct sn_locks *locks;

	made_begin(&made[0], 0, 0);
	made_add(&made[0],
		 (struct sn_sync_entry){ .type = SN_SYNC_COUNT, .object = 0x10, .count = 5 });
	made_add(&made[0], wait(0x10, 2000, 300, 101));
	made_begin(&made[1], 1, 0);
	made_add(&made[1],
		 (struct sn_sync_entry){ .type = SN_SYNC_COUNT, .object = 0x10, .count = 7 });
	/* written when it began, and again when it ended in another piece */
	made_add(&made[1], wait(0x20, 5000, SN_SYNC_OPEN, 0));
	made_add(&made[1], wait(0x20, 5000, 40, 0));
	made_add(&made[1], (struct sn_sync_entry){ .type = 99 });
	locks = locks_of(made, 2, 0);
	CHECK(locks->is_traced);
	CHECK_INT(locks->acquisitions, 14);
	CHECK_INT(locks->contended, 2);
	CHECK_INT(locks->wait_ns, 340);
	CHECK_INT(locks->objects.count, 2);
	CHECK_INT(locks->damaged, 1);
	sn_locks_free(locks);
}

TEST(an_open_wait_lasts_as_long_as_its_thread)
{
	struct made made;
	struct sn_locks *locks;

	made_begin(&made, 0, 0);
	made_add(&made, wait(0x10, 400000, SN_SYNC_OPEN, 0));
	locks = locks_of(&made, 1, 0);
	CHECK_INT(locks->wait_ns, 500000);
	CHECK_INT(locks->acquisitions, 0);
	CHECK_INT(locks->contended, 1);
	sn_locks_free(locks);
}

TEST(orders_that_cross_are_a_circle_if_they_can_overlap)
{
	static const struct {
		uint64_t first_tsc;
		int64_t second_start;
		uint32_t creator, first_gate, second_gate, cycles;
	} cases[] = {
		{ 1000, 0, 9, 0, 0, 1 },
		{ 1000, 2000, 0, 0, 0, 0 },    /* before it made the other */
		{ 1000, 2000, 9, 0, 0, 1 },    /* it did not make the other */
		{ 3000, 2000, 0, 0, 0, 1 },    /* after that */
		{ 1000, 1000000, 9, 0, 0, 0 }, /* they never lived at one time */
		{ 1000, 0, 9, 5, 5, 0 },       /* both held one more */
		{ 1000, 0, 9, 5, 6, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made made[2];
		struct sn_locks *locks;

		made_begin(&made[0], 0, 0);
		made_add(&made[0], order(0x10, 0x20, cases[i].first_tsc, cases[i].first_gate));
		made_begin(&made[1], 1, cases[i].creator);
		made_add(&made[1], order(0x20, 0x10, 4000, cases[i].second_gate));
		locks = locks_of(made, 2, cases[i].second_start);
		CHECK_INT(locks->cycles.count, 2 * cases[i].cycles);
		sn_locks_free(locks);
	}
}

/* Main made both threads, and the first one had ended before the second was made: that was luck, unless it joined it. */
TEST(orders_can_overlap_unless_one_was_joined_before)
{
	for (int is_joined = 0; is_joined < 2; is_joined++) {
		struct made made[3];
		struct sn_locks *locks;
		struct sn_sync_entry join = wait(0x99, 5000, 10, 101);

		join.kind = SN_SYNC_JOIN;
		made_begin(&made[0], 0, 0);
		join.flags = is_joined ? SN_SYNC_ACQUIRED : 0; /* it tried, or it did */
		made_add(&made[0], join);
		made_begin(&made[1], 1, 0);
		made_add(&made[1], order(0x10, 0x20, 1000, 0));
		made_begin(&made[2], 2, 0);
		made_add(&made[2], order(0x20, 0x10, 8000, 0));
		locks = locks_of(made, 3, 7000);
		CHECK_INT(locks->cycles.count, is_joined ? 0 : 2);
		sn_locks_free(locks);
	}
}

/* a before b, b before c, c before a, each by another thread; and not by one alone. */
TEST(longer_circles_need_a_thread_for_each_step)
{
	struct made made[3];
	struct sn_locks *locks;

	for (uint32_t i = 0; i < 3; i++) {
		made_begin(&made[i], i, 9);
		made_add(&made[i], order(0x10 + i, 0x10 + (i + 1) % 3, 1000, 0));
	}
	locks = locks_of(made, 3, 0);
	CHECK_INT(locks->cycles.count, 3);
	CHECK(!locks->cycles.items[0].is_hung);
	sn_locks_free(locks);
	made_begin(&made[0], 0, 9);
	for (uint32_t i = 0; i < 3; i++)
		made_add(&made[0], order(0x10 + i, 0x10 + (i + 1) % 3, 1000, 0));
	locks = locks_of(made, 1, 0);
	CHECK_INT(locks->cycles.count, 0);
	sn_locks_free(locks);
}

TEST(threads_that_wait_for_each_other_at_the_end_hang)
{
	struct made made[3];
	struct sn_locks *locks;

	for (uint32_t i = 0; i < 3; i++)
		made_begin(&made[i], i, 9);
	made_add(&made[0], wait(0x10, 1000, SN_SYNC_OPEN, 101));
	made_add(&made[1], wait(0x20, 1000, SN_SYNC_OPEN, 100));
	made_add(&made[2], wait(0x10, 2000, SN_SYNC_OPEN, 101)); /* behind them, in no circle */
	locks = locks_of(made, 3, 0);
	CHECK_INT(locks->cycles.count, 2);
	CHECK(locks->cycles.items[0].is_hung && locks->cycles.items[1].is_hung);
	CHECK_INT(locks->cycles.items[0].tid + locks->cycles.items[1].tid, 201);
	sn_locks_free(locks);
	made_begin(&made[0], 0, 9);
	made_add(&made[0], wait(0x10, 1000, SN_SYNC_OPEN, 100)); /* its own */
	locks = locks_of(made, 1, 0);
	CHECK_INT(locks->cycles.count, 1);
	sn_locks_free(locks);
}

/* Two hold it in turn while a third waits: 100 to 200 is the first's, 200 to 300 and the rest the
 * second's. Without call paths both have one row. */
TEST(a_wait_is_shared_out_whole)
{
	struct made made[3];
	struct sn_locks *locks;

	for (uint32_t i = 0; i < 3; i++)
		made_begin(&made[i], i, 9);
	made_add(&made[0], (struct sn_sync_entry){
				   .type = SN_SYNC_RELEASE, .object = 0x10, .begin_tsc = 200 });
	made_add(&made[1], (struct sn_sync_entry){
				   .type = SN_SYNC_RELEASE, .object = 0x10, .begin_tsc = 300 });
	made_add(&made[2], wait(0x10, 100, 250, 100));
	locks = locks_of(made, 3, 0);
	CHECK_INT(locks->blames.count, 1);
	CHECK_INT(locks->blames.items[0].waits, 1);
	CHECK_INT(locks->blames.items[0].wait_ns, 250);
	CHECK_INT(locks->parts.count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct sn_lock_part *part = &locks->parts.items[i];

		CHECK_INT(part->held_up_ns, part->tid == 100 ? 100 : part->tid == 101 ? 150 : 0);
		CHECK_INT(part->wait_ns, part->tid == 102 ? 250 : 0);
		CHECK_INT(part->acquisitions, part->tid == 102);
	}
	sn_locks_free(locks);
}

static const struct sn_lock_wait *wait_at(const struct sn_locks *locks, uint32_t thread, int64_t t0)
{
	for (size_t i = 0; i < locks->waits.count; i++)
		if (locks->waits.items[i].thread == thread && locks->waits.items[i].t0_ns == t0)
			return &locks->waits.items[i];
	tap_check(false, __FILE__, __LINE__, "the wait is there");
	return &locks->waits.items[0];
}

static struct sn_sync_entry of_kind(struct sn_sync_entry entry, enum sn_sync_kind kind)
{
	entry.kind = (uint8_t)kind;
	return entry;
}

static struct sn_sync_entry release(enum sn_sync_kind kind, uint64_t object, uint64_t tsc)
{
	return (struct sn_sync_entry){
		.type = SN_SYNC_RELEASE, .kind = (uint8_t)kind, .object = object, .begin_tsc = tsc
	};
}

/* Of several releases the last before the waiter runs counts, and none of its own or another object's. */
TEST(a_wait_ends_by_the_last_release)
{
	struct made made[3];
	struct sn_locks *locks;
	const struct sn_lock_wait *end;

	for (uint32_t i = 0; i < 3; i++)
		made_begin(&made[i], i, 9);
	made_add(&made[0], release(SN_SYNC_MUTEX, 0x10, 200));
	made_add(&made[1], release(SN_SYNC_MUTEX, 0x10, 300));
	made_add(&made[1], release(SN_SYNC_MUTEX, 0x18, 340));
	made_add(&made[0], release(SN_SYNC_MUTEX, 0x10, 351));
	made_add(&made[2], wait(0x10, 100, 250, 100));
	made_add(&made[2], release(SN_SYNC_MUTEX, 0x10, 345));
	made_add(&made[2], wait(0x20, 1000, 250, 100));
	locks = locks_of(made, 3, 0);
	end = wait_at(locks, 2, 100);
	CHECK_INT(end->by, 1);
	CHECK_INT(end->released_ns, 300);
	CHECK_INT(end->holder, 0);
	end = wait_at(locks, 2, 1000);
	CHECK_INT(end->by, SN_NONE);
	CHECK_INT(end->released_ns, 1250);
	sn_locks_free(locks);
}

/* Who is signaled needs the mutex next, which another thread may still hold. */
TEST(a_condition_ends_by_its_signal_or_its_mutex)
{
	struct made made[3];
	struct sn_locks *locks;
	struct sn_sync_entry waits = of_kind(wait(0x10, 100, 250, 0), SN_SYNC_CONDITION);

	for (uint32_t i = 0; i < 3; i++)
		made_begin(&made[i], i, 9);
	waits.held = 0x40;
	made_add(&made[2], waits);
	waits.begin_tsc = 1100;
	made_add(&made[2], waits);
	waits.begin_tsc = 2100;
	waits.flags = 0; /* its time ran out */
	made_add(&made[2], waits);
	waits.begin_tsc = 3100;
	waits.flags = SN_SYNC_ACQUIRED;
	made_add(&made[2], waits);
	made_add(&made[1], release(SN_SYNC_CONDITION, 0x10, 3200));
	made_add(&made[0], release(SN_SYNC_MUTEX, 0x40, 150)); /* before the signal */
	made_add(&made[0], release(SN_SYNC_CONDITION, 0x10, 200));
	made_add(&made[1], release(SN_SYNC_CONDITION, 0x10, 1200));
	made_add(&made[0], release(SN_SYNC_MUTEX, 0x40, 1300));
	made_add(&made[1], release(SN_SYNC_CONDITION, 0x10, 2200));
	locks = locks_of(made, 3, 0);
	CHECK_INT(wait_at(locks, 2, 100)->by, 0);
	CHECK_INT(wait_at(locks, 2, 100)->released_ns, 200);
	CHECK_INT(wait_at(locks, 2, 1100)->by, 0);
	CHECK_INT(wait_at(locks, 2, 1100)->released_ns, 1300);
	CHECK_INT(wait_at(locks, 2, 2100)->by, SN_NONE);
	CHECK(wait_at(locks, 2, 2100)->has_failed);
	CHECK_INT(wait_at(locks, 2, 3100)->by, 1);
	CHECK_INT(wait_at(locks, 2, 3100)->asked_ns, 2100);
	sn_locks_free(locks);
}

/* Twice three threads; one comes back to the barrier before another one has left it. */
TEST(a_barrier_ends_by_who_comes_last)
{
	static const struct {
		uint32_t thread;
		uint64_t tsc, ticks;
		uint32_t by;
		int64_t released;
	} cases[] = {
		{ 0, 100, 210, 2, 300 }, { 1, 200, 350, 2, 300 }, { 2, 300, 5, SN_NONE, 300 },
		{ 0, 400, 510, 1, 900 }, { 2, 500, 450, 1, 900 }, { 1, 900, 2, SN_NONE, 900 },
	};
	struct made made[3];
	struct sn_locks *locks;

	for (uint32_t i = 0; i < 3; i++)
		made_begin(&made[i], i, 9);
	for (size_t i = 0; i < 6; i++)
		made_add(&made[cases[i].thread],
			 of_kind(wait(0x10, cases[i].tsc, cases[i].ticks, 0), SN_SYNC_BARRIER));
	locks = locks_of(made, 3, 0);
	for (size_t i = 0; i < 6; i++) {
		const struct sn_lock_wait *at =
			wait_at(locks, cases[i].thread, (int64_t)cases[i].tsc);

		CHECK_INT(at->by, cases[i].by);
		CHECK_INT(at->released_ns, cases[i].released);
		CHECK_INT(at->meeting, 1 + i / 3);
	}
	sn_locks_free(locks);
	/* below a threshold, who came last left a count, and is not known */
	made_add(&made[1], (struct sn_sync_entry){ .type = SN_SYNC_COUNT,
						   .kind = SN_SYNC_BARRIER,
						   .object = 0x10,
						   .count = 1 });
	locks = locks_of(made, 3, 0);
	CHECK_INT(wait_at(locks, 0, 100)->by, SN_NONE);
	CHECK_INT(wait_at(locks, 0, 100)->meeting, 0);
	sn_locks_free(locks);
}

TEST(a_join_ends_by_the_end_of_its_thread)
{
	struct made made[2];
	struct sn_locks *locks;

	made_begin(&made[0], 0, 9);
	made_begin(&made[1], 1, 0);
	made_add(&made[0], of_kind(wait(0x10, 100, 900100, 101), SN_SYNC_JOIN));
	made_add(&made[0], of_kind(wait(0x10, 910000, 10, 0), SN_SYNC_JOIN));
	locks = locks_of(made, 2, 0);
	CHECK_INT(wait_at(locks, 0, 100)->by, 1);
	CHECK_INT(wait_at(locks, 0, 100)->released_ns, 900000);
	CHECK_INT(wait_at(locks, 0, 910000)->by, SN_NONE);
	sn_locks_free(locks);
}
