/*
 * Tables of names and rules that tell what a stack was doing: the program, MPI, OpenMP, memory,
 * I/O, mathematics, the system, or active waiting. docs/method/categories.md explains them.
 */
#include "profile/category.h"

#include <string.h>

#include "base/text.h"

static const char *const category_names[] = { "program", "mpi",	    "openmp", "memory", "io",
					      "maths",	 "strings", "os",     "other" };

const char *sn_category_name(enum sn_category category)
{
	return category < SN_CATEGORIES ? category_names[category] : "unknown";
}

/* ---- modules ---- */

const char *sn_module_class_name(enum sn_module_class class)
{
	static const char *const names[] = { "program", "library", "libc",  "loader",
					     "maths",	"openmp",  "mpi",   "allocator",
					     "io",	"kernel",  "sonde", "other" };

	return names[class];
}

static const struct {
	const char *prefix; /* of the base name */
	enum sn_module_class class;
} module_prefixes[] = {
	{ "libgomp", SN_MODULE_CLASS_OPENMP },
	{ "libomp.", SN_MODULE_CLASS_OPENMP },
	{ "libomp-", SN_MODULE_CLASS_OPENMP },
	{ "libomp5", SN_MODULE_CLASS_OPENMP },
	{ "libiomp", SN_MODULE_CLASS_OPENMP },
	{ "libmpi", SN_MODULE_CLASS_MPI },
	{ "libopen-pal", SN_MODULE_CLASS_MPI },
	{ "libopen-rte", SN_MODULE_CLASS_MPI },
	{ "libpmix", SN_MODULE_CLASS_MPI },
	{ "libprrte", SN_MODULE_CLASS_MPI },
	{ "libpmpi", SN_MODULE_CLASS_MPI },
	{ "libucp", SN_MODULE_CLASS_MPI },
	{ "libuct", SN_MODULE_CLASS_MPI },
	{ "libucs", SN_MODULE_CLASS_MPI },
	{ "libucm", SN_MODULE_CLASS_MPI },
	{ "libfabric", SN_MODULE_CLASS_MPI },
	{ "libpsm", SN_MODULE_CLASS_MPI },
	{ "libinfinipath", SN_MODULE_CLASS_MPI },
	{ "libibverbs", SN_MODULE_CLASS_MPI },
	{ "librdmacm", SN_MODULE_CLASS_MPI },
	{ "mca_", SN_MODULE_CLASS_MPI },
	{ "libmca_", SN_MODULE_CLASS_MPI },
	{ "libhwloc", SN_MODULE_CLASS_MPI },
	{ "libm.so", SN_MODULE_CLASS_MATHS },
	{ "libm-2", SN_MODULE_CLASS_MATHS },
	{ "libmvec", SN_MODULE_CLASS_MATHS },
	{ "libopenblas", SN_MODULE_CLASS_MATHS },
	{ "libblas", SN_MODULE_CLASS_MATHS },
	{ "libcblas", SN_MODULE_CLASS_MATHS },
	{ "libblis", SN_MODULE_CLASS_MATHS },
	{ "liblapack", SN_MODULE_CLASS_MATHS },
	{ "libatlas", SN_MODULE_CLASS_MATHS },
	{ "libf77blas", SN_MODULE_CLASS_MATHS },
	{ "libmkl", SN_MODULE_CLASS_MATHS },
	{ "libscalapack", SN_MODULE_CLASS_MATHS },
	{ "libfftw3", SN_MODULE_CLASS_MATHS },
	{ "libgsl", SN_MODULE_CLASS_MATHS },
	{ "libgmp", SN_MODULE_CLASS_MATHS },
	{ "libmpfr", SN_MODULE_CLASS_MATHS },
	{ "libmpc.", SN_MODULE_CLASS_MATHS },
	{ "libquadmath", SN_MODULE_CLASS_MATHS },
	{ "libsvml", SN_MODULE_CLASS_MATHS },
	{ "libimf", SN_MODULE_CLASS_MATHS },
	{ "libjemalloc", SN_MODULE_CLASS_ALLOCATOR },
	{ "libtcmalloc", SN_MODULE_CLASS_ALLOCATOR },
	{ "libmimalloc", SN_MODULE_CLASS_ALLOCATOR },
	{ "libtbbmalloc", SN_MODULE_CLASS_ALLOCATOR },
	{ "libhdf5", SN_MODULE_CLASS_IO },
	{ "libnetcdf", SN_MODULE_CLASS_IO },
	{ "libadios", SN_MODULE_CLASS_IO },
	{ "libevent", SN_MODULE_CLASS_IO },
	{ "liburing", SN_MODULE_CLASS_IO },
	{ "libaio", SN_MODULE_CLASS_IO },
	{ "libc.so", SN_MODULE_CLASS_LIBC },
	{ "libc-2", SN_MODULE_CLASS_LIBC },
	{ "libpthread", SN_MODULE_CLASS_LIBC },
	{ "librt.so", SN_MODULE_CLASS_LIBC },
	{ "librt-2", SN_MODULE_CLASS_LIBC },
	{ "libstdc++", SN_MODULE_CLASS_LIBC },
	{ "libc++", SN_MODULE_CLASS_LIBC },
	{ "libgcc_s", SN_MODULE_CLASS_LIBC },
	{ "libgfortran", SN_MODULE_CLASS_LIBC },
	{ "libdl.so", SN_MODULE_CLASS_LOADER },
	{ "libdl-2", SN_MODULE_CLASS_LOADER },
	{ "ld-linux", SN_MODULE_CLASS_LOADER },
	{ "ld-2", SN_MODULE_CLASS_LOADER },
	{ "ld.so", SN_MODULE_CLASS_LOADER },
	{ "ld-musl", SN_MODULE_CLASS_LIBC },
};

/* A library in these folders came with the system; elsewhere it was built with the program. Both
 * are the program's where they are of no known kind. */
static const char *const system_folders[] = { "/lib/", "/lib32/", "/lib64/", "/usr/",
					      "/opt/", "/nix/",	  "/snap/" };

enum sn_module_class sn_module_class_of(const struct sn_module *module)
{
	const char *name = module->name ? module->name : "";
	const char *path = module->path ? module->path : "";

	switch (module->kind) {
	case SN_MODULE_VDSO:
	case SN_MODULE_KERNEL:
		return SN_MODULE_CLASS_KERNEL;
	case SN_MODULE_SONDE:
		return SN_MODULE_CLASS_SONDE;
	case SN_MODULE_UNKNOWN:
		return SN_MODULE_CLASS_OTHER;
	case SN_MODULE_JIT:
		return SN_MODULE_CLASS_BINARY;
	case SN_MODULE_FILE:
		break;
	}
	if (module->is_main)
		return SN_MODULE_CLASS_BINARY;
	for (size_t i = 0; i < sizeof(module_prefixes) / sizeof(*module_prefixes); i++)
		if (sn_starts_with(name, module_prefixes[i].prefix))
			return module_prefixes[i].class;
	for (size_t i = 0; i < sizeof(system_folders) / sizeof(*system_folders); i++)
		if (sn_starts_with(path, system_folders[i]) &&
		    !sn_starts_with(path, "/usr/local/") && !sn_starts_with(path, "/usr/src/"))
			return SN_MODULE_CLASS_LIBRARY;
	return SN_MODULE_CLASS_BINARY;
}

/* ---- functions ---- */

/* Whole words after leading underscores and "libc_", "IO_", "int_" are cut off; a star at the end
 * matches any rest. The first match decides. */
static const struct {
	const char *pattern;
	enum sn_category category;
} function_patterns[] = {
	{ "MPI_*", SN_CATEGORY_MPI },
	{ "PMPI_*", SN_CATEGORY_MPI },
	{ "mpi_*", SN_CATEGORY_MPI },
	{ "pmpi_*", SN_CATEGORY_MPI },
	{ "GOMP_*", SN_CATEGORY_OPENMP },
	{ "kmp_*", SN_CATEGORY_OPENMP },
	{ "kmpc_*", SN_CATEGORY_OPENMP },
	{ "omp_*", SN_CATEGORY_OPENMP },
	{ "gomp_*", SN_CATEGORY_OPENMP },
	/* allocation and copying */
	{ "malloc*", SN_CATEGORY_MEMORY },
	{ "free", SN_CATEGORY_MEMORY },
	{ "cfree", SN_CATEGORY_MEMORY },
	{ "calloc", SN_CATEGORY_MEMORY },
	{ "realloc*", SN_CATEGORY_MEMORY },
	{ "memalign", SN_CATEGORY_MEMORY },
	{ "mid_memalign", SN_CATEGORY_MEMORY },
	{ "posix_memalign", SN_CATEGORY_MEMORY },
	{ "aligned_alloc", SN_CATEGORY_MEMORY },
	{ "valloc", SN_CATEGORY_MEMORY },
	{ "pvalloc", SN_CATEGORY_MEMORY },
	{ "sysmalloc", SN_CATEGORY_MEMORY },
	{ "unlink_chunk*", SN_CATEGORY_MEMORY },
	{ "tcache_*", SN_CATEGORY_MEMORY },
	{ "systrim*", SN_CATEGORY_MEMORY },
	{ "arena_get*", SN_CATEGORY_MEMORY },
	{ "reallocarray", SN_CATEGORY_MEMORY },
	{ "mmap*", SN_CATEGORY_MEMORY },
	{ "munmap*", SN_CATEGORY_MEMORY },
	{ "mremap*", SN_CATEGORY_MEMORY },
	{ "madvise*", SN_CATEGORY_MEMORY },
	{ "mprotect*", SN_CATEGORY_MEMORY },
	{ "brk", SN_CATEGORY_MEMORY },
	{ "sbrk", SN_CATEGORY_MEMORY },
	{ "morecore*", SN_CATEGORY_MEMORY },
	{ "memcpy*", SN_CATEGORY_MEMORY },
	{ "memmove*", SN_CATEGORY_MEMORY },
	{ "memset*", SN_CATEGORY_MEMORY },
	{ "mempcpy*", SN_CATEGORY_MEMORY },
	{ "bzero*", SN_CATEGORY_MEMORY },
	{ "bcopy*", SN_CATEGORY_MEMORY },
	{ "Znw*", SN_CATEGORY_MEMORY },
	{ "Zna*", SN_CATEGORY_MEMORY },
	{ "Zdl*", SN_CATEGORY_MEMORY },
	{ "Zda*", SN_CATEGORY_MEMORY },
	/* characters */
	{ "strto*", SN_CATEGORY_STRINGS },
	{ "str*", SN_CATEGORY_STRINGS },
	{ "stp*", SN_CATEGORY_STRINGS },
	{ "memchr*", SN_CATEGORY_STRINGS },
	{ "memrchr*", SN_CATEGORY_STRINGS },
	{ "rawmemchr*", SN_CATEGORY_STRINGS },
	{ "memcmp*", SN_CATEGORY_STRINGS },
	{ "memmem*", SN_CATEGORY_STRINGS },
	{ "wcs*", SN_CATEGORY_STRINGS },
	{ "wmem*", SN_CATEGORY_STRINGS },
	{ "mbs*", SN_CATEGORY_STRINGS },
	{ "mbrto*", SN_CATEGORY_STRINGS },
	{ "mbto*", SN_CATEGORY_STRINGS },
	{ "wcrtomb*", SN_CATEGORY_STRINGS },
	{ "ato[ifl]*", SN_CATEGORY_STRINGS },
	{ "toupper", SN_CATEGORY_STRINGS },
	{ "tolower", SN_CATEGORY_STRINGS },
	{ "regexec", SN_CATEGORY_STRINGS },
	{ "regcomp", SN_CATEGORY_STRINGS },
	{ "iconv*", SN_CATEGORY_STRINGS },
	{ "gconv*", SN_CATEGORY_STRINGS },
	{ "fnmatch*", SN_CATEGORY_STRINGS },
	{ "ZNKSt7__cxx1112basic_string*", SN_CATEGORY_STRINGS },
	{ "ZNSt7__cxx1112basic_string*", SN_CATEGORY_STRINGS },
	{ "ZNSs*", SN_CATEGORY_STRINGS },
	{ "ZNKSs*", SN_CATEGORY_STRINGS },
	/* input and output */
	{ "read", SN_CATEGORY_IO },
	{ "write", SN_CATEGORY_IO },
	{ "pread*", SN_CATEGORY_IO },
	{ "pwrite*", SN_CATEGORY_IO },
	{ "readv", SN_CATEGORY_IO },
	{ "writev", SN_CATEGORY_IO },
	{ "open", SN_CATEGORY_IO },
	{ "open64", SN_CATEGORY_IO },
	{ "openat*", SN_CATEGORY_IO },
	{ "close", SN_CATEGORY_IO },
	{ "close_nocancel*", SN_CATEGORY_IO },
	{ "read_nocancel", SN_CATEGORY_IO },
	{ "write_nocancel", SN_CATEGORY_IO },
	{ "open_nocancel", SN_CATEGORY_IO },
	{ "lseek*", SN_CATEGORY_IO },
	{ "llseek*", SN_CATEGORY_IO },
	{ "fsync", SN_CATEGORY_IO },
	{ "fdatasync", SN_CATEGORY_IO },
	{ "sync_file_range*", SN_CATEGORY_IO },
	{ "sync", SN_CATEGORY_IO },
	{ "fopen*", SN_CATEGORY_IO },
	{ "fdopen*", SN_CATEGORY_IO },
	{ "freopen*", SN_CATEGORY_IO },
	{ "fclose", SN_CATEGORY_IO },
	{ "fread*", SN_CATEGORY_IO },
	{ "fwrite*", SN_CATEGORY_IO },
	{ "fgets*", SN_CATEGORY_IO },
	{ "fputs*", SN_CATEGORY_IO },
	{ "fgetc*", SN_CATEGORY_IO },
	{ "fputc*", SN_CATEGORY_IO },
	{ "getc*", SN_CATEGORY_IO },
	{ "putc*", SN_CATEGORY_IO },
	{ "puts", SN_CATEGORY_IO },
	{ "getline", SN_CATEGORY_IO },
	{ "getdelim", SN_CATEGORY_IO },
	{ "fseek*", SN_CATEGORY_IO },
	{ "ftell*", SN_CATEGORY_IO },
	{ "fflush*", SN_CATEGORY_IO },
	{ "printf*", SN_CATEGORY_IO },
	{ "fprintf*", SN_CATEGORY_IO },
	{ "vfprintf*", SN_CATEGORY_IO },
	{ "vprintf*", SN_CATEGORY_IO },
	{ "sprintf*", SN_CATEGORY_STRINGS },
	{ "snprintf*", SN_CATEGORY_STRINGS },
	{ "vsprintf*", SN_CATEGORY_STRINGS },
	{ "vsnprintf*", SN_CATEGORY_STRINGS },
	{ "asprintf*", SN_CATEGORY_STRINGS },
	{ "vasprintf*", SN_CATEGORY_STRINGS },
	{ "scanf*", SN_CATEGORY_IO },
	{ "fscanf*", SN_CATEGORY_IO },
	{ "sscanf*", SN_CATEGORY_STRINGS },
	{ "vfscanf*", SN_CATEGORY_IO },
	{ "isoc99_*scanf*", SN_CATEGORY_IO },
	{ "printf_fp*", SN_CATEGORY_IO },
	{ "file_*", SN_CATEGORY_IO },
	{ "new_file_*", SN_CATEGORY_IO },
	{ "do_flush*", SN_CATEGORY_IO },
	{ "getdents*", SN_CATEGORY_IO },
	{ "readdir*", SN_CATEGORY_IO },
	{ "opendir*", SN_CATEGORY_IO },
	{ "scandir*", SN_CATEGORY_IO },
	{ "stat", SN_CATEGORY_IO },
	{ "stat64", SN_CATEGORY_IO },
	{ "fstat*", SN_CATEGORY_IO },
	{ "lstat*", SN_CATEGORY_IO },
	{ "xstat*", SN_CATEGORY_IO },
	{ "fxstat*", SN_CATEGORY_IO },
	{ "lxstat*", SN_CATEGORY_IO },
	{ "access", SN_CATEGORY_IO },
	{ "rename*", SN_CATEGORY_IO },
	{ "unlink", SN_CATEGORY_IO },
	{ "unlinkat", SN_CATEGORY_IO },
	{ "ftruncate*", SN_CATEGORY_IO },
	{ "fallocate*", SN_CATEGORY_IO },
	{ "send", SN_CATEGORY_IO },
	{ "sendto", SN_CATEGORY_IO },
	{ "sendmsg", SN_CATEGORY_IO },
	{ "sendfile*", SN_CATEGORY_IO },
	{ "recv", SN_CATEGORY_IO },
	{ "recvfrom", SN_CATEGORY_IO },
	{ "recvmsg", SN_CATEGORY_IO },
	{ "accept*", SN_CATEGORY_IO },
	{ "connect", SN_CATEGORY_IO },
	{ "socket", SN_CATEGORY_IO },
	{ "splice", SN_CATEGORY_IO },
	{ "copy_file_range", SN_CATEGORY_IO },
	{ "select", SN_CATEGORY_IO },
	{ "pselect*", SN_CATEGORY_IO },
	{ "poll", SN_CATEGORY_IO },
	{ "ppoll", SN_CATEGORY_IO },
	{ "epoll_*", SN_CATEGORY_IO },
	{ "aio_*", SN_CATEGORY_IO },
	{ "io_uring_*", SN_CATEGORY_IO },
	{ "ZNSo*", SN_CATEGORY_IO },
	{ "ZNSi*", SN_CATEGORY_IO },
	{ "ZStlsI*", SN_CATEGORY_IO },
	{ "ZNSt13basic_filebuf*", SN_CATEGORY_IO },
	{ "ZNSt14basic_ifstream*", SN_CATEGORY_IO },
	{ "ZNSt14basic_ofstream*", SN_CATEGORY_IO },
	{ "gfortran_st_*", SN_CATEGORY_IO },
	{ "gfortran_transfer_*", SN_CATEGORY_IO },
	{ "gfortran_matmul_*", SN_CATEGORY_MATHS },
	{ "gfortran_pow_*", SN_CATEGORY_MATHS },
	/* threads, processes, time */
	{ "pthread_*", SN_CATEGORY_OS },
	{ "lll_*", SN_CATEGORY_OS },
	{ "futex*", SN_CATEGORY_OS },
	{ "sem_*", SN_CATEGORY_OS },
	{ "sched_*", SN_CATEGORY_OS },
	{ "clone*", SN_CATEGORY_OS },
	{ "fork", SN_CATEGORY_OS },
	{ "vfork", SN_CATEGORY_OS },
	{ "exec*", SN_CATEGORY_OS },
	{ "posix_spawn*", SN_CATEGORY_OS },
	{ "wait*", SN_CATEGORY_OS },
	{ "nanosleep", SN_CATEGORY_OS },
	{ "clock_*", SN_CATEGORY_OS },
	{ "gettimeofday", SN_CATEGORY_OS },
	{ "time", SN_CATEGORY_OS },
	{ "syscall", SN_CATEGORY_OS },
	{ "getpid", SN_CATEGORY_OS },
	{ "getppid", SN_CATEGORY_OS },
	{ "gettid", SN_CATEGORY_OS },
	{ "kill", SN_CATEGORY_OS },
	{ "tgkill", SN_CATEGORY_OS },
	{ "sig*", SN_CATEGORY_OS },
	{ "ioctl", SN_CATEGORY_OS },
	{ "dlopen*", SN_CATEGORY_OS },
	{ "dl_*", SN_CATEGORY_OS },
	{ "getrusage", SN_CATEGORY_OS },
};

/* `*` matches any rest, `[abc]` one of the characters. */
static bool pattern_matches(const char *pattern, const char *name)
{
	for (; *pattern; pattern++) {
		if (*pattern == '*') {
			if (!pattern[1])
				return true;
			for (; *name; name++)
				if (pattern_matches(pattern + 1, name))
					return true;
			return pattern_matches(pattern + 1, name);
		}
		if (*pattern == '[') {
			const char *end = strchr(pattern, ']');

			if (!*name || !memchr(pattern + 1, *name, (size_t)(end - pattern - 1)))
				return false;
			pattern = end;
		} else if (*pattern != *name) {
			return false;
		}
		name++;
	}
	return !*name;
}

static const char *bare_name(const char *name)
{
	static const char *const prefixes[] = {
		"libc_", "IO_", "int_", "GI_", "new_", "internal_"
	};
	const char *before;

	do {
		before = name;
		while (*name == '_')
			name++;
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
			if (sn_starts_with(name, prefixes[i]))
				name += strlen(prefixes[i]);
	} while (name != before);
	return name;
}

enum sn_category sn_category_of_function(const char *linkage_name)
{
	char bare[128];
	size_t length;

	linkage_name = bare_name(linkage_name);
	length = strcspn(linkage_name, "@"); /* "read@plt", "memcpy@GLIBC_2.14" */
	if (length >= sizeof(bare))
		length = sizeof(bare) - 1;
	memcpy(bare, linkage_name, length);
	bare[length] = 0;
	if (!length)
		return SN_CATEGORIES;
	for (size_t i = 0; i < sizeof(function_patterns) / sizeof(*function_patterns); i++)
		if (pattern_matches(function_patterns[i].pattern, bare))
			return function_patterns[i].category;
	return SN_CATEGORIES;
}

enum sn_module_class sn_class_of_static_function(const char *linkage_name)
{
	static const struct {
		const char *pattern;
		enum sn_module_class class;
	} reserved[] = {
		{ "gomp_*", SN_MODULE_CLASS_OPENMP },
		{ "GOMP_*", SN_MODULE_CLASS_OPENMP },
		{ "GOACC_*", SN_MODULE_CLASS_OPENMP },
		{ "goacc_*", SN_MODULE_CLASS_OPENMP },
		{ "__kmp_*", SN_MODULE_CLASS_OPENMP },
		{ "__kmpc_*", SN_MODULE_CLASS_OPENMP },
		{ "*kmp_flag*", SN_MODULE_CLASS_OPENMP },
		{ "_Z*__kmp_*", SN_MODULE_CLASS_OPENMP },
		{ "MPI_[ABCDEFGILNOPQRSTUW]*", SN_MODULE_CLASS_MPI },
		{ "PMPI_*", SN_MODULE_CLASS_MPI },
		{ "MPIR_*", SN_MODULE_CLASS_MPI },
		{ "MPIDI_*", SN_MODULE_CLASS_MPI },
		{ "MPID_*", SN_MODULE_CLASS_MPI },
		{ "MPIDU_*", SN_MODULE_CLASS_MPI },
		{ "MPIDIG_*", SN_MODULE_CLASS_MPI },
		{ "MPL_*", SN_MODULE_CLASS_MPI },
		{ "ompi_*", SN_MODULE_CLASS_MPI },
		{ "opal_*", SN_MODULE_CLASS_MPI },
		{ "mca_*", SN_MODULE_CLASS_MPI },
		{ "ucp_*", SN_MODULE_CLASS_MPI },
		{ "uct_*", SN_MODULE_CLASS_MPI },
		{ "ucs_*", SN_MODULE_CLASS_MPI },
		{ "fi_*progress*", SN_MODULE_CLASS_MPI },
		{ "MPIC_*", SN_MODULE_CLASS_MPI },
	};

	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (pattern_matches(reserved[i].pattern, linkage_name))
			return reserved[i].class;
	return SN_MODULE_CLASS_BINARY;
}

/* ---- stacks ---- */

/* Entry points of OpenMP runtimes that hand out work; all else of such a runtime is waiting. */
static const char *const openmp_work[] = {
	"GOMP_loop_*start",    "GOMP_loop_*next",
	"GOMP_task",	       "GOMP_taskloop*",
	"GOMP_single_*",       "GOMP_sections_*",
	"GOMP_*_next",	       "GOMP_atomic_*",
	"GOMP_parallel_start", "omp_*",
	"__kmpc_for_*",	       "__kmpc_dispatch_*",
	"__kmpc_omp_task*",    "__kmpc_taskloop*",
	"__kmpc_single*",      "__kmpc_global_thread_num",
	"__kmpc_push_*",       "__kmpc_atomic_*",
	"__kmpc_master",       "__kmpc_threadprivate*",
};

static bool openmp_is_work(const char *name)
{
	for (size_t i = 0; i < sizeof(openmp_work) / sizeof(*openmp_work); i++)
		if (pattern_matches(openmp_work[i], name))
			return true;
	return false;
}

/* Calls of MPI that wait for other ranks; the rest (setting up, types, groups) is work. */
static bool mpi_may_wait(const char *name)
{
	static const char *const waiting[] = {
		"*Wait*",  "*wait*",  "*Recv*",	 "*recv*",  "*Send*",	 "*send*",
		"*Probe*", "*probe*", "*Test*",	 "*test*",  "*Barrier*", "*barrier*",
		"*Bcast*", "*bcast*", "*educe*", "*ather*", "*catter*",	 "*lltoall*",
		"*Scan*",  "*scan*",  "*Win_*",	 "*win_*",  "*File_*",	 "*file_*",
	};

	for (size_t i = 0; i < sizeof(waiting) / sizeof(*waiting); i++)
		if (pattern_matches(waiting[i], name))
			return true;
	return !name[0];
}

static enum sn_category category_of_class(enum sn_module_class class)
{
	switch (class) {
	case SN_MODULE_CLASS_BINARY:
	case SN_MODULE_CLASS_LIBRARY:
		return SN_CATEGORY_PROGRAM;
	case SN_MODULE_CLASS_MATHS:
		return SN_CATEGORY_MATHS;
	case SN_MODULE_CLASS_OPENMP:
		return SN_CATEGORY_OPENMP;
	case SN_MODULE_CLASS_MPI:
		return SN_CATEGORY_MPI;
	case SN_MODULE_CLASS_ALLOCATOR:
		return SN_CATEGORY_MEMORY;
	case SN_MODULE_CLASS_IO:
		return SN_CATEGORY_IO;
	case SN_MODULE_CLASS_KERNEL:
	case SN_MODULE_CLASS_LOADER:
		return SN_CATEGORY_OS;
	case SN_MODULE_CLASS_LIBC:
	case SN_MODULE_CLASS_SONDE:
	case SN_MODULE_CLASS_OTHER:
		break;
	}
	return SN_CATEGORY_OTHER;
}

static bool class_is_judged_by_name(enum sn_module_class class)
{
	return class == SN_MODULE_CLASS_LIBC || class == SN_MODULE_CLASS_KERNEL ||
	       class == SN_MODULE_CLASS_LOADER;
}

static bool class_is_application(enum sn_module_class class)
{
	return class == SN_MODULE_CLASS_BINARY || class == SN_MODULE_CLASS_LIBRARY ||
	       class == SN_MODULE_CLASS_OTHER;
}

/* Rule 1: what runs below an MPI or OpenMP runtime, up to the first frame of an application, is
 * that runtime's. `*spin` is set for active waiting. */
static enum sn_category runtime_of(const struct sn_class_frame *frames, uint32_t count, bool *spin)
{
	bool is_openmp = false, is_work = false;

	for (uint32_t i = 0; i < count; i++) {
		enum sn_module_class class = frames[i].module_class;

		if (class == SN_MODULE_CLASS_MPI) {
			while (i + 1 < count && frames[i + 1].module_class == SN_MODULE_CLASS_MPI)
				i++;
			/* a thread of the library's own has no caller: it does not wait for ranks
			 */
			*spin = i + 1 < count && class_is_application(frames[i + 1].module_class) &&
				mpi_may_wait(frames[i].linkage_name);
			return SN_CATEGORY_MPI;
		}
		if (class == SN_MODULE_CLASS_OPENMP) {
			is_openmp = true;
			is_work |= openmp_is_work(frames[i].linkage_name);
		} else if (is_openmp || class_is_application(class)) {
			break;
		}
	}
	*spin = is_openmp && !is_work;
	return is_openmp ? SN_CATEGORY_OPENMP : SN_CATEGORIES;
}

/* Rule 2: in the C library the innermost function with a well-known name decides. */
static enum sn_category library_of(const struct sn_class_frame *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count && class_is_judged_by_name(frames[i].module_class); i++) {
		enum sn_category category = sn_category_of_function(frames[i].linkage_name);

		if (category != SN_CATEGORIES)
			return category;
	}
	return category_of_class(frames[0].module_class);
}

/* Waiting actively outside of runtimes: spin locks, and giving up the CPU in a loop. */
static bool name_is_spin(const char *name)
{
	return strstr(name, "pthread_spin_lock") || strstr(name, "sched_yield");
}

struct sn_class sn_class_of_stack(const struct sn_class_frame *frames, uint32_t count)
{
	struct sn_class class = { SN_CATEGORY_OTHER, SN_CATEGORY_OS, false };
	enum sn_category category;

	if (!count || frames[0].module_class == SN_MODULE_CLASS_SONDE)
		return class; /* what measures is nobody's work */
	category = runtime_of(frames, count, &class.is_spin);
	if (category == SN_CATEGORIES)
		category = library_of(frames, count);
	class.user = (uint8_t)category;
	if (category == SN_CATEGORY_OS)
		class.is_spin = name_is_spin(frames[0].linkage_name);
	/* Rule 3: kernel time on behalf of a runtime, of I/O or of memory management is theirs. */
	if (category == SN_CATEGORY_MPI || category == SN_CATEGORY_OPENMP ||
	    category == SN_CATEGORY_IO || category == SN_CATEGORY_MEMORY)
		class.system = (uint8_t)category;
	return class;
}
