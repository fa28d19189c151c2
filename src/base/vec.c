/*
 * The one growth function behind all vectors: capacity grows by half, so pushing costs constant
 * time on average.
 */
#include "base/vec.h"

#include <stdlib.h>

#include "base/alloc.h"

void *sn_vec_grow(void *items, size_t *capacity, size_t needed, size_t item_bytes)
{
	size_t grown = *capacity + *capacity / 2;

	if (grown < 16)
		grown = 16;
	if (grown < needed)
		grown = needed;
	*capacity = grown;
	return sn_realloc_array(items, grown, item_bytes);
}

void sn_vec_release(void *items)
{
	free(items);
}
