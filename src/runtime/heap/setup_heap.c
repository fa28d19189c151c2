/*
 * Finds the allocator's functions, and prepares the image's tables. All functions are those that the
 * program would have called without us: the next in line after our library. A program that has a
 * malloc of its own never calls ours, and that is said.
 */
#include "runtime/heap/heap.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "runtime/core/pages.h"
#include "runtime/core/real.h"

#pragma weak _dl_find_object /* since glibc 2.35 */

struct sn_heap_real sn_heap_real;

static void find_text(const void *function, uint64_t *start, uint64_t *end)
{
	struct dl_find_object found;

	if (function && _dl_find_object &&
	    _dl_find_object((void *)(uintptr_t)function, &found) == 0) {
		*start = (uint64_t)(uintptr_t)found.dlfo_map_start;
		*end = (uint64_t)(uintptr_t)found.dlfo_map_end;
	}
}

#define NEXT(member, name)                                                                         \
	sn_heap_real.member = (__typeof__(sn_heap_real.member))dlsym(RTLD_NEXT, name)
#define NEW(which, name)    NEXT(news[which], #name);
#define DELETE(which, name) NEXT(deletes[which], #name);

void sn_heap_resolve(void)
{
	NEXT(c_zeroed, "calloc");
	NEXT(c_release, "free");
	NEXT(c_resize, "realloc");
	NEXT(c_resize_array, "reallocarray");
	NEXT(c_memalign, "memalign");
	NEXT(c_aligned, "aligned_alloc");
	NEXT(c_posix, "posix_memalign");
	NEXT(c_valloc, "valloc");
	NEXT(c_pvalloc, "pvalloc");
	NEXT(c_alloc, "malloc"); /* the last of those: from here on the others are called */
	find_text((const void *)sn_heap_real.c_alloc, &sn_heap_real.c_start, &sn_heap_real.c_end);
#include "runtime/heap/operators.h"
	find_text((const void *)sn_heap_real.news[0], &sn_heap_real.new_start,
		  &sn_heap_real.new_end);
}

/* The function of this name that a library's code means; NULL: it means ours, or none. Only what dlopen
 * gives is a handle: other libraries have no list of their own to search. */
static void *find_in(const struct link_map *library, const char *name)
{
	void *handle = library->l_name[0] ? dlopen(library->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *function = handle ? dlsym(handle, name) : NULL;

	if (handle)
		REAL(dlclose)(handle);
	return sn_is_own_code((uint64_t)(uintptr_t)function) ? NULL : function;
}

/* Programs in C have no operator new, but may load a library that has. Its code is the caller, unless it
 * jumped to us: then we look through all that are loaded. What is found stays loaded, as we keep it. */
void *sn_heap_find_later(const char *name, uint64_t caller)
{
	struct dl_find_object found;
	void *function = NULL;

	if (!_dl_find_object)
		return NULL;
	if (_dl_find_object((void *)(uintptr_t)caller, &found) == 0)
		function = find_in(found.dlfo_link_map, name);
	for (struct link_map *l = _r_debug.r_map; l && !function; l = l->l_next)
		function = find_in(l, name);
	if (!function || _dl_find_object(function, &found) != 0)
		return function;
	dlopen(found.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (!sn_heap_real.new_end)
		find_text(function, &sn_heap_real.new_start, &sn_heap_real.new_end);
	return function;
}

void sn_heap_load(void)
{
	if (!sn_heap_real.c_alloc)
		sn_heap_resolve();
}

/* Whether calls of malloc come to us. A program that is not position-independent may stand in for it
 * with an entry of its PLT, which is no definition. */
static bool is_malloc_ours(void)
{
	void *first = dlsym(RTLD_DEFAULT, "malloc");
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (sn_is_own_code((uint64_t)(uintptr_t)first))
		return true;
	return dladdr1(first, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	       symbol->st_shndx == SHN_UNDEF;
}

static bool make_state(void)
{
	static struct sn_heap_state *mapping;

	if (!mapping)
		mapping = sn_pages_wiped_in_children(sizeof(*mapping));
	sn_heap_state = mapping;
	return mapping;
}

/* What the mode needs beside the trace. */
static bool open_mode(enum sn_data_origin origin, const struct sn_settings *settings)
{
	sn_heap_state->mode = settings->heap;
	sn_heap_state->interval_bytes = settings->heap_interval_bytes;
	if (settings->heap == SN_HEAP_TRACE)
		return true;
	return sn_trace_open(origin, SN_TRACE_HEAP_SUMS) &&
	       sn_heap_sums_open(settings->heap, settings->heap_interval_bytes) &&
	       (settings->heap != SN_HEAP_SAMPLE || sn_heap_sample_open());
}

bool sn_heap_install(enum sn_data_origin origin)
{
	if (!sn_config.settings.heap)
		return true;
	if (!is_malloc_ours()) {
		sn_warn("the program has a malloc of its own: its heap was not traced");
		return true;
	}
	if (!make_state() || !sn_paths_open() || !sn_trace_open(origin, SN_TRACE_HEAP) ||
	    !open_mode(origin, &sn_config.settings)) {
		sn_warn("there was no room for a trace: the heap was not traced");
		return true;
	}
	sn_heap_know_libraries();
	atomic_store_explicit(&sn_heap_state->is_on, 1, memory_order_release);
	return true;
}
