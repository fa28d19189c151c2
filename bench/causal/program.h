/* What the constructed programs share: parts of known length that can really be shortened, and steps.
 *
 *     ./PROGRAM STEPS [PART=FACTOR ...]      prints the seconds of a step, without the first few, and how
 *                                            often others took a CPU away
 *
 * A part is written PART(name); `name(units)` then works so many units, times its factor. A part is one
 * line of source, so that coz, which knows lines, has the same targets. */
#ifndef PROGRAM_H
#define PROGRAM_H

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <sonde/heartbeat.h>
#ifdef WITH_COZ
#include <coz.h>
#else
#define COZ_PROGRESS_NAMED(name)
#endif

enum { UNIT = 1200000, STEPS_LEFT_OUT = 5 };

struct part {
	const char *name;
	double factor;
	struct part *next;
};
static struct part *parts;
static int steps, steps_done;
static double from_s, last_s;
static sonde_heartbeat *step_beat;
__attribute__((unused)) static volatile double kept;

/* clang-format off */
#define PART(name) \
	static struct part name##_part = { #name, 1, 0 }; \
	__attribute__((constructor)) static void name##_is_a_part(void) \
	{ name##_part.next = parts; parts = &name##_part; } \
	__attribute__((noinline, noclone)) static void name(double units) \
	{ double x = 1; \
	  for (long i = (long)(units * UNIT * name##_part.factor); i > 0; i--) x = x * 1.0000001 + 1e-9; \
	  kept = x; }
/* clang-format on */

static inline double now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline void program_begins(int count, char **words)
{
	steps = count > 1 ? atoi(words[1]) : 200;
	for (int i = 2; i < count; i++)
		for (struct part *part = parts; part; part = part->next)
			if (!strncmp(words[i], part->name, strlen(part->name)) &&
			    words[i][strlen(part->name)] == '=')
				part->factor = atof(strchr(words[i], '=') + 1);
	step_beat = sonde_heartbeat_register("step", 0);
	from_s = last_s = now_s();
}

/* Each thread naps for some 8 % of a step. The kernel takes real-time threads that never do off their CPU for
 * 50 ms in each second, which would be measured, too. */
static inline void rest(void)
{
	struct timespec time = { 0, 2400000 };

	nanosleep(&time, NULL);
}

/* By one thread, or by one at a time. */
static inline void step_is_done(void)
{
	sonde_heartbeat_begin(step_beat);
	sonde_heartbeat_end(step_beat);
	COZ_PROGRESS_NAMED("step");
	last_s = now_s();
	if (++steps_done == STEPS_LEFT_OUT)
		from_s = last_s;
}

static inline int program_ends(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	printf("%.9f %ld\n", (last_s - from_s) / (steps_done - STEPS_LEFT_OUT), used.ru_nivcsw);
	return 0;
}

/* A queue between two threads. */
enum { QUEUE_MAX = 2 };
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int count;
};
#define QUEUE_EMPTY                                                                                \
	{                                                                                          \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                             \
	}

__attribute__((unused)) static void queue_change(struct queue *queue, int by)
{
	pthread_mutex_lock(&queue->lock);
	while (by > 0 ? queue->count == QUEUE_MAX : queue->count == 0)
		pthread_cond_wait(&queue->changed, &queue->lock);
	queue->count += by;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

__attribute__((unused)) static pthread_t thread_begin(void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	return thread;
}

#endif
