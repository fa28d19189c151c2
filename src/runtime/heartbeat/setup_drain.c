/*
 * At the end of each interval: reads all cells while their threads go on writing, makes rows of
 * what has changed, and gives them to files and publishers. It also times fewer beats where timing
 * costs too much.
 */
#include "runtime/heartbeat/parts.h"

#include <sched.h>

static uint64_t scale(uint64_t ticks, uint64_t multiplier)
{
	return (uint64_t)(((unsigned __int128)ticks * multiplier) >> 32);
}

/* The longer the run, the better the ratio of the clocks is known. */
static uint64_t refined_multiplier(uint64_t now_ns, uint64_t now_ticks)
{
	const struct beat_globals *g = &beat_globals;

	if ((__atomic_load_n(&g->mode, __ATOMIC_RELAXED) & BEAT_NO_TSC) ||
	    now_ns - g->base_ns < 50000000)
		return g->multiplier;
	return (uint64_t)((((unsigned __int128)(now_ns - g->base_ns)) << 32) /
			  (now_ticks - g->base_ticks));
}

struct moment {
	uint64_t ns, ticks, interval_ns, interval_ticks, multiplier;
};

struct reading {
	struct beat_totals totals;
	uint64_t min_ticks, max_ticks, open, open_ticks;
	uint64_t next_epoch; /* extremes of this epoch or later belong to the next interval */
};

static void read_open(const struct beat_cell *cell, const struct moment *moment,
		      struct reading *out)
{
	uint32_t depth = __atomic_load_n(&cell->fast.depth, __ATOMIC_ACQUIRE);
	uint64_t capacity = __atomic_load_n(&cell->deep_capacity, __ATOMIC_ACQUIRE);
	const uint64_t *deep = __atomic_load_n(&cell->deep, __ATOMIC_ACQUIRE);
	uint64_t interval_begin = moment->ticks - moment->interval_ticks;

	for (uint32_t i = 0; i < depth; i++) {
		const uint64_t *place = i < SONDE_HEARTBEAT_SHALLOW
						? &cell->fast.begun[i]
						: &deep[i - SONDE_HEARTBEAT_SHALLOW];
		uint64_t mark;

		if (i >= SONDE_HEARTBEAT_SHALLOW && i - SONDE_HEARTBEAT_SHALLOW >= capacity)
			break;
		mark = __atomic_load_n(place, __ATOMIC_RELAXED);
		out->open += mark != BEAT_IGNORED;
		if (mark > BEAT_IGNORED && mark < moment->ticks)
			out->open_ticks +=
				moment->ticks - (mark > interval_begin ? mark : interval_begin);
	}
}

static void read_extremes(const struct beat_cell *cell, uint64_t first, uint64_t last,
			  struct reading *out)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct sonde_heartbeat_extremes *e = &cell->fast.extremes[i];
		uint64_t epoch = __atomic_load_n(&e->epoch, __ATOMIC_RELAXED);
		uint64_t min = __atomic_load_n(&e->min_ticks, __ATOMIC_RELAXED);
		uint64_t max = __atomic_load_n(&e->max_ticks, __ATOMIC_RELAXED);

		if (epoch < first || epoch > last)
			continue;
		out->min_ticks = min < out->min_ticks ? min : out->min_ticks;
		out->max_ticks = max > out->max_ticks ? max : out->max_ticks;
	}
}

static void read_totals(const struct beat_cell *cell, struct beat_totals *out)
{
	out->sum_ticks = __atomic_load_n(&cell->fast.sum_ticks, __ATOMIC_RELAXED);
	out->untimed = __atomic_load_n(&cell->untimed, __ATOMIC_RELAXED);
	out->work = __atomic_load_n(&cell->fast.work, __ATOMIC_RELAXED);
	out->misuse = __atomic_load_n(&cell->misuse, __ATOMIC_RELAXED);
	out->dropped = __atomic_load_n(&cell->dropped, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < SONDE_HEARTBEAT_BUCKETS; i++)
		out->histogram[i] = __atomic_load_n(&cell->fast.histogram[i], __ATOMIC_RELAXED);
}

/*
 * Reads a coherent state of a cell that its thread goes on writing. A thread that was stopped in
 * the middle of an end must not stop us, so after some tries the state is taken as it is. Counts
 * are exact then as well, since they are differences of numbers that only grow. One duration may be
 * torn between two intervals.
 */
static void read_cell(struct beat_cell *cell, const struct moment *moment, struct reading *out)
{
	/* beats from here on keep their extremes in the other bank */
	uint64_t last = cell->fast.epoch;

	out->next_epoch = last + 1;
	__atomic_store_n(&cell->fast.epoch, last + 1, __ATOMIC_SEQ_CST);
	for (unsigned tries = 0;; tries++) {
		uint32_t version = __atomic_load_n(&cell->fast.version, __ATOMIC_ACQUIRE);

		out->min_ticks = UINT64_MAX;
		out->max_ticks = out->open = out->open_ticks = 0;
		read_totals(cell, &out->totals);
		read_open(cell, moment, out);
		read_extremes(cell, cell->first_epoch, last + 1, out);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if ((version % 2 == 0 &&
		     version == __atomic_load_n(&cell->fast.version, __ATOMIC_RELAXED)) ||
		    tries == 200)
			return;
		if (tries % 50 == 49)
			sched_yield();
	}
}

/* Extremes that fit the rest of the row, where a beat fell between two of our reads. */
static void set_durations(struct beat_row *row, uint64_t timed, uint64_t sum_ns,
			  const struct reading *now, const struct moment *moment)
{
	uint64_t mean = timed ? sum_ns / timed : 0;

	if (!timed)
		return;
	row->min_ns = row->max_ns = mean;
	if (timed > 1 && now->min_ticks <= now->max_ticks) {
		uint64_t min = scale(now->min_ticks, moment->multiplier);
		uint64_t max = scale(now->max_ticks, moment->multiplier);

		row->min_ns = min < mean ? min : mean;
		row->max_ns = max > mean ? max : sum_ns > timed * mean ? mean + 1 : mean;
	} else if (timed > 1) {
		row->max_ns += sum_ns > timed * mean;
	}
	row->sum_ns = sum_ns;
}

static bool make_row(struct beat_cell *cell, uint64_t tid, const struct moment *moment,
		     struct beat_row *row)
{
	struct reading now;
	uint64_t timed = 0, untimed;

	read_cell(cell, moment, &now);
	*row = (struct beat_row){ .beat = cell->beat, .thread = tid, .threads = 1 };
	for (unsigned i = 0; i < SONDE_HEARTBEAT_BUCKETS; i++) {
		row->histogram[i] = now.totals.histogram[i] - cell->seen.histogram[i];
		timed += row->histogram[i];
	}
	untimed = now.totals.untimed - cell->seen.untimed;
	row->count = timed + untimed;
	row->work = now.totals.work - cell->seen.work;
	row->misuse = now.totals.misuse - cell->seen.misuse;
	row->dropped = now.totals.dropped - cell->seen.dropped + cell->lost;
	row->lost = cell->lost;
	row->open = now.open;
	row->open_ns = scale(now.open_ticks, moment->multiplier);
	set_durations(row, timed,
		      scale(now.totals.sum_ticks - cell->seen.sum_ticks, moment->multiplier), &now,
		      moment);
	cell->seen = now.totals;
	cell->first_epoch = now.next_epoch;
	cell->in_batch = row->count + row->dropped;
	cell->lost = 0;
	return row->count || row->work || row->misuse || row->dropped || row->open;
}

static void merge_row(struct beat_row *sum, const struct beat_row *row)
{
	if (!sum->beat) {
		*sum = *row;
		sum->thread = 0;
		return;
	}
	if (row->max_ns) {
		sum->min_ns = sum->max_ns && sum->min_ns < row->min_ns ? sum->min_ns : row->min_ns;
		sum->max_ns = sum->max_ns > row->max_ns ? sum->max_ns : row->max_ns;
	}
	sum->threads++;
	sum->count += row->count;
	sum->sum_ns += row->sum_ns;
	sum->open += row->open;
	sum->open_ns += row->open_ns;
	sum->work += row->work;
	sum->misuse += row->misuse;
	sum->dropped += row->dropped;
	sum->lost += row->lost;
	for (unsigned i = 0; i < SONDE_HEARTBEAT_BUCKETS; i++)
		sum->histogram[i] += row->histogram[i];
}

static void give_row(const struct beat_row *row, const struct moment *moment)
{
	beat_files_add(row, moment->ns, moment->interval_ns);
	beat_publishers_add(row);
}

/* CPU time of a thread since the drain before; the interval where its clock is gone with it. The
 * clock of a thread by its number: linux/posix-timers.h, CPUCLOCK_PERTHREAD_MASK and SCHED. */
static double cpu_passed_ns(struct beat_thread *thread, const struct moment *moment)
{
	uint64_t tid = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED), now, passed;
	clockid_t clock = (clockid_t)(~(uint32_t)tid << 3 | 6);
	struct timespec time;

	if (clock_gettime(clock, &time) != 0)
		return (double)moment->interval_ns;
	now = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	passed = thread->cpu_tid != tid ? now : now > thread->cpu_ns ? now - thread->cpu_ns : 0;
	thread->cpu_ns = now;
	thread->cpu_tid = tid;
	return passed > 1000000 ? (double)passed : 1e6;
}

static void drain_thread(struct beat_thread *thread, const struct moment *moment)
{
	int state = __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE);
	struct beat_cell *cell = __atomic_load_n(&thread->cells, __ATOMIC_ACQUIRE);
	double cpu_ns;

	if (state == BEAT_THREAD_FREE)
		return;
	cpu_ns = beat_globals.settings.cost_most > 0 ? cpu_passed_ns(thread, moment) : 1e18;
	for (; cell; cell = cell->next) {
		struct beat_row row;

		if (!make_row(cell, __atomic_load_n(&thread->tid, __ATOMIC_RELAXED), moment, &row))
			continue;
		if ((double)row.count / cpu_ns > cell->beat->busiest)
			cell->beat->busiest = (double)row.count / cpu_ns;
		if (beat_globals.settings.is_jobwide)
			merge_row(&cell->beat->row, &row);
		else
			give_row(&row, moment);
	}
}

static void add_sums(const struct moment *moment)
{
	struct beat *beat = __atomic_load_n(&beat_globals.beats, __ATOMIC_ACQUIRE);

	for (; beat; beat = beat->next)
		if (beat->row.beat) {
			give_row(&beat->row, moment);
			beat->row.beat = NULL;
		}
}

/* Beats whose rows could not be written are counted as `dropped` in the next row. A thread that has
 * ended gives its block away only when its rows are written. */
static void settle(bool is_written)
{
	struct beat_thread *thread = __atomic_load_n(&beat_globals.threads, __ATOMIC_ACQUIRE);

	for (; thread; thread = thread->next) {
		struct beat_cell *cell = __atomic_load_n(&thread->cells, __ATOMIC_ACQUIRE);

		for (; cell; cell = cell->next) {
			if (!is_written)
				cell->lost += cell->in_batch;
			cell->in_batch = 0;
		}
	}
}

static void free_exited(struct beat_thread *const *exited, bool is_written)
{
	for (struct beat_thread *thread = *exited; is_written && thread; thread = thread->next)
		if (__atomic_load_n(&thread->state, __ATOMIC_RELAXED) == BEAT_THREAD_DRAINED)
			__atomic_store_n(&thread->state, BEAT_THREAD_FREE, __ATOMIC_RELEASE);
}

enum { BEAT_EVERY_MAX = 1024 };

/* Nanoseconds of a beat that is timed, and of one that is only counted: bench/RESULTS.md. Slow
 * machines take longer, and the limit is as much too high there. */
static double beat_ns(uint32_t every)
{
	return 7.7 + 18.3 / every;
}

/* Times fewer beats of a heartbeat that takes more than it may, and more of them again when it
 * takes less than half of that. All are counted; rows tell the factor that was in force. An
 * interval without a beat says nothing: the phase will be back. */
static void limit_cost(struct beat *beat, double most)
{
	uint32_t every = beat->every;

	if (!(beat->busiest > 0))
		return;
	while (every < BEAT_EVERY_MAX && beat->busiest * beat_ns(every) > most)
		every *= 2;
	while (every / 2 >= beat->asked_every && beat->busiest * beat_ns(every / 2) < most / 2)
		every /= 2;
	beat->busiest = 0;
	if (every != beat->every)
		beat_set_every(beat, every);
}

static void limit_costs(void)
{
	struct beat *beat = __atomic_load_n(&beat_globals.beats, __ATOMIC_ACQUIRE);
	double most = beat_globals.settings.cost_most;

	if (!(most > 0))
		return;
	pthread_mutex_lock(&beat_globals.lock);
	for (; beat; beat = beat->next)
		limit_cost(beat, most);
	pthread_mutex_unlock(&beat_globals.lock);
}

void beat_drain(void)
{
	struct moment moment = { .ns = beat_clock_ns(), .ticks = beat_ticks() };
	struct beat_thread *threads = __atomic_load_n(&beat_globals.threads, __ATOMIC_ACQUIRE);
	bool is_written;

	beat_publishers_start();
	moment.multiplier = refined_multiplier(moment.ns, moment.ticks);
	moment.interval_ns = moment.ns - beat_globals.stamp_ns;
	moment.interval_ticks =
		(uint64_t)(((unsigned __int128)moment.interval_ns << 32) / moment.multiplier);
	beat_globals.stamp_ns = moment.ns;
	for (struct beat_thread *thread = threads; thread; thread = thread->next) {
		/* seen as ended before its cells are read: nothing can follow */
		if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == BEAT_THREAD_EXITED)
			__atomic_store_n(&thread->state, BEAT_THREAD_DRAINED, __ATOMIC_RELAXED);
		drain_thread(thread, &moment);
	}
	if (beat_globals.settings.is_jobwide)
		add_sums(&moment);
	is_written = beat_files_write();
	beat_publishers_interval(moment.interval_ns);
	settle(is_written);
	free_exited(&threads, is_written);
	limit_costs();
}
