/*
 * Functions of a module: from symbols, with cold parts joined to the function that they were split
 * from, and named only when somebody asks. Lines, blocks and loops are computed by other files of
 * this folder when a function is prepared.
 */
#include "code/options.h"
#include "code/structure.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "code/demangle.h"
#include "code/noreturn.h"
#include "code/structure_parts.h"

const char *sn_loop_role_name(enum sn_loop_role role)
{
	static const char *const names[] = { "main", "peel", "tail", "version" };

	return names[role];
}

const struct sn_loop *sn_loop_main(const struct sn_loop *loop)
{
	return &loop->function->loops[loop->group];
}

uint64_t sn_loop_size_bytes(const struct sn_loop *loop)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < loop->range_count; i++)
		bytes += loop->ranges[i].end_link_addr - loop->ranges[i].first_link_addr;
	return bytes;
}

const char *sn_loop_inlined_from(const struct sn_loop *loop)
{
	return loop->inline_index >= 0 ? loop->function->inlines[loop->inline_index].name : NULL;
}

struct sn_structure *sn_structure_new(void)
{
	return sn_alloc_zeroed(1, sizeof(struct sn_structure));
}

const char *sn_structure_string(struct sn_structure *structure, const char *chars)
{
	return chars ? sn_interned_chars(&structure->strings,
					 sn_intern_string(&structure->strings, chars))
		     : NULL;
}

/* ---- functions ---- */

static const char *readable_name(struct sn_structure *structure, const char *linkage_name)
{
	struct sn_text text = { 0 };
	const char *name;

	if (!sn_demangle(linkage_name, &text))
		return linkage_name;
	name = sn_structure_string(structure, text.chars);
	sn_text_free(&text);
	return name;
}

static const char *plt_name(struct sn_structure *structure, const char *linkage_name)
{
	struct sn_text text = { 0 };
	char *plain = sn_strndup(linkage_name, strlen(linkage_name) - 4);
	const char *name = linkage_name;

	if (sn_demangle(plain, &text)) {
		sn_text_add(&text, "@plt");
		name = sn_structure_string(structure, text.chars);
	}
	sn_text_free(&text);
	free(plain);
	return name;
}

static void add_range(struct sn_structure *structure, const struct sn_symbol *symbol,
		      uint32_t function)
{
	struct function_range range = {
		{ symbol->link_addr, symbol->link_addr + symbol->size_bytes }, function
	};

	sn_vec_push(&structure->ranges, range);
}

static void set_function(struct sn_function *function, const struct sn_symbol *symbol)
{
	static const uint8_t kinds[] = {
		[SN_SYMBOL_FUNCTION] = SN_FUNCTION_SYMBOL,
		[SN_SYMBOL_PLT] = SN_FUNCTION_PLT,
		[SN_SYMBOL_FDE] = SN_FUNCTION_FDE,
		[SN_SYMBOL_GAP] = SN_FUNCTION_GAP,
	};

	function->kind = kinds[symbol->kind];
	function->link_addr = symbol->link_addr;
	function->linkage_name = symbol->name;
}

/* Of a hundred thousand functions few are asked for: those without a symbol get a name only then.
 */
static const char *name_by_address(struct sn_structure *structure,
				   const struct sn_function *function)
{
	const struct sn_symbol *symbol =
		structure->image ? sn_image_symbol_at(structure->image, function->link_addr) : NULL;
	const char *after = symbol ? symbol->after : NULL;
	struct sn_text text = { 0 };
	const char *name;

	sn_text_addf(&text, "<%s at 0x%" PRIx64 "%s%s>",
		     function->kind == SN_FUNCTION_FDE ? "function" : "code", function->link_addr,
		     after ? ", after " : "", after ? after : "");
	name = sn_structure_string(structure, text.chars);
	sn_text_free(&text);
	return name;
}

/* Sets the readable name if it is not there. */
static void name_function(struct sn_structure *structure, struct sn_function *function)
{
	if (!function->linkage_name)
		function->linkage_name = name_by_address(structure, function);
	if (function->name)
		return;
	if (function->kind == SN_FUNCTION_SYMBOL)
		function->name = readable_name(structure, function->linkage_name);
	else if (function->kind == SN_FUNCTION_PLT)
		function->name = plt_name(structure, function->linkage_name);
	else
		function->name = function->linkage_name;
}

/* Each function's ranges, the entry's first. They are found in address order. */
static void collect_ranges(struct sn_structure *structure)
{
	struct sn_range *ranges =
		sn_arena_array(&structure->arena, struct sn_range, structure->ranges.count + 1);
	uint32_t *filled = sn_alloc_zeroed(structure->function_count + 1, sizeof(*filled));

	for (size_t i = 0; i < structure->ranges.count; i++)
		structure->functions[structure->ranges.items[i].function].range_count++;
	for (size_t i = 0; i < structure->function_count; i++) {
		structure->functions[i].ranges = ranges;
		ranges += structure->functions[i].range_count;
	}
	for (int entry = 1; entry >= 0; entry--) {
		for (size_t i = 0; i < structure->ranges.count; i++) {
			const struct function_range *range = &structure->ranges.items[i];
			struct sn_function *function = &structure->functions[range->function];
			struct sn_range *to = (struct sn_range *)function->ranges;

			if ((range->range.first_link_addr == function->link_addr) != entry)
				continue;
			to[filled[range->function]++] = range->range;
			function->size_bytes +=
				range->range.end_link_addr - range->range.first_link_addr;
		}
	}
	free(filled);
}

/* ---- on demand ---- */

enum { ON_DEMAND_MOST = 1 << 16, ON_DEMAND_BYTES = ON_DEMAND_MOST * sizeof(struct sn_function) };

static void range_insert(struct sn_structure *structure, struct sn_range range, uint32_t function)
{
	size_t at = structure->ranges.count;
	struct function_range item = { range, function };

	while (at && structure->ranges.items[at - 1].range.first_link_addr > range.first_link_addr)
		at--;
	sn_vec_push(&structure->ranges, item);
	memmove(structure->ranges.items + at + 1, structure->ranges.items + at,
		(structure->ranges.count - 1 - at) * sizeof(item));
	structure->ranges.items[at] = item;
}

/* The function that begins with a symbol, with its cold parts: they come in order of address. */
static uint32_t add_function(struct sn_structure *structure, struct sn_symbol entry)
{
	struct on_demand *d = structure->on_demand;
	uint32_t index = d->used_count++, count = 1;
	struct sn_function *function = &structure->functions[index];
	struct sn_range *ranges;

	for (size_t i = 0; i < d->cold_parts.count; i++)
		count += d->cold_parts.items[i].parent_link_addr == entry.link_addr;
	ranges = sn_arena_array(&structure->arena, struct sn_range, count);
	function->index = index;
	set_function(function, &entry);
	function->ranges = ranges;
	ranges[0] = (struct sn_range){ entry.link_addr, entry.link_addr + entry.size_bytes };
	count = 1;
	for (size_t i = 0; i < d->cold_parts.count; i++) {
		const struct cold_part *part = &d->cold_parts.items[i];
		const struct sn_symbol *symbol;

		if (part->parent_link_addr != entry.link_addr)
			continue;
		symbol = sn_image_symbol_at(structure->image, part->link_addr);
		if (!symbol)
			continue; /* a file of the cache said so, and is wrong */
		ranges[count++] = (struct sn_range){ symbol->link_addr,
						     symbol->link_addr + symbol->size_bytes };
	}
	function->range_count = count;
	for (uint32_t i = 0; i < count; i++) {
		function->size_bytes += ranges[i].end_link_addr - ranges[i].first_link_addr;
		range_insert(structure, ranges[i], index);
	}
	return index;
}

static int64_t find_on_demand(struct sn_structure *structure, uint64_t link_addr)
{
	struct on_demand *d = structure->on_demand;
	const struct sn_symbol *symbol;
	uint64_t *slot;

	if (!d->has_cold_parts)
		sn_cold_parts_find(structure->image, d);
	symbol = sn_image_symbol_at(structure->image, link_addr);
	for (size_t i = 0; symbol && i < d->cold_parts.count; i++)
		if (d->cold_parts.items[i].link_addr == symbol->link_addr)
			symbol = sn_image_symbol_at(structure->image,
						    d->cold_parts.items[i].parent_link_addr);
	if (!symbol)
		return -1;
	d->is_full |= d->used_count >= structure->function_count;
	if (d->is_full)
		return -1;
	slot = sn_map_put(&d->by_start, symbol->link_addr, NULL);
	if (!*slot)
		*slot = add_function(structure, *symbol) + 1;
	return (int64_t)*slot - 1;
}

size_t sn_structure_known_count(const struct sn_structure *structure)
{
	return structure->on_demand ? structure->on_demand->used_count : structure->function_count;
}

bool sn_structure_is_full(const struct sn_structure *structure)
{
	return structure->on_demand && structure->on_demand->is_full;
}

/* Functions are pointed to, so they do not move: there is room for all at once, which costs nothing
 * until it is used. */
static void read_on_demand(struct sn_structure *structure)
{
	void *room = mmap(NULL, ON_DEMAND_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		sn_out_of_memory(ON_DEMAND_BYTES);
	structure->on_demand = sn_alloc_zeroed(1, sizeof(*structure->on_demand));
	structure->function_count = ON_DEMAND_MOST;
	structure->functions = room;
}

static void read_functions(struct sn_structure *structure)
{
	size_t symbol_count, count = 0;
	const struct sn_symbol *symbols = sn_image_symbols(structure->image, &symbol_count);
	uint32_t *owner = sn_cold_parts_join(structure->image, symbols, symbol_count);
	uint32_t *index = sn_alloc_zeroed(symbol_count + 1, sizeof(*index));

	for (size_t i = 0; i < symbol_count; i++)
		if (owner[i] == i)
			index[i] = (uint32_t)count++;
	structure->functions = sn_arena_array(&structure->arena, struct sn_function, count);
	structure->function_count = count;
	sn_vec_reserve(&structure->ranges, symbol_count);
	for (size_t i = 0; i < symbol_count; i++) {
		struct sn_function *function = &structure->functions[index[owner[i]]];

		if (owner[i] == i) {
			function->index = index[i];
			set_function(function, &symbols[i]);
		}
		add_range(structure, &symbols[i], index[owner[i]]);
	}
	collect_ranges(structure);
	free(index);
	free(owner);
}

static const char *warning_of(const struct sn_image *image)
{
	struct sn_image_facts facts = sn_image_facts(image);

	if (facts.is_damaged)
		return "the file is damaged: parts of it point outside of it and were left out";
	if (!facts.has_symtab && facts.has_unwind)
		return "there is no symbol table: local functions are named by address "
		       "(install the debug package, or record with --debuginfod)";
	if (!facts.has_symtab)
		return "there is neither a symbol table nor unwind information: most functions "
		       "cannot be told apart";
	if (!facts.has_debug_lines)
		return "there is no debug information: no source lines, no inlined functions "
		       "(compile with -g, install the debug package, or record with --debuginfod)";
	return NULL;
}

sn_status sn_structure_open(struct sn_image *image, struct sn_structure **out, struct sn_error *err)
{
	struct sn_structure *structure = sn_structure_new();
	size_t count;

	if (sn_image_is_on_demand(image))
		count = sn_image_has_code(image);
	else
		sn_image_symbols(image, &count);
	if (!count) {
		free(structure);
		if (sn_image_facts(image).is_damaged)
			return sn_error_set(
				err, SN_ERR_FORMAT,
				"'%s' is cut short: its code, or the table of its sections "
				"or segments, lies beyond the end of the file",
				sn_image_path(image));
		return sn_error_set(err, SN_ERR_NO_DATA, "'%s' has no executable code",
				    sn_image_path(image));
	}
	structure->image = image;
	structure->id = sn_structure_string(structure, sn_image_id(image));
	structure->path = sn_structure_string(structure, sn_image_path(image));
	structure->command_line = sn_image_command_line(image);
	structure->link_base = sn_image_link_base(image);
	structure->warning = warning_of(image);
	if (sn_image_is_on_demand(image))
		read_on_demand(structure);
	else
		read_functions(structure);
	*out = structure;
	return SN_OK;
}

void sn_structure_free(struct sn_structure *structure)
{
	if (!structure)
		return;
	if (structure->on_demand) {
		sn_map_free(&structure->on_demand->by_start);
		sn_vec_free(&structure->on_demand->cold_parts);
		munmap(structure->functions, ON_DEMAND_BYTES);
		free(structure->on_demand);
	}
	sn_line_reader_free(structure->lines);
	sn_cfg_scratch_free(structure->scratch);
	for (size_t i = 0; i < structure->sources.count; i++)
		if (structure->sources.items[i].is_heap)
			free((char *)structure->sources.items[i].chars);
	sn_vec_free(&structure->ranges);
	sn_vec_free(&structure->pieces);
	sn_vec_free(&structure->units);
	sn_vec_free(&structure->source_maps);
	sn_vec_free(&structure->sources);
	sn_vec_free(&structure->misses);
	sn_map_free(&structure->source_index);
	sn_map_free(&structure->returns);
	sn_interner_free(&structure->strings);
	sn_arena_free(&structure->arena);
	free(structure);
}

/* ---- plain answers ---- */

const char *sn_structure_id(const struct sn_structure *structure)
{
	return structure->id;
}

const char *sn_structure_path(const struct sn_structure *structure)
{
	return structure->path;
}

const char *sn_function_options(const struct sn_structure *structure,
				const struct sn_function *function)
{
	const struct sn_unit *unit = function ? function->unit : NULL;

	return unit && unit->producer && sn_has_options(unit->producer) ? unit->producer
									: structure->command_line;
}

const char *sn_structure_warning(const struct sn_structure *structure)
{
	return structure->warning;
}

size_t sn_structure_function_count(const struct sn_structure *structure)
{
	return structure->function_count;
}

/* Names are demangled when somebody looks: programs have a hundred times more functions than a run
 * meets. */
static const struct sn_function *named(const struct sn_structure *structure, uint32_t index)
{
	struct sn_function *function = &structure->functions[index];

	if (!function->name)
		name_function((struct sn_structure *)structure, function);
	return function;
}

const struct sn_function *sn_structure_function(const struct sn_structure *structure, size_t index)
{
	return named(structure, (uint32_t)index);
}

int64_t sn_structure_find_known(const struct sn_structure *structure, uint64_t link_addr)
{
	size_t low = 0, high = structure->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (structure->ranges.items[middle].range.first_link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || link_addr >= structure->ranges.items[low - 1].range.end_link_addr)
		return -1;
	return structure->ranges.items[low - 1].function;
}

int64_t sn_structure_find(const struct sn_structure *structure, uint64_t link_addr)
{
	int64_t index = sn_structure_find_known(structure, link_addr);

	return index < 0 && structure->on_demand
		       ? find_on_demand((struct sn_structure *)(uintptr_t)structure, link_addr)
		       : index;
}

const struct sn_function *sn_structure_function_at(const struct sn_structure *structure,
						   uint64_t link_addr)
{
	int64_t index = sn_structure_find(structure, link_addr);

	return index >= 0 ? named(structure, (uint32_t)index) : NULL;
}

const uint8_t *sn_structure_bytes(const struct sn_structure *structure, uint64_t link_addr,
				  size_t *available)
{
	size_t low = 0, high = structure->pieces.count;

	if (structure->image)
		return sn_image_bytes(structure->image, link_addr, available);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (structure->pieces.items[middle].link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	*available = 0;
	if (low) {
		const struct code_piece *piece = &structure->pieces.items[low - 1];
		uint64_t offset = link_addr - piece->link_addr;

		if (offset < piece->length) {
			*available = piece->length - offset;
			return piece->bytes + offset;
		}
	}
	return NULL;
}

/* ---- preparing ---- */

static int by_index(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* `functions`: sorted, each once. */
static void prepare(struct sn_structure *structure, const uint32_t *functions, size_t count,
		    enum sn_prepare what)
{
	SN_VEC(uint32_t) without_lines = { 0 };

	if (!structure->image)
		return; /* an extract is complete */
	for (size_t i = 0; i < count && what & SN_PREPARE_LINES; i++)
		if (!structure->functions[functions[i]].has_lines)
			sn_vec_push(&without_lines, functions[i]);
	if (without_lines.count)
		sn_lines_prepare(structure, without_lines.items, without_lines.count);
	for (size_t i = 0, k = 0; i < count; i++) {
		struct sn_function *function = &structure->functions[functions[i]];
		bool is_new = false;

		name_function(structure, function);
		if (what & SN_PREPARE_CODE && !function->has_code) {
			sn_cfg_prepare(structure, function);
			function->never_returns = sn_never_returns(structure, function->link_addr);
			is_new = true;
		}
		if (k < without_lines.count && without_lines.items[k] == functions[i]) {
			is_new = function->has_code;
			k++;
		}
		if (is_new && function->loop_count)
			sn_loops_describe(structure, function);
	}
	sn_vec_free(&without_lines);
}

void sn_structure_prepare(struct sn_structure *structure, const uint64_t *link_addrs, size_t count,
			  enum sn_prepare what)
{
	SN_VEC(uint32_t) functions = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t index = sn_structure_find(structure, link_addrs[i]);

		if (index >= 0)
			sn_vec_push(&functions, (uint32_t)index);
	}
	if (functions.count)
		qsort(functions.items, functions.count, sizeof(*functions.items), by_index);
	for (size_t i = 0; i < functions.count; i++)
		if (!kept || functions.items[kept - 1] != functions.items[i])
			functions.items[kept++] = functions.items[i];
	prepare(structure, functions.items, kept, what);
	sn_vec_free(&functions);
}

void sn_structure_prepare_all(struct sn_structure *structure, enum sn_prepare what)
{
	uint32_t *functions = sn_alloc_zeroed(structure->function_count + 1, sizeof(*functions));

	for (uint32_t i = 0; i < structure->function_count; i++)
		functions[i] = i;
	prepare(structure, functions, structure->function_count, what);
	free(functions);
}

void sn_function_prepare(struct sn_structure *structure, const struct sn_function *function,
			 enum sn_prepare what)
{
	prepare(structure, &function->index, 1, what);
}

/* ---- finding ---- */

const struct sn_line *sn_function_line_at(const struct sn_function *function, uint64_t link_addr)
{
	size_t low = 0, high = function->line_count;
	const struct sn_line *line;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (function->lines[middle].link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	line = &function->lines[low - 1];
	/* rows cover the ranges, not what lies between them */
	for (uint32_t i = 0; i < function->range_count; i++) {
		const struct sn_range *range = &function->ranges[i];

		if (link_addr >= range->first_link_addr && link_addr < range->end_link_addr)
			return line->link_addr >= range->first_link_addr ? line : NULL;
	}
	return NULL;
}

/* Blocks are sorted within each range; ranges are in order of function->ranges. */
static const struct sn_block *block_in(const struct sn_function *function, size_t low, size_t high,
				       uint64_t link_addr)
{
	enum { OVERLAPS_MAX = 4 };
	size_t first = low;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (function->blocks[middle].link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i > first && i + OVERLAPS_MAX > low; i--) {
		const struct sn_block *block = &function->blocks[i - 1];

		if (link_addr - block->link_addr < block->size_bytes)
			return block;
	}
	return NULL;
}

const struct sn_block *sn_function_block_at(const struct sn_function *function, uint64_t link_addr)
{
	return block_in(function, 0, function->block_count, link_addr);
}

const struct sn_loop *sn_function_loop_at(const struct sn_function *function, uint64_t link_addr)
{
	const struct sn_block *block = sn_function_block_at(function, link_addr);

	return block && block->loop >= 0 ? &function->loops[block->loop] : NULL;
}

static void concrete_frame(const struct sn_function *function, struct sn_source_frame *frame)
{
	*frame = (struct sn_source_frame){ .name = function->name,
					   .linkage_name = function->linkage_name,
					   .decl_file = function->file,
					   .decl_line = function->line };
}

static void inlined_frame(const struct sn_inline *inlined, struct sn_source_frame *frame)
{
	*frame = (struct sn_source_frame){ .name = inlined->name,
					   .linkage_name = inlined->linkage_name,
					   .decl_file = inlined->file,
					   .decl_line = inlined->line,
					   .is_inlined = true };
}

static void add_frames(const struct sn_function *function, uint64_t link_addr,
		       struct sn_location *out)
{
	const struct sn_line *line = sn_function_line_at(function, link_addr);
	const char *file = line ? line->file : NULL;
	uint32_t number = line ? line->line : 0;
	uint16_t column = line ? line->column : 0;
	int32_t at = line ? line->inline_index : -1;

	out->frame_count = 0;
	for (;;) {
		/* too deep a nest keeps its innermost frames and the concrete function */
		struct sn_source_frame *frame = &out->frames[out->frame_count++];

		if (at >= 0 && out->frame_count < SN_FRAMES_MAX)
			inlined_frame(&function->inlines[at], frame);
		else
			concrete_frame(function, frame);
		frame->file = file;
		frame->line = number;
		frame->column = column;
		if (!frame->is_inlined)
			return;
		file = function->inlines[at].call_file;
		number = function->inlines[at].call_line;
		column = function->inlines[at].call_column;
		at = function->inlines[at].parent;
	}
}

bool sn_structure_locate(struct sn_structure *structure, uint64_t link_addr,
			 struct sn_location *out)
{
	const struct sn_function *function = sn_structure_function_at(structure, link_addr);

	if (!function)
		return false;
	sn_function_prepare(structure, function, SN_PREPARE_ALL);
	out->function = function;
	out->block = sn_function_block_at(function, link_addr);
	out->loop = out->block && out->block->loop >= 0 ? &function->loops[out->block->loop] : NULL;
	add_frames(function, link_addr, out);
	return true;
}

/* ---- source text ---- */

void sn_structure_map_source(struct sn_structure *structure, const char *from, const char *to)
{
	struct source_map map = { sn_structure_string(structure, from),
				  sn_structure_string(structure, to) };

	sn_vec_push(&structure->source_maps, map);
}

static struct source_text read_source(struct sn_structure *structure, const char *file)
{
	enum { SOURCE_BYTES_MAX = 64 << 20 };
	struct source_text source = { .file = file };
	struct sn_text path = { 0 };
	struct sn_file_view view;

	for (size_t i = structure->source_maps.count; i-- > 0 && !path.length;) {
		const struct source_map *map = &structure->source_maps.items[i];

		if (sn_starts_with(file, map->from))
			sn_text_addf(&path, "%s%s", map->to, file + strlen(map->from));
	}
	if (!path.length)
		sn_text_add(&path, file);
	if (sn_file_map(path.chars, &view, NULL) == SN_OK) {
		if (view.length <= SOURCE_BYTES_MAX) {
			source.chars = sn_strndup((const char *)view.bytes, view.length);
			source.length = view.length;
			source.is_heap = true;
		}
		sn_file_unmap(&view);
	}
	sn_text_free(&path);
	return source;
}

const char *sn_structure_source(struct sn_structure *structure, const char *file, size_t *length)
{
	const char *key;
	uint64_t *slot;

	*length = 0;
	if (!file)
		return NULL;
	key = sn_structure_string(structure, file);
	slot = sn_map_put(&structure->source_index, (uintptr_t)key, NULL);
	if (!*slot) {
		sn_vec_push(&structure->sources, read_source(structure, key));
		*slot = structure->sources.count;
	}
	*length = structure->sources.items[*slot - 1].length;
	return structure->sources.items[*slot - 1].chars;
}

const char *sn_loop_id(struct sn_structure *structure, const struct sn_function *function,
		       uint64_t header_link_addr)
{
	int64_t offset = (int64_t)(header_link_addr - function->link_addr);

	return sn_arena_printf(&structure->arena, "%s:%" PRIx64 ":%s%" PRIx64, structure->id,
			       function->link_addr - structure->link_base, offset < 0 ? "-" : "",
			       offset < 0 ? -(uint64_t)offset : (uint64_t)offset);
}

const char *sn_function_id(struct sn_structure *structure, const struct sn_function *function)
{
	return sn_arena_printf(&structure->arena, "%s:%" PRIx64, structure->id,
			       function->link_addr - structure->link_base);
}
