/*
 * Integer variables with a value or none, and C's arithmetic on them with its conversions. An
 * operation with an unknown operand is unknown.
 */
#include "pandore/compiler/values.h"

#include <string.h>

static int64_t cell_count(const struct sn_pnd_var *var)
{
	int64_t count = 1;

	for (int d = 0; d < var->rank; d++)
		count *= var->extent[d];
	return count;
}

static struct sn_pnd_value *cells_of(struct sn_pnd_values *values, const struct sn_pnd_var *var)
{
	bool is_new;
	uint64_t *place = sn_map_put(&values->cells, (uint64_t)(uintptr_t)var, &is_new);

	if (is_new)
		*place = (uint64_t)(uintptr_t)sn_arena_array(&values->arena, struct sn_pnd_value,
							     (size_t)cell_count(var));
	return (struct sn_pnd_value *)(uintptr_t)*place;
}

struct sn_pnd_value *sn_pnd_values_scalar(struct sn_pnd_values *values,
					  const struct sn_pnd_var *var)
{
	return cells_of(values, var);
}

void sn_pnd_values_forget(struct sn_pnd_values *values, const struct sn_pnd_var *var)
{
	memset(cells_of(values, var), 0, sizeof(struct sn_pnd_value) * (size_t)cell_count(var));
}

struct sn_pnd_value *sn_pnd_value_place(struct sn_pnd_values *values, const struct sn_pnd_expr *e)
{
	int64_t offset = 0;

	for (int d = 0; d < e->arg_count; d++) {
		struct sn_pnd_value sub = sn_pnd_value_of(values, e->args[d]);

		if (!sub.is_known || sub.number < 0 || sub.number >= e->var->extent[d])
			return NULL;
		offset = offset * e->var->extent[d] + sub.number;
	}
	return &cells_of(values, e->var)[offset];
}

static struct sn_pnd_value known(int64_t number)
{
	return (struct sn_pnd_value){ true, number };
}

static bool truth(struct sn_pnd_value v)
{
	return v.is_known && v.number != 0;
}

struct sn_pnd_value sn_pnd_value_of_operator(const struct sn_pnd_expr *e, struct sn_pnd_value a,
					     struct sn_pnd_value b)
{
	struct sn_pnd_expr left = { .kind = SN_E_INT, .type = e->a->type, .value = a.number };
	struct sn_pnd_expr right = { .kind = SN_E_INT, .value = b.number };
	struct sn_pnd_expr whole = *e;
	struct sn_pnd_value result = { 0 };

	right.type = e->b ? e->b->type : SN_T_INT;
	whole.a = &left;
	whole.b = &right;
	if (a.is_known && b.is_known)
		result.is_known = sn_pnd_evaluate(&whole, &result.number);
	return result;
}

struct sn_pnd_value sn_pnd_value_converted(enum sn_pnd_type type, struct sn_pnd_value v)
{
	v.is_known = v.is_known && sn_pnd_type_is_integer(type) &&
		     sn_pnd_bits_to_number(type, sn_pnd_convert_bits(type, (uint64_t)v.number),
					   &v.number);
	return v;
}

static struct sn_pnd_value logical(struct sn_pnd_values *values, const struct sn_pnd_expr *e)
{
	struct sn_pnd_value a = sn_pnd_value_of(values, e->a), b;
	bool is_and = e->punct == SN_PUNCT2('&', '&');

	if (!a.is_known)
		return a;
	if (truth(a) != is_and)
		return known(!is_and);
	b = sn_pnd_value_of(values, e->b);
	return b.is_known ? known(b.number != 0) : b;
}

struct sn_pnd_value sn_pnd_value_of(struct sn_pnd_values *values, const struct sn_pnd_expr *e)
{
	struct sn_pnd_value unknown = { 0 }, v = { 0 };
	const struct sn_pnd_value *place;

	switch (e->kind) {
	case SN_E_INT:
		v.is_known = sn_pnd_evaluate(e, &v.number);
		return v;
	case SN_E_VAR:
	case SN_E_INDEX:
		if (e->var->is_distributed || !sn_pnd_type_is_integer(e->var->type))
			return unknown;
		place = sn_pnd_value_place(values, e);
		return place ? *place : unknown;
	case SN_E_UNARY:
		return sn_pnd_value_of_operator(e, sn_pnd_value_of(values, e->a), known(0));
	case SN_E_BINARY:
		if (e->punct == SN_PUNCT2('&', '&') || e->punct == SN_PUNCT2('|', '|'))
			return logical(values, e);
		return sn_pnd_value_of_operator(e, sn_pnd_value_of(values, e->a),
						sn_pnd_value_of(values, e->b));
	case SN_E_COND:
		v = sn_pnd_value_of(values, e->a);
		if (!v.is_known)
			return unknown;
		return sn_pnd_value_converted(e->type,
					      sn_pnd_value_of(values, truth(v) ? e->b : e->c));
	case SN_E_CAST:
		return sn_pnd_value_converted(e->type, sn_pnd_value_of(values, e->a));
	default:
		return unknown;
	}
}

void sn_pnd_values_free(struct sn_pnd_values *values)
{
	sn_map_free(&values->cells);
	sn_arena_free(&values->arena);
}
