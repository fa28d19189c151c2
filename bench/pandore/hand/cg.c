#include "hand.h"
#define N 65536
#define Z 7
#define T 20
/* The sum of all ranks' parts, in the order of the ranks. */
static double sum_all(double part)
{
	double parts[64], sum = 0;

	MPI_Allgather(&part, 1, MPI_DOUBLE, parts, 1, MPI_DOUBLE, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++)
		sum += parts[r];
	return sum;
}
static double dot(const double *a, const double *b, int rows)
{
	double sum = 0;

	for (int i = 0; i < rows; i++)
		sum += a[i] * b[i];
	return sum_all(sum);
}
int main(int argc, char **argv)
{
	static const int away[Z] = { 0, 1, -1, 64, -64, 4096, -4096 };
	double(*A)[Z] = NULL, (*a)[Z], *X = NULL, *R = NULL, *x, *r, *d, *q, *all, rho, start;
	int(*K)[Z] = NULL, (*k)[Z], rows;

	begin(&argc, &argv);
	rows = N / ranks;
	if (!rank) {
		A = memory(sizeof(*A) * N);
		K = memory(sizeof(*K) * N);
		X = memory(sizeof(*X) * N);
		R = memory(sizeof(*R) * N);
		for (int i = 0; i < N; i++) {
			R[i] = 1 + i % 13;
			for (int z = 0; z < Z; z++) {
				K[i][z] = (i + away[z] + N) % N;
				A[i][z] = z ? -1 : 7;
			}
		}
	}
	a = memory(sizeof(*a) * rows);
	k = memory(sizeof(*k) * rows);
	x = memory(sizeof(*x) * rows);
	r = memory(sizeof(*r) * rows);
	d = memory(sizeof(*d) * rows);
	q = memory(sizeof(*q) * rows);
	all = memory(sizeof(*all) * N);
	MPI_Barrier(MPI_COMM_WORLD);
	start = now();
	MPI_Scatter(A, rows * Z, MPI_DOUBLE, a, rows * Z, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Scatter(K, rows * Z, MPI_INT, k, rows * Z, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Scatter(X, rows, MPI_DOUBLE, x, rows, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Scatter(R, rows, MPI_DOUBLE, r, rows, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	memcpy(d, r, sizeof(*d) * rows);
	rho = dot(r, r, rows);
	for (int t = 0; t < T; t++) {
		double alpha, before = rho, beta;

		MPI_Allgather(d, rows, MPI_DOUBLE, all, rows, MPI_DOUBLE, MPI_COMM_WORLD);
		for (int i = 0; i < rows; i++) {
			double sum = 0;

			for (int z = 0; z < Z; z++)
				sum += a[i][z] * all[k[i][z]];
			q[i] = sum;
		}
		alpha = rho / dot(d, q, rows);
		for (int i = 0; i < rows; i++) {
			x[i] += alpha * d[i];
			r[i] -= alpha * q[i];
		}
		rho = dot(r, r, rows);
		beta = rho / before;
		for (int i = 0; i < rows; i++)
			d[i] = r[i] + beta * d[i];
	}
	MPI_Gather(x, rows, MPI_DOUBLE, X, rows, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	start = now() - start;
	if (!rank) {
		double sum = 0;

		for (int i = 0; i < N; i++)
			sum += X[i];
		printf("%.8g %.9f\n", sum, start);
	}
	MPI_Finalize();
	return 0;
}
