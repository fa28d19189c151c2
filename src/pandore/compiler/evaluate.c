/* Integer constant expressions, with C's conversions: what overflows has no value. */
#include "pandore/compiler/ast.h"

/* Sums, differences and products in a type of 32 or 64 bits. */
static bool calculate(enum sn_pnd_type type, uint32_t punct, uint64_t a, uint64_t b, uint64_t *out)
{
	int64_t x = (int64_t)a, y = (int64_t)b, number;
	bool overflows = punct == '+'	? __builtin_add_overflow(x, y, &number)
			 : punct == '-' ? __builtin_sub_overflow(x, y, &number)
					: __builtin_mul_overflow(x, y, &number);

	*out = sn_pnd_convert_bits(type, punct == '+' ? a + b : punct == '-' ? a - b : a * b);
	return sn_pnd_type_is_unsigned(type) || (!overflows && *out == (uint64_t)number);
}

static bool divide(enum sn_pnd_type type, uint32_t punct, uint64_t a, uint64_t b, uint64_t *out)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	if (!b)
		return false;
	if (sn_pnd_type_is_unsigned(type)) {
		*out = punct == '/' ? a / b : a % b;
		return true;
	}
	if (y == -1) /* the smallest number has no opposite */
		return punct == '/' ? calculate(type, '-', 0, a, out) : (*out = 0, true);
	*out = (uint64_t)(punct == '/' ? x / y : x % y);
	return true;
}

/* `type` is the promoted left side's, `by` of the right side's type. */
static bool shift(enum sn_pnd_type type, uint32_t punct, uint64_t a, uint64_t by, uint64_t *out)
{
	uint64_t width = (uint64_t)(8 * sn_pnd_type_bytes(type));
	bool is_left = punct == SN_PUNCT2('<', '<');

	if (by >= width)
		return false;
	if (sn_pnd_type_is_unsigned(type)) {
		*out = is_left ? sn_pnd_convert_bits(type, a << by) : a >> by;
		return true;
	}
	*out = (uint64_t)((int64_t)a >> by);
	return !is_left || ((int64_t)a >= 0 && (int64_t)a <= INT64_MAX >> by &&
			    (*out = a << by, *out == sn_pnd_convert_bits(type, *out)));
}

static bool compare(enum sn_pnd_type type, uint32_t punct, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;
	bool less = sn_pnd_type_is_unsigned(type) ? a < b : x < y;

	switch (punct) {
	case '<':
		return less;
	case '>':
		return !less && a != b;
	case SN_PUNCT2('<', '='):
		return less || a == b;
	case SN_PUNCT2('>', '='):
		return !less;
	default:
		return (punct == SN_PUNCT2('=', '=')) == (a == b);
	}
}

static bool evaluate_binary(const struct sn_pnd_expr *e, uint64_t a, uint64_t b, uint64_t *out)
{
	enum sn_pnd_type type = sn_pnd_type_common(e->a->type, e->b->type);
	int level = sn_pnd_binary_level(e->punct);

	if (level == 9)
		return shift(e->type, e->punct, sn_pnd_convert_bits(e->type, a), b, out);
	a = sn_pnd_convert_bits(type, a);
	b = sn_pnd_convert_bits(type, b);
	if (level == 7 || level == 8) {
		*out = compare(type, e->punct, a, b);
		return true;
	}
	if (e->punct == '/' || e->punct == '%')
		return divide(type, e->punct, a, b, out);
	if (level >= 10)
		return calculate(type, e->punct, a, b, out);
	*out = e->punct == '&' ? (a & b) : e->punct == '|' ? (a | b) : (a ^ b);
	return true;
}

/* && and ||: the right side has no say where the left one decides. */
static bool evaluate_logical(const struct sn_pnd_expr *e, uint64_t *out)
{
	bool is_and = e->punct == SN_PUNCT2('&', '&');

	if (!sn_pnd_evaluate_bits(e->a, out))
		return false;
	if ((*out != 0) == is_and && !sn_pnd_evaluate_bits(e->b, out))
		return false;
	*out = *out != 0;
	return true;
}

static bool evaluate_sign(const struct sn_pnd_expr *e, uint64_t a, uint64_t *out)
{
	*out = a;
	if (e->punct == '!')
		*out = !a;
	if (e->punct == '~')
		*out = sn_pnd_convert_bits(e->type, ~a);
	return e->punct != '-' || calculate(e->type, '-', 0, sn_pnd_convert_bits(e->type, a), out);
}

bool sn_pnd_evaluate_bits(const struct sn_pnd_expr *e, uint64_t *out)
{
	uint64_t a, b;

	if (!e || !sn_pnd_type_is_integer(e->type))
		return false;
	switch (e->kind) {
	case SN_E_INT:
		*out = (uint64_t)e->value;
		return true;
	case SN_E_CAST:
		if (!sn_pnd_evaluate_bits(e->a, &a))
			return false;
		*out = sn_pnd_convert_bits(e->type, a);
		return true;
	case SN_E_UNARY:
		return sn_pnd_evaluate_bits(e->a, &a) && evaluate_sign(e, a, out);
	case SN_E_BINARY:
		if (e->punct == SN_PUNCT2('&', '&') || e->punct == SN_PUNCT2('|', '|'))
			return evaluate_logical(e, out);
		return sn_pnd_evaluate_bits(e->a, &a) && sn_pnd_evaluate_bits(e->b, &b) &&
		       evaluate_binary(e, a, b, out);
	case SN_E_COND:
		if (!sn_pnd_evaluate_bits(e->a, &a) || !sn_pnd_evaluate_bits(a ? e->b : e->c, &b))
			return false;
		*out = sn_pnd_convert_bits(e->type, b);
		return true;
	default:
		return false;
	}
}

bool sn_pnd_evaluate(const struct sn_pnd_expr *e, int64_t *out)
{
	uint64_t bits;

	return sn_pnd_evaluate_bits(e, &bits) && sn_pnd_bits_to_number(e->type, bits, out);
}
