/**
 * A file of properties as it was parsed and checked.
 *
 * The language is total: no assignment, no recursion, no loops but aggregates over the members of a
 * table. So the cost of a property is bounded by its size and the members it ranges over. All texts
 * and nodes are in the file's arena.
 */
#ifndef SN_SEARCH_PROPERTIES_SYNTAX_H
#define SN_SEARCH_PROPERTIES_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "search/database/tables.h"
#include "search/properties/diag.h"

/** Limits of a file. */
enum {
	SN_PROP_FILE_BYTES_MAX = 1 << 20,
	SN_PROP_DEPTH_MAX = 64,	   /* of nested expressions */
	SN_PROP_HEIGHT_MAX = 1000, /* of the tree of one: operators in a row */
	SN_PROP_PROPERTIES_MAX = 1000,
	SN_PROP_AGGREGATES_MAX = 3, /* nested in each other */
	SN_PROP_CONDITIONS_MAX = 32,
	SN_PROP_NAMES_MAX = 200, /* lets, variables and parameters of one property */
};

/** A unit as powers of what it is made of; 1 and count are none of them. */
struct sn_prop_unit {
	int8_t seconds, bytes, samples;
};

/** The kind of a member that is no key of a table: the one phase. */
enum { SN_MEMBER_PHASE = SN_KEYS };

enum sn_prop_type_kind {
	SN_TYPE_WRONG, /* an error was reported: fits everywhere */
	SN_TYPE_NUMBER,
	SN_TYPE_BOOL,
	SN_TYPE_MEMBER,
};

struct sn_prop_type {
	enum sn_prop_type_kind kind;
	struct sn_prop_unit unit; /* of a number */
	int member;		  /* enum sn_key or SN_MEMBER_PHASE */
};

enum sn_expr_kind {
	SN_EXPR_NUMBER,
	SN_EXPR_NAME,	   /* a let, a parameter, a variable */
	SN_EXPR_ATTRIBUTE, /* name "." detail */
	SN_EXPR_METRIC,	   /* name "(" args ")" */
	SN_EXPR_AGGREGATE, /* op "(" args[0] over name in set [with args[1]] ")" */
	SN_EXPR_IF,
	SN_EXPR_UNARY,
	SN_EXPR_BINARY,
	SN_EXPR_FUNCTION,   /* sqrt, abs, least, greatest */
	SN_EXPR_EXISTS,	    /* of a name */
	SN_EXPR_CONFIDENCE, /* of a metric's name */
	SN_EXPR_TIME,	    /* of the phase (name NULL) or a region */
	SN_EXPR_PENALTY,    /* of a level */
	SN_EXPR_LANES,
	SN_EXPR_ANY,   /* "*" as an argument */
	SN_EXPR_WRONG, /* of a clause with an error of syntax */
};

enum sn_prop_op {
	SN_OP_NONE,
	SN_OP_OR,
	SN_OP_AND,
	SN_OP_NOT,
	SN_OP_LESS,
	SN_OP_LESS_EQUAL,
	SN_OP_GREATER,
	SN_OP_GREATER_EQUAL,
	SN_OP_EQUAL,
	SN_OP_NOT_EQUAL,
	SN_OP_ADD,
	SN_OP_SUBTRACT,
	SN_OP_MULTIPLY,
	SN_OP_DIVIDE,
	SN_OP_NEGATE,
	SN_OP_SUM,
	SN_OP_MAX,
	SN_OP_MIN,
	SN_OP_MEAN,
	SN_OP_COUNT,
	SN_OP_ARGMAX,
	SN_OP_STDDEV,
	SN_OP_SQRT,
	SN_OP_ABS,
	SN_OP_LEAST,
	SN_OP_GREATEST,
};

enum sn_prop_set {
	SN_SET_THREADS,
	SN_SET_PROCESSES,
	SN_SET_SUBREGIONS,
	SN_SET_DATA,
	SN_SET_PEERS,
	SN_SET_LOCKS,
	SN_SET_PHASES,
	SN_SETS
};

/** Words of the language, by their numbers above. */
const char *sn_prop_op_name(enum sn_prop_op op);
const char *sn_prop_set_name(enum sn_prop_set set);
const char *sn_prop_member_name(int kind);

struct sn_expr {
	enum sn_expr_kind kind;
	enum sn_prop_op op;
	struct sn_prop_pos pos; /* of its operator or name: where its errors stand */
	double number;
	const char *unit; /* as written; NULL: none */
	const char *name, *detail;
	struct sn_prop_pos detail_pos;
	enum sn_prop_set set;
	const char *set_of; /* "threads(set_of)"; NULL: of the context */
	struct sn_prop_pos set_pos;
	struct sn_expr **args;
	uint32_t arg_count;
	uint16_t height; /* of the tree below */

	/* by the check */
	struct sn_prop_type type;
	uint32_t slot;	   /* of a name, an aggregate's variable, or a set's owner: its value */
	uint32_t set_slot; /* SN_ALL: the context's */
	uint32_t request;  /* of a metric: which (struct sn_property.requests) */
	uint32_t arg_slots[SN_KEYS]; /* of a metric: by key; SN_ALL: left out */
	bool is_over_all;	     /* of a metric: all processes, not the context's */
	double param;		     /* of a name that is a parameter: its value */
	bool is_param;
};

struct sn_metric {
	const char *name;
	struct sn_prop_pos pos;
	uint32_t keys; /* bits 1 << enum sn_key */
	const char *unit_text;
	struct sn_prop_unit unit;
	bool adds;
	SN_VEC(const char *) needs; /* names of sources */
	SN_VEC(struct sn_prop_pos) needs_pos;
};

struct sn_param {
	const char *name;
	struct sn_prop_pos pos;
	double value;
	const char *unit_text;
	struct sn_prop_unit unit;
	bool has_range;
	double low, high;
};

/** A parameter of a property. */
struct sn_prop_context {
	const char *name;
	struct sn_prop_pos pos;
	enum sn_key kind;
	SN_VEC(const char *) kinds; /* of regions: any of these; none: all */
};

struct sn_prop_named {
	const char *name; /* of a condition: NULL if it has none */
	struct sn_prop_pos pos;
	struct sn_expr *expr;
	uint32_t slot; /* of a let */
	/* by the check: it has the same value whatever was measured; of a let */
	bool is_constant;
	double constant;
	bool adds; /* of a let and evidence, by the check: a sum, which several processes have together */
};
typedef SN_VEC(struct sn_prop_named) sn_prop_named_vec;

/** confidence, severity or rate: one expression, or one for each condition. */
struct sn_guarded {
	struct sn_expr *expr;	  /* NULL: the guards */
	sn_prop_named_vec guards; /* name: of a condition */
	struct sn_prop_pos pos;
	uint32_t conditions[SN_PROP_CONDITIONS_MAX]; /* by guard: index of its condition */
};

struct sn_prop_word {
	const char *name;
	struct sn_prop_pos pos;
};
typedef SN_VEC(struct sn_prop_word) sn_prop_word_vec;

/** A metric at a level that a property asks for. */
struct sn_prop_request {
	const struct sn_metric *metric;
	const char *level; /* NULL: none */
};

struct sn_prop_file;

struct sn_property {
	const char *name;
	struct sn_prop_pos pos;
	const struct sn_prop_file *file;
	SN_VEC(struct sn_prop_context) contexts;
	sn_prop_word_vec refines, next;
	sn_prop_named_vec lets, conditions, evidence;
	struct sn_expr *when;
	struct sn_guarded confidence, severity;
	struct sn_guarded rate; /* the property's own ratio, of any size */
	bool has_rate;
	const char *explain, *hint;
	struct sn_prop_pos explain_pos, hint_pos;

	/* by the check */
	uint32_t slot_count; /* contexts first, then lets and variables */
	SN_VEC(struct sn_prop_request) requests;
};

struct sn_prop_file {
	struct sn_arena arena;
	const char *name;
	const char *chars; /* a copy, zero-terminated */
	size_t length;
	bool is_shipped;
	struct sn_prop_diags diags;
	SN_VEC(struct sn_metric *) metrics;
	SN_VEC(struct sn_param *) params;
	SN_VEC(struct sn_property *) properties;
};

/** Parses a file (`name` is for messages). Never fails: what is wrong is in its diags. */
struct sn_prop_file *sn_prop_parse(const char *name, const char *chars, size_t length);
void sn_prop_file_free(struct sn_prop_file *file);

/** A number in a text as a duration: "{x:time}" is "1.20 ms". */
#define SN_PROP_DURATION "time"

/** "s", "B/s", "1", ...; false if there is no such unit. */
bool sn_prop_unit_parse(const char *text, struct sn_prop_unit *out);
/** "s", "B/s", "1/s", "count" ... for messages, in `text`. */
enum { SN_PROP_UNIT_TEXT = 80 };
const char *sn_prop_unit_print(struct sn_prop_unit unit, char text[SN_PROP_UNIT_TEXT]);

#endif
