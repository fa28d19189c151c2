/* The smallest ELF file that the reader takes for a program with a named function. */
#include "cqa/made_executable.h"

#include <elf.h>
#include <string.h>

#include "harness/tap.h"

enum { CODE_OFFSET = 0x1000, BASE_LINK_ADDR = MADE_CODE_LINK_ADDR - CODE_OFFSET };

enum { CODE_MAX = 8192 };

static uint8_t file[CODE_OFFSET + CODE_MAX];
enum { SECTIONS_OFFSET = 0x200, SYMBOLS_OFFSET = 0x400, NAMES_OFFSET = 0x500 };

/* A section of symbols and one of names for an executable of one function, which is all its code.
 */
static void add_symbol(size_t length)
{
	static const char names[] = "\0made";
	Elf64_Sym symbols[2] = { { 0 },
				 { .st_name = 1,
				   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				   .st_shndx = 3,
				   .st_value = BASE_LINK_ADDR + CODE_OFFSET,
				   .st_size = length } };
	Elf64_Shdr sections[4] = {
		{ 0 },
		{ .sh_type = SHT_SYMTAB,
		  .sh_offset = SYMBOLS_OFFSET,
		  .sh_size = sizeof(symbols),
		  .sh_link = 2,
		  .sh_info = 1,
		  .sh_entsize = sizeof(*symbols) },
		{ .sh_type = SHT_STRTAB, .sh_offset = NAMES_OFFSET, .sh_size = sizeof(names) },
		{ .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		  .sh_addr = BASE_LINK_ADDR + CODE_OFFSET,
		  .sh_offset = CODE_OFFSET,
		  .sh_size = length }
	};

	memcpy(file + SECTIONS_OFFSET, sections, sizeof(sections));
	memcpy(file + SYMBOLS_OFFSET, symbols, sizeof(symbols));
	memcpy(file + NAMES_OFFSET, names, sizeof(names));
}

const uint8_t *made_executable(const uint8_t *code, size_t length, size_t *out_length)
{
	Elf64_Ehdr head = { .e_type = ET_EXEC,
			    .e_machine = EM_X86_64,
			    .e_version = EV_CURRENT,
			    .e_entry = BASE_LINK_ADDR + CODE_OFFSET,
			    .e_phoff = sizeof(head),
			    .e_shoff = SECTIONS_OFFSET,
			    .e_ehsize = sizeof(head),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 1,
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = 4,
			    .e_shstrndx = 2 };
	Elf64_Phdr segment = { .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_vaddr = BASE_LINK_ADDR,
			       .p_filesz = CODE_OFFSET + length,
			       .p_memsz = CODE_OFFSET + length,
			       .p_align = 4096 };

	REQUIRE(length <= CODE_MAX);
	memcpy(head.e_ident,
	       "\x7f"
	       "ELF\2\1\1",
	       7);
	memset(file, 0, sizeof(file));
	memcpy(file, &head, sizeof(head));
	memcpy(file + sizeof(head), &segment, sizeof(segment));
	add_symbol(length);
	memcpy(file + CODE_OFFSET, code, length);
	*out_length = CODE_OFFSET + length;
	return file;
}
