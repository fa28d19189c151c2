#include "hand.h"
#define N 512
static void relax(double *restrict x, const double *restrict pivot, int k)
{
	for (int j = 0; j < N; j++)
		if (x[k] + pivot[j] < x[j])
			x[j] = x[k] + pivot[j];
}
int main(int argc, char **argv)
{
	double(*D)[N] = NULL, (*d)[N], row[N], start;
	int rows;

	begin(&argc, &argv);
	rows = N / ranks;
	if (!rank) {
		D = memory(sizeof(*D) * N);
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				D[i][j] = i == j ? 0 : 1 + (i * 7919 + j * 104729) % 1009;
	}
	d = memory(sizeof(*d) * rows);
	MPI_Barrier(MPI_COMM_WORLD);
	start = now();
	MPI_Scatter(D, rows * N, MPI_DOUBLE, d, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int k = 0; k < N; k++) {
		if (k / rows == rank)
			memcpy(row, d[k % rows], sizeof(row));
		MPI_Bcast(row, N, MPI_DOUBLE, k / rows, MPI_COMM_WORLD);
		for (int i = 0; i < rows; i++)
			relax(d[i], row, k);
	}
	MPI_Gather(d, rows * N, MPI_DOUBLE, D, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	start = now() - start;
	if (!rank)
		printf("%lx %.9f\n", sum_of(D, sizeof(*D) * N), start);
	MPI_Finalize();
	return 0;
}
