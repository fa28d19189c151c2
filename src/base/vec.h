/**
 * A growing array of any type, by macros over one out-of-line growth function.
 *
 *	SN_VEC(uint64_t) addrs = { 0 };
 *	sn_vec_push(&addrs, 42);
 *	for (size_t i = 0; i < addrs.count; i++) use(addrs.items[i]);
 *	sn_vec_free(&addrs);
 */
#ifndef SN_BASE_VEC_H
#define SN_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define SN_VEC(type)                                                                               \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count, capacity;                                                            \
	}

/** `items` with room for `needed` (grown by half, at least to 16); sets *capacity. Never fails. */
__attribute__((returns_nonnull)) void *sn_vec_grow(void *items, size_t *capacity, size_t needed,
						   size_t item_bytes);

/* The analyzer does not know that room means memory. */
#ifdef __clang_analyzer__
#define sn_vec_has_memory(vec) ((vec)->items ? (void)0 : __builtin_unreachable())
#else
#define sn_vec_has_memory(vec) ((void)0)
#endif

#define sn_vec_reserve(vec, needed)                                                                \
	do {                                                                                       \
		if ((vec)->capacity < (size_t)(needed))                                            \
			(vec)->items = sn_vec_grow((vec)->items, &(vec)->capacity,                 \
						   (size_t)(needed), sizeof(*(vec)->items));       \
		sn_vec_has_memory(vec);                                                            \
	} while (0)

/* The value is made first: it may look at the vector. */
#define sn_vec_push(vec, ...)                                                                      \
	do {                                                                                       \
		__typeof__((vec)->items[0]) sn_pushed = (__VA_ARGS__);                             \
		sn_vec_reserve(vec, (vec)->count + 1);                                             \
		(vec)->items[(vec)->count++] = sn_pushed;                                          \
	} while (0)

#define sn_vec_last(vec) ((vec)->items[(vec)->count - 1])

#define sn_vec_free(vec)                                                                           \
	do {                                                                                       \
		sn_vec_release((vec)->items);                                                      \
		(vec)->items = NULL;                                                               \
		(vec)->count = (vec)->capacity = 0;                                                \
	} while (0)

void sn_vec_release(void *items);

/* Of pointers to memory of malloc, which the vector owns. */
#define sn_vec_free_owned(vec)                                                                     \
	do {                                                                                       \
		for (size_t sn_owned = 0; sn_owned < (vec)->count; sn_owned++)                     \
			free((vec)->items[sn_owned]);                                              \
		sn_vec_free(vec);                                                                  \
	} while (0)

typedef SN_VEC(char *) sn_strings;

/** Whether an item of a vector of structs has this `name` (a member, char *). The last is looked at
 * first. */
#define sn_vec_has_name(vec, wanted)                                                               \
	((vec)->count &&                                                                           \
	 sn_vec_name_is_there(&(vec)->items->name, (vec)->count, sizeof(*(vec)->items), wanted))
/** The same by the first item's name, and the bytes from one name to the next. */
bool sn_vec_name_is_there(char *const *first, size_t count, size_t item_bytes, const char *wanted);

#endif
