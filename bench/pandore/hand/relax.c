/* Jacobi's method to its end: one nest finds how much changed and copies the new values. */
#include <math.h>
#include "hand.h"
#define N 1024
#define T 100
static void border(double (*a)[N], int rows)
{
	int up = rank ? rank - 1 : MPI_PROC_NULL,
	    down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;

	MPI_Sendrecv(a[1], N, MPI_DOUBLE, up, 0, a[rows + 1], N, MPI_DOUBLE, down, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(a[rows], N, MPI_DOUBLE, down, 0, a[0], N, MPI_DOUBLE, up, 0, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}
static double step(double (*restrict a)[N], double (*restrict b)[N], int rows)
{
	int first = rank ? 1 : 2, last = rank < ranks - 1 ? rows : rows - 1;
	double change = 0;

	for (int i = first; i <= last; i++)
		for (int j = 1; j < N - 1; j++)
			b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
	for (int i = first; i <= last; i++)
		for (int j = 1; j < N - 1; j++) {
			double e = fabs(b[i][j] - a[i][j]);

			if (e > change)
				change = e;
			a[i][j] = b[i][j];
		}
	return change;
}
int main(int argc, char **argv)
{
	double(*A)[N] = NULL, (*a)[N], (*b)[N], start, change = 1, largest;
	int rows;

	begin(&argc, &argv);
	rows = N / ranks;
	if (!rank) {
		A = memory(sizeof(*A) * N);
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				A[i][j] = i == 0 ? 100.0 : j % 7;
	}
	a = memory(sizeof(*a) * (rows + 2));
	b = memory(sizeof(*b) * (rows + 2));
	MPI_Barrier(MPI_COMM_WORLD);
	start = now();
	MPI_Scatter(A, rows * N, MPI_DOUBLE, a[1], rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int t = 0; t < T && change > 1e-6; t++) {
		border(a, rows);
		largest = step(a, b, rows);
		MPI_Allreduce(&largest, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	}
	MPI_Gather(a[1], rows * N, MPI_DOUBLE, A, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	start = now() - start;
	if (!rank)
		printf("%lx %.9f\n", sum_of(A, sizeof(*A) * N), start);
	MPI_Finalize();
	return 0;
}
