#include "hand.h"
#define N 2048
#define T 10
int main(int argc, char **argv)
{
	double(*A)[N] = NULL, (*part)[N], start = 0;
	int rows;

	begin(&argc, &argv);
	rows = N / ranks;
	if (!rank) {
		A = memory(sizeof(*A) * N);
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				A[i][j] = i + j;
	}
	part = memory(sizeof(*part) * rows);
	MPI_Barrier(MPI_COMM_WORLD);
	start = now();
	for (int t = 0; t < T; t++) {
		MPI_Scatter(A, rows * N, MPI_DOUBLE, part, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		for (int i = 0; i < rows; i++)
			part[i][0] += 1.0;
		MPI_Gather(part, rows * N, MPI_DOUBLE, A, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		if (!rank)
			A[0][1] += 1.0;
	}
	start = now() - start;
	if (!rank)
		printf("%lx %.9f\n", sum_of(A, sizeof(*A) * N), start);
	MPI_Finalize();
	return 0;
}
