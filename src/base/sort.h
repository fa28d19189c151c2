/**
 * Sorting by a number, for arrays that are too long for a comparison function.
 */
#ifndef SN_BASE_SORT_H
#define SN_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/**
 * Sorts `items` by the unsigned 64-bit number at `key_offset` in each. Items with equal numbers are
 * sorted by `compare` (NULL: they keep their order). An array that is sorted already costs one pass
 * over it.
 */
void sn_sort_items(void *items, size_t count, size_t item_bytes, size_t key_offset,
		   int (*compare)(const void *, const void *));

#endif
