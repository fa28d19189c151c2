/**
 * Properties on tables: proven, not proven, or not measurable, and how severe.
 *
 * Truth has three values: what needs a value that the tables do not have, or divides by zero, is
 * unknown, and unknown is never false.
 */
#ifndef SN_SEARCH_PROPERTIES_EVALUATE_H
#define SN_SEARCH_PROPERTIES_EVALUATE_H

#include "base/text.h"
#include "search/properties/library.h"

enum sn_state { SN_NOT_PROVEN, SN_PROVEN, SN_NOT_MEASURABLE };
/** "not_proven", "proven", "not_measurable". */
const char *sn_state_name(enum sn_state state);

/** A value of an expression. */
struct sn_prop_value {
	bool is_known;
	double number;	 /* of a number; of a truth value 0 or 1 */
	uint32_t member; /* index, of a member */
};

enum { SN_NEEDS_MAX = 64 };

struct sn_verdict {
	const struct sn_property *property;
	uint32_t keys[SN_KEYS]; /* the context; always a process */
	enum sn_state state;
	const char *condition;	     /* the first that holds; NULL: without a name */
	double severity, confidence; /* 0..1 (a rate: of any size); NaN: unknown, or not proven */
	double rate; /* the property's own ratio; NaN: it states none, unknown, or not proven */
	double severity_unclamped; /* above 1 where the property claims too much */
	/* what it would be of what is not measurable; what it is at most of what is known as a range; NaN: unknown */
	double severity_at_most;
	bool is_range; /* severity_at_most is with the upper ends of values that are known as ranges */
	const struct sn_prop_value *evidence; /* by the property's evidence; until the next one */
	uint32_t needs[SN_NEEDS_MAX];	      /* requests without a value, or that are ranges */
	uint32_t need_count;
};

struct sn_evaluator;

/** What a verdict's severity is. */
enum sn_severity {
	SN_SEVERITY_LOST, /* lane-seconds lost over the phase's wall time times its lanes */
	SN_SEVERITY_RATE, /* the property's own ratio, where it states one (clause `rate`) */
};
/** "lost", "rate". */
const char *sn_severity_name(enum sn_severity unit);
/** What it is of a property if a user asked for `asked`. */
enum sn_severity sn_severity_of(const struct sn_property *property, enum sn_severity asked);

/** The tables are borrowed. */
struct sn_evaluator *sn_evaluator_new(struct sn_tables *tables, enum sn_severity severity);
void sn_evaluator_free(struct sn_evaluator *evaluator);

/** Evaluates a property in a context: a member for each of its parameters, and a process. */
void sn_property_evaluate(struct sn_evaluator *evaluator, const struct sn_property *property,
			  const uint32_t keys[SN_KEYS], struct sn_verdict *out);

/** Calls `see` for every context of a property on the tables, in the order of the members:
 *  processes, regions, data, threads, locks, files, peers. Keys that `fixed` has (not SN_ALL) have
 *  this member only. */
void sn_property_contexts(const struct sn_tables *tables, const struct sn_property *property,
			  const uint32_t fixed[SN_KEYS],
			  void (*see)(const uint32_t keys[SN_KEYS], void *context), void *context);

/** "misses(L2)" of a request. */
void sn_prop_request_print(const struct sn_prop_request *request, struct sn_text *out);

/** A value for people, long names shortened; `format` is ".1f", ".1%" or SN_PROP_DURATION, NULL: as short as it goes. What
 *  follows the format is not looked at. */
void sn_prop_value_print(const struct sn_tables *tables, struct sn_prop_type type,
			 struct sn_prop_value value, const char *format, struct sn_text *out);
/** A value for documents: whole names, numbers as sn_text_add_double has them. */
void sn_prop_value_print_whole(const struct sn_tables *tables, struct sn_prop_type type,
			       struct sn_prop_value value, struct sn_text *out);
/** A property's text (`explain` or `hint`) with the values of its last evaluation, but for evidence that is a sum: it stays
 *  open, for several processes' together. */
void sn_prop_text_open(struct sn_evaluator *evaluator, const char *text, struct sn_text *out);
/** Such a text, which may come from elsewhere, with the sums in it. */
void sn_prop_text_close(const struct sn_tables *tables, const struct sn_property *property,
			const struct sn_prop_value *evidence, const char *text,
			struct sn_text *out);

#endif
