/**
 * Memory with one lifetime: allocate piece by piece, free whole.
 *
 * A zero-initialised arena is empty and ready. Pieces are aligned to 16 bytes and not moved.
 */
#ifndef SN_BASE_ARENA_H
#define SN_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct sn_arena_block;

struct sn_arena {
	struct sn_arena_block *newest;
	size_t total_bytes; /* handed out so far */
};

/** Zeroed memory that lives as long as the arena. Never fails (see alloc.h). */
void *sn_arena_alloc(struct sn_arena *arena, size_t count, size_t bytes);
#define sn_arena_new(arena, type)	   ((type *)sn_arena_alloc((arena), 1, sizeof(type)))
#define sn_arena_array(arena, type, count) ((type *)sn_arena_alloc((arena), (count), sizeof(type)))

/** A copy of `length` chars with a terminating zero. */
char *sn_arena_strndup(struct sn_arena *arena, const char *chars, size_t length);
char *sn_arena_strdup(struct sn_arena *arena, const char *chars);
__attribute__((format(printf, 2, 3))) char *sn_arena_printf(struct sn_arena *arena,
							    const char *format, ...);

/** Frees all pieces; the arena is empty and ready again. */
void sn_arena_free(struct sn_arena *arena);

#endif
