/**
 * The headers and tables of one ELF64 file, over bytes that are not trusted. Of this folder only;
 * others read image.h.
 */
#ifndef SN_CODE_ELF_VIEW_H
#define SN_CODE_ELF_VIEW_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** Headers are copied, because the file need not align them; tables are arrays of what fits into
 *  the file. */
struct sn_elf_view {
	const uint8_t *bytes; /* borrowed */
	size_t length;
	Elf64_Ehdr header;
	Elf64_Phdr *segments; /* owned */
	size_t segment_count;
	Elf64_Shdr *sections; /* owned */
	size_t section_count;
	bool is_damaged; /* a table or a name lies outside of the file */
};

/** `name` stands in messages. */
sn_status sn_elf_view_open(const void *bytes, size_t length, const char *name,
			   struct sn_elf_view *out, struct sn_error *err);
void sn_elf_view_close(struct sn_elf_view *view);

/** A section's bytes (none for SHT_NOBITS), cut at the end of the file. */
const uint8_t *sn_elf_section_bytes(const struct sn_elf_view *view, const Elf64_Shdr *section,
				    size_t *length);
/** "" if it lies outside of the file. */
const char *sn_elf_section_name(const struct sn_elf_view *view, const Elf64_Shdr *section);
/** The first section of this name that has bytes, or NULL. */
const Elf64_Shdr *sn_elf_section_named(const struct sn_elf_view *view, const char *name);
/** The zero-terminated string at an offset of a string table, or "". */
const char *sn_elf_string(const uint8_t *table, size_t length, uint64_t offset);

/** The build-id's bytes (NT_GNU_BUILD_ID in a note section or segment), or NULL. */
const uint8_t *sn_elf_build_id(const struct sn_elf_view *view, size_t *length);

#endif
