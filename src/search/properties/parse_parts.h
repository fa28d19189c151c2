/** What the two halves of the parser share. Private to src/search/properties. */
#ifndef SN_SEARCH_PROPERTIES_PARSE_PARTS_H
#define SN_SEARCH_PROPERTIES_PARSE_PARTS_H

#include "search/properties/lex.h"

struct sn_prop_parser {
	struct sn_prop_file *file;
	const struct sn_prop_token *tokens, *at;
	unsigned depth;	  /* of expressions */
	bool is_in_error; /* until the clause's end: what follows is not reported */
};

/** Reports once until the parser has recovered. */
__attribute__((format(printf, 3, 4))) void
sn_prop_parse_error(struct sn_prop_parser *p, struct sn_prop_pos pos, const char *format, ...);

bool sn_prop_at_mark(const struct sn_prop_parser *p, const char *mark);
bool sn_prop_at_word(const struct sn_prop_parser *p, const char *word);
/** Moves on and says true if the mark (word) stands here. */
bool sn_prop_take_mark(struct sn_prop_parser *p, const char *mark);
bool sn_prop_take_word(struct sn_prop_parser *p, const char *word);
/** The same; an error if it does not. `where` says after or in what. */
bool sn_prop_expect_mark(struct sn_prop_parser *p, const char *mark, const char *where);
bool sn_prop_expect_word(struct sn_prop_parser *p, const char *word, const char *where);
/** A name that is no word of the language; "" with an error otherwise. */
const char *sn_prop_expect_name(struct sn_prop_parser *p, const char *what,
				struct sn_prop_pos *pos);

/** An expression; never NULL. */
struct sn_expr *sn_prop_parse_expr(struct sn_prop_parser *p);

#endif
