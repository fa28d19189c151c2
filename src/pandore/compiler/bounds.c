/* Solves "2 * i + 1 < n" for i. Sums are long, so that what the program could add does not overflow. */
#include "pandore/compiler/bounds.h"

enum { TERMS_MAX = 8, FACTOR_MAX = 1 << 30 };

/* factor * counter + constant + sum of factor * term, all on the left side of a comparison with 0 */
struct form {
	const struct sn_pnd_var *counter;
	int64_t factor, constant;
	struct {
		const struct sn_pnd_expr *expr;
		int64_t factor;
	} terms[TERMS_MAX];
	int term_count;
};

static bool is_small(int64_t value)
{
	return value <= FACTOR_MAX && value >= -FACTOR_MAX;
}

static bool wraps(enum sn_pnd_type type)
{
	return !sn_pnd_type_is_integer(type) ||
	       (sn_pnd_type_is_unsigned(type) && sn_pnd_type_bytes(type) >= 4);
}

static bool add_term(struct form *f, const struct sn_pnd_expr *e, int64_t factor)
{
	int64_t value;

	if (sn_pnd_evaluate(e, &value) && is_small(value)) {
		f->constant += factor * value;
		return is_small(f->constant);
	}
	if (f->term_count == TERMS_MAX)
		return false;
	f->terms[f->term_count].expr = e;
	f->terms[f->term_count++].factor = factor;
	return true;
}

/* What names no counter is a term whole, but for the constants of its sum. */
static bool add(struct form *f, const struct sn_pnd_expr *e, int64_t factor)
{
	int64_t value;

	if (!is_small(factor) || wraps(e->type))
		return false;
	if (sn_pnd_evaluate(e, &value))
		return add_term(f, e, factor);
	if (e->kind == SN_E_VAR && e->var == f->counter) {
		f->factor += factor;
		return is_small(f->factor);
	}
	if (e->kind == SN_E_UNARY && (e->punct == '-' || e->punct == '+'))
		return add(f, e->a, e->punct == '-' ? -factor : factor);
	if (e->kind == SN_E_CAST && sn_pnd_count_reads(e, f->counter) && !wraps(e->a->type) &&
	    sn_pnd_type_holds(e->type, e->a->type))
		return add(f, e->a, factor);
	if (e->kind == SN_E_BINARY && (e->punct == '+' || e->punct == '-'))
		return add(f, e->a, factor) && add(f, e->b, e->punct == '-' ? -factor : factor);
	if (e->kind == SN_E_BINARY && e->punct == '*' && sn_pnd_count_reads(e, f->counter)) {
		if (sn_pnd_evaluate(e->a, &value))
			return is_small(value) && add(f, e->b, factor * value);
		return sn_pnd_evaluate(e->b, &value) && is_small(value) &&
		       add(f, e->a, factor * value);
	}
	return !sn_pnd_count_reads(e, f->counter) && add_term(f, e, factor);
}

/* ---- the bound as an expression ---- */

static struct sn_pnd_expr *new_expr(struct sn_arena *arena, enum sn_pnd_expr_kind kind,
				    struct sn_pnd_pos pos)
{
	struct sn_pnd_expr *e = sn_arena_new(arena, struct sn_pnd_expr);

	e->kind = kind;
	e->type = SN_T_LONG;
	e->pos = pos;
	return e;
}

static const struct sn_pnd_expr *number(struct sn_arena *arena, int64_t value,
					struct sn_pnd_pos pos)
{
	struct sn_pnd_expr *e = new_expr(arena, SN_E_INT, pos);

	e->value = value;
	e->text = sn_arena_printf(arena, value < 0 ? "(%lldL)" : "%lldL", (long long)value);
	return e;
}

static const struct sn_pnd_expr *binary(struct sn_arena *arena, uint32_t punct,
					const struct sn_pnd_expr *a, const struct sn_pnd_expr *b)
{
	struct sn_pnd_expr *e = new_expr(arena, SN_E_BINARY, a->pos);

	e->punct = punct;
	e->a = (struct sn_pnd_expr *)(uintptr_t)a;
	e->b = (struct sn_pnd_expr *)(uintptr_t)b;
	e->has_distributed = a->has_distributed || b->has_distributed;
	return e;
}

static const struct sn_pnd_expr *as_long(struct sn_arena *arena, const struct sn_pnd_expr *e)
{
	struct sn_pnd_expr *cast;

	if (e->type == SN_T_LONG)
		return e;
	cast = new_expr(arena, SN_E_CAST, e->pos);
	cast->a = (struct sn_pnd_expr *)(uintptr_t)e;
	cast->has_distributed = e->has_distributed;
	return cast;
}

/* -(the terms), without the constant. */
static const struct sn_pnd_expr *other_side(struct sn_arena *arena, const struct form *f,
					    struct sn_pnd_pos pos)
{
	const struct sn_pnd_expr *sum = NULL;

	if (f->term_count == 1 && f->terms[0].factor == -1)
		return f->terms[0].expr;
	for (int i = 0; i < f->term_count; i++) {
		int64_t factor = -f->terms[i].factor, size = factor < 0 ? -factor : factor;
		const struct sn_pnd_expr *term = as_long(arena, f->terms[i].expr);

		if (size != 1)
			term = binary(arena, '*', number(arena, size, pos), term);
		if (!sum && factor > 0)
			sum = term;
		else
			sum = binary(arena, factor > 0 ? '+' : '-',
				     sum ? sum : number(arena, 0, pos), term);
	}
	return sum ? sum : number(arena, 0, pos);
}

static int64_t floor_of(int64_t a, int64_t b)
{
	return a / b - (a % b && a < 0);
}

/* The largest whole number up to value / divisor, or the smallest from it on. */
static const struct sn_pnd_expr *divide(struct sn_arena *arena, const struct sn_pnd_expr *value,
					int64_t divisor, bool is_upper)
{
	const struct sn_pnd_expr *d = number(arena, divisor, value->pos);
	const struct sn_pnd_expr *rest =
		binary(arena, '%', binary(arena, '+', binary(arena, '%', value, d), d), d);
	const struct sn_pnd_expr *down = binary(arena, '/', binary(arena, '-', value, rest), d);

	if (is_upper)
		return down;
	/* -floor(-value / d) = floor((value + d - 1) / d) */
	value = binary(arena, '+', value, number(arena, divisor - 1, value->pos));
	return divide(arena, value, divisor, true);
}

bool sn_pnd_read_bound(struct sn_arena *arena, const struct sn_pnd_expr *c,
		       const struct sn_pnd_var *counter, struct sn_pnd_bound *out)
{
	struct form f = { .counter = counter };
	bool is_less, is_strict;

	if (c->kind != SN_E_BINARY || sn_pnd_binary_level(c->punct) != 8 ||
	    wraps(sn_pnd_type_common(c->a->type, c->b->type)) || !add(&f, c->a, 1) ||
	    !add(&f, c->b, -1) || !f.factor)
		return false;
	is_less = c->punct == '<' || c->punct == SN_PUNCT2('<', '=');
	is_strict = c->punct == '<' || c->punct == '>';
	if (c->a->kind == SN_E_VAR && c->a->var == counter &&
	    !sn_pnd_count_reads(c->b, counter)) { /* as it is written */
		*out = (struct sn_pnd_bound){ c->b, is_strict ? (is_less ? -1 : 1) : 0, is_less };
		return true;
	}
	if (f.factor < 0) {
		is_less = !is_less;
		f.factor = -f.factor;
		f.constant = -f.constant;
		for (int i = 0; i < f.term_count; i++)
			f.terms[i].factor = -f.terms[i].factor;
	}
	out->is_upper = is_less;
	out->adjust = -f.constant - (is_strict ? (is_less ? 1 : -1) : 0);
	if (!f.term_count) {
		out->end = number(arena,
				  is_less ? floor_of(out->adjust, f.factor)
					  : -floor_of(-out->adjust, f.factor),
				  c->pos);
		out->adjust = 0;
		return true;
	}
	out->end = other_side(arena, &f, c->pos);
	if (f.factor == 1)
		return true;
	if (out->adjust)
		out->end = binary(arena, '+', as_long(arena, out->end),
				  number(arena, out->adjust, c->pos));
	out->adjust = 0;
	out->end = divide(arena, out->end, f.factor, is_less);
	return true;
}
