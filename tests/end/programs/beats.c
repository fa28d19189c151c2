/* Uses heartbeats in the way its first argument names; what must come out is known by construction.
 */
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sonde/heartbeat.h"

static sonde_heartbeat *beat;
static long pairs;

static void nap(double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	nanosleep(&t, NULL);
}

static void *pair_up(void *unused)
{
	(void)unused;
	for (long i = 0; i < pairs; i++) {
		sonde_heartbeat_begin(beat);
		sonde_heartbeat_end(beat);
	}
	return NULL;
}

static void threads(int count)
{
	pthread_t *ids = calloc((size_t)count, sizeof(*ids));

	for (int i = 0; i < count; i++)
		pthread_create(&ids[i], NULL, pair_up, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
	free(ids);
}

static void nest(int depth)
{
	sonde_heartbeat_begin(beat);
	if (depth > 1)
		nest(depth - 1);
	sonde_heartbeat_end(beat);
}

static void *leave_open(void *unused)
{
	sonde_heartbeat_begin(beat);
	return unused;
}

/*
 * ASan's allocator is not made ready for fork (it is from GCC 14 on): a lock of it that a thread takes
 * while it starts stays taken in the child. The library's thread has its name once it has started.
 */
static void await_library_thread(void)
{
#ifdef __SANITIZE_ADDRESS__
	char name[32] = "";

	while (strcmp(name, "sonde-heartbeat\n") != 0) {
		glob_t tasks;

		nap(0.001);
		glob("/proc/self/task/*/comm", 0, NULL, &tasks);
		for (size_t i = 0; i < tasks.gl_pathc && strcmp(name, "sonde-heartbeat\n") != 0;
		     i++) {
			FILE *file = fopen(tasks.gl_pathv[i], "r");

			if (file != NULL && fgets(name, sizeof(name), file) == NULL)
				name[0] = '\0';
			if (file != NULL)
				fclose(file);
		}
		globfree(&tasks);
	}
#endif
}

static void forked(void)
{
	pid_t child;

	pair_up(NULL);
	await_library_thread();
	sonde_heartbeat_begin(beat);
	child = fork();
	if (child == 0) {
		sonde_heartbeat_end(beat); /* the parent's beat: nothing */
		pairs = 7;
		pair_up(NULL);
		exit(0);
	}
	waitpid(child, NULL, 0);
	sonde_heartbeat_end(beat);
}

int main(int argc, char **argv)
{
	const char *mode = argv[1];
	pthread_t thread;

	pairs = argc > 2 ? atol(argv[2]) : 1000;
	beat = sonde_heartbeat_register("work", 0);
	if (!strcmp(mode, "threads")) {
		threads(atoi(argv[3]));
	} else if (!strcmp(mode, "long")) {
		sonde_heartbeat_begin(beat);
		nap(atof(argv[2]));
		sonde_heartbeat_end(beat);
	} else if (!strcmp(mode, "nested")) {
		nest(atoi(argv[2]));
	} else if (!strcmp(mode, "misuse")) {
		sonde_heartbeat_end(beat);
		sonde_heartbeat_begin(NULL);
		sonde_heartbeat_end(NULL);
		pthread_create(&thread, NULL, leave_open, NULL);
		pthread_join(thread, NULL);
		sonde_heartbeat_finalize();
		sonde_heartbeat_begin(beat);
		sonde_heartbeat_end(beat);
	} else if (!strcmp(mode, "fork")) {
		forked();
	} else if (!strcmp(mode, "names")) {
		for (int i = 2; i < argc; i++) {
			beat = sonde_heartbeat_register(argv[i], 0);
			sonde_heartbeat_begin(beat);
			sonde_heartbeat_end(beat);
		}
	} else if (!strcmp(mode, "many")) {
		for (int i = 0; i < atoi(argv[2]); i++) {
			beat = sonde_heartbeat_by_id((uint32_t)i);
			sonde_heartbeat_begin(beat);
			sonde_heartbeat_end(beat);
		}
	} else if (!strcmp(mode, "every")) {
		sonde_heartbeat_every(beat, 10);
		pair_up(NULL);
		sonde_heartbeat_pulse(beat, 42);
	} else if (!strcmp(mode, "disable")) {
		sonde_heartbeat_begin(beat);
		sonde_heartbeat_enable(0);
		pair_up(NULL);
		sonde_heartbeat_begin(beat);
		sonde_heartbeat_enable(1);
		sonde_heartbeat_begin(beat);
		sonde_heartbeat_end(beat);
		sonde_heartbeat_end(beat);
		sonde_heartbeat_end(beat);
	} else if (!strcmp(mode, "forever")) {
		for (;;) {
			pair_up(NULL);
			nap(0.001);
		}
	} else if (!strcmp(mode, "exec")) { /* then the same process is another program */
		pair_up(NULL);
		sonde_heartbeat_flush();
		execl("/proc/self/exe", argv[0], "threads", "7", "3", (char *)NULL);
	} else if (!strcmp(mode, "pace")) { /* a beat takes so many microseconds, again and again */
		for (;;) {
			sonde_heartbeat_begin(beat);
			nap(atof(argv[2]) * 1e-6);
			sonde_heartbeat_end(beat);
		}
	} else if (!strcmp(mode, "rounds")) {
		for (int i = 0; i < atoi(argv[3]); i++) {
			threads(2);
			sonde_heartbeat_flush();
		}
	}
	puts("done");
	return 0;
}
