/*
 * Opens an ELF file once: identity, segments, sections, and facts such as the command line that it
 * was compiled with. Symbols, PLT names and function ranges come from other files of this folder
 * when they are asked for first.
 */
#include "code/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/sha256.h"
#include "base/text.h"
#include "code/image_parts.h"
#include "code/unpacked.h"

static const char *hex_of(struct sn_arena *arena, const char *prefix, const uint8_t *bytes,
			  size_t length)
{
	size_t at = strlen(prefix);
	char *hex = sn_arena_alloc(arena, at + 2 * length + 1, 1);

	snprintf(hex, at + 1, "%s", prefix);
	for (size_t i = 0; i < length; i++)
		snprintf(hex + at + 2 * i, 3, "%02x", bytes[i]);
	return hex;
}

/* Code alone makes the identity: stripping or signing a file does not change it. */
static const char *content_id(struct sn_image *image)
{
	struct sn_sha256 hash;
	uint8_t digest[32];

	sn_sha256_begin(&hash);
	for (size_t i = 0; i < image->segments.count; i++) {
		const struct sn_segment *segment = &image->segments.items[i];
		uint64_t place[2] = { segment->link_addr, segment->file_bytes };

		if (!segment->is_executable)
			continue;
		sn_sha256_add(&hash, place, sizeof(place));
		sn_sha256_add(&hash, image->elf.bytes + segment->file_offset, segment->file_bytes);
	}
	sn_sha256_end(&hash, digest);
	return hex_of(&image->arena, "h", digest, 20);
}

static void read_identity(struct sn_image *image)
{
	size_t length;
	const uint8_t *build_id = sn_elf_build_id(&image->elf, &length);

	image->has_build_id = build_id != NULL;
	image->id = build_id ? hex_of(&image->arena, "", build_id, length) : content_id(image);
}

static void read_segments(struct sn_image *image)
{
	uint64_t base = UINT64_MAX;

	for (size_t i = 0; i < image->elf.segment_count; i++) {
		const Elf64_Phdr *p = &image->elf.segments[i];
		struct sn_segment segment = {
			.link_addr = p->p_vaddr,
			.memory_bytes = p->p_memsz,
			.file_offset = p->p_offset,
			.file_bytes = p->p_filesz < p->p_memsz ? p->p_filesz : p->p_memsz,
			.is_executable = p->p_flags & PF_X,
			.is_writable = p->p_flags & PF_W,
		};

		if (p->p_type == PT_INTERP)
			image->facts.is_executable = true;
		if (p->p_type == PT_TLS && p->p_memsz < UINT32_MAX && p->p_align < UINT32_MAX)
			image->facts.thread_bytes = p->p_align > 1 ? (p->p_memsz + p->p_align - 1) /
									     p->p_align * p->p_align
								   : p->p_memsz;
		if (p->p_type != PT_LOAD)
			continue;
		if (p->p_memsz > UINT64_MAX - p->p_vaddr) {
			image->facts.is_damaged = true;
			continue;
		}
		if (segment.file_offset > image->elf.length) {
			segment.file_offset = segment.file_bytes = 0;
			image->facts.is_damaged = true;
		} else if (segment.file_bytes > image->elf.length - segment.file_offset) {
			segment.file_bytes = image->elf.length - segment.file_offset;
			image->facts.is_damaged = true;
		}
		if ((p->p_vaddr & ~UINT64_C(0xfff)) < base)
			base = p->p_vaddr & ~UINT64_C(0xfff);
		sn_vec_push(&image->segments, segment);
	}
	image->link_base = base == UINT64_MAX ? 0 : base;
	if (image->elf.header.e_type == ET_EXEC) {
		image->facts.is_static = !image->facts.is_executable;
		image->facts.is_executable = true;
	}
}

static int by_link_addr(const void *a, const void *b)
{
	const struct sn_section *x = a, *y = b;

	if (x->link_addr != y->link_addr)
		return x->link_addr < y->link_addr ? -1 : 1;
	return x->size_bytes < y->size_bytes ? -1 : x->size_bytes > y->size_bytes;
}

/* In a file whose section headers were cut off, each segment is one section. */
static void sections_from_segments(struct sn_image *image)
{
	for (size_t i = 0; i < image->segments.count; i++) {
		const struct sn_segment *segment = &image->segments.items[i];
		struct sn_section section = { "<segment>",	    segment->link_addr,
					      segment->file_bytes,  segment->is_executable,
					      segment->is_writable, true };

		if (segment->file_bytes)
			sn_vec_push(&image->sections, section);
	}
}

static void read_sections(struct sn_image *image)
{
	for (size_t i = 0; i < image->elf.section_count; i++) {
		const Elf64_Shdr *s = &image->elf.sections[i];
		struct sn_section section = {
			.name = sn_elf_section_name(&image->elf, s),
			.link_addr = s->sh_addr,
			.size_bytes = s->sh_size,
			.is_executable = s->sh_flags & SHF_EXECINSTR,
			.is_writable = s->sh_flags & SHF_WRITE,
			.has_bytes = s->sh_type != SHT_NOBITS,
		};
		size_t available = 0;

		if (!(s->sh_flags & SHF_ALLOC) || (s->sh_flags & SHF_TLS && !section.has_bytes) ||
		    s->sh_size == 0)
			continue;
		if (section.has_bytes) {
			/* what counts is what is loaded: the segments' view of the address */
			sn_image_bytes(image, s->sh_addr, &available);
			if (available < s->sh_size) {
				image->facts.is_damaged = true;
				section.size_bytes = available;
			}
		} else if (s->sh_size > UINT64_MAX - s->sh_addr) {
			section.size_bytes = 0;
		}
		if (section.size_bytes)
			sn_vec_push(&image->sections, section);
	}
	if (!image->sections.count)
		sections_from_segments(image);
	if (image->sections.count)
		qsort(image->sections.items, image->sections.count, sizeof(*image->sections.items),
		      by_link_addr);
}

/* gcc -frecord-gcc-switches and clang -frecord-command-line: strings, each with its zero. */
static void read_command_line(struct sn_image *image)
{
	static const char name[] = ".GCC.command.line";
	const struct sn_elf_view *elf = &image->elf;
	const Elf64_Shdr *section = sn_elf_section_named(elf, name);
	const uint8_t *bytes;
	size_t length;
	char *text;

	if (!section && image->debug.is_open) {
		elf = &image->debug.elf;
		section = sn_elf_section_named(elf, name);
	}
	bytes = sn_elf_section_bytes(elf, section, &length);
	while (length && !bytes[length - 1])
		length--;
	while (length && !*bytes) {
		bytes++;
		length--;
	}
	if (!length)
		return;
	text = sn_arena_strndup(&image->arena, (const char *)bytes, length);
	for (size_t i = 0; i < length; i++)
		if (!text[i])
			text[i] = '\n';
	image->command_line = text;
}

static void read_dynamic_facts(struct sn_image *image)
{
	for (size_t i = 0; i < image->elf.segment_count; i++) {
		const Elf64_Phdr *p = &image->elf.segments[i];
		size_t available;
		const uint8_t *bytes;

		if (p->p_type != PT_DYNAMIC)
			continue;
		bytes = sn_image_bytes(image, p->p_vaddr, &available);
		for (; bytes && available >= sizeof(Elf64_Dyn);
		     bytes += sizeof(Elf64_Dyn), available -= sizeof(Elf64_Dyn)) {
			Elf64_Dyn entry;

			memcpy(&entry, bytes, sizeof(entry));
			if (entry.d_tag == DT_NULL)
				break;
			if (entry.d_tag == DT_FLAGS_1 && entry.d_un.d_val & DF_1_PIE) {
				image->facts.is_static = !image->facts.is_executable;
				image->facts.is_executable = true;
			}
			if (entry.d_tag == DT_RELA)
				image->rela_link_addr = entry.d_un.d_ptr;
			if (entry.d_tag == DT_RELACOUNT)
				image->relative_count = entry.d_un.d_val;
		}
	}
}

static bool has_debug_lines(const struct sn_elf_view *elf)
{
	return sn_elf_section_named(elf, ".debug_line") && sn_elf_section_named(elf, ".debug_info");
}

static sn_status read_headers(struct sn_image *image, const void *bytes, size_t length,
			      struct sn_error *err)
{
	sn_status status = sn_elf_view_open(bytes, length, image->path, &image->elf, err);

	if (status != SN_OK)
		return status;
	if (image->elf.header.e_type != ET_EXEC && image->elf.header.e_type != ET_DYN)
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"'%s' is an ELF file of type %u, neither a program nor a shared "
			"object; link it first",
			image->path, image->elf.header.e_type);
	image->facts.is_damaged = image->elf.is_damaged;
	read_segments(image);
	if (!image->segments.count)
		return sn_error_set(err, SN_ERR_FORMAT, "'%s' has no loadable segment",
				    image->path);
	read_identity(image);
	return SN_OK;
}

static sn_status image_read(struct sn_image *image, const void *bytes, size_t length,
			    const struct sn_image_options *options, struct sn_error *err)
{
	sn_status status = read_headers(image, bytes, length, err);

	if (status != SN_OK)
		return status;
	image->keeps_nothing = options && options->keeps_nothing;
	if (options && options->unpacked_folder)
		image->unpacked_folder = sn_arena_strdup(&image->arena, options->unpacked_folder);
	read_sections(image);
	read_dynamic_facts(image);
	sn_image_find_companions(image, options);
	read_command_line(image);
	if (!options || !options->on_demand || !sn_image_find_fde_table(image) ||
	    !sn_image_read_name_index(image)) {
		sn_image_read_fdes(image);
		sn_image_read_bindings(image);
		sn_image_read_relocations(image);
		sn_image_read_symbols(image);
	}
	image->facts.has_unwind = image->fdes.count || image->fde_table.count;
	image->facts.has_debug_lines = has_debug_lines(&image->elf) ||
				       (image->debug.is_open && has_debug_lines(&image->debug.elf));
	return SN_OK;
}

void sn_image_add_file_state(struct sn_text *out, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		sn_text_addf(out, "%s %lld %lld.%09ld", path, (long long)st.st_size,
			     (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

sn_status sn_image_identify(const char *path, const struct sn_image_options *options,
			    struct sn_text *id, struct sn_text *debug_state, struct sn_error *err)
{
	struct sn_image *image = sn_alloc_zeroed(1, sizeof(*image));
	sn_status status = sn_file_map(path, &image->file, err);

	image->path = sn_arena_strdup(&image->arena, path);
	if (status == SN_OK)
		status = read_headers(image, image->file.bytes, image->file.length, err);
	if (status == SN_OK) {
		sn_image_find_debug(image, options);
		sn_text_add(id, image->id);
		sn_text_add(debug_state, has_debug_lines(&image->elf) ? "own" : "none");
		sn_text_addf(debug_state, " symbols %d", SN_SYMBOLS_VERSION);
		if (image->debug.is_open) {
			sn_text_add_char(debug_state, ' ');
			sn_image_add_file_state(debug_state, image->debug.path);
		}
	}
	sn_image_free(image);
	return status;
}

sn_status sn_image_open_memory(const void *bytes, size_t length, const char *name,
			       const struct sn_image_options *options, struct sn_image **out,
			       struct sn_error *err)
{
	struct sn_image *image = sn_alloc_zeroed(1, sizeof(*image));
	sn_status status;

	image->path = sn_arena_strdup(&image->arena, name);
	status = image_read(image, bytes, length, options, err);
	if (status == SN_OK)
		*out = image;
	else
		sn_image_free(image);
	return status;
}

sn_status sn_image_open(const char *path, const struct sn_image_options *options,
			struct sn_image **out, struct sn_error *err)
{
	struct sn_file_view file;
	sn_status status = sn_file_map(path, &file, err);

	if (status != SN_OK)
		return status;
	status = sn_image_open_memory(file.bytes, file.length, path, options, out, err);
	if (status == SN_OK)
		(*out)->file = file;
	else
		sn_file_unmap(&file);
	return status;
}

static void close_dwarf(struct sn_image *image)
{
	dwarf_end(image->dwarf);
	dwarf_end(image->alt_dwarf);
	elf_end(image->dwarf_elf);
	elf_end(image->alt_elf);
	free(image->dwarf_copy);
	free(image->alt_copy);
	sn_file_unmap(&image->unpacked);
	image->dwarf = image->alt_dwarf = NULL;
	image->dwarf_elf = image->alt_elf = NULL;
	image->dwarf_copy = image->alt_copy = NULL;
	image->is_dwarf_tried = image->has_dwarf_part = false;
}

void sn_image_free(struct sn_image *image)
{
	if (!image)
		return;
	close_dwarf(image);
	sn_companion_close(&image->debug);
	sn_companion_close(&image->mini);
	sn_companion_close(&image->alt);
	sn_vec_free(&image->segments);
	sn_vec_free(&image->sections);
	sn_vec_free(&image->symbols);
	sn_vec_free(&image->names);
	sn_vec_free(&image->data);
	sn_vec_free(&image->fdes);
	sn_vec_free(&image->plt);
	sn_vec_free(&image->tables);
	free(image->merged_entries);
	sn_file_unmap(&image->entries_file);
	sn_vec_free(&image->relocations);
	sn_vec_free(&image->bindings);
	sn_elf_view_close(&image->elf);
	sn_file_unmap(&image->file);
	sn_arena_free(&image->arena);
	free(image);
}

const char *sn_image_path(const struct sn_image *image)
{
	return image->path;
}

const char *sn_image_id(const struct sn_image *image)
{
	return image->id;
}

bool sn_image_has_build_id(const struct sn_image *image)
{
	return image->has_build_id;
}

uint64_t sn_image_link_base(const struct sn_image *image)
{
	return image->link_base;
}

const char *sn_image_command_line(const struct sn_image *image)
{
	return image->command_line;
}

struct sn_image_facts sn_image_facts(const struct sn_image *image)
{
	return image->facts;
}

const struct sn_segment *sn_image_segments(const struct sn_image *image, size_t *count)
{
	*count = image->segments.count;
	return image->segments.items;
}

const struct sn_section *sn_image_section_at(const struct sn_image *image, uint64_t link_addr)
{
	enum { OVERLAPS_MAX = 8 }; /* sections overlap in damaged files only */
	size_t low = 0, high = image->sections.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->sections.items[middle].link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i > 0 && i + OVERLAPS_MAX > low; i--) {
		const struct sn_section *section = &image->sections.items[i - 1];

		if (link_addr - section->link_addr < section->size_bytes)
			return section;
	}
	return NULL;
}

uint64_t sn_image_link_addr(const struct sn_image *image, uint64_t file_offset)
{
	const struct sn_segment *found = NULL;

	/* a page may be mapped twice where segments meet: code wins */
	for (size_t i = 0; i < image->segments.count; i++) {
		const struct sn_segment *segment = &image->segments.items[i];

		if (file_offset - segment->file_offset < segment->file_bytes &&
		    (!found || (segment->is_executable && !found->is_executable)))
			found = segment;
	}
	return found ? found->link_addr + (file_offset - found->file_offset) : UINT64_MAX;
}

const uint8_t *sn_image_bytes(const struct sn_image *image, uint64_t link_addr, size_t *available)
{
	for (size_t i = 0; i < image->segments.count; i++) {
		const struct sn_segment *segment = &image->segments.items[i];
		uint64_t offset = link_addr - segment->link_addr;

		if (offset < segment->file_bytes) {
			*available = segment->file_bytes - offset;
			return image->elf.bytes + segment->file_offset + offset;
		}
	}
	*available = 0;
	return NULL;
}

bool sn_image_pointer(const struct sn_image *image, uint64_t link_addr, uint64_t *value)
{
	const struct relocation *relocation = sn_image_relocation_at(image, link_addr);
	const uint8_t *bytes;
	size_t available;

	if (relocation) {
		*value = relocation->value;
		return relocation->value != 0;
	}
	bytes = sn_image_bytes(image, link_addr, &available);
	if (!bytes || available < 8)
		return false;
	memcpy(value, bytes, 8);
	return true;
}

const struct sn_symbol *sn_image_symbols(const struct sn_image *image, size_t *count)
{
	*count = image->symbols.count;
	return image->symbols.items;
}

/* All entries of an image that is read on demand, for those who need every one. */
static void read_all_entries(const struct sn_image *image, bool data)
{
	struct sn_image *changed = (struct sn_image *)(uintptr_t)image;
	struct sn_symbols all = { 0 };

	sn_name_entries_read(changed, data ? &image->data_entries : &image->code_entries, 0,
			     data ? image->data_entries.count : image->code_entries.count, &all);
	if (data) {
		changed->data.items = all.items;
		changed->data.count = all.count;
		changed->data.capacity = all.capacity;
	} else {
		changed->names.items = all.items;
		changed->names.count = all.count;
		changed->names.capacity = all.capacity;
	}
}

const struct sn_symbol *sn_image_names(const struct sn_image *image, size_t *count)
{
	if (sn_image_is_on_demand(image) && !image->has_names) {
		((struct sn_image *)(uintptr_t)image)->has_names = true;
		read_all_entries(image, false);
	}
	*count = image->names.count;
	return image->names.items;
}

const struct sn_symbol *sn_image_data_symbols(const struct sn_image *image, size_t *count)
{
	if (sn_image_is_on_demand(image) && !image->has_data) {
		((struct sn_image *)(uintptr_t)image)->has_data = true;
		read_all_entries(image, true);
	}
	*count = image->data.count;
	return image->data.items;
}

size_t sn_symbol_above(const struct sn_symbol *items, size_t count, uint64_t link_addr)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool sn_image_data_symbol_before(const struct sn_image *image, uint64_t link_addr,
				 struct sn_symbol *found)
{
	struct sn_symbols here = { 0 };
	bool is_found;
	size_t end;

	if (!sn_image_is_on_demand(image)) {
		end = sn_symbol_above(image->data.items, image->data.count, link_addr);
		if (end)
			*found = image->data.items[end - 1];
		return end > 0;
	}
	end = link_addr == UINT64_MAX ? image->data_entries.count
				      : sn_name_entries_below(&image->data_entries, link_addr + 1);
	if (!end)
		return false;
	sn_name_entries_read((struct sn_image *)(uintptr_t)image, &image->data_entries,
			     sn_name_entries_below(&image->data_entries,
						   image->data_entries.items[end - 1].link_addr),
			     end, &here);
	is_found = here.count > 0;
	if (is_found)
		*found = here.items[here.count - 1];
	sn_vec_free(&here);
	return is_found;
}

bool sn_image_is_on_demand(const struct sn_image *image)
{
	return image->fde_table.pairs != NULL;
}

bool sn_image_has_code(const struct sn_image *image)
{
	for (size_t i = 0; i < image->sections.count; i++)
		if (image->sections.items[i].is_executable && image->sections.items[i].has_bytes)
			return true;
	return false;
}

bool sn_image_has_cold_names(const struct sn_image *image)
{
	return image->has_cold_names;
}

void sn_image_plt_span(const struct sn_image *image, uint64_t *first, uint64_t *end)
{
	*first = *end = 0;
	for (size_t i = 0; i < image->sections.count; i++) {
		const struct sn_section *section = &image->sections.items[i];

		if (!section->is_executable || !sn_starts_with(section->name, ".plt"))
			continue;
		*first = *end ? *first : section->link_addr;
		*end = section->link_addr + section->size_bytes;
	}
}

const struct sn_symbol *sn_image_symbol_at(const struct sn_image *image, uint64_t link_addr)
{
	size_t above = sn_symbol_above(image->symbols.items, image->symbols.count, link_addr);
	const struct sn_symbol *symbol = above ? &image->symbols.items[above - 1] : NULL;

	if (symbol && link_addr - symbol->link_addr < symbol->size_bytes)
		return symbol;
	return sn_image_is_on_demand(image)
		       ? sn_image_symbol_near((struct sn_image *)(uintptr_t)image, link_addr)
		       : NULL;
}

const struct sn_symbol *sn_image_symbol_named(const struct sn_image *image, const char *name)
{
	size_t count;
	const struct sn_symbol *names = sn_image_names(image, &count);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i].name, name))
			return sn_image_symbol_at(image, names[i].link_addr);
	return NULL;
}

/* ---- the DWARF handle ---- */

/* libelf changes section headers in place when it unpacks compressed sections, so it gets pages of
 * its own: a private mapping made writable, or a copy. */
static Elf *elf_of(const struct sn_file_view *file, const struct sn_elf_view *elf, void **copy)
{
	void *bytes = (void *)(uintptr_t)elf->bytes;

	elf_version(EV_CURRENT);
	if (!file->is_mapped || mprotect(bytes, elf->length, PROT_READ | PROT_WRITE)) {
		bytes = *copy = sn_alloc(elf->length);
		memcpy(bytes, elf->bytes, elf->length);
	}
	return elf_memory(bytes, elf->length);
}

/* libdw unpacks every compressed section that it knows when it opens a file, which takes longer
 * than all that follows. Those that lines.c asks nothing of are hidden from it. */
static void hide_unread_sections(Elf *handle)
{
	static const char *const unread[] = { ".debug_loc",   ".debug_loclists", ".debug_aranges",
					      ".debug_frame", ".debug_macinfo",	 ".debug_macro" };
	size_t names;

	if (!handle || elf_getshdrstrndx(handle, &names))
		return;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(handle, section));) {
		Elf64_Shdr *header = elf64_getshdr(section);
		const char *name = header ? elf_strptr(handle, names, header->sh_name) : NULL;

		for (size_t i = 0; name && i < sizeof(unread) / sizeof(*unread); i++)
			if (header->sh_flags & SHF_COMPRESSED && !strcmp(name, unread[i]))
				header->sh_type = SHT_NOBITS;
	}
}

uint64_t sn_image_debug_state(const struct sn_image *image)
{
	struct sn_text state = { 0 };
	uint64_t hash;

	sn_image_add_file_state(&state,
				has_debug_lines(&image->elf) ? image->path : image->debug.path);
	hash = sn_hash_bytes(state.chars, state.length);
	sn_text_free(&state);
	return hash;
}

/* The debug information of `elf`, the image's own or its companion's, unpacked; NULL: read it as it
 * is. */
static Elf *unpacked_elf(struct sn_image *image, const struct sn_elf_view *elf,
			 struct sn_unpacked_part *part)
{
	Elf *handle = NULL;

	if (!image->unpacked_folder)
		return NULL;
	if (sn_unpacked_open(elf, sn_image_debug_state(image), image->unpacked_folder, image->id,
			     image->keeps_nothing ? part : NULL, &image->unpacked)) {
		elf_version(EV_CURRENT);
		handle = elf_memory((char *)(uintptr_t)image->unpacked.bytes,
				    image->unpacked.length);
	}
	return handle;
}

static struct Dwarf *open_dwarf(struct sn_image *image, struct sn_unpacked_part *part)
{
	const struct sn_elf_view *elf = &image->elf;
	const struct sn_file_view *file = &image->file;

	if (image->is_dwarf_tried)
		return image->dwarf;
	image->is_dwarf_tried = true;
	if (!has_debug_lines(elf)) {
		if (!image->debug.is_open || !has_debug_lines(&image->debug.elf))
			return NULL;
		elf = &image->debug.elf;
		file = &image->debug.file;
	}
	image->dwarf_elf = unpacked_elf(image, elf, part);
	image->has_dwarf_part = part->is_part;
	if (!image->dwarf_elf) {
		image->dwarf_elf = elf_of(file, elf, &image->dwarf_copy);
		hide_unread_sections(image->dwarf_elf);
	}
	image->dwarf =
		image->dwarf_elf ? dwarf_begin_elf(image->dwarf_elf, DWARF_C_READ, NULL) : NULL;
	if (image->dwarf && image->alt.is_open) {
		image->alt_elf = elf_of(&image->alt.file, &image->alt.elf, &image->alt_copy);
		image->alt_dwarf =
			image->alt_elf ? dwarf_begin_elf(image->alt_elf, DWARF_C_READ, NULL) : NULL;
		if (image->alt_dwarf)
			dwarf_setalt(image->dwarf, image->alt_dwarf);
	}
	return image->dwarf;
}

struct Dwarf *sn_image_dwarf(struct sn_image *image)
{
	return sn_image_dwarf_around(image, NULL, 0);
}

struct Dwarf *sn_image_dwarf_around(struct sn_image *image, const uint64_t *link_addrs,
				    size_t count)
{
	struct sn_unpacked_part part = { .link_addrs = link_addrs, .count = count };

	return open_dwarf(image, &part);
}

struct Dwarf *sn_image_dwarf_whole(struct sn_image *image)
{
	if (image->has_dwarf_part)
		close_dwarf(image);
	return sn_image_dwarf(image);
}
