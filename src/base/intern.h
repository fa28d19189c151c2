/**
 * Byte strings made unique: equal strings have one number, numbers count from 0 in order of
 * arrival. A zero-initialised interner is empty and ready.
 */
#ifndef SN_BASE_INTERN_H
#define SN_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

struct sn_interned {
	const char *chars; /* zero-terminated; lives as long as the interner */
	size_t length;
	uint64_t hash;
};

struct sn_interner {
	struct sn_arena arena;
	SN_VEC(struct sn_interned) strings;
	uint32_t *slots; /* string number + 1, 0 = free */
	size_t slot_count;
};

uint32_t sn_intern(struct sn_interner *interner, const char *chars, size_t length);
uint32_t sn_intern_string(struct sn_interner *interner, const char *chars);
/** The string's number if it is known, else UINT32_MAX. */
uint32_t sn_intern_find(const struct sn_interner *interner, const char *chars, size_t length);
const char *sn_interned_chars(const struct sn_interner *interner, uint32_t number);
void sn_interner_free(struct sn_interner *interner);

#endif
