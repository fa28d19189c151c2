/* A collector that watches a place of the program, to test what core/breakpoints.h promises: how often
 * each thread reaches the function `watched_step`, where a program has one. */
#include <dlfcn.h>

#include "runtime/core/breakpoints.h"
#include "runtime/core/collector.h"

struct breaks {
	uint64_t arrivals;
};

extern struct sn_collector example_breaks_collector;
static uint64_t watched;

static void reached(struct sn_thread *self, unsigned which, uint32_t arrivals)
{
	struct breaks *breaks = sn_thread_part(self, &example_breaks_collector);

	(void)which;
	breaks->arrivals += arrivals;
}

static bool install(enum sn_data_origin origin)
{
	if (origin != SN_DATA_ORIGIN_EXEC)
		return true; /* a child has its parent's */
	watched = (uint64_t)dlsym(RTLD_DEFAULT, "watched_step");
	if (watched)
		sn_breakpoint_set(watched, reached);
	return true;
}

static void account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
		    bool is_ending)
{
	struct breaks *breaks = sn_thread_part(thread, &example_breaks_collector);

	(void)is_ending;
	if (!breaks->arrivals)
		return;
	sn_writer_tally(writer, now_ns, "arrivals",
			sn_stack_intern(writer, &watched, 1, 0, 0, now_ns), 1, breaks->arrivals);
	breaks->arrivals = 0;
}

struct sn_collector example_breaks_collector = {
	.name = "breaks",
	.thread_bytes = sizeof(struct breaks),
	.install = install,
	.account = account,
};
