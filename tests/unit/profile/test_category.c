#include "profile/category.h"

#include "harness/tap.h"

static enum sn_module_class class_of(const char *path, const char *name, bool is_main)
{
	struct sn_module module = {
		.path = path, .name = name, .kind = SN_MODULE_FILE, .is_main = is_main
	};

	return sn_module_class_of(&module);
}

TEST(modules_are_told_by_name_and_folder)
{
	CHECK_INT(class_of("/usr/bin/xz", "xz", true), SN_MODULE_CLASS_BINARY);
	CHECK_INT(class_of("/home/u/libmine.so", "libmine.so", false), SN_MODULE_CLASS_BINARY);
	CHECK_INT(class_of("/usr/lib/x86_64-linux-gnu/libz.so.1", "libz.so.1", false),
		  SN_MODULE_CLASS_LIBRARY);
	CHECK_INT(class_of("/usr/lib/libm.so.6", "libm.so.6", false), SN_MODULE_CLASS_MATHS);
	CHECK_INT(class_of("/home/u/lib/libopenblas.so.0", "libopenblas.so.0", false),
		  SN_MODULE_CLASS_MATHS);
	CHECK_INT(class_of("/usr/lib/libgomp.so.1", "libgomp.so.1", false), SN_MODULE_CLASS_OPENMP);
	CHECK_INT(class_of("/usr/lib/libmpi.so.40", "libmpi.so.40", false), SN_MODULE_CLASS_MPI);
	/* the program may be called like a library */
	CHECK_INT(class_of("/home/u/libmpi-test", "libmpi-test", true), SN_MODULE_CLASS_BINARY);
}

TEST(well_known_functions)
{
	CHECK_INT(sn_category_of_function("__memcpy_avx_unaligned_erms"), SN_CATEGORY_MEMORY);
	CHECK_INT(sn_category_of_function("_int_malloc"), SN_CATEGORY_MEMORY);
	CHECK_INT(sn_category_of_function("__libc_free"), SN_CATEGORY_MEMORY);
	CHECK_INT(sn_category_of_function("__strlen_avx2"), SN_CATEGORY_STRINGS);
	CHECK_INT(sn_category_of_function("____strtod_l_internal"), SN_CATEGORY_STRINGS);
	CHECK_INT(sn_category_of_function("_IO_new_file_xsputn"), SN_CATEGORY_IO);
	CHECK_INT(sn_category_of_function("__GI___libc_write"), SN_CATEGORY_IO);
	CHECK_INT(sn_category_of_function("read@plt"), SN_CATEGORY_IO);
	CHECK_INT(sn_category_of_function("PMPI_Waitall"), SN_CATEGORY_MPI);
	CHECK_INT(sn_category_of_function("__kmp_fork_barrier"), SN_CATEGORY_OPENMP);
	CHECK_INT(sn_category_of_function("pthread_mutex_lock"), SN_CATEGORY_OS);
	CHECK_INT(sn_category_of_function("qsort_r"), SN_CATEGORIES);
	CHECK_INT(sn_category_of_function(""), SN_CATEGORIES);
}

#define BINARY(name)                                                                               \
	{                                                                                          \
		SN_MODULE_CLASS_BINARY, name                                                       \
	}
#define LIBC(name)                                                                                 \
	{                                                                                          \
		SN_MODULE_CLASS_LIBC, name                                                         \
	}
#define GOMP(name)                                                                                 \
	{                                                                                          \
		SN_MODULE_CLASS_OPENMP, name                                                       \
	}
#define MPI(name)                                                                                  \
	{                                                                                          \
		SN_MODULE_CLASS_MPI, name                                                          \
	}

static struct sn_class class_stack(const struct sn_class_frame *frames, uint32_t count)
{
	return sn_class_of_stack(frames, count);
}
#define CLASS(...)                                                                                 \
	class_stack((const struct sn_class_frame[]){ __VA_ARGS__ },                                \
		    sizeof((const struct sn_class_frame[]){ __VA_ARGS__ }) /                       \
			    sizeof(struct sn_class_frame))

TEST(user_code_is_the_programs_whatever_it_is_called)
{
	CHECK_INT(CLASS(BINARY("stream_copy"), BINARY("main")).user, SN_CATEGORY_PROGRAM);
	CHECK_INT(CLASS(BINARY("stream_copy")).system, SN_CATEGORY_OS);
}

TEST(a_library_of_no_known_kind_is_the_programs)
{
	const struct sn_class_frame library = { SN_MODULE_CLASS_LIBRARY, "sqlite3VdbeExec" };
	const struct sn_class_frame nowhere = { SN_MODULE_CLASS_OTHER, "" };

	CHECK_INT(CLASS(library, BINARY("main")).user, SN_CATEGORY_PROGRAM);
	CHECK_INT(CLASS(LIBC("memcpy"), library).user, SN_CATEGORY_MEMORY);
	CHECK_INT(CLASS(nowhere, BINARY("main")).user, SN_CATEGORY_OTHER);
	CHECK_STRING(sn_category_name(SN_CATEGORY_PROGRAM), "program");
	CHECK_STRING(sn_category_name(SN_CATEGORY_OS), "os");
}

TEST(an_unnamed_part_of_libc_belongs_to_its_entry)
{
	CHECK_INT(CLASS(LIBC(""), LIBC(""), LIBC("malloc"), BINARY("f")).user, SN_CATEGORY_MEMORY);
	CHECK_INT(CLASS(LIBC(""), BINARY("malloc_all")).user, SN_CATEGORY_OTHER);
	CHECK_INT(CLASS(LIBC("write"), BINARY("f")).system, SN_CATEGORY_IO);
	CHECK_INT(CLASS(LIBC("getppid"), BINARY("f")).system, SN_CATEGORY_OS);
}

TEST(time_below_mpi_is_mpi_but_not_that_of_callbacks)
{
	CHECK_INT(CLASS(LIBC("__memcpy_avx"), MPI("opal_progress"), MPI("PMPI_Send"), BINARY("f"))
			  .user,
		  SN_CATEGORY_MPI);
	CHECK_INT(CLASS(LIBC("poll"), MPI("MPI_Recv"), BINARY("f")).system, SN_CATEGORY_MPI);
	CHECK(CLASS(MPI("MPI_Recv"), BINARY("f")).is_spin);
	CHECK(!CLASS(MPI("opal_init"), MPI("PMPI_Init"), BINARY("f")).is_spin);
	CHECK(!CLASS(MPI("progress"), LIBC("start_thread")).is_spin);
	CHECK_INT(CLASS(BINARY("reduce"), MPI("MPI_Reduce"), BINARY("f")).user,
		  SN_CATEGORY_PROGRAM);
}

TEST(openmp_waiting_is_told_from_openmp_work)
{
	CHECK(CLASS(GOMP(""), GOMP("GOMP_barrier"), BINARY("f._omp_fn.0")).is_spin);
	CHECK(CLASS(GOMP(""), GOMP(""), LIBC("start_thread")).is_spin);
	CHECK(!CLASS(GOMP(""), GOMP("GOMP_loop_dynamic_next"), BINARY("f._omp_fn.0")).is_spin);
	CHECK_INT(CLASS(LIBC("syscall"), GOMP("GOMP_barrier"), BINARY("f")).system,
		  SN_CATEGORY_OPENMP);
	CHECK_INT(CLASS(BINARY("f._omp_fn.0"), GOMP("GOMP_parallel")).user, SN_CATEGORY_PROGRAM);
}

TEST(no_frames_is_other)
{
	CHECK_INT(sn_class_of_stack(NULL, 0).user, SN_CATEGORY_OTHER);
}

TEST(static_runtimes_are_known_by_reserved_names)
{
	CHECK_INT(sn_class_of_static_function("gomp_team_barrier_wait_end"),
		  SN_MODULE_CLASS_OPENMP);
	CHECK_INT(sn_class_of_static_function("GOMP_barrier"), SN_MODULE_CLASS_OPENMP);
	CHECK_INT(sn_class_of_static_function("__kmp_hyper_barrier_release"),
		  SN_MODULE_CLASS_OPENMP);
	CHECK_INT(sn_class_of_static_function("_Z17__kmp_wait_templateI11kmp_flag_64ILb0ELb1EE"),
		  SN_MODULE_CLASS_OPENMP);
	CHECK_INT(sn_class_of_static_function("MPI_Barrier"), SN_MODULE_CLASS_MPI);
	CHECK_INT(sn_class_of_static_function("MPIDI_CH3I_Progress"), SN_MODULE_CLASS_MPI);
	CHECK_INT(sn_class_of_static_function("opal_progress"), SN_MODULE_CLASS_MPI);
	CHECK_INT(sn_class_of_static_function("main._omp_fn.0"), SN_MODULE_CLASS_BINARY);
	CHECK_INT(sn_class_of_static_function("MPI_exchange"), SN_MODULE_CLASS_BINARY);
	CHECK_INT(sn_class_of_static_function("mpi_exchange"), SN_MODULE_CLASS_BINARY);
	CHECK_INT(sn_class_of_static_function("do_spin"), SN_MODULE_CLASS_BINARY);
}
