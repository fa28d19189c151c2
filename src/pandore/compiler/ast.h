/**
 * A Pandore program as a tree. Everything lives in one arena; lists are chained by `next`.
 */
#ifndef SN_PANDORE_COMPILER_AST_H
#define SN_PANDORE_COMPILER_AST_H

#include "base/text.h"
#include "pandore/compiler/lex.h"
#include "pandore/compiler/types.h"

enum { SN_PND_RANK_MAX = 8, SN_PND_NODES_MAX = 1024 };

/** A size that is known only when the program runs: more than any that is known. */
#define SN_PND_LATE (INT64_MAX / 2)

enum sn_pnd_mode { SN_MODE_IN, SN_MODE_OUT, SN_MODE_INOUT };

enum sn_pnd_var_kind { SN_VAR_GLOBAL, SN_VAR_PARAM, SN_VAR_ARGUMENT, SN_VAR_LOCAL };

/**
 * A variable. A distributed array is cut into blocks of `block[d]` elements in dimension d (the
 * last one may be short); the blocks' grid is numbered with dimension order[0] slowest. Block b
 * lives on node b / blocks_per_node (regular) or b % P (wrapped).
 */
struct sn_pnd_var {
	struct sn_pnd_var *next;
	const char *name;    /* in the generated C; another one where two of a name could be seen */
	const char *spelled; /* in the source */
	struct sn_pnd_pos pos;
	enum sn_pnd_var_kind kind;
	enum sn_pnd_type type;
	int rank; /* 0: scalar */
	int64_t extent[SN_PND_RANK_MAX];
	/* of sizes that are known late: expressions of scalar parameters and `nodes`, else NULL */
	const struct sn_pnd_expr *late_extent[SN_PND_RANK_MAX], *late_block[SN_PND_RANK_MAX];
	int index;		  /* of a parameter, from 0 */
	struct sn_pnd_expr *init; /* of a global: literals only */
	struct sn_pnd_expr *init_list;

	bool is_distributed, is_wrapped;
	int64_t block[SN_PND_RANK_MAX], grid[SN_PND_RANK_MAX], block_count, blocks_per_node;
	int order[SN_PND_RANK_MAX];
	enum sn_pnd_mode mode;

	/* of a scalar parameter: what all calls pass, if it is one integer constant, or what the
	 * user says they do */
	enum { SN_PASSED_NEVER, SN_PASSED_CONSTANT, SN_PASSED_OTHERS } passed;
	int64_t passed_value;

	bool is_const;	    /* of a global: a constant, which phases and functions may read */
	bool is_read_only;  /* of a local: declared const */
	bool is_active;	    /* of a counter that its loop declares: in that loop now */
	bool is_unknown;    /* stands for a name that was not declared: no further findings */
	bool is_written;    /* so far in the text */
	bool is_data;	    /* its value may depend on data: data.h */
	int counts_loops;   /* open for loops whose counter this is */
	unsigned nest_mark; /* scratch of the optimiser: written in nest number ... */
};

enum sn_pnd_expr_kind {
	SN_E_INT,   /* value: bits of the type; text as written */
	SN_E_REAL,  /* text */
	SN_E_VAR,   /* a scalar */
	SN_E_INDEX, /* var, args = one subscript a dimension */
	SN_E_UNARY, /* punct, a */
	SN_E_BINARY,
	SN_E_COND, /* a ? b : c */
	SN_E_CAST, /* (type) a */
	SN_E_CALL, /* name, function (NULL: of math.h), args */
};

struct sn_pnd_expr {
	enum sn_pnd_expr_kind kind;
	enum sn_pnd_type type;
	struct sn_pnd_pos pos;
	uint32_t punct;
	struct sn_pnd_expr *a, *b, *c;
	struct sn_pnd_expr **args;
	int arg_count;
	struct sn_pnd_var *var;
	struct sn_pnd_function *function;
	const char *text;
	int64_t value;
	bool has_distributed;	  /* reads an element of a distributed array */
	struct sn_pnd_expr *next; /* in a list of initialisers */
};

enum sn_pnd_stmt_kind {
	SN_S_BLOCK,
	SN_S_EMPTY,
	SN_S_ASSIGN,
	SN_S_IF,
	SN_S_FOR,
	SN_S_WHILE,
	SN_S_DO,
	SN_S_ZONE,
	SN_S_OBSERVE,
	SN_S_RETURN,
	SN_S_BREAK,
	SN_S_CONTINUE,
};

struct sn_pnd_stmt {
	enum sn_pnd_stmt_kind kind;
	struct sn_pnd_pos pos;
	struct sn_pnd_stmt *next;      /* in a block */
	struct sn_pnd_stmt *first;     /* of a block */
	struct sn_pnd_var *locals;     /* of a block */
	struct sn_pnd_expr *lhs, *rhs; /* assignment: rhs is NULL for ++ and -- ; return: rhs */
	uint32_t punct;		       /* of the assignment: =, +=, ..., ++, -- */
	struct sn_pnd_expr *cond;
	struct sn_pnd_stmt *init, *step, *body, *otherwise;
	const char *name; /* zone, label */
	int zone;	  /* index of the innermost zone around, -1: none */
	bool is_split;	  /* a block: what was one loop. fission.h */
	int id;		  /* of an assignment or observation point, unique in the program */
};

struct sn_pnd_function {
	struct sn_pnd_function *next;
	const char *name;
	struct sn_pnd_pos pos;
	enum sn_pnd_type type;
	struct sn_pnd_var *params;
	int param_count;
	struct sn_pnd_stmt *body; /* NULL: a prototype that says const, or opaque */
	bool is_prototype;	  /* no definition has been read yet */
	bool is_opaque;		  /* its text is passed on as it is, for the host only */
	const char *impure;	  /* why a phase may not call it; NULL: it may */
	size_t first_token, last_token;
	int math_index;
};

struct sn_pnd_zone {
	const char *name;
	int phase;
};

struct sn_pnd_phase {
	struct sn_pnd_phase *next;
	const char *name;
	struct sn_pnd_pos pos;
	struct sn_pnd_var *params;
	int param_count, index;
	bool has_late_sizes; /* of a parameter or of a local array */
	bool is_damaged;     /* a parameter had a finding: what follows from it is not reported */
	bool has_unread_parameters; /* their names are not known */
	struct sn_pnd_stmt *body;
};

/** A piece of the host's part, in the order of the source. */
struct sn_pnd_host_item {
	/* a text is any declaration that no phase may use; it is passed on as it is */
	enum { SN_HOST_GLOBAL, SN_HOST_FUNCTION, SN_HOST_TEXT, SN_HOST_MAIN } kind;
	size_t first_token, last_token; /* of a function or main: up to its closing brace */
	struct sn_pnd_var *global;
};

/** A use of a host's array that may be on the nodes: stays.h. */
struct sn_pnd_look {
	size_t token;
	bool is_argument; /* of a phase */
};

/** A loop of the host that does nothing but call phases: tokens. */
struct sn_pnd_ahead {
	size_t first, last;
};

struct sn_pnd_program {
	struct sn_arena *arena;
	struct sn_pnd_diags *diags;
	struct sn_pnd_tokens tokens;
	struct sn_pnd_function *functions;
	struct sn_pnd_phase *phases;
	struct sn_pnd_var *globals;
	SN_VEC(struct sn_pnd_host_item) host;
	SN_VEC(struct sn_pnd_look) looks;
	SN_VEC(struct sn_pnd_ahead) ahead;
	SN_VEC(struct sn_pnd_zone) zones;
	SN_VEC(const char *) math_used; /* whitelisted functions that are called */
	int nodes;			/* P; 0: the run decides */
	struct sn_pnd_var *node_count;	/* `nodes`, if the run decides */
	bool has_bad_nodes; /* P was no number of nodes: constants that fail are not reported */
	bool has_main, main_takes_arguments;
	size_t main_brace; /* token of main's opening brace */
	bool has_observe;  /* observation points by pragma: then only these are observed */
	int names;	   /* that were made up so far */
	int assign_count;  /* ids of assignments and observation points given so far */
};

/** Parses and checks; findings are in `diags`. The program is complete if diags->errors is 0. */
void sn_pnd_parse(struct sn_pnd_program *program);
void sn_pnd_program_free(struct sn_pnd_program *program);

/** Checks the calls of phases in the host's functions: P07. */
void sn_pnd_check_host(struct sn_pnd_program *program);

/** The value of an integer constant expression, as C has it; false if it is none (or divides by
 * zero, or overflows), or above INT64_MAX. */
bool sn_pnd_evaluate(const struct sn_pnd_expr *expr, int64_t *out);
/** The same as bits of the expression's type: all values. */
bool sn_pnd_evaluate_bits(const struct sn_pnd_expr *expr, uint64_t *out);

/** Writes an expression as C, with the parentheses it needs. */
void sn_pnd_print_expr(struct sn_text *text, const struct sn_pnd_expr *expr);
bool sn_pnd_same_expr(const struct sn_pnd_expr *a, const struct sn_pnd_expr *b);
/** The number of times that a variable, or elements of it, are read in an expression. */
int sn_pnd_count_reads(const struct sn_pnd_expr *e, const struct sn_pnd_var *var);

bool sn_pnd_same_size(int64_t a, const struct sn_pnd_expr *late_a, int64_t b,
		      const struct sn_pnd_expr *late_b);
/** Whether a parameter's layout is computed when its phase is called. */
bool sn_pnd_is_late(const struct sn_pnd_program *program, const struct sn_pnd_var *var);
bool sn_pnd_has_late(const struct sn_pnd_program *program, const struct sn_pnd_phase *phase);
/** The operator of a compound assignment: + of +=, 0 if this is none. */
uint32_t sn_pnd_compound_operator(uint32_t punct);
bool sn_pnd_needs_integers(uint32_t punct);
/** Binding strength of an operator, 1 (?:) to 12 (primary), for printing. */
int sn_pnd_binary_level(uint32_t punct);

/** A pure function of math.h or stdlib.h that phases may call, or NULL. */
struct sn_pnd_math {
	const char *name;
	int arity;
	enum sn_pnd_type type;
};
const struct sn_pnd_math *sn_pnd_math_find(const char *name);

#endif
