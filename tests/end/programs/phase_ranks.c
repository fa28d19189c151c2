/* Each execution of step() ends with a barrier that one of two ranks comes late to, the other one each time, as it sleeps before.
 * It grows from the first execution to the last. Rank 0 prints for each rank and execution its begin, when it came to the
 * barrier, and its end (ns of CLOCK_MONOTONIC), once all are over. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone, noipa))

struct execution {
	long long begin_ns, came_ns, end_ns;
};
static volatile unsigned sink;
static int rank;
static struct execution now;

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

KEPT static void work(void)
{
	unsigned x = sink;

	for (int i = 0; i < 3000000; i++)
		x = x * 1664525u + 1013904223u;
	sink = x;
}

KEPT void step(int i, int rounds)
{
	work();
	if (rank == i % 2)
		usleep((unsigned)(3000 + 9000L * i / rounds));
	now.came_ns = now_ns();
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100, ranks;
	struct execution *every, *all = calloc((size_t)rounds, sizeof(*all));

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < rounds; i++) {
		now.begin_ns = now_ns();
		step(i, rounds);
		now.end_ns = now_ns();
		all[i] = now;
	}
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	every = calloc((size_t)rounds * (size_t)ranks, sizeof(*every));
	MPI_Gather(all, 3 * rounds, MPI_LONG_LONG, every, 3 * rounds, MPI_LONG_LONG, 0,
		   MPI_COMM_WORLD);
	for (int i = 0; !rank && i < rounds * ranks; i++)
		printf("execution %d %d %lld %lld %lld\n", i / rounds, i % rounds,
		       every[i].begin_ns, every[i].came_ns, every[i].end_ns);
	MPI_Finalize();
	return 0;
}
