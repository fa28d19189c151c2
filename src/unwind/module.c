/*
 * Finds the parts of an image that unwinding needs: its text, .eh_frame and the search table. In a
 * process only program headers are there; in a file the section headers tell the exact bounds.
 */
#include "unwind/module.h"

/** What program headers say, in load addresses. */
struct segments {
	uint64_t start, end; /* over all PT_LOAD; end 0: none */
	const Elf64_Phdr *text, *eh_frame_hdr;
};

static bool scan_segments(const Elf64_Phdr *phdrs, uint32_t count, struct segments *found)
{
	*found = (struct segments){ .start = UINT64_MAX };
	for (uint32_t i = 0; i < count; i++) {
		const Elf64_Phdr *p = &phdrs[i];
		uint64_t end;

		if (p->p_type == PT_GNU_EH_FRAME)
			found->eh_frame_hdr = p;
		if (p->p_type != PT_LOAD || p->p_memsz == 0)
			continue;
		if (__builtin_add_overflow(p->p_vaddr, p->p_memsz, &end))
			return false;
		found->start = p->p_vaddr < found->start ? p->p_vaddr : found->start;
		found->end = end > found->end ? end : found->end;
		if ((p->p_flags & PF_X) && (!found->text || p->p_memsz > found->text->p_memsz))
			found->text = p;
	}
	return found->text != NULL;
}

/** The loaded segment whose file bytes hold this link address, or NULL. */
static const Elf64_Phdr *segment_of(const Elf64_Phdr *phdrs, uint32_t count, uint64_t link_addr)
{
	for (uint32_t i = 0; i < count; i++)
		if (phdrs[i].p_type == PT_LOAD && link_addr >= phdrs[i].p_vaddr &&
		    link_addr - phdrs[i].p_vaddr < phdrs[i].p_filesz)
			return &phdrs[i];
	return NULL;
}

/**
 * Where the header says that .eh_frame begins (its second field). Only the two forms that linkers
 * write; 0 if it is another.
 */
static uint64_t eh_frame_of_header(const struct sn_unwind_window *hdr)
{
	struct sn_unwind_bytes cur = sn_unwind_bytes_at(hdr, hdr->start);
	uint64_t version = sn_unwind_bytes_uint(&cur, 1);
	uint64_t encoding = sn_unwind_bytes_uint(&cur, 1);
	int64_t offset;

	sn_unwind_bytes_uint(&cur, 2);
	if (version != 1 || (encoding != 0x1b && encoding != 0x1c)) /* pcrel, sdata4 or sdata8 */
		return 0;
	offset = sn_unwind_bytes_int(&cur, encoding == 0x1b ? 4 : 8);
	return cur.failed ? 0 : hdr->start + 4 + (uint64_t)offset;
}

/** e_entry of an image whose ELF header lies in its first segment, as it always does; else 0. */
static uint64_t entry_in_memory(const Elf64_Phdr *phdrs, uint32_t count, uint64_t load_bias)
{
	for (uint32_t i = 0; i < count; i++) {
		const Elf64_Phdr *p = &phdrs[i];
		const Elf64_Ehdr *elf = (const void *)(uintptr_t)(p->p_vaddr + load_bias);

		if (p->p_type != PT_LOAD || p->p_offset != 0 || p->p_filesz < sizeof(*elf) ||
		    !(p->p_flags & PF_R))
			continue;
		if (elf->e_ident[0] != 0x7f || elf->e_ident[1] != 'E' || !elf->e_entry)
			return 0;
		return elf->e_entry + load_bias;
	}
	return 0;
}

bool sn_unwind_module_of_process(struct sn_unwind_module *module, const Elf64_Phdr *phdrs,
				 uint32_t phdr_count, uint64_t load_bias)
{
	struct segments found;
	const Elf64_Phdr *segment;
	uint64_t start;

	if (!scan_segments(phdrs, phdr_count, &found))
		return false;
	*module = (struct sn_unwind_module){ .load_start = found.start + load_bias,
					     .load_end = found.end + load_bias,
					     .load_bias = load_bias,
					     .entry_load_addr = entry_in_memory(phdrs, phdr_count,
										load_bias) };
	start = found.text->p_vaddr + load_bias;
	/* Code that may be executed only (some hardened programs) must not be looked at. */
	if (found.text->p_flags & PF_R)
		module->text = sn_unwind_window_here(start, start + found.text->p_filesz);
	if (!found.eh_frame_hdr || !segment_of(phdrs, phdr_count, found.eh_frame_hdr->p_vaddr))
		return true;
	start = found.eh_frame_hdr->p_vaddr + load_bias;
	module->eh_frame_hdr = sn_unwind_window_here(start, start + found.eh_frame_hdr->p_filesz);
	start = eh_frame_of_header(&module->eh_frame_hdr);
	segment = start ? segment_of(phdrs, phdr_count, start - load_bias) : NULL;
	if (segment)
		module->eh_frame = sn_unwind_window_here(start, load_bias + segment->p_vaddr +
									segment->p_filesz);
	return true;
}

/** A file's bytes at [offset, offset + size) as what lies at `link_addr`; empty if outside. */
static struct sn_unwind_window file_window(const uint8_t *bytes, uint64_t length, uint64_t offset,
					   uint64_t size, uint64_t load_addr)
{
	if (size > length || offset > length - size || load_addr + size < load_addr)
		return (struct sn_unwind_window){ 0 };
	return (struct sn_unwind_window){ load_addr, load_addr + size, bytes + offset };
}

/** The file's bytes for [link_addr, link_addr + size), cut at the segment's end. */
static struct sn_unwind_window segment_window(const uint8_t *bytes, uint64_t length,
					      const Elf64_Phdr *segment, uint64_t link_addr,
					      uint64_t size, uint64_t load_bias)
{
	uint64_t inside = segment ? link_addr - segment->p_vaddr : 0;

	if (!segment || inside > segment->p_filesz ||
	    __builtin_add_overflow(segment->p_offset, inside, &inside))
		return (struct sn_unwind_window){ 0 };
	if (size > segment->p_filesz - (link_addr - segment->p_vaddr))
		size = segment->p_filesz - (link_addr - segment->p_vaddr);
	return file_window(bytes, length, inside, size, link_addr + load_bias);
}

static bool is_named(const uint8_t *name, uint64_t length, const char *wanted)
{
	uint64_t i = 0;

	while (i < length && wanted[i] && name[i] == (uint8_t)wanted[i])
		i++;
	return i < length && !wanted[i] && !name[i];
}

/** The section headers of a file, if they all lie in it. */
static const Elf64_Shdr *section_headers(const uint8_t *bytes, uint64_t length,
					 const Elf64_Ehdr *elf)
{
	uint64_t size = (uint64_t)elf->e_shnum * sizeof(Elf64_Shdr);

	if (elf->e_shentsize != sizeof(Elf64_Shdr) || elf->e_shstrndx >= elf->e_shnum ||
	    size > length || elf->e_shoff > length - size || elf->e_shoff % 8)
		return NULL;
	return (const Elf64_Shdr *)(const void *)(bytes + elf->e_shoff);
}

/** .eh_frame by its section header: exact bounds, and there even without a search table. */
static void find_section(struct sn_unwind_module *module, const uint8_t *bytes, uint64_t length,
			 const Elf64_Ehdr *elf)
{
	const Elf64_Shdr *sections = section_headers(bytes, length, elf), *names;

	if (!sections)
		return;
	names = &sections[elf->e_shstrndx];
	if (names->sh_size > length || names->sh_offset > length - names->sh_size)
		return;
	for (uint32_t i = 0; i < elf->e_shnum; i++) {
		const Elf64_Shdr *s = &sections[i];
		struct sn_unwind_window window;

		if (s->sh_type == SHT_NOBITS || s->sh_name >= names->sh_size ||
		    !is_named(bytes + names->sh_offset + s->sh_name, names->sh_size - s->sh_name,
			      ".eh_frame"))
			continue;
		window = file_window(bytes, length, s->sh_offset, s->sh_size,
				     s->sh_addr + module->load_bias);
		if (window.end == window.start)
			continue;
		module->eh_frame = window;
		module->flags |= SN_UNWIND_MODULE_EXACT_EH_FRAME;
		return;
	}
}

static bool is_readable_elf(const uint8_t *bytes, uint64_t length)
{
	const Elf64_Ehdr *elf = (const void *)bytes;
	uint64_t size;

	if (length < sizeof(*elf) || (uintptr_t)bytes % 8 || bytes[0] != 0x7f || bytes[1] != 'E' ||
	    bytes[2] != 'L' || bytes[3] != 'F' || bytes[EI_CLASS] != ELFCLASS64 ||
	    bytes[EI_DATA] != ELFDATA2LSB || elf->e_machine != EM_X86_64 ||
	    elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff % 8)
		return false;
	size = (uint64_t)elf->e_phnum * sizeof(Elf64_Phdr);
	return size <= length && elf->e_phoff <= length - size;
}

bool sn_unwind_module_of_file(struct sn_unwind_module *module, const uint8_t *bytes,
			      uint64_t length, uint64_t load_bias)
{
	const Elf64_Ehdr *elf = (const void *)bytes;
	const Elf64_Phdr *phdrs, *hdr;
	struct segments found;
	uint64_t start;

	if (!is_readable_elf(bytes, length))
		return false;
	phdrs = (const void *)(bytes + elf->e_phoff);
	if (!scan_segments(phdrs, elf->e_phnum, &found))
		return false;
	*module = (struct sn_unwind_module){ .load_start = found.start + load_bias,
					     .load_end = found.end + load_bias,
					     .load_bias = load_bias,
					     .entry_load_addr =
						     elf->e_entry ? elf->e_entry + load_bias : 0,
					     .flags = SN_UNWIND_MODULE_UNRELOCATED };
	if (module->load_end <= module->load_start)
		return false;
	module->text = segment_window(bytes, length, found.text, found.text->p_vaddr,
				      found.text->p_filesz, load_bias);
	hdr = found.eh_frame_hdr;
	if (hdr)
		module->eh_frame_hdr =
			segment_window(bytes, length, segment_of(phdrs, elf->e_phnum, hdr->p_vaddr),
				       hdr->p_vaddr, hdr->p_filesz, load_bias);
	find_section(module, bytes, length, elf);
	if (module->eh_frame.end == module->eh_frame.start && hdr) {
		start = eh_frame_of_header(&module->eh_frame_hdr) - load_bias;
		module->eh_frame =
			segment_window(bytes, length, segment_of(phdrs, elf->e_phnum, start), start,
				       UINT64_MAX, load_bias);
	}
	return true;
}
