/*
 * One table for source lines and inlined subroutines: rows end where an inlined range begins or
 * ends, and each row knows the innermost subroutine that it is of.
 */
#include "code/line_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

int sn_ranges_by_address(const void *a, const void *b)
{
	const struct sn_range *x = a, *y = b;

	return x->first_link_addr < y->first_link_addr ? -1
						       : x->first_link_addr > y->first_link_addr;
}

static int lines_by_address(const void *a, const void *b)
{
	const struct sn_line *x = a, *y = b;

	return x->link_addr < y->link_addr ? -1 : x->link_addr > y->link_addr;
}

static size_t line_from(const struct sn_line *lines, size_t count, uint64_t link_addr)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines[middle].link_addr < link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Rows at each end of an inlined range too, so that each row has one inlined subroutine. */
static void split_lines(struct sn_gathered_lines *to, const struct sn_function *function)
{
	size_t count = to->lines.count, kept = 0;

	for (size_t i = 0; i < to->ranges.count; i++) {
		const uint64_t ends[2] = { to->ranges.items[i].range.first_link_addr,
					   to->ranges.items[i].range.end_link_addr };

		for (int k = 0; k < 2; k++) {
			size_t at = line_from(to->lines.items, count, ends[k]);
			struct sn_line line;

			if (!function_holds(function, ends[k]) || at == 0 ||
			    (at < count && to->lines.items[at].link_addr == ends[k]))
				continue;
			line = to->lines.items[at - 1];
			line.link_addr = ends[k];
			sn_vec_push(&to->lines, line);
		}
	}
	if (to->lines.count == count)
		return;
	qsort(to->lines.items, to->lines.count, sizeof(*to->lines.items), lines_by_address);
	for (size_t i = 0; i < to->lines.count; i++)
		if (!kept || to->lines.items[kept - 1].link_addr != to->lines.items[i].link_addr)
			to->lines.items[kept++] = to->lines.items[i];
	to->lines.count = kept;
}

/* Innermost first, each row is painted once: `next` leads over what is painted. */
static void paint_inlines(struct sn_gathered_lines *to)
{
	size_t count = to->lines.count;
	size_t *next = sn_alloc_zeroed(count + 1, sizeof(*next));

	for (size_t i = 0; i <= count; i++)
		next[i] = i;
	/* children come after their parents, so from the last to the first */
	for (size_t i = to->ranges.count; i-- > 0;) {
		const struct sn_inline_range *range = &to->ranges.items[i];
		size_t at = line_from(to->lines.items, count, range->range.first_link_addr);

		for (;;) {
			while (next[at] != at) {
				next[at] = next[next[at]];
				at = next[at];
			}
			if (at >= count ||
			    to->lines.items[at].link_addr >= range->range.end_link_addr)
				break;
			to->lines.items[at].inline_index = (int32_t)range->inlined;
			next[at] = at + 1;
		}
	}
	free(next);
}

static void merge_equal_rows(struct sn_gathered_lines *to, const struct sn_range *ranges,
			     size_t range_count)
{
	size_t kept = 0, range = 0;

	for (size_t i = 0; i < to->lines.count; i++) {
		const struct sn_line *line = &to->lines.items[i];
		const struct sn_line *last = kept ? &to->lines.items[kept - 1] : NULL;
		bool begins_range = false;

		while (range < range_count && ranges[range].first_link_addr <= line->link_addr) {
			begins_range |= ranges[range].first_link_addr == line->link_addr;
			range++;
		}
		if (last && !begins_range && last->file == line->file && last->line == line->line &&
		    last->column == line->column && last->inline_index == line->inline_index)
			continue;
		to->lines.items[kept++] = *line;
	}
	to->lines.count = kept;
}

void sn_gathered_lines_finish(struct sn_structure *structure, struct sn_gathered_lines *from)
{
	struct sn_function *function = &structure->functions[from->function];
	struct sn_range *ranges = sn_alloc_zeroed(function->range_count, sizeof(*ranges));
	struct sn_line *lines;
	struct sn_inline *inlines;

	memcpy(ranges, function->ranges, function->range_count * sizeof(*ranges));
	qsort(ranges, function->range_count, sizeof(*ranges), sn_ranges_by_address);
	split_lines(from, function);
	paint_inlines(from);
	merge_equal_rows(from, ranges, function->range_count);
	lines = sn_arena_array(&structure->arena, struct sn_line, from->lines.count);
	if (from->lines.count)
		memcpy(lines, from->lines.items, from->lines.count * sizeof(*lines));
	inlines = sn_arena_array(&structure->arena, struct sn_inline, from->inlines.count);
	if (from->inlines.count)
		memcpy(inlines, from->inlines.items, from->inlines.count * sizeof(*inlines));
	function->lines = lines;
	function->line_count = (uint32_t)from->lines.count;
	function->inlines = inlines;
	function->inline_count = (uint32_t)from->inlines.count;
	function->unit = from->unit;
	free(ranges);
}

void sn_gathered_lines_free(struct sn_gathered_lines *gathered)
{
	sn_vec_free(&gathered->inlines);
	sn_vec_free(&gathered->ranges);
	sn_vec_free(&gathered->lines);
}
