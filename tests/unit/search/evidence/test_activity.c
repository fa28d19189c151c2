/* Calls of the runtimes by their names. */
#include "search/evidence/activity.h"

#include "harness/tap.h"

TEST(calls_of_mpi)
{
	CHECK_INT(sn_activity_of_mpi("MPI_Barrier"), SN_ACTIVITY_MPI_BARRIER);
	CHECK_INT(sn_activity_of_mpi("PMPI_Allreduce"), SN_ACTIVITY_MPI_NXN);
	CHECK_INT(sn_activity_of_mpi("mpi_alltoallv_"), SN_ACTIVITY_MPI_NXN);
	CHECK_INT(sn_activity_of_mpi("MPI_Reduce_scatter_block"), SN_ACTIVITY_MPI_NXN);
	CHECK_INT(sn_activity_of_mpi("MPI_Reduce"), SN_ACTIVITY_MPI_REDUCE);
	CHECK_INT(sn_activity_of_mpi("MPI_Gatherv"), SN_ACTIVITY_MPI_REDUCE);
	CHECK_INT(sn_activity_of_mpi("MPI_Bcast"), SN_ACTIVITY_MPI_BROADCAST);
	CHECK_INT(sn_activity_of_mpi("MPI_Scatter"), SN_ACTIVITY_MPI_BROADCAST);
	CHECK_INT(sn_activity_of_mpi("MPI_Waitall"), SN_ACTIVITY_MPI_POINT);
	CHECK_INT(sn_activity_of_mpi("MPI_Sendrecv"), SN_ACTIVITY_MPI_POINT);
	CHECK_INT(sn_activity_of_mpi("MPI_Testall"), SN_ACTIVITY_MPI_POLL);
	CHECK_INT(sn_activity_of_mpi("MPI_Iprobe"), SN_ACTIVITY_MPI_POLL);
	CHECK_INT(sn_activity_of_mpi("MPI_Init"), SN_ACTIVITY_MPI_OTHER);
}

TEST(entry_points_of_openmp)
{
	CHECK_INT(sn_activity_of_openmp("GOMP_barrier@plt"), SN_ACTIVITY_OMP_BARRIER);
	CHECK_INT(sn_activity_of_openmp("__kmpc_barrier"), SN_ACTIVITY_OMP_BARRIER);
	CHECK_INT(sn_activity_of_openmp("GOMP_critical_start"), SN_ACTIVITY_OMP_CRITICAL);
	CHECK_INT(sn_activity_of_openmp("GOMP_ordered_start"), SN_ACTIVITY_OMP_ORDERED);
	CHECK_INT(sn_activity_of_openmp("omp_set_lock"), SN_ACTIVITY_OMP_LOCK);
	CHECK_INT(sn_activity_of_openmp("GOMP_taskwait"), SN_ACTIVITY_OMP_TASK);
	CHECK_INT(sn_activity_of_openmp("GOMP_parallel@plt"), SN_ACTIVITY_OMP_JOIN);
	CHECK_INT(sn_activity_of_openmp("GOMP_loop_end"), SN_ACTIVITY_OMP_JOIN);
	CHECK_INT(sn_activity_of_openmp("GOMP_loop_dynamic_next"), SN_ACTIVITY_OMP_OTHER);
}
