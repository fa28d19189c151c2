/*
 * What one MPI call costs the program: the least of many short stretches of its own CPU time. One rank is enough.
 *
 *     mpi KIND       prints ns per call
 *
 * rank      MPI_Comm_rank
 * probe     MPI_Iprobe, which finds nothing
 * self      a message of 8 bytes to itself: MPI_Isend, MPI_Recv and MPI_Wait, so three calls
 * reduce    MPI_Allreduce of one number over the one rank
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STRETCHES = 400, EVENTS = 200 };

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void ask_rank(void)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

static void probe(void)
{
	int flag;

	MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void send_self(void)
{
	double out = 1, in;
	MPI_Request request;

	MPI_Isend(&out, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, &request);
	MPI_Recv(&in, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void reduce(void)
{
	double in = 1, out;

	MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int count, char **words)
{
	const struct {
		const char *name;
		void (*event)(void);
		int calls;
	} kinds[] = { { "rank", ask_rank, 1 },
		      { "probe", probe, 1 },
		      { "self", send_self, 3 },
		      { "reduce", reduce, 1 } };
	int status = 2;

	MPI_Init(&count, &words);
	for (size_t k = 0; count > 1 && k < sizeof(kinds) / sizeof(*kinds); k++) {
		double best = 1e18;

		if (strcmp(words[1], kinds[k].name) != 0)
			continue;
		for (int s = 0; s < STRETCHES; s++) {
			double begin = now_ns();

			for (int i = 0; i < EVENTS; i++)
				kinds[k].event();
			double ns = (now_ns() - begin) / EVENTS / kinds[k].calls;
			best = ns < best ? ns : best;
		}
		printf("%.1f\n", best);
		status = 0;
	}
	MPI_Finalize();
	return status;
}
