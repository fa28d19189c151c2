/* Data spreads by assignments and by conditions around them, until nothing new is found. */
#include "pandore/compiler/data.h"

#include "pandore/compiler/liveness.h"

struct spreading {
	const struct sn_pnd_phase *phase;
	bool is_changed;
};

bool sn_pnd_reads_data(const struct sn_pnd_expr *e)
{
	if (!e)
		return false;
	if (e->has_distributed || (e->var && e->var->is_data))
		return true;
	for (int i = 0; i < e->arg_count; i++)
		if (sn_pnd_reads_data(e->args[i]))
			return true;
	return sn_pnd_reads_data(e->a) || sn_pnd_reads_data(e->b) || sn_pnd_reads_data(e->c);
}

static void mark(struct spreading *sp, struct sn_pnd_var *var)
{
	sp->is_changed |= !var->is_data;
	var->is_data = true;
}

static bool assigns_data(const struct sn_pnd_stmt *s)
{
	return s && (sn_pnd_reads_data(s->rhs) || sn_pnd_reads_data(s->lhs));
}

/* The counter of a loop whose `under`, a condition on data, may leave it out. Within the loop it is
 * known; it is marked if somebody reads what it was left with. */
static void spread_to_counter(struct spreading *sp, const struct sn_pnd_stmt *s,
			      const struct sn_pnd_stmt *under)
{
	struct sn_pnd_var *counter = s->init ? s->init->lhs->var : NULL;

	if (counter &&
	    (assigns_data(s->init) || assigns_data(s->step) || sn_pnd_reads_data(s->cond) ||
	     (under && !sn_pnd_is_private(sp->phase->body, under, counter))))
		mark(sp, counter);
	if (s->step && (!counter || s->step->lhs->var != counter) &&
	    (under || assigns_data(s->step)))
		mark(sp, s->step->lhs->var);
}

static void spread(struct spreading *sp, const struct sn_pnd_stmt *s,
		   const struct sn_pnd_stmt *under)
{
	if (!s)
		return;
	if (s->kind == SN_S_ASSIGN && (under || assigns_data(s)))
		mark(sp, s->lhs->var);
	if (s->kind == SN_S_FOR)
		spread_to_counter(sp, s, under);
	if (!under && sn_pnd_reads_data(s->cond))
		under = s;
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
		spread(sp, c, under);
	spread(sp, s->body, under);
	spread(sp, s->otherwise, under);
}

void sn_pnd_find_data(const struct sn_pnd_phase *phase)
{
	struct spreading sp = { phase, true };

	for (struct sn_pnd_var *v = phase->params; v; v = v->next)
		v->is_data = v->rank || v->passed != SN_PASSED_CONSTANT ||
			     !sn_pnd_type_is_integer(v->type);
	while (sp.is_changed) {
		sp.is_changed = false;
		spread(&sp, phase->body, NULL);
	}
}
