#include "hand.h"
#define N 768
/* Row i lies on rank i % ranks as its row i / ranks; the right-hand side is column N. */
static double (*A)[N], B[N], (*a)[N + 1], row[N + 1];

static void distribute(int rows, int is_out)
{
	double(*packed)[N + 1] = memory(sizeof(*packed) * rows);

	for (int r = 0; r < ranks; r++) {
		if (rank && rank != r)
			continue;
		if (is_out && !rank)
			for (int i = 0; i < rows; i++) {
				memcpy(r ? packed[i] : a[i], A[i * ranks + r], sizeof(*A));
				(r ? packed[i] : a[i])[N] = B[i * ranks + r];
			}
		if (r && is_out)
			rank ? MPI_Recv(a, rows * (N + 1), MPI_DOUBLE, 0, 0, MPI_COMM_WORLD,
					MPI_STATUS_IGNORE)
			     : MPI_Send(packed, rows * (N + 1), MPI_DOUBLE, r, 0, MPI_COMM_WORLD);
		if (r && !is_out)
			rank ? MPI_Send(a, rows * (N + 1), MPI_DOUBLE, 0, 0, MPI_COMM_WORLD)
			     : MPI_Recv(packed, rows * (N + 1), MPI_DOUBLE, r, 0, MPI_COMM_WORLD,
					MPI_STATUS_IGNORE);
		if (!is_out && !rank)
			for (int i = 0; i < rows; i++) {
				memcpy(A[i * ranks + r], r ? packed[i] : a[i], sizeof(*A));
				B[i * ranks + r] = (r ? packed[i] : a[i])[N];
			}
	}
	free(packed);
}
static void eliminate(double *restrict x, const double *restrict pivot, int k)
{
	double f = x[k] / pivot[k];

	for (int j = k + 1; j < N; j++)
		x[j] -= f * pivot[j];
	x[N] -= f * pivot[N];
}
int main(int argc, char **argv)
{
	double start;
	int rows;

	begin(&argc, &argv);
	rows = N / ranks;
	if (!rank) {
		A = memory(sizeof(*A) * N);
		for (int i = 0; i < N; i++) {
			B[i] = i;
			for (int j = 0; j < N; j++)
				A[i][j] = i == j ? N : 1.0 / (1 + (i * 3 + j * 5) % 17);
		}
	}
	a = memory(sizeof(*a) * rows);
	MPI_Barrier(MPI_COMM_WORLD);
	start = now();
	distribute(rows, 1);
	for (int k = 0; k < N - 1; k++) {
		double *pivot = k % ranks == rank ? a[k / ranks] : row;

		MPI_Bcast(pivot + k, N + 1 - k, MPI_DOUBLE, k % ranks, MPI_COMM_WORLD);
		for (int i = k / ranks + (rank <= k % ranks); i < rows; i++)
			eliminate(a[i], pivot, k);
	}
	distribute(rows, 0);
	start = now() - start;
	if (!rank)
		printf("%lx %.9f\n", sum_of(A, sizeof(*A) * N) ^ sum_of(B, sizeof(B)), start);
	MPI_Finalize();
	return 0;
}
