/**
 * A line of words as a POSIX shell would split it, without a shell: blanks separate, quotes and
 * backslashes keep together, nothing is expanded.
 */
#ifndef SN_BASE_WORDS_H
#define SN_BASE_WORDS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

struct sn_words {
	SN_VEC(const char *) items; /* in the arena they were split into */
};

/** Splits `text` at blanks, and at the characters of `separators` that stand outside quotes ("": none).
 * SN_ERR_USAGE for a quote that does not end, with a sentence that begins in lower case and names no
 * file. Words are added to `out`. The caller frees its vector. */
sn_status sn_words_split(const char *text, const char *separators, struct sn_arena *arena,
			 struct sn_words *out, struct sn_error *err);

#endif
