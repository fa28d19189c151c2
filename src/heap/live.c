/* Blocks by address: open addressing with linear probing; what is taken out leaves no mark. */
#include <stdlib.h>

#include "base/alloc.h"
#include "heap/parts.h"

static size_t place_of(const struct sn_heap_live *live, uint64_t address)
{
	uint64_t hash = (address >> 3) * 0x9e3779b97f4a7c15ULL;

	return (size_t)(hash >> 20) & (live->capacity - 1);
}

static size_t search(const struct sn_heap_live *live, uint64_t address)
{
	size_t at = place_of(live, address);

	while (live->blocks[at].address && live->blocks[at].address != address)
		at = (at + 1) & (live->capacity - 1);
	return at;
}

struct sn_heap_block *sn_heap_live_find(const struct sn_heap_live *live, uint64_t address)
{
	struct sn_heap_block *block;

	if (!live->count || !address)
		return NULL;
	block = &live->blocks[search(live, address)];
	return block->address ? block : NULL;
}

static void grow(struct sn_heap_live *live)
{
	struct sn_heap_live old = *live;

	live->capacity = old.capacity ? old.capacity * 2 : 1024;
	live->blocks = sn_alloc_zeroed(live->capacity, sizeof(*live->blocks));
	for (size_t i = 0; i < old.capacity; i++)
		if (old.blocks[i].address)
			live->blocks[search(live, old.blocks[i].address)] = old.blocks[i];
	free(old.blocks);
}

struct sn_heap_block *sn_heap_live_add(struct sn_heap_live *live, uint64_t address)
{
	struct sn_heap_block *block;

	if (live->count >= live->capacity / 2)
		grow(live);
	block = &live->blocks[search(live, address)];
	live->count += !block->address;
	*block = (struct sn_heap_block){ .address = address };
	return block;
}

void sn_heap_live_remove(struct sn_heap_live *live, struct sn_heap_block *block)
{
	size_t mask = live->capacity - 1, hole = (size_t)(block - live->blocks), at = hole;

	live->count--;
	for (;;) {
		at = (at + 1) & mask;
		if (!live->blocks[at].address)
			break;
		/* it may move back if its own place is not between the hole and here */
		size_t home = place_of(live, live->blocks[at].address);
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			live->blocks[hole] = live->blocks[at];
			hole = at;
		}
	}
	live->blocks[hole] = (struct sn_heap_block){ 0 };
}

void sn_heap_live_free(struct sn_heap_live *live)
{
	free(live->blocks);
	*live = (struct sn_heap_live){ 0 };
}
