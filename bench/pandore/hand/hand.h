/* The frame of the programs by hand: ranks, and rows in blocks. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "common.h"

static int rank, ranks;

static void begin(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static void *memory(size_t bytes)
{
	void *m = malloc(bytes);

	if (!m)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return memset(m, 0, bytes);
}
