/*
 * Which numbers of a property are sums: seconds and counts, of which those of several processes are those of all of them. A
 * ratio, a mean and a member are of one process.
 */
#include "search/properties/check_parts.h"

static bool let_adds(const struct sn_property *property, const struct sn_expr *e)
{
	for (size_t i = 0; i < property->lets.count; i++)
		if (property->lets.items[i].slot == e->slot)
			return property->lets.items[i].adds;
	return false;
}

static bool adds(const struct sn_property *property, const struct sn_expr *e);

static bool any_adds(const struct sn_property *property, const struct sn_expr *e, uint32_t first)
{
	bool has_sum = false;

	for (uint32_t i = first; i < e->arg_count && !has_sum; i++)
		has_sum = adds(property, e->args[i]);
	return has_sum;
}

static bool binary_adds(const struct sn_property *property, const struct sn_expr *e)
{
	bool left = adds(property, e->args[0]), right = adds(property, e->args[1]);

	switch (e->op) {
	case SN_OP_ADD:
	case SN_OP_SUBTRACT:
		return left || right;
	case SN_OP_MULTIPLY:
		return left != right;
	case SN_OP_DIVIDE:
		return left && !right;
	default:
		return false;
	}
}

/* The largest of several sums is still as large as a sum. */
static bool adds(const struct sn_property *property, const struct sn_expr *e)
{
	if (e->type.kind != SN_TYPE_NUMBER)
		return false;
	switch (e->kind) {
	case SN_EXPR_METRIC:
		return property->requests.items[e->request].metric->adds;
	case SN_EXPR_NAME:
		return !e->is_param && let_adds(property, e);
	case SN_EXPR_AGGREGATE:
		return e->op == SN_OP_COUNT ||
		       ((e->op == SN_OP_SUM || e->op == SN_OP_MAX || e->op == SN_OP_MIN) &&
			adds(property, e->args[0]));
	case SN_EXPR_IF:
		return any_adds(property, e, 1);
	case SN_EXPR_UNARY:
		return adds(property, e->args[0]);
	case SN_EXPR_BINARY:
		return binary_adds(property, e);
	case SN_EXPR_FUNCTION:
		return e->op != SN_OP_SQRT && any_adds(property, e, 0);
	default:
		return false;
	}
}

void sn_prop_sums_find(struct sn_property *property)
{
	/* lets know the ones before them */
	for (size_t i = 0; i < property->lets.count; i++)
		property->lets.items[i].adds = adds(property, property->lets.items[i].expr);
	for (size_t i = 0; i < property->evidence.count; i++)
		property->evidence.items[i].adds = adds(property, property->evidence.items[i].expr);
}
