/*
 * What a beat does when the inline functions of the header cannot: the first beat of a thread,
 * deep nesting, sampling, misuse, and clocks without a time-stamp counter. Only the thread itself
 * writes to its cells.
 */
#include "runtime/heartbeat/parts.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t beat_ticks(void)
{
	return __atomic_load_n(&beat_globals.mode, __ATOMIC_RELAXED) & BEAT_NO_TSC
		       ? beat_clock_ns()
		       : sonde_heartbeat_ticks();
}

/* The slow path: first use in a thread, deep nesting, sampling, misuse, clocks without a TSC. */

__attribute__((visibility("default"))) __thread struct sonde_heartbeat_thread *sonde_heartbeat_here;
/* The block that this thread has, even while `here` is NULL in a forked child. */
static __thread struct beat_thread *mine;

static struct beat_thread *find_free_block(void)
{
	for (struct beat_thread *thread = beat_globals.threads; thread; thread = thread->next)
		if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == BEAT_THREAD_FREE)
			return thread;
	return NULL;
}

/* Needs the lock. */
static struct beat_thread *make_block(void)
{
	struct beat_thread *thread = find_free_block();

	if (thread) {
		__atomic_store_n(&thread->tid, (uint64_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
		__atomic_store_n(&thread->state, BEAT_THREAD_LIVE, __ATOMIC_RELEASE);
		return thread;
	}
	thread = beat_alloc(sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = (uint64_t)syscall(SYS_gettid);
	thread->next = beat_globals.threads;
	__atomic_store_n(&beat_globals.threads, thread, __ATOMIC_RELEASE);
	return thread;
}

static struct beat_thread *attach(void)
{
	if (!mine) {
		pthread_mutex_lock(&beat_globals.lock);
		mine = make_block();
		pthread_mutex_unlock(&beat_globals.lock);
		if (mine)
			pthread_setspecific(beat_globals.key, mine);
	}
	if (mine) {
		__atomic_store_n(&mine->tid, (uint64_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
		sonde_heartbeat_here = &mine->fast;
		beat_start();
	}
	return mine;
}

/* A larger table of cells; the smaller one stays in the pool, a few hundred bytes for good. */
static bool grow_table(struct beat_thread *thread, uint64_t needed)
{
	uint64_t count = thread->fast.cell_count ? 2 * thread->fast.cell_count : 16;
	struct sonde_heartbeat_cell **cells;

	while (count < needed)
		count *= 2;
	cells = beat_alloc(count * sizeof(struct sonde_heartbeat_cell *));
	if (!cells)
		return false;
	for (uint64_t i = 0; i < thread->fast.cell_count; i++)
		cells[i] = thread->fast.cells[i];
	thread->fast.cells = cells;
	thread->fast.cell_count = count;
	return true;
}

static struct beat_cell *make_cell(struct beat_thread *thread, struct beat *beat)
{
	struct beat_cell *cell = NULL;

	pthread_mutex_lock(&beat_globals.lock);
	if (beat->fast.index < thread->fast.cell_count ||
	    grow_table(thread, (uint64_t)beat->fast.index + 1))
		cell = beat_alloc(sizeof(*cell));
	pthread_mutex_unlock(&beat_globals.lock);
	if (!cell)
		return NULL;
	cell->beat = beat;
	cell->fast.multiplier = beat_globals.multiplier;
	cell->fast.epoch = cell->first_epoch = 1;
	cell->next = thread->cells;
	thread->fast.cells[beat->fast.index] = &cell->fast;
	__atomic_store_n(&thread->cells, cell, __ATOMIC_RELEASE);
	return cell;
}

static struct beat_cell *find_cell(struct sonde_heartbeat *heartbeat)
{
	struct beat_thread *thread = sonde_heartbeat_here ? mine : attach();

	if (!thread)
		return NULL;
	if (heartbeat->index < thread->fast.cell_count && thread->fast.cells[heartbeat->index])
		return (struct beat_cell *)thread->fast.cells[heartbeat->index];
	return make_cell(thread, (struct beat *)heartbeat);
}

static void count(uint64_t *counter, uint64_t more)
{
	__atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

static bool is_finalized(const struct sonde_heartbeat *heartbeat)
{
	return __atomic_load_n(&heartbeat->mode, __ATOMIC_RELAXED) & BEAT_FINALIZED;
}

static bool grow_stack(struct beat_cell *cell)
{
	uint64_t capacity = cell->deep_capacity ? 2 * cell->deep_capacity : 64;
	uint64_t *deep;

	pthread_mutex_lock(&beat_globals.lock);
	deep = beat_alloc(capacity * sizeof(*deep));
	pthread_mutex_unlock(&beat_globals.lock);
	if (!deep)
		return false;
	for (uint64_t i = 0; i < cell->deep_capacity; i++)
		deep[i] = cell->deep[i];
	/* the drain may read the old array a moment longer, so it stays; array before capacity */
	__atomic_store_n(&cell->deep, deep, __ATOMIC_RELEASE);
	__atomic_store_n(&cell->deep_capacity, capacity, __ATOMIC_RELEASE);
	return true;
}

static void push(struct beat_cell *cell, uint64_t mark)
{
	uint32_t depth = cell->fast.depth;

	if (depth < SONDE_HEARTBEAT_SHALLOW)
		__atomic_store_n(&cell->fast.begun[depth], mark, __ATOMIC_RELAXED);
	else if (depth - SONDE_HEARTBEAT_SHALLOW < cell->deep_capacity || grow_stack(cell))
		__atomic_store_n(&cell->deep[depth - SONDE_HEARTBEAT_SHALLOW], mark,
				 __ATOMIC_RELAXED);
	__atomic_store_n(&cell->fast.depth, depth + 1, __ATOMIC_RELEASE);
}

void __attribute__((visibility("default"))) sonde_heartbeat_begin_slow(sonde_heartbeat *heartbeat)
{
	struct beat_cell *cell = find_cell(heartbeat);
	uint32_t mode = __atomic_load_n(&heartbeat->mode, __ATOMIC_RELAXED);
	uint32_t every;

	if (!cell)
		return;
	if (mode & BEAT_WATCHED) /* may stop for a moment: not within the beat */
		sonde_monitor_beat(cell->beat->name, 0);
	if (mode & BEAT_FINALIZED) {
		count(&cell->misuse, 1);
		return;
	}
	if (mode & BEAT_OFF) {
		push(cell, BEAT_IGNORED);
		return;
	}
	every = __atomic_load_n(&cell->beat->every, __ATOMIC_RELAXED);
	push(cell, beat_sampled_mark(cell, every, beat_ticks));
}

/* Takes the innermost open beat off; false where its begin found no memory. */
static bool pop(struct beat_cell *cell, uint64_t *mark)
{
	uint32_t depth = cell->fast.depth - 1;
	bool is_there = depth < SONDE_HEARTBEAT_SHALLOW ||
			depth - SONDE_HEARTBEAT_SHALLOW < cell->deep_capacity;

	if (is_there)
		*mark = depth < SONDE_HEARTBEAT_SHALLOW
				? cell->fast.begun[depth]
				: cell->deep[depth - SONDE_HEARTBEAT_SHALLOW];
	__atomic_store_n(&cell->fast.depth, depth, __ATOMIC_RELAXED);
	return is_there;
}

/* A clock read would be most of what a beat costs that is only counted. */
static bool is_untimed(const struct beat_cell *cell)
{
	uint32_t depth = cell->fast.depth - 1;

	return depth < SONDE_HEARTBEAT_SHALLOW && cell->fast.begun[depth] == BEAT_UNTIMED;
}

void __attribute__((visibility("default"))) sonde_heartbeat_end_slow(sonde_heartbeat *heartbeat)
{
	struct beat_cell *cell = find_cell(heartbeat);
	uint64_t now, mark = 0;
	uint32_t version;

	if (!cell)
		return;
	if (is_finalized(heartbeat) || cell->fast.depth == 0) {
		count(&cell->misuse, 1);
		return;
	}
	now = is_untimed(cell) ? 0 : beat_ticks();
	version = cell->fast.version;
	__atomic_store_n(&cell->fast.version, version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (!pop(cell, &mark))
		count(&cell->dropped, 1);
	else if (mark > BEAT_IGNORED)
		sonde_heartbeat_add(&cell->fast, now > mark ? now - mark : 0);
	else if (mark == BEAT_UNTIMED)
		count(&cell->untimed, 1);
	__atomic_store_n(&cell->fast.version, version + 2, __ATOMIC_RELEASE);
	if (__atomic_load_n(&heartbeat->mode, __ATOMIC_RELAXED) & BEAT_WATCHED)
		sonde_monitor_beat(cell->beat->name, 1);
}

void __attribute__((visibility("default"))) sonde_heartbeat_left(sonde_heartbeat *heartbeat)
{
	struct beat_cell *cell = find_cell(heartbeat);
	uint32_t depth = cell ? cell->fast.depth : 0;
	uint64_t *mark = NULL;

	if (!depth || is_finalized(heartbeat))
		return;
	if (depth <= SONDE_HEARTBEAT_SHALLOW)
		mark = &cell->fast.begun[depth - 1];
	else if (depth - SONDE_HEARTBEAT_SHALLOW <= cell->deep_capacity)
		mark = &cell->deep[depth - SONDE_HEARTBEAT_SHALLOW - 1];
	if (mark && *mark != BEAT_IGNORED)
		__atomic_store_n(mark, BEAT_UNTIMED, __ATOMIC_RELAXED);
	sonde_heartbeat_end_slow(heartbeat);
}

void __attribute__((visibility("default")))
sonde_heartbeat_pulse_slow(sonde_heartbeat *heartbeat, uint64_t work_units)
{
	struct beat_cell *cell = find_cell(heartbeat);

	if (!cell)
		return;
	if (is_finalized(heartbeat))
		count(&cell->misuse, 1);
	else if (!(__atomic_load_n(&heartbeat->mode, __ATOMIC_RELAXED) & BEAT_OFF))
		count(&cell->fast.work, work_units);
}

void __attribute__((visibility("default"))) sonde_heartbeat_begin_call(sonde_heartbeat *heartbeat)
{
	sonde_heartbeat_begin(heartbeat);
}

void __attribute__((visibility("default"))) sonde_heartbeat_end_call(sonde_heartbeat *heartbeat)
{
	sonde_heartbeat_end(heartbeat);
}

void __attribute__((visibility("default")))
sonde_heartbeat_pulse_call(sonde_heartbeat *heartbeat, uint64_t work_units)
{
	sonde_heartbeat_pulse(heartbeat, work_units);
}

/* What is open when a thread ends can never end in the thread that began it. */
void beat_thread_exit(void *block)
{
	struct beat_thread *thread = block;

	for (struct beat_cell *cell = thread->cells; cell; cell = cell->next) {
		uint64_t mark = BEAT_IGNORED;

		while (cell->fast.depth)
			if (!pop(cell, &mark) || mark != BEAT_IGNORED)
				count(&cell->misuse, 1);
	}
	mine = NULL;
	sonde_heartbeat_here = NULL;
	__atomic_store_n(&thread->state, BEAT_THREAD_EXITED, __ATOMIC_RELEASE);
}

static void copy_totals(struct beat_cell *cell)
{
	cell->fast.version = 0;
	cell->seen.sum_ticks = cell->fast.sum_ticks;
	cell->seen.untimed = cell->untimed;
	cell->seen.work = cell->fast.work;
	cell->seen.misuse = cell->misuse;
	cell->seen.dropped = cell->dropped;
	for (unsigned i = 0; i < SONDE_HEARTBEAT_BUCKETS; i++)
		cell->seen.histogram[i] = cell->fast.histogram[i];
	cell->lost = cell->in_batch = 0;
	cell->first_epoch = ++cell->fast.epoch;
}

/* Beats open at the fork are the parent's: their ends in the child count as nothing. */
void beat_threads_forked(void)
{
	for (struct beat_thread *thread = beat_globals.threads; thread; thread = thread->next) {
		for (struct beat_cell *cell = thread->cells; cell; cell = cell->next) {
			copy_totals(cell);
			if (thread != mine)
				cell->fast.depth = 0;
			for (uint32_t i = 0; i < cell->fast.depth; i++)
				if (i < SONDE_HEARTBEAT_SHALLOW)
					cell->fast.begun[i] = BEAT_IGNORED;
				else if (i - SONDE_HEARTBEAT_SHALLOW < cell->deep_capacity)
					cell->deep[i - SONDE_HEARTBEAT_SHALLOW] = BEAT_IGNORED;
		}
		if (thread != mine)
			thread->state = BEAT_THREAD_FREE;
	}
	sonde_heartbeat_here = NULL; /* so that the next use starts the child's own drain */
}
