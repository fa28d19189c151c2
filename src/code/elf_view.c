/*
 * Checks an ELF header and gives its tables as copies of what the file really holds: a table that
 * is cut short has fewer records. Names and notes are bounded by their sections.
 */
#include "code/elf_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"

static bool lies_inside(size_t length, uint64_t offset, uint64_t size)
{
	return offset <= length && size <= length - offset;
}

static sn_status check_header(const Elf64_Ehdr *header, const char *name, struct sn_error *err)
{
	const unsigned char *ident = header->e_ident;

	if (memcmp(ident, ELFMAG, SELFMAG) != 0)
		return sn_error_set(err, SN_ERR_FORMAT, "'%s' is no ELF file", name);
	if (ident[EI_CLASS] == ELFCLASS32)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "'%s' is 32-bit code; sonde reads x86-64 only", name);
	if (ident[EI_DATA] == ELFDATA2MSB)
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"'%s' is big-endian code (ELF machine %u); sonde reads x86-64 only", name,
			(unsigned)__builtin_bswap16(header->e_machine));
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != EM_X86_64)
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"'%s' is code for another machine (ELF machine %u); sonde reads "
			"x86-64 only",
			name, header->e_machine);
	return SN_OK;
}

/* Copies `count` records that begin at `offset`; as many as the file holds. */
static void *table_copy(struct sn_elf_view *view, uint64_t offset, uint64_t count, size_t bytes,
			size_t *got)
{
	uint64_t fit = offset <= view->length ? (view->length - offset) / bytes : 0;
	void *copy;

	if (count > fit) {
		view->is_damaged = true;
		count = fit;
	}
	*got = (size_t)count;
	copy = sn_alloc_zeroed((size_t)count + 1, bytes);
	if (count)
		memcpy(copy, view->bytes + offset, (size_t)count * bytes);
	return copy;
}

static uint64_t section_count(const struct sn_elf_view *view)
{
	Elf64_Shdr first;

	if (!view->header.e_shoff || view->header.e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	if (view->header.e_shnum)
		return view->header.e_shnum;
	if (!lies_inside(view->length, view->header.e_shoff, sizeof(first)))
		return 0;
	memcpy(&first, view->bytes + view->header.e_shoff, sizeof(first));
	return first.sh_size; /* more than 65,279 sections (gABI, section header table) */
}

sn_status sn_elf_view_open(const void *bytes, size_t length, const char *name,
			   struct sn_elf_view *out, struct sn_error *err)
{
	struct sn_elf_view view = { .bytes = bytes, .length = length };
	sn_status status;

	if (length < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return sn_error_set(err, SN_ERR_FORMAT, "'%s' is no ELF file", name);
	memcpy(&view.header, bytes, length < sizeof(view.header) ? length : sizeof(view.header));
	status = check_header(&view.header, name, err);
	if (status != SN_OK)
		return status;
	if (length < sizeof(view.header))
		return sn_error_set(err, SN_ERR_FORMAT, "'%s' is cut short in its ELF header",
				    name);
	view.segments =
		table_copy(&view, view.header.e_phoff,
			   view.header.e_phentsize == sizeof(Elf64_Phdr) ? view.header.e_phnum : 0,
			   sizeof(Elf64_Phdr), &view.segment_count);
	view.sections = table_copy(&view, view.header.e_shoff, section_count(&view),
				   sizeof(Elf64_Shdr), &view.section_count);
	*out = view;
	return SN_OK;
}

void sn_elf_view_close(struct sn_elf_view *view)
{
	free(view->segments);
	free(view->sections);
	*view = (struct sn_elf_view){ 0 };
}

const uint8_t *sn_elf_section_bytes(const struct sn_elf_view *view, const Elf64_Shdr *section,
				    size_t *length)
{
	*length = 0;
	if (!section || section->sh_type == SHT_NOBITS || section->sh_offset > view->length)
		return NULL;
	*length = section->sh_size <= view->length - section->sh_offset
			  ? section->sh_size
			  : view->length - section->sh_offset;
	return view->bytes + section->sh_offset;
}

const char *sn_elf_string(const uint8_t *table, size_t length, uint64_t offset)
{
	if (!table || offset >= length)
		return "";
	/* of a whole table the last byte is zero, and its strings need no look */
	if (table[length - 1] && !memchr(table + offset, 0, length - offset))
		return "";
	return (const char *)table + offset;
}

const char *sn_elf_section_name(const struct sn_elf_view *view, const Elf64_Shdr *section)
{
	uint64_t index = view->header.e_shstrndx;
	const uint8_t *names;
	size_t length;

	if (index == SHN_XINDEX && view->section_count)
		index = view->sections[0].sh_link;
	if (index >= view->section_count)
		return "";
	names = sn_elf_section_bytes(view, &view->sections[index], &length);
	return sn_elf_string(names, length, section->sh_name);
}

const Elf64_Shdr *sn_elf_section_named(const struct sn_elf_view *view, const char *name)
{
	for (size_t i = 1; i < view->section_count; i++)
		if (view->sections[i].sh_type != SHT_NOBITS &&
		    !strcmp(sn_elf_section_name(view, &view->sections[i]), name))
			return &view->sections[i];
	return NULL;
}

static const uint8_t *build_id_in_notes(const uint8_t *bytes, size_t size, size_t *length)
{
	struct sn_cursor cur = sn_cursor_over(bytes, size);

	while (cur.status == SN_OK && sn_cursor_left(&cur) >= 12) {
		uint32_t name_bytes = sn_cursor_u32(&cur), value_bytes = sn_cursor_u32(&cur);
		uint32_t type = sn_cursor_u32(&cur);
		const uint8_t *name = sn_cursor_bytes(&cur, ((size_t)name_bytes + 3) & ~(size_t)3);
		const uint8_t *value =
			sn_cursor_bytes(&cur, ((size_t)value_bytes + 3) & ~(size_t)3);

		if (value && name && type == NT_GNU_BUILD_ID && name_bytes == 4 &&
		    !memcmp(name, "GNU", 4) && value_bytes >= 4 && value_bytes <= 64) {
			*length = value_bytes;
			return value;
		}
	}
	return NULL;
}

const uint8_t *sn_elf_build_id(const struct sn_elf_view *view, size_t *length)
{
	const uint8_t *found = NULL, *bytes;
	size_t size;

	for (size_t i = 0; !found && i < view->segment_count; i++) {
		const Elf64_Phdr *segment = &view->segments[i];

		if (segment->p_type == PT_NOTE &&
		    lies_inside(view->length, segment->p_offset, segment->p_filesz))
			found = build_id_in_notes(view->bytes + segment->p_offset,
						  segment->p_filesz, length);
	}
	for (size_t i = 0; !found && i < view->section_count; i++) {
		if (view->sections[i].sh_type != SHT_NOTE)
			continue;
		bytes = sn_elf_section_bytes(view, &view->sections[i], &size);
		if (bytes)
			found = build_id_in_notes(bytes, size, length);
	}
	return found;
}
