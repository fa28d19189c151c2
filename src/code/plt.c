/* Relocations, and the stubs of the procedure linkage table that jump through relocated slots. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/text.h"
#include "code/decode.h"
#include "code/image_parts.h"

static void add_relocation(struct sn_image *image, const Elf64_Rela *rela)
{
	struct relocation relocation = { .link_addr = rela->r_offset,
					 .value = (uint64_t)rela->r_addend };

	if (ELF64_R_TYPE(rela->r_info) == R_X86_64_RELATIVE ||
	    ELF64_R_TYPE(rela->r_info) == R_X86_64_IRELATIVE)
		sn_vec_push(&image->relocations, relocation);
}

static void add_binding(struct sn_image *image, const Elf64_Rela *rela, const uint8_t *symbols,
			size_t symbols_length, const uint8_t *strings, size_t strings_length)
{
	struct relocation relocation = { .link_addr = rela->r_offset };
	uint64_t index = ELF64_R_SYM(rela->r_info);
	Elf64_Sym symbol;

	switch (ELF64_R_TYPE(rela->r_info)) {
	case R_X86_64_64:
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		if (!symbols || index >= symbols_length / sizeof(symbol))
			return;
		memcpy(&symbol, symbols + index * sizeof(symbol), sizeof(symbol));
		relocation.name = sn_elf_string(strings, strings_length, symbol.st_name);
		if (symbol.st_shndx != SHN_UNDEF)
			relocation.value = symbol.st_value + (uint64_t)rela->r_addend;
		break;
	default:
		return;
	}
	sn_vec_push(&image->bindings, relocation);
}

static int by_place(const void *a, const void *b)
{
	const struct relocation *x = a, *y = b;

	return x->link_addr < y->link_addr ? -1 : x->link_addr > y->link_addr;
}

static void sort_by_place(struct relocation *items, size_t count)
{
	sn_sort_items(items, count, sizeof(*items), offsetof(struct relocation, link_addr), NULL);
}

/* How many bytes of a section are relocations without a symbol: the linker puts them first, and the loader relies
 * on their count. They are most of a library's. */
static size_t relatives_bytes(const struct sn_image *image, const Elf64_Shdr *section,
			      size_t length)
{
	if (section->sh_addr != image->rela_link_addr ||
	    image->relative_count > length / sizeof(Elf64_Rela))
		return 0;
	return image->relative_count * sizeof(Elf64_Rela);
}

static void read_all(struct sn_image *image, bool with_symbol)
{
	const struct sn_elf_view *elf = &image->elf;

	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i], *symtab = NULL, *strtab = NULL;
		size_t length, symbols_length = 0, strings_length = 0;
		const uint8_t *bytes, *symbols = NULL, *strings = NULL;

		if (section->sh_type != SHT_RELA || !(section->sh_flags & SHF_ALLOC))
			continue;
		if (section->sh_link && section->sh_link < elf->section_count)
			symtab = &elf->sections[section->sh_link];
		if (symtab && symtab->sh_link < elf->section_count)
			strtab = &elf->sections[symtab->sh_link];
		if (strtab) {
			symbols = sn_elf_section_bytes(elf, symtab, &symbols_length);
			strings = sn_elf_section_bytes(elf, strtab, &strings_length);
		}
		bytes = sn_elf_section_bytes(elf, section, &length);
		size_t first = with_symbol ? relatives_bytes(image, section, length) : 0;
		for (size_t at = first; bytes && length - at >= sizeof(Elf64_Rela);
		     at += sizeof(Elf64_Rela)) {
			Elf64_Rela rela;

			memcpy(&rela, bytes + at, sizeof(rela));
			if (with_symbol)
				add_binding(image, &rela, symbols, symbols_length, strings,
					    strings_length);
			else
				add_relocation(image, &rela);
		}
	}
}

void sn_image_read_bindings(struct sn_image *image)
{
	read_all(image, true);
	sort_by_place(image->bindings.items, image->bindings.count);
}

void sn_image_read_relocations(struct sn_image *image)
{
	read_all(image, false);
	sort_by_place(image->relocations.items, image->relocations.count);
	image->has_relocations = true;
}

const struct relocation *sn_image_relocation_at(const struct sn_image *image, uint64_t link_addr)
{
	struct relocation key = { .link_addr = link_addr }, *found = NULL;

	if (image->bindings.count)
		found = bsearch(&key, image->bindings.items, image->bindings.count, sizeof(key),
				by_place);
	if (!found && !image->has_relocations)
		sn_image_read_relocations((struct sn_image *)(uintptr_t)image); /* on demand */
	if (!found && image->relocations.count)
		found = bsearch(&key, image->relocations.items, image->relocations.count,
				sizeof(key), by_place);
	return found;
}

/* The slot that a stub of this size jumps through, or 0. */
static uint64_t stub_slot(const uint8_t *bytes, size_t length, uint64_t link_addr)
{
	/* "push [got + 8]; jmp [got + 16]": the common one that binds lazily has no relocation */
	if (length >= 2 && bytes[0] == 0xff && bytes[1] == 0x35)
		return 0;
	for (size_t at = 0; at < length;) {
		struct sn_instruction insn;
		int32_t displacement;

		if (!sn_instruction_decode(bytes + at, length - at, link_addr + at, &insn))
			return 0;
		at += insn.length;
		if (insn.flow == SN_FLOW_JUMP_INDIRECT && insn.length >= 6 &&
		    bytes[at - 6] == 0xff && bytes[at - 5] == 0x25) {
			memcpy(&displacement, bytes + at - 4, 4);
			return link_addr + at + (uint64_t)(int64_t)displacement;
		}
	}
	return 0;
}

/* Of the names at an address the first by rank, or NULL. The tables may not be sorted yet. */
static const char *name_at(struct sn_image *image, uint64_t link_addr)
{
	const struct sn_symbol *best = NULL;
	struct sn_symbols found = { 0 };
	const char *name;

	if (sn_image_is_on_demand(image))
		sn_name_entries_read(image, &image->code_entries,
				     sn_name_entries_below(&image->code_entries, link_addr),
				     sn_name_entries_below(&image->code_entries, link_addr + 1),
				     &found);
	if (found.count)
		best = &found.items[0];
	for (size_t i = 0; i < image->names.count && !sn_image_is_on_demand(image); i++) {
		const struct sn_symbol *symbol = &image->names.items[i];

		if (symbol->link_addr == link_addr && (!best || sn_symbol_order(symbol, best) < 0))
			best = symbol;
	}
	name = best ? best->name : NULL;
	sn_vec_free(&found);
	return name;
}

static const char *stub_name(struct sn_image *image, const struct relocation *relocation)
{
	const char *name = relocation->name;
	size_t length;
	char *whole;

	/* IRELATIVE: the resolver stands in for the name that static linking dropped */
	if (!name && relocation->value)
		name = name_at(image, relocation->value);
	if (!name || !*name)
		return NULL;
	length = strlen(name);
	whole = sn_arena_array(&image->arena, char, length + sizeof("@plt"));
	memcpy(whole, name, length);
	memcpy(whole + length, "@plt", sizeof("@plt"));
	return whole;
}

static void read_plt_section(struct sn_image *image, const struct sn_section *section,
			     size_t entry_bytes)
{
	for (uint64_t at = 0; at + entry_bytes <= section->size_bytes; at += entry_bytes) {
		size_t available;
		const uint8_t *bytes = sn_image_bytes(image, section->link_addr + at, &available);
		const struct relocation *relocation;
		uint64_t slot;
		struct sn_symbol symbol = { .link_addr = section->link_addr + at,
					    .size_bytes = entry_bytes,
					    .kind = SN_SYMBOL_PLT };

		if (!bytes || available < entry_bytes)
			return;
		slot = stub_slot(bytes, entry_bytes, symbol.link_addr);
		relocation = slot ? sn_image_relocation_at(image, slot) : NULL;
		if (!relocation)
			continue;
		symbol.name = stub_name(image, relocation);
		if (symbol.name)
			sn_vec_push(&image->plt, symbol);
	}
}

void sn_image_read_plt(struct sn_image *image)
{
	for (size_t i = 0; i < image->elf.section_count; i++) {
		const Elf64_Shdr *header = &image->elf.sections[i];
		const struct sn_section *section;

		if (!sn_starts_with(sn_elf_section_name(&image->elf, header), ".plt"))
			continue;
		section = sn_image_section_at(image, header->sh_addr);
		if (section && section->is_executable && section->link_addr == header->sh_addr)
			read_plt_section(image, section, header->sh_entsize == 8 ? 8 : 16);
	}
}
