/* Where loops stand in the source: the subroutine they were written in, first and last line, label.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "code/structure_parts.h"

/* Lines of one file. Those of the subroutine's head (its declaration to its first row) are kept
 * apart: they stand for the prologue and for sizes computed there, which the compiler may move into
 * a loop. */
struct extent {
	const char *file;
	uint32_t first, last;
	uint32_t head_first, head_last; /* 0: none */
	bool is_head_met;
};

/* What is gathered about one loop. */
struct place {
	uint32_t latch_line; /* smallest line in the head from which a jump leads back, 0: none */
	int32_t home;	     /* inline index, -1 the function itself */
	struct extent declared; /* lines in the file that declares the home */
	struct extent headed;	/* lines in the file of the header */
};

static int32_t common_inline(const struct sn_function *function, int32_t a, int32_t b)
{
	while (a != b) { /* parents have smaller indices */
		if (a > b)
			a = function->inlines[a].parent;
		else
			b = function->inlines[b].parent;
	}
	return a;
}

static int32_t inline_at(const struct sn_function *function, uint64_t link_addr)
{
	const struct sn_line *line = sn_function_line_at(function, link_addr);

	return line ? line->inline_index : -1;
}

static bool is_in_loop(const struct sn_function *function, int32_t inner, int32_t outer)
{
	while (inner > outer)
		inner = function->loops[inner].parent;
	return inner == outer;
}

/* The loop that the block's e-th successor is the header of, if the block lies in it: the edge is a
 * jump back. */
static int32_t latch_of(const struct sn_function *function, const struct sn_block *block,
			uint32_t e)
{
	const struct sn_block *to =
		&function->blocks[function->successors[block->first_successor + e]];

	return to->loop >= 0 && block->loop >= 0 &&
			       to->link_addr == function->loops[to->loop].header_link_addr &&
			       is_in_loop(function, block->loop, to->loop)
		       ? to->loop
		       : -1;
}

/* A loop was written in the innermost subroutine that its header and all its jumps back have in
 * common, of all that they were inlined through. */
static void find_homes(const struct sn_function *function, struct place *places)
{
	for (uint32_t l = 0; l < function->loop_count; l++)
		places[l].home = inline_at(function, function->loops[l].header_link_addr);
	for (uint32_t b = 0; b < function->block_count; b++) {
		const struct sn_block *block = &function->blocks[b];

		for (uint32_t e = 0; e < block->successor_count; e++) {
			int32_t loop = latch_of(function, block, e);

			if (loop >= 0)
				places[loop].home = common_inline(
					function, places[loop].home,
					inline_at(function,
						  block->link_addr + block->size_bytes - 1));
		}
	}
}

/* The position as seen from `home`: calls of what was inlined there stand for their insides. False
 * if the position is not inside of home at all. */
static bool lift(const struct sn_function *function, const struct sn_line *line, int32_t home,
		 const char **file, uint32_t *number)
{
	int32_t at = line->inline_index;

	*file = line->file;
	*number = line->line;
	while (at > home) {
		*file = function->inlines[at].call_file;
		*number = function->inlines[at].call_line;
		at = function->inlines[at].parent;
	}
	return at == home && *file && *number;
}

static void extent_add(struct extent *extent, const char *file, uint32_t line)
{
	if (!extent->file || extent->file != file)
		return;
	if (line >= extent->head_first && line <= extent->head_last) {
		extent->is_head_met = true;
		return;
	}
	if (!extent->first || line < extent->first)
		extent->first = line;
	if (line > extent->last)
		extent->last = line;
}

/* A loop that is closed on a line of the head begins there: all is on one line. So does one with no
 * other. */
static void extent_finish(struct extent *extent, uint32_t latch_line)
{
	if (extent->first && latch_line) {
		extent->first = latch_line < extent->first ? latch_line : extent->first;
		extent->last = latch_line > extent->last ? latch_line : extent->last;
	}
	if (extent->first || !extent->is_head_met)
		return;
	extent->first = extent->head_first;
	extent->last = extent->head_last;
}

static void set_head(const struct sn_function *function, struct place *place)
{
	enum { HEAD_LINES_MAX = 16 };
	struct extent *extent = &place->declared;

	extent->head_first = extent->head_last =
		place->home >= 0 ? function->inlines[place->home].line : function->line;
	if (place->home < 0 && function->entry_line > extent->head_first &&
	    function->entry_line - extent->head_first < HEAD_LINES_MAX)
		extent->head_last = function->entry_line;
}

static void choose_files(const struct sn_function *function, struct place *places)
{
	for (uint32_t l = 0; l < function->loop_count; l++) {
		struct place *place = &places[l];
		const struct sn_line *line =
			sn_function_line_at(function, function->loops[l].header_link_addr);
		uint32_t number;

		place->declared.file =
			place->home >= 0 ? function->inlines[place->home].file : function->file;
		set_head(function, place);
		if (line && !lift(function, line, place->home, &place->headed.file, &number))
			place->headed.file = NULL;
	}
}

/* Jumps back from lines of the head. */
static void find_latch_lines(const struct sn_function *function, struct place *places)
{
	for (uint32_t b = 0; b < function->block_count; b++) {
		const struct sn_block *block = &function->blocks[b];
		const struct sn_line *line =
			sn_function_line_at(function, block->link_addr + block->size_bytes - 1);

		for (uint32_t e = 0; line && e < block->successor_count; e++) {
			struct place *place;
			const char *file;
			uint32_t number;
			int32_t loop = latch_of(function, block, e);

			if (loop < 0)
				continue;
			place = &places[loop];
			if (lift(function, line, place->home, &file, &number) &&
			    file == place->declared.file && number >= place->declared.head_first &&
			    number <= place->declared.head_last &&
			    (!place->latch_line || number < place->latch_line))
				place->latch_line = number;
		}
	}
}

static void add_block(const struct sn_function *function, struct place *places,
		      const struct sn_block *block)
{
	const struct sn_line *line = sn_function_line_at(function, block->link_addr);
	const struct sn_line *end = function->lines + function->line_count;
	uint64_t block_end = block->link_addr + block->size_bytes;

	if (!line)
		return;
	/* rows of another range follow its end, which is no problem: their addresses are beyond */
	for (; line < end && line->link_addr < block_end; line++) {
		for (int32_t l = block->loop; l >= 0; l = function->loops[l].parent) {
			const char *file;
			uint32_t number;

			if (!lift(function, line, places[l].home, &file, &number))
				continue;
			extent_add(&places[l].declared, file, number);
			extent_add(&places[l].headed, file, number);
		}
	}
}

static void label(struct sn_structure *structure, const struct sn_function *function,
		  struct sn_loop *loop)
{
	uint64_t offset = loop->header_link_addr - function->link_addr;
	struct sn_arena *arena = &structure->arena;
	size_t length = sn_name_stem_length(function->name);
	int stem = length < 200 ? (int)length : 200;

	if (loop->file && loop->line_last > loop->line_first)
		loop->label = sn_arena_printf(arena, "%s:%u-%u", sn_base_name(loop->file),
					      loop->line_first, loop->line_last);
	else if (loop->file)
		loop->label =
			sn_arena_printf(arena, "%s:%u", sn_base_name(loop->file), loop->line_first);
	else if ((int64_t)offset < 0)
		loop->label =
			sn_arena_printf(arena, "%.*s-0x%" PRIx64, stem, function->name, -offset);
	else
		loop->label =
			sn_arena_printf(arena, "%.*s+0x%" PRIx64, stem, function->name, offset);
}

void sn_loops_describe(struct sn_structure *structure, struct sn_function *function)
{
	struct place *places = sn_alloc_zeroed((size_t)function->loop_count + 1, sizeof(*places));

	if (function->line_count) {
		find_homes(function, places);
		choose_files(function, places);
		find_latch_lines(function, places);
		for (uint32_t b = 0; b < function->block_count; b++)
			if (function->blocks[b].loop >= 0)
				add_block(function, places, &function->blocks[b]);
	}
	for (uint32_t l = 0; l < function->loop_count; l++) {
		struct sn_loop *loop = (struct sn_loop *)&function->loops[l];
		const struct extent *extent;

		extent_finish(&places[l].declared, places[l].latch_line);
		extent = places[l].declared.first ? &places[l].declared : &places[l].headed;
		loop->inline_index = function->line_count ? places[l].home : -1;
		loop->file = extent->first ? extent->file : NULL;
		loop->line_first = extent->first;
		loop->line_last = extent->last;
		label(structure, function, loop);
	}
	free(places);
	sn_loops_group(structure, function);
}
