/*
 * Symbols of an image that is read on demand. A symbol's bounds depend on what stands around it: on
 * the name before it, on the FDE behind it. So the stretch around an address is widened to where
 * nothing reaches across its ends, and there the symbols are those of the whole file. A test holds
 * that (tests/unit/code/test_nearby.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "code/flow_end.h"
#include "code/image_parts.h"

struct stretch {
	struct sn_image *image;
	const struct sn_section *section;
	bool has_fdes; /* one FDE covers a whole PLT: there they say nothing */
	uint64_t first, end;
	bool is_part; /* of code that nothing names */
};

/* The number of names that begin below. */
static size_t names_below(const struct sn_image *image, uint64_t link_addr)
{
	return sn_name_entries_below(&image->code_entries, link_addr);
}

/* Whether a name that begins before reaches beyond an address. */
static bool is_covered(const struct sn_image *image, size_t names_before, uint64_t link_addr)
{
	return names_before && image->code_entries.items[names_before - 1].reach > link_addr;
}

static bool is_in_fde(const struct sn_image *image, size_t fdes_before, uint64_t link_addr)
{
	struct sn_fde fde;

	return fdes_before && sn_fde_table_get(image, fdes_before - 1, &fde) &&
	       fde.link_addr + fde.size_bytes > link_addr;
}

/* The latest place up to `link_addr` where something begins and nothing reaches across. */
static uint64_t first_of(const struct stretch *s, uint64_t link_addr)
{
	const struct sn_image *image = s->image;
	size_t names = names_below(image, link_addr + 1);
	size_t fdes = s->has_fdes ? sn_fde_table_below(&image->fde_table, link_addr + 1) : 0;

	for (;;) {
		uint64_t at = s->section->link_addr;

		if (names && image->code_entries.items[names - 1].link_addr > at)
			at = image->code_entries.items[names - 1].link_addr;
		if (fdes && sn_fde_table_start(&image->fde_table, fdes - 1) > at)
			at = sn_fde_table_start(&image->fde_table, fdes - 1);
		if (at == s->section->link_addr)
			return at;
		names = names_below(image, at);
		fdes = s->has_fdes ? sn_fde_table_below(&image->fde_table, at) : 0;
		if (!is_covered(image, names, at) && !is_in_fde(image, fdes, at))
			return at;
	}
}

/* The first place behind `link_addr` where something begins that is no part of what is before. */
static uint64_t end_of(const struct stretch *s, uint64_t link_addr)
{
	const struct sn_image *image = s->image;
	size_t name = names_below(image, link_addr + 1);
	uint64_t end = s->section->link_addr + s->section->size_bytes;

	for (; name < image->code_entries.count && image->code_entries.items[name].link_addr < end;
	     name++)
		if (!is_covered(image, name, image->code_entries.items[name].link_addr)) {
			end = image->code_entries.items[name].link_addr;
			break;
		}
	if (!s->has_fdes)
		return end;
	for (size_t fde = sn_fde_table_below(&image->fde_table, link_addr + 1);
	     fde < image->fde_table.count; fde++) {
		uint64_t at = sn_fde_table_start(&image->fde_table, fde);
		struct sn_fde found;

		if (at >= end)
			break;
		if (!is_covered(image, names_below(image, at), at) &&
		    sn_fde_table_get(image, fde, &found))
			return at;
	}
	return end;
}

/* Puts the symbols of a stretch, which are in order, among those there are. */
static void keep(struct sn_image *image, const struct sn_symbol *symbols, size_t count)
{
	size_t first = sn_symbol_above(image->symbols.items, image->symbols.count,
				       symbols[0].link_addr - 1);
	size_t end = sn_symbol_above(image->symbols.items, image->symbols.count,
				     symbols[count - 1].link_addr);
	size_t old = end - first, behind = image->symbols.count - end, kept = 0;
	struct sn_symbol *before = sn_alloc((old + 1) * sizeof(*before));

	for (size_t i = 0; i < old; i++)
		before[i] = image->symbols.items[first + i];
	for (size_t i = 0; i < count; i++) /* room */
		sn_vec_push(&image->symbols, symbols[i]);
	memmove(image->symbols.items + first + old + count, image->symbols.items + end,
		behind * sizeof(*symbols));
	for (size_t i = 0, j = 0; i < old || j < count;) {
		bool is_old =
			i < old && (j == count || before[i].link_addr <= symbols[j].link_addr);
		const struct sn_symbol *next = is_old ? &before[i++] : &symbols[j++];

		if (is_old && j < count && symbols[j].link_addr == next->link_addr)
			j++;
		image->symbols.items[first + kept++] = *next;
	}
	memmove(image->symbols.items + first + kept, image->symbols.items + first + old + count,
		behind * sizeof(*symbols));
	image->symbols.count = first + kept + behind;
	free(before);
}

/* Whether all that begins in the stretch up to an address is one function whose size is known. */
static bool is_plain_before(const struct stretch *s, uint64_t link_addr)
{
	const struct sn_image *image = s->image;
	size_t first_name = names_below(image, s->first), name = names_below(image, link_addr + 1);
	size_t first_fde = 0, fde = 0;

	if (s->has_fdes) {
		first_fde = sn_fde_table_below(&image->fde_table, s->first);
		fde = sn_fde_table_below(&image->fde_table, link_addr + 1);
	}
	return name - first_name <= 1 && fde - first_fde <= 1 &&
	       (name == first_name || is_covered(image, name, s->first) ||
		is_in_fde(image, fde, s->first));
}

/* Whether nothing that began before reaches beyond a cut. */
static bool is_free(const struct stretch *s, uint64_t cut)
{
	return !is_covered(s->image, names_below(s->image, cut), cut) &&
	       !(s->has_fdes &&
		 is_in_fde(s->image, sn_fde_table_below(&s->image->fde_table, cut), cut));
}

/* Code that nothing names, and that is large, is looked at in parts (`sn_image_gap_cut`). */
static void narrow(struct stretch *s, uint64_t link_addr)
{
	uint64_t least = s->first + SN_FLOW_STRETCH_MAX, end = s->end, cut;

	if (s->end - s->first <= SN_FLOW_STRETCH_MAX || !is_plain_before(s, link_addr))
		return;
	for (uint64_t part = link_addr / SN_GAP_PART_BYTES * SN_GAP_PART_BYTES; part >= least;
	     part -= SN_GAP_PART_BYTES) {
		cut = sn_image_gap_cut(s->image, part, link_addr + 1);
		if (cut <= link_addr && is_free(s, cut)) {
			s->first = cut;
			s->is_part = true;
			break;
		}
	}
	cut = link_addr > least ? link_addr : least;
	do
		cut = sn_image_gap_cut(s->image, cut, end);
	while (cut < end && !is_free(s, cut));
	s->is_part |= cut < end;
	s->end = cut;
}

/* The symbols of a stretch. What begins up to `wide_end` bounds those without a size. */
static void make(struct stretch *s, uint64_t wide_end)
{
	struct sn_image *image = s->image;
	struct sn_section part = *s->section;
	struct sn_symbols names = { 0 };
	struct sn_fdes fdes = { 0 };
	struct symbol_window window = { .sections = &part, .section_count = 1, .end = s->end };

	part.link_addr = s->first;
	part.size_bytes = s->end - s->first;
	if (s->has_fdes)
		sn_image_fdes_between(image, s->first, wide_end + 1, &fdes);
	sn_name_entries_read(image, &image->code_entries, names_below(image, s->first),
			     names_below(image, wide_end + 1), &names);
	window.names = names.items;
	window.name_count = names.count;
	window.fdes = fdes.items;
	window.fde_count = fdes.count;
	window.is_part = s->is_part;
	image->flow_instructions = 0; /* so a stretch is the same whatever was asked for before */
	sn_image_make_symbols(image, &window);
	if (window.symbols.count)
		keep(image, window.symbols.items, window.symbols.count);
	sn_vec_free(&window.symbols);
	sn_vec_free(&fdes);
	sn_vec_free(&names);
}

const struct sn_symbol *sn_image_symbol_near(struct sn_image *image, uint64_t link_addr)
{
	struct stretch s = { .image = image, .section = sn_image_section_at(image, link_addr) };
	const struct sn_symbol *symbol;
	uint64_t wide_end;
	size_t above;

	if (!s.section || !s.section->is_executable || !s.section->has_bytes)
		return NULL;
	s.has_fdes = !sn_starts_with(s.section->name, ".plt");
	if (!s.has_fdes && !image->has_plt) {
		image->has_plt = true;
		sn_image_read_bindings(image);
		sn_image_read_plt(image);
		sn_name_index_add_plt(image);
	}
	s.first = first_of(&s, link_addr);
	s.end = end_of(&s, link_addr);
	wide_end = s.end;
	narrow(&s, link_addr);
	make(&s, wide_end);
	above = sn_symbol_above(image->symbols.items, image->symbols.count, link_addr);
	if (!above)
		return NULL;
	symbol = &image->symbols.items[above - 1];
	return link_addr - symbol->link_addr < symbol->size_bytes ? symbol : NULL;
}
