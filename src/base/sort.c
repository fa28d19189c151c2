/* Sorting by a number: byte by byte from the lowest (LSD radix), bytes that are equal left out. */
#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct sort_key {
	uint64_t key;
	size_t index; /* of what is sorted */
};

/* One pass by a byte; false, with nothing moved, if all have the same. */
static bool pass(const struct sort_key *from, struct sort_key *to, size_t count, unsigned shift)
{
	size_t starts[256] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		starts[from[i].key >> shift & 0xff]++;
	if (starts[from[0].key >> shift & 0xff] == count)
		return false;
	for (size_t b = 0; b < 256; b++) {
		size_t of_byte = starts[b];

		starts[b] = sum;
		sum += of_byte;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[from[i].key >> shift & 0xff]++] = from[i];
	return true;
}

/* Sorts by `key`; equal ones keep their order. Linear time for arrays of some length. */
static void sort_keys(struct sort_key *keys, size_t count)
{
	struct sort_key *spare, *from = keys, *to;

	if (count < 2)
		return;
	spare = to = sn_alloc(count * sizeof(*spare));
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct sort_key *were = from;

		if (!pass(from, to, count, shift))
			continue;
		from = to;
		to = were;
	}
	if (from != keys)
		memcpy(keys, from, count * sizeof(*keys));
	free(spare);
}

static uint64_t key_at(const void *items, size_t index, size_t item_bytes, size_t key_offset)
{
	uint64_t key;

	memcpy(&key, (const char *)items + index * item_bytes + key_offset, sizeof(key));
	return key;
}

static bool is_sorted(const void *items, size_t count, size_t item_bytes, size_t key_offset)
{
	for (size_t i = 1; i < count; i++)
		if (key_at(items, i - 1, item_bytes, key_offset) >
		    key_at(items, i, item_bytes, key_offset))
			return false;
	return true;
}

static void items_move(void *items, size_t count, size_t item_bytes, size_t key_offset)
{
	struct sort_key *keys = sn_alloc(count * sizeof(*keys));
	char *copy = sn_alloc(count * item_bytes);

	for (size_t i = 0; i < count; i++)
		keys[i] = (struct sort_key){ key_at(items, i, item_bytes, key_offset), i };
	sort_keys(keys, count);
	memcpy(copy, items, count * item_bytes);
	for (size_t i = 0; i < count; i++)
		memcpy((char *)items + i * item_bytes, copy + keys[i].index * item_bytes,
		       item_bytes);
	free(copy);
	free(keys);
}

void sn_sort_items(void *items, size_t count, size_t item_bytes, size_t key_offset,
		   int (*compare)(const void *, const void *))
{
	if (count < 2)
		return;
	if (!is_sorted(items, count, item_bytes, key_offset))
		items_move(items, count, item_bytes, key_offset);
	for (size_t i = 0, end; compare && i < count; i = end) {
		uint64_t key = key_at(items, i, item_bytes, key_offset);

		for (end = i + 1; end < count; end++)
			if (key_at(items, end, item_bytes, key_offset) != key)
				break;
		if (end - i > 1)
			qsort((char *)items + i * item_bytes, end - i, item_bytes, compare);
	}
}
