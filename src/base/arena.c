/*
 * Blocks of 64 kB in a list, filled from front to back. A piece that does not fit into the newest
 * block begins a new one; the rest of the old block is given up.
 */
#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

struct sn_arena_block {
	struct sn_arena_block *older;
	size_t used, capacity;
	_Alignas(16) uint8_t bytes[];
};

enum { ARENA_BLOCK_BYTES = 64 * 1024 };

void *sn_arena_alloc(struct sn_arena *arena, size_t count, size_t bytes)
{
	struct sn_arena_block *block = arena->newest;
	size_t wanted;
	void *piece;

	if (__builtin_mul_overflow(count, bytes, &wanted) ||
	    __builtin_add_overflow(wanted, 15, &wanted))
		sn_out_of_memory(SIZE_MAX);
	wanted &= ~(size_t)15;
	if (!block || block->capacity - block->used < wanted) {
		size_t capacity = wanted > ARENA_BLOCK_BYTES ? wanted : ARENA_BLOCK_BYTES;

		if (block && capacity < block->capacity && block->capacity < (64u << 20))
			capacity = block->capacity;
		block = sn_alloc_zeroed(1, sizeof(*block) + capacity);
		block->capacity = capacity;
		block->older = arena->newest;
		arena->newest = block;
	}
	piece = block->bytes + block->used;
	block->used += wanted;
	arena->total_bytes += wanted;
	return piece;
}

char *sn_arena_strndup(struct sn_arena *arena, const char *chars, size_t length)
{
	char *copy = sn_arena_alloc(arena, length + 1, 1);

	memcpy(copy, chars, length);
	return copy;
}

char *sn_arena_strdup(struct sn_arena *arena, const char *chars)
{
	return sn_arena_strndup(arena, chars, strlen(chars));
}

char *sn_arena_printf(struct sn_arena *arena, const char *format, ...)
{
	struct sn_text text = { 0 };
	va_list args;
	char *chars;

	assert(format);
	va_start(args, format);
	sn_text_addv(&text, format, args);
	va_end(args);
	chars = sn_arena_strndup(arena, text.chars, text.length);
	sn_text_free(&text);
	return chars;
}

void sn_arena_free(struct sn_arena *arena)
{
	while (arena->newest) {
		struct sn_arena_block *block = arena->newest;

		arena->newest = block->older;
		free(block);
	}
	arena->total_bytes = 0;
}
