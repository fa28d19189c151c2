/* Makes one list of code symbols without overlaps, from all symbol tables, from FDEs, and from the
 * code that is left: of a whole file, or of a stretch of it. */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/text.h"
#include "code/decode.h"
#include "code/flow_end.h"
#include "code/image_parts.h"

static const struct sn_section *code_section(const struct sn_image *image, uint64_t link_addr)
{
	const struct sn_section *section = sn_image_section_at(image, link_addr);

	return section && section->is_executable && section->has_bytes ? section : NULL;
}

/* "memcpy@@GLIBC_2.14" is memcpy */
static const char *plain_name(struct sn_image *image, const char *name)
{
	const char *at = strchr(name, '@');

	return at && at != name ? sn_arena_strndup(&image->arena, name, (size_t)(at - name)) : name;
}

enum symbol_class sn_symbol_class(const struct sn_image *image, const Elf64_Sym *symbol,
				  const char *name)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	if (!*name || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
		return SYMBOL_OTHER;
	if (type == STT_OBJECT && symbol->st_size)
		return SYMBOL_DATA;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return SYMBOL_OTHER;
	if ((type == STT_NOTYPE && (name[0] == '.' || name[0] == '$')) ||
	    !code_section(image, symbol->st_value))
		return SYMBOL_OTHER;
	return SYMBOL_CODE;
}

struct sn_symbol sn_symbol_of(struct sn_image *image, const Elf64_Sym *symbol, const char *name,
			      const char *file)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	unsigned binding = ELF64_ST_BIND(symbol->st_info);
	struct sn_symbol found = {
		.link_addr = symbol->st_value,
		.size_bytes = symbol->st_size,
		.name = plain_name(image, name),
		.is_local = binding == STB_LOCAL,
		.is_weak = binding == STB_WEAK,
		.is_ifunc = type == STT_GNU_IFUNC,
		.file = binding == STB_LOCAL ? file : NULL,
		.kind = type == STT_OBJECT ? SN_SYMBOL_DATA : SN_SYMBOL_FUNCTION,
	};

	if (found.kind == SN_SYMBOL_DATA)
		return found;
	if (symbol->st_size > UINT64_MAX - symbol->st_value)
		found.size_bytes = 0;
	/* an untyped name inside a sized function is a label; this marks it as such */
	found.is_size_inferred = type == STT_NOTYPE || !found.size_bytes;
	return found;
}

/* ---- the tables ---- */

static bool find_tables(struct sn_image *image, const struct sn_elf_view *elf, uint32_t type)
{
	bool is_found = false;

	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];
		struct symbol_table table = { 0 };
		size_t length;

		if (section->sh_type != type || section->sh_link >= elf->section_count)
			continue;
		table.bytes = sn_elf_section_bytes(elf, section, &length);
		table.strings = sn_elf_section_bytes(elf, &elf->sections[section->sh_link],
						     &table.strings_length);
		is_found |= length >= 2 * sizeof(Elf64_Sym);
		table.count = table.bytes ? length / sizeof(Elf64_Sym) : 0;
		sn_vec_push(&image->tables, table);
	}
	return is_found;
}

void sn_image_find_tables(struct sn_image *image)
{
	bool has;

	image->tables.count = 0;
	has = find_tables(image, &image->elf, SHT_SYMTAB);

	if (image->debug.is_open)
		has |= find_tables(image, &image->debug.elf, SHT_SYMTAB);
	if (image->mini.is_open)
		has |= find_tables(image, &image->mini.elf, SHT_SYMTAB);
	find_tables(image, &image->elf, SHT_DYNSYM);
	image->facts.has_symtab = has;
}

const char *sn_symbol_table_get(const struct symbol_table *table, size_t number, Elf64_Sym *symbol)
{
	memcpy(symbol, table->bytes + number * sizeof(*symbol), sizeof(*symbol));
	return sn_elf_string(table->strings, table->strings_length, symbol->st_name);
}

static void read_table(struct sn_image *image, const struct symbol_table *table)
{
	const char *file = NULL;

	for (size_t i = 0; i < table->count; i++) {
		Elf64_Sym symbol;
		const char *name = sn_symbol_table_get(table, i, &symbol);
		enum symbol_class class;

		if (ELF64_ST_TYPE(symbol.st_info) == STT_FILE) {
			file = *name ? name : NULL;
			continue;
		}
		class = sn_symbol_class(image, &symbol, name);
		if (class == SYMBOL_CODE)
			sn_vec_push(&image->names, sn_symbol_of(image, &symbol, name, file));
		else if (class == SYMBOL_DATA)
			sn_vec_push(&image->data, sn_symbol_of(image, &symbol, name, file));
	}
}

/* ---- their order ---- */

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/* By address; among aliases the name that a person would choose comes first, whatever the tables'
 * order. */
int sn_symbol_order(const struct sn_symbol *x, const struct sn_symbol *y)
{
	size_t x_length, y_length;

#define PREFER(expr_x, expr_y)                                                                     \
	do {                                                                                       \
		if ((expr_x) != (expr_y))                                                          \
			return (expr_x) < (expr_y) ? -1 : 1;                                       \
	} while (0)
	PREFER(x->link_addr, y->link_addr);
	PREFER(x->is_size_inferred, y->is_size_inferred);
	PREFER(x->is_local, y->is_local);
	/* mangled names begin with an underscore by rule, not by shyness */
	PREFER(sn_starts_with(x->name, "_Z") ? 0 : underscores(x->name),
	       sn_starts_with(y->name, "_Z") ? 0 : underscores(y->name));
	PREFER(x->is_weak, y->is_weak);
	x_length = strlen(x->name);
	y_length = strlen(y->name);
	PREFER(x_length, y_length);
#undef PREFER
	return strcmp(x->name, y->name);
}

static int by_address_and_rank(const void *a, const void *b)
{
	return sn_symbol_order(a, b);
}

void sn_symbols_sort(struct sn_symbol *items, size_t count)
{
	sn_sort_items(items, count, sizeof(*items), offsetof(struct sn_symbol, link_addr),
		      by_address_and_rank);
}

struct making {
	struct sn_image *image;
	struct symbol_window *window;
};

static void push_symbol(struct making *m, struct sn_symbol symbol)
{
	sn_vec_push(&m->window->symbols, symbol);
}

static const struct sn_fde *fde_from(const struct making *m, size_t *at, uint64_t link_addr)
{
	const struct symbol_window *window = m->window;

	while (*at < window->fde_count && window->fdes[*at].link_addr < link_addr)
		(*at)++;
	return *at < window->fde_count ? &window->fdes[*at] : NULL;
}

static void push_fde(struct making *m, const struct sn_fde *fde)
{
	const struct sn_section *section = code_section(m->image, fde->link_addr);
	struct sn_symbol symbol = { .link_addr = fde->link_addr,
				    .size_bytes = fde->size_bytes,
				    .kind = SN_SYMBOL_FDE };

	/* one FDE covers a whole PLT, which has names of its own or is better left a gap */
	if (!section || sn_starts_with(section->name, ".plt") || !fde->size_bytes)
		return;
	push_symbol(m, symbol);
}

/* One symbol an address, labels inside of functions left out, and FDEs where no sized symbol is. */
static void merge_names_and_fdes(struct making *m)
{
	const struct sn_symbol *names = m->window->names;
	uint64_t sized_end = 0;
	size_t fde_at = 0, count = m->window->name_count;

	for (size_t i = 0; i < count;) {
		struct sn_symbol symbol = names[i];
		const struct sn_fde *fde;
		size_t first = i;

		for (; i < count && names[i].link_addr == symbol.link_addr; i++) {
			if (names[i].size_bytes > symbol.size_bytes)
				symbol.size_bytes = names[i].size_bytes;
		}
		while ((fde = fde_from(m, &fde_at, sized_end)) &&
		       fde->link_addr < symbol.link_addr) {
			push_fde(m, fde);
			fde_at++;
		}
		if (symbol.link_addr < sized_end && names[first].is_size_inferred)
			continue;
		if (!symbol.size_bytes && fde && fde->link_addr == symbol.link_addr)
			symbol.size_bytes = fde->size_bytes;
		if (symbol.link_addr + symbol.size_bytes > sized_end)
			sized_end = symbol.link_addr + symbol.size_bytes;
		if (sized_end <= symbol.link_addr)
			sized_end = symbol.link_addr + 1;
		push_symbol(m, symbol);
	}
	for (const struct sn_fde *fde; (fde = fde_from(m, &fde_at, sized_end)); fde_at++)
		push_fde(m, fde);
}

/* Where hand-written code without a size ends by itself. */
static uint64_t own_end(struct sn_image *image, uint64_t link_addr, uint64_t end)
{
	struct sn_flow_stretch *stretch =
		sn_flow_stretch_new(image, link_addr, end, &image->flow_instructions);
	uint64_t own = stretch ? sn_flow_end(stretch, link_addr) : end;
	bool is_longer = stretch && sn_flow_is_end(stretch, own);

	sn_flow_stretch_free(stretch);
	/* longer than what is looked at, it ends where the next begins */
	return own > link_addr && !is_longer ? own : end;
}

/* Sizes that are missing, and an end before the next begins. What a function had left behind one
 * that begins inside of it goes to the latter. */
static void settle_sizes(struct making *m)
{
	struct sn_symbol *symbols = m->window->symbols.items;
	size_t count = m->window->symbols.count, inside = count;

	while (inside && symbols[inside - 1].link_addr >= m->window->end)
		inside--;
	for (size_t i = 0; i < inside; i++) {
		struct sn_symbol *symbol = &symbols[i];
		const struct sn_section *section = code_section(m->image, symbol->link_addr);
		uint64_t end = section->link_addr + section->size_bytes;
		uint64_t next = i + 1 < count ? symbol[1].link_addr : end;

		symbol->is_size_inferred = !symbol->size_bytes;
		if (symbol->size_bytes && symbol->size_bytes < end - symbol->link_addr)
			end = symbol->link_addr + symbol->size_bytes;
		if (end > next) {
			if (symbol->size_bytes && i + 1 < count && symbol[1].size_bytes &&
			    end - next > symbol[1].size_bytes)
				symbol[1].size_bytes = end - next;
			end = next;
		}
		if (!symbol->size_bytes)
			end = own_end(m->image, symbol->link_addr, end);
		symbol->size_bytes = end - symbol->link_addr;
	}
	m->window->symbols.count = inside;
}

/* The length of compilers' usual padding: a zero byte, int3, or nop with any prefixes and operand
 * (Intel SDM, NOP). 0: look closer. This spares a call of the decoder for each function. */
static size_t usual_padding(const uint8_t *bytes, size_t available)
{
	static const uint8_t displacement[] = { 0, 1, 4 };
	size_t at = 0;

	while (at < available && at < 10 && (bytes[at] == 0x66 || bytes[at] == 0x2e))
		at++;
	if (at < available && (bytes[at] == 0x90 || (!at && (!bytes[at] || bytes[at] == 0xcc))))
		return at + 1;
	if (at + 3 <= available && bytes[at] == 0x0f && bytes[at + 1] == 0x1f) {
		uint8_t modrm = bytes[at + 2], mod = modrm >> 6, base = modrm & 7;

		if (mod < 3 && (mod || base < 4)) /* else an absolute address, or a register */
			return at + 3 + (base == 4) + displacement[mod];
	}
	return 0;
}

/* The first byte in [at, end) that is not padding; `end` if all are. */
static uint64_t skip_padding(const struct sn_image *image, uint64_t at, uint64_t end)
{
	size_t available, length;
	const uint8_t *bytes = sn_image_bytes(image, at, &available);
	struct sn_instruction insn;

	for (; at < end; at += length, bytes += length, available -= length) {
		if (!bytes || !available)
			return end;
		length = usual_padding(bytes, available);
		if (!length && sn_instruction_decode(bytes, available, at, &insn) &&
		    insn.is_padding)
			length = insn.length;
		if (!length)
			return at;
		length = length < available ? length : available;
	}
	return end;
}

static void push_gap(struct making *m, const char *after, uint64_t at, uint64_t end)
{
	struct sn_symbol symbol = { .link_addr = at,
				    .after = after,
				    .size_bytes = end - at,
				    .kind = SN_SYMBOL_GAP,
				    .is_size_inferred = true };

	push_symbol(m, symbol);
}

/* What nothing names, cut into what is reached from one entry each. Entries are at multiples of 16:
 * what lies before the next one (cases of jump tables, constants) is left to the code before. */
static void add_gap_part(struct making *m, const char *after, uint64_t at, uint64_t end,
			 uint32_t *used)
{
	enum { ENTRY_ALIGNMENT = 16, LEAST_BYTES = 32 };
	uint64_t from = skip_padding(m->image, at, end), own = from;
	struct sn_flow_stretch *stretch = NULL;

	for (at = from; end - from > LEAST_BYTES && at < end;) {
		uint64_t next_own;

		if (!stretch || sn_flow_is_near_end(stretch, at)) {
			sn_flow_stretch_free(stretch);
			stretch = sn_flow_stretch_new(m->image, at, end, used);
		}
		if (!stretch)
			break;
		next_own = sn_flow_end(stretch, at);
		if (at > from && sn_flow_is_sound(stretch)) {
			push_gap(m, after, from, own);
			from = at;
		}
		own = next_own > at ? next_own : at + 1;
		at = sn_flow_skip_padding(stretch, own);
		if (at % ENTRY_ALIGNMENT)
			own = at = (at | (ENTRY_ALIGNMENT - 1)) + 1;
	}
	sn_flow_stretch_free(stretch);
	if (from < end)
		push_gap(m, after, from, end);
}

enum { CUT_ALIGNMENT = 16 };

/* The first offset in [from, to) at a multiple of 16 that int3 fills up to; `to`: none. */
static size_t first_filled(const uint8_t *bytes, size_t from, size_t to)
{
	enum { FILL = 3, INT3 = 0xcc };

	for (size_t at = from; at < to; at += CUT_ALIGNMENT) {
		const uint8_t *here = bytes + at;

		if (here[0] != INT3 && here[-1] == INT3 && here[-2] == INT3 && here[-FILL] == INT3)
			return at;
	}
	return to;
}

/* Most gaps are small and have none: what is before them in the part is looked at only if they have one. */
uint64_t sn_image_gap_cut(const struct sn_image *image, uint64_t after_addr, uint64_t end)
{
	for (uint64_t part = after_addr / SN_GAP_PART_BYTES * SN_GAP_PART_BYTES; part < end;
	     part += SN_GAP_PART_BYTES) {
		size_t limit = end - part < SN_GAP_PART_BYTES ? end - part : SN_GAP_PART_BYTES;
		size_t low = CUT_ALIGNMENT, available, at;
		const uint8_t *bytes = sn_image_bytes(image, part, &available);

		if (!bytes)
			continue;
		if (after_addr >= part)
			low += (after_addr - part) / CUT_ALIGNMENT * CUT_ALIGNMENT;
		limit = available < limit ? available : limit;
		at = first_filled(bytes, low, limit);
		if (at < limit && first_filled(bytes, CUT_ALIGNMENT, low) >= low)
			return part + at;
	}
	return end;
}

/* A large gap in parts, so that each has its own share of what is decoded, and the symbols of one
 * do not depend on the others. */
static void add_gap(struct making *m, const char *after, uint64_t at, uint64_t end)
{
	uint64_t cut = sn_image_gap_cut(m->image, at, end);

	if (cut == end && !m->window->is_part) {
		add_gap_part(m, after, at, end, &m->image->flow_instructions);
		return;
	}
	for (; at < end; at = cut, cut = sn_image_gap_cut(m->image, at, end), after = NULL) {
		uint32_t used = SN_FLOW_INSTRUCTIONS_MAX - SN_FLOW_INSTRUCTIONS_MAX / 8;

		add_gap_part(m, after, at, cut, &used);
	}
}

static int by_place(const void *a, const void *b)
{
	const struct sn_symbol *x = a, *y = b;

	if (x->link_addr != y->link_addr)
		return x->link_addr < y->link_addr ? -1 : 1;
	if (x->size_bytes != y->size_bytes)
		return x->size_bytes < y->size_bytes ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

static void add_gaps(struct making *m)
{
	struct symbol_window *window = m->window;
	size_t count = window->symbols.count, at = 0;
	const char *after;

	for (size_t i = 0; i < window->section_count; i++) {
		const struct sn_section *section = &window->sections[i];
		uint64_t covered = section->link_addr, end = covered + section->size_bytes;

		if (!section->is_executable || !section->has_bytes)
			continue;
		after = NULL;
		while (at < count && window->symbols.items[at].link_addr < covered)
			at++;
		for (; at < count && window->symbols.items[at].link_addr < end; at++) {
			struct sn_symbol symbol = window->symbols.items[at];
			uint64_t start = symbol.link_addr, next = start + symbol.size_bytes;

			if (start > covered)
				add_gap(m, after, covered, start);
			after = symbol.is_size_inferred ? symbol.name : NULL;
			covered = next > covered ? next : covered;
		}
		if (covered < end)
			add_gap(m, after, covered, end);
	}
	sn_sort_items(window->symbols.items, window->symbols.count, sizeof(*window->symbols.items),
		      offsetof(struct sn_symbol, link_addr), by_place);
}

/* Damaged files have sections on top of one another; then a later symbol may begin before an
 * earlier ends. */
static void drop_overlaps(struct symbol_window *window)
{
	uint64_t covered = 0;
	size_t kept = 0;

	for (size_t i = 0; i < window->symbols.count; i++) {
		struct sn_symbol symbol = window->symbols.items[i];

		if (symbol.link_addr < covered || !symbol.size_bytes)
			continue;
		covered = symbol.link_addr + symbol.size_bytes;
		window->symbols.items[kept++] = symbol;
	}
	window->symbols.count = kept;
}

void sn_image_make_symbols(struct sn_image *image, struct symbol_window *window)
{
	struct making m = { image, window };

	merge_names_and_fdes(&m);
	settle_sizes(&m);
	add_gaps(&m);
	drop_overlaps(window);
}

void sn_image_read_symbols(struct sn_image *image)
{
	struct symbol_window whole = { 0 };

	sn_image_find_tables(image);
	for (size_t i = 0; i < image->tables.count; i++)
		read_table(image, &image->tables.items[i]);
	sn_image_read_plt(image);
	for (size_t i = 0; i < image->plt.count; i++)
		sn_vec_push(&image->names, image->plt.items[i]);
	sn_symbols_sort(image->names.items, image->names.count);
	sn_symbols_sort(image->data.items, image->data.count);
	whole.names = image->names.items;
	whole.name_count = image->names.count;
	whole.fdes = image->fdes.items;
	whole.fde_count = image->fdes.count;
	whole.sections = image->sections.items;
	whole.section_count = image->sections.count;
	whole.end = UINT64_MAX;
	sn_image_make_symbols(image, &whole);
	image->symbols.items = whole.symbols.items;
	image->symbols.count = whole.symbols.count;
	image->symbols.capacity = whole.symbols.capacity;
}
