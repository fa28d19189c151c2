/*
 * A scalar that lives for one iteration (t = A[i][k] / A[k][k]) is needed only where it is used, and
 * a condition only where its branches assign. Both get owners here. What has none is everybody's.
 */
#include "pandore/compiler/owners.h"

#include "pandore/compiler/chains.h"
#include "pandore/compiler/dependence.h"
#include "pandore/compiler/liveness.h"

/* ---- private scalars ---- */

struct scalar {
	const struct sn_pnd_var *var;
	int loop;  /* the innermost loop around all its uses */
	int owner; /* an assignment with a distributed target; -1: not known yet; -2: none */
};

struct scalars {
	struct scalar items[SN_NEST_ASSIGNS_MAX];
	int count;
};

enum { UNKNOWN = -1, NOBODY = -2 };

static struct scalar *find_scalar(struct scalars *all, const struct sn_pnd_var *var)
{
	for (int i = 0; i < all->count; i++)
		if (all->items[i].var == var)
			return &all->items[i];
	return NULL;
}

/* The innermost loop that has all uses of a variable in the nest; -1 if there is none. */
static int loop_of_uses(const struct sn_nest *nest, const struct sn_pnd_var *var)
{
	int found = -1;

	for (int l = 0; l < nest->loop_count; l++) {
		const struct sn_nest_loop *loop = &nest->loops[l];

		if (loop->parent != found || !sn_pnd_count_uses(loop->stmt->body, var))
			continue;
		if (sn_pnd_count_uses(loop->stmt->init, var) ||
		    sn_pnd_count_uses(loop->stmt->step, var) ||
		    sn_pnd_count_reads(loop->stmt->cond, var))
			return NOBODY;
		for (int m = l + 1; m < nest->loop_count; m++)
			if (nest->loops[m].parent == found &&
			    sn_pnd_count_uses(nest->loops[m].stmt, var))
				return found;
		/* is it used beside this loop, too? */
		for (int i = 0; found >= 0 && i < nest->assign_count; i++) {
			const struct sn_pnd_stmt *s = nest->assigns[i].stmt;

			if (nest->assigns[i].loop == found && sn_pnd_count_uses(s, var))
				return found;
		}
		for (int i = 0; found >= 0 && i < nest->if_count; i++)
			if (nest->ifs[i].loop == found &&
			    sn_pnd_count_reads(nest->ifs[i].stmt->cond, var))
				return found;
		found = l;
	}
	return found;
}

/* Is it read in a subscript that decides who owns an element? */
static bool decides_elements(const struct sn_pnd_expr *e, const struct sn_pnd_var *var)
{
	if (!e)
		return false;
	if (e->kind == SN_E_INDEX && e->var->is_distributed)
		for (int d = 0; d < e->arg_count; d++)
			if (e->var->grid[d] > 1 && sn_pnd_count_reads(e->args[d], var))
				return true;
	for (int i = 0; i < e->arg_count; i++)
		if (decides_elements(e->args[i], var))
			return true;
	return decides_elements(e->a, var) || decides_elements(e->b, var) ||
	       decides_elements(e->c, var);
}

static bool decides_any_element(const struct sn_nest *nest, const struct sn_pnd_var *var)
{
	for (int i = 0; i < nest->assign_count; i++)
		if (decides_elements(nest->assigns[i].stmt->lhs, var) ||
		    decides_elements(nest->assigns[i].stmt->rhs, var))
			return true;
	for (int i = 0; i < nest->if_count; i++)
		if (decides_elements(nest->ifs[i].stmt->cond, var))
			return true;
	return false;
}

static void find_scalars(const struct sn_nest *nest, struct scalars *all)
{
	all->count = 0;
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *a = &nest->assigns[i];
		const struct sn_pnd_var *var = a->stmt->lhs->var;
		int loop;

		if (var->rank || var->kind != SN_VAR_LOCAL || a->added || find_scalar(all, var))
			continue;
		loop = loop_of_uses(nest, var);
		if (loop < 0 || decides_any_element(nest, var) || !nest->phase_body ||
		    !sn_pnd_is_private(nest->phase_body, nest->loops[loop].stmt, var))
			continue;
		all->items[all->count++] = (struct scalar){ var, loop, UNKNOWN };
	}
}

/* Is the owner known in each iteration of this loop (-1: before all loops), whatever is deeper? */
static bool is_decided(const struct sn_nest *nest, const struct sn_nest_assign *a, int loop)
{
	const struct sn_pnd_var *var = a->target->var;

	for (int d = 0; d < var->rank; d++) {
		if (var->grid[d] == 1)
			continue;
		if (!a->subs[d].ok)
			return false;
		for (int l = 0; l < nest->loop_count; l++)
			if (a->subs[d].coef[l] &&
			    (loop < 0 || sn_nest_ancestor(nest, loop, nest->loops[l].depth) != l))
				return false;
	}
	return true;
}

/* The assignment whose owner needs what assignment `index` needs; UNKNOWN, NOBODY. */
static int owner_of(struct scalars *all, const struct sn_nest *nest, int index)
{
	const struct sn_nest_assign *a = &nest->assigns[index];
	const struct scalar *s;

	if (a->target->var->is_distributed)
		return index;
	s = find_scalar(all, a->stmt->lhs->var);
	return s ? s->owner : NOBODY;
}

/* Adds one user of a scalar to what is known of its owner. */
static void add_user(struct scalars *all, const struct sn_nest *nest, struct scalar *s, int index,
		     int *owner, bool *is_open)
{
	int user;

	if (nest->assigns[index].stmt->lhs->var == s->var)
		return;
	user = owner_of(all, nest, index);
	if (user == UNKNOWN)
		*is_open = true;
	else if (user == NOBODY || (*owner >= 0 && !sn_nest_has_one_owner(&nest->assigns[user],
									  &nest->assigns[*owner])))
		*owner = NOBODY;
	else if (*owner != NOBODY)
		*owner = user;
}

/* Looks who uses a scalar: assignments that read it, and those under conditions that do. */
static bool settle(struct scalars *all, const struct sn_nest *nest, struct scalar *s)
{
	int owner = UNKNOWN;
	bool is_open = false;

	for (int i = 0; i < nest->assign_count; i++)
		if (sn_pnd_count_reads(nest->assigns[i].stmt->rhs, s->var) ||
		    sn_pnd_count_reads(nest->assigns[i].stmt->lhs, s->var))
			add_user(all, nest, s, i, &owner, &is_open);
	for (int i = 0; i < nest->if_count; i++) {
		const struct sn_nest_if *f = &nest->ifs[i];

		if (!sn_pnd_count_reads(f->stmt->cond, s->var))
			continue;
		if (f->is_refused || f->first_assign == f->end_assign)
			owner = NOBODY;
		for (int k = f->first_assign; k < f->end_assign; k++)
			add_user(all, nest, s, k, &owner, &is_open);
	}
	if (owner >= 0 && !is_decided(nest, &nest->assigns[owner], s->loop))
		owner = NOBODY;
	if (owner != NOBODY && (is_open || owner == UNKNOWN))
		return false;
	s->owner = owner;
	return true;
}

static void give_owner(struct sn_nest *nest, const struct scalar *s)
{
	for (int i = 0; i < nest->assign_count; i++) {
		struct sn_nest_assign *a = &nest->assigns[i];

		if (a->stmt->lhs->var != s->var)
			continue;
		a->target = nest->assigns[s->owner].target;
		a->subs = nest->assigns[s->owner].subs;
		a->is_private = true;
		for (int r = 0; r < nest->ref_count; r++)
			if (nest->refs[r].stmt == a->stmt && !nest->refs[r].is_subscript)
				nest->refs[r].assign = i;
	}
}

static void find_private(struct sn_nest *nest, struct scalars *all)
{
	bool is_changed = true;

	find_scalars(nest, all);
	while (is_changed) {
		is_changed = false;
		for (int i = 0; i < all->count; i++)
			if (all->items[i].owner == UNKNOWN)
				is_changed |= settle(all, nest, &all->items[i]);
	}
	for (int i = 0; i < all->count; i++)
		if (all->items[i].owner >= 0)
			give_owner(nest, &all->items[i]);
}

/* ---- ifs ---- */

static bool reads_private(struct scalars *all, const struct sn_pnd_expr *cond)
{
	for (int i = 0; i < all->count; i++)
		if (all->items[i].owner >= 0 && sn_pnd_count_reads(cond, all->items[i].var))
			return true;
	return false;
}

/* Loops within an if that not all nodes run: does a counter's last value matter? */
static bool has_live_counter(const struct sn_nest *nest, const struct sn_nest_if *f)
{
	for (int l = 0; l < nest->loop_count; l++)
		if (nest->loops[l].in_if >= 0 && sn_pnd_contains(f->stmt, nest->loops[l].stmt) &&
		    (!nest->phase_body ||
		     !sn_pnd_is_private(nest->phase_body, f->stmt, nest->loops[l].var)))
			return true;
	return false;
}

static bool add_owner(const struct sn_nest *nest, struct sn_nest_if *f, int assign)
{
	const struct sn_nest_assign *a = &nest->assigns[assign];

	if (!a->target->var->is_distributed || !is_decided(nest, a, f->loop))
		return false;
	for (int i = 0; i < f->owner_count; i++)
		if (sn_nest_has_one_owner(&nest->assigns[f->owners[i]], a))
			return true;
	if (f->owner_count == SN_NEST_OWNERS_MAX)
		return false;
	f->owners[f->owner_count++] = assign;
	return true;
}

static void find_if_owners(const struct sn_nest *nest, struct sn_nest_if *f)
{
	f->owner_count = 0;
	if (f->is_refused || has_live_counter(nest, f))
		return;
	for (int i = f->first_assign; i < f->end_assign; i++)
		if (!add_owner(nest, f, i)) {
			f->owner_count = 0;
			return;
		}
}

/* The condition's operands go to the first owner; for the others there are copies. */
static bool give_condition(struct sn_nest *nest, const struct sn_nest_if *f)
{
	int count = nest->ref_count;

	if (count * f->owner_count > SN_NEST_REFS_MAX)
		return false;
	for (int r = 0; r < count; r++) {
		if (nest->refs[r].stmt != f->stmt || nest->refs[r].is_subscript)
			continue;
		nest->refs[r].assign = f->owners[0];
		for (int k = 1; k < f->owner_count; k++) {
			nest->refs[nest->ref_count] = nest->refs[r];
			nest->refs[nest->ref_count++].assign = f->owners[k];
		}
	}
	return true;
}

/* An if that must be everybody's although the plan so far says otherwise, or -1. */
static int find_owned_ifs(struct sn_nest *nest, struct scalars *all)
{
	for (int i = 0; i < nest->if_count; i++) {
		struct sn_nest_if *f = &nest->ifs[i];

		if (!f->stmt->cond->has_distributed && !reads_private(all, f->stmt->cond))
			continue;
		find_if_owners(nest, f);
		if (f->owner_count && !give_condition(nest, f))
			f->owner_count = 0;
		/* a private scalar is not known where everybody decides */
		if (!f->owner_count && reads_private(all, f->stmt->cond))
			return i;
	}
	return -1;
}

static void find_dead_counters(struct sn_nest *nest)
{
	for (int l = 0; l < nest->loop_count; l++) {
		struct sn_nest_loop *loop = &nest->loops[l];

		loop->is_dead =
			loop->in_if >= 0 && nest->phase_body &&
			sn_pnd_is_private(nest->phase_body, nest->ifs[loop->in_if].stmt, loop->var);
	}
}

int sn_nest_find_owners(struct sn_nest *nest)
{
	struct scalars *all = sn_arena_new(nest->program->arena, struct scalars);

	find_private(nest, all);
	sn_nest_find_chains(nest);
	find_dead_counters(nest);
	return find_owned_ifs(nest, all);
}
