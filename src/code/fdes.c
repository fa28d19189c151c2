/* Function ranges from .eh_frame, through the one decoder of it in src/unwind/. */
#include <stdlib.h>

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

void sn_image_read_fdes(struct sn_image *image)
{
	/* load addresses are link addresses here: nothing was loaded */
	struct sn_unwind_module module = { .load_end = UINT64_MAX,
					   .eh_frame = window_of(image, ".eh_frame") };
	struct sn_unwind_fde_iterator iterator = { .module = &module };
	struct sn_unwind_fde found;

	while (module.eh_frame.bytes && sn_unwind_fde_next(&iterator, &found)) {
		struct sn_fde fde = { found.start_load_addr,
				      found.end_load_addr - found.start_load_addr,
				      found.lsda_load_addr };

		if (found.end_load_addr > found.start_load_addr)
			sn_vec_push(&image->fdes, fde);
	}
	sn_sort_items(image->fdes.items, image->fdes.count, sizeof(*image->fdes.items),
		      offsetof(struct sn_fde, link_addr), by_address);
}
