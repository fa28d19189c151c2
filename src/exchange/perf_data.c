/*
 * Reads a perf.data file in two steps: the places of all wanted records are found and sorted by
 * time, then each is decoded when it is asked for. Compressed records are unpacked in the first
 * step.
 */
#include "exchange/perf_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/cursor.h"

struct sn_perf_place {
	int64_t time_ns;
	uint64_t order; /* in the file, so that equal times keep it */
	const uint8_t *bytes;
};

/* perf_event_open(2) and linux/perf_event.h: numbers of the kernel's interface. */
enum {
	RECORD_MMAP = 1,
	RECORD_LOST,
	RECORD_COMM,
	RECORD_EXIT,
	RECORD_THROTTLE,
	RECORD_UNTHROTTLE,
	RECORD_FORK,
	RECORD_READ,
	RECORD_SAMPLE,
	RECORD_MMAP2,
	RECORD_LOST_SAMPLES = 13,
	RECORD_COMPRESSED = 81,
	HEADER_BYTES = 8
};
enum {
	SAMPLE_IP = 1,
	SAMPLE_TID = 2,
	SAMPLE_TIME = 4,
	SAMPLE_ADDR = 8,
	SAMPLE_READ = 16,
	SAMPLE_CALLCHAIN = 32,
	SAMPLE_ID = 64,
	SAMPLE_CPU = 128,
	SAMPLE_PERIOD = 256,
	SAMPLE_STREAM_ID = 512,
	SAMPLE_RAW = 1024,
	SAMPLE_BRANCHES = 2048,
	SAMPLE_REGS = 4096,
	SAMPLE_STACK = 8192,
	SAMPLE_IDENTIFIER = 65536
};
enum { READ_ENABLED = 1, READ_RUNNING = 2, READ_ID = 4, READ_GROUP = 8, READ_LOST = 16 };
enum {
	MISC_CPUMODE = 7,
	MISC_KERNEL = 1,
	MISC_EXEC = 1 << 13,
	MISC_BUILD_ID = 1 << 14,
	BRANCH_HW_INDEX = 1 << 17,
	MAP_EXECUTABLE = 4
};
enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME,
	FEATURE_KERNEL,
	FEATURE_CPU = 8,
	FEATURE_CMDLINE = 11,
	FEATURES = 256
};

static uint32_t word_at(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint16_t half_at(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t long_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* ---- the file's header ---- */

/** A window of the file; an empty cursor in error if it does not lie within. */
static struct sn_cursor window(const struct sn_perf_data *d, uint64_t offset, uint64_t length)
{
	struct sn_cursor cur = sn_cursor_over(d->file.bytes, d->file.length);

	if (offset > d->file.length || length > d->file.length - offset)
		sn_cursor_fail(&cur);
	else
		cur = sn_cursor_over(d->file.bytes + offset, length);
	return cur;
}

static const char *event_name(struct sn_perf_data *d, uint32_t type, uint64_t config)
{
	static const char *const hardware[] = { "cycles",	"instructions", "cache-references",
						"cache-misses", "branches",	"branch-misses" };
	static const char *const software[] = { "cpu-clock", "task-clock", "page-faults",
						"context-switches" };

	if (type == 0 && (config & 0xff) < sizeof(hardware) / sizeof(*hardware))
		return hardware[config & 0xff];
	if (type == 1 && config < sizeof(software) / sizeof(*software))
		return software[config];
	return sn_arena_printf(&d->arena, "event %" PRIu32 ":%" PRIx64, type, config);
}

/** The first event is the one that is read; its identities tell its samples from others'. */
static sn_status read_attributes(struct sn_perf_data *d, uint64_t offset, uint64_t length,
				 uint64_t entry_bytes, struct sn_error *err)
{
	struct sn_cursor cur = window(d, offset, length), ids;
	const uint8_t *attr;
	uint64_t flags;

	if (entry_bytes < 64 + 16 || entry_bytes > 4096 || length < entry_bytes ||
	    !(attr = sn_cursor_bytes(&cur, entry_bytes)))
		return sn_error_set(err, SN_ERR_FORMAT, "import: the file describes no event");
	d->other_events = (uint32_t)(length / entry_bytes - 1);
	d->event = event_name(d, word_at(attr), long_at(attr + 8));
	d->event_is_time = word_at(attr) == 1 && long_at(attr + 8) <= 1;
	flags = long_at(attr + 40);
	d->has_sample_id = flags >> 18 & 1;
	if (flags >> 10 & 1)
		d->frequency_hz = (double)long_at(attr + 16);
	else
		d->sample_period = long_at(attr + 16);
	d->sample_type = long_at(attr + 24);
	d->read_format = long_at(attr + 32);
	d->branch_type = entry_bytes >= 80 + 16 ? long_at(attr + 72) : 0;
	d->regs_mask = entry_bytes >= 88 + 16 ? long_at(attr + 80) : 0;
	d->has_stacks = (d->sample_type & SAMPLE_REGS) && (d->sample_type & SAMPLE_STACK);
	if (!(d->sample_type & SAMPLE_TID) || !(d->sample_type & SAMPLE_TIME) ||
	    !(d->sample_type & SAMPLE_IP))
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "import: the samples have no time, thread or address; record "
				    "with 'perf record -T'");
	ids = window(d, long_at(attr + entry_bytes - 16), long_at(attr + entry_bytes - 8));
	while (sn_cursor_left(&ids) >= 8)
		sn_vec_push(&d->ids, sn_cursor_u64(&ids));
	return SN_OK;
}

static const char *header_string(struct sn_perf_data *d, struct sn_cursor *cur)
{
	uint32_t length = sn_cursor_u32(cur);
	const uint8_t *bytes = length <= sn_cursor_left(cur) ? sn_cursor_bytes(cur, length) : NULL;

	if (!bytes || !length)
		return NULL;
	return sn_arena_strndup(&d->arena, (const char *)bytes,
				strnlen((const char *)bytes, length));
}

static void read_build_ids(struct sn_perf_data *d, struct sn_cursor *cur)
{
	while (sn_cursor_left(cur) >= 36 + HEADER_BYTES - 8) {
		const uint8_t *at = cur->next;
		uint16_t size = half_at(at + 6);
		struct sn_perf_build_id id = { .bytes = at + 12, .length = 20 };

		if (size < 37 || size > sn_cursor_left(cur))
			break;
		if ((half_at(at + 4) & 1 << 15) && at[32] && at[32] <= 20)
			id.length = at[32];
		id.path = sn_arena_strndup(&d->arena, (const char *)at + 36,
					   strnlen((const char *)at + 36, size - 36u));
		sn_vec_push(&d->build_ids, id);
		sn_cursor_skip(cur, size);
	}
}

static void read_command_line(struct sn_perf_data *d, struct sn_cursor *cur)
{
	uint32_t count = sn_cursor_u32(cur);
	struct sn_text line = { 0 };

	for (uint32_t i = 0; i < count && i < 4096 && cur->status == SN_OK; i++) {
		const char *word = header_string(d, cur);

		if (i)
			sn_text_add(&line, " ");
		sn_text_add(&line, word ? word : "");
	}
	if (line.length)
		d->arguments = sn_arena_strdup(&d->arena, line.chars);
	sn_text_free(&line);
}

/** Behind the data: one (offset, length) for each feature bit that is set, in order. */
static void read_features(struct sn_perf_data *d, const uint8_t *bits, uint64_t offset)
{
	for (unsigned bit = 0; bit < FEATURES; bit++) {
		struct sn_cursor place, cur;
		uint64_t at;

		if (!(bits[bit / 8] >> (bit % 8) & 1))
			continue;
		place = window(d, offset, 16);
		offset += 16;
		at = sn_cursor_u64(&place);
		cur = window(d, at, sn_cursor_u64(&place));
		if (place.status != SN_OK)
			return;
		if (bit == FEATURE_HOSTNAME)
			d->hostname = header_string(d, &cur);
		else if (bit == FEATURE_KERNEL)
			d->kernel = header_string(d, &cur);
		else if (bit == FEATURE_CPU)
			d->cpu_model = header_string(d, &cur);
		else if (bit == FEATURE_CMDLINE)
			read_command_line(d, &cur);
		else if (bit == FEATURE_BUILD_ID)
			read_build_ids(d, &cur);
	}
}

/* ---- finding the events ---- */

/** Bytes of the sample_id that ends records other than samples. */
static uint32_t sample_id_bytes(const struct sn_perf_data *d)
{
	static const uint32_t parts[] = { SAMPLE_TID,	    SAMPLE_TIME, SAMPLE_ID,
					  SAMPLE_STREAM_ID, SAMPLE_CPU,	 SAMPLE_IDENTIFIER };
	uint32_t bytes = 0;

	if (!d->has_sample_id)
		return 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (d->sample_type & parts[i])
			bytes += 8;
	return bytes;
}

/** When the record happened, read without the rest. */
static bool find_time(const struct sn_perf_data *d, const uint8_t *record, int64_t *time_ns)
{
	uint16_t size = half_at(record + 6);
	uint32_t at = HEADER_BYTES, tail = sample_id_bytes(d);

	if (word_at(record) == RECORD_SAMPLE) {
		at += (d->sample_type & SAMPLE_IDENTIFIER ? 8 : 0) + 8 + 8; /* identity, ip, tid */
	} else {
		if (!tail || size < HEADER_BYTES + tail) {
			*time_ns = 0;
			return true;
		}
		at = size - tail + 8; /* behind the thread */
	}
	if (at + 8u > size)
		return false;
	*time_ns = (int64_t)(long_at(record + at) & INT64_MAX);
	return true;
}

static bool is_wanted(uint32_t type)
{
	return type == RECORD_MMAP || type == RECORD_MMAP2 || type == RECORD_COMM ||
	       type == RECORD_FORK || type == RECORD_EXIT || type == RECORD_SAMPLE ||
	       type == RECORD_LOST || type == RECORD_LOST_SAMPLES;
}

static void add_place(struct sn_perf_data *d, const uint8_t *record)
{
	struct sn_perf_place place = { .order = d->place_count, .bytes = record };

	if (!find_time(d, record, &place.time_ns)) {
		d->damaged++;
		return;
	}
	if (d->place_count == d->place_capacity)
		d->places = sn_vec_grow(d->places, &d->place_capacity, d->place_count + 1,
					sizeof(*d->places));
	d->places[d->place_count++] = place;
}

/** Unpacks one compressed record behind what was unpacked before: events may lie across two. */
static bool unpack(struct sn_perf_data *d, ZSTD_DStream *stream, const uint8_t *record)
{
	ZSTD_inBuffer in = { record + HEADER_BYTES, half_at(record + 6) - (size_t)HEADER_BYTES, 0 };
	char room[65536];

	while (in.pos < in.size) {
		ZSTD_outBuffer out = { room, sizeof(room), 0 };
		size_t result = ZSTD_decompressStream(stream, &out, &in);

		if (ZSTD_isError(result) || d->unpacked.length > UINT32_MAX)
			return false;
		sn_text_add_bytes(&d->unpacked, room, out.pos);
	}
	return true;
}

/** Notes every wanted record of the bytes; compressed ones are unpacked on the way. */
static void find_records(struct sn_perf_data *d, const uint8_t *bytes, uint64_t length,
			 ZSTD_DStream *stream)
{
	uint64_t at = 0;

	while (length - at >= HEADER_BYTES) {
		const uint8_t *record = bytes + at;
		uint16_t size = half_at(record + 6);

		if (size < HEADER_BYTES || size > length - at) {
			d->damaged++;
			return;
		}
		if (is_wanted(word_at(record)))
			add_place(d, record);
		else if (word_at(record) == RECORD_COMPRESSED &&
			 (!stream || !unpack(d, stream, record)))
			d->damaged++;
		at += size;
	}
}

static int compare_places(const void *left, const void *right)
{
	const struct sn_perf_place *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void find_all(struct sn_perf_data *d, uint64_t offset, uint64_t length)
{
	ZSTD_DStream *stream = ZSTD_createDStream();

	if (offset > d->file.length) {
		d->damaged++;
		length = 0;
	} else if (length == 0 || length > d->file.length - offset) {
		if (length)
			d->damaged++;
		length = d->file.length - offset; /* perf was killed: its header says nothing */
	}
	find_records(d, d->file.bytes + (length ? offset : 0), length, stream);
	ZSTD_freeDStream(stream);
	if (d->unpacked.length)
		find_records(d, (const uint8_t *)d->unpacked.chars, d->unpacked.length, NULL);
	if (d->place_count)
		qsort(d->places, d->place_count, sizeof(*d->places), compare_places);
}

static sn_status read_file(struct sn_perf_data *d, struct sn_error *err)
{
	struct sn_cursor cur = sn_cursor_over(d->file.bytes, d->file.length);
	const uint8_t *magic = sn_cursor_bytes(&cur, 8), *features;
	uint64_t size = sn_cursor_u64(&cur), attr_bytes = sn_cursor_u64(&cur);
	uint64_t attrs = sn_cursor_u64(&cur), attrs_length = sn_cursor_u64(&cur);
	uint64_t data = sn_cursor_u64(&cur), data_length = sn_cursor_u64(&cur);
	sn_status status;

	sn_cursor_skip(&cur, 16); /* event types: no longer written */
	features = sn_cursor_bytes(&cur, FEATURES / 8);
	if (magic && !memcmp(magic, "2ELIFREP", 8))
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "import: the file is of a machine with the other byte order");
	if (!magic || memcmp(magic, "PERFILE2", 8))
		return sn_error_set(err, SN_ERR_FORMAT, "import: this is no perf.data file");
	if (size == 16)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "import: the file was written to a pipe; record to a file with "
				    "'perf record -o perf.data'");
	if (cur.status != SN_OK || !features)
		return sn_error_set(err, SN_ERR_FORMAT, "import: the file ends within its header");
	status = read_attributes(d, attrs, attrs_length, attr_bytes, err);
	if (status != SN_OK)
		return status;
	if (data_length)
		read_features(d, features, data + data_length);
	find_all(d, data, data_length);
	return SN_OK;
}

sn_status sn_perf_data_open_memory(const void *bytes, size_t length, struct sn_perf_data *data,
				   struct sn_error *err)
{
	sn_status status;

	memset(data, 0, sizeof(*data));
	data->file.bytes = bytes;
	data->file.length = length;
	status = read_file(data, err);
	if (status != SN_OK) {
		memset(&data->file, 0, sizeof(data->file)); /* borrowed */
		sn_perf_data_free(data);
	}
	return status;
}

sn_status sn_perf_data_open(const char *path, struct sn_perf_data *data, struct sn_error *err)
{
	struct sn_file_view view;
	sn_status status = sn_file_map(path, &view, err);

	if (status != SN_OK)
		return status;
	status = sn_perf_data_open_memory(view.bytes, view.length, data, err);
	if (status != SN_OK)
		sn_file_unmap(&view);
	else
		data->file = view;
	return status;
}

void sn_perf_data_free(struct sn_perf_data *data)
{
	if (data->file.is_mapped)
		sn_file_unmap(&data->file);
	sn_text_free(&data->unpacked);
	sn_vec_free(&data->build_ids);
	sn_vec_free(&data->ids);
	free(data->places);
	sn_arena_free(&data->arena);
	memset(data, 0, sizeof(*data));
}

/* ---- one event ---- */

static bool skip_read(const struct sn_perf_data *d, struct sn_cursor *cur)
{
	uint64_t times =
		((d->read_format & READ_ENABLED) != 0) + ((d->read_format & READ_RUNNING) != 0);
	uint64_t words =
		1 + ((d->read_format & READ_ID) != 0) + ((d->read_format & READ_LOST) != 0);
	uint64_t count = 1;

	if (d->read_format & READ_GROUP)
		count = sn_cursor_u64(cur);
	if (count > sn_cursor_left(cur))
		sn_cursor_fail(cur);
	else
		sn_cursor_skip(cur, (times + words * count) * 8);
	return cur->status == SN_OK;
}

/** `count` items of `bytes` each; borrowed. */
static const uint8_t *take_array(struct sn_cursor *cur, uint64_t count, uint64_t bytes)
{
	if (count > sn_cursor_left(cur) / bytes) {
		sn_cursor_fail(cur);
		return NULL;
	}
	return sn_cursor_bytes(cur, count * bytes);
}

static void read_registers(const struct sn_perf_data *d, struct sn_cursor *cur,
			   struct sn_perf_event *e)
{
	if (sn_cursor_u64(cur) == 0) /* no user registers: a kernel thread */
		return;
	for (unsigned i = 0; i < 64; i++)
		if (d->regs_mask >> i & 1) {
			uint64_t value = sn_cursor_u64(cur);

			if (i < SN_PERF_REGS_MAX)
				e->regs[i] = value;
		}
	e->has_regs = true;
}

static void read_stack(struct sn_cursor *cur, struct sn_perf_event *e)
{
	uint64_t size = sn_cursor_u64(cur), filled;

	if (!size)
		return;
	e->stack = take_array(cur, size, 1);
	filled = sn_cursor_u64(cur);
	e->stack_bytes = filled < size ? filled : size;
}

static bool is_read(const struct sn_perf_data *d, uint64_t id)
{
	if (!d->other_events)
		return true;
	for (size_t i = 0; i < d->ids.count; i++)
		if (d->ids.items[i] == id)
			return true;
	return false;
}

/** In the order of perf_event_open(2), PERF_RECORD_SAMPLE. */
static bool read_sample(const struct sn_perf_data *d, struct sn_cursor *cur,
			struct sn_perf_event *e)
{
	uint64_t type = d->sample_type, id = 0, count;

	if (type & SAMPLE_IDENTIFIER) {
		id = sn_cursor_u64(cur);
		if (!is_read(d, id)) /* another event, whose samples may look different */
			return false;
	}
	e->ip = sn_cursor_u64(cur);
	e->pid = (int32_t)sn_cursor_u32(cur);
	e->tid = (int32_t)sn_cursor_u32(cur);
	sn_cursor_skip(cur, 8); /* the time, read before */
	if (type & SAMPLE_ADDR)
		sn_cursor_skip(cur, 8);
	if (type & SAMPLE_ID)
		id = sn_cursor_u64(cur);
	if (type & SAMPLE_STREAM_ID)
		sn_cursor_skip(cur, 8);
	if (type & SAMPLE_CPU)
		e->cpu = (uint16_t)sn_cursor_u64(cur);
	e->period = type & SAMPLE_PERIOD ? sn_cursor_u64(cur) : d->sample_period;
	if (type & SAMPLE_READ)
		skip_read(d, cur);
	if (type & SAMPLE_CALLCHAIN) {
		e->chain_count = sn_cursor_u64(cur);
		e->chain = take_array(cur, e->chain_count, 8);
	}
	if (type & SAMPLE_RAW)
		sn_cursor_skip(cur, sn_cursor_u32(cur));
	if (type & SAMPLE_BRANCHES) {
		count = sn_cursor_u64(cur);
		if (d->branch_type & BRANCH_HW_INDEX)
			sn_cursor_skip(cur, 8);
		take_array(cur, count, 24);
	}
	if (type & SAMPLE_REGS)
		read_registers(d, cur, e);
	if (type & SAMPLE_STACK)
		read_stack(cur, e);
	return cur->status == SN_OK && is_read(d, id);
}

static void read_map(struct sn_cursor *cur, uint16_t misc, bool is_second, struct sn_perf_event *e)
{
	e->kind = SN_PERF_MAP;
	e->pid = (int32_t)sn_cursor_u32(cur);
	e->tid = (int32_t)sn_cursor_u32(cur);
	e->load_addr = sn_cursor_u64(cur);
	e->length = sn_cursor_u64(cur);
	e->file_offset = sn_cursor_u64(cur);
	e->is_executable = !(misc & 1 << 13); /* MMAP_DATA */
	if (is_second) {
		const uint8_t *identity = sn_cursor_bytes(cur, 24);

		if (identity && (misc & MISC_BUILD_ID) && identity[0] <= 20) {
			e->build_id_bytes = identity[0];
			e->build_id = identity + 4;
		}
		e->is_executable = sn_cursor_u32(cur) & MAP_EXECUTABLE;
		sn_cursor_skip(cur, 4);
	}
	e->name = sn_cursor_string(cur);
}

bool sn_perf_data_event(struct sn_perf_data *data, size_t index, struct sn_perf_event *out)
{
	const uint8_t *record = data->places[index].bytes;
	uint32_t type = word_at(record);
	uint16_t misc = half_at(record + 4);
	struct sn_cursor cur =
		sn_cursor_over(record + HEADER_BYTES, half_at(record + 6) - (size_t)HEADER_BYTES);

	memset(out, 0, sizeof(*out));
	out->time_ns = data->places[index].time_ns;
	out->is_kernel = (misc & MISC_CPUMODE) == MISC_KERNEL;
	switch (type) {
	case RECORD_SAMPLE:
		out->kind = SN_PERF_SAMPLE;
		if (!read_sample(data, &cur, out)) {
			data->damaged += cur.status != SN_OK;
			return false;
		}
		return true;
	case RECORD_MMAP:
	case RECORD_MMAP2:
		read_map(&cur, misc, type == RECORD_MMAP2, out);
		break;
	case RECORD_COMM:
		out->kind = SN_PERF_COMM;
		out->pid = (int32_t)sn_cursor_u32(&cur);
		out->tid = (int32_t)sn_cursor_u32(&cur);
		out->is_exec = misc & MISC_EXEC;
		out->name = sn_cursor_string(&cur);
		break;
	case RECORD_FORK:
	case RECORD_EXIT:
		out->kind = type == RECORD_FORK ? SN_PERF_FORK : SN_PERF_EXIT;
		out->pid = (int32_t)sn_cursor_u32(&cur);
		out->parent_pid = (int32_t)sn_cursor_u32(&cur);
		out->tid = (int32_t)sn_cursor_u32(&cur);
		out->parent_tid = (int32_t)sn_cursor_u32(&cur);
		break;
	default: /* LOST has the event's identity before the number, LOST_SAMPLES has not */
		out->kind = SN_PERF_LOST;
		if (type == RECORD_LOST)
			sn_cursor_skip(&cur, 8);
		out->lost = sn_cursor_u64(&cur);
		break;
	}
	data->damaged += cur.status != SN_OK;
	return cur.status == SN_OK;
}
