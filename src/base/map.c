/*
 * A table of slots with linear probing. The hash mixes all bits of the key: keys here are often
 * addresses or counters, whose low bits alone would collide.
 */
#include "base/map.h"

#include <stdlib.h>

#include "base/alloc.h"

uint64_t sn_hash_u64(uint64_t key)
{
	key ^= key >> 30;
	key *= 0xbf58476d1ce4e5b9u;
	key ^= key >> 27;
	key *= 0x94d049bb133111ebu;
	return key ^ key >> 31;
}

uint64_t sn_hash_pair(uint64_t a, uint64_t b)
{
	return sn_hash_u64(sn_hash_u64(a) + b);
}

uint64_t sn_hash_bytes(const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return sn_hash_u64(hash);
}

static struct sn_map_slot *map_slot(const struct sn_map *map, uint64_t key)
{
	size_t at = (size_t)sn_hash_u64(key) & (map->capacity - 1);

	while (map->slots[at].used && map->slots[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->slots[at];
}

static void map_grow(struct sn_map *map)
{
	struct sn_map old = *map;

	map->capacity = old.capacity ? old.capacity * 2 : 64;
	map->slots = sn_alloc_zeroed(map->capacity, sizeof(*map->slots));
	for (size_t i = 0; i < old.capacity; i++)
		if (old.slots[i].used)
			*map_slot(map, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

uint64_t *sn_map_put(struct sn_map *map, uint64_t key, bool *is_new)
{
	struct sn_map_slot *slot;

	if (map->count >= map->capacity / 4 * 3)
		map_grow(map);
	slot = map_slot(map, key);
	if (is_new)
		*is_new = !slot->used;
	if (!slot->used) {
		slot->used = true;
		slot->key = key;
		map->count++;
	}
	return &slot->value;
}

uint64_t *sn_map_get(const struct sn_map *map, uint64_t key)
{
	struct sn_map_slot *slot;

	if (!map->count)
		return NULL;
	slot = map_slot(map, key);
	return slot->used ? &slot->value : NULL;
}

uint64_t sn_map_sum(const struct sn_map *map)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			sum += map->slots[i].value;
	return sum;
}

void sn_map_free(struct sn_map *map)
{
	free(map->slots);
	*map = (struct sn_map){ 0 };
}
