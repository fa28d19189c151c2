/*
 * Samples of a process that switches often, by events of all CPUs. An event of a thread is stopped
 * and started at each of its context switches, which costs 5 to 10 us on a virtual machine: more
 * than many a server computes between two. An event of a CPU runs on. It takes the right to look at
 * every process, and looks at all of them: what is not ours is thrown away.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/outside_parts.h"
#include "record/outside_proc.h"

enum {
	CPUS_MOST = 32,	    /* each copies the stack of whatever runs there */
	STACK_BYTES = 8192, /* one of those */
	RING_ORDER = 8,
	SWITCHES_PER_CPU_SECOND = 3000, /* as in the runtime */
	SWITCHES_LEAST = 300,
	/* so many times its counts may a process that switches as often have used (chosen) */
	PART_MOST = 3,
};

/* Voluntary ones: a thread that is preempted does not switch because of what it does. */
bool sn_outside_cpus_are_wanted(struct sn_outside *o)
{
	uint64_t switches = 0;
	int64_t used_ns = sn_proc_cpu_ns(o->options.pid);

	for (size_t i = 0; i < o->threads.count; i++)
		if (!o->threads.items[i]->has_ended)
			switches += o->threads.items[i]->voluntary;
	int64_t more = (int64_t)(switches - o->seen_switches), more_ns = used_ns - o->seen_cpu_ns;
	bool is_first = !o->seen_cpu_ns;

	if (!is_first && more < SWITCHES_LEAST)
		return false;
	o->seen_switches = switches;
	o->seen_cpu_ns = used_ns;
	return !is_first && more * 1000000 > SWITCHES_PER_CPU_SECOND * (more_ns / 1000);
}

static bool rings_open(struct sn_outside *o)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = o->period_ns,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = SN_OUTSIDE_REGS_MASK,
		.sample_stack_user = STACK_BYTES,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.exclude_idle = 1,
		.exclude_hv = 1,
		.disabled = o->is_paused,
		.watermark = 1,
		.wakeup_watermark = (4096u << RING_ORDER) / 2,
	};

	for (size_t cpu = 0; cpu < o->cpus; cpu++)
		if (sn_ring_open_on(&o->cpu_rings[cpu], &attr, -1, (int)cpu, RING_ORDER))
			return false;
	return true;
}

void sn_outside_cpus_close(struct sn_outside *o)
{
	for (size_t cpu = 0; o->cpu_rings && cpu < o->cpus; cpu++)
		sn_ring_close(&o->cpu_rings[cpu]);
	free(o->cpu_rings);
	o->cpu_rings = NULL;
}

static bool cpus_open(struct sn_outside *o)
{
	if (!o->has_kernel || !o->period_ns || o->cpus > CPUS_MOST ||
	    (size_t)sysconf(_SC_NPROCESSORS_CONF) != o->cpus)
		return false;
	o->cpu_rings = sn_alloc_zeroed(o->cpus, sizeof(*o->cpu_rings));
	for (size_t cpu = 0; cpu < o->cpus; cpu++)
		o->cpu_rings[cpu].fd = -1;
	if (rings_open(o))
		return true;
	sn_outside_cpus_close(o);
	return false;
}

void sn_outside_cpus_open(struct sn_outside *o)
{
	struct sn_text text = { 0 };

	o->has_tried_cpus = true;
	sn_text_addf(&text, "the process waits more than %d times a CPU second: ",
		     SWITCHES_PER_CPU_SECOND);
	if (!cpus_open(o)) {
		sn_text_addf(&text,
			     "sampling its threads makes each time dearer (see overhead), and "
			     "shares are those of a process that is slowed down so; root may "
			     "sample the CPUs instead, where there are at most %d, which costs "
			     "it nothing",
			     CPUS_MOST);
		sn_outside_say(o, &text);
		return;
	}
	o->clock.part_most = PART_MOST;
	for (size_t i = 0; i < o->threads.count; i++)
		if (!o->threads.items[i]->has_ended)
			sn_outside_thread_only_count(o, o->threads.items[i]);
	sn_text_addf(&text,
		     "its samples come from events of the CPUs, which cost its context switches "
		     "nothing");
	sn_outside_say(o, &text);
}

void sn_outside_cpus_enable(struct sn_outside *o, bool is_enabled)
{
	for (size_t cpu = 0; o->cpu_rings && cpu < o->cpus; cpu++)
		sn_ring_enable(&o->cpu_rings[cpu], is_enabled);
}

void sn_outside_cpus_drain(struct sn_outside *o)
{
	const struct perf_event_header *header;

	for (size_t cpu = 0; o->cpu_rings && cpu < o->cpus; cpu++)
		while ((header = sn_ring_next(&o->cpu_rings[cpu]))) {
			if (header->type == PERF_RECORD_SAMPLE) {
				sn_outside_sample_take_of_cpu(o, header);
			} else if (header->type == PERF_RECORD_LOST) {
				const uint64_t *id_and_count = (const void *)(header + 1);

				sn_writer_count_loss(&o->file.shared, SN_LOSS_RING,
						     id_and_count[1]);
			} else if (header->type == PERF_RECORD_THROTTLE) {
				o->throttled++;
			}
		}
}
