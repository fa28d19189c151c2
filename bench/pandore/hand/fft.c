#include <math.h>
#include "hand.h"
#define N   512
#define LOG 9
static double C[N], D[N];
static int H[LOG];
static void rows_of(double (*restrict R)[N], double (*restrict I)[N], int rows)
{
	for (int r = 0; r < rows; r++)
		for (int s = 0; s < LOG; s++)
			for (int g = 0; g < N / 2; g++) {
				int a = g / H[s] * 2 * H[s] + g % H[s], b = a + H[s],
				    w = g % H[s] * (N / 2 / H[s]);
				double x = R[r][a] - R[r][b], y = I[r][a] - I[r][b];

				R[r][a] += R[r][b];
				I[r][a] += I[r][b];
				R[r][b] = x * C[w] - y * D[w];
				I[r][b] = x * D[w] + y * C[w];
			}
}
static void transpose(double (*from)[N], double (*to)[N], double *out, double *in, int rows)
{
	for (int p = 0; p < ranks; p++)
		for (int c = 0; c < rows; c++)
			for (int r = 0; r < rows; r++)
				out[(p * rows + c) * rows + r] = from[r][p * rows + c];
	MPI_Alltoall(out, rows * rows, MPI_DOUBLE, in, rows * rows, MPI_DOUBLE, MPI_COMM_WORLD);
	for (int p = 0; p < ranks; p++)
		for (int c = 0; c < rows; c++)
			memcpy(&to[c][p * rows], &in[(p * rows + c) * rows], sizeof(double) * rows);
}
int main(int argc, char **argv)
{
	double(*R)[N] = NULL, (*I)[N] = NULL, (*r)[N], (*i)[N], (*s)[N], (*t)[N], *out, *in, start;
	int rows;

	begin(&argc, &argv);
	rows = N / ranks;
	if (!rank) {
		R = memory(sizeof(*R) * N);
		I = memory(sizeof(*I) * N);
		for (int k = 0; k < LOG; k++)
			H[k] = N >> (k + 1);
		for (int k = 0; k < N; k++) {
			C[k] = cos(6.283185307179586 * k / N);
			D[k] = -sin(6.283185307179586 * k / N);
			for (int j = 0; j < N; j++)
				R[k][j] = (k * 3 + j) % 17;
		}
	}
	r = memory(sizeof(*r) * rows);
	i = memory(sizeof(*i) * rows);
	s = memory(sizeof(*s) * rows);
	t = memory(sizeof(*t) * rows);
	out = memory(sizeof(*r) * rows);
	in = memory(sizeof(*r) * rows);
	MPI_Barrier(MPI_COMM_WORLD);
	start = now();
	MPI_Scatter(R, rows * N, MPI_DOUBLE, r, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Scatter(I, rows * N, MPI_DOUBLE, i, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Bcast(C, N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Bcast(D, N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Bcast(H, LOG, MPI_INT, 0, MPI_COMM_WORLD);
	rows_of(r, i, rows);
	transpose(r, s, out, in, rows);
	transpose(i, t, out, in, rows);
	rows_of(s, t, rows);
	MPI_Gather(s, rows * N, MPI_DOUBLE, R, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Gather(t, rows * N, MPI_DOUBLE, I, rows * N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	start = now() - start;
	if (!rank)
		printf("%lx %.9f\n", sum_of(R, sizeof(*R) * N) ^ sum_of(I, sizeof(*I) * N), start);
	MPI_Finalize();
	return 0;
}
