/* Object files as images: a section's address becomes its file offset plus one page, so that the
 * file itself is the image. Only relocations against section symbols and of plain kinds are
 * applied: enough for debug information, while code keeps its unresolved calls. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cqa/loop/module.h"

struct object {
	uint8_t *bytes;
	size_t length; /* of the original */
	Elf64_Ehdr header;
	Elf64_Shdr *sections; /* a copy */
};

static bool lies_within(const struct object *object, uint64_t offset, uint64_t size)
{
	return offset <= object->length && size <= object->length - offset;
}

static bool read_sections(struct object *object)
{
	const Elf64_Ehdr *h = &object->header;

	if (h->e_shentsize != sizeof(Elf64_Shdr) || !h->e_shnum ||
	    !lies_within(object, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
		return false;
	object->sections = sn_alloc((size_t)h->e_shnum * sizeof(Elf64_Shdr));
	memcpy(object->sections, object->bytes + h->e_shoff,
	       (size_t)h->e_shnum * sizeof(Elf64_Shdr));
	return true;
}

static void give_addresses(struct object *object)
{
	for (unsigned i = 0; i < object->header.e_shnum; i++) {
		Elf64_Shdr *section = &object->sections[i];

		if ((section->sh_flags & SHF_ALLOC) && section->sh_type != SHT_NOBITS &&
		    lies_within(object, section->sh_offset, section->sh_size))
			section->sh_addr = section->sh_offset + SN_PAGE_BYTES;
	}
	memcpy(object->bytes + object->header.e_shoff, object->sections,
	       (size_t)object->header.e_shnum * sizeof(Elf64_Shdr));
}

static uint64_t section_address(const struct object *object, unsigned index)
{
	return index < object->header.e_shnum ? object->sections[index].sh_addr : 0;
}

static void move_symbols(struct object *object, const Elf64_Shdr *table)
{
	if (!lies_within(object, table->sh_offset, table->sh_size))
		return;
	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, object->bytes + table->sh_offset + at, sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE)
			continue;
		symbol.st_value += section_address(object, symbol.st_shndx);
		memcpy(object->bytes + table->sh_offset + at, &symbol, sizeof(symbol));
	}
}

static bool symbol_value(const struct object *object, const Elf64_Shdr *relocations, uint64_t index,
			 uint64_t *value)
{
	const Elf64_Shdr *table;
	Elf64_Sym symbol;

	if (relocations->sh_link >= object->header.e_shnum)
		return false;
	table = &object->sections[relocations->sh_link];
	if (table->sh_type != SHT_SYMTAB || index >= table->sh_size / sizeof(symbol) ||
	    !lies_within(object, table->sh_offset, table->sh_size))
		return false;
	memcpy(&symbol, object->bytes + table->sh_offset + index * sizeof(symbol), sizeof(symbol));
	*value = symbol.st_value; /* already moved */
	return true;
}

static void apply(struct object *object, const Elf64_Shdr *target, const Elf64_Rela *entry,
		  uint64_t value)
{
	uint8_t *place;
	uint64_t sum = value + (uint64_t)entry->r_addend;
	uint64_t relative = sum - (target->sh_addr + entry->r_offset);
	unsigned type = ELF64_R_TYPE(entry->r_info);
	unsigned size = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;

	if (entry->r_offset > target->sh_size || size > target->sh_size - entry->r_offset)
		return;
	place = object->bytes + target->sh_offset + entry->r_offset;
	if (type == R_X86_64_64 || type == R_X86_64_32 || type == R_X86_64_32S)
		memcpy(place, &sum, size);
	else if (type == R_X86_64_PC32 || type == R_X86_64_PLT32 || type == R_X86_64_PC64)
		memcpy(place, &relative, size);
}

static void relocate(struct object *object, const Elf64_Shdr *relocations)
{
	const Elf64_Shdr *target;

	if (relocations->sh_info >= object->header.e_shnum ||
	    !lies_within(object, relocations->sh_offset, relocations->sh_size))
		return;
	target = &object->sections[relocations->sh_info];
	if (target->sh_type == SHT_NOBITS || (target->sh_flags & SHF_COMPRESSED) ||
	    !lies_within(object, target->sh_offset, target->sh_size))
		return;
	for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= relocations->sh_size;
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela entry;
		uint64_t value;

		memcpy(&entry, object->bytes + relocations->sh_offset + at, sizeof(entry));
		if (symbol_value(object, relocations, ELF64_R_SYM(entry.r_info), &value))
			apply(object, target, &entry, value);
	}
}

uint8_t *sn_object_lay_out(const uint8_t *bytes, size_t length, size_t *out_length)
{
	struct object object = { .length = length };
	size_t phdr_at = (length + 15) & ~(size_t)15;
	Elf64_Phdr segment = { .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_vaddr = SN_PAGE_BYTES,
			       .p_paddr = SN_PAGE_BYTES,
			       .p_filesz = length,
			       .p_memsz = length,
			       .p_align = SN_PAGE_BYTES };

	if (length < sizeof(Elf64_Ehdr))
		return NULL;
	memcpy(&object.header, bytes, sizeof(object.header));
	if (memcmp(object.header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    object.header.e_ident[EI_CLASS] != ELFCLASS64 || object.header.e_type != ET_REL ||
	    object.header.e_machine != EM_X86_64)
		return NULL;
	object.bytes = sn_alloc_zeroed(phdr_at + sizeof(segment), 1);
	memcpy(object.bytes, bytes, length);
	if (!read_sections(&object)) {
		free(object.bytes);
		return NULL;
	}
	give_addresses(&object);
	for (unsigned i = 0; i < object.header.e_shnum; i++)
		if (object.sections[i].sh_type == SHT_SYMTAB)
			move_symbols(&object, &object.sections[i]);
	for (unsigned i = 0; i < object.header.e_shnum; i++)
		if (object.sections[i].sh_type == SHT_RELA)
			relocate(&object, &object.sections[i]);
	object.header.e_type = ET_DYN;
	object.header.e_phoff = phdr_at;
	object.header.e_phnum = 1;
	object.header.e_phentsize = sizeof(segment);
	memcpy(object.bytes, &object.header, sizeof(object.header));
	memcpy(object.bytes + phdr_at, &segment, sizeof(segment));
	free(object.sections);
	*out_length = phdr_at + sizeof(segment);
	return object.bytes;
}
