/* Copies of a function or a line in the code of a file. */
#include "search/online/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "code/names.h"
#include "search/online/entries.h"
#include "search/online/rows.h"

static void place_add(struct sn_places *out, const struct sn_place *place)
{
	for (size_t i = 0; i < out->items.count; i++)
		if (out->items.items[i].link_addr == place->link_addr)
			return;
	sn_vec_push(&out->items, *place);
}

static bool is_in(const struct sn_range *range, uint64_t link_addr)
{
	return link_addr >= range->first_link_addr && link_addr < range->end_link_addr;
}

/* Parts split off are for what happens seldom. */
static bool is_cold(const struct sn_function *function, uint64_t link_addr)
{
	return function->range_count && !is_in(&function->ranges[0], link_addr);
}

static bool is_main(const struct sn_loop *loop)
{
	return loop->role == SN_LOOP_MAIN || loop->role == SN_LOOP_VERSION;
}

/* How deep a place lies in loops around it: those that were written around its line, or around the call of its copy. An
 * instruction may have been moved out of them, and a loop's into another one. */
static unsigned depth_of(const struct sn_place *place)
{
	const struct sn_loop *loop = place->loop;
	bool is_around =
		loop && place->inline_index >= 0 &&
		!sn_inline_is_within(place->function, loop->inline_index, place->inline_index);

	if (loop && !is_around)
		is_around = loop->file && place->file && !strcmp(loop->file, place->file) &&
			    loop->line_first <= place->line && place->line <= loop->line_last;
	return is_around ? loop->depth : 0;
}

/* Whether one row of a copy stands for the line, and not the other: what is hot, then what is in the innermost loop, then
 * what is no rest of it. 0: both do. */
static int compare(const struct sn_place *a, const struct sn_place *b)
{
	bool a_cold = is_cold(a->function, a->link_addr),
	     b_cold = is_cold(b->function, b->link_addr);
	unsigned a_depth = depth_of(a), b_depth = depth_of(b);
	bool a_main = !a->loop || is_main(a->loop), b_main = !b->loop || is_main(b->loop);

	if (a_cold != b_cold)
		return a_cold ? 1 : -1;
	if (a_depth != b_depth)
		return a_depth < b_depth ? 1 : -1;
	return a_main == b_main ? 0 : a_main ? -1 : 1;
}

/* ---- functions ---- */

/* An inlined copy: what each of its executions passes once. */
static void copy_add(const struct sn_function *function, int32_t copy, struct sn_places *out)
{
	sn_addresses entries = { 0 };

	if (!sn_copy_entries(function, copy, &entries))
		out->unwatchable++;
	for (size_t i = 0; i < entries.count; i++)
		place_add(out, &(struct sn_place){ entries.items[i], function, copy,
						   sn_function_loop_at(function, entries.items[i]),
						   function->inlines[copy].file,
						   function->inlines[copy].line });
	sn_vec_free(&entries);
}

/* A procedure's plain name counts where nothing has the name itself. */
static bool is_named(const char *own, const char *linkage_name, const char *name, bool is_plain)
{
	enum sn_name_match match = sn_name_match_of(own, linkage_name, name);

	return is_plain ? match == SN_NAME_PLAIN : match > SN_NAME_PLAIN;
}

static void copies_find(struct sn_structure *structure, const struct sn_function *function,
			const char *name, bool is_plain, struct sn_places *out)
{
	for (uint32_t i = 0; i < function->inline_count; i++) {
		const struct sn_inline *copy = &function->inlines[i];

		if (!is_named(copy->name, copy->linkage_name, name, is_plain))
			continue;
		sn_function_prepare(structure, function, SN_PREPARE_ALL);
		copy_add(function, (int32_t)i, out);
	}
}

static void named_find(struct sn_structure *structure, const char *name, bool is_plain,
		       struct sn_places *out)
{
	const size_t count = sn_structure_function_count(structure);

	for (size_t i = 0; i < count; i++) {
		const struct sn_function *f = sn_structure_function(structure, i);

		if (f->kind == SN_FUNCTION_SYMBOL &&
		    is_named(f->name, f->linkage_name, name, is_plain))
			place_add(out, &(struct sn_place){ f->link_addr, f, -1, NULL, f->file,
							   f->line });
	}
	for (size_t i = 0; i < count; i++)
		copies_find(structure, sn_structure_function(structure, i), name, is_plain, out);
}

void sn_places_of_function(struct sn_structure *structure, const char *name, struct sn_places *out)
{
	*out = (struct sn_places){ 0 };
	sn_structure_prepare_all(structure, SN_PREPARE_LINES);
	named_find(structure, name, false, out);
	if (!out->items.count && !out->unwatchable)
		named_find(structure, name, true, out);
}

void sn_places_of_label(struct sn_structure *structure, const char *label, struct sn_places *out)
{
	const char *plus = strrchr(label, '+');
	size_t length = plus && sn_starts_with(plus, "+0x") ? (size_t)(plus - label) : 0;
	uint64_t offset = length ? strtoull(plus + 3, NULL, 16) : 0;

	*out = (struct sn_places){ 0 };
	for (size_t i = 0; length && i < sn_structure_function_count(structure); i++) {
		const struct sn_function *f = sn_structure_function(structure, i);
		uint64_t link_addr = f->link_addr + offset;
		bool is_whole = !f->name[length], begins = false;

		if (strncmp(f->name, label, length) != 0)
			continue;
		sn_function_prepare(structure, f, SN_PREPARE_ALL);
		for (uint32_t l = 0; l < f->loop_count; l++)
			if (!strcmp(f->loops[l].label, label))
				place_add(out, &(struct sn_place){ f->loops[l].header_link_addr, f,
								   f->loops[l].inline_index,
								   &f->loops[l], NULL, 0 });
		for (uint32_t r = 0; is_whole && r < f->line_count; r++)
			begins |= f->lines[r].link_addr == link_addr;
		for (uint32_t b = 0; is_whole && b < f->block_count; b++)
			begins |= f->blocks[b].link_addr == link_addr;
		if (begins)
			place_add(out,
				  &(struct sn_place){ link_addr, f, -1,
						      sn_function_loop_at(f, link_addr), NULL, 0 });
	}
}

/* ---- lines ---- */

static bool is_file(const char *file, const char *wanted, size_t length)
{
	size_t own = file ? strlen(file) : 0;

	return own >= length && !strncmp(file + own - length, wanted, length) &&
	       (own == length || file[own - length - 1] == '/');
}

/* Of one copy, what is passed in turn is one place: loops inside of it, and what a loop was split into. */
static void loop_add(struct sn_places *out, const struct sn_loop *loop)
{
	const struct sn_place place = {
		loop->header_link_addr, loop->function, loop->inline_index, loop, loop->file,
		loop->line_first
	};

	for (size_t i = 0; i < out->items.count; i++) {
		struct sn_place *known = &out->items.items[i];

		if (known->function != loop->function ||
		    known->inline_index != loop->inline_index ||
		    (known->loop->parent != loop->parent && known->loop->depth == loop->depth) ||
		    (known->loop->group == loop->group && known->loop->depth == loop->depth))
			continue;
		if (loop->depth < known->loop->depth)
			*known = place;
		return;
	}
	place_add(out, &place);
}

static void loops_find(const struct sn_function *f, const char *file, size_t length, uint32_t line,
		       struct sn_places *out)
{
	for (uint32_t l = 0; l < f->loop_count; l++)
		if (is_main(&f->loops[l]) && f->loops[l].line_first == line &&
		    is_file(f->loops[l].file, file, length))
			loop_add(out, &f->loops[l]);
}

static bool are_of_copy(const struct sn_place *a, const struct sn_place *b)
{
	return a->function == b->function && a->inline_index == b->inline_index;
}

/* Of two rows of two loops that both stand for the line: whether they are passed in turn, so that the first one counts. */
static bool are_one(const struct sn_place *a, const struct sn_place *b)
{
	return a->loop != b->loop &&
	       (!a->loop || !b->loop ||
		(a->loop->parent == b->loop->parent && a->loop->group != b->loop->group));
}

/* Rows come by address. */
static void row_add(struct sn_places *out, const struct sn_place *place)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->items.count; i++) {
		const struct sn_place *known = &out->items.items[i];
		bool is_copy = are_of_copy(known, place);
		int order = is_copy ? compare(known, place) : 0;

		if (is_copy && (order < 0 || (!order && are_one(known, place))))
			return;
		if (order <= 0)
			out->items.items[kept++] = *known;
	}
	out->items.count = kept;
	place_add(out, place);
}

static void rows_find(const struct sn_function *f, const char *file, size_t length, uint32_t line,
		      struct sn_places *out)
{
	for (uint32_t i = 0; i < f->line_count; i++) {
		const struct sn_line *row = &f->lines[i];

		if (row->line == line && is_file(row->file, file, length))
			row_add(out, &(struct sn_place){ row->link_addr, f, row->inline_index,
							 sn_function_loop_at(f, row->link_addr),
							 row->file, line });
	}
}

/* Of the rows of a copy in one loop those remain that bound executions of the line. */
static void rows_bound(struct sn_places *out)
{
	struct sn_places all = *out;
	sn_addresses rows = { 0 };

	*out = (struct sn_places){ .unwatchable = all.unwatchable };
	while (all.items.count) {
		struct sn_place first = all.items.items[0];
		size_t rest = 0;

		rows.count = 0;
		for (size_t i = 0; i < all.items.count; i++) {
			const struct sn_place place = all.items.items[i];

			if (are_of_copy(&first, &place) && first.loop == place.loop)
				sn_vec_push(&rows, place.link_addr);
			else
				all.items.items[rest++] = place;
		}
		all.items.count = rest;
		if (!sn_rows_bound(first.function, first.loop, &rows)) {
			out->unwatchable++;
			continue;
		}
		for (size_t i = 0; i < rows.count; i++) {
			first.link_addr = rows.items[i];
			place_add(out, &first);
		}
	}
	sn_vec_free(&rows);
	sn_vec_free(&all.items);
}

void sn_places_of_line(const struct sn_structure *structure, const char *file, size_t length,
		       uint32_t line, struct sn_places *out)
{
	const size_t count = sn_structure_function_count(structure);

	*out = (struct sn_places){ 0 };
	for (size_t i = 0; i < count; i++)
		loops_find(sn_structure_function(structure, i), file, length, line, out);
	if (out->items.count)
		return;
	for (size_t i = 0; i < count; i++)
		rows_find(sn_structure_function(structure, i), file, length, line, out);
	rows_bound(out);
}

/* ---- all of them ---- */

void sn_places_names_see(const struct sn_structure *structure,
			 void (*see)(const char *name, void *context), void *context)
{
	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *f = sn_structure_function(structure, i);

		if (f->kind == SN_FUNCTION_SYMBOL && f->name)
			see(f->name, context);
		for (uint32_t k = 0; k < f->inline_count; k++)
			if (f->inlines[k].name)
				see(f->inlines[k].name, context);
	}
}

void sn_places_files_see(const struct sn_structure *structure,
			 void (*see)(const char *file, void *context), void *context)
{
	const char *last = NULL;

	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *f = sn_structure_function(structure, i);

		for (uint32_t r = 0; r < f->line_count; r++) {
			if (f->lines[r].file && f->lines[r].file != last)
				see(f->lines[r].file, context);
			last = f->lines[r].file;
		}
	}
}

/* ---- what to say of them ---- */

bool sn_places_are_several(const struct sn_places *places)
{
	const struct sn_place *first = places->items.items;

	for (size_t i = 1; i < places->items.count; i++) {
		const struct sn_place *other = &places->items.items[i];

		if (!first->file || !other->file)
			return true;
		if (strcmp(first->file, other->file) != 0 || first->line != other->line)
			return true;
	}
	return false;
}

void sn_place_add_label(const struct sn_place *place, struct sn_text *out)
{
	sn_text_add(out, place->function->name);
	if (place->link_addr != place->function->link_addr)
		sn_text_addf(out, "+0x%llx",
			     (unsigned long long)(place->link_addr - place->function->link_addr));
}

/* The next line of a file that has code; UINT32_MAX: none. */
static uint32_t line_behind(const struct sn_structure *structure, const char *file, size_t length,
			    uint32_t line)
{
	uint32_t next = UINT32_MAX;

	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *f = sn_structure_function(structure, i);

		for (uint32_t r = 0; r < f->line_count; r++)
			if (f->lines[r].line > line && f->lines[r].line < next &&
			    is_file(f->lines[r].file, file, length))
				next = f->lines[r].line;
	}
	return next;
}

/* The loop that begins with the next line that has code, as its header may have none; else the innermost one that was written
 * around a line. NULL: none. */
static const struct sn_loop *loop_of_line(const struct sn_structure *structure, const char *file,
					  size_t length, uint32_t line)
{
	const uint32_t behind = line_behind(structure, file, length, line);
	const struct sn_loop *best = NULL, *next = NULL;

	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *f = sn_structure_function(structure, i);

		for (uint32_t l = 0; l < f->loop_count; l++) {
			const struct sn_loop *loop = &f->loops[l];

			if (!is_main(loop) || !is_file(loop->file, file, length))
				continue;
			if (loop->line_first == behind && (!next || loop->depth < next->depth))
				next = loop;
			if (loop->line_first <= line && line <= loop->line_last &&
			    (!best || loop->depth > best->depth))
				best = loop;
		}
	}
	return next ? next : best;
}

/* Of a loop: written in it, and passed in each of its iterations. */
static bool is_of_loop(const struct sn_place *place, const struct sn_loop *loop)
{
	return !loop ||
	       (place->loop && place->loop->file && !strcmp(place->loop->file, loop->file) &&
		place->loop->line_first == loop->line_first && loop->line_first <= place->line &&
		place->line <= loop->line_last);
}

static bool nearest_of_loop(const struct sn_structure *structure, const char *file, size_t length,
			    uint32_t line, const struct sn_loop *loop, struct sn_place *out)
{
	enum { FARTHEST = 10000, TRIES = 64 };
	SN_VEC(uint32_t) lines = { 0 };
	struct sn_places places = { 0 };
	bool is_there = false;

	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *f = sn_structure_function(structure, i);

		for (uint32_t r = 0; r < f->line_count; r++)
			if (f->lines[r].line && f->lines[r].line != line &&
			    is_file(f->lines[r].file, file, length))
				sn_vec_push(&lines, f->lines[r].line);
	}
	for (uint32_t tries = 0, distance = 0; !is_there && tries < TRIES && distance < FARTHEST;) {
		uint32_t nearest = 0, next = UINT32_MAX;

		for (size_t i = 0; i < lines.count; i++) {
			uint32_t own = lines.items[i] > line ? 2 * (lines.items[i] - line) - 1
							     : 2 * (line - lines.items[i]);
			if (own > distance && own < next) {
				next = own;
				nearest = lines.items[i];
			}
		}
		if (!nearest)
			break;
		distance = next;
		tries++;
		sn_places_of_line(structure, file, length, nearest, &places);
		is_there = places.items.count && !places.unwatchable &&
			   places.items.count <= SN_MONITOR_PLACES_MAX &&
			   !sn_places_are_several(&places) &&
			   is_of_loop(&places.items.items[0], loop);
		if (is_there)
			*out = places.items.items[0];
		sn_vec_free(&places.items);
	}
	sn_vec_free(&lines);
	return is_there;
}

bool sn_places_nearest(const struct sn_structure *structure, const char *file, size_t length,
		       uint32_t line, struct sn_place *out)
{
	const struct sn_loop *loop = loop_of_line(structure, file, length, line);

	return (loop && nearest_of_loop(structure, file, length, line, loop, out)) ||
	       nearest_of_loop(structure, file, length, line, NULL, out);
}
