/* One cause of lost time in OpenMP, as its word says, which the program times itself: prints the thread-seconds lost, at least
 * and at most: threads that are let go late, for want of a CPU, wait longer than for what was planted.
 * Two threads; a number behind the word: so many rounds. Threads are late because they sleep, so that the loss is the same on a busy machine. */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 20, LATE_US = 20000 };
static volatile double sink;
static double lost_s, more_s, arrived[2], left[2];
static omp_lock_t lock;

static void add(double seconds)
{
#pragma omp atomic
	lost_s += seconds;
}

/* Some CPU time, so that a thread is at work. */
static void work(void)
{
	double sum = 0;

	for (int i = 1; i < 400000; i++)
		sum += 1.0 / i;
	sink = sum;
}

static void late(int is_late)
{
	work();
	if (is_late)
		usleep(LATE_US);
}

/* What two threads that come at these times wait for each other. */
static void apart(const double *came)
{
	lost_s += came[0] > came[1] ? came[0] - came[1] : came[1] - came[0];
}

/* Another thread is late each time: in sum both do the same. */
static void imbalance(int round)
{
#pragma omp parallel num_threads(2)
	{
		late(omp_get_thread_num() == round % 2);
		arrived[omp_get_thread_num()] = omp_get_wtime();
	}
	apart(arrived);
}

static void barrier(int round)
{
#pragma omp parallel num_threads(2)
	{
		late(omp_get_thread_num() == round % 2);
		arrived[omp_get_thread_num()] = omp_get_wtime();
#pragma omp barrier
		add(omp_get_wtime() - arrived[omp_get_thread_num()]);
	}
}

static void loop(int round)
{
#pragma omp parallel num_threads(2)
	{
		arrived[omp_get_thread_num()] = omp_get_wtime();
#pragma omp for schedule(dynamic, 1)
		for (int i = 0; i < 8; i++) {
			late(i == 7);
			arrived[omp_get_thread_num()] = omp_get_wtime();
		}
		left[omp_get_thread_num()] = omp_get_wtime();
		add(left[omp_get_thread_num()] - arrived[omp_get_thread_num()]);
	}
	(void)round;
	apart(left);
}

static void sections(int round)
{
#pragma omp parallel num_threads(2)
	{
		arrived[omp_get_thread_num()] = omp_get_wtime();
#pragma omp sections
		{
#pragma omp section
			{
				late(1);
				arrived[omp_get_thread_num()] = omp_get_wtime();
			}
#pragma omp section
			{
				late(0);
				arrived[omp_get_thread_num()] = omp_get_wtime();
			}
		}
		left[omp_get_thread_num()] = omp_get_wtime();
#pragma omp atomic
		more_s += left[omp_get_thread_num()] - arrived[omp_get_thread_num()];
	}
	(void)round;
	apart(arrived);
	more_s -= arrived[0] > arrived[1] ? arrived[0] - arrived[1] : arrived[1] - arrived[0];
	more_s += left[0] > left[1] ? left[0] - left[1] : left[1] - left[0];
}

static void single(int round)
{
	double begin = 0, end = 0, last;

#pragma omp parallel num_threads(2)
	{
		work();
		arrived[omp_get_thread_num()] = omp_get_wtime();
#pragma omp single nowait
		{
			begin = omp_get_wtime();
			arrived[omp_get_thread_num()] = begin;
			late(1);
			end = omp_get_wtime();
		}
#pragma omp barrier
		work();
	}
	(void)round;
	last = arrived[0] > arrived[1] ? arrived[0] : arrived[1];
	lost_s += end > last ? end - last : 0;
	more_s += end - begin - (end > last ? end - last : 0);
}

/* Thread 1 wants what thread 0 has. */
static void contend(int with_lock)
{
	atomic_int is_in = 0;

#pragma omp parallel num_threads(2)
	{
		double begin;

		work();
		while (omp_get_thread_num() == 1 && !is_in)
			usleep(100);
		begin = omp_get_wtime();
		if (with_lock) {
			omp_set_lock(&lock);
			add(omp_get_wtime() - begin);
			is_in = 1;
			late(omp_get_thread_num() == 0);
			omp_unset_lock(&lock);
		} else {
#pragma omp critical
			{
				add(omp_get_wtime() - begin);
				is_in = 1;
				late(omp_get_thread_num() == 0);
			}
		}
		if (omp_get_thread_num() == 0)
			usleep(1000);
	}
}

static void critical(int round)
{
	(void)round;
	contend(0);
}

static void locks(int round)
{
	(void)round;
	contend(1);
}

static void ordered(int round)
{
#pragma omp parallel for ordered schedule(static, 1) num_threads(2)
	for (int i = 0; i < 2; i++) {
		double begin;

		work();
		begin = omp_get_wtime();
#pragma omp ordered
		{
			add(omp_get_wtime() - begin);
			late(i == 0);
		}
		if (i == 0)
			usleep(2000);
	}
	(void)round;
}

/* One task, for which its maker waits. */
static void tasks(int round)
{
	atomic_int taken = 0;

#pragma omp parallel num_threads(2)
	{
		work();
#pragma omp master
		{
			double begin;

#pragma omp task shared(taken)
			{
				taken = 1;
				late(1);
			}
			while (!taken)
				usleep(100);
			begin = omp_get_wtime();
#pragma omp taskwait
			add(omp_get_wtime() - begin);
			usleep(2000);
		}
	}
	(void)round;
}

/* Regions that do next to nothing. */
static void small(int round)
{
	double begin = omp_get_wtime();

	for (int i = 0; i < 2000; i++)
#pragma omp parallel num_threads(2)
		sink = i;
	lost_s += 2 * (omp_get_wtime() - begin);
	(void)round;
}

/* Nobody waits for anybody. */
static void calm(int round)
{
#pragma omp parallel num_threads(2)
	usleep(LATE_US);
	(void)round;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int round);
	} causes[] = { { "imbalance", imbalance }, { "barrier", barrier }, { "loop", loop },
		       { "sections", sections },   { "single", single },   { "critical", critical },
		       { "lock", locks },	   { "ordered", ordered }, { "tasks", tasks },
		       { "small", small },	   { "calm", calm } };
	const char *cause = argc > 1 ? argv[1] : "";
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;

	omp_init_lock(&lock);
	for (size_t c = 0; c < sizeof(causes) / sizeof(*causes); c++)
		for (int round = 0; !strcmp(causes[c].name, cause) && round < rounds; round++)
			causes[c].run(round);
	printf("%.6f %.6f\n", lost_s, lost_s + more_s);
	return 0;
}
