/**
 * From the bytes of a Pandore source to preprocessed tokens.
 *
 * The preprocessor is ours: columns stay right, no process is started, and a hostile source cannot
 * name a compiler option. It knows object-like and function-like macros, #include
 * "..." (read as part of the program), #include <...> (left to the C compiler, for the host),
 * conditionals, and line markers. Tokens of the host's main() pass through as well; they only serve
 * to find its end and its calls of phases.
 */
#ifndef SN_PANDORE_COMPILER_LEX_H
#define SN_PANDORE_COMPILER_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "pandore/compiler/diag.h"

enum sn_pnd_token_kind {
	SN_TOK_END,
	SN_TOK_IDENT,
	SN_TOK_INT,
	SN_TOK_REAL,
	SN_TOK_CHAR,
	SN_TOK_STRING,
	SN_TOK_PUNCT,
	SN_TOK_ZONE,	/* #pragma pandore zone NAME: the token's text is the name */
	SN_TOK_OBSERVE, /* #pragma pandore observe ["LABEL"]: the text is the label or "" */
	SN_TOK_OTHER,	/* a byte that begins no token */
};

/** A punctuator's code: its characters, first in the lowest byte. */
#define SN_PUNCT1(a)	   ((uint32_t)(unsigned char)(a))
#define SN_PUNCT2(a, b)	   (SN_PUNCT1(a) | SN_PUNCT1(b) << 8)
#define SN_PUNCT3(a, b, c) (SN_PUNCT2(a, b) | SN_PUNCT1(c) << 16)

struct sn_pnd_token {
	enum sn_pnd_token_kind kind;
	uint32_t punct;
	const char *text; /* zero-terminated, in the arena */
	struct sn_pnd_pos pos;
	size_t offset, length; /* in the file's bytes */
	bool from_macro;
};

/** A line for the host's part of the generated program: #define, #undef or #include <...>. */
struct sn_pnd_directive {
	const char *text;
	size_t token_index; /* stands before this token */
	struct sn_pnd_pos pos;
};

struct sn_pnd_define {
	const char *name, *value; /* -D NAME=VALUE */
};

struct sn_pnd_tokens {
	SN_VEC(struct sn_pnd_token) items; /* ends with SN_TOK_END */
	SN_VEC(struct sn_pnd_directive) directives;
	SN_VEC(struct sn_pnd_token)
	nodes; /* the value of the macro P; ends with SN_TOK_END, or
		  empty if P is not defined */
};

struct sn_pnd_lex_options {
	const struct sn_pnd_define *defines;
	size_t define_count;
	const char *const *include_folders;
	size_t include_folder_count;
	bool may_read_files; /* false: #include "..." is an error (fuzzing) */
};

/** Tokens of files[0] of `diags`. Never fails: what is wrong is in `diags`. */
void sn_pnd_lex(struct sn_pnd_diags *diags, const struct sn_pnd_lex_options *options,
		struct sn_pnd_tokens *out);
void sn_pnd_tokens_free(struct sn_pnd_tokens *tokens);

/** The value of a C integer or character constant; false if it does not fit 64 bits. */
bool sn_pnd_integer_value(const struct sn_pnd_token *token, int64_t *out);
/** The same as 64 bits; of an integer constant they are its value. */
bool sn_pnd_integer_bits(const struct sn_pnd_token *token, uint64_t *out);

#endif
