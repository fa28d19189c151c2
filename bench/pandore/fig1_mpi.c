/*
 * Figure 1 written by hand for MPI, rows or columns: what the optimised scheme is compared with.
 * fig1_mpi rows|columns; prints microseconds of one repetition, the best of twelve calls.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { N = 128, REPEATS = 50, CALLS = 12, STRIP = 32 };

static float A[N][N], V[N], buffer[N * N];

static float f(float v, float a)
{
	return v * 0.75f + a;
}

static float g(float down, float up)
{
	return (down + up) * 0.5f;
}

/* Each rank owns rows low..high - 1. The row below is needed as it was, the row above as it
 * becomes. */
static void rows(int rank, int size)
{
	int low = rank * N / size, high = (rank + 1) * N / size;
	int first = low > 1 ? low : 1, last = high < N - 1 ? high : N - 1;
	MPI_Request request[1 + N / STRIP];
	int requests = 0;

	for (int i = low; i < high; i++)
		for (int j = 0; j < N; j++)
			V[i] = f(V[i], A[i][j]);
	if (rank > 0) {
		memcpy(buffer, A[low], sizeof(A[low]));
		MPI_Isend(buffer, N, MPI_FLOAT, rank - 1, 0, MPI_COMM_WORLD, &request[requests++]);
	}
	if (rank + 1 < size)
		MPI_Recv(A[high], N, MPI_FLOAT, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int s = 0; s < N; s += STRIP) {
		if (rank > 0)
			MPI_Recv(&A[low - 1][s], STRIP, MPI_FLOAT, rank - 1, 1, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		for (int i = first; i < last; i++)
			for (int j = s; j < s + STRIP; j++)
				A[i][j] = g(A[i + 1][j], A[i - 1][j]);
		if (rank + 1 < size)
			MPI_Isend(&A[high - 1][s], STRIP, MPI_FLOAT, rank + 1, 1, MPI_COMM_WORLD,
				  &request[requests++]);
	}
	MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
}

/* Each rank owns columns of A and a block of V: everybody sends everybody what its V needs. */
static void columns(int rank, int size)
{
	int width = N / size, low = rank * width, high = low + width, requests = 0;
	MPI_Request request[64];

	for (int to = 0; to < size; to++) {
		float *out = buffer + to * width * width;

		for (int i = 0; i < width && to != rank; i++)
			memcpy(out + i * width, &A[to * width + i][low],
			       sizeof(float) * (size_t)width);
		if (to != rank)
			MPI_Isend(out, width * width, MPI_FLOAT, to, 2, MPI_COMM_WORLD,
				  &request[requests++]);
	}
	for (int from = 0; from < size; from++) {
		static float in[N * N];

		if (from == rank)
			continue;
		MPI_Recv(in, width * width, MPI_FLOAT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < width; i++)
			memcpy(&A[low + i][from * width], in + i * width,
			       sizeof(float) * (size_t)width);
	}
	for (int i = low; i < high; i++)
		for (int j = 0; j < N; j++)
			V[i] = f(V[i], A[i][j]);
	for (int i = 1; i < N - 1; i++)
		for (int j = low; j < high; j++)
			A[i][j] = g(A[i + 1][j], A[i - 1][j]);
	MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	double best = 1e9;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < N * N; i++)
		A[i / N][i % N] = (float)(i % 17);
	for (int call = 0; call < CALLS; call++) {
		double start;

		MPI_Barrier(MPI_COMM_WORLD);
		start = MPI_Wtime();
		for (int r = 0; r < REPEATS; r++) {
			if (argc > 1 && !strcmp(argv[1], "columns"))
				columns(rank, size);
			else
				rows(rank, size);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		if ((MPI_Wtime() - start) * 1e6 / REPEATS < best)
			best = (MPI_Wtime() - start) * 1e6 / REPEATS;
	}
	if (rank == 0)
		printf("%.2f\n", best);
	MPI_Finalize();
	return 0;
}
