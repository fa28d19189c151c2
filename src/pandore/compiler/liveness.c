/* Follows one scalar through the structured statements of a phase, once forward. */
#include "pandore/compiler/liveness.h"

enum { LOOPS_FOLLOWED = 16 };

bool sn_pnd_contains(const struct sn_pnd_stmt *outer, const struct sn_pnd_stmt *inner)
{
	if (!outer || outer == inner)
		return outer != NULL;
	for (const struct sn_pnd_stmt *c = outer->first; c; c = c->next)
		if (sn_pnd_contains(c, inner))
			return true;
	return sn_pnd_contains(outer->body, inner) || sn_pnd_contains(outer->otherwise, inner);
}

int sn_pnd_count_uses(const struct sn_pnd_stmt *s, const struct sn_pnd_var *var)
{
	int count;

	if (!s)
		return 0;
	count = sn_pnd_count_reads(s->lhs, var) + sn_pnd_count_reads(s->rhs, var) +
		sn_pnd_count_reads(s->cond, var);
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
		count += sn_pnd_count_uses(c, var);
	return count + sn_pnd_count_uses(s->init, var) + sn_pnd_count_uses(s->step, var) +
	       sn_pnd_count_uses(s->body, var) + sn_pnd_count_uses(s->otherwise, var);
}

/*
 * Two questions on one walk. Within the region: is there a read before an assignment (`is_set` is
 * whether one came before)? Elsewhere: is there a read of what the region left (`is_left`)?
 */
struct walk {
	const struct sn_pnd_var *var;
	const struct sn_pnd_stmt *region; /* NULL: inside of it */
	bool is_set, is_left;
	bool is_carried; /* left by the region, where a break, continue or return was */
	bool is_read;	 /* the answer */
	int loops;
};

static void read_expr(struct walk *w, const struct sn_pnd_expr *e)
{
	if (e && sn_pnd_count_reads(e, w->var) && (w->region ? w->is_left : !w->is_set))
		w->is_read = true;
}

static void walk(struct walk *w, const struct sn_pnd_stmt *s);

static void walk_assign(struct walk *w, const struct sn_pnd_stmt *s)
{
	read_expr(w, s->rhs);
	for (int d = 0; d < s->lhs->arg_count; d++)
		read_expr(w, s->lhs->args[d]);
	if (s->lhs->var != w->var)
		return;
	if (s->punct != '=')
		read_expr(w, s->lhs);
	w->is_set = true;
	w->is_left = false;
}

/* Either path may have been taken. */
static void join(struct walk *w, const struct walk *other)
{
	w->is_set &= other->is_set;
	w->is_left |= other->is_left;
	w->is_carried |= other->is_carried;
	w->is_read |= other->is_read;
}

static void walk_if(struct walk *w, const struct sn_pnd_stmt *s)
{
	struct walk other;

	read_expr(w, s->cond);
	other = *w;
	walk(w, s->body);
	walk(&other, s->otherwise);
	join(w, &other);
}

static void walk_iteration(struct walk *w, const struct sn_pnd_stmt *s)
{
	read_expr(w, s->kind == SN_S_DO ? NULL : s->cond);
	walk(w, s->body);
	w->is_left |= w->is_carried; /* a continue of this loop */
	walk(w, s->step);
	read_expr(w, s->kind == SN_S_DO ? s->cond : NULL);
}

/* What an iteration left reaches the next one, so such a loop is walked twice. */
static void walk_loop(struct walk *w, const struct sn_pnd_stmt *s)
{
	struct walk before;

	walk(w, s->init);
	if (++w->loops > LOOPS_FOLLOWED)
		w->is_read = true;
	before = *w;
	if (!w->is_read)
		walk_iteration(w, s);
	if (w->is_left && !before.is_left && !w->is_read) {
		walk_iteration(w, s);
		w->is_left = true;
	}
	read_expr(w, s->cond);
	w->is_left |= w->is_carried; /* a break of this loop */
	join(w, &before);
	w->loops = before.loops - 1;
}

static void walk(struct walk *w, const struct sn_pnd_stmt *s)
{
	if (!s || w->is_read)
		return;
	if (s == w->region) {
		w->is_left = true;
		return;
	}
	switch (s->kind) {
	case SN_S_BLOCK:
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			walk(w, c);
		break;
	case SN_S_ASSIGN:
		walk_assign(w, s);
		break;
	case SN_S_IF:
		walk_if(w, s);
		break;
	case SN_S_FOR:
	case SN_S_WHILE:
	case SN_S_DO:
		walk_loop(w, s);
		break;
	case SN_S_ZONE:
		walk(w, s->body);
		break;
	case SN_S_BREAK:
	case SN_S_CONTINUE:
		w->is_carried |= w->is_left;
		break;
	default:
		break;
	}
}

bool sn_pnd_is_private(const struct sn_pnd_stmt *phase_body, const struct sn_pnd_stmt *region,
		       const struct sn_pnd_var *var)
{
	bool is_loop = region->kind == SN_S_FOR || region->kind == SN_S_WHILE;
	struct walk inside = { .var = var }, outside = { .var = var, .region = region };

	if (var->rank)
		return false;
	if (is_loop) {
		/* the loop's own control is every node's */
		if (sn_pnd_count_reads(region->cond, var))
			return false;
		walk(&inside, region->body);
	} else {
		walk(&inside, region);
	}
	walk(&outside, phase_body);
	return !inside.is_read && !outside.is_read;
}
