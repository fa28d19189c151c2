/* How libomp finds us: the start of the tools interface. */
#include "runtime/openmp/ompt.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "runtime/openmp/regions.h"

typedef void (*any_function)(void);
typedef any_function (*lookup_function)(const char *name);

struct start_result { /* ompt_start_tool_result_t */
	int (*initialize)(lookup_function lookup, int device, union sn_ompt_data *data);
	void (*finalize)(union sn_ompt_data *data);
	union sn_ompt_data data;
};

enum { PARALLEL_BEGIN = 3, PARALLEL_END = 4, IMPLICIT_TASK = 7 }; /* ompt_callbacks_t */

static int initialize(lookup_function lookup, int device, union sn_ompt_data *data)
{
	int (*set)(int, any_function) = (int (*)(int, any_function))lookup("ompt_set_callback");
	const struct sn_unwind_module *library = sn_module_of((uint64_t)(uintptr_t)lookup);

	(void)device, (void)data;
	if (!set || !library)
		return 0;
	sn_ompt_set_library(library->load_start, library->load_end);
	set(PARALLEL_BEGIN, (any_function)sn_ompt_parallel_begin);
	set(PARALLEL_END, (any_function)sn_ompt_parallel_end);
	set(IMPLICIT_TASK, (any_function)sn_ompt_implicit_task);
	if (sn_openmp_tracer)
		sn_openmp_tracer->ask(set);
	return 1;
}

static void finalize(union sn_ompt_data *data)
{
	(void)data;
}

/* The library asks for this name when it starts. A tool of the user's own comes first. */
struct start_result *ompt_start_tool(unsigned version, const char *runtime);
SN_EXPORT struct start_result *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct start_result result = { initialize, finalize, { 0 } };
	__typeof__(&ompt_start_tool) next =
		(__typeof__(&ompt_start_tool))dlsym(RTLD_NEXT, "ompt_start_tool");
	struct start_result *theirs = next ? next(version, runtime) : NULL;

	if (theirs)
		return theirs;
	if (!sn_is_active() || sn_config.settings.is_openmp_off || getenv("OMP_TOOL_LIBRARIES"))
		return NULL;
	return &result;
}
