/*
 * Finds OUT arrays that a phase surely writes whole before it reads anything of them. The host's
 * values of such an array need not be brought to the nodes: every element that comes back was
 * computed there.
 */
#include "pandore/compiler/overwrite.h"

/* A loop around: its counter takes every value from low to high. */
struct around {
	const struct around *outer;
	const struct sn_pnd_var *counter;
	int64_t low, high;
	const struct sn_pnd_expr *end; /* it is below that, which is known late; else NULL */
};

static bool reads(const struct sn_pnd_stmt *s, const struct sn_pnd_var *var)
{
	int count;

	if (!s)
		return false;
	count = sn_pnd_count_reads(s->rhs, var) + sn_pnd_count_reads(s->cond, var);
	for (int d = 0; s->lhs && d < s->lhs->arg_count; d++)
		count += sn_pnd_count_reads(s->lhs->args[d], var);
	if (count || (s->lhs && s->lhs->var == var && s->punct != '='))
		return true;
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
		if (reads(c, var))
			return true;
	return reads(s->init, var) || reads(s->step, var) || reads(s->body, var) ||
	       reads(s->otherwise, var);
}

bool sn_pnd_assigns(const struct sn_pnd_stmt *s, const struct sn_pnd_var *var)
{
	if (!s)
		return false;
	if (s->lhs && s->lhs->var == var)
		return true;
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
		if (sn_pnd_assigns(c, var))
			return true;
	return sn_pnd_assigns(s->init, var) || sn_pnd_assigns(s->step, var) ||
	       sn_pnd_assigns(s->body, var) || sn_pnd_assigns(s->otherwise, var);
}

static bool holds(enum sn_pnd_type type, int64_t value)
{
	return sn_pnd_type_is_integer(type) &&
	       sn_pnd_convert_bits(type, (uint64_t)value) == (uint64_t)value;
}

/* for (c = LOW; c < HIGH; c++) with constants, or c = 0; c < SIZE, run at least once, that nothing else steers. */
static bool read_loop(const struct sn_pnd_stmt *s, struct around *out)
{
	const struct sn_pnd_expr *cond = s->cond;
	bool is_less, is_up;
	int64_t one = 0;

	if (!s->init || !s->step || !cond || s->init->lhs->kind != SN_E_VAR ||
	    s->init->punct != '=' || !s->init->rhs || !sn_pnd_evaluate(s->init->rhs, &out->low))
		return false;
	out->counter = s->init->lhs->var;
	is_less = cond->punct == '<' || cond->punct == SN_PUNCT2('<', '=');
	if (cond->kind != SN_E_BINARY || !is_less || cond->a->kind != SN_E_VAR ||
	    cond->a->var != out->counter)
		return false;
	if (!sn_pnd_evaluate(cond->b, &out->high)) {
		if (cond->punct != '<' || out->low != 0)
			return false;
		out->end = cond->b;
	}
	out->high -= cond->punct == '<' && !out->end;
	is_up = s->step->punct == SN_PUNCT2('+', '+') ||
		(s->step->punct == SN_PUNCT2('+', '=') && sn_pnd_evaluate(s->step->rhs, &one) &&
		 one == 1);
	return is_up && s->step->lhs->kind == SN_E_VAR && s->step->lhs->var == out->counter &&
	       (out->end ? sn_pnd_type_holds(out->counter->type, out->end->type)
			 : out->low <= out->high && holds(out->counter->type, out->low) &&
				   holds(out->counter->type, out->high)) &&
	       !sn_pnd_assigns(s->body, out->counter);
}

static bool is_whole(const struct sn_pnd_stmt *s, const struct sn_pnd_var *var,
		     const struct around *loops)
{
	const struct sn_pnd_var *seen[SN_PND_RANK_MAX] = { NULL };
	int64_t constant;

	if (s->lhs->kind != SN_E_INDEX || s->lhs->var != var || s->punct != '=')
		return false;
	for (int d = 0; d < var->rank; d++) {
		const struct sn_pnd_expr *sub = s->lhs->args[d];
		const struct around *l = loops;

		if (var->extent[d] == 1 && sn_pnd_evaluate(sub, &constant) && constant == 0)
			continue;
		if (sub->kind != SN_E_VAR)
			return false;
		while (l && l->counter != sub->var)
			l = l->outer;
		if (!l || l->low > 0 ||
		    (l->end ? !sn_pnd_same_expr(l->end, var->late_extent[d])
			    : l->high < var->extent[d] - 1))
			return false;
		for (int e = 0; e < d; e++)
			if (seen[e] == sub->var)
				return false;
		seen[d] = sub->var;
	}
	return true;
}

/* An extent is at least 1, so a loop up to it runs. */
static bool is_extent(const struct sn_pnd_var *var, const struct sn_pnd_expr *end)
{
	for (int d = 0; d < var->rank; d++)
		if (sn_pnd_same_expr(end, var->late_extent[d]))
			return true;
	return false;
}

/* Does the statement, whenever it is run, write all of the array? */
static bool overwrites(const struct sn_pnd_stmt *s, const struct sn_pnd_var *var,
		       const struct around *loops)
{
	struct around loop = { .outer = loops };

	if (!s)
		return false;
	switch (s->kind) {
	case SN_S_ASSIGN:
		return is_whole(s, var, loops);
	case SN_S_BLOCK:
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			if (overwrites(c, var, loops))
				return true;
		return false;
	case SN_S_ZONE:
		return overwrites(s->body, var, loops);
	case SN_S_FOR:
		return read_loop(s, &loop) && (!loop.end || is_extent(var, loop.end)) &&
		       overwrites(s->body, var, &loop);
	default:
		return false;
	}
}

/* Statement by statement of the phase: written whole before anything is read? */
static bool is_written_first(const struct sn_pnd_stmt *s, const struct sn_pnd_var *var,
			     bool *is_known)
{
	if (s->kind == SN_S_BLOCK || s->kind == SN_S_ZONE) {
		const struct sn_pnd_stmt *c = s->kind == SN_S_BLOCK ? s->first : s->body;

		for (; c && !*is_known; c = s->kind == SN_S_BLOCK ? c->next : NULL)
			if (is_written_first(c, var, is_known))
				return true;
		return false;
	}
	*is_known = reads(s, var);
	if (*is_known)
		return false;
	*is_known = overwrites(s, var, NULL);
	return *is_known;
}

bool sn_pnd_has_jump(const struct sn_pnd_stmt *s)
{
	if (!s)
		return false;
	if (s->kind == SN_S_BREAK || s->kind == SN_S_CONTINUE || s->kind == SN_S_RETURN)
		return true;
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
		if (sn_pnd_has_jump(c))
			return true;
	return sn_pnd_has_jump(s->body) || sn_pnd_has_jump(s->otherwise);
}

bool sn_pnd_is_overwritten(const struct sn_pnd_phase *phase, const struct sn_pnd_var *var)
{
	bool is_known = false;

	/* what jumps over a loop may leave elements out */
	return var->rank && var->mode == SN_MODE_OUT && phase->body &&
	       !sn_pnd_has_jump(phase->body) && is_written_first(phase->body, var, &is_known);
}
