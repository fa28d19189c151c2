/*
 * The one growth function behind all vectors: capacity grows by half, so pushing costs constant
 * time on average.
 */
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

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

bool sn_vec_name_is_there(char *const *first, size_t count, size_t item_bytes, const char *wanted)
{
	for (size_t i = count; i-- > 0;) {
		char *const *name = (const void *)((const char *)first + i * item_bytes);

		if (!strcmp(*name, wanted))
			return true;
	}
	return false;
}
