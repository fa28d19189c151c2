/* Reading extracts. Nothing in them is trusted: every count is compared with the bytes that are
 * left, and every index with the array that it points into. So a structure from an extract is as
 * sound as one from an image. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/file.h"
#include "code/extract_format.h"

struct unpacker {
	struct sn_cursor cur;
	uint64_t version;
	struct sn_structure *structure;
	const char **strings;
	uint64_t string_count;
	const struct sn_unit **units; /* known after the functions that name them */
	uint32_t *unit_of;	      /* function -> unit number */
};

static uint64_t get(struct unpacker *u)
{
	return sn_cursor_uleb128(&u->cur);
}

static int64_t get_signed(struct unpacker *u)
{
	uint64_t value = get(u);

	return (int64_t)(value >> 1 ^ (~(value & 1) + 1));
}

static uint64_t fail(struct unpacker *u)
{
	sn_cursor_fail(&u->cur);
	return 0;
}

/* A number that may not exceed a limit. */
static uint64_t get_within(struct unpacker *u, uint64_t most)
{
	uint64_t value = get(u);

	return value <= most ? value : fail(u);
}

/* A count of records of at least `bytes` each. */
static uint32_t get_count(struct unpacker *u, size_t bytes)
{
	uint64_t most = sn_cursor_left(&u->cur) / bytes;

	return (uint32_t)get_within(u, most < INT32_MAX ? most : INT32_MAX);
}

/* An index, written plus one; -1 for none. */
static int32_t get_index(struct unpacker *u, uint32_t count)
{
	return (int32_t)get_within(u, count) - 1;
}

static const char *get_string(struct unpacker *u)
{
	uint64_t number = get_within(u, u->string_count);

	return number ? u->strings[number - 1] : NULL;
}

static void get_string_table(struct unpacker *u)
{
	u->string_count = get_count(u, 1);
	u->strings = sn_alloc_zeroed(u->string_count + 1, sizeof(*u->strings));
	for (uint64_t i = 0; i < u->string_count; i++) {
		uint64_t length = get_within(u, sn_cursor_left(&u->cur));
		const uint8_t *bytes = length ? sn_cursor_bytes(&u->cur, length) : NULL;

		if (bytes && memchr(bytes, 0, length))
			fail(u);
		u->strings[i] = sn_interned_chars(&u->structure->strings,
						  sn_intern(&u->structure->strings,
							    bytes ? (const char *)bytes : "",
							    bytes ? length : 0));
	}
}

/* Ranges that do not overflow. */
static const struct sn_range *get_ranges(struct unpacker *u, uint32_t *count, uint64_t base)
{
	uint32_t n = get_count(u, 2);
	struct sn_range *ranges = sn_arena_array(&u->structure->arena, struct sn_range, n);

	for (uint32_t i = 0; i < n && u->cur.status == SN_OK; i++) {
		ranges[i].first_link_addr = base + (uint64_t)get_signed(u);
		ranges[i].end_link_addr = ranges[i].first_link_addr + get(u);
		if (ranges[i].end_link_addr <= ranges[i].first_link_addr)
			fail(u);
		base = ranges[i].end_link_addr;
	}
	*count = n;
	return ranges;
}

static void get_lines(struct unpacker *u, struct sn_function *function, uint32_t *most_inline)
{
	uint64_t addr = function->link_addr;
	int64_t line = function->line;
	uint32_t n = get_count(u, 5);
	struct sn_line *rows = sn_arena_array(&u->structure->arena, struct sn_line, n);

	*most_inline = 0;
	for (uint32_t i = 0; i < n && u->cur.status == SN_OK; i++) {
		addr += (uint64_t)get_signed(u);
		rows[i].link_addr = addr;
		if (i && addr <= rows[i - 1].link_addr)
			fail(u);
		rows[i].file = get_string(u);
		line += get_signed(u);
		if (line < 0 || line > UINT32_MAX)
			line = (int64_t)fail(u);
		rows[i].line = (uint32_t)line;
		rows[i].column = (uint16_t)get_within(u, UINT16_MAX);
		rows[i].inline_index = get_index(u, INT32_MAX);
		if (rows[i].inline_index >= 0 && (uint32_t)rows[i].inline_index >= *most_inline)
			*most_inline = (uint32_t)rows[i].inline_index + 1;
	}
	function->lines = rows;
	function->line_count = n;
}

static void get_inlines(struct unpacker *u, struct sn_function *function)
{
	uint32_t n = get_count(u, 8);
	struct sn_inline *inlines = sn_arena_array(&u->structure->arena, struct sn_inline, n);

	for (uint32_t i = 0; i < n && u->cur.status == SN_OK; i++) {
		inlines[i].name = get_string(u);
		if (!inlines[i].name)
			fail(u);
		inlines[i].linkage_name = get_string(u);
		inlines[i].file = get_string(u);
		inlines[i].line = (uint32_t)get_within(u, UINT32_MAX);
		inlines[i].call_file = get_string(u);
		inlines[i].call_line = (uint32_t)get_within(u, UINT32_MAX);
		inlines[i].call_column = (uint16_t)get_within(u, UINT16_MAX);
		inlines[i].parent = get_index(u, i);
	}
	function->inlines = inlines;
	function->inline_count = n;
}

static void get_blocks(struct unpacker *u, struct sn_function *function, uint32_t *most_loop)
{
	uint32_t n = get_count(u, 6);
	struct sn_block *blocks = sn_arena_array(&u->structure->arena, struct sn_block, n);
	SN_VEC(uint32_t) successors = { 0 };
	uint64_t addr = function->link_addr;
	uint32_t *copy;

	*most_loop = 0;
	for (uint32_t b = 0; b < n && u->cur.status == SN_OK; b++) {
		struct sn_block *block = &blocks[b];

		addr += (uint64_t)get_signed(u);
		block->link_addr = addr;
		if (b && addr <= blocks[b - 1].link_addr)
			fail(u);
		block->size_bytes = (uint32_t)get_within(u, UINT32_MAX);
		block->instruction_count = (uint32_t)get_within(u, UINT32_MAX);
		block->loop = get_index(u, INT32_MAX);
		if (block->loop >= 0 && (uint32_t)block->loop >= *most_loop)
			*most_loop = (uint32_t)block->loop + 1;
		block->flags = (uint32_t)get_within(u, UINT32_MAX);
		block->first_successor = (uint32_t)successors.count;
		block->successor_count = get_count(u, 1);
		for (uint32_t e = 0; e < block->successor_count && u->cur.status == SN_OK; e++) {
			int64_t to = b + get_signed(u);

			if (to < 0 || to >= n)
				to = (int64_t)fail(u);
			sn_vec_push(&successors, (uint32_t)to);
		}
	}
	copy = sn_arena_array(&u->structure->arena, uint32_t, successors.count);
	if (successors.count)
		memcpy(copy, successors.items, successors.count * sizeof(*copy));
	function->blocks = blocks;
	function->block_count = n;
	function->successors = copy;
	function->successor_count = (uint32_t)successors.count;
	sn_vec_free(&successors);
}

static void set_flags(struct sn_loop *loop, uint64_t flags)
{
	loop->is_innermost = flags & SN_EXTRACT_INNERMOST;
	loop->is_irreducible = flags & SN_EXTRACT_IRREDUCIBLE;
}

#define GET_INDEX(member, bound)   loop->member = get_index(u, bound)
#define GET_UINT(member, bound)	   loop->member = (__typeof__(loop->member))get_within(u, bound)
#define GET_STRING(member, bound)  loop->member = get_string(u)
#define GET_ADDRESS(member, bound) loop->member = function->link_addr + (uint64_t)get_signed(u)
#define GET_RANGES(member, bound)                                                                  \
	loop->member = get_ranges(u, &loop->range_count, function->link_addr)
#define GET_FLAGS(member, bound) set_flags(loop, get_within(u, bound))

/* Only the first members, which every extract has, are of other kinds. */
#define LACK_INDEX(member)   loop->member = -1
#define LACK_UINT(member)    loop->member = 0
#define LACK_STRING(member)  loop->member = NULL
#define LACK_ADDRESS(member) fail(u)
#define LACK_RANGES(member)  fail(u)
#define LACK_FLAGS(member)   fail(u)

#define COUNT_ONE(how, member, bound) +1
_Static_assert(0 SN_EXTRACT_LOOP(COUNT_ONE) >= SN_EXTRACT_LOOP_FIRST, "members may only be added");

static void get_loop(struct unpacker *u, struct sn_function *function, struct sn_loop *loop,
		     uint32_t index, uint32_t count)
{
	const uint8_t *behind = u->cur.end;
	bool has_length = u->version >= SN_EXTRACT_VERSION_OF_LENGTHS;
	uint32_t number = 0;

	loop->function = function;
	loop->index = index;
	if (has_length) {
		uint64_t length = get(u);
		const uint8_t *record = sn_cursor_bytes(&u->cur, length);

		if (record)
			u->cur = sn_cursor_over(record, length);
	}
#define GET(how, member, bound)                                                                    \
	if (number++ < SN_EXTRACT_LOOP_FIRST || (has_length && sn_cursor_left(&u->cur)))           \
		GET_##how(member, bound);                                                          \
	else                                                                                       \
		LACK_##how(member);
	SN_EXTRACT_LOOP(GET)
#undef GET
	if (has_length)
		u->cur.next = u->cur.end; /* members that are not known here */
	u->cur.end = behind;
	if (u->cur.status != SN_OK)
		fail(u);
	if (!loop->label || (loop->line_first && !loop->file))
		fail(u);
	loop->id = sn_loop_id(u->structure, function, loop->header_link_addr);
}

static void get_loops(struct unpacker *u, struct sn_function *function)
{
	uint32_t n = get_count(u, 18);
	struct sn_loop *loops = sn_arena_array(&u->structure->arena, struct sn_loop, n);

	for (uint32_t l = 0; l < n && u->cur.status == SN_OK; l++)
		get_loop(u, function, &loops[l], l, n);
	function->loops = loops;
	function->loop_count = n;
}

static void get_code(struct unpacker *u, const struct sn_function *function)
{
	for (uint32_t i = 0; i < function->range_count && u->cur.status == SN_OK; i++) {
		const struct sn_range *range = &function->ranges[i];
		uint64_t length = get_within(u, range->end_link_addr - range->first_link_addr);
		const uint8_t *bytes = length ? sn_cursor_bytes(&u->cur, length) : NULL;
		struct code_piece piece = { .link_addr = range->first_link_addr, .length = length };

		if (!bytes)
			continue;
		piece.bytes = (const uint8_t *)sn_arena_strndup(&u->structure->arena,
								(const char *)bytes, length);
		sn_vec_push(&u->structure->pieces, piece);
	}
}

static void get_function(struct unpacker *u, struct sn_function *function, uint32_t index)
{
	uint32_t most_inline, most_loop;
	uint64_t flags;

	function->index = index;
	function->kind = (uint8_t)get_within(u, SN_FUNCTION_GAP);
	flags = get_within(u, 7);
	function->has_lines = flags & SN_EXTRACT_HAS_LINES;
	function->has_code = flags & SN_EXTRACT_HAS_CODE;
	function->never_returns = flags & SN_EXTRACT_NEVER_RETURNS;
	function->name = get_string(u);
	function->linkage_name = get_string(u);
	function->link_addr = u->structure->link_base + get(u);
	function->ranges = get_ranges(u, &function->range_count, function->link_addr);
	if (!function->name || !function->linkage_name || !function->range_count ||
	    function->ranges[0].first_link_addr != function->link_addr)
		fail(u);
	for (uint32_t i = 0; i < function->range_count && u->cur.status == SN_OK; i++) {
		struct function_range range = { function->ranges[i], index };

		function->size_bytes +=
			function->ranges[i].end_link_addr - function->ranges[i].first_link_addr;
		sn_vec_push(&u->structure->ranges, range);
	}
	function->file = get_string(u);
	function->line = (uint32_t)get_within(u, UINT32_MAX);
	function->entry_line = (uint32_t)get_within(u, UINT32_MAX);
	u->unit_of[index] = (uint32_t)get_within(u, UINT32_MAX);
	get_lines(u, function, &most_inline);
	get_inlines(u, function);
	get_blocks(u, function, &most_loop);
	get_loops(u, function);
	if (most_inline > function->inline_count || most_loop > function->loop_count)
		fail(u);
	get_code(u, function);
}

static void get_units(struct unpacker *u)
{
	uint32_t n = get_count(u, 4);

	for (uint32_t i = 0; i < n && u->cur.status == SN_OK; i++) {
		struct sn_unit *unit = sn_arena_new(&u->structure->arena, struct sn_unit);

		unit->name = get_string(u);
		unit->folder = get_string(u);
		unit->producer = get_string(u);
		unit->language = (uint16_t)get_within(u, UINT16_MAX);
		sn_vec_push(&u->structure->units, unit);
	}
	for (size_t i = 0; i < u->structure->function_count && u->cur.status == SN_OK; i++) {
		if (u->unit_of[i] > n)
			fail(u);
		else if (u->unit_of[i])
			u->structure->functions[i].unit =
				u->structure->units.items[u->unit_of[i] - 1];
	}
}

static void get_sources(struct unpacker *u)
{
	uint32_t n = get_count(u, 2);

	for (uint32_t i = 0; i < n && u->cur.status == SN_OK; i++) {
		const char *file = get_string(u);
		uint64_t length = get_within(u, sn_cursor_left(&u->cur));
		const uint8_t *bytes = length ? sn_cursor_bytes(&u->cur, length) : NULL;
		struct source_text source = { .file = file, .length = length };

		if (!file) {
			fail(u);
			return;
		}
		source.chars = sn_arena_strndup(
			&u->structure->arena, bytes ? (const char *)bytes : "", bytes ? length : 0);
		sn_vec_push(&u->structure->sources, source);
		*sn_map_put(&u->structure->source_index, (uintptr_t)file, NULL) =
			u->structure->sources.count;
	}
}

static void get_misses(struct unpacker *u)
{
	uint32_t n = get_count(u, 1);
	uint64_t last = 0;

	for (uint32_t i = 0; i < n && u->cur.status == SN_OK; i++) {
		last += get(u);
		sn_vec_push(&u->structure->misses, last);
	}
}

static int by_range(const void *a, const void *b)
{
	const struct function_range *x = a, *y = b;

	return x->range.first_link_addr < y->range.first_link_addr   ? -1
	       : x->range.first_link_addr > y->range.first_link_addr ? 1
								     : 0;
}

static int by_piece(const void *a, const void *b)
{
	const struct code_piece *x = a, *y = b;

	return x->link_addr < y->link_addr ? -1 : x->link_addr > y->link_addr;
}

/* Functions must be in order and no two may share an address. */
static void check_order(struct unpacker *u)
{
	struct sn_structure *structure = u->structure;

	for (size_t i = 1; i < structure->function_count; i++)
		if (structure->functions[i].link_addr <= structure->functions[i - 1].link_addr)
			fail(u);
	if (structure->ranges.count)
		qsort(structure->ranges.items, structure->ranges.count,
		      sizeof(*structure->ranges.items), by_range);
	for (size_t i = 1; i < structure->ranges.count; i++)
		if (structure->ranges.items[i].range.first_link_addr <
		    structure->ranges.items[i - 1].range.end_link_addr)
			fail(u);
	if (structure->pieces.count)
		qsort(structure->pieces.items, structure->pieces.count,
		      sizeof(*structure->pieces.items), by_piece);
}

static void unpack(struct unpacker *u)
{
	struct sn_structure *structure = u->structure;
	uint32_t n;

	get_string_table(u);
	structure->id = get_string(u);
	structure->path = get_string(u);
	structure->command_line = get_string(u);
	structure->warning = get_string(u);
	structure->debug_state = get_string(u);
	structure->link_base = get(u);
	if (!structure->id || !structure->path)
		fail(u);
	n = get_count(u, 16);
	structure->functions = sn_arena_array(&structure->arena, struct sn_function, n);
	structure->function_count = n;
	u->unit_of = sn_alloc_zeroed((size_t)n + 1, sizeof(*u->unit_of));
	for (uint32_t i = 0; i < n && u->cur.status == SN_OK; i++)
		get_function(u, &structure->functions[i], i);
	if (u->cur.status == SN_OK) {
		get_units(u);
		get_sources(u);
		get_misses(u);
		check_order(u);
	}
	if (sn_cursor_left(&u->cur))
		fail(u);
	free(u->unit_of);
	free(u->strings);
}

static sn_status damaged(struct sn_error *err, const char *name, const char *what)
{
	return sn_error_set(err, SN_ERR_FORMAT,
			    "the extract '%s' is damaged: %s; record the program again", name,
			    what);
}

static sn_status unpack_payload(const uint8_t *payload, size_t length, uint64_t version,
				const char *name, struct sn_structure **out, struct sn_error *err)
{
	struct unpacker u = { .cur = sn_cursor_over(payload, length),
			      .version = version,
			      .structure = sn_structure_new() };

	unpack(&u);
	if (u.cur.status != SN_OK) {
		sn_structure_free(u.structure);
		return damaged(err, name, "its contents contradict themselves");
	}
	*out = u.structure;
	return SN_OK;
}

size_t sn_extract_length(const void *bytes, size_t length)
{
	struct sn_cursor cur = sn_cursor_over(bytes, length);
	const uint8_t *magic = sn_cursor_bytes(&cur, 8);
	uint64_t compressed_bytes;

	sn_cursor_bytes(&cur, 16); /* version, reserved, the payload's length */
	compressed_bytes = sn_cursor_u64(&cur);
	sn_cursor_u64(&cur); /* the hash */
	if (cur.status != SN_OK || memcmp(magic, SN_EXTRACT_MAGIC, 8) != 0 ||
	    compressed_bytes > sn_cursor_left(&cur))
		return 0;
	return SN_EXTRACT_HEADER_BYTES + compressed_bytes;
}

/* With its tables, as in extract.c. */
static size_t decompress(void *out, size_t room, const void *bytes, size_t length)
{
	static _Thread_local ZSTD_DCtx *context;

	if (!context)
		context = ZSTD_createDCtx();
	if (!context)
		sn_out_of_memory(room);
	return ZSTD_decompressDCtx(context, out, room, bytes, length);
}

sn_status sn_extract_read_memory(const void *bytes, size_t length, const char *name,
				 struct sn_structure **out, struct sn_error *err)
{
	struct sn_cursor cur = sn_cursor_over(bytes, length);
	const uint8_t *magic = sn_cursor_bytes(&cur, 8);
	uint64_t version = sn_cursor_u32(&cur), reserved = sn_cursor_u32(&cur), payload_bytes,
		 compressed_bytes, hash;
	sn_status status;
	uint8_t *payload;

	payload_bytes = sn_cursor_u64(&cur);
	compressed_bytes = sn_cursor_u64(&cur);
	hash = sn_cursor_u64(&cur);
	if (!magic || memcmp(magic, SN_EXTRACT_MAGIC, 8) != 0)
		return sn_error_set(err, SN_ERR_FORMAT, "'%s' is no module extract", name);
	if (cur.status != SN_OK)
		return damaged(err, name, "it is cut short");
	if (version > SN_EXTRACT_VERSION)
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"the extract '%s' is of version %u, newer than this sonde reads "
			"(%d); use a newer one",
			name, (unsigned)version, SN_EXTRACT_VERSION);
	if (!version || reserved || compressed_bytes != sn_cursor_left(&cur))
		return damaged(err, name, "it is cut short or its header is wrong");
	if (payload_bytes > SN_EXTRACT_PAYLOAD_MAX ||
	    payload_bytes / SN_EXTRACT_RATIO_MAX > compressed_bytes)
		return damaged(err, name, "it claims an impossible size");
	if (sn_extract_hash(version, payload_bytes, compressed_bytes, cur.next) != hash)
		return damaged(err, name, "its checksum is wrong");
	payload = sn_alloc(payload_bytes + 1);
	status = SN_OK;
	if (decompress(payload, payload_bytes, cur.next, compressed_bytes) != payload_bytes)
		status = damaged(err, name, "it does not unpack");
	if (status == SN_OK)
		status = unpack_payload(payload, payload_bytes, version, name, out, err);
	free(payload);
	return status;
}

sn_status sn_extract_read(const char *path, struct sn_structure **out, struct sn_error *err)
{
	struct sn_file_view file;
	sn_status status = sn_file_map(path, &file, err);

	if (status != SN_OK)
		return status;
	status = sn_extract_read_memory(file.bytes, file.length, path, out, err);
	sn_file_unmap(&file);
	return status;
}
