/*
 * Code that just-in-time compilers made: names from perf-PID.map files (text), names, bytes and
 * lines from jitdump files (records with times). An address may belong to different functions at
 * different times.
 */
#include "code/jit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/vec.h"

/* tools/perf/Documentation/jitdump-specification.txt of the Linux sources */
enum {
	JITDUMP_MAGIC = 0x4A695444,
	JIT_CODE_LOAD = 0,
	JIT_CODE_MOVE = 1,
	JIT_CODE_DEBUG_INFO = 2,
	RECORD_HEADER_BYTES = 16,
};

struct entry {
	struct sn_jit_symbol symbol;
	uint64_t code_index;
	uint64_t most_end; /* largest end of this and all before it, in final order */
	uint32_t order;	   /* in the file: what comes later replaces what was there */
};

struct sn_jit {
	struct sn_arena arena;
	SN_VEC(struct entry) entries;
	struct sn_jit_symbol *symbols;
	size_t bad_count;
};

/* Source of the code that will be loaded at this address next. */
struct pending_source {
	uint64_t code_addr;
	const char *file;
	uint32_t line;
};

static void add(struct sn_jit *jit, struct sn_jit_symbol symbol, uint64_t code_index)
{
	struct entry entry = { .symbol = symbol,
			       .code_index = code_index,
			       .order = (uint32_t)jit->entries.count };

	if (!symbol.size_bytes || symbol.size_bytes > UINT64_MAX - symbol.load_addr)
		jit->bad_count++;
	else
		sn_vec_push(&jit->entries, entry);
}

/* ---- map files ---- */

/* "START SIZE NAME": hex, with or without 0x; the name is the rest of the line. */
static bool map_line(struct sn_jit *jit, const char *line, size_t length)
{
	struct sn_jit_symbol symbol = { 0 };
	char *copy = sn_strndup(line, length), *end, *name;

	symbol.load_addr = strtoull(copy, &end, 16);
	if (end == copy || *end != ' ')
		goto bad;
	name = end;
	symbol.size_bytes = strtoull(name, &end, 16);
	if (end == name || *end != ' ' || !end[1])
		goto bad;
	symbol.name = sn_arena_strdup(&jit->arena, end + 1);
	free(copy);
	add(jit, symbol, 0);
	return true;
bad:
	free(copy);
	return false;
}

static void read_map(struct sn_jit *jit, const uint8_t *bytes, size_t length)
{
	const char *at = (const char *)bytes, *end = length ? at + length : at;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t line_length = (size_t)((line_end ? line_end : end) - at);

		if (line_length && (memchr(at, 0, line_length) || !map_line(jit, at, line_length)))
			jit->bad_count++;
		at += line_length + 1;
	}
}

/* ---- jitdump ---- */

static void read_load(struct sn_jit *jit, struct sn_cursor *record, uint64_t time_ns,
		      const struct pending_source *source)
{
	struct sn_jit_symbol symbol = { .since_ns = time_ns };
	uint64_t code_addr, code_index;
	const uint8_t *code;
	const char *name;

	sn_cursor_skip(record, 8); /* pid, tid */
	symbol.load_addr = sn_cursor_u64(record);
	code_addr = sn_cursor_u64(record);
	symbol.size_bytes = sn_cursor_u64(record);
	code_index = sn_cursor_u64(record);
	name = sn_cursor_string(record);
	if (record->status != SN_OK) {
		jit->bad_count++;
		return;
	}
	symbol.name = sn_arena_strdup(&jit->arena, *name ? name : "<unnamed>");
	code = symbol.size_bytes <= sn_cursor_left(record)
		       ? sn_cursor_bytes(record, symbol.size_bytes)
		       : NULL;
	if (code)
		symbol.code = (const uint8_t *)sn_arena_strndup(&jit->arena, (const char *)code,
								symbol.size_bytes);
	if (source->file && source->code_addr == code_addr) {
		symbol.file = source->file;
		symbol.line = source->line;
	}
	add(jit, symbol, code_index);
}

static void read_move(struct sn_jit *jit, struct sn_cursor *record, uint64_t time_ns)
{
	uint64_t code_index, addr;

	sn_cursor_skip(record, 24); /* pid, tid, vma, old address */
	addr = sn_cursor_u64(record);
	sn_cursor_skip(record, 8); /* size */
	code_index = sn_cursor_u64(record);
	for (size_t i = jit->entries.count; record->status == SN_OK && i-- > 0;) {
		struct sn_jit_symbol moved = jit->entries.items[i].symbol;

		if (jit->entries.items[i].code_index != code_index)
			continue;
		moved.load_addr = addr;
		moved.since_ns = time_ns;
		add(jit, moved, code_index);
		return;
	}
	jit->bad_count++;
}

static struct pending_source read_source(struct sn_jit *jit, struct sn_cursor *record)
{
	struct pending_source source = { .code_addr = sn_cursor_u64(record) };
	uint64_t count = sn_cursor_u64(record);

	if (!count)
		return source;
	sn_cursor_skip(record, 8);
	source.line = sn_cursor_u32(record);
	sn_cursor_skip(record, 4); /* discriminator */
	source.file = sn_cursor_string(record);
	if (record->status != SN_OK) {
		jit->bad_count++;
		source.file = NULL;
	} else {
		source.file = sn_arena_strdup(&jit->arena, source.file);
	}
	return source;
}

static void read_dump(struct sn_jit *jit, const uint8_t *bytes, size_t length)
{
	struct sn_cursor cur = sn_cursor_over(bytes, length);
	struct pending_source source = { 0 };
	uint32_t header_bytes;

	sn_cursor_skip(&cur, 8); /* magic, version */
	header_bytes = sn_cursor_u32(&cur);
	if (header_bytes < 12) {
		jit->bad_count++;
		return;
	}
	sn_cursor_skip(&cur, header_bytes - 12);
	while (cur.status == SN_OK && sn_cursor_left(&cur) >= RECORD_HEADER_BYTES) {
		uint32_t id = sn_cursor_u32(&cur), record_bytes = sn_cursor_u32(&cur);
		uint64_t time_ns = sn_cursor_u64(&cur);
		const uint8_t *body;
		struct sn_cursor record;

		if (record_bytes < RECORD_HEADER_BYTES)
			break;
		body = cur.next;
		sn_cursor_skip(&cur, record_bytes - RECORD_HEADER_BYTES);
		if (cur.status != SN_OK)
			break; /* the program died while it wrote this one */
		record = sn_cursor_over(body, record_bytes - RECORD_HEADER_BYTES);
		if (id == JIT_CODE_LOAD) {
			read_load(jit, &record, time_ns, &source);
			source.file = NULL;
		} else if (id == JIT_CODE_MOVE) {
			read_move(jit, &record, time_ns);
		} else if (id == JIT_CODE_DEBUG_INFO) {
			source = read_source(jit, &record);
		}
	}
	if (cur.status != SN_OK || sn_cursor_left(&cur))
		jit->bad_count++;
}

/* ---- both ---- */

static int by_place_and_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->symbol.load_addr != y->symbol.load_addr)
		return x->symbol.load_addr < y->symbol.load_addr ? -1 : 1;
	if (x->symbol.since_ns != y->symbol.since_ns)
		return x->symbol.since_ns < y->symbol.since_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_entries(struct sn_jit *jit)
{
	uint64_t most = 0;

	if (jit->entries.count)
		qsort(jit->entries.items, jit->entries.count, sizeof(*jit->entries.items),
		      by_place_and_time);
	jit->symbols = sn_arena_array(&jit->arena, struct sn_jit_symbol, jit->entries.count);
	for (size_t i = 0; i < jit->entries.count; i++) {
		struct entry *entry = &jit->entries.items[i];
		uint64_t end = entry->symbol.load_addr + entry->symbol.size_bytes;

		most = end > most ? end : most;
		entry->most_end = most;
		jit->symbols[i] = entry->symbol;
	}
}

sn_status sn_jit_read_memory(const void *bytes, size_t length, const char *name,
			     struct sn_jit **out, struct sn_error *err)
{
	struct sn_jit *jit = sn_alloc_zeroed(1, sizeof(*jit));
	uint32_t magic = 0;

	if (length >= 4)
		memcpy(&magic, bytes, 4);
	if (magic == JITDUMP_MAGIC)
		read_dump(jit, bytes, length);
	else
		read_map(jit, bytes, length);
	if (!jit->entries.count && jit->bad_count) {
		sn_jit_free(jit);
		return sn_error_set(
			err, SN_ERR_FORMAT,
			"'%s' is neither a perf map nor a jitdump: nothing in it parses", name);
	}
	sort_entries(jit);
	*out = jit;
	return SN_OK;
}

sn_status sn_jit_read(const char *path, struct sn_jit **out, struct sn_error *err)
{
	struct sn_file_view file;
	sn_status status = sn_file_map(path, &file, err);

	if (status != SN_OK)
		return status;
	status = sn_jit_read_memory(file.bytes, file.length, path, out, err);
	sn_file_unmap(&file);
	return status;
}

void sn_jit_free(struct sn_jit *jit)
{
	if (!jit)
		return;
	sn_vec_free(&jit->entries);
	sn_arena_free(&jit->arena);
	free(jit);
}

size_t sn_jit_bad_count(const struct sn_jit *jit)
{
	return jit->bad_count;
}

const struct sn_jit_symbol *sn_jit_symbols(const struct sn_jit *jit, size_t *count)
{
	*count = jit->entries.count;
	return jit->symbols;
}

const struct sn_jit_symbol *sn_jit_symbol_at(const struct sn_jit *jit, uint64_t load_addr,
					     uint64_t time_ns)
{
	enum { LOOKED_AT_MAX = 4096 }; /* pieces on top of one another: more is an attack */
	size_t low = 0, high = jit->entries.count;
	const struct entry *found = NULL;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (jit->entries.items[middle].symbol.load_addr <= load_addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low, looked = 0; i-- > 0 && looked < LOOKED_AT_MAX; looked++) {
		const struct entry *entry = &jit->entries.items[i];

		if (entry->most_end <= load_addr)
			break;
		if (load_addr - entry->symbol.load_addr >= entry->symbol.size_bytes ||
		    (time_ns && entry->symbol.since_ns > time_ns))
			continue;
		if (!found || entry->symbol.since_ns > found->symbol.since_ns ||
		    (entry->symbol.since_ns == found->symbol.since_ns &&
		     entry->order > found->order))
			found = entry;
	}
	return found ? &jit->symbols[found - jit->entries.items] : NULL;
}

bool sn_jit_list_is_since(const char *path, int64_t realtime_ns)
{
	struct stat info;

	/* whole seconds, and one more: some filesystems cut the time off */
	return !stat(path, &info) && S_ISREG(info.st_mode) &&
	       (int64_t)info.st_mtime + 1 >= realtime_ns / 1000000000;
}
