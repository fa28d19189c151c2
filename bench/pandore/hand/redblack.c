#include "hand.h"
#define N      1024
#define SWEEPS 50
static void border(double (*u)[N], int rows)
{
	int up = rank ? rank - 1 : MPI_PROC_NULL,
	    down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;

	MPI_Sendrecv(u[1], N, MPI_DOUBLE, up, 0, u[rows + 1], N, MPI_DOUBLE, down, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(u[rows], N, MPI_DOUBLE, down, 0, u[0], N, MPI_DOUBLE, up, 0, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}
static void colour(double (*u)[N], int rows, int odd)
{
	int first = rank ? 1 : 2, last = rank < ranks - 1 ? rows : rows - 1;

	for (int i = first; i <= last; i++) {
		int row = rank * rows + i - 1;

		for (int j = 1 + (row + 1 + odd) % 2; j < N - 1; j += 2)
			u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
	}
}
int main(int argc, char **argv)
{
	double(*U)[N] = NULL, (*u)[N], start;
	int rows;

	begin(&argc, &argv);
	rows = N / ranks;
	if (!rank) {
		U = memory(sizeof(*U) * N);
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				U[i][j] = i == 0 ? 100.0 : j % 7;
	}
	u = memory(sizeof(*u) * (rows + 2));
	MPI_Barrier(MPI_COMM_WORLD);
	start = now();
	MPI_Scatter(U, rows * N, MPI_DOUBLE, u[1], rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int t = 0; t < SWEEPS; t++) {
		border(u, rows);
		colour(u, rows, 0);
		border(u, rows);
		colour(u, rows, 1);
	}
	MPI_Gather(u[1], rows * N, MPI_DOUBLE, U, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	start = now() - start;
	if (!rank)
		printf("%lx %.9f\n", sum_of(U, sizeof(*U) * N), start);
	MPI_Finalize();
	return 0;
}
