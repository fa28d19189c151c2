/* Two threads of an OpenMP team, or with -DRANKS two ranks, that meet at the end of a function: 10 and 2 units,
 * of which the function has 4 and 2. The second one waits actively within the function. By construction the
 * function, with all that it calls, gives 0.4 at most. */
#ifdef RANKS
#include <mpi.h>
#else
#include <omp.h>
#endif

#include "program.h"

PART(outside)
PART(inside)

static void wait_for_all(void)
{
#ifdef RANKS
	MPI_Barrier(MPI_COMM_WORLD);
#else
#pragma omp barrier
#endif
}

__attribute__((noinline, noclone)) static void exchange(int who)
{
	inside(who == 0 ? 4 : 2);
	wait_for_all();
	kept = kept + 1; /* no jump to the barrier: the function stays on the stack */
}

static void step(int who)
{
	if (who == 0)
		outside(6);
	rest();
	exchange(who);
	if (who == 0)
		step_is_done();
}

int main(int count, char **words)
{
	program_begins(count, words);
#ifdef RANKS
	int rank;

	MPI_Init(&count, &words);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < steps; i++)
		step(rank);
	MPI_Finalize();
	return rank == 0 ? program_ends() : 0;
#else
#pragma omp parallel num_threads(2)
	for (int i = 0; i < steps; i++)
		step(omp_get_thread_num());
	return program_ends();
#endif
}
