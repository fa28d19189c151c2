/**
 * The state of the recursive-descent parser, shared by parse.c (declarations), parse_stmt.c and
 * parse_expr.c. After a finding a statement is skipped to its end; a variable that was not declared
 * is declared on the spot, so that it is reported once.
 */
#ifndef SN_PANDORE_COMPILER_PARSER_H
#define SN_PANDORE_COMPILER_PARSER_H

#include "pandore/compiler/ast.h"

enum { SN_PND_DEPTH_MAX = 200 };

struct sn_pnd_scope {
	struct sn_pnd_scope *outer;
	struct sn_pnd_var *vars;
	struct sn_pnd_var *counter; /* of "for (int i ...": of this scope, but in `counters` */
};

struct sn_pnd_parser {
	struct sn_pnd_program *program;
	struct sn_pnd_diags *diags;
	struct sn_arena *arena;
	size_t at;
	int depth;
	struct sn_pnd_scope *scope;
	struct sn_pnd_phase *phase;	  /* parsed now, or NULL */
	struct sn_pnd_function *function; /* parsed now, or NULL */
	int zone;
	bool is_for_host;	     /* a finding was in what only C may have at file scope */
	bool is_constant;	     /* the variables parsed now are declared const */
	bool is_unclosed;	     /* the end of the body was found to be missing */
	bool has_goto;		     /* in the body: its label is no finding of its own */
	int loops;		     /* around, in the phase or function */
	struct sn_pnd_var *counters; /* declared in headers of loops: for the whole body, one of a
					name and type */
};

const struct sn_pnd_token *sn_pnd_peek(const struct sn_pnd_parser *p, size_t ahead);
bool sn_pnd_at_punct(const struct sn_pnd_parser *p, uint32_t punct);
bool sn_pnd_at_word(const struct sn_pnd_parser *p, const char *word);
bool sn_pnd_accept(struct sn_pnd_parser *p, uint32_t punct);
/** Reports P00 "expected X, found Y" if the next token is another one. */
bool sn_pnd_expect(struct sn_pnd_parser *p, uint32_t punct, const char *what);
void sn_pnd_expected(struct sn_pnd_parser *p, const char *what);
/** The number of words of a type that stand here, 0 if none do, and what they mean: SN_T_NONE if
 * they are no type of ours. */
size_t sn_pnd_type_length(const struct sn_pnd_parser *p, enum sn_pnd_type *out);
bool sn_pnd_at_type(const struct sn_pnd_parser *p);
/** The words of a type; false after a finding: P08 for a type of C that is none of ours, "expected
 * WHAT" where there is no type. */
bool sn_pnd_parse_type(struct sn_pnd_parser *p, const char *what, enum sn_pnd_type *out);
/** Reports P08: these words make no type of Pandore C. */
void sn_pnd_refuse_type(struct sn_pnd_parser *p, size_t length);
/** Words of C that Pandore C leaves out (P08), reported with a reason; false if it is none. */
bool sn_pnd_refuse_word(struct sn_pnd_parser *p);
/** The same of names of types that only the host has, where a declaration or a cast may stand. */
bool sn_pnd_refuse_typedef(struct sn_pnd_parser *p);
/** The finding that follows is in C which a declaration of the host may hold at file scope. */
void sn_pnd_note_foreign(struct sn_pnd_parser *p);
/** Why a phase cannot use a name that a text of the host declares, and what to write; NULL: none does. */
const char *sn_pnd_why_foreign(struct sn_pnd_parser *p, const char *name);
bool sn_pnd_is_keyword(const char *name);

/** The body of a phase or function, with the counters that its loops declare. */
struct sn_pnd_stmt *sn_pnd_parse_body(struct sn_pnd_parser *p);
/** A variable gets another name in C if one of its name could be seen where it is declared. */
void sn_pnd_name_apart(struct sn_pnd_parser *p, struct sn_pnd_var *var);
/** The constant of the host that has this name, or NULL. */
struct sn_pnd_var *sn_pnd_find_constant(const struct sn_pnd_program *program, const char *name);

/** NULL after a finding. */
struct sn_pnd_expr *sn_pnd_parse_expr(struct sn_pnd_parser *p);
struct sn_pnd_expr *sn_pnd_parse_lvalue(struct sn_pnd_parser *p);

/** The declarators after a type: NAME {[N]} [= init] {, ...}; to the semicolon. Adds to `*list`
 *  (in order); initialisers of locals are added to `*inits` as assignments. */
bool sn_pnd_parse_declarators(struct sn_pnd_parser *p, enum sn_pnd_type type,
			      enum sn_pnd_var_kind kind, struct sn_pnd_var **list,
			      struct sn_pnd_stmt ***inits);
/** NAME {[N]}: a new variable that stands in no list yet, or NULL after a finding. */
struct sn_pnd_var *sn_pnd_parse_declarator(struct sn_pnd_parser *p, enum sn_pnd_type type,
					   enum sn_pnd_var_kind kind);
/** The value behind "=" of a local, as an assignment at the end of a list. */
bool sn_pnd_parse_local_init(struct sn_pnd_parser *p, struct sn_pnd_var *var,
			     struct sn_pnd_stmt ***inits);
struct sn_pnd_var *sn_pnd_find_var(const struct sn_pnd_parser *p, const char *name);
/** Appends to a chained list; reports P12 if the name is in it already. */
void sn_pnd_add_var(struct sn_pnd_parser *p, struct sn_pnd_var **list, struct sn_pnd_var *var);
struct sn_pnd_phase *sn_pnd_find_phase(const struct sn_pnd_program *program, const char *name);
struct sn_pnd_function *sn_pnd_find_function(const struct sn_pnd_program *program,
					     const char *name);
struct sn_pnd_expr *sn_pnd_new_expr(struct sn_pnd_parser *p, enum sn_pnd_expr_kind kind,
				    enum sn_pnd_type type, struct sn_pnd_pos pos);

/** An integer constant expression, in which names are no variables; else one finding "WHAT is not
 * an integer constant" of this code. */
bool sn_pnd_parse_constant(struct sn_pnd_parser *p, int64_t *out, int code, const char *what);
/** The same of a size in a phase, which may also be an expression of the phase's scalar parameters so
 * far and of `nodes`: `*late` is that then, and `*out` SN_PND_LATE. */
bool sn_pnd_parse_size(struct sn_pnd_parser *p, int64_t *out, const struct sn_pnd_expr **late,
		       int code, const char *what);
/** Makes the declaration that begins at token `first` a text of the host. */
void sn_pnd_pass_to_host(struct sn_pnd_parser *p, size_t first);
/** Whether a phase or function may have this name. Reports why not. */
bool sn_pnd_check_name(struct sn_pnd_parser *p, const struct sn_pnd_token *name);
/** The token of the brace that closes the one at `at`, or the end. */
size_t sn_pnd_matching_brace(const struct sn_pnd_parser *p, size_t at);

/** "__attribute__((const))": the author's word that only the arguments matter. */
bool sn_pnd_accept_const_attribute(struct sn_pnd_parser *p);
/** Parses a phase; the next token is "dist". */
void sn_pnd_parse_phase(struct sn_pnd_parser *p);
/** To be called at another word, or at a name alone. If what follows can only be a phase, or the
 * word is nearly "dist", it says so and reads the phase all the same. */
bool sn_pnd_parse_misspelt_phase(struct sn_pnd_parser *p);
/** Parses a function from its name on. `first` is the first token of its declaration. `is_foreign`
 * says that its type is none of ours. */
void sn_pnd_parse_function(struct sn_pnd_parser *p, enum sn_pnd_type type, size_t first,
			   bool is_const, bool is_foreign);

#endif
