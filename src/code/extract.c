/* Writing extracts: docs/format/extract.md tells the bytes. */
#include "code/extract.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "code/decode.h"
#include "code/extract_format.h"

/* Level 3 packs 6 % smaller, in twice the time. */
enum { SOURCE_FILE_BYTES = 4 << 20, ZSTD_LEVEL = 1 };

struct packer {
	struct sn_structure *structure;
	struct sn_text body;	/* everything behind the string table */
	struct sn_text strings; /* the table's entries */
	struct sn_text record;	/* the loop that is being written */
	struct sn_map numbers;	/* pointer -> number; 0 is NULL */
	struct sn_map files;	/* numbers of files that lines name -> 1 */
	SN_VEC(const char *) file_list;
	SN_VEC(const struct sn_unit *) units;
	struct sn_map unit_numbers;
	uint64_t string_count;
	bool has_many_structures;
};

static void put(struct sn_text *out, uint64_t value)
{
	do {
		uint8_t byte = value & 0x7f;

		value >>= 7;
		sn_text_add_char(out, (char)(byte | (value ? 0x80 : 0)));
	} while (value);
}

static void put_signed(struct sn_text *out, int64_t value)
{
	put(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63)); /* zigzag */
}

/* An index, or -1 for none. */
static void put_index(struct sn_text *out, int32_t index)
{
	put(out, (uint32_t)index + 1u);
}

static uint64_t interned_number(struct packer *p, const char *chars)
{
	uint64_t *slot = sn_map_put(&p->numbers, (uintptr_t)chars, NULL);

	if (!*slot) {
		size_t length = strlen(chars);

		*slot = ++p->string_count;
		put(&p->strings, length);
		sn_text_add_bytes(&p->strings, chars, length);
	}
	return *slot;
}

/* A line's file is met again and again: by address, without a look at its characters. */
static uint64_t string_number(struct packer *p, const char *chars)
{
	const uint64_t *known;
	uint64_t number;

	if (!chars)
		return 0;
	known = sn_map_get(&p->numbers, (uintptr_t)chars);
	if (known)
		return *known;
	number = interned_number(p, sn_structure_string(p->structure, chars));
	*sn_map_put(&p->numbers, (uintptr_t)chars, NULL) = number;
	return number;
}

static void put_string(struct packer *p, const char *chars)
{
	put(&p->body, string_number(p, chars));
}

static void put_file(struct packer *p, const char *file)
{
	uint64_t number = string_number(p, file);
	bool is_new;

	put(&p->body, number);
	if (!number)
		return;
	sn_map_put(&p->files, number, &is_new);
	if (is_new)
		sn_vec_push(&p->file_list, sn_structure_string(p->structure, file));
}

static void put_ranges(struct packer *p, const struct sn_range *ranges, uint32_t count,
		       uint64_t base)
{
	put(&p->body, count);
	for (uint32_t i = 0; i < count; i++) {
		put_signed(&p->body, (int64_t)(ranges[i].first_link_addr - base));
		put(&p->body, ranges[i].end_link_addr - ranges[i].first_link_addr);
		base = ranges[i].end_link_addr;
	}
}

static void put_lines(struct packer *p, const struct sn_function *function)
{
	uint64_t addr = function->link_addr;
	uint32_t line = function->line;

	put(&p->body, function->line_count);
	for (uint32_t i = 0; i < function->line_count; i++) {
		const struct sn_line *row = &function->lines[i];

		put_signed(&p->body, (int64_t)(row->link_addr - addr));
		put_file(p, row->file);
		put_signed(&p->body, (int64_t)row->line - line);
		put(&p->body, row->column);
		put_index(&p->body, row->inline_index);
		addr = row->link_addr;
		line = row->line;
	}
}

static void put_inlines(struct packer *p, const struct sn_function *function)
{
	put(&p->body, function->inline_count);
	for (uint32_t i = 0; i < function->inline_count; i++) {
		const struct sn_inline *inlined = &function->inlines[i];

		put_string(p, inlined->name);
		put_string(p, inlined->linkage_name);
		put_string(p, inlined->file);
		put(&p->body, inlined->line);
		put_string(p, inlined->call_file);
		put(&p->body, inlined->call_line);
		put(&p->body, inlined->call_column);
		put_index(&p->body, inlined->parent);
	}
}

static void put_blocks(struct packer *p, const struct sn_function *function)
{
	uint64_t addr = function->link_addr;

	put(&p->body, function->block_count);
	for (uint32_t b = 0; b < function->block_count; b++) {
		const struct sn_block *block = &function->blocks[b];

		put_signed(&p->body, (int64_t)(block->link_addr - addr));
		put(&p->body, block->size_bytes);
		put(&p->body, block->instruction_count);
		put_index(&p->body, block->loop);
		put(&p->body, block->flags);
		put(&p->body, block->successor_count);
		for (uint32_t e = 0; e < block->successor_count; e++)
			put_signed(&p->body,
				   (int64_t)function->successors[block->first_successor + e] - b);
		addr = block->link_addr;
	}
}

#define PUT_INDEX(member)   put_index(&p->body, loop->member)
#define PUT_UINT(member)    put(&p->body, loop->member)
#define PUT_STRING(member)  put_string(p, loop->member)
#define PUT_ADDRESS(member) put_signed(&p->body, (int64_t)(loop->member - function->link_addr))
#define PUT_RANGES(member)  put_ranges(p, loop->member, loop->range_count, function->link_addr)
#define PUT_FLAGS(member)                                                                          \
	put(&p->body, (loop->is_innermost ? SN_EXTRACT_INNERMOST : 0u) |                           \
			      (loop->is_irreducible ? SN_EXTRACT_IRREDUCIBLE : 0u))

static void swap_body_and_record(struct packer *p)
{
	struct sn_text body = p->body;

	p->body = p->record;
	p->record = body;
}

/* Its length goes first: a reader that knows fewer members skips the rest. */
static void put_loop(struct packer *p, const struct sn_function *function,
		     const struct sn_loop *loop)
{
	sn_text_clear(&p->record);
	swap_body_and_record(p);
#define PUT(how, member, bound) PUT_##how(member);
	SN_EXTRACT_LOOP(PUT)
#undef PUT
	swap_body_and_record(p);
	put(&p->body, p->record.length);
	sn_text_add_bytes(&p->body, p->record.chars, p->record.length);
}

static void put_code(struct packer *p, const struct sn_structure *structure,
		     const struct sn_function *function)
{
	for (uint32_t i = 0; i < function->range_count; i++) {
		uint64_t length =
			function->ranges[i].end_link_addr - function->ranges[i].first_link_addr;
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(
			structure, function->ranges[i].first_link_addr, &available);

		if (available > length)
			available = length;
		if (!function->block_count) /* too large to be looked into: nor shown */
			available = 0;
		put(&p->body, available);
		if (available)
			sn_text_add_bytes(&p->body, (const char *)bytes, available);
	}
}

static bool same_unit(struct packer *p, const struct sn_unit *a, const struct sn_unit *b)
{
	struct sn_structure *s = p->structure;

	return a->language == b->language &&
	       sn_structure_string(s, a->name) == sn_structure_string(s, b->name) &&
	       sn_structure_string(s, a->folder) == sn_structure_string(s, b->folder) &&
	       sn_structure_string(s, a->producer) == sn_structure_string(s, b->producer);
}

/* A unit that two structures have is one. */
static uint64_t unit_add(struct packer *p, const struct sn_unit *unit)
{
	for (size_t i = 0; p->has_many_structures && i < p->units.count; i++)
		if (same_unit(p, p->units.items[i], unit))
			return i + 1;
	sn_vec_push(&p->units, unit);
	return p->units.count;
}

static uint64_t unit_number(struct packer *p, const struct sn_unit *unit)
{
	uint64_t *slot;

	if (!unit)
		return 0;
	slot = sn_map_put(&p->unit_numbers, (uintptr_t)unit, NULL);
	if (!*slot)
		*slot = unit_add(p, unit);
	return *slot;
}

static void put_function(struct packer *p, const struct sn_extract_function *item)
{
	const struct sn_function *function = item->function;

	put(&p->body, function->kind);
	put(&p->body, (function->has_lines ? SN_EXTRACT_HAS_LINES : 0u) |
			      (function->has_code ? SN_EXTRACT_HAS_CODE : 0u) |
			      (function->never_returns ? SN_EXTRACT_NEVER_RETURNS : 0u));
	put_string(p, function->name);
	put_string(p, function->linkage_name);
	put(&p->body, function->link_addr - p->structure->link_base);
	put_ranges(p, function->ranges, function->range_count, function->link_addr);
	put_file(p, function->file);
	put(&p->body, function->line);
	put(&p->body, function->entry_line);
	put(&p->body, unit_number(p, function->unit));
	put_lines(p, function);
	put_inlines(p, function);
	put_blocks(p, function);
	put(&p->body, function->loop_count);
	for (uint32_t l = 0; l < function->loop_count; l++)
		put_loop(p, function, &function->loops[l]);
	put_code(p, item->structure, function);
}

static void put_units(struct packer *p)
{
	put(&p->body, p->units.count);
	for (size_t i = 0; i < p->units.count; i++) {
		put_string(p, p->units.items[i]->name);
		put_string(p, p->units.items[i]->folder);
		put_string(p, p->units.items[i]->producer);
		put(&p->body, p->units.items[i]->language);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_sources(struct packer *p, const struct sn_extract_options *options)
{
	size_t limit = options && options->source_file_bytes ? options->source_file_bytes
							     : SOURCE_FILE_BYTES;
	struct sn_text sources = { 0 };
	uint64_t count = 0;

	if (p->file_list.count)
		qsort(p->file_list.items, p->file_list.count, sizeof(*p->file_list.items), by_text);
	for (size_t i = 0; options && options->with_source && i < p->file_list.count; i++) {
		size_t length;
		const char *chars =
			sn_structure_source(p->structure, p->file_list.items[i], &length);

		if (!chars || length > limit)
			continue;
		put(&sources, string_number(p, p->file_list.items[i]));
		put(&sources, length);
		sn_text_add_bytes(&sources, chars, length);
		count++;
	}
	put(&p->body, count);
	if (sources.length)
		sn_text_add_bytes(&p->body, sources.chars, sources.length);
	sn_text_free(&sources);
}

static void put_misses(struct packer *p, const uint64_t *misses, size_t count)
{
	uint64_t last = 0;

	put(&p->body, count);
	for (size_t i = 0; i < count; i++) {
		put(&p->body, misses[i] - last);
		last = misses[i];
	}
}

static void header_put(struct sn_text *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		sn_text_add_char(out, (char)(value >> (8 * i)));
}

static void compress(const struct sn_text *payload, struct sn_text *out)
{
	/* with its tables, which take longer to get from the kernel than an extract takes to pack */
	static _Thread_local ZSTD_CCtx *context;
	size_t bound = ZSTD_compressBound(payload->length), length;
	char *packed = sn_alloc(bound);

	if (!context)
		context = ZSTD_createCCtx();
	if (!context)
		sn_out_of_memory(bound);
	length = ZSTD_compressCCtx(context, packed, bound, payload->chars, payload->length,
				   ZSTD_LEVEL);
	if (ZSTD_isError(length)) /* with room for the worst case it fails only without memory */
		sn_out_of_memory(bound);
	sn_text_add(out, SN_EXTRACT_MAGIC);
	header_put(out, SN_EXTRACT_VERSION, 4);
	header_put(out, 0, 4);
	header_put(out, payload->length, 8);
	header_put(out, length, 8);
	header_put(out, sn_extract_hash(SN_EXTRACT_VERSION, payload->length, length, packed), 8);
	sn_text_add_bytes(out, packed, length);
	free(packed);
}

void sn_extract_pack(struct sn_structure *structure, const struct sn_extract_functions *functions,
		     const struct sn_extract_options *options, const char *debug_state,
		     const uint64_t *misses, size_t miss_count, struct sn_text *out)
{
	struct packer p = { .structure = structure };
	struct sn_text payload = { 0 };

	put_string(&p, structure->id);
	put_string(&p, structure->path);
	put_string(&p, structure->command_line);
	put_string(&p, structure->warning);
	put_string(&p, debug_state);
	put(&p.body, structure->link_base);
	for (size_t i = 0; i < functions->count; i++)
		p.has_many_structures |= functions->items[i].structure != structure;
	put(&p.body, functions->count);
	for (size_t i = 0; i < functions->count; i++)
		put_function(&p, &functions->items[i]);
	put_units(&p);
	put_sources(&p, options);
	put_misses(&p, misses, miss_count);
	put(&payload, p.string_count);
	if (p.strings.length)
		sn_text_add_bytes(&payload, p.strings.chars, p.strings.length);
	sn_text_add_bytes(&payload, p.body.chars, p.body.length);
	compress(&payload, out);
	sn_text_free(&payload);
	sn_text_free(&p.body);
	sn_text_free(&p.strings);
	sn_text_free(&p.record);
	sn_map_free(&p.numbers);
	sn_map_free(&p.files);
	sn_map_free(&p.unit_numbers);
	sn_vec_free(&p.file_list);
	sn_vec_free(&p.units);
}

void sn_extract_add(struct sn_extract_functions *to, struct sn_structure *structure,
		    const uint8_t *is_wanted)
{
	for (uint32_t i = 0; i < sn_structure_known_count(structure); i++)
		if (is_wanted[i])
			sn_vec_push(to, (struct sn_extract_function){ structure,
								      &structure->functions[i] });
}

void sn_extract_add_all(struct sn_extract_functions *to, struct sn_structure *structure)
{
	for (uint32_t i = 0; i < structure->function_count; i++)
		sn_vec_push(to,
			    (struct sn_extract_function){ structure, &structure->functions[i] });
}

static int by_entry(const void *a, const void *b)
{
	const struct sn_extract_function *x = a, *y = b;

	return x->function->link_addr < y->function->link_addr	 ? -1
	       : x->function->link_addr > y->function->link_addr ? 1
								 : 0;
}

void sn_extract_settle(struct sn_extract_functions *functions)
{
	size_t kept = 0;

	if (functions->count) /* glibc's is stable */
		qsort(functions->items, functions->count, sizeof(*functions->items), by_entry);
	for (size_t i = 0; i < functions->count; i++)
		if (!kept || by_entry(&functions->items[kept - 1], &functions->items[i]))
			functions->items[kept++] = functions->items[i];
	functions->count = kept;
}

/* ---- stubs that functions call ---- */

struct stubs {
	struct sn_structure *structure;
	uint8_t *is_wanted;
	struct sn_range span; /* around all stubs; empty: there are none */
};

static void find_span(struct stubs *stubs)
{
	const struct sn_structure *structure = stubs->structure;

	if (structure->on_demand) {
		sn_image_plt_span(structure->image, &stubs->span.first_link_addr,
				  &stubs->span.end_link_addr);
		return;
	}
	for (size_t i = 0; i < structure->function_count; i++) {
		const struct sn_function *function = &structure->functions[i];

		if (function->kind != SN_FUNCTION_PLT)
			continue;
		if (!stubs->span.end_link_addr)
			stubs->span.first_link_addr = function->link_addr;
		stubs->span.end_link_addr = function->link_addr + function->size_bytes;
	}
}

/* The stub at an address if nobody wants it yet, or -1. */
static int64_t unwanted_stub(const struct stubs *stubs, uint64_t link_addr)
{
	const struct sn_structure *structure = stubs->structure;
	int64_t index;

	if (link_addr - stubs->span.first_link_addr >=
	    stubs->span.end_link_addr - stubs->span.first_link_addr)
		return -1;
	index = sn_structure_find(structure, link_addr);
	return index >= 0 && !stubs->is_wanted[index] &&
			       structure->functions[index].kind == SN_FUNCTION_PLT
		       ? index
		       : -1;
}

/* Where bytes that could be a call (e8) or a jump (e9, eb) would lead to an unwanted stub, at or behind an offset;
 * SIZE_MAX: nowhere. Most functions have none, and decoding all of them takes long. */
static size_t next_candidate(const struct stubs *stubs, const struct sn_range *range, size_t from)
{
	uint64_t length = range->end_link_addr - range->first_link_addr, target;
	size_t available;
	const uint8_t *bytes =
		sn_structure_bytes(stubs->structure, range->first_link_addr, &available);
	int32_t displacement;

	length = bytes && length > available ? available : length;
	for (size_t i = from; bytes && i + 1 < length; i++) {
		if (bytes[i] != 0xe8 && bytes[i] != 0xe9 && bytes[i] != 0xeb)
			continue;
		target = range->first_link_addr + i + 2 + (uint64_t)(int8_t)bytes[i + 1];
		if (bytes[i] == 0xeb && unwanted_stub(stubs, target) >= 0)
			return i;
		if (bytes[i] == 0xeb || i + 5 > length)
			continue;
		memcpy(&displacement, bytes + i + 1, 4);
		target = range->first_link_addr + i + 5 + (uint64_t)(int64_t)displacement;
		if (unwanted_stub(stubs, target) >= 0)
			return i;
	}
	return SIZE_MAX;
}

/* Wants the stub that an instruction leads to; sets *next behind it. False: no code. */
static bool step_want_stub(struct stubs *stubs, uint64_t at, uint64_t *next)
{
	struct sn_instruction insn;
	size_t available;
	const uint8_t *bytes = sn_structure_bytes(stubs->structure, at, &available);
	int64_t stub = -1;

	if (!bytes)
		return false;
	*next = at + 1;
	if (!sn_instruction_decode(bytes, available, at, &insn))
		return true;
	*next = at + insn.length;
	if (insn.flow == SN_FLOW_CALL || insn.flow == SN_FLOW_JUMP)
		stub = unwanted_stub(stubs, insn.target_link_addr);
	if (stub >= 0) {
		stubs->is_wanted[stub] = 1;
		sn_structure_prepare(stubs->structure, &insn.target_link_addr, 1, SN_PREPARE_ALL);
	}
	return true;
}

static void range_want_stubs(struct stubs *stubs, const struct sn_range *range)
{
	for (uint64_t at = range->first_link_addr; at < range->end_link_addr;)
		if (!step_want_stub(stubs, at, &at))
			return;
}

/* The last block that begins at or before an address, if the address is in it. */
static const struct sn_block *block_around(const struct sn_function *function, uint64_t link_addr)
{
	size_t low = 0, high = function->block_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (function->blocks[middle].link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && link_addr - function->blocks[low - 1].link_addr <
				       function->blocks[low - 1].size_bytes
		       ? &function->blocks[low - 1]
		       : NULL;
}

/* What begins where is known from a block's first byte on: of a long function few blocks are decoded. */
static void function_want_stubs(struct stubs *stubs, uint32_t number)
{
	/* what is prepared may move the functions, not what they point to */
	const struct sn_function function = stubs->structure->functions[number];

	for (uint32_t r = 0; r < function.range_count; r++) {
		const struct sn_range *range = &function.ranges[r];

		for (size_t at = 0; (at = next_candidate(stubs, range, at)) != SIZE_MAX; at++) {
			uint64_t link_addr = range->first_link_addr + at, next;
			const struct sn_block *block = block_around(&function, link_addr);

			if (!block) {
				range_want_stubs(stubs, range);
				break;
			}
			for (next = block->link_addr; next <= link_addr;)
				if (!step_want_stub(stubs, next, &next))
					break;
		}
	}
}

static void want_stubs(struct sn_structure *structure, uint8_t *is_wanted)
{
	struct stubs stubs = { .structure = structure, .is_wanted = is_wanted };

	find_span(&stubs);
	for (uint32_t i = 0; stubs.span.end_link_addr && i < sn_structure_known_count(structure);
	     i++)
		if (is_wanted[i] && structure->functions[i].kind != SN_FUNCTION_PLT)
			function_want_stubs(&stubs, i);
}

void sn_extract_want(struct sn_structure *structure, const uint64_t *link_addrs, size_t count,
		     uint8_t *is_wanted)
{
	for (size_t i = 0; i < count; i++) {
		int64_t index = sn_structure_find(structure, link_addrs[i]);

		if (index >= 0)
			is_wanted[index] = 1;
	}
	sn_structure_prepare(structure, link_addrs, count, SN_PREPARE_ALL);
	want_stubs(structure, is_wanted);
}

sn_status sn_extract_save(struct sn_structure *structure,
			  const struct sn_extract_functions *functions,
			  const struct sn_extract_options *options, const char *path,
			  struct sn_error *err)
{
	struct sn_file_writer writer;
	struct sn_text bytes = { 0 };
	sn_status status = sn_file_writer_open(&writer, path, err);

	if (status != SN_OK)
		return status;
	sn_extract_pack(structure, functions, options, NULL, NULL, 0, &bytes);
	fwrite(bytes.chars, 1, bytes.length, writer.out);
	status = sn_file_writer_commit(&writer, err);
	sn_text_free(&bytes);
	return status;
}

sn_status sn_extract_write(struct sn_structure *structure, const uint64_t *link_addrs, size_t count,
			   const struct sn_extract_options *options, const char *path,
			   struct sn_error *err)
{
	struct sn_extract_functions functions = { 0 };
	uint8_t *is_wanted = sn_alloc_zeroed(structure->function_count + 1, 1);
	sn_status status;

	sn_extract_want(structure, link_addrs, count, is_wanted);
	sn_extract_add(&functions, structure, is_wanted);
	sn_extract_settle(&functions); /* on demand they come in any order */
	status = sn_extract_save(structure, &functions, options, path, err);
	sn_vec_free(&functions);
	free(is_wanted);
	return status;
}

sn_status sn_extract_drop_source(const void *bytes, size_t length, const char *name,
				 struct sn_text *out, struct sn_error *err)
{
	struct sn_extract_functions functions = { 0 };
	struct sn_structure *structure = NULL;
	sn_status status = sn_extract_read_memory(bytes, length, name, &structure, err);

	if (status != SN_OK)
		return status;
	sn_extract_add_all(&functions, structure);
	sn_extract_pack(structure, &functions, NULL, NULL, structure->misses.items,
			structure->misses.count, out);
	sn_vec_free(&functions);
	sn_structure_free(structure);
	return SN_OK;
}
