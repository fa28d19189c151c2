/**
 * What kind of work a sample is: the categories of the summary, and spin-waiting.
 *
 * The rules, in order, are in docs/method/categories.md. A category belongs to a whole stack, not
 * to a function: memcpy called by MPI_Send is MPI time.
 */
#ifndef SN_PROFILE_CATEGORY_H
#define SN_PROFILE_CATEGORY_H

#include <stdbool.h>
#include <stdint.h>

#include "experiment/experiment.h"

/** The categories, in the order in which they are printed. docs/method/categories.md says what each
 * holds. */
enum sn_category {
	SN_CATEGORY_PROGRAM,
	SN_CATEGORY_MPI,
	SN_CATEGORY_OPENMP,
	SN_CATEGORY_MEMORY,
	SN_CATEGORY_IO,
	SN_CATEGORY_MATHS,
	SN_CATEGORY_STRINGS,
	SN_CATEGORY_OS,
	SN_CATEGORY_OTHER,
	SN_CATEGORIES,
};

/** "program", "mpi", ... "other": the one word for it in terminal, page, CSV and JSON. */
const char *sn_category_name(enum sn_category category);

/** The class of a module by its name and place. */
enum sn_module_class {
	SN_MODULE_CLASS_BINARY,	 /* the program and libraries of its own */
	SN_MODULE_CLASS_LIBRARY, /* of the system, and of no kind below: the program's, too */
	SN_MODULE_CLASS_LIBC,	 /* libc, libm's neighbours: judged function by function */
	SN_MODULE_CLASS_LOADER,
	SN_MODULE_CLASS_MATHS,
	SN_MODULE_CLASS_OPENMP,
	SN_MODULE_CLASS_MPI,
	SN_MODULE_CLASS_ALLOCATOR,
	SN_MODULE_CLASS_IO,	/* hdf5, netcdf, adios */
	SN_MODULE_CLASS_KERNEL, /* vdso too */
	SN_MODULE_CLASS_SONDE,	/* what measured */
	SN_MODULE_CLASS_OTHER,	/* no file that we know: addresses that no module has */
};
/** "program", "library", "libc" ...: what `show modules` calls it. */
const char *sn_module_class_name(enum sn_module_class class);
enum sn_module_class sn_module_class_of(const struct sn_module *module);
/** Whether the modules of a class are code of the program and the libraries that it chose, and not what
 *  languages, runtimes and the system bring along. */
static inline bool sn_module_class_is_chosen(enum sn_module_class class)
{
	return class == SN_MODULE_CLASS_BINARY || class == SN_MODULE_CLASS_LIBRARY;
}

/** The category of a well-known function by its linkage name; SN_CATEGORIES if it is none.
 *  `__memcpy_avx_unaligned_erms`, `_int_malloc`, `PMPI_Send` and the like are known. */
enum sn_category sn_category_of_function(const char *linkage_name);

/** The class of a function of the program's own module, which may belong to an OpenMP or MPI
 * runtime that was linked in statically. It is known by the prefixes that these runtimes keep for
 * themselves: SN_MODULE_CLASS_OPENMP, _MPI, else SN_MODULE_CLASS_BINARY. */
enum sn_module_class sn_class_of_static_function(const char *linkage_name);

/** The category of a stack, for time in user code and for time in the kernel. */
struct sn_class {
	uint8_t user, system; /* enum sn_category */
	bool is_spin;	      /* waiting actively in an OpenMP or MPI runtime */
};

/** One frame as the rules see it. */
struct sn_class_frame {
	enum sn_module_class module_class;
	const char *linkage_name; /* of the concrete function; "" if nothing names it */
};
/** Frames leaf first. `count` 0 gives other. */
struct sn_class sn_class_of_stack(const struct sn_class_frame *frames, uint32_t count);

#endif
