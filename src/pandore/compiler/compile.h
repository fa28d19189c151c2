/**
 * From a Pandore source to C11 that stands on libpandore.
 */
#ifndef SN_PANDORE_COMPILER_COMPILE_H
#define SN_PANDORE_COMPILER_COMPILE_H

#include "base/text.h"
#include "pandore/compiler/diag.h"
#include "pandore/compiler/lex.h"

enum sn_pnd_scheme { SN_PND_NAIVE, SN_PND_OPT };

struct sn_pnd_given {
	const char *name; /* of the parameter, whatever the phase */
	int64_t value;
};

struct sn_pnd_options {
	struct sn_pnd_lex_options lex;
	enum sn_pnd_scheme scheme;
	bool host_inside; /* the host is node 0, not a process of its own */
	bool profile, trace, reassoc, check, explain;
	/* of --explain: builds and runs the counting build, and adds what it prints to `said`, or why
	 * that failed; NULL: nothing is counted */
	void (*count)(void *context, const struct sn_text *code, int nodes, struct sn_text *said);
	void *context;
	int nodes;			  /* to count with if the run decides; 0: not known */
	const struct sn_pnd_given *given; /* what calls pass to scalar parameters of phases */
	size_t given_count;
	int strip; /* iterations of a pipelined strip; 0: the default */
	const char *program_name;
};

/** What --explain remarks on a loop nest. remarks.h. */
struct sn_pnd_remark {
	const char *phase, *file, *reason;
	int line, column, code;
	bool has_bytes;
	int64_t sent_bytes, needed_bytes; /* in one call of the phase */
};

/** Messages between two nodes in one call of a phase, for one array of one line. */
struct sn_pnd_expected {
	const char *phase, *source, *target;
	int line;
	bool is_broadcast;
	int from, to;
	int64_t messages, bytes;
};

/** A phase whose messages depend on data (at a line, or 0), or (why NULL) are all in the rows. */
struct sn_pnd_foretold {
	const char *phase, *why;
	int line;
};

struct sn_pnd_result {
	struct sn_text code;	 /* C; empty after errors */
	struct sn_text explain;	 /* how each statement was translated, and the messages to expect */
	struct sn_text messages; /* the messages alone */
	const char *unknown_given;   /* given for a parameter that no phase has; NULL: none */
	int nodes;		     /* of the source, or to count with; 0: the run decides */
	SN_VEC(const char *) phases; /* their names */
	/* with options->explain: */
	SN_VEC(struct sn_pnd_remark) remarks;
	SN_VEC(struct sn_pnd_expected) expected;
	SN_VEC(struct sn_pnd_foretold) foretold;
	SN_VEC(struct sn_pnd_foretold)
	unchecked; /* phases with subscripts that were not run, and why */
};

/** Translates files[0] of `diags` (the caller pushes it). True if there was no error. With options->explain a subscript
 * that leaves its array in a call of a phase is one (P16). */
bool sn_pnd_compile(struct sn_pnd_diags *diags, const struct sn_pnd_options *options,
		    struct sn_pnd_result *out);
void sn_pnd_result_free(struct sn_pnd_result *result);
/** The remarks as rows and the messages to expect, as one JSON object. explain_json.c. */
void sn_pnd_write_explanation(const struct sn_pnd_result *result, const char *source,
			      const char *scheme, FILE *out);

#endif
