/**
 * Properties of cuts: whether a condition on the states of processes may hold at some instant of the execution
 * (possibly), and whether every run passes through an instant where it holds (definitely) (Cooper and Marzullo,
 * "Consistent detection of global predicates", 1991).
 *
 *	condition = term { ("or" | "||") term }      term = factor { ("and" | "&&") factor }
 *	factor    = ("not" | "!") factor | "(" condition ")" | "in(" process ", \"LABEL\")"
 *
 * `in(p1, "L")` (or in(1, "L")) holds in a cut whose last observed event of process 1 has label L. docs/method/lattice.md
 * says which answers are found in polynomial time and which by enumeration.
 */
#ifndef SN_LATTICE_PROPERTY_H
#define SN_LATTICE_PROPERTY_H

#include <stdio.h>

#include "pandore/lattice/execution.h"

struct sn_property;

/** SN_ERR_USAGE says what is wrong in it, and where. */
sn_status sn_property_parse(const char *text, struct sn_property **out, struct sn_error *err);
void sn_property_free(struct sn_property *property);
/** The n-th label that it names; NULL: there are no more. Borrowed. */
const char *sn_property_label(const struct sn_property *property, size_t n);

/** Whether it says anything of a process. */
bool sn_property_names(const struct sn_property *property, uint32_t process);

enum sn_truth { SN_TRUTH_NO, SN_TRUTH_YES, SN_TRUTH_UNKNOWN };

struct sn_property_answer {
	enum sn_truth possibly, definitely;
	uint32_t *witness; /* a cut where it holds, events done by process; NULL: none is known */
};

/**
 * `cut_limit` cuts are visited at most where they must be. SN_ERR_USAGE: the condition names a process that there
 * is not.
 */
sn_status sn_property_judge(const struct sn_property *property,
			    const struct sn_execution *execution, uint64_t cut_limit,
			    struct sn_property_answer *out, struct sn_error *err);
void sn_property_answer_free(struct sn_property_answer *answer);

/** One object of schema sonde.lattice-property/1; `text` is the condition. */
void sn_property_write_json(const char *text, const struct sn_execution *execution,
			    const struct sn_property_answer *answer, FILE *out);
/** The same for people. */
void sn_property_write_text(const char *text, const struct sn_execution *execution,
			    const struct sn_property_answer *answer, FILE *out);

#endif
