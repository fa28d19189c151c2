#include "base/progress.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROGRESS_QUIET_NS = 500000000, PROGRESS_REDRAW_NS = 100000000 };

uint64_t sn_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t sn_clock_ns(clockid_t clock)
{
	struct timespec now;

	syscall(SYS_clock_gettime, clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sn_progress_begin(struct sn_progress *progress, const char *what, uint64_t total)
{
	*progress = (struct sn_progress){ .what = what, .total = total, .started_ns = sn_now_ns() };
	progress->is_terminal = isatty(STDERR_FILENO);
}

void sn_progress_update(struct sn_progress *progress, uint64_t done)
{
	uint64_t now;

	progress->done = done;
	if (!progress->is_terminal)
		return;
	now = sn_now_ns();
	if (now - progress->started_ns < PROGRESS_QUIET_NS ||
	    now - progress->drawn_ns < PROGRESS_REDRAW_NS)
		return;
	progress->drawn_ns = now;
	progress->is_drawn = 1;
	if (progress->total && done) {
		double share = (double)done / (double)progress->total;
		double left_s = (double)(now - progress->started_ns) * 1e-9 * (1 - share) / share;

		fprintf(stderr, "\r%s %3.0f %%  %.0f s left\033[K", progress->what, 100 * share,
			left_s);
	} else {
		fprintf(stderr, "\r%s ...\033[K", progress->what);
	}
}

void sn_progress_end(struct sn_progress *progress)
{
	if (progress->is_drawn)
		fputs("\r\033[K", stderr);
	progress->is_drawn = 0;
}
