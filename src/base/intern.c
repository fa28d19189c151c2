/*
 * Strings live in an arena; a table of slots holds their numbers plus one, found by hash with
 * linear probing.
 */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

static size_t slot_find(const struct sn_interner *in, const char *chars, size_t length,
			uint64_t hash)
{
	size_t at = (size_t)hash & (in->slot_count - 1);

	while (in->slots[at]) {
		const struct sn_interned *known = &in->strings.items[in->slots[at] - 1];

		if (known->hash == hash && known->length == length &&
		    !memcmp(known->chars, chars, length))
			break;
		at = (at + 1) & (in->slot_count - 1);
	}
	return at;
}

static void slots_grow(struct sn_interner *in)
{
	free(in->slots);
	in->slot_count = in->slot_count ? in->slot_count * 2 : 64;
	in->slots = sn_alloc_zeroed(in->slot_count, sizeof(*in->slots));
	for (size_t i = 0; i < in->strings.count; i++) {
		const struct sn_interned *known = &in->strings.items[i];

		in->slots[slot_find(in, known->chars, known->length, known->hash)] =
			(uint32_t)i + 1;
	}
}

uint32_t sn_intern(struct sn_interner *in, const char *chars, size_t length)
{
	uint64_t hash = sn_hash_bytes(chars, length);
	size_t at;

	if (in->strings.count >= in->slot_count / 2)
		slots_grow(in);
	at = slot_find(in, chars, length, hash);
	if (!in->slots[at]) {
		struct sn_interned fresh = { sn_arena_strndup(&in->arena, chars, length), length,
					     hash };

		sn_vec_push(&in->strings, fresh);
		in->slots[at] = (uint32_t)in->strings.count;
	}
	return in->slots[at] - 1;
}

uint32_t sn_intern_string(struct sn_interner *in, const char *chars)
{
	return sn_intern(in, chars, strlen(chars));
}

uint32_t sn_intern_find(const struct sn_interner *in, const char *chars, size_t length)
{
	if (!in->slot_count)
		return UINT32_MAX;
	return in->slots[slot_find(in, chars, length, sn_hash_bytes(chars, length))] - 1;
}

const char *sn_interned_chars(const struct sn_interner *in, uint32_t number)
{
	return in->strings.items[number].chars;
}

void sn_interner_free(struct sn_interner *in)
{
	sn_arena_free(&in->arena);
	sn_vec_free(&in->strings);
	free(in->slots);
	*in = (struct sn_interner){ 0 };
}
