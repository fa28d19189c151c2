/* The kernel's accounts of threads, where what is measured begins and ends. */
#include <sys/resource.h>

#include "runtime/core/parse.h"
#include "runtime/monitor/monitor.h"

enum { SCHEDSTAT_MOST = 256 }; /* threads whose waits for a CPU are read: 5 us each */

/* Second number of schedstat; -1: cannot be had. */
static int64_t wait_cpu_ns(int32_t tid)
{
	char path[64] = "/proc/self/task/", text[128];
	const char *at = text;
	char *end = sn_format_number(path + sizeof "/proc/self/task/" - 1, (uint64_t)tid);

	sn_copy_text(end, "/schedstat");
	if (sn_read_file_raw(path, text, sizeof text) <= 0)
		return -1;
	sn_parse_number(&at);
	return (int64_t)sn_parse_number(&at);
}

static void slab_fill(struct sn_thread *thread, uint32_t number, int end, bool has_waits)
{
	struct sn_monitor_slab *slab;

	if (thread->index >= SN_MONITOR_THREADS_MAX)
		return;
	slab = &sn_monitor_here.segment->slabs[thread->index];
	if (slab->generation != number) {
		/* one that has begun since has used nothing before */
		*slab = (struct sn_monitor_slab){ .generation = number, .tid = thread->tid };
		slab->time_ns[0] = thread->start_ns;
	}
	slab->time_ns[end] = sn_now_ns();
	slab->cpu_ns[end] = sn_thread_cpu_ns(thread == sn_self ? 0 : thread->tid);
	slab->wait_cpu_ns[end] = has_waits ? wait_cpu_ns(thread->tid) : -1;
}

void sn_monitor_account_of(struct sn_thread *thread, uint32_t number, int end)
{
	slab_fill(thread, number, end, true);
}

/* By the counter's rate since the image began. */
static uint64_t ns_of_ticks(uint64_t ticks)
{
	uint64_t passed = __builtin_ia32_rdtsc() - sn_config.start_tsc;
	int64_t passed_ns = sn_now_ns() - sn_config.start_tsc_ns;

	return passed && passed_ns > 0
		       ? (uint64_t)((double)ticks * (double)passed_ns / (double)passed)
		       : 0;
}

void sn_monitor_accounts(struct sn_thread *self, struct sn_monitor_table *table, uint32_t number,
			 int end)
{
	uint32_t count = atomic_load(&sn_state->next_block), read = 0;
	const struct sn_data_header *header = sn_header();
	struct rusage usage;

	(void)self;
	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++) {
		struct sn_thread *thread = sn_state->blocks[i];

		if (thread && atomic_load(&thread->is_live) == 1)
			slab_fill(thread, number, end, read++ < SCHEDSTAT_MOST);
	}
	table->overhead_ns[end] = header->overhead_ns;
	table->traced_ns[end] = ns_of_ticks(header->trace_ticks);
	if (SYS(getrusage, RUSAGE_SELF, &usage) != 0)
		return;
	table->minor_faults[end] = (uint64_t)usage.ru_minflt;
	table->major_faults[end] = (uint64_t)usage.ru_majflt;
}
