/**
 * What the Pandore compiler has to say about a source: every finding of a file in one go.
 *
 * P01..P16 are the diagnostics of docs/manual/pandore.md; P00 is a plain syntax error. P11, P14 and
 * P15 are warnings. A finding is printed as "file:line:col: error: Pnn: text", followed by the
 * source line and a caret.
 */
#ifndef SN_PANDORE_COMPILER_DIAG_H
#define SN_PANDORE_COMPILER_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/vec.h"

/** A place in a source: index into the diagnostics' list of files, line and column from 1. */
struct sn_pnd_pos {
	int file, line, column;
};

struct sn_pnd_file {
	const char *name; /* as the user wrote it */
	const char *chars;
	size_t length;
};

enum sn_pnd_severity { SN_PND_ERROR, SN_PND_WARNING, SN_PND_REMARK };

struct sn_pnd_diag {
	struct sn_pnd_pos pos;
	enum sn_pnd_severity severity;
	int code; /* the nn of Pnn; of a remark the n of Rn */
	const char *text;
	size_t order; /* of arrival */
};

struct sn_pnd_diags {
	struct sn_arena *arena;
	SN_VEC(struct sn_pnd_file) files;
	SN_VEC(struct sn_pnd_diag) items;
	size_t errors;
	bool is_cut; /* a comment swallows the rest of a file: what is missing then is no finding */
};

/** Adds a finding. Codes 11, 14 and 15 are warnings. A finding that repeats another one of its line
 * is left out. That is the same text, a second finding of one code at one place, or syntax (P00) in
 * a statement whose syntax was found wrong before. */
__attribute__((format(printf, 4, 5))) void
sn_pnd_report(struct sn_pnd_diags *diags, struct sn_pnd_pos pos, int code, const char *format, ...);
/** A remark ("R1: ..."): why the optimised scheme did not apply. */
__attribute__((format(printf, 4, 5))) void
sn_pnd_remark(struct sn_pnd_diags *diags, struct sn_pnd_pos pos, int code, const char *format, ...);

/** Prints errors and warnings (and remarks, if asked for) in the order of the source. */
void sn_pnd_diags_print(struct sn_pnd_diags *diags, FILE *out, bool with_remarks);
/** Forgets the findings, not the files. */
void sn_pnd_diags_clear(struct sn_pnd_diags *diags);
void sn_pnd_diags_free(struct sn_pnd_diags *diags);

#endif
