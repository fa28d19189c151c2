/* Function ranges from .eh_frame, through the one decoder of it in src/unwind/. */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "code/image_parts.h"
#include "unwind/cfi.h"

static int by_address(const void *a, const void *b)
{
	const struct sn_fde *x = a, *y = b;

	if (x->link_addr != y->link_addr)
		return x->link_addr < y->link_addr ? -1 : 1;
	return x->size_bytes > y->size_bytes ? -1 : x->size_bytes < y->size_bytes;
}

static struct sn_unwind_window window_of(const struct sn_image *image, const char *name)
{
	const Elf64_Shdr *section = sn_elf_section_named(&image->elf, name);
	size_t length;
	const uint8_t *bytes = sn_elf_section_bytes(&image->elf, section, &length);

	if (!bytes || length > UINT64_MAX - section->sh_addr)
		return (struct sn_unwind_window){ 0 };
	return (struct sn_unwind_window){ section->sh_addr, section->sh_addr + length, bytes };
}

static struct sn_unwind_module module_of(const struct sn_image *image)
{
	/* load addresses are link addresses here: nothing was loaded */
	return (struct sn_unwind_module){ .load_end = UINT64_MAX,
					  .eh_frame = window_of(image, ".eh_frame") };
}

static bool is_taken(const struct sn_unwind_fde *found, struct sn_fde *fde)
{
	*fde = (struct sn_fde){ found->start_load_addr,
				found->end_load_addr - found->start_load_addr,
				found->lsda_load_addr };
	return found->end_load_addr > found->start_load_addr;
}

static void sort(struct sn_fde *items, size_t count)
{
	sn_sort_items(items, count, sizeof(*items), offsetof(struct sn_fde, link_addr), by_address);
}

void sn_image_read_fdes(struct sn_image *image)
{
	struct sn_unwind_module module = module_of(image);
	struct sn_unwind_fde_iterator iterator = { .module = &module };
	struct sn_unwind_fde found;
	struct sn_fde fde;

	while (module.eh_frame.bytes && sn_unwind_fde_next(&iterator, &found))
		if (is_taken(&found, &fde))
			sn_vec_push(&image->fdes, fde);
	sort(image->fdes.items, image->fdes.count);
}

/* ---- by the file's own index ---- */

static int32_t pair_word(const struct fde_table *table, size_t number, size_t word)
{
	int32_t value;

	memcpy(&value, table->pairs + 8 * number + 4 * word, 4);
	return value;
}

uint64_t sn_fde_table_start(const struct fde_table *table, size_t number)
{
	return table->link_addr + (uint64_t)(int64_t)pair_word(table, number, 0);
}

size_t sn_fde_table_below(const struct fde_table *table, uint64_t link_addr)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sn_fde_table_start(table, middle) < link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Version 1, pc-relative pointer, 4-byte count, pairs of 4 signed bytes relative to the section: what
 * linkers write (LSB, "Exception Frame Header"). */
bool sn_image_find_fde_table(struct sn_image *image)
{
	static const uint8_t usual[] = { 1, 0x1b, 0x03, 0x3b };
	struct sn_unwind_window header = window_of(image, ".eh_frame_hdr");
	struct fde_table *table = &image->fde_table;
	uint64_t length = header.end - header.start;
	uint32_t count;

	if (!header.bytes || length < 12 || memcmp(header.bytes, usual, sizeof(usual)) != 0 ||
	    !window_of(image, ".eh_frame").bytes)
		return false;
	memcpy(&count, header.bytes + 8, 4);
	if (!count || count > (length - 12) / 8)
		return false;
	*table = (struct fde_table){ header.bytes + 12, count, header.start };
	for (size_t i = 1; i < count; i++)
		if (pair_word(table, i, 0) < pair_word(table, i - 1, 0)) {
			table->pairs = NULL;
			return false;
		}
	return true;
}

bool sn_fde_table_get(const struct sn_image *image, size_t number, struct sn_fde *fde)
{
	const struct fde_table *table = &image->fde_table;
	struct sn_unwind_module module = module_of(image);
	struct sn_unwind_fde_iterator iterator = { .module = &module };
	uint64_t record = table->link_addr + (uint64_t)(int64_t)pair_word(table, number, 1);
	struct sn_unwind_fde found;

	iterator.next_offset = record - module.eh_frame.start;
	return iterator.next_offset < module.eh_frame.end - module.eh_frame.start &&
	       sn_unwind_fde_next(&iterator, &found) &&
	       found.start_load_addr == sn_fde_table_start(table, number) && is_taken(&found, fde);
}

void sn_image_fdes_between(const struct sn_image *image, uint64_t first, uint64_t end,
			   struct sn_fdes *fdes)
{
	const struct fde_table *table = &image->fde_table;
	size_t low = 0, high = image->fdes.count, before = fdes->count;
	struct sn_fde fde;

	if (table->pairs) {
		high = sn_fde_table_below(table, end);
		for (low = sn_fde_table_below(table, first); low < high; low++)
			if (sn_fde_table_get(image, low, &fde))
				sn_vec_push(fdes, fde);
		if (fdes->count - before > 1)
			sort(fdes->items + before, fdes->count - before);
		return;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->fdes.items[middle].link_addr < first)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < image->fdes.count && image->fdes.items[low].link_addr < end; low++)
		sn_vec_push(fdes, image->fdes.items[low]);
}
