/**
 * Memory of the tools (never of the runtime): allocation that cannot return a failure.
 *
 * A tool that is out of memory prints one line and exits with 70. Nothing half-written is left, as
 * every file of ours is written under a temporary name. See docs/decisions/0002-out-of-memory.md.
 */
#ifndef SN_BASE_ALLOC_H
#define SN_BASE_ALLOC_H

#include <stddef.h>

/** Prints one line and exits with SN_EXIT_NOMEM. */
__attribute__((noreturn)) void sn_out_of_memory(size_t bytes);

/** Like malloc, calloc, reallocarray and strndup. A product that overflows counts as no memory. */
__attribute__((malloc, returns_nonnull)) void *sn_alloc(size_t bytes);
__attribute__((malloc, returns_nonnull)) void *sn_alloc_zeroed(size_t count, size_t bytes);
__attribute__((returns_nonnull)) void *sn_realloc_array(void *old, size_t count, size_t bytes);
__attribute__((malloc, returns_nonnull)) char *sn_strndup(const char *chars, size_t length);
__attribute__((malloc, returns_nonnull)) char *sn_strdup(const char *chars);

#endif
