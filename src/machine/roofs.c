/*
 * Measures roofs in windows of a few milliseconds, on all threads at once. Only windows count in which
 * every thread had its CPU throughout, by the kernel's own account. Rounds over all roofs lie seconds
 * apart, as other programs come and go.
 */
#include "machine/roofs.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/stats.h"
#include "machine/machine.h"
#include "machine/roof_kernels.h"

enum {
	ROUNDS = 8,
	AGREED = 3,   /* windows, of two rounds or more, for a roof that is measured */
	WINDOWS = 6,  /* that count, of a roof in a round */
	TRIES = 24,   /* of windows, for these */
	CHOOSING = 3, /* windows that count, of each loop, for which does most */
	THREADS_MAX = 1024,
	PASSES = 4000, /* of arithmetic between two looks at the clock: some 10 us */
	STEP_BYTES = 512,
	LOOK_BYTES = 256 * 1024, /* of memory, likewise */
	PIECE_BYTES = 64 * 1024,
	ALIGNMENT = 4096,
	NEAR_BYTES = 16 << 20,
};

static const int64_t WINDOW_NS = 3000000;
static const double CPU_LEAST = 0.98; /* of a window: less, and others had the CPU */
static const double TOLERANCE = 0.05; /* of rounds that agree */
static const size_t RAM_BYTES = (size_t)1 << 30;
static const size_t STAGGER_BYTES = 1344; /* of arrays, so that none meet in the low 12 bits */

/* What a window does; one for all threads. */
struct task {
	enum sn_roof_kind kind;
	struct sn_roof_loop loop; /* arithmetic */
	size_t set_bytes;	  /* memory of each thread */
	double bytes_per_element; /* triad: 8 x streams */
};

struct meter;

struct meter_thread {
	struct meter *meter;
	unsigned number;
	int cpu;
	pthread_t thread;
	char *memory; /* its part */
	size_t room;  /* bytes of it */
	size_t at;    /* where the next piece begins */
	double rate;  /* of the last window */
	bool is_whole;
};

struct meter {
	struct meter_thread *threads;
	unsigned count;	    /* all; thread 0 is the caller's */
	unsigned active;    /* in this window */
	atomic_uint number; /* of windows begun */
	atomic_uint ready, done;
	atomic_bool ends;
	struct task task;
	char *memory;
	size_t memory_bytes;
	bool ram_is_small; /* less memory than the roof of RAM wants */
	size_t windows, whole_windows;
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- a window ---- */

static double piece_read(struct meter_thread *t, const struct task *task)
{
	size_t piece = task->set_bytes < PIECE_BYTES ? task->set_bytes : PIECE_BYTES;

	if (t->at + piece > task->set_bytes)
		t->at = 0;
	sn_roof_read(t->memory + t->at, piece);
	t->at += piece;
	return (double)piece;
}

static double piece_triad(struct meter_thread *t, const struct task *task)
{
	size_t third = (task->set_bytes - 2 * STAGGER_BYTES) / 3 / STEP_BYTES * STEP_BYTES;
	size_t piece = third < PIECE_BYTES / 4 ? third : PIECE_BYTES / 4;
	size_t apart = third + STAGGER_BYTES;

	if (t->at + piece > third)
		t->at = 0;
	sn_roof_triad(t->memory + t->at, t->memory + apart + t->at, t->memory + 2 * apart + t->at,
		      piece);
	t->at += piece;
	return (double)piece / sizeof(double) * task->bytes_per_element;
}

static double piece_run(struct meter_thread *t, const struct task *task)
{
	static const float ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	static const double double_ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	bool is_double = task->kind == SN_ROOF_SCALAR_DOUBLE ||
			 task->kind == SN_ROOF_VECTOR_DOUBLE || task->kind == SN_ROOF_FMA_DOUBLE;

	if (task->kind == SN_ROOF_READ)
		return piece_read(t, task);
	if (task->kind == SN_ROOF_TRIAD)
		return piece_triad(t, task);
	task->loop.run(PASSES, is_double ? (const void *)double_ones : (const void *)ones);
	return task->loop.flops * PASSES;
}

static void window_run(struct meter_thread *t)
{
	struct meter *m = t->meter;
	int64_t begin, cpu_begin, end, cpu_end;
	double work = 0;

	/* a small set is brought near; of a large one the next part is taken */
	for (double warm = 0; m->task.set_bytes && m->task.set_bytes <= NEAR_BYTES &&
			      warm < 2.0 * (double)m->task.set_bytes;)
		warm += piece_run(t, &m->task);
	atomic_fetch_add(&m->ready, 1);
	while (atomic_load(&m->ready) < m->active)
		__builtin_ia32_pause();
	cpu_begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	begin = clock_ns(CLOCK_MONOTONIC);
	do {
		double before = work;

		do
			work += piece_run(t, &m->task);
		while (m->task.set_bytes && work - before < LOOK_BYTES);
		end = clock_ns(CLOCK_MONOTONIC);
	} while (end - begin < WINDOW_NS);
	cpu_end = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	t->rate = work / ((double)(end - begin) / 1e9);
	t->is_whole = (double)(cpu_end - cpu_begin) >= CPU_LEAST * (double)(end - begin);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *thread_main(void *argument)
{
	struct meter_thread *t = argument;
	struct meter *m = t->meter;
	unsigned seen = 0;

	pin(t->cpu);
	memset(t->memory, 1, t->room); /* where memory has places, it is this CPU's */
	atomic_fetch_add(&m->done, 1);
	for (;;) {
		while (atomic_load(&m->number) == seen && !atomic_load(&m->ends))
			usleep(50);
		if (atomic_load(&m->ends))
			return NULL;
		seen = atomic_load(&m->number);
		if (t->number >= m->active)
			continue;
		window_run(t);
		atomic_fetch_add(&m->done, 1);
	}
}

/* The sum of all threads' rates; false if one of them did not have its CPU. */
static bool window(struct meter *m, double *rate)
{
	bool is_whole = true;

	atomic_store(&m->ready, 0);
	atomic_store(&m->done, 0);
	atomic_fetch_add(&m->number, 1);
	window_run(&m->threads[0]);
	while (atomic_load(&m->done) + 1 < m->active)
		usleep(50);
	*rate = 0;
	for (unsigned i = 0; i < m->active; i++) {
		*rate += m->threads[i].rate;
		is_whole = is_whole && m->threads[i].is_whole;
	}
	m->windows++;
	m->whole_windows += is_whole;
	return is_whole;
}

/* ---- memory ---- */

static size_t number_in(const char *path, const char *key)
{
	FILE *in = fopen(path, "re");
	char line[256];
	unsigned long long value, found = 0;

	while (in && !found && fgets(line, sizeof(line), in))
		if (strncmp(line, key, strlen(key)) == 0 &&
		    sscanf(line + strlen(key), "%llu", &value) == 1)
			found = value;
	if (in)
		fclose(in);
	return (size_t)found;
}

/* Half of what is free at most, and half of what a control group allows. */
static size_t memory_wanted(size_t l3, bool *is_small)
{
	size_t wanted = 2 * l3 > RAM_BYTES ? 2 * l3 : RAM_BYTES;
	size_t available = number_in("/proc/meminfo", "MemAvailable:") * 1024;
	size_t limit = number_in("/sys/fs/cgroup/memory.max", "");

	if (limit && limit < available)
		available = limit;
	*is_small = available && wanted > available / 2;
	return *is_small ? available / 2 : wanted;
}

static size_t cache_bytes(int name)
{
	long bytes = sysconf(name);

	return bytes > 0 ? (size_t)bytes : 0;
}

/* Bytes of one thread's set in a level; 0: there is no such level. */
static size_t set_bytes(const struct meter *m, unsigned level, unsigned threads)
{
	size_t l1 = cache_bytes(_SC_LEVEL1_DCACHE_SIZE), l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
	size_t l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE), share = l3 / 2 / threads;

	switch (level) {
	case 0:
		return l1 ? l1 / 2 : 16384;
	case 1:
		return l2 / 2;
	case 2: /* others have parts of it: no more than needed */
		return !l2 || !l3 ? 0 : share > 4 * l2 ? 4 * l2 : share > 2 * l2 ? share : 2 * l2;
	default:
		return threads == 1 && 2 * l3 > m->threads[0].room
			       ? (2 * l3 < m->memory_bytes ? 2 * l3 : m->memory_bytes)
			       : m->threads[0].room;
	}
}

/* ---- a meter ---- */

static sn_status meter_begin(struct meter *m, struct sn_error *err)
{
	cpu_set_t allowed;
	size_t part;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return sn_error_errno(err, "calibrate: cannot tell which CPUs may be used");
	m->count = (unsigned)CPU_COUNT(&allowed);
	if (m->count > THREADS_MAX)
		m->count = THREADS_MAX;
	m->memory_bytes = memory_wanted(cache_bytes(_SC_LEVEL3_CACHE_SIZE), &m->ram_is_small);
	part = m->memory_bytes / m->count / ALIGNMENT * ALIGNMENT;
	m->memory_bytes = part * m->count;
	m->memory = mmap(NULL, m->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (m->memory == MAP_FAILED)
		return sn_error_errno(err, "calibrate: cannot get %zu bytes of memory",
				      m->memory_bytes);
	m->threads = sn_alloc_zeroed(m->count, sizeof(*m->threads));
	for (unsigned i = 0, cpu = 0; i < m->count; i++, cpu++) {
		while (!CPU_ISSET(cpu, &allowed))
			cpu++;
		m->threads[i] = (struct meter_thread){ .meter = m,
						       .number = i,
						       .cpu = (int)cpu,
						       .memory = m->memory + i * part,
						       .room = part };
	}
	return SN_OK;
}

/* The caller's thread is the first; it gets its CPUs back in the end. */
static sn_status threads_begin(struct meter *m, struct sn_error *err)
{
	pin(m->threads[0].cpu);
	memset(m->threads[0].memory, 1, m->threads[0].room);
	for (unsigned i = 1; i < m->count; i++) {
		int code = pthread_create(&m->threads[i].thread, NULL, thread_main, &m->threads[i]);

		if (code) {
			sn_error_set(err, SN_ERR_IO, "calibrate: cannot start thread %u of %u: %s",
				     i + 1, m->count, strerror(code));
			m->count = i; /* those are ended */
			return SN_ERR_IO;
		}
	}
	while (atomic_load(&m->done) + 1 < m->count)
		usleep(1000);
	return SN_OK;
}

static void meter_end(struct meter *m, const cpu_set_t *before)
{
	atomic_store(&m->ends, true);
	for (unsigned i = 1; i < m->count && m->threads; i++)
		if (m->threads[i].thread)
			pthread_join(m->threads[i].thread, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof(*before), before);
	if (m->memory && m->memory != MAP_FAILED)
		munmap(m->memory, m->memory_bytes);
	free(m->threads);
}

/* ---- roofs ---- */

/* The best of some windows that count; of any, where none does. */
static double best_rate(struct meter *m)
{
	double best = 0, any = 0, rate;

	for (int i = 0, whole = 0; i < TRIES && whole < CHOOSING; i++) {
		if (window(m, &rate)) {
			best = fmax(best, rate);
			whole++;
		}
		any = fmax(any, rate);
	}
	return best > 0 ? best : any;
}

static bool task_find(struct meter *m, const struct sn_roof *roof, struct task *out)
{
	struct sn_roof_loop loops[SN_ROOF_VARIANTS];
	double best = -1, rate;

	*out = (struct task){ .kind = roof->kind };
	m->active = roof->threads;
	if (roof->level != SN_ROOF_NO_LEVEL) {
		out->set_bytes = set_bytes(m, roof->level, roof->threads) / STEP_BYTES * STEP_BYTES;
		out->bytes_per_element = roof->level ? 32 : 24;
		return out->set_bytes >= 8 * STEP_BYTES;
	}
	sn_roof_loops_of(roof->kind, loops);
	m->active = 1;
	for (size_t v = 0; v < SN_ROOF_VARIANTS; v++) {
		m->task = (struct task){ .kind = roof->kind, .loop = loops[v] };
		rate = loops[v].run ? best_rate(m) : -1;
		if (rate > best) {
			best = rate;
			out->loop = loops[v];
		}
	}
	m->active = roof->threads;
	return best > 0;
}

static size_t windows_of(struct meter *m, const struct task *task, unsigned threads, double *rates)
{
	size_t count = 0;

	m->active = threads;
	m->task = *task;
	for (int i = 0; i < TRIES && count < WINDOWS; i++) {
		double rate;

		if (window(m, &rate))
			rates[count++] = rate;
	}
	return count;
}

struct rate {
	double value;
	size_t round;
};

static int rates_compare(const void *left, const void *right)
{
	const struct rate *x = left, *y = right;

	return (x->value < y->value) - (x->value > y->value);
}

/* The best rate that a window had on which others agree; NaN: there is none. Sorts in place, best
 * first. One window alone may have had a clock that jumped. */
static double agreed(struct rate *rates, size_t count)
{
	qsort(rates, count, sizeof(*rates), rates_compare);
	for (size_t i = 0; i + AGREED <= count; i++) {
		bool is_of_one_round = true;

		if (rates[i + AGREED - 1].value < (1 - TOLERANCE) * rates[i].value)
			continue;
		for (size_t k = i; k < count; k++)
			if (rates[k].value >= (1 - TOLERANCE) * rates[i].value)
				is_of_one_round =
					is_of_one_round && rates[k].round == rates[i].round;
		if (!is_of_one_round)
			return rates[i].value;
	}
	return NAN;
}

void sn_roof_settle(struct sn_roof *roof, const double *rates, const size_t *counts, size_t rounds,
		    const struct sn_roof *older)
{
	size_t total = 0;
	struct rate *all;

	for (size_t r = 0; r < rounds; r++)
		total += counts[r];
	all = sn_alloc_zeroed(total + 1, sizeof(*all));
	for (size_t r = 0, at = 0; r < rounds; r++)
		for (size_t i = 0; i < counts[r]; i++, at++)
			all[at] = (struct rate){ rates[at], r };
	roof->value = agreed(all, total);
	roof->state = isnan(roof->value) ? SN_ROOF_UNCERTAIN : SN_ROOF_MEASURED;
	if (isnan(roof->value) && older) {
		*roof = *older;
		roof->state = SN_ROOF_KEPT;
	} else if (total) {
		if (isnan(roof->value))
			roof->value = all[0].value;
		roof->low = fmin(all[total - 1 - total / 10].value, roof->value);
		roof->high = all[0].value;
	}
	free(all);
}

void sn_roofs_reconcile(struct sn_roofs *roofs)
{
	for (size_t i = 0; i < roofs->items.count; i++) {
		struct sn_roof *one = &roofs->items.items[i];
		const struct sn_roof *many =
			sn_roofs_find(roofs, one->kind, one->level, sn_roofs_threads(roofs));

		if (one->level != SN_ROOF_NO_LEVEL || one->threads != 1 || !many ||
		    many->state == SN_ROOF_UNCERTAIN ||
		    !(one->value < (1 - TOLERANCE) * many->value / many->threads))
			continue;
		one->value = many->value / many->threads;
		one->high = fmax(one->high, one->value);
		one->state = SN_ROOF_UNCERTAIN;
	}
}

void sn_roofs_of_busy_machine(struct sn_roofs *roofs, const struct sn_roofs *older)
{
	for (size_t i = 0; i < roofs->items.count; i++) {
		struct sn_roof *roof = &roofs->items.items[i];
		const struct sn_roof *before =
			older ? sn_roofs_find(older, roof->kind, roof->level, roof->threads) : NULL;

		if (roof->state == SN_ROOF_MEASURED)
			roof->state = SN_ROOF_UNCERTAIN;
		if (!before || roof->state == SN_ROOF_KEPT ||
		    (before->state == SN_ROOF_UNCERTAIN && before->value < roof->value))
			continue;
		*roof = *before;
		if (roof->state == SN_ROOF_MEASURED)
			roof->state = SN_ROOF_KEPT;
	}
}

/* All roofs of this machine, without figures; tasks beside them. */
static void roofs_list(struct meter *m, struct sn_roofs *out, struct task *tasks)
{
	for (int k = 0; k < SN_ROOF_KINDS; k++)
		for (unsigned level = 0; level <= SN_ROOF_NO_LEVEL; level++)
			for (unsigned many = 0; many <= (m->count > 1); many++) {
				struct sn_roof roof = { .kind = (enum sn_roof_kind)k,
							.level = level,
							.threads = many ? m->count : 1 };
				bool is_memory = k == SN_ROOF_READ || k == SN_ROOF_TRIAD;

				if (is_memory == (level != SN_ROOF_NO_LEVEL) &&
				    task_find(m, &roof, &tasks[out->items.count]))
					sn_vec_push(&out->items, roof);
			}
}

enum { ROOFS_MOST = 2 * (2 * SN_MEMORY_LEVELS + SN_ROOF_KINDS) };

struct seen {
	double rates[ROUNDS * WINDOWS];
	size_t counts[ROUNDS], total;
};

static void rounds_run(struct meter *m, struct sn_roofs *out, const struct sn_roofs *older)
{
	struct task *tasks = sn_alloc_zeroed(ROOFS_MOST, sizeof(*tasks));
	struct seen *seen = sn_alloc_zeroed(ROOFS_MOST, sizeof(*seen));
	struct sn_progress progress;
	size_t kept = 0;

	roofs_list(m, out, tasks);
	sn_progress_begin(&progress, "measuring roofs", ROUNDS * out->items.count);
	m->windows = m->whole_windows = 0;
	for (size_t r = 0; r < ROUNDS; r++)
		for (size_t i = 0; i < out->items.count; i++) {
			seen[i].counts[r] = windows_of(m, &tasks[i], out->items.items[i].threads,
						       seen[i].rates + seen[i].total);
			seen[i].total += seen[i].counts[r];
			sn_progress_update(&progress, r * out->items.count + i + 1);
		}
	sn_progress_end(&progress);
	for (size_t i = 0; i < out->items.count; i++) {
		struct sn_roof roof = out->items.items[i];

		sn_roof_settle(&roof, seen[i].rates, seen[i].counts, ROUNDS,
			       older ? sn_roofs_find(older, roof.kind, roof.level, roof.threads)
				     : NULL);
		if (roof.level == SN_MEMORY_LEVELS - 1 && m->ram_is_small &&
		    roof.state == SN_ROOF_MEASURED)
			roof.state = SN_ROOF_UNCERTAIN;
		if (roof.value > 0)
			out->items.items[kept++] = roof;
	}
	out->items.count = kept;
	sn_roofs_reconcile(out);
	out->was_busy = m->whole_windows * 2 < m->windows;
	if (out->was_busy)
		sn_roofs_of_busy_machine(out, older);
	free(tasks);
	free(seen);
}

static void today(char date[16])
{
	time_t now = time(NULL);
	struct tm parts;

	date[0] = '\0';
	if (localtime_r(&now, &parts))
		strftime(date, 16, "%Y-%m-%d", &parts);
}

sn_status sn_roofs_measure(struct sn_roofs *out, const struct sn_roofs *older, struct sn_error *err)
{
	struct meter m = { 0 };
	cpu_set_t before;
	sn_status status;

	memset(out, 0, sizeof(*out));
	sn_machine_host_model(out->host, sizeof(out->host));
	today(out->date);
	if (older && strcmp(older->host, out->host) != 0)
		older = NULL;
	pthread_getaffinity_np(pthread_self(), sizeof(before), &before);
	status = meter_begin(&m, err);
	if (!status && m.threads)
		status = threads_begin(&m, err);
	if (!status)
		rounds_run(&m, out, older);
	meter_end(&m, &before);
	return status;
}
