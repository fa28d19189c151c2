/*
 * Symbols of an image that is read on demand. A symbol's bounds depend on what stands around it: on
 * the name before it, on the FDE behind it. So the stretch around an address is widened to where
 * nothing reaches across its ends, and there the symbols are those of the whole file. A test holds
 * that (tests/unit/code/test_nearby.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "code/image_parts.h"

struct stretch {
	struct sn_image *image;
	const struct sn_section *section;
	bool has_fdes; /* one FDE covers a whole PLT: there they say nothing */
	uint64_t first, end;
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

static void keep(struct sn_image *image, const struct sn_symbol *symbol)
{
	size_t at = image->symbols.count;

	while (at && image->symbols.items[at - 1].link_addr > symbol->link_addr)
		at--;
	if (at && image->symbols.items[at - 1].link_addr == symbol->link_addr)
		return;
	sn_vec_push(&image->symbols, *symbol);
	memmove(image->symbols.items + at + 1, image->symbols.items + at,
		(image->symbols.count - 1 - at) * sizeof(*symbol));
	image->symbols.items[at] = *symbol;
}

static void make(struct stretch *s)
{
	struct sn_image *image = s->image;
	struct sn_section part = *s->section;
	struct sn_symbols names = { 0 };
	struct sn_fdes fdes = { 0 };
	struct symbol_window window = { .sections = &part, .section_count = 1, .end = s->end };

	part.link_addr = s->first;
	part.size_bytes = s->end - s->first;
	if (s->has_fdes)
		sn_image_fdes_between(image, s->first, s->end + 1, &fdes);
	sn_name_entries_read(image, &image->code_entries, names_below(image, s->first),
			     names_below(image, s->end + 1), &names);
	window.names = names.items;
	window.name_count = names.count;
	window.fdes = fdes.items;
	window.fde_count = fdes.count;
	image->flow_instructions = 0; /* so a stretch is the same whatever was asked for before */
	sn_image_make_symbols(image, &window);
	for (size_t i = 0; i < window.symbols.count; i++)
		keep(image, &window.symbols.items[i]);
	sn_vec_free(&window.symbols);
	sn_vec_free(&fdes);
	sn_vec_free(&names);
}

const struct sn_symbol *sn_image_symbol_near(struct sn_image *image, uint64_t link_addr)
{
	struct stretch s = { .image = image, .section = sn_image_section_at(image, link_addr) };

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
	make(&s);
	for (size_t i = image->symbols.count; i-- > 0;)
		if (image->symbols.items[i].link_addr <= link_addr)
			return link_addr - image->symbols.items[i].link_addr <
					       image->symbols.items[i].size_bytes
				       ? &image->symbols.items[i]
				       : NULL;
	return NULL;
}
