/**
 * Raw tokens of one file, before macros: what lex.c builds on.
 */
#ifndef SN_PANDORE_COMPILER_SCAN_H
#define SN_PANDORE_COMPILER_SCAN_H

#include "pandore/compiler/lex.h"

struct sn_pnd_scanner {
	struct sn_pnd_diags *diags;
	const char *chars;
	size_t length, at;
	struct sn_pnd_pos pos; /* of chars[at] */
};

struct sn_pnd_scanner sn_pnd_scanner_over(struct sn_pnd_diags *diags, int file);
/** The next token; SN_TOK_END at the end. With `in_directive` a line's end is SN_TOK_END, too. */
struct sn_pnd_token sn_pnd_scan(struct sn_pnd_scanner *scanner, bool in_directive);
/** The rest of a directive's line as text, comments left out; the scanner stands on its end. */
const char *sn_pnd_scan_rest(struct sn_pnd_scanner *scanner);

/** The value of a condition after macros and "defined" were replaced; names are 0 (C11 6.10.1).
 *  False if it is no integer constant expression. */
bool sn_pnd_condition_value(const struct sn_pnd_token *tokens, size_t count, int64_t *out);

#endif
