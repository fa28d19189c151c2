/* Regions by what is called. Whole programs are read by tests/end/sir.py. */
#include "search/sir/contents.h"

#include <string.h>

#include "harness/tap.h"

static void check(const char *name, const char *type)
{
	CHECK_STRING(sn_sir_type_of_call(name, strlen(name)), type);
}

TEST(calls_of_runtimes_are_constructs)
{
	check("GOMP_parallel", "parallelRegion");
	check("GOMP_parallel_loop_dynamic", "parallelRegion");
	check("__kmpc_fork_call", "parallelRegion");
	check("GOMP_barrier", "parallelBarrier");
	check("GOMP_critical_start", "parallelCriticalSection");
	check("GOMP_loop_dynamic_start", "workshareLoop");
	check("__kmpc_for_static_init_4", "workshareLoop");
	check("GOMP_single_start", "parallelSingle");
	check("GOMP_taskwait", "taskWait");
	check("GOMP_task", "parallelTask");
	check("_gfortran_st_write", "io");
	check("fopen64", "io");
	check("MPI_File_write", "io");
}

TEST(all_others_are_calls)
{
	check("MPI_Send", "call");
	check("GOMP_loop_end", "call");
	check("GOMP_barrier_cancel", "call");
	check("open_door", "call");
	check("", "call");
}
