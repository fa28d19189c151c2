/**
 * Names that are nearly alike, for "did you mean".
 */
#ifndef SN_BASE_SPELLING_H
#define SN_BASE_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

/**
 * The number of letters to insert, take away, replace or exchange with their neighbour until both
 * names are the same: optimal string alignment (Damerau, Communications of the ACM 7(3), 1964).
 * Names longer than 63 bytes are as far apart as the longer one is long, unless they are equal.
 */
size_t sn_spelling_distance(const char *a, const char *b);

/** Whether `written` is probably a misspelling of `name`. A name of up to five letters may have one
 * fault, a longer one two. The case of letters does not count. A single letter is no misspelling of
 * anything. False if they are equal. */
bool sn_spelling_is_near(const char *written, const char *name);

/** Whether `name` is one that `written` is probably a misspelling of, and nearer than `best` (NULL: than
 *  none). For who looks for the nearest of many. */
bool sn_spelling_is_nearer(const char *written, const char *name, const char *best);

#endif
