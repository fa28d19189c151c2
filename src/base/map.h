/**
 * A hash map from a 64-bit key to a 64-bit value. A zero-initialised map is empty and ready.
 *
 * Open addressing with linear probing over a power-of-two table, at most 3/4 full. Iterating visits
 * slots in an order that depends on the history of insertions only, so output stays deterministic.
 */
#ifndef SN_BASE_MAP_H
#define SN_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_map_slot {
	uint64_t key, value;
	bool used;
};

struct sn_map {
	struct sn_map_slot *slots;
	size_t count, capacity;
};

/** A well-mixed 64-bit hash of a 64-bit key (the finaliser of splitmix64; Steele et al. 2014). */
uint64_t sn_hash_u64(uint64_t key);
/** The same of two. The exclusive or of two hashes is 0 for all pairs of equals: no key. */
uint64_t sn_hash_pair(uint64_t a, uint64_t b);
/** A 64-bit hash of bytes (FNV-1a, mixed once more at the end). */
uint64_t sn_hash_bytes(const void *bytes, size_t length);

/** The value's place for `key`, made with 0 if new; `*is_new` (may be NULL) says which.
 *  The pointer is valid until the next insertion. */
uint64_t *sn_map_put(struct sn_map *map, uint64_t key, bool *is_new);
/** The value's place, or NULL. */
uint64_t *sn_map_get(const struct sn_map *map, uint64_t key);
/** All values together. */
uint64_t sn_map_sum(const struct sn_map *map);
void sn_map_free(struct sn_map *map);

#endif
