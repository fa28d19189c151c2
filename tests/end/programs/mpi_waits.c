/*
 * Planted waiting, one kind after the other, each by a sleep of one rank: mpi_waits MILLISECONDS PREFIX, on 3 ranks. Rank R
 * writes to PREFIX.R when it came to each: name, nanoseconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rank;
static long late_ns;
static const char *names[16];
static long times_ns[16];
static int count;
static double big[1 << 18], other[1 << 18];

static __attribute__((noinline)) void work_longer(void)
{
	nanosleep(&(struct timespec){ late_ns / 1000000000, late_ns % 1000000000 }, NULL);
}

/* Just before the call that waits, or is waited for. */
static void come(const char *name)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	names[count] = name;
	times_ns[count++] = now.tv_sec * 1000000000 + now.tv_nsec;
}

static void meet(void)
{
	for (int i = 0; i < 3; i++)
		MPI_Barrier(MPI_COMM_WORLD);
}

static __attribute__((noinline)) void late_sender(void)
{
	if (rank == 0) {
		work_longer();
		come(__func__);
		MPI_Send(big, 10, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
	} else if (rank == 1) {
		come(__func__);
		MPI_Recv(big, 10, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static __attribute__((noinline)) void late_sender_of_request(void)
{
	MPI_Request request;

	if (rank == 0) {
		work_longer();
		come(__func__);
		MPI_Send(big, 10, MPI_DOUBLE, 2, 2, MPI_COMM_WORLD);
	} else if (rank == 2) {
		MPI_Irecv(big, 10, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
		come(__func__);
		MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
	}
}

static __attribute__((noinline)) void late_receiver(void)
{
	if (rank == 0) {
		come(__func__);
		MPI_Ssend(big, 1 << 18, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
	} else if (rank == 1) {
		work_longer();
		come(__func__);
		MPI_Recv(other, 1 << 18, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static __attribute__((noinline)) void wrong_order(void)
{
	if (rank == 0) {
		work_longer();
		come(__func__);
		MPI_Send(big, 1, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);
	} else if (rank == 2) {
		come(__func__);
		MPI_Send(big, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
	} else {
		come(__func__);
		MPI_Recv(big, 1, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(big, 1, MPI_DOUBLE, 2, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static __attribute__((noinline)) void late_sender_of_probe(void)
{
	MPI_Status status;

	if (rank == 0) {
		work_longer();
		come(__func__);
		MPI_Send(big, 10, MPI_DOUBLE, 1, 6, MPI_COMM_WORLD);
	} else if (rank == 1) {
		come(__func__);
		MPI_Probe(0, 6, MPI_COMM_WORLD, &status);
		MPI_Recv(big, 10, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* Of few bytes: nobody waits to send. */
static __attribute__((noinline)) void late_sender_of_exchange(void)
{
	if (rank == 2)
		return;
	if (rank == 0)
		work_longer();
	come(__func__);
	MPI_Sendrecv(big, 5, MPI_DOUBLE, 1 - rank, 7, other, 5, MPI_DOUBLE, 1 - rank, 7,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static __attribute__((noinline)) void wait_at_finalize(void)
{
	if (rank == 2)
		work_longer();
	come(__func__);
	MPI_Finalize();
}

static __attribute__((noinline)) void wait_at_barrier(void)
{
	if (rank == 1)
		work_longer();
	come(__func__);
	MPI_Barrier(MPI_COMM_WORLD);
}

static __attribute__((noinline)) void wait_at_nxn(void)
{
	if (rank == 2)
		work_longer();
	come(__func__);
	MPI_Allreduce(big, other, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static __attribute__((noinline)) void early_reduce(void)
{
	if (rank != 0)
		work_longer();
	come(__func__);
	MPI_Reduce(big, other, 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static __attribute__((noinline)) void late_broadcast(void)
{
	if (rank == 2)
		work_longer();
	come(__func__);
	MPI_Bcast(big, 4, MPI_DOUBLE, 2, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	static void (*const kinds[])(void) = { late_sender,	     late_sender_of_request,
					       late_receiver,	     wrong_order,
					       wait_at_barrier,	     wait_at_nxn,
					       early_reduce,	     late_broadcast,
					       late_sender_of_probe, late_sender_of_exchange };

	char path[256];
	FILE *out;

	if (argc < 3)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	late_ns = atol(argv[1]) * 1000000;
	for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++) {
		meet();
		kinds[i]();
	}
	meet();
	wait_at_finalize();
	snprintf(path, sizeof path, "%s.%d", argv[2], rank);
	out = fopen(path, "w");
	for (int i = 0; i < count; i++)
		fprintf(out, "%s %ld\n", names[i], times_ns[i]);
	fclose(out);
	return 0;
}
