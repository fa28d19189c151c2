/**
 * Heartbeats: begin and end around a phase of a program, counted and timed per interval.
 *
 *	static sonde_heartbeat *solve;
 *	solve = sonde_heartbeat_register("solve", 0);
 *	for (;;) {
 *		sonde_heartbeat_begin(solve);
 *		...
 *		sonde_heartbeat_end(solve);
 *	}
 *
 * Link with -lsonde-heartbeat (pkg-config sonde-heartbeat). The library writes, once an interval,
 * one row for each thread and heartbeat in which something happened, into SONDE_HEARTBEAT_DIR.
 * With SONDE_HEARTBEAT_DISABLE defined all of it compiles to nothing and no library is needed.
 *
 * Begin and end may stand in different functions and may be nested, but a beat must end in the
 * thread that began it. An end without a begin, and any use after sonde_heartbeat_finalize(), is
 * counted as misuse and does nothing else. NULL is accepted everywhere and does nothing.
 *
 * Any thread may call any function at any time. Signal handlers may not, where they could interrupt
 * begin or end of the same heartbeat in the same thread.
 */
#ifndef SONDE_HEARTBEAT_H
#define SONDE_HEARTBEAT_H

#include <stdint.h>

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
extern "C" {
#endif

typedef struct sonde_heartbeat sonde_heartbeat;

/** All members may be zero; each is overridden by its environment variable. */
struct sonde_heartbeat_config {
	const char *folder;  /* SONDE_HEARTBEAT_DIR; NULL: ./sonde-heartbeat */
	double interval_s;   /* SONDE_HEARTBEAT_INTERVAL; 0: 1 s; at least 0.001 */
	const char *format;  /* SONDE_HEARTBEAT_FORMAT: "jsonl", "csv", "jsonl,csv" or "none";
			      * NULL: jsonl */
	uint64_t size_bytes; /* SONDE_HEARTBEAT_MAX_SIZE, of a process's files of one format;
			      * 0: any */
};

#ifndef SONDE_HEARTBEAT_DISABLE

/**
 * Reads the environment, opens nothing yet. Not needed: the first registration does the same with
 * the defaults. Returns 0; -1 after sonde_heartbeat_finalize(). Later calls change nothing.
 */
int sonde_heartbeat_init(const struct sonde_heartbeat_config *config);

/**
 * The heartbeat of this name, made if new; it lives as long as the process. The name is any bytes
 * and is copied; NULL is "". `flags` must be 0. NULL only when memory ran out: beats are then lost.
 */
sonde_heartbeat *sonde_heartbeat_register(const char *name, unsigned flags);
/** The heartbeat whose name is this number in decimal. */
sonde_heartbeat *sonde_heartbeat_by_id(uint32_t id);

/** Counts all beats, but times one in `n` (0 and 1: all). Rows tell the factor in `every`. */
void sonde_heartbeat_every(sonde_heartbeat *heartbeat, uint32_t n);
/** 0: beats that begin from now on are not counted. Beats already open still end. */
void sonde_heartbeat_enable(int enabled);
/** Writes what has happened so far, as a shorter interval; returns when it is written. */
void sonde_heartbeat_flush(void);
/** Writes the last interval and ends the helper thread. exit() does the same. */
void sonde_heartbeat_finalize(void);

/** The three of the fast path as functions: for languages without inline C, and for dlsym(). */
void sonde_heartbeat_begin_call(sonde_heartbeat *heartbeat);
void sonde_heartbeat_end_call(sonde_heartbeat *heartbeat);
void sonde_heartbeat_pulse_call(sonde_heartbeat *heartbeat, uint64_t work_units);

/*
 * From here on: what the inline functions need. No program should use these names; the layout is
 * part of the binary interface (soname).
 */
struct sonde_heartbeat {
	uint32_t index; /* from 0 in order of registration */
	uint32_t mode;	/* 0: the fast path may be taken */
};

enum { SONDE_HEARTBEAT_SHALLOW = 4, SONDE_HEARTBEAT_BUCKETS = 32 };

/** Smallest and largest duration since the drain asked for a new interval. */
struct sonde_heartbeat_extremes {
	uint64_t epoch, min_ticks, max_ticks;
};

/**
 * What one thread knows of one heartbeat. Written by that thread alone (but for `epoch`, which the
 * drain writes), read by the drain; all counters only grow. `version` is odd while an end is at
 * work. begun[] is a stack: clock ticks of the beats now open.
 */
struct sonde_heartbeat_cell {
	uint32_t version, depth;
	uint64_t epoch;
	uint64_t sum_ticks;
	uint64_t begun[SONDE_HEARTBEAT_SHALLOW];
	uint64_t work;
	struct sonde_heartbeat_extremes extremes[2]; /* by the epoch's lowest bit */
	uint64_t multiplier;			     /* ns per tick, times 2^32 */
	uint64_t reserved;
	uint64_t histogram[SONDE_HEARTBEAT_BUCKETS];
} __attribute__((aligned(64)));

struct sonde_heartbeat_thread {
	uint64_t cell_count;
	struct sonde_heartbeat_cell **cells; /* by the heartbeat's index; NULL: not used yet */
};

extern __thread struct sonde_heartbeat_thread *sonde_heartbeat_here
	__attribute__((tls_model("initial-exec")));

void sonde_heartbeat_begin_slow(sonde_heartbeat *heartbeat);
void sonde_heartbeat_end_slow(sonde_heartbeat *heartbeat);
void sonde_heartbeat_pulse_slow(sonde_heartbeat *heartbeat, uint64_t work_units);
/* The beat that began last was left without its end: it is counted, and not timed. For tools that insert
 * heartbeats. The two above use general registers only, once a thread has had a beat of the heartbeat as deep. */
void sonde_heartbeat_left(sonde_heartbeat *heartbeat);

static inline uint64_t sonde_heartbeat_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/** The cell for the fast path; NULL where the slow path must look. */
static inline struct sonde_heartbeat_cell *sonde_heartbeat_cell_of(sonde_heartbeat *heartbeat)
{
	struct sonde_heartbeat_thread *here = sonde_heartbeat_here;

	if (!here || __atomic_load_n(&heartbeat->mode, __ATOMIC_RELAXED) != 0 ||
	    heartbeat->index >= here->cell_count)
		return 0;
	return here->cells[heartbeat->index];
}

static inline void sonde_heartbeat_begin(sonde_heartbeat *heartbeat)
{
	struct sonde_heartbeat_cell *cell;

	if (!heartbeat)
		return;
	cell = sonde_heartbeat_cell_of(heartbeat);
	if (__builtin_expect(cell && cell->depth < SONDE_HEARTBEAT_SHALLOW, 1)) {
		uint32_t depth = cell->depth;

		__atomic_store_n(&cell->begun[depth], sonde_heartbeat_ticks(), __ATOMIC_RELAXED);
		__atomic_store_n(&cell->depth, depth + 1, __ATOMIC_RELEASE);
	} else {
		sonde_heartbeat_begin_slow(heartbeat);
	}
}

/** Adds a duration that has ended; the caller has made `version` odd. */
static inline void sonde_heartbeat_add(struct sonde_heartbeat_cell *cell, uint64_t ticks)
{
	uint64_t epoch = __atomic_load_n(&cell->epoch, __ATOMIC_RELAXED);
	struct sonde_heartbeat_extremes *extremes = &cell->extremes[epoch & 1];
	uint64_t ns = (uint64_t)(__extension__((unsigned __int128)ticks * cell->multiplier) >> 32);
	unsigned bucket = 63u - (unsigned)__builtin_clzll(ns | 1);
	int is_new = extremes->epoch != epoch;

	if (bucket >= SONDE_HEARTBEAT_BUCKETS)
		bucket = SONDE_HEARTBEAT_BUCKETS - 1;
	__atomic_store_n(&cell->sum_ticks, cell->sum_ticks + ticks, __ATOMIC_RELAXED);
	__atomic_store_n(&cell->histogram[bucket], cell->histogram[bucket] + 1, __ATOMIC_RELAXED);
	if (__builtin_expect(is_new || ticks < extremes->min_ticks, 0))
		__atomic_store_n(&extremes->min_ticks, ticks, __ATOMIC_RELAXED);
	if (__builtin_expect(is_new || ticks > extremes->max_ticks, 0))
		__atomic_store_n(&extremes->max_ticks, ticks, __ATOMIC_RELAXED);
	if (__builtin_expect(is_new, 0))
		__atomic_store_n(&extremes->epoch, epoch, __ATOMIC_RELAXED);
}

/** The beat that began last, at `begun`, ends; it lies in begun[]. */
static inline void sonde_heartbeat_close(struct sonde_heartbeat_cell *cell, uint64_t begun)
{
	uint64_t now = sonde_heartbeat_ticks();
	uint32_t version = cell->version;

	__atomic_store_n(&cell->version, version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&cell->depth, cell->depth - 1, __ATOMIC_RELAXED);
	sonde_heartbeat_add(cell, now > begun ? now - begun : 0);
	__atomic_store_n(&cell->version, version + 2, __ATOMIC_RELEASE);
}

static inline void sonde_heartbeat_end(sonde_heartbeat *heartbeat)
{
	struct sonde_heartbeat_cell *cell;
	uint64_t begun = 0;

	if (!heartbeat)
		return;
	cell = sonde_heartbeat_cell_of(heartbeat);
	if (cell && cell->depth - 1u < (uint32_t)SONDE_HEARTBEAT_SHALLOW)
		begun = cell->begun[cell->depth - 1];
	if (__builtin_expect(begun > 1, 1)) /* 0 and 1 mark beats that are not timed */
		sonde_heartbeat_close(cell, begun);
	else
		sonde_heartbeat_end_slow(heartbeat);
}

/** Progress in the program's own units (cells updated, bytes, iterations); no beat is counted. */
static inline void sonde_heartbeat_pulse(sonde_heartbeat *heartbeat, uint64_t work_units)
{
	struct sonde_heartbeat_cell *cell;

	if (!heartbeat)
		return;
	cell = sonde_heartbeat_cell_of(heartbeat);
	if (__builtin_expect(cell != 0, 1))
		__atomic_store_n(&cell->work, cell->work + work_units, __ATOMIC_RELAXED);
	else
		sonde_heartbeat_pulse_slow(heartbeat, work_units);
}

#else /* SONDE_HEARTBEAT_DISABLE */

static inline int sonde_heartbeat_init(const struct sonde_heartbeat_config *config)
{
	(void)config;
	return 0;
}
static inline sonde_heartbeat *sonde_heartbeat_register(const char *name, unsigned flags)
{
	(void)name, (void)flags;
	return 0;
}
static inline sonde_heartbeat *sonde_heartbeat_by_id(uint32_t id)
{
	(void)id;
	return 0;
}
static inline void sonde_heartbeat_every(sonde_heartbeat *heartbeat, uint32_t n)
{
	(void)heartbeat, (void)n;
}
static inline void sonde_heartbeat_enable(int enabled)
{
	(void)enabled;
}
static inline void sonde_heartbeat_flush(void)
{
}
static inline void sonde_heartbeat_finalize(void)
{
}
static inline void sonde_heartbeat_begin(sonde_heartbeat *heartbeat)
{
	(void)heartbeat;
}
static inline void sonde_heartbeat_end(sonde_heartbeat *heartbeat)
{
	(void)heartbeat;
}
static inline void sonde_heartbeat_pulse(sonde_heartbeat *heartbeat, uint64_t work_units)
{
	(void)heartbeat, (void)work_units;
}

#endif

#ifdef __cplusplus
}
#pragma GCC diagnostic pop

namespace sonde
{
/** A beat as long as the scope: `sonde::heartbeat_scope beat(solve);`. */
class heartbeat_scope
{
	sonde_heartbeat *heartbeat;

      public:
	explicit heartbeat_scope(sonde_heartbeat *of) : heartbeat(of)
	{
		sonde_heartbeat_begin(heartbeat);
	}
	~heartbeat_scope()
	{
		sonde_heartbeat_end(heartbeat);
	}
	heartbeat_scope(const heartbeat_scope &) = delete;
	heartbeat_scope &operator=(const heartbeat_scope &) = delete;
};
} // namespace sonde
#endif

#endif
