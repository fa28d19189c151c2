#include "hand.h"
#define N 512
static void product(double (*restrict a)[N], double (*restrict B)[N], double (*restrict c)[N],
		    int rows)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < N; j++)
			c[i][j] = 0;
	for (int i = 0; i < rows; i++)
		for (int k = 0; k < N; k++)
			for (int j = 0; j < N; j++)
				c[i][j] += a[i][k] * B[k][j];
}
int main(int argc, char **argv)
{
	double(*A)[N] = NULL, (*C)[N] = NULL, (*B)[N], (*a)[N], (*c)[N], start;
	int rows;

	begin(&argc, &argv);
	rows = N / ranks;
	B = memory(sizeof(*B) * N);
	if (!rank) {
		A = memory(sizeof(*A) * N);
		C = memory(sizeof(*C) * N);
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++) {
				A[i][j] = (i * 7 + j) % 13;
				B[i][j] = (i + j * 5) % 11;
			}
	}
	a = memory(sizeof(*a) * rows);
	c = memory(sizeof(*c) * rows);
	MPI_Barrier(MPI_COMM_WORLD);
	start = now();
	MPI_Scatter(A, rows * N, MPI_DOUBLE, a, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Bcast(B, N * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	product(a, B, c, rows);
	MPI_Gather(c, rows * N, MPI_DOUBLE, C, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	start = now() - start;
	if (!rank)
		printf("%lx %.9f\n", sum_of(C, sizeof(*C) * N), start);
	MPI_Finalize();
	return 0;
}
