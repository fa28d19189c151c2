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

#endif
