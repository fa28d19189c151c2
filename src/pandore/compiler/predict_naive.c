/* Counts the messages of the naive scheme: what emit_naive.c fetches, in its order. */
#include "pandore/compiler/predictor.h"

#include <string.h>

int sn_predict_owner(struct sn_predictor *p, const struct sn_pnd_expr *e)
{
	int64_t block = 0;
	const struct sn_pnd_var *v = e->var;

	for (int k = 0; k < v->rank; k++) {
		int d = v->order[k];
		struct sn_pnd_value sub = { true, 0 };

		if (v->grid[d] > 1) {
			sub = sn_pnd_value_of(&p->values, e->args[d]);
			if (!sub.is_known || sub.number < 0 || sub.number >= v->extent[d]) {
				sn_predict_doubt(p, e->pos, "a subscript");
				return 0;
			}
		}
		block = block * v->grid[d] + sub.number / v->block[d];
	}
	return (int)(v->is_wrapped ? block % p->nodes : block / v->blocks_per_node);
}

static bool was_fetched(const struct sn_predictor *p, const struct sn_pnd_expr *e,
			bool is_broadcast)
{
	for (size_t i = 0; i < p->fetched.count; i++) {
		const struct sn_predict_fetched *f = &p->fetched.items[i];

		if (f->is_broadcast == is_broadcast && (!f->guard || f->guard == p->guard) &&
		    sn_pnd_same_expr(f->ref, e))
			return true;
	}
	return false;
}

static void fetch(struct sn_predictor *p, const struct sn_pnd_stmt *s, const struct sn_pnd_expr *e,
		  int owner, const char *target)
{
	struct sn_predict_fetched f = { e, p->guard, owner == SN_PREDICT_EVERYBODY };
	int64_t bytes = sn_pnd_type_bytes(e->type);
	int from;

	for (int d = 0; d < e->arg_count; d++)
		sn_predict_operands(p, s, e->args[d], SN_PREDICT_EVERYBODY,
				    owner == SN_PREDICT_EVERYBODY ? target : "(subscript)");
	if (was_fetched(p, e, f.is_broadcast))
		return;
	sn_vec_push(&p->fetched, f);
	from = sn_predict_owner(p, e);
	if (owner != SN_PREDICT_EVERYBODY && from != owner)
		sn_predict_count(p, s->pos.line, false, e->var->name, target, from, owner, 1,
				 bytes);
	for (int to = 0; owner == SN_PREDICT_EVERYBODY && to < p->nodes; to++)
		if (to != from)
			sn_predict_count(p, s->pos.line, true, e->var->name, target, from, to, 1,
					 bytes);
}

/* One branch under a condition; is_taken says whether it is evaluated. */
static void fetch_branch(struct sn_predictor *p, const struct sn_pnd_stmt *s,
			 const struct sn_pnd_expr *e, bool is_taken, int owner, const char *target)
{
	int outer = p->guard;

	if (!e->has_distributed)
		return;
	p->guard = ++p->guard_count;
	if (is_taken)
		sn_predict_operands(p, s, e, owner, target);
	p->guard = outer;
}

static void fetch_conditional(struct sn_predictor *p, const struct sn_pnd_stmt *s,
			      const struct sn_pnd_expr *e, int owner, const char *target)
{
	struct sn_pnd_value v;

	sn_predict_operands(p, s, e->a, SN_PREDICT_EVERYBODY,
			    owner == SN_PREDICT_EVERYBODY ? target : "(condition)");
	v = sn_pnd_value_of(&p->values, e->a);
	if (!v.is_known) {
		sn_predict_doubt(p, e->pos, "a condition");
		return;
	}
	if (e->kind == SN_E_COND) {
		fetch_branch(p, s, e->b, v.number != 0, owner, target);
		fetch_branch(p, s, e->c, v.number == 0, owner, target);
	} else {
		fetch_branch(p, s, e->b, (v.number != 0) == (e->punct == SN_PUNCT2('&', '&')),
			     owner, target);
	}
}

static bool is_conditional(const struct sn_pnd_expr *e)
{
	if (e->kind == SN_E_COND)
		return e->b->has_distributed || e->c->has_distributed;
	return e->kind == SN_E_BINARY && e->b->has_distributed &&
	       (e->punct == SN_PUNCT2('&', '&') || e->punct == SN_PUNCT2('|', '|'));
}

void sn_predict_operands(struct sn_predictor *p, const struct sn_pnd_stmt *s,
			 const struct sn_pnd_expr *e, int owner, const char *target)
{
	if (!e || !e->has_distributed || p->doubt)
		return;
	if (e->kind == SN_E_INDEX && e->var->is_distributed) {
		fetch(p, s, e, owner, target);
		return;
	}
	if (is_conditional(e)) {
		fetch_conditional(p, s, e, owner, target);
		return;
	}
	sn_predict_operands(p, s, e->a, owner, target);
	sn_predict_operands(p, s, e->b, owner, target);
	sn_predict_operands(p, s, e->c, owner, target);
	for (int i = 0; i < e->arg_count; i++)
		sn_predict_operands(p, s, e->args[i], owner, target);
}

/* What a scalar or an element holds after an assignment. */
static struct sn_pnd_value assigned(struct sn_predictor *p, const struct sn_pnd_stmt *s,
				    struct sn_pnd_value old)
{
	struct sn_pnd_value right = { true, 1 };
	struct sn_pnd_expr one = { .kind = SN_E_INT, .type = SN_T_INT, .value = 1 };
	struct sn_pnd_expr sum = { .kind = SN_E_BINARY, .punct = s->punct & 255, .a = s->lhs };

	if (s->rhs && s->punct != '=')
		sum.punct = sn_pnd_compound_operator(s->punct);
	sum.b = s->rhs ? s->rhs : &one;
	sum.type = sn_pnd_type_common(s->lhs->type,
				      sn_pnd_binary_level(sum.punct) == 9 ? SN_T_INT : sum.b->type);
	if (s->rhs)
		right = sn_pnd_value_of(&p->values, s->rhs);
	right.is_known &= sn_pnd_type_is_integer(sum.b->type);
	if (s->punct != '=')
		right = sn_pnd_value_of_operator(&sum, old, right);
	return sn_pnd_value_converted(s->lhs->type, right);
}

static void store(struct sn_predictor *p, const struct sn_pnd_stmt *s)
{
	struct sn_pnd_value *place;

	if (!sn_pnd_type_is_integer(s->lhs->var->type))
		return;
	place = sn_pnd_value_place(&p->values, s->lhs);
	if (place)
		*place = assigned(p, s, *place);
	else
		sn_pnd_values_forget(&p->values, s->lhs->var);
}

void sn_predict_assign(struct sn_predictor *p, const struct sn_pnd_stmt *s)
{
	int owner = SN_PREDICT_EVERYBODY;

	p->fetched.count = 0;
	p->guard = p->guard_count = 0;
	if (!p->is_silent) {
		for (int d = 0; d < s->lhs->arg_count; d++)
			sn_predict_operands(p, s, s->lhs->args[d], SN_PREDICT_EVERYBODY,
					    s->lhs->var->is_distributed ? "(subscript)"
									: s->lhs->var->name);
		if (s->lhs->var->is_distributed && (s->rhs && s->rhs->has_distributed))
			owner = sn_predict_owner(p, s->lhs);
		sn_predict_operands(p, s, s->rhs, owner, s->lhs->var->name);
	}
	if (!s->lhs->var->is_distributed)
		store(p, s);
}
