/**
 * A progress line on standard error: only on a terminal, only after half a second, silent in a
 * pipe.
 */
#ifndef SN_BASE_PROGRESS_H
#define SN_BASE_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct sn_progress {
	const char *what;  /* "reading samples" */
	uint64_t total;	   /* 0: unknown */
	double expected_s; /* how long it may take; 0: unknown; < 0: the line tells no time */
	_Atomic uint64_t done;
	uint64_t started_ns;
	pthread_t thread; /* draws the line; there is one on a terminal only */
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool has_thread, is_over, is_drawn;
};

/** Begins a progress line. The struct must stay where it is until the end. A line that begins
 * before another has ended shows nothing of its own. */
void sn_progress_begin(struct sn_progress *progress, const char *what, uint64_t total);
/** The same of what cannot tell how much is done: the line has the seconds so far, and how many it may take (0: unknown). */
void sn_progress_begin_timed(struct sn_progress *progress, const char *what, double expected_s);
/** Says how much is done. It is cheap enough for every item. The line is kept up without it, too. */
void sn_progress_update(struct sn_progress *progress, uint64_t done);
/** Wipes the line. Call it before anything is printed. */
void sn_progress_end(struct sn_progress *progress);
/** Wipes the line that may be there, before a message. */
void sn_progress_make_room(void);

/** CLOCK_MONOTONIC now. */
uint64_t sn_now_ns(void);
/** The same in seconds. */
double sn_now_s(void);

/** A clock by a system call, so that a preloaded library that changes clocks (libfaketime) does not
 * change this one. It is for times that are compared with the target's. */
int64_t sn_clock_ns(clockid_t clock);

#endif
