/**
 * What the files of the heartbeat library share. Who writes what:
 *
 * - a thread's own cells: that thread alone, by relaxed stores (the header tells how);
 * - `cell->fast.epoch` and everything in `struct beat_seen`: whoever holds `drain_lock`;
 * - the lists of heartbeats and threads, and the memory pool: whoever holds `lock`. Both lists only
 *   ever grow at the head, so that the drain walks them without it.
 *
 * `drain_lock` is taken before `lock`. fork() takes both.
 */
#ifndef SN_RUNTIME_HEARTBEAT_PARTS_H
#define SN_RUNTIME_HEARTBEAT_PARTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/heartbeat.h"

enum beat_mode {
	BEAT_OFF = 1,
	BEAT_SAMPLED = 2,
	BEAT_NO_TSC = 4,
	BEAT_FINALIZED = 8,
	BEAT_WATCHED = 16, /* it bounds the phase of a search */
};

/* Of sonde's runtime, where the program is searched (runtime/monitor); else NULL. */
int sonde_monitor_watches(const char *heartbeat) __attribute__((weak));
void sonde_monitor_beat(const char *heartbeat, int ends) __attribute__((weak));
/* What stands in begun[] in place of ticks. */
enum beat_mark { BEAT_UNTIMED = 0, BEAT_IGNORED = 1 };

/** One line of output: one heartbeat of one thread (or of all, jobwide) in one interval. */
struct beat_row {
	const struct beat *beat;
	uint64_t thread; /* 0: all threads of the process */
	uint64_t threads, count, sum_ns, min_ns, max_ns, open, open_ns, work, misuse, dropped;
	uint64_t lost; /* of `dropped`: beats of rows that could not be written before */
	uint64_t histogram[SONDE_HEARTBEAT_BUCKETS];
};

/** A heartbeat. Never freed. */
struct beat {
	struct sonde_heartbeat fast;
	uint32_t every;	      /* one beat in so many is timed: */
	uint32_t asked_every; /* as the program asked, or more if the limit of cost is on */
	double busiest; /* beats per ns of a thread's CPU time since the last drain, at most; the
			   drain's */
	const char *name;
	size_t name_length;
	struct beat *next;   /* registered before this one */
	struct beat_row row; /* the drain's, where rows of threads are added up */
};

/** Totals that were read from a cell. */
struct beat_totals {
	uint64_t sum_ticks, untimed, work, misuse, dropped;
	uint64_t histogram[SONDE_HEARTBEAT_BUCKETS];
};

struct beat_cell {
	struct sonde_heartbeat_cell fast;
	/* the owner's, slow path only */
	uint64_t untimed, misuse, dropped;
	uint64_t turn;	/* where one in many is timed: 0 at one that is */
	uint64_t *deep; /* begun[] from SONDE_HEARTBEAT_SHALLOW on */
	uint64_t deep_capacity;
	struct beat *beat;
	struct beat_cell *next;
	/* the drain's */
	struct beat_totals seen __attribute__((aligned(64)));
	uint64_t first_epoch; /* of the interval now running */
	uint64_t lost;	      /* beats in rows that could not be written */
	uint64_t in_batch;    /* beats in the rows now being written */
};

/** What stands for a beat that begins now where one in `every` is timed; `ticks` reads the clock. */
static inline uint64_t beat_sampled_mark(struct beat_cell *cell, uint32_t every,
					 uint64_t (*ticks)(void))
{
	uint64_t turn = cell->turn;

	cell->turn = turn + 1 < every ? turn + 1 : 0;
	return turn && every > 1 ? BEAT_UNTIMED : ticks();
}

/** The beat that began last, which is only counted, ends. */
static inline void beat_close_untimed(struct beat_cell *cell)
{
	uint32_t version = cell->fast.version;

	__atomic_store_n(&cell->fast.version, version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&cell->fast.depth, cell->fast.depth - 1, __ATOMIC_RELAXED);
	__atomic_store_n(&cell->untimed, cell->untimed + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&cell->fast.version, version + 2, __ATOMIC_RELEASE);
}

enum beat_thread_state {
	BEAT_THREAD_LIVE,
	BEAT_THREAD_EXITED,
	BEAT_THREAD_DRAINED, /* ended, and its last counts have been read */
	BEAT_THREAD_FREE
};

/** A thread's block; used again for another thread once the drain has seen the end of this one. */
struct beat_thread {
	struct sonde_heartbeat_thread fast;
	struct beat_cell *cells; /* newest first */
	uint64_t tid;
	uint64_t cpu_ns, cpu_tid; /* CPU time at the drain before, of this thread; the drain's */
	int state;
	struct beat_thread *next;
};

/** Who this process is within its job; texts are empty and numbers -1 where unknown. */
struct beat_identity {
	char host[256], path[4096], job_id[256], launch[512];
	int64_t rank, ranks;
};

struct beat_settings {
	char folder[3072];
	char publish[1024]; /* SONDE_HEARTBEAT_PUBLISH */
	uint64_t interval_ns, size_bytes;
	/* fraction of a thread's CPU time that a heartbeat may take; 0: no limit */
	double cost_most;
	bool writes_jsonl, writes_csv, is_jobwide, is_enabled;
};

struct beat_globals {
	pthread_mutex_t lock, drain_lock;
	pthread_cond_t wake; /* the drain thread sleeps on it, with `lock` */
	struct beat_settings settings;
	struct beat_identity identity;
	uint64_t forked_from; /* pid of the process with heartbeats that forked this one; 0: none */
	uint64_t pid;
	struct beat *beats;
	struct beat_thread *threads;
	uint32_t beat_count;
	uint32_t mode; /* bits that all heartbeats have */
	bool is_ready, is_started, has_thread, must_stop;
	pthread_t drain;
	pthread_key_t key;
	uint64_t multiplier; /* as calibrated at the start */
	uint64_t base_ns, base_ticks;
	uint64_t process_ns; /* CLOCK_MONOTONIC when the process (or the forked child) began */
	uint64_t begin_ns;   /* when the drain thread was started; never changes while it runs */
	uint64_t stamp_ns;   /* end of the interval before; needs `drain_lock` once is_started */
};

extern struct beat_globals beat_globals;

/** Zeroed, aligned to 64 bytes, never given back; NULL when the kernel has none. Needs `lock`. */
void *beat_alloc(size_t bytes);

uint64_t beat_clock_ns(void);
uint64_t beat_ticks(void);

/** One line on stderr: `what` ("SONDE_HEARTBEAT_INTERVAL"), the value quoted, and `why`. */
void beat_complain(const char *what, const char *value, const char *why);
void beat_settings_read(const struct sonde_heartbeat_config *config);
void beat_identity_read(void);
/** Starts the drain thread if it is not running (again, in a forked child). */
void beat_start(void);
/** The destructor of a thread's block. */
void beat_thread_exit(void *block);
/** Times one beat in `n` of a heartbeat from now on; needs `lock`. */
void beat_set_every(struct beat *beat, uint32_t n);
/** To be called in a forked child: counts start from here, and other threads are gone. */
void beat_threads_forked(void);

/** Reads all cells and writes their rows; the caller holds `drain_lock` and blocks signals. */
void beat_drain(void);

/** The text of a batch, and whether memory ran out on the way. */
struct beat_text {
	char *chars;
	size_t length, capacity;
	bool is_short;
};

void beat_text_add(struct beat_text *text, const char *chars, size_t length);
void beat_text_string(struct beat_text *text, const char *chars);
void beat_text_uint(struct beat_text *text, uint64_t value);
/** Nanoseconds as seconds with nine digits after the point. */
void beat_text_seconds(struct beat_text *text, uint64_t ns);
/** A JSON string; invalid UTF-8 becomes U+FFFD. */
void beat_text_json(struct beat_text *text, const char *chars, size_t length);
/** A CSV field: quoted, formulas disarmed. */
void beat_text_csv(struct beat_text *text, const char *chars, size_t length);

/** Adds the row to the batch of each format. */
void beat_files_add(const struct beat_row *row, uint64_t stamp_ns, uint64_t interval_ns);
/** Writes the batch; false if any of it could not be written. */
bool beat_files_write(void);
/** Checks at the start whether the folder can be written to, and complains once if not. Makes
 * nothing: a program without a beat leaves no folder. */
void beat_files_check(void);
/** To be called in a forked child: forgets the parent's files. */
void beat_files_forget(void);

/** Publishers (sonde/heartbeat_publisher.h): dlopen(), by the drain's thread without a lock. */
void beat_publishers_load(void);
/** Waits until they are loaded, a second at most: rows before that would not be published. */
void beat_publishers_await(void);
/** These four need `drain_lock`. Starts what is loaded, once. */
void beat_publishers_start(void);
void beat_publishers_add(const struct beat_row *row);
void beat_publishers_interval(uint64_t interval_ns);
void beat_publishers_stop(void);
/** To be called in a forked child, for the publishers. */
void beat_publishers_forked(void);

#endif
