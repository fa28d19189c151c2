/**
 * What is wrong in a file of properties: every finding of the file, printed in its order.
 */
#ifndef SN_SEARCH_PROPERTIES_DIAG_H
#define SN_SEARCH_PROPERTIES_DIAG_H

#include <stdio.h>

#include "base/arena.h"
#include "base/vec.h"

/** A place in a file: line and column in bytes, from 1. */
struct sn_prop_pos {
	int line, column;
};

struct sn_prop_diag {
	struct sn_prop_pos pos;
	const char *text;
	size_t order;
	bool is_warning; /* the file is in force all the same */
};

struct sn_prop_diags {
	struct sn_arena *arena; /* borrowed: holds the texts */
	SN_VEC(struct sn_prop_diag) items;
	size_t errors, warnings; /* items, and those beyond the most that are kept */
};

/** Adds an error. One place has one error: what follows from it is not repeated. */
__attribute__((format(printf, 3, 4))) void
sn_prop_report(struct sn_prop_diags *diags, struct sn_prop_pos pos, const char *format, ...);

/** Adds a warning: what is legal, and hardly meant. */
__attribute__((format(printf, 3, 4))) void
sn_prop_warn(struct sn_prop_diags *diags, struct sn_prop_pos pos, const char *format, ...);

/** Prints "name:line:column: error: sentence", the line and a caret, in the order of the file;
 *  with_warnings: those, too. */
void sn_prop_diags_print(struct sn_prop_diags *diags, const char *name, const char *chars,
			 size_t length, bool with_warnings, FILE *out);

#endif
