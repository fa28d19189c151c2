/** Tokens of a file of properties. Private to src/search/properties. */
#ifndef SN_SEARCH_PROPERTIES_LEX_H
#define SN_SEARCH_PROPERTIES_LEX_H

#include "search/properties/syntax.h"

enum sn_prop_token_kind {
	SN_PTOK_END,
	SN_PTOK_WORD,
	SN_PTOK_NUMBER,
	SN_PTOK_STRING,
	SN_PTOK_MARK, /* punctuation */
};

struct sn_prop_token {
	enum sn_prop_token_kind kind;
	struct sn_prop_pos pos;
	const char *text; /* of a string: without quotes and escapes; of a number: as written */
	double number;
	const char *unit; /* of a number: what follows it and is a unit; NULL: none */
};

typedef SN_VEC(struct sn_prop_token) sn_prop_token_vec;

/** The file's tokens, the last one SN_PTOK_END. What is none is reported and left out. */
void sn_prop_lex(struct sn_prop_file *file, sn_prop_token_vec *out);

#endif
