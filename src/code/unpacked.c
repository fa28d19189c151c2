/*
 * Unpacks the sections that lines are read from, once: libdw would do so at each opening, which takes
 * longer than all that follows. The result is an ELF file of these sections alone, with a footer that
 * says what it was made of.
 */
#include "code/unpacked.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "code/inflate.h"
#include "code/info_prefix.h"
#include "code/kept_file.h"

enum { SECTIONS_MAX = 16, UNPACKED_MAX = 1 << 30, ZSTD_CHDR_TYPE = 2 };

/* What lines.c asks for, directly or by way of libdw. */
static const char *const read_sections[] = {
	".debug_info",	".debug_abbrev",      ".debug_line", ".debug_line_str",
	".debug_str",	".debug_ranges",      ".debug_addr", ".debug_rnglists",
	".debug_types", ".debug_str_offsets",
};

static const struct sn_kept_kind kind = { "debug", "sndebug1" };

/* ---- making it ---- */

struct made {
	uint8_t *bytes;
	size_t length;
	Elf64_Shdr headers[SECTIONS_MAX];
	size_t count;
	struct sn_text names;
	size_t info_bytes; /* of .debug_info so many are enough; 0: all */
	bool is_part;
};

static bool is_packed(const struct sn_elf_view *elf)
{
	for (size_t i = 0; i < elf->section_count; i++)
		if (elf->sections[i].sh_flags & SHF_COMPRESSED &&
		    !strcmp(sn_elf_section_name(elf, &elf->sections[i]), ".debug_info"))
			return true;
	return false;
}

static size_t room_of(const struct sn_elf_view *elf, const Elf64_Shdr *section)
{
	size_t length;
	const uint8_t *bytes = sn_elf_section_bytes(elf, section, &length);
	Elf64_Chdr header;

	if (!bytes || !(section->sh_flags & SHF_COMPRESSED))
		return bytes ? length : 0;
	if (length < sizeof(header))
		return SIZE_MAX;
	memcpy(&header, bytes, sizeof(header));
	return header.ch_size;
}

static bool unpack(const struct sn_elf_view *elf, const Elf64_Shdr *section, uint8_t *out,
		   size_t room)
{
	size_t length;
	const uint8_t *bytes = sn_elf_section_bytes(elf, section, &length);
	Elf64_Chdr header;

	if (!(section->sh_flags & SHF_COMPRESSED)) {
		memcpy(out, bytes, room);
		return true;
	}
	memcpy(&header, bytes, sizeof(header));
	bytes += sizeof(header);
	length -= sizeof(header);
	if (header.ch_type == ELFCOMPRESS_ZLIB)
		return sn_inflate(bytes, length, out, room);
	return header.ch_type == ZSTD_CHDR_TYPE &&
	       ZSTD_decompress(out, room, bytes, length) == room;
}

/* How many bytes of .debug_info are enough; 0: all. */
static size_t info_needed(const struct sn_elf_view *elf, const struct sn_unpacked_part *part)
{
	const Elf64_Shdr *section = sn_elf_section_named(elf, ".debug_aranges");
	size_t room = section ? room_of(elf, section) : 0, needed = 0;
	uint8_t *aranges;

	if (!room || room > UNPACKED_MAX)
		return 0;
	aranges = sn_alloc(room);
	if (unpack(elf, section, aranges, room))
		needed = sn_info_prefix(aranges, room, part->link_addrs, part->count);
	free(aranges);
	return needed;
}

/* Nearly all of the time goes into .debug_info: what is behind the units that are needed stays packed. */
static bool unpack_first(const struct sn_elf_view *elf, const Elf64_Shdr *section, size_t room,
			 struct made *made)
{
	size_t length;
	const uint8_t *bytes = sn_elf_section_bytes(elf, section, &length);
	Elf64_Chdr header;

	if (!made->info_bytes || strcmp(sn_elf_section_name(elf, section), ".debug_info") != 0 ||
	    !(section->sh_flags & SHF_COMPRESSED) || room < SN_INFLATE_SLACK ||
	    made->info_bytes > room - SN_INFLATE_SLACK)
		return false;
	memcpy(&header, bytes, sizeof(header));
	made->is_part = header.ch_type == ELFCOMPRESS_ZLIB &&
			sn_inflate_first(bytes + sizeof(header), length - sizeof(header),
					 made->bytes + made->length, made->info_bytes);
	return made->is_part;
}

static bool add_section(struct made *made, const struct sn_elf_view *elf, const char *name)
{
	const Elf64_Shdr *section = sn_elf_section_named(elf, name);
	size_t room = section ? room_of(elf, section) : 0;
	Elf64_Shdr *header = &made->headers[made->count];

	if (!room)
		return true;
	if (room > UNPACKED_MAX - made->length)
		return false;
	*header = *section;
	header->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
	header->sh_name = (Elf64_Word)made->names.length;
	header->sh_offset = made->length;
	header->sh_size = room;
	header->sh_addralign = 1;
	sn_text_add_bytes(&made->names, name, strlen(name) + 1);
	made->bytes = sn_realloc_array(made->bytes, made->length + room, 1);
	made->count++;
	if (unpack_first(elf, section, room, made)) {
		header->sh_size = made->info_bytes;
		made->length += made->info_bytes;
		return true;
	}
	made->length += room;
	return unpack(elf, section, made->bytes + header->sh_offset, room);
}

static void append(struct made *made, const void *bytes, size_t length)
{
	made->bytes = sn_realloc_array(made->bytes, made->length + length, 1);
	memcpy(made->bytes + made->length, bytes, length);
	made->length += length;
}

static void add_names(struct made *made)
{
	Elf64_Shdr *header = &made->headers[made->count++];

	*header = (Elf64_Shdr){ .sh_name = (Elf64_Word)made->names.length,
				.sh_type = SHT_STRTAB,
				.sh_addralign = 1,
				.sh_offset = made->length };
	sn_text_add_bytes(&made->names, ".shstrtab", sizeof(".shstrtab"));
	header->sh_size = made->names.length;
	append(made, made->names.chars, made->names.length);
}

static bool make(const struct sn_elf_view *elf, struct made *made)
{
	static const uint8_t zeros[8];
	Elf64_Ehdr header = elf->header;

	append(made, &header, sizeof(header));
	sn_text_add_bytes(&made->names, "", 1);
	made->count = 1; /* the first is none */
	for (size_t i = 0; i < sizeof(read_sections) / sizeof(*read_sections); i++)
		if (!add_section(made, elf, read_sections[i]))
			return false;
	add_names(made);
	append(made, zeros, (8 - made->length % 8) % 8);
	header.e_phoff = header.e_phnum = 0;
	header.e_shoff = made->length;
	header.e_shnum = (Elf64_Half)made->count;
	header.e_shstrndx = (Elf64_Half)(made->count - 1);
	append(made, made->headers, made->count * sizeof(*made->headers));
	memcpy(made->bytes, &header, sizeof(header));
	return true;
}

bool sn_unpacked_open(const struct sn_elf_view *elf, uint64_t state, const char *folder,
		      const char *id, struct sn_unpacked_part *part, struct sn_file_view *out)
{
	struct sn_text path = { 0 };
	struct made made = { 0 };
	bool is_found;

	if (!is_packed(elf))
		return false;
	sn_kept_path(&path, folder, id, &kind);
	is_found = sn_kept_read(path.chars, &kind, state, out);
	if (!is_found && part && part->count)
		made.info_bytes = info_needed(elf, part);
	if (!is_found && make(elf, &made)) {
		if (!part)
			sn_kept_write(folder, path.chars, &kind, state, made.bytes, made.length);
		*out = (struct sn_file_view){ .bytes = made.bytes, .length = made.length };
		is_found = true;
	} else {
		free(made.bytes);
	}
	if (part)
		part->is_part = made.is_part;
	sn_text_free(&made.names);
	sn_text_free(&path);
	return is_found;
}
