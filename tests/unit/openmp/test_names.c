#include "openmp/openmp.h"

#include "harness/tap.h"

TEST(bodies_have_the_name_of_their_function)
{
	struct sn_arena arena = { 0 };

	CHECK_STRING(sn_openmp_function_name(&arena, "solve", NULL), "solve");
	CHECK_STRING(sn_openmp_function_name(&arena, "solve._omp_fn.0", "main"), "solve");
	CHECK_STRING(sn_openmp_function_name(&arena, "ns::solve(int) [clone ._omp_fn.1]", NULL),
		     "ns::solve(int)");
	CHECK_STRING(sn_openmp_function_name(&arena, "solve.omp_outlined", "main"), "solve");
	CHECK_STRING(sn_openmp_function_name(&arena, ".omp_outlined._debug__.3", "main"), "main");
	CHECK_STRING(sn_openmp_function_name(&arena, ".omp_outlined.", NULL), ".omp_outlined.");
	CHECK_STRING(sn_openmp_function_name(&arena, ".omp_task_entry.", "main"), "main");
	sn_arena_free(&arena);
}

TEST(constructs_have_names_and_kinds_of_waiting)
{
	CHECK_STRING(sn_openmp_construct_name(SN_OPENMP_CRITICAL), "critical");
	CHECK_STRING(sn_openmp_construct_name(255), "unknown");
	CHECK_INT(sn_openmp_construct_class(SN_OPENMP_LOOP_END), SN_OPENMP_AT_BARRIER);
	CHECK_INT(sn_openmp_construct_class(SN_OPENMP_LOCK), SN_OPENMP_FOR_OTHERS);
	CHECK_INT(sn_openmp_construct_class(SN_OPENMP_TASKWAIT), SN_OPENMP_FOR_TASKS);
	CHECK_INT(sn_openmp_construct_class(200), SN_OPENMP_FOR_NOTHING);
}
