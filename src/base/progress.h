/**
 * A progress line on standard error: only on a terminal, only after half a second, silent in a
 * pipe.
 */
#ifndef SN_BASE_PROGRESS_H
#define SN_BASE_PROGRESS_H

#include <stdint.h>
#include <time.h>

struct sn_progress {
	const char *what;     /* "reading samples" */
	uint64_t done, total; /* total 0: unknown */
	uint64_t started_ns, drawn_ns;
	int is_terminal, is_drawn;
};

void sn_progress_begin(struct sn_progress *progress, const char *what, uint64_t total);
/** Cheap enough for every item: looks at the clock, redraws ten times a second at most. */
void sn_progress_update(struct sn_progress *progress, uint64_t done);
/** Wipes the line. */
void sn_progress_end(struct sn_progress *progress);

/** CLOCK_MONOTONIC now. */
uint64_t sn_now_ns(void);

/** A clock as the kernel has it, past a preloaded library that bends clocks (libfaketime): for what
 *  is compared with the target's times. A system call. */
int64_t sn_clock_ns(clockid_t clock);

#endif
