/*
 * Writes the records that are no samples: mapped images, threads, texts, accounts and packets, in
 * the layout that the runtime uses.
 */
#include "record/outside_parts.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "record/outside_proc.h"

enum { ROOM_CHUNKS = 64 }; /* ask for more space when fewer are left */

int64_t sn_outside_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The writer of what concerns the process: that of its first thread. */
static struct sn_writer *main_writer(struct sn_outside *o)
{
	return &o->threads.items[0]->writer;
}

void sn_outside_room_make(struct sn_outside *o)
{
	struct sn_data_header *h = sn_outside_header(o);

	if (o->options.feed && h->next_chunk + ROOM_CHUNKS > h->chunks_backed)
		o->options.feed(o->options.feed_context);
}

static void *record_reserve(struct sn_outside *o, struct sn_writer *writer, uint8_t type,
			    uint8_t flags, size_t bytes)
{
	struct sn_record_header *record;

	bytes = (bytes + 7) & ~(size_t)7;
	record = sn_writer_reserve(writer, (uint32_t)bytes, sn_outside_now_ns());
	if (!record) {
		sn_writer_count_loss(&o->file.shared, SN_LOSS_NO_SPACE, 1);
		return NULL;
	}
	memset(record, 0, bytes);
	*record = (struct sn_record_header){ .type = type,
					     .flags = flags,
					     .size_bytes = (uint16_t)bytes };
	return record;
}

static void record_commit(struct sn_writer *writer, const void *record)
{
	sn_writer_commit(writer, ((const struct sn_record_header *)record)->size_bytes);
}

void sn_outside_text_write(struct sn_outside *o, uint8_t kind, const char *text, size_t length)
{
	sn_writer_text(main_writer(o), sn_outside_now_ns(), kind, text, length);
}

void sn_outside_say(struct sn_outside *o, struct sn_text *sentence)
{
	sn_outside_text_write(o, SN_TEXT_WARNING, sentence->chars, strlen(sentence->chars));
	sn_text_free(sentence);
}

static void map_write(struct sn_outside *o, struct sn_outside_image *image)
{
	size_t length = strlen(image->path);
	struct sn_record_map *record;

	if (length > SN_DATA_STRING_MAX)
		length = SN_DATA_STRING_MAX;
	record = record_reserve(o, main_writer(o), SN_RECORD_MAP, image->flags,
				offsetof(struct sn_record_map, path) + length + 1);
	if (!record)
		return;
	record->path_bytes = (uint32_t)length;
	record->time_ns = o->images.generation <= 1 ? o->began_ns : sn_outside_now_ns();
	record->load_start = image->load_start;
	record->load_end = image->load_end;
	record->load_bias = image->load_bias;
	record->file_offset = image->file_offset;
	record->build_id_bytes = image->build_id_bytes;
	memcpy(record->build_id, image->build_id, sizeof(record->build_id));
	memcpy(record->path, image->path, length);
	record_commit(main_writer(o), record);
	image->is_told = true;
}

static void unmap_write(struct sn_outside *o, struct sn_outside_image *image)
{
	struct sn_record_unmap *record =
		record_reserve(o, main_writer(o), SN_RECORD_UNMAP, 0, sizeof(*record));

	if (!record)
		return;
	record->time_ns = sn_outside_now_ns();
	record->load_start = image->load_start;
	record->load_end = image->load_end;
	record_commit(main_writer(o), record);
	image->is_gone = true;
}

void sn_outside_look_at_images(struct sn_outside *o)
{
	o->wants_images = false;
	if (!sn_outside_images_look(&o->images, o->options.pid))
		return;
	for (size_t i = 0; i < o->images.list.count; i++) {
		struct sn_outside_image *image = o->images.list.items[i];

		if (!image->is_told)
			map_write(o, image);
		if (!image->is_there && !image->is_gone)
			unmap_write(o, image);
	}
}

void sn_outside_thread_start_write(struct sn_outside *o, struct sn_outside_thread *thread,
				   int64_t time_ns)
{
	struct sn_record_thread_start *record =
		record_reserve(o, &thread->writer, SN_RECORD_THREAD_START, 0, sizeof(*record));

	sn_outside_header(o)->threads_started++;
	if (!record)
		return;
	record->thread_index = thread->index;
	record->tid = thread->tid;
	record->creator_index = UINT32_MAX;
	record->time_ns = time_ns;
	record_commit(&thread->writer, record);
}

/* What the thread used in this image, as its samples say; user and system by its samples' modes. */
void sn_outside_account_write(struct sn_outside *o, struct sn_outside_thread *thread, uint8_t type)
{
	uint64_t sampled_ns = thread->user_ns + thread->system_ns;
	uint64_t cpu_ns = sampled_ns + thread->unseen_ns;
	double system_share = sampled_ns ? (double)thread->system_ns / (double)sampled_ns : 0;
	struct sn_record_thread_account *record =
		record_reserve(o, &thread->writer, type, 0, sizeof(*record));

	if (!record)
		return;
	record->thread_index = thread->index;
	record->time_ns = sn_outside_now_ns();
	record->cpu_ns = (int64_t)cpu_ns;
	record->system_ns = (int64_t)((double)cpu_ns * system_share);
	record->user_ns = record->cpu_ns - record->system_ns;
	record->wait_cpu_ns =
		thread->wait_cpu_ns < 0 ? -1 : thread->wait_cpu_ns - thread->wait_before_ns;
	record->voluntary_switches = thread->voluntary;
	record->involuntary_switches = thread->involuntary;
	memcpy(record->name, thread->name, sizeof(record->name));
	record_commit(&thread->writer, record);
}

void sn_outside_counters_write(struct sn_outside *o)
{
	for (uint32_t i = 0; i < o->options.counter_count; i++) {
		const struct sn_counter_spec *spec = &o->options.counters[i];
		struct sn_record_counter *record =
			record_reserve(o, main_writer(o), SN_RECORD_COUNTER, 0, sizeof(*record));

		if (!record)
			return;
		record->index = i;
		record->period = spec->period;
		record->hz = spec->hz;
		record->flags = spec->flags;
		memcpy(record->name, spec->name, sizeof(record->name));
		record_commit(main_writer(o), record);
	}
}

void sn_outside_count_write(struct sn_outside *o, struct sn_outside_thread *thread, uint32_t index,
			    const struct sn_counter_sample *sample, uint32_t stack, uint64_t count)
{
	bool has_address = o->options.counters[index].flags & SN_COUNTER_ADDRESSES;
	uint8_t flags = (uint8_t)((has_address ? SN_COUNT_ADDRESS : 0) |
				  (sample->is_exact ? SN_COUNT_EXACT : 0) |
				  (sample->is_kernel ? SN_COUNT_IN_KERNEL : 0));
	bool is_long = has_address || sample->is_exact;
	struct sn_record_count *record = record_reserve(o, &thread->writer, SN_RECORD_COUNT, flags,
							is_long ? sizeof(struct sn_record_count)
								: (size_t)SN_COUNT_BYTES_LEAST);

	if (!record)
		return;
	sn_outside_header(o)->handler_count++;
	record->stack = stack;
	record->time_ns = (int64_t)sample->time_ns;
	record->count = count;
	record->counter = (uint16_t)index;
	record->cpu = (uint16_t)sample->cpu;
	record->counted_share = 65535;
	if (sample->running_ns < sample->enabled_ns)
		record->counted_share =
			(uint16_t)((double)sample->running_ns / (double)sample->enabled_ns * 65535);
	if (is_long) {
		record->pc = sample->pc;
		record->address = sample->address;
		record->data_source = sample->data_source;
		record->weight = sample->weight;
	}
	record_commit(&thread->writer, record);
}

void sn_outside_packet_write(struct sn_outside *o)
{
	struct sn_proc_stat_fields fields;
	struct sn_record_packet *record;

	if (!sn_proc_stat(o->options.pid, 0, &fields))
		return;
	record = record_reserve(o, main_writer(o), SN_RECORD_PACKET, 0, sizeof(*record));
	if (!record)
		return;
	record->time_ns = sn_outside_now_ns();
	record->user_ns = fields.user_ns - o->first_user_ns;
	record->system_ns = fields.system_ns - o->first_system_ns;
	record->wait_cpu_ns = -1;
	record->minor_faults = fields.minor_faults;
	record->major_faults = fields.major_faults;
	record->resident_bytes = fields.resident_bytes;
	record->voluntary_switches = record->involuntary_switches = UINT64_MAX;
	record->io_read_bytes = record->io_write_bytes = -1;
	record->pressure_cpu_ns = record->pressure_io_ns = record->pressure_memory_ns = -1;
	record_commit(main_writer(o), record);
}
