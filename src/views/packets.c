/* The view of sample packets: what each process did between one and the next. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "views/parts.h"

enum {
	K_PROCESS,
	K_TIME,
	K_KIND,
	K_LABEL,
	K_INTERVAL,
	K_USER,
	K_SYSTEM,
	K_WAIT_CPU,
	K_MINOR,
	K_MAJOR,
	K_VOLUNTARY,
	K_INVOLUNTARY,
	K_READ,
	K_WRITE,
	K_RESIDENT,
	K_PRESSURE_CPU,
	K_PRESSURE_IO,
	K_PRESSURE_MEMORY,
};

static const struct sn_column packet_columns[] = {
	{ "process", "process", SN_CELL_INT, 0 },
	{ "t_s", "at s", SN_CELL_SECONDS, 0 },
	{ "kind", "packet", SN_CELL_TEXT, 0 },
	{ "label", "label", SN_CELL_TEXT, 0 },
	{ "interval_s", "since s", SN_CELL_SECONDS, 0 },
	{ "user_s", "user s", SN_CELL_SECONDS, 0 },
	{ "system_s", "system s", SN_CELL_SECONDS, 0 },
	{ "wait_cpu_s", "no CPU s", SN_CELL_SECONDS, 0 },
	{ "minor_faults", "minor faults", SN_CELL_INT, 0 },
	{ "major_faults", "major faults", SN_CELL_INT, 0 },
	{ "context_switches_voluntary", "switches", SN_CELL_INT, 0 },
	{ "context_switches_involuntary", "preempted", SN_CELL_INT, 0 },
	{ "io_read_bytes", "read B", SN_CELL_INT, 0 },
	{ "io_write_bytes", "written B", SN_CELL_INT, 0 },
	{ "resident_bytes", "resident B", SN_CELL_INT, 0 },
	{ "pressure_cpu_s", "host: no CPU s", SN_CELL_SECONDS, 0 },
	{ "pressure_io_s", "host: I/O s", SN_CELL_SECONDS, 0 },
	{ "pressure_memory_s", "host: memory s", SN_CELL_SECONDS, 0 },
};

static const char *const kinds[SN_PACKET_KINDS] = {
	[SN_PACKET_PERIODIC] = "periodic", [SN_PACKET_START] = "start",
	[SN_PACKET_END] = "end",	   [SN_PACKET_LABEL] = "label",
	[SN_PACKET_SIGNAL] = "signal",	   [SN_PACKET_PAUSE] = "pause",
	[SN_PACKET_RESUME] = "resume",	   [SN_PACKET_FORK] = "fork",
};

/* Of one process: the greatest value so far of each figure that only grows. The launcher and the
 * runtime read some in different steps, so a later one may be a little smaller. */
struct so_far {
	int32_t pid;
	const char *host;
	int64_t time_ns; /* of its last packet */
	bool has_packet;
	int64_t values[K_PRESSURE_MEMORY + 1]; /* by column; -1: not known yet */
};

static void growth_take(struct so_far *so_far, size_t column, int64_t value, struct sn_table *table)
{
	int64_t before = so_far->values[column];

	if (value < 0)
		return; /* the next one that is known has it, too */
	if (before < 0) {
		so_far->values[column] = value;
		return;
	}
	if (value < before)
		value = before;
	so_far->values[column] = value;
	if (!table)
		return;
	if (packet_columns[column].kind == SN_CELL_INT)
		sn_table_set_int(table, column, value - before);
	else
		sn_table_set_real(table, column, (double)(value - before) * 1e-9);
}

static int64_t count_of(uint64_t count)
{
	return count > INT64_MAX ? -1 : (int64_t)count;
}

/* Images of one process follow each other by exec: the kernel's counts go on. */
static struct so_far *so_far_find(struct so_far *all, size_t *count,
				  const struct sn_process *process)
{
	struct so_far *at = all;

	while (at < all + *count &&
	       (at->pid != process->pid || strcmp(at->host, process->host) != 0))
		at++;
	if (at == all + *count) {
		*at = (struct so_far){ .pid = process->pid, .host = process->host };
		/* of what the process itself did, all counts began at zero; the host's did not */
		for (size_t c = K_PRESSURE_CPU; c <= K_PRESSURE_MEMORY; c++)
			at->values[c] = -1;
		*count += 1;
	}
	return at;
}

/* `table` NULL: the packet is not shown, but those behind it count from it. */
static void growths_take(const struct sn_packet *packet, struct so_far *so_far,
			 struct sn_table *table)
{
	const int64_t values[K_PRESSURE_MEMORY + 1] = {
		[K_USER] = packet->user_ns,
		[K_SYSTEM] = packet->system_ns,
		[K_WAIT_CPU] = packet->wait_cpu_ns,
		[K_MINOR] = count_of(packet->minor_faults),
		[K_MAJOR] = count_of(packet->major_faults),
		[K_VOLUNTARY] = count_of(packet->voluntary_switches),
		[K_INVOLUNTARY] = count_of(packet->involuntary_switches),
		[K_READ] = packet->io_read_bytes,
		[K_WRITE] = packet->io_write_bytes,
		[K_PRESSURE_CPU] = packet->pressure_cpu_ns,
		[K_PRESSURE_IO] = packet->pressure_io_ns,
		[K_PRESSURE_MEMORY] = packet->pressure_memory_ns,
	};

	for (size_t c = K_USER; c <= K_PRESSURE_MEMORY; c++)
		if (c != K_RESIDENT)
			growth_take(so_far, c, values[c], table);
	so_far->has_packet = true;
	so_far->time_ns = packet->time_ns;
}

static void packet_begin(const struct sn_packet *packet, const struct so_far *so_far,
			 struct sn_table *table)
{
	sn_table_add_row(table);
	sn_table_set_int(table, K_PROCESS, packet->process);
	sn_table_set_real(table, K_TIME, (double)packet->time_ns * 1e-9);
	sn_table_set_text(table, K_KIND, kinds[packet->kind]);
	sn_table_set_text(table, K_LABEL, packet->label);
	if (so_far->has_packet)
		sn_table_set_real(table, K_INTERVAL,
				  (double)(packet->time_ns - so_far->time_ns) * 1e-9);
	if (packet->resident_bytes)
		sn_table_set_int(table, K_RESIDENT, (int64_t)packet->resident_bytes);
}

static sn_status packets_fill(const struct sn_view_input *input, struct sn_table *table,
			      struct sn_error *err)
{
	const struct sn_profile *profile = input->profile;
	const struct sn_experiment *e = profile->experiment;
	struct so_far *all = sn_alloc((e->processes.count + 1) * sizeof(*all));
	uint8_t *passes = sn_alloc_zeroed(e->processes.count + 1, 1);
	size_t count = 0;

	(void)err;
	for (size_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].process < e->processes.count)
			passes[e->threads.items[t].process] |= profile->thread_passes[t];
	for (size_t i = 0; i < e->packets.count; i++) {
		const struct sn_packet *packet = &e->packets.items[i];
		struct so_far *so_far;
		bool is_shown;

		if (packet->process >= e->processes.count)
			continue;
		so_far = so_far_find(all, &count, &e->processes.items[packet->process]);
		is_shown = passes[packet->process] && packet->time_ns >= profile->from_ns &&
			   packet->time_ns < profile->to_ns;
		if (is_shown)
			packet_begin(packet, so_far, table);
		growths_take(packet, so_far, is_shown ? table : NULL);
	}
	free(passes);
	free(all);
	return SN_OK;
}

static void why_empty(const struct sn_view_input *input, struct sn_text *out)
{
	if (!input->profile->experiment->packets.count)
		sn_text_add(out, "no sample packet was written: processes that are sampled from "
				 "outside for less than a second have none");
}

static const struct sn_explanation packet_words[] = {
	{ "interval_s", "time",
	  "In 'show packets': time since the process's packet before. All figures of a row are of "
	  "this interval, but for resident_bytes.",
	  NULL },
	{ "context_switches_voluntary", "count",
	  "How often threads of the process gave up a CPU, to wait. Null where only the launcher could "
	  "look, since the process slept: the next packet has them too.",
	  NULL },
	{ "context_switches_involuntary", "count",
	  "How often threads of the process were taken off a CPU for others.", NULL },
	{ "minor_faults", "count", "Page faults that needed no reading from a disk.", NULL },
	{ "major_faults", "count", "Page faults that waited for a disk.", NULL },
	{ "io_read_bytes", "bytes",
	  "Bytes that read and its kin returned, from files, pipes and sockets (rchar of the kernel). "
	  "What packets themselves read of /proc is taken off; the first packet has the loader's.",
	  NULL },
	{ "io_write_bytes", "bytes", "Bytes that write and its kin took (wchar of the kernel).",
	  NULL },
	{ "resident_bytes", "bytes", "Memory of the process that was resident at the packet.",
	  NULL },
	{ "pressure_cpu_s", "time",
	  "Of the whole host: time in which some task waited for a CPU (/proc/pressure).", NULL },
	{ "pressure_io_s", "time", "Of the whole host: time in which some task waited for I/O.",
	  NULL },
	{ "pressure_memory_s", "time",
	  "Of the whole host: time in which some task waited for memory.", NULL },
	{ 0 },
};

const struct sn_view sn_view_packets = {
	.name = "packets",
	.title =
		"sample packets: CPU, faults, switches, I/O of each process, second by second and by label",
	.schema = "sonde.packets/1",
	.columns = packet_columns,
	.column_count = sizeof(packet_columns) / sizeof(*packet_columns),
	.words = packet_words,
	.text_columns =
		"process,t_s,kind,label,user_s,system_s,wait_cpu_s,minor_faults,major_faults,"
		"context_switches_voluntary,context_switches_involuntary,io_read_bytes,"
		"io_write_bytes,resident_bytes",
	.is_listing = true,
	.page_title = "Packets",
	.fill = packets_fill,
	.why_empty = why_empty,
};
