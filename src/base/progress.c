/*
 * A thread draws the line, so no analysis has to do so. It wipes the line before other output
 * appears, and draws nothing where nobody watches.
 */
#include "base/progress.h"

#include <signal.h>
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

double sn_now_s(void)
{
	return (double)sn_now_ns() / 1e9;
}

int64_t sn_clock_ns(clockid_t clock)
{
	struct timespec now;

	syscall(SYS_clock_gettime, clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- the line ---- */

/* One at a time: what begins meanwhile is part of it. */
static struct sn_progress *_Atomic in_hand;

static void line_wipe(struct sn_progress *progress)
{
	if (progress->is_drawn)
		fputs("\r\033[K", stderr);
	progress->is_drawn = false;
}

static void line_draw(struct sn_progress *progress, uint64_t now_ns)
{
	uint64_t done = atomic_load(&progress->done), total = progress->total;
	double elapsed_s = (double)(now_ns - progress->started_ns) * 1e-9;

	if (total && done) {
		double share = (double)done / (double)total;
		double left_s = elapsed_s * (1 - share) / share;

		fprintf(stderr, "\r%s %3.0f %%  %.0f s left\033[K", progress->what, 100 * share,
			left_s);
	} else if (progress->expected_s > 0) {
		fprintf(stderr, "\r%s: %.0f s of about %.0f s\033[K", progress->what, elapsed_s,
			progress->expected_s);
	} else if (progress->expected_s >= 0) {
		fprintf(stderr, "\r%s: %.0f s\033[K", progress->what, elapsed_s);
	} else {
		fprintf(stderr, "\r%s ...\033[K", progress->what);
	}
	progress->is_drawn = true;
}

/* A thread, so that no analysis need say now and then that it is still there. */
static void *line_keep(void *argument)
{
	struct sn_progress *progress = argument;
	uint64_t next_ns = progress->started_ns + PROGRESS_QUIET_NS;

	pthread_mutex_lock(&progress->lock);
	while (!progress->is_over) {
		struct timespec until = { .tv_sec = (time_t)(next_ns / 1000000000),
					  .tv_nsec = (long)(next_ns % 1000000000) };
		uint64_t now_ns;

		pthread_cond_timedwait(&progress->ended, &progress->lock, &until);
		now_ns = sn_now_ns();
		if (progress->is_over || now_ns < next_ns)
			continue;
		line_draw(progress, now_ns);
		next_ns = now_ns + PROGRESS_REDRAW_NS;
	}
	pthread_mutex_unlock(&progress->lock);
	return NULL;
}

/* A child has no thread that draws, and its lock may be held for ever. */
static void child_begins(void)
{
	atomic_store(&in_hand, NULL);
}

static void children_mind(void)
{
	pthread_atfork(NULL, NULL, child_begins);
}

static void thread_start(struct sn_progress *progress)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_condattr_t attributes;
	sigset_t all, before;

	pthread_once(&once, children_mind);
	pthread_mutex_init(&progress->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&progress->ended, &attributes);
	pthread_condattr_destroy(&attributes);
	sigfillset(&all); /* signals are for the thread that works */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	progress->has_thread = !pthread_create(&progress->thread, NULL, line_keep, progress);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void begin(struct sn_progress *progress)
{
	struct sn_progress *none = NULL;

	if (isatty(STDERR_FILENO) && atomic_compare_exchange_strong(&in_hand, &none, progress))
		thread_start(progress);
}

void sn_progress_begin(struct sn_progress *progress, const char *what, uint64_t total)
{
	*progress = (struct sn_progress){
		.what = what, .total = total, .expected_s = -1, .started_ns = sn_now_ns()
	};
	begin(progress);
}

void sn_progress_begin_timed(struct sn_progress *progress, const char *what, double expected_s)
{
	*progress = (struct sn_progress){ .what = what,
					  .expected_s = expected_s,
					  .started_ns = sn_now_ns() };
	begin(progress);
}

void sn_progress_update(struct sn_progress *progress, uint64_t done)
{
	atomic_store_explicit(&progress->done, done, memory_order_relaxed);
}

void sn_progress_end(struct sn_progress *progress)
{
	if (progress->has_thread) {
		pthread_mutex_lock(&progress->lock);
		progress->is_over = true;
		pthread_cond_signal(&progress->ended);
		pthread_mutex_unlock(&progress->lock);
		pthread_join(progress->thread, NULL);
		progress->has_thread = false;
		line_wipe(progress);
	}
	if (atomic_load(&in_hand) == progress)
		atomic_store(&in_hand, NULL);
}

void sn_progress_make_room(void)
{
	struct sn_progress *progress = atomic_load(&in_hand);

	if (!progress || !progress->has_thread)
		return;
	pthread_mutex_lock(&progress->lock);
	line_wipe(progress);
	pthread_mutex_unlock(&progress->lock);
}
