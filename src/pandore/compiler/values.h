/**
 * Integers that the compiler can follow through a phase: replicated scalars and arrays.
 */
#ifndef SN_PANDORE_COMPILER_VALUES_H
#define SN_PANDORE_COMPILER_VALUES_H

#include "base/map.h"
#include "pandore/compiler/ast.h"

struct sn_pnd_value {
	bool is_known;
	int64_t number;
};

struct sn_pnd_values {
	struct sn_arena arena;
	struct sn_map cells; /* variable -> its array of values */
};

struct sn_pnd_value sn_pnd_value_of(struct sn_pnd_values *values, const struct sn_pnd_expr *e);
/** The value of `e` where those of its operands (e->a, and e->b if it has one) are these. */
struct sn_pnd_value sn_pnd_value_of_operator(const struct sn_pnd_expr *e, struct sn_pnd_value a,
					     struct sn_pnd_value b);
/** An integer value converted to this type; unknown if that is no integer type. */
struct sn_pnd_value sn_pnd_value_converted(enum sn_pnd_type type, struct sn_pnd_value v);
/** The place of a replicated scalar or element; NULL if a subscript is unknown or out of bounds. */
struct sn_pnd_value *sn_pnd_value_place(struct sn_pnd_values *values, const struct sn_pnd_expr *e);
struct sn_pnd_value *sn_pnd_values_scalar(struct sn_pnd_values *values,
					  const struct sn_pnd_var *var);
/** Forgets an array of which an element changes that is not known: all its values are unknown from
 * now on. */
void sn_pnd_values_forget(struct sn_pnd_values *values, const struct sn_pnd_var *var);
void sn_pnd_values_free(struct sn_pnd_values *values);

#endif
