/*
 * Snapshots of gmon.out while a program runs, for `sonde import gmon`:
 *
 *   gcc -shared -fPIC -O1 gmon_snapshots.c -o gmon_snapshots.so -lpthread
 *   LD_PRELOAD=$PWD/gmon_snapshots.so ./app            # compiled and linked with -pg
 *   sonde import gmon --program ./app $(ls -v gmon.out.*)
 *
 * glibc writes gmon.out when a program ends, and has no call that writes it before. A child of
 * fork() has the counts up to then, and no profiling timer: it writes them and ends. The child does
 * nothing else, so threads and MPI in the parent do not matter to it. GMON_SNAPSHOT_S: seconds
 * between snapshots (1).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern void _mcleanup(void); /* of glibc: writes the file that GMON_OUT_PREFIX names */

static void take(int number)
{
	char from[64], to[64];
	pid_t child = fork();
	int status;

	if (child == 0) {
		_mcleanup();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return;
	snprintf(from, sizeof(from), "gmon.part.%d", (int)child);
	snprintf(to, sizeof(to), "gmon.out.%d", number);
	rename(from, to);
}

static void *take_all(void *unused)
{
	const char *text = getenv("GMON_SNAPSHOT_S");
	double seconds = text && atof(text) > 0 ? atof(text) : 1;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int number = 1;; number++) {
		double due = (double)next.tv_nsec / 1e9 + seconds;

		next.tv_sec += (time_t)due;
		next.tv_nsec = (long)((due - (double)(time_t)due) * 1e9);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		take(number);
	}
	return unused;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	setenv("GMON_OUT_PREFIX", "gmon.part", 1);
	if (pthread_create(&thread, NULL, take_all, NULL) == 0)
		pthread_detach(thread);
}
