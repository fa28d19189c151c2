/* The view of statistics: the kernel's whole account of each process, as getrusage has it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "views/parts.h"

enum {
	R_PROCESS,
	R_PID,
	R_RANK,
	R_PROGRAM,
	R_ELAPSED,
	R_USER,
	R_SYSTEM,
	R_WAIT_CPU,
	R_MINOR,
	R_MAJOR,
	R_VOLUNTARY,
	R_INVOLUNTARY,
	R_READ,
	R_WRITE,
	R_RESIDENT,
	R_COLUMNS,
};

static const struct sn_column statistics_columns[] = {
	{ "process", "process", SN_CELL_INT, 0 },
	{ "pid", "pid", SN_CELL_INT, 0 },
	{ "rank", NULL, SN_CELL_INT, 0 },
	{ "program", "program", SN_CELL_TEXT, 0 },
	{ "elapsed_s", "elapsed s", SN_CELL_SECONDS, 0 },
	{ "user_s", "user s", SN_CELL_SECONDS, 0 },
	{ "system_s", "system s", SN_CELL_SECONDS, 0 },
	{ "wait_cpu_s", "no CPU s", SN_CELL_SECONDS, 0 },
	{ "minor_faults", "minor faults", SN_CELL_INT, 0 },
	{ "major_faults", "major faults", SN_CELL_INT, 0 },
	{ "context_switches_voluntary", "switches", SN_CELL_INT, 0 },
	{ "context_switches_involuntary", "preempted", SN_CELL_INT, 0 },
	{ "io_read_bytes", "read B", SN_CELL_INT, 0 },
	{ "io_write_bytes", "written B", SN_CELL_INT, 0 },
	{ "resident_most_bytes", "resident B", SN_CELL_INT, 0 },
};

/* Of one process: the greatest value of each figure that only grows, as packets had it; -1: none had. */
struct sums {
	int64_t values[R_COLUMNS];
};

static int64_t count_of(uint64_t count)
{
	return count > INT64_MAX ? -1 : (int64_t)count;
}

static void packet_take(const struct sn_packet *packet, struct sums *sums)
{
	const int64_t values[R_COLUMNS] = {
		[R_USER] = packet->user_ns,
		[R_SYSTEM] = packet->system_ns,
		[R_WAIT_CPU] = packet->wait_cpu_ns,
		[R_MINOR] = count_of(packet->minor_faults),
		[R_MAJOR] = count_of(packet->major_faults),
		[R_VOLUNTARY] = count_of(packet->voluntary_switches),
		[R_INVOLUNTARY] = count_of(packet->involuntary_switches),
		[R_READ] = packet->io_read_bytes,
		[R_WRITE] = packet->io_write_bytes,
		[R_RESIDENT] = packet->resident_bytes ? count_of(packet->resident_bytes) : -1,
	};

	for (size_t c = R_USER; c < R_COLUMNS; c++)
		if (values[c] > sums->values[c])
			sums->values[c] = values[c];
}

/* The image that an exec made of this one: the kernel's account goes on there, so this one has no row. */
static bool goes_on(const struct sn_experiment *e, uint32_t number)
{
	const struct sn_process *p = &e->processes.items[number];

	for (size_t i = 0; i < e->processes.count; i++) {
		const struct sn_process *other = &e->processes.items[i];

		if (other->follows_exec && other->pid == p->pid &&
		    other->sequence == p->sequence + 1 && !strcmp(other->host, p->host))
			return true;
	}
	return false;
}

static void row_add(struct sn_table *table, const struct sn_process *p, const struct sums *sums)
{
	sn_table_add_row(table);
	sn_table_set_int(table, R_PROCESS, p->index);
	sn_table_set_int(table, R_PID, p->pid);
	if (p->rank >= 0)
		sn_table_set_int(table, R_RANK, p->rank);
	sn_table_set_text(table, R_PROGRAM, sn_base_name(p->program));
	sn_table_set_real(table, R_ELAPSED, (double)(p->end_ns - p->start_ns) * 1e-9);
	for (size_t c = R_USER; c < R_COLUMNS; c++) {
		if (sums->values[c] < 0)
			continue;
		if (statistics_columns[c].kind == SN_CELL_INT)
			sn_table_set_int(table, c, sums->values[c]);
		else
			sn_table_set_real(table, c, (double)sums->values[c] * 1e-9);
	}
}

static sn_status statistics_fill(const struct sn_view_input *input, struct sn_table *table,
				 struct sn_error *err)
{
	const struct sn_experiment *e = input->profile->experiment;
	size_t count = e->processes.count;
	struct sums *all = sn_alloc_zeroed(count + 1, sizeof(*all));

	(void)err;
	for (size_t p = 0; p < count; p++)
		for (size_t c = 0; c < R_COLUMNS; c++)
			all[p].values[c] = -1;
	for (size_t i = 0; i < e->packets.count; i++)
		if (e->packets.items[i].process < count)
			packet_take(&e->packets.items[i], &all[e->packets.items[i].process]);
	for (uint32_t p = 0; p < count; p++)
		if (!goes_on(e, p))
			row_add(table, &e->processes.items[p], &all[p]);
	free(all);
	return SN_OK;
}

static const struct sn_explanation statistics_words[] = {
	{ "resident_most_bytes", "bytes",
	  "The most memory of the process that was resident at one of its packets.",
	  "resident_bytes" },
	{ 0 },
};

const struct sn_view sn_view_statistics = {
	.name = "statistics",
	.title = "the kernel's account of each process: CPU time, faults, switches, I/O, memory",
	.schema = "sonde.statistics/1",
	.columns = statistics_columns,
	.column_count = sizeof(statistics_columns) / sizeof(*statistics_columns),
	.words = statistics_words,
	.text_columns = "process,program,elapsed_s,user_s,system_s,wait_cpu_s,minor_faults,"
			"major_faults,context_switches_voluntary,context_switches_involuntary,"
			"io_read_bytes,io_write_bytes,resident_most_bytes",
	.is_listing = true,
	.page_title = "Statistics",
	.fill = statistics_fill,
};
