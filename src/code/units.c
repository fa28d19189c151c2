/*
 * The ranges of units, from each unit's DIE: two thousand of the C library take libdw five
 * milliseconds, so they are kept in the cache.
 */
#include "code/units.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "code/image_parts.h"
#include "code/kept_file.h"

/* With fewer, reading them takes less than a file does. */
enum { UNITS_KEPT_LEAST = 32 };

static const struct sn_kept_kind kind = { "units", "snunits1" };

struct header {
	uint64_t unit_count, range_count;
};

struct kept_unit {
	uint64_t offset, is_skeleton;
};

/* ---- from the DWARF ---- */

static int by_range(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	if (x->first_link_addr != y->first_link_addr)
		return x->first_link_addr < y->first_link_addr ? -1 : 1;
	if (x->end_link_addr != y->end_link_addr)
		return x->end_link_addr < y->end_link_addr ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static void add_unit(struct units *units, Dwarf_Die *die, bool is_skeleton)
{
	struct unit unit = { .offset = dwarf_dieoffset(die), .is_skeleton = is_skeleton };
	Dwarf_Addr base, first, end;
	ptrdiff_t at = 0;
	size_t before = units->ranges.count;

	while ((at = dwarf_ranges(die, at, &base, &first, &end)) > 0) {
		struct unit_range range = { first, end, units->all.count };

		/* 0 and -1 stand for code that the linker dropped */
		if (first && end > first && units->ranges.count - before < (1u << 24))
			sn_vec_push(&units->ranges, range);
	}
	sn_vec_push(&units->all, unit);
}

static void read_dwarf(Dwarf *dwarf, struct units *units)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Off last = 0;

	for (;;) {
		Dwarf_Half version;
		uint8_t type;
		Dwarf_Die die, sub;

		if (dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, &sub) != 0)
			break;
		if (units->all.count && dwarf_dieoffset(&die) <= last)
			break; /* units go forward, or something is wrong */
		last = dwarf_dieoffset(&die);
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			add_unit(units, &die, type == DW_UT_skeleton);
	}
	if (units->ranges.count)
		qsort(units->ranges.items, units->ranges.count, sizeof(*units->ranges.items),
		      by_range);
}

/* ---- from the cache and into it ---- */

/* False: it does not hold what it says. */
static bool take_kept(const struct sn_file_view *file, struct units *units)
{
	size_t length = sn_kept_length(file), units_bytes, ranges_bytes;
	const uint8_t *at = file->bytes + sizeof(struct header);
	struct header header;

	if (length < sizeof(header))
		return false;
	memcpy(&header, file->bytes, sizeof(header));
	if (__builtin_mul_overflow(header.unit_count, sizeof(struct kept_unit), &units_bytes) ||
	    __builtin_mul_overflow(header.range_count, sizeof(struct unit_range), &ranges_bytes) ||
	    units_bytes > length - sizeof(header) ||
	    ranges_bytes != length - sizeof(header) - units_bytes)
		return false;
	for (size_t i = 0; i < header.unit_count; i++) {
		struct kept_unit kept;

		memcpy(&kept, at + i * sizeof(kept), sizeof(kept));
		sn_vec_push(&units->all, (struct unit){ .offset = kept.offset,
							.is_skeleton = kept.is_skeleton });
	}
	for (size_t i = 0; i < header.range_count; i++) {
		struct unit_range range;

		memcpy(&range, at + units_bytes + i * sizeof(range), sizeof(range));
		if (range.unit < header.unit_count)
			sn_vec_push(&units->ranges, range);
	}
	return true;
}

static void keep(const struct units *units, const char *folder, const char *path, uint64_t state)
{
	struct header header = { units->all.count, units->ranges.count };
	struct sn_text bytes = { 0 };

	sn_text_add_bytes(&bytes, (const char *)&header, sizeof(header));
	for (size_t i = 0; i < units->all.count; i++) {
		struct kept_unit kept = { units->all.items[i].offset,
					  units->all.items[i].is_skeleton };

		sn_text_add_bytes(&bytes, (const char *)&kept, sizeof(kept));
	}
	sn_text_add_bytes(&bytes, (const char *)units->ranges.items,
			  units->ranges.count * sizeof(*units->ranges.items));
	sn_kept_write(folder, path, &kind, state, bytes.chars, bytes.length);
	sn_text_free(&bytes);
}

static bool read_kept(const char *path, uint64_t state, struct units *units)
{
	struct sn_file_view file;
	bool is_taken;

	if (!sn_kept_read(path, &kind, state, &file))
		return false;
	is_taken = take_kept(&file, units);
	sn_file_unmap(&file);
	return is_taken;
}

void sn_units_read(struct sn_image *image, struct units *out)
{
	Dwarf *dwarf = sn_image_dwarf(image);
	struct sn_text path = { 0 };
	uint64_t state = 0;

	if (!dwarf)
		return;
	if (image->unpacked_folder && !image->has_dwarf_part) {
		sn_kept_path(&path, image->unpacked_folder, image->id, &kind);
		state = sn_image_debug_state(image);
	}
	if (!path.length || !read_kept(path.chars, state, out)) {
		read_dwarf(dwarf, out);
		if (path.length && !image->keeps_nothing && out->all.count >= UNITS_KEPT_LEAST)
			keep(out, image->unpacked_folder, path.chars, state);
	}
	sn_text_free(&path);
}

void sn_units_free(struct units *units)
{
	sn_vec_free(&units->all);
	sn_vec_free(&units->ranges);
}

/* The last range that begins at or before it, or one of few before that. */
int64_t sn_unit_at(const struct units *units, uint64_t link_addr)
{
	enum { OVERLAPS_MAX = 16 };
	size_t low = 0, high = units->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (units->ranges.items[middle].first_link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i > 0 && i + OVERLAPS_MAX > low; i--)
		if (link_addr < units->ranges.items[i - 1].end_link_addr)
			return (int64_t)units->ranges.items[i - 1].unit;
	return -1;
}
