/* The cache of extracts. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "code/extract.h"
#include "code/extract_format.h"
#include "code/image.h"

/* False if there is no place for a cache. */
static bool cache_folder(struct sn_text *folder)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (base && *base == '/')
		sn_text_addf(folder, "%s/sonde/extracts", base);
	else if (home && *home == '/')
		sn_text_addf(folder, "%s/.cache/sonde/extracts", home);
	return folder->length > 0;
}

static bool is_miss(const struct sn_structure *structure, uint64_t link_addr)
{
	size_t low = 0, high = structure->misses.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (structure->misses.items[middle] < link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < structure->misses.count && structure->misses.items[low] == link_addr;
}

static bool covers(const struct sn_structure *structure, const char *debug_state,
		   const uint64_t *link_addrs, size_t count)
{
	if (!structure->debug_state || strcmp(structure->debug_state, debug_state) != 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (sn_structure_find(structure, link_addrs[i]) < 0 &&
		    !is_miss(structure, link_addrs[i]))
			return false;
	return true;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct wanted {
	uint64_t *items;
	size_t count, capacity;
};

/* What was asked for, now and before: sorted, each once. */
static struct wanted wanted_addresses(const struct sn_structure *cached, const uint64_t *link_addrs,
				      size_t count)
{
	struct wanted all = { 0 };
	size_t kept = 0;

	sn_vec_reserve(&all, count);
	for (size_t i = 0; i < count; i++)
		sn_vec_push(&all, link_addrs[i]);
	for (size_t i = 0; cached && i < cached->function_count; i++)
		sn_vec_push(&all, cached->functions[i].link_addr);
	for (size_t i = 0; cached && i < cached->misses.count; i++)
		sn_vec_push(&all, cached->misses.items[i]);
	if (all.count)
		qsort(all.items, all.count, sizeof(*all.items), by_value);
	for (size_t i = 0; i < all.count; i++)
		if (!kept || all.items[kept - 1] != all.items[i])
			all.items[kept++] = all.items[i];
	all.count = kept;
	return all;
}

static void pack_wanted(struct sn_structure *live, const struct wanted *wanted,
			const char *debug_state, struct sn_text *bytes)
{
	SN_VEC(uint32_t) functions = { 0 };
	SN_VEC(uint64_t) misses = { 0 };
	uint8_t *is_wanted = sn_alloc_zeroed(live->function_count + 1, 1);

	sn_structure_prepare(live, wanted->items, wanted->count, SN_PREPARE_ALL);
	for (size_t i = 0; i < wanted->count; i++) {
		int64_t index = sn_structure_find(live, wanted->items[i]);

		if (index < 0)
			sn_vec_push(&misses, wanted->items[i]);
		else
			is_wanted[index] = 1;
	}
	sn_extract_want_stubs(live, is_wanted);
	for (uint32_t i = 0; i < live->function_count; i++)
		if (is_wanted[i])
			sn_vec_push(&functions, i);
	sn_extract_pack(live, functions.items, functions.count, NULL, debug_state, misses.items,
			misses.count, bytes);
	sn_vec_free(&functions);
	sn_vec_free(&misses);
	free(is_wanted);
}

/* Failing to write is no failure. */
static void cache_write(const char *folder, const char *path, const struct sn_text *bytes)
{
	struct sn_file_writer writer;

	if (sn_make_folders(folder, NULL) != SN_OK ||
	    sn_file_writer_open(&writer, path, NULL) != SN_OK)
		return;
	fwrite(bytes->chars, 1, bytes->length, writer.out);
	sn_file_writer_commit(&writer, NULL);
}

static sn_status read_live(const char *path, const struct sn_image_options *options,
			   const struct wanted *wanted, const char *debug_state,
			   struct sn_text *bytes, struct sn_error *err)
{
	struct sn_structure *live = NULL;
	struct sn_image *image = NULL;
	sn_status status = sn_image_open(path, options, &image, err);

	if (status == SN_OK)
		status = sn_structure_open(image, &live, err);
	if (status == SN_OK)
		pack_wanted(live, wanted, debug_state, bytes);
	sn_structure_free(live);
	sn_image_free(image);
	return status;
}

sn_status sn_structure_open_cached(const char *path, const struct sn_image_options *options,
				   const uint64_t *link_addrs, size_t count,
				   struct sn_structure **out, struct sn_error *err)
{
	struct sn_text id = { 0 }, debug_state = { 0 }, folder = { 0 }, file = { 0 }, bytes = { 0 };
	struct sn_structure *cached = NULL;
	struct wanted wanted;
	sn_status status = sn_image_identify(path, options, &id, &debug_state, err);

	if (status == SN_OK && cache_folder(&folder)) {
		sn_text_addf(&file, "%s/%s.extract", folder.chars, id.chars);
		if (sn_extract_read(file.chars, &cached, NULL) != SN_OK ||
		    strcmp(cached->id, id.chars) != 0) {
			sn_structure_free(cached);
			cached = NULL;
		}
	}
	if (status == SN_OK && cached && covers(cached, debug_state.chars, link_addrs, count)) {
		cached->path = sn_structure_string(cached, path);
		*out = cached;
		cached = NULL;
	} else if (status == SN_OK) {
		wanted = wanted_addresses(cached, link_addrs, count);
		status = read_live(path, options, &wanted, debug_state.chars, &bytes, err);
		if (status == SN_OK && file.length)
			cache_write(folder.chars, file.chars, &bytes);
		if (status == SN_OK)
			status = sn_extract_read_memory(bytes.chars, bytes.length, path, out, err);
		sn_vec_free(&wanted);
	}
	sn_structure_free(cached);
	sn_text_free(&id);
	sn_text_free(&debug_state);
	sn_text_free(&folder);
	sn_text_free(&file);
	sn_text_free(&bytes);
	return status;
}
