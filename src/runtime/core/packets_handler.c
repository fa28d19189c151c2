/*
 * Sample packets: the global data of a process, each second and at events of the program. Whatever
 * thread of ours is at work when one is due writes it: there is no helper thread in the target. The
 * launcher writes those of a process that sleeps.
 */
#include "runtime/core/packets.h"

#include <string.h>
#include <sys/resource.h>

#include "runtime/core/adopt.h"
#include "runtime/core/parse.h"

enum { LABEL_MAX = 255 }; /* bytes; include/sonde/control.h says so */

/* Bytes of a text, of its first LABEL_MAX. */
static uint32_t label_length(const char *label)
{
	uint32_t length = 0;

	while (label && length < LABEL_MAX && label[length])
		length++;
	return length;
}

static int64_t time_ns(struct timeval time)
{
	return time.tv_sec * 1000000000 + time.tv_usec * 1000;
}

/* The number behind `name` in the text of a file of /proc. -1: it is not there. */
static int64_t number_after(const char *text, const char *name)
{
	size_t length = strlen(name);

	while (*text) {
		if (strncmp(text, name, length) == 0) {
			text += length;
			return (int64_t)sn_parse_number(&text);
		}
		text = strchr(text, '\n');
		if (!text)
			return -1;
		text++;
	}
	return -1;
}

/* Two figures that the launcher leaves in the header once a second; at an event of the program they
 * are read as they are now. */
static void look(struct sn_record_packet *packet)
{
	char text[512];
	const char *at = text;

	uint64_t length = (uint64_t)sn_read_file_raw("/proc/self/io", text, sizeof text);
	int64_t read_bytes = number_after(text, "rchar:"),
		write_bytes = number_after(text, "wchar:");
	if (read_bytes >= 0 && write_bytes >= 0) {
		packet->io_read_bytes = read_bytes - (int64_t)atomic_fetch_add(
							     &sn_header()->own_read_bytes, length);
		packet->io_write_bytes = write_bytes;
	}
	length = (uint64_t)sn_read_file_raw("/proc/self/statm", text, sizeof text);
	atomic_fetch_add(&sn_header()->own_read_bytes, length);
	if (length) {
		sn_parse_number(&at); /* the size of all that is mapped */
		packet->resident_bytes = sn_parse_number(&at) * 4096;
	}
}

void sn_packet_write(struct sn_thread *self, enum sn_packet_kind kind, const char *label,
		     int64_t now_ns)
{
	struct sn_data_header *header = sn_header();
	uint32_t label_bytes = label_length(label);
	struct sn_record_packet packet;
	struct rusage usage;

	if (sn_state->is_sealed || SYS(getrusage, RUSAGE_SELF, &usage) != 0)
		return;
	packet = (struct sn_record_packet){
		.header = { .type = SN_RECORD_PACKET,
			    .flags = (uint8_t)kind,
			    .size_bytes = (uint16_t)((sizeof packet + label_bytes + 8) & ~7UL) },
		.label_bytes = label_bytes,
		.time_ns = now_ns,
		.user_ns = time_ns(usage.ru_utime),
		.system_ns = time_ns(usage.ru_stime),
		/* by thread, so it would take too long here: the launcher leaves it in the header */
		.wait_cpu_ns = header->wait_cpu_ns ? header->wait_cpu_ns : -1,
		.minor_faults = (uint64_t)usage.ru_minflt,
		.major_faults = (uint64_t)usage.ru_majflt,
		.voluntary_switches = (uint64_t)usage.ru_nvcsw,
		.involuntary_switches = (uint64_t)usage.ru_nivcsw,
		.resident_bytes = header->resident_bytes,
		.io_read_bytes = header->io_read_bytes,
		.io_write_bytes = header->io_write_bytes,
		.pressure_cpu_ns = header->pressure_cpu_ns,
		.pressure_io_ns = header->pressure_io_ns,
		.pressure_memory_ns = header->pressure_memory_ns,
	};
	if (kind != SN_PACKET_PERIODIC)
		look(&packet);
	struct sn_record_packet *record =
		sn_writer_reserve(&self->writer, packet.header.size_bytes, now_ns);
	if (!record) {
		sn_lose(SN_LOSS_NO_SPACE);
		return;
	}
	*record = packet;
	for (uint32_t i = 0; i < label_bytes; i++)
		record->label[i] = label[i];
	record->label[label_bytes] = '\0';
	sn_writer_commit(&self->writer, packet.header.size_bytes);
	header->end_user_ns = packet.user_ns;
	header->end_system_ns = packet.system_ns;
	header->packet_ns = now_ns;
}

void sn_packet_if_due(struct sn_thread *self, int64_t now_ns)
{
	int64_t due_ns = atomic_load_explicit(&sn_state->next_packet_ns, memory_order_relaxed);

	if (now_ns < due_ns || sn_state->is_sealed ||
	    !atomic_compare_exchange_strong(&sn_state->next_packet_ns, &due_ns,
					    now_ns + (int64_t)sn_config.settings.packets_ns))
		return;
	sn_count_raw_threads();
	sn_adopt_look_again();
	sn_packet_write(self, SN_PACKET_PERIODIC, NULL, now_ns);
}
