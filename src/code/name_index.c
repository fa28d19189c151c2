/*
 * The names of an image that is read on demand, as places in its tables by address. Their characters
 * are looked at when somebody asks what stands around an address. Of a large library the entries are
 * kept in the cache: to read a hundred thousand records and to sort them takes longer than all that
 * follows.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/sort.h"
#include "code/image_parts.h"
#include "code/kept_file.h"

/* With fewer, reading the tables takes less than a file does. */
enum { ENTRIES_KEPT_LEAST = 4096 };

static const struct sn_kept_kind kind = { "names", "snnames1" };

struct header {
	uint64_t code_count, data_count;
	uint64_t has_cold_names;
};

/* Of a table of strings, without a look at each of them: few names have a dot. */
static bool has_cold(const uint8_t *strings, size_t length)
{
	const uint8_t *end = strings + length, *at = strings;

	while (at && (at = memchr(at, '.', (size_t)(end - at))) && end - at > 5)
		if (!memcmp(at++, ".cold", 5))
			return true;
	return false;
}

/* As sn_symbol_class, without a look at a name that is sure to be one: names of a large library are in a thousand
 * pages. A table may be damaged so that such a name is empty; who reads the entry leaves it out. */
static enum symbol_class class_of(const struct sn_image *image, const struct symbol_table *table,
				  const Elf64_Sym *symbol)
{
	const char *name = "?";

	if (ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE || !symbol->st_name ||
	    symbol->st_name >= table->strings_length)
		name = sn_elf_string(table->strings, table->strings_length, symbol->st_name);
	return sn_symbol_class(image, symbol, name);
}

struct building {
	struct sn_image *image;
	SN_VEC(struct name_entry) code;
	SN_VEC(struct name_entry) data;
};

static void add_table(struct building *b, uint32_t number)
{
	const struct symbol_table *table = &b->image->tables.items[number];
	struct name_entry entry = { .table = number };
	uint32_t file = 0;

	for (size_t i = 0; i < table->count; i++) {
		Elf64_Sym symbol;
		enum symbol_class class;
		uint64_t size;

		memcpy(&symbol, table->bytes + i * sizeof(symbol), sizeof(symbol));
		size = symbol.st_size;
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FILE) {
			file = *sn_symbol_table_get(table, i, &symbol) ? (uint32_t)i : 0;
			continue;
		}
		class = class_of(b->image, table, &symbol);
		if (size > UINT64_MAX - symbol.st_value || !size)
			size = 1;
		entry.link_addr = symbol.st_value;
		entry.reach = symbol.st_value + size;
		entry.number = (uint32_t)i;
		entry.file_number = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ? file : 0;
		if (class == SYMBOL_CODE)
			sn_vec_push(&b->code, entry);
		else if (class == SYMBOL_DATA)
			sn_vec_push(&b->data, entry);
	}
}

static void sort(struct name_entry *entries, size_t count)
{
	uint64_t reach = 0;

	sn_sort_items(entries, count, sizeof(*entries), offsetof(struct name_entry, link_addr),
		      NULL);
	for (size_t i = 0; i < count; i++) {
		reach = entries[i].reach > reach ? entries[i].reach : reach;
		entries[i].reach = reach;
	}
}

static size_t record_count(const struct sn_image *image)
{
	size_t count = 0;

	for (size_t i = 0; i < image->tables.count; i++)
		count += image->tables.items[i].count;
	return count;
}

/* Header and entries in one piece, as they stand in the file. */
static void build(struct sn_image *image, struct sn_file_view *out)
{
	struct building b = { .image = image };
	struct header header = { 0 };
	size_t code_bytes, data_bytes;
	uint8_t *bytes;

	sn_vec_reserve(&b.code, record_count(image));
	for (size_t i = 0; i < image->tables.count; i++) {
		const struct symbol_table *table = &image->tables.items[i];

		add_table(&b, (uint32_t)i);
		if (table->strings && !header.has_cold_names)
			header.has_cold_names = has_cold(table->strings, table->strings_length);
	}
	sort(b.code.items, b.code.count);
	sort(b.data.items, b.data.count);
	header.code_count = b.code.count;
	header.data_count = b.data.count;
	code_bytes = b.code.count * sizeof(struct name_entry);
	data_bytes = b.data.count * sizeof(struct name_entry);
	bytes = sn_alloc(sizeof(header) + code_bytes + data_bytes);
	memcpy(bytes, &header, sizeof(header));
	if (code_bytes)
		memcpy(bytes + sizeof(header), b.code.items, code_bytes);
	if (data_bytes)
		memcpy(bytes + sizeof(header) + code_bytes, b.data.items, data_bytes);
	*out = (struct sn_file_view){ .bytes = bytes,
				      .length = sizeof(header) + code_bytes + data_bytes };
	sn_vec_free(&b.code);
	sn_vec_free(&b.data);
}

/* Sets the entries to those of a view; false: it does not hold what it says. */
static bool use(struct sn_image *image, const struct sn_file_view *file, size_t length)
{
	enum { ENTRY = sizeof(struct name_entry) };
	struct header header;

	if (length < sizeof(header))
		return false;
	memcpy(&header, file->bytes, sizeof(header));
	length -= sizeof(header);
	if (header.code_count > length / ENTRY ||
	    header.data_count != length / ENTRY - header.code_count)
		return false;
	image->entries_file = *file;
	image->code_entries.items = (const void *)(file->bytes + sizeof(header));
	image->code_entries.count = header.code_count;
	image->data_entries.items = image->code_entries.items + header.code_count;
	image->data_entries.count = header.data_count;
	image->has_cold_names = header.has_cold_names;
	return true;
}

/* What the entries depend on. */
static uint64_t state_of(const struct sn_image *image)
{
	struct sn_text state = { 0 };
	uint64_t hash;

	sn_text_addf(&state, "symbols %d ", SN_SYMBOLS_VERSION);
	sn_image_add_file_state(&state, image->path);
	if (image->debug.is_open)
		sn_image_add_file_state(&state, image->debug.path);
	for (size_t i = 0; i < image->tables.count; i++)
		sn_text_addf(&state, " %zu", image->tables.items[i].count);
	hash = sn_hash_bytes(state.chars, state.length);
	sn_text_free(&state);
	return hash;
}

/* The path of a file that the cache may have for this image, in `path`; false: it is to have none. */
static bool kept_place(const struct sn_image *image, const struct sn_kept_kind *of,
		       struct sn_text *path, uint64_t *state)
{
	if (!image->unpacked_folder || record_count(image) < ENTRIES_KEPT_LEAST)
		return false;
	sn_kept_path(path, image->unpacked_folder, image->id, of);
	*state = state_of(image);
	return true;
}

bool sn_image_read_kept(const struct sn_image *image, const struct sn_kept_kind *of,
			struct sn_file_view *out)
{
	struct sn_text path = { 0 };
	uint64_t state;
	bool is_read =
		kept_place(image, of, &path, &state) && sn_kept_read(path.chars, of, state, out);

	sn_text_free(&path);
	return is_read;
}

void sn_image_keep(const struct sn_image *image, const struct sn_kept_kind *of, const void *bytes,
		   size_t length)
{
	struct sn_text path = { 0 };
	uint64_t state;

	if (!image->keeps_nothing && kept_place(image, of, &path, &state))
		sn_kept_write(image->unpacked_folder, path.chars, of, state, bytes, length);
	sn_text_free(&path);
}

bool sn_image_read_name_index(struct sn_image *image)
{
	struct sn_file_view file;

	sn_image_find_tables(image);
	if (image->tables.count >= SN_NAME_OF_PLT || record_count(image) > UINT32_MAX) {
		image->fde_table.pairs = NULL; /* so it is none that is read on demand */
		return false;
	}
	if (sn_image_read_kept(image, &kind, &file)) {
		if (use(image, &file, sn_kept_length(&file)))
			return true;
		sn_file_unmap(&file);
	}
	build(image, &file);
	use(image, &file, file.length);
	sn_image_keep(image, &kind, file.bytes, file.length);
	return true;
}

void sn_name_index_add_plt(struct sn_image *image)
{
	const struct name_entries *old = &image->code_entries;
	size_t count = old->count + image->plt.count, at = 0;
	struct name_entry *all = sn_alloc_zeroed(count + 1, sizeof(*all));

	sn_symbols_sort(image->plt.items, image->plt.count);
	for (size_t i = 0; i < image->plt.count; i++) {
		const struct sn_symbol *stub = &image->plt.items[i];

		for (; at < old->count && old->items[at].link_addr <= stub->link_addr; at++)
			all[at + i] = old->items[at];
		all[at + i] = (struct name_entry){ .link_addr = stub->link_addr,
						   .reach = stub->link_addr + stub->size_bytes,
						   .table = SN_NAME_OF_PLT,
						   .number = (uint32_t)i };
	}
	if (at < old->count)
		memcpy(all + at + image->plt.count, old->items + at,
		       (old->count - at) * sizeof(*all));
	for (size_t i = 1; i < count; i++)
		if (all[i].reach < all[i - 1].reach)
			all[i].reach = all[i - 1].reach;
	free(image->merged_entries);
	image->merged_entries = all;
	image->code_entries = (struct name_entries){ all, count };
}

size_t sn_name_entries_below(const struct name_entries *entries, uint64_t link_addr)
{
	size_t low = 0, high = entries->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entries->items[middle].link_addr < link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The symbol of an entry. False: the tables have another there, so the entry is of another file. */
static bool read_entry(struct sn_image *image, const struct name_entry *entry, bool is_data,
		       struct sn_symbol *out)
{
	const struct symbol_table *table;
	const char *name, *file = NULL;
	Elf64_Sym symbol, file_symbol;

	if (entry->table == SN_NAME_OF_PLT && entry->number < image->plt.count) {
		*out = image->plt.items[entry->number];
		return true;
	}
	if (entry->table >= image->tables.count)
		return false;
	table = &image->tables.items[entry->table];
	if (entry->number >= table->count || entry->file_number >= table->count)
		return false;
	name = sn_symbol_table_get(table, entry->number, &symbol);
	if (symbol.st_value != entry->link_addr ||
	    sn_symbol_class(image, &symbol, name) != (is_data ? SYMBOL_DATA : SYMBOL_CODE))
		return false;
	if (entry->file_number)
		file = sn_symbol_table_get(table, entry->file_number, &file_symbol);
	*out = sn_symbol_of(image, &symbol, name, file);
	return true;
}

void sn_name_entries_read(struct sn_image *image, const struct name_entries *entries, size_t first,
			  size_t end, struct sn_symbols *out)
{
	struct sn_symbol symbol;

	for (size_t i = first; i < end; i++)
		if (read_entry(image, &entries->items[i], entries == &image->data_entries, &symbol))
			sn_vec_push(out, symbol);
	sn_symbols_sort(out->items, out->count);
}
