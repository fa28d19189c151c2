/*
 * Finds the functions of the MPI library and learns what differs between libraries. A function is looked up
 * when it is first called: the library may come late and out of the global scope, as Python's modules do.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/pages.h"
#include "runtime/core/real.h"
#include "runtime/mpi/mpi.h"

struct sn_mpi_library sn_mpi_library;

#define NAME(number, name, ...) #name,
static const char *const names[SN_MPI_FUNCTION_COUNT] = { SN_MPI_FUNCTIONS(NAME) };

/* A library that is loaded, but not for all: it and what it needs are searched. */
static void *find_in(const struct link_map *library, const char *name)
{
	void *handle = dlopen(library->l_name, RTLD_LAZY | RTLD_NOLOAD);
	void *found = handle ? dlsym(handle, name) : NULL;

	if (handle)
		REAL(dlclose)(handle);
	return sn_is_own_code((uint64_t)(uintptr_t)found) ? NULL : found;
}

static void *find_after(void *where, const char *name)
{
	void *found = dlsym(where, name);

	for (const struct link_map *l = _r_debug.r_map; l && !found; l = l->l_next)
		if (l->l_name[0] && strstr(l->l_name, "libmpi"))
			found = find_in(l, name);
	return found;
}

static void *find_symbol(const char *name)
{
	return find_after(RTLD_NEXT, name);
}

/* An object's address is a handle: the program may have the object itself, as a copy. */
static uint64_t find_handle(const char *name)
{
	return (uint64_t)(uintptr_t)find_after(RTLD_DEFAULT, name);
}

void *sn_mpi_resolve(uint32_t index)
{
	char name[64];

	snprintf(name, sizeof name, "%s%s", index & 1 ? "P" : "", names[index / 2]);
	return sn_mpi_real[index] = find_symbol(name);
}

static int say_no(int *flag)
{
	*flag = 0;
	return 0;
}

static int fail(void)
{
	return 16; /* an error, as every code but 0 is */
}

void *sn_mpi_absent(uint32_t index)
{
	bool is_question = index / 2 == SN_MPI_Initialized || index / 2 == SN_MPI_Finalized;

	return is_question ? (void *)(uintptr_t)say_no : (void *)(uintptr_t)fail;
}

static void openmpi_set(struct sn_mpi_library *library)
{
	*library = (struct sn_mpi_library){
		.kind = SN_MPI_OPENMPI,
		.handle_bytes = 8,
		.status_bytes = 24,
		.source_at = 0,
		.tag_at = 4,
		.any_source = -1,
		.nobody = -2,
		.root = -4,
		.cartesian = 1,
		.graph = 2,
		.distributed_graph = 3,
		.world = find_handle("ompi_mpi_comm_world"),
		.self = find_handle("ompi_mpi_comm_self"),
		.comm_null = find_handle("ompi_mpi_comm_null"),
		.request_null = find_handle("ompi_request_null"),
		.message_none = find_handle("ompi_message_no_proc"),
		.status_ignore = 0,
		.in_place = 1,
	};
}

static void mpich_set(struct sn_mpi_library *library)
{
	*library = (struct sn_mpi_library){
		.kind = SN_MPI_MPICH,
		.handle_bytes = 4,
		.status_bytes = 20,
		.source_at = 8,
		.tag_at = 12,
		.any_source = -2,
		.nobody = -1,
		.root = -3,
		.cartesian = 2,
		.graph = 1,
		.distributed_graph = 3,
		.world = 0x44000000,
		.self = 0x44000001,
		.comm_null = 0x04000000,
		.request_null = 0x2c000000,
		.message_none = 0x6c000000,
		.status_ignore = 1,
		.in_place = UINT64_MAX,
	};
}

/* Those of MPICH's binary interface are told by their own names. */
static bool is_of_mpich(const char *version)
{
	static const char *const known[] = { "MPICH", "MVAPICH", "Intel(R) MPI", "CRAY MPICH" };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strstr(version, known[i]))
			return true;
	return false;
}

bool sn_mpi_find_library(void)
{
	static _Atomic uint32_t is_refused;
	/* the standard's MPI_MAX_LIBRARY_VERSION_STRING is 8192 where it is greatest */
	static char version[8192 + 1];
	int length = 0;
	int (*get)(char *, int *) = (int (*)(char *, int *))find_symbol("PMPI_Get_library_version");

	if (is_refused)
		return false;
	if (get && get(version, &length) == 0) {
		if (strstr(version, "Open MPI") && find_handle("ompi_mpi_comm_world"))
			openmpi_set(&sn_mpi_library);
		else if (is_of_mpich(version))
			mpich_set(&sn_mpi_library);
	}
	if (!sn_mpi_library.kind) {
		is_refused = 1;
		sn_warn("the program's MPI is neither Open MPI nor one like MPICH: its calls were "
			"not traced");
	}
	return sn_mpi_library.kind != 0;
}

static bool make_state(void)
{
	static struct sn_mpi_state *mapping;

	if (!mapping)
		mapping = sn_pages_wiped_in_children(sizeof(*mapping));
	sn_mpi_state = mapping;
	return mapping;
}

bool sn_mpi_install(enum sn_data_origin origin)
{
	sn_mpi_is_on = 0;
	if (!sn_config.settings.mpi)
		return true;
	if (!make_state() || !sn_paths_open() || !sn_trace_open(origin, SN_TRACE_MPI)) {
		sn_warn("there was no room for a trace: calls of MPI were not traced");
		return true;
	}
	atomic_store_explicit(&sn_mpi_is_on, 1, memory_order_release);
	return true;
}
