/* Two MPI ranks that meet at every step: 10 and 7 units. By construction the first gives 0.3 at most,
 * the second nothing. */
#include <mpi.h>

#include "program.h"

PART(heavy)
PART(light)

int main(int count, char **words)
{
	int rank;

	MPI_Init(&count, &words);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	program_begins(count, words);
	for (int i = 0; i < steps; i++) {
		if (rank == 0)
			heavy(10);
		else
			light(7);
		rest();
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0)
			step_is_done();
	}
	if (rank == 0)
		program_ends();
	MPI_Finalize();
	return 0;
}
