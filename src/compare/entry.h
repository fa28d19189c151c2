/**
 * What a function or loop is called in comparisons, so that it is found again in another run, of another
 * build: clones are their function, loops go by their source lines.
 */
#ifndef SN_COMPARE_ENTRY_H
#define SN_COMPARE_ENTRY_H

#include "base/text.h"
#include "compare/compare.h"

/** The names of a function of the program, in the arena; times are 0. */
struct sn_compare_entry sn_compare_function(const struct sn_program *program, uint32_t function,
					    struct sn_arena *arena);
/** The same of the source loop that a loop belongs to. */
struct sn_compare_entry sn_compare_loop(const struct sn_program *program, uint32_t loop,
					struct sn_arena *arena);
/** Adds the text that is equal for what is the same in two runs. Files are no part of it: a renamed
 * source is still the same function. */
void sn_compare_key_add(const struct sn_compare_entry *entry, struct sn_text *key);

#endif
