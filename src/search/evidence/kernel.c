/* Evidence from the kernel's accounts: threads without a CPU, and page faults. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/evidence/delays.h"
#include "search/evidence/sources.h"

/* The kernel brings its accounts up to date at a tick of its scheduler, and tells a start to a hundredth of a second. */
static const double tick_s = 0.01;

static void threads_collect(struct sn_recorded *r, uint32_t source)
{
	uint32_t delay = sn_tables_column(r->tables, "run_delay", NULL);
	uint32_t off = sn_tables_column(r->tables, "off_cpu", NULL);
	const struct sn_experiment *e = r->profile->experiment;

	for (uint32_t t = 0; t < e->threads.count; t++) {
		const struct sn_time_account *a = &e->threads.items[t].account;

		if (r->thread_members[t] == SN_ALL || a->user_ns < 0 || a->system_ns < 0)
			continue;
		sn_recorded_add(r, off, source, SN_ALL, t,
				fmax(0, (double)(a->elapsed_ns - a->user_ns - a->system_ns) / 1e9),
				NAN, tick_s);
		if (a->wait_cpu_ns >= 0)
			sn_recorded_add(r, delay, source, SN_ALL, t, (double)a->wait_cpu_ns / 1e9,
					NAN, tick_s);
	}
}

static void faults_add(struct sn_recorded *r, uint32_t source, uint32_t process, uint64_t minor,
		       uint64_t major)
{
	struct sn_value value = { .source = source, .samples = NAN, .error = NAN };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_PROCESS] = process;
	value.column = sn_tables_column(r->tables, "minor_faults", NULL);
	value.value = (double)minor;
	sn_tables_add(r->tables, &value);
	value.column = sn_tables_column(r->tables, "major_faults", NULL);
	value.value = (double)major;
	sn_tables_add(r->tables, &value);
}

/* Counts only grow: a process's last packet has them all. */
static void faults_collect(struct sn_recorded *r, uint32_t source)
{
	const struct sn_experiment *e = r->profile->experiment;

	for (size_t i = 0; i < e->packets.count; i++) {
		const struct sn_packet *p = &e->packets.items[i];

		if (r->process_members[p->process] == SN_ALL ||
		    (i + 1 < e->packets.count && e->packets.items[i + 1].process == p->process))
			continue;
		faults_add(r, source, r->process_members[p->process], p->minor_faults,
			   p->major_faults);
	}
}

static void process_value_add(struct sn_recorded *r, uint32_t source, const char *metric,
			      uint32_t process, double number)
{
	struct sn_value value = { .column = sn_tables_column(r->tables, metric, NULL),
				  .value = number,
				  .samples = NAN,
				  .error = NAN,
				  .source = source };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_PROCESS] = process;
	sn_tables_add(r->tables, &value);
}

/* How long some task of the host waited for a device or for memory while the process ran: no thread of it did for
 * longer. Nothing where the kernel does not account for that (/proc/pressure). */
static void pressure_collect(struct sn_recorded *r, uint32_t source)
{
	const struct sn_experiment *e = r->profile->experiment;
	const struct sn_packet *first = NULL, *last = NULL;

	for (size_t i = 0; i < e->packets.count; i++) {
		const struct sn_packet *p = &e->packets.items[i];

		if (p->pressure_io_ns >= 0 && p->pressure_memory_ns >= 0) {
			if (!first || first->process != p->process)
				first = p;
			last = p;
		}
		if (i + 1 < e->packets.count && e->packets.items[i + 1].process == p->process)
			continue;
		if (first && last != first && first->process == p->process &&
		    r->process_members[p->process] != SN_ALL)
			process_value_add(
				r, source, "device_wait", r->process_members[p->process],
				fmax(0, (double)(last->pressure_io_ns - first->pressure_io_ns +
						 last->pressure_memory_ns -
						 first->pressure_memory_ns) /
						1e9));
	}
}

/* ---- memory ---- */

enum { FIFTHS = 5 };

/* Bytes a second by which resident memory grew from the second fifth of these packets to the last, if it grew from
 * each to the next; else 0. */
static double growth_of(const struct sn_packet *packets, size_t count)
{
	const struct sn_packet *at[FIFTHS];
	int64_t elapsed_ns;

	for (size_t i = 0; i < FIFTHS; i++)
		at[i] = &packets[(count - 1) * (i + 1) / FIFTHS];
	for (int i = 1; i < FIFTHS; i++)
		if (at[i]->resident_bytes <= at[i - 1]->resident_bytes)
			return 0;
	elapsed_ns = at[FIFTHS - 1]->time_ns - at[0]->time_ns;
	return elapsed_ns > 0 ? (double)(at[FIFTHS - 1]->resident_bytes - at[0]->resident_bytes) /
					((double)elapsed_ns / 1e9)
			      : 0;
}

static void memory_collect(struct sn_recorded *r, uint32_t source)
{
	const struct sn_experiment *e = r->profile->experiment;
	size_t first = 0;

	for (size_t end = 1; end <= e->packets.count; end++) {
		uint32_t process = e->packets.items[first].process;

		if (end < e->packets.count && e->packets.items[end].process == process)
			continue;
		if (end - first > FIFTHS && r->tables->phase_s >= SN_GROWTH_LEAST_S &&
		    r->process_members[process] != SN_ALL)
			process_value_add(r, source, "resident_growth", r->process_members[process],
					  growth_of(&e->packets.items[first], end - first));
		first = end;
	}
	for (uint32_t p = 0; p < r->tables->members[SN_KEY_PROCESS].count; p++)
		if (e->memory_bytes > 0)
			process_value_add(r, source, "memory_size", p, (double)e->memory_bytes);
}

/* ---- a part of the run, with accounts of its own ---- */

static void part_threads_collect(struct sn_recorded *r, uint32_t source)
{
	uint32_t delay = sn_tables_column(r->tables, "run_delay", NULL);
	uint32_t off = sn_tables_column(r->tables, "off_cpu", NULL);

	for (size_t i = 0; i < r->part->threads.count; i++) {
		const struct sn_part_thread *a = &r->part->threads.items[i];
		uint32_t t = a->cpu_ns < 0 ? SN_NONE : sn_recorded_part_thread(r, a);

		if (t == SN_NONE)
			continue;
		sn_recorded_add(r, off, source, SN_ALL, t,
				fmax(0, (double)(a->elapsed_ns - a->cpu_ns) / 1e9), NAN, tick_s);
		if (a->wait_cpu_ns >= 0)
			sn_recorded_add(r, delay, source, SN_ALL, t, (double)a->wait_cpu_ns / 1e9,
					NAN, tick_s);
	}
}

static void part_faults_collect(struct sn_recorded *r, uint32_t source)
{
	const struct sn_experiment *e = r->profile->experiment;

	for (size_t i = 0; i < r->part->processes.count; i++)
		for (uint32_t p = 0; p < e->processes.count; p++)
			if (sn_recorded_is_process(&e->processes.items[p],
						   r->part->processes.items[i].pid,
						   r->part->processes.items[i].host) &&
			    r->process_members[p] != SN_ALL) {
				faults_add(r, source, r->process_members[p],
					   r->part->processes.items[i].minor_faults,
					   r->part->processes.items[i].major_faults);
				break;
			}
}

/* Of the time without a CPU what the program does to itself. */
static void own_delays_collect(struct sn_recorded *r, uint32_t source)
{
	double *own_s = sn_delays_own_of_threads(r);
	uint32_t column = sn_tables_column(r->tables, "run_delay_own", NULL);

	for (uint32_t t = 0; own_s && t < r->profile->experiment->threads.count; t++)
		if (r->thread_members[t] != SN_ALL)
			sn_recorded_add(r, column, source, SN_ALL, t, own_s[t], NAN, tick_s);
	free(own_s);
}

/* Accounts are those of whole threads: a filter by time or code cuts through them. */
static void kernel_collect(struct sn_recorded *r)
{
	uint32_t source = sn_tables_source(r->tables, "kernel");

	if (r->part) {
		part_threads_collect(r, source);
		own_delays_collect(r, source);
		part_faults_collect(r, source);
		return;
	}

	if (r->profile->filter.from_ns || r->profile->filter.to_ns || r->profile->filter.module ||
	    r->profile->filter.function)
		return;
	threads_collect(r, source);
	own_delays_collect(r, source);
	faults_collect(r, source);
	pressure_collect(r, source);
	memory_collect(r, source);
}

static const char *const needs_of[] = {
	"resident_growth",
	"a longer run, of which the size of memory was read more often",
	"device_wait",
	"/proc/pressure (CONFIG_PSI) where the run was recorded",
	"memory_size",
	"a run that tells how much memory its host has",
	NULL
};
static const char *const of_long_runs[] = { "resident_growth", "device_wait", NULL };
static const char *const of_whole_runs[] = { "resident_growth", "device_wait", "memory_size",
					     NULL };

const struct sn_source sn_source_kernel = {
	.name = "kernel",
	.measures = "time without a CPU by thread, page faults and growth of memory by process",
	.needs = "/proc/PID/schedstat where the run was recorded",
	.needs_of = needs_of,
	.of_long_runs = of_long_runs,
	.of_whole_runs = of_whole_runs,
	.is_cut_by_time = true,
	.is_cut_by_code = true,
	.costs = "a read of the kernel's account a second",
	.collect = kernel_collect,
};
