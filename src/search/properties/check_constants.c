/* Confidences and severities that are the same whatever was measured. */
#include <math.h>

#include "search/properties/check_parts.h"

static bool binary(enum sn_prop_op op, double a, double b, double *out)
{
	*out = op == SN_OP_ADD	      ? a + b
	       : op == SN_OP_SUBTRACT ? a - b
	       : op == SN_OP_MULTIPLY ? a * b
				      : a / b;
	return (op == SN_OP_ADD || op == SN_OP_SUBTRACT || op == SN_OP_MULTIPLY ||
		op == SN_OP_DIVIDE) &&
	       isfinite(*out);
}

static bool constant(const struct sn_property *property, const struct sn_expr *e, double *out);

static bool function(const struct sn_property *property, const struct sn_expr *e, double *out)
{
	for (uint32_t i = 0; i < e->arg_count; i++) {
		double value;

		if (!constant(property, e->args[i], &value))
			return false;
		*out = e->op == SN_OP_SQRT    ? sqrt(value)
		       : e->op == SN_OP_ABS   ? fabs(value)
		       : !i		      ? value
		       : e->op == SN_OP_LEAST ? fmin(*out, value)
					      : fmax(*out, value);
	}
	return e->arg_count && isfinite(*out);
}

static bool name(const struct sn_property *property, const struct sn_expr *e, double *out)
{
	const struct sn_prop_named *let = NULL;

	for (size_t i = 0; i < property->lets.count && !e->is_param; i++)
		if (property->lets.items[i].slot == e->slot)
			let = &property->lets.items[i];
	*out = e->is_param ? e->param : let ? let->constant : 0;
	return e->is_param || (let && let->is_constant);
}

/* False too of what is one, and not worth the look: a comparison of two numbers. */
static bool constant(const struct sn_property *property, const struct sn_expr *e, double *out)
{
	double left, right;

	if (e->type.kind != SN_TYPE_NUMBER)
		return false;
	switch (e->kind) {
	case SN_EXPR_NUMBER:
		*out = e->number;
		return true;
	case SN_EXPR_NAME:
		return name(property, e, out);
	case SN_EXPR_UNARY:
		if (!constant(property, e->args[0], &left))
			return false;
		*out = -left;
		return true;
	case SN_EXPR_BINARY:
		return constant(property, e->args[0], &left) &&
		       constant(property, e->args[1], &right) && binary(e->op, left, right, out);
	case SN_EXPR_FUNCTION:
		return function(property, e, out);
	default:
		return false;
	}
}

static void confidence_check(struct sn_prop_diags *diags, struct sn_prop_pos pos, double value)
{
	if (value < 0 || value > 1)
		sn_prop_warn(
			diags, pos,
			"a confidence is a share from 0 to 1, and this is always %.6g, which counts "
			"as %d",
			value, value > 1);
	else
		sn_prop_warn(
			diags, pos,
			"the confidence is %.6g whatever was measured; confidence(METRIC) tells "
			"how sure a metric's values are",
			value);
}

static void severity_check(struct sn_prop_diags *diags, struct sn_prop_pos pos, double value)
{
	if (value < 0 || value > 1)
		sn_prop_warn(
			diags, pos,
			"a severity is a share from 0 to 1, and this is always %.6g, which counts "
			"as %d",
			value, value > 1);
}

static void guarded_check(const struct sn_property *property, struct sn_prop_diags *diags,
			  struct sn_guarded *guarded,
			  void (*check)(struct sn_prop_diags *, struct sn_prop_pos, double))
{
	double value;

	if (guarded->expr && constant(property, guarded->expr, &value))
		check(diags, guarded->expr->pos, value);
	for (size_t i = 0; i < guarded->guards.count; i++)
		if (constant(property, guarded->guards.items[i].expr, &value))
			check(diags, guarded->guards.items[i].expr->pos, value);
}

void sn_prop_constants_check(struct sn_property *property, struct sn_prop_diags *diags)
{
	/* lets know the ones before them */
	for (size_t i = 0; i < property->lets.count; i++) {
		struct sn_prop_named *let = &property->lets.items[i];

		let->is_constant = constant(property, let->expr, &let->constant);
	}
	guarded_check(property, diags, &property->confidence, confidence_check);
	guarded_check(property, diags, &property->severity, severity_check);
}
