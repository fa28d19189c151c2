/*
 * for (...) { e = fabs(B[i] - A[i]); d += e; A[i] = B[i]; }
 *
 * Every node keeps d, so every node would run all of it, and need all of A and B. As two loops, one for d and
 * one for A, the second is divided, and the first is a chain (chains.h). Each part keeps the order of what
 * stays in it. So only values that pass between the parts matter: all of them must go from the part that
 * runs first to the other one. A scalar that lives for one iteration is computed in both parts, or, where the
 * elements' part stores it, read from there.
 */
#include "pandore/compiler/fission.h"

#include <string.h>

#include "pandore/compiler/dependence.h"
#include "pandore/compiler/liveness.h"

enum part { ELEMENTS, SCALARS, PARTS };

struct splitter {
	struct sn_pnd_program *program;
	bool may_reassociate;
	unsigned *mark;
	struct sn_nest *nest; /* of the loop that is looked at */
	struct sn_nest *half; /* of the elements' part of it */
	/* of each assignment of the nest: */
	bool is_private[SN_NEST_ASSIGNS_MAX];
	bool is_in[PARTS][SN_NEST_ASSIGNS_MAX];
	/* the scalars' part does not compute it, but reads it from this one's element, behind the
	 * statement `holder`; or -1 */
	int stored_by[SN_NEST_ASSIGNS_MAX];
	const struct sn_pnd_stmt *holder[SN_NEST_ASSIGNS_MAX];
	bool elements_first;
	/* while the scalars' part is copied: its own private scalars */
	struct {
		const struct sn_pnd_var *var;
		struct sn_pnd_var *twin;
	} twins[SN_NEST_ASSIGNS_MAX];
	int twin_count;
	struct sn_pnd_var *twin_locals;
};

/* ---- which part an assignment belongs to ---- */

static bool is_private(const struct sn_nest *nest, const struct sn_nest_assign *a)
{
	const struct sn_pnd_var *var = a->stmt->lhs->var;

	if (var->rank || var->kind != SN_VAR_LOCAL || !nest->phase_body)
		return false;
	for (int l = a->loop; l >= 0; l = nest->loops[l].parent)
		if (sn_pnd_is_private(nest->phase_body, nest->loops[l].stmt, var))
			return true;
	return false;
}

static bool reads(const struct sn_pnd_stmt *s, const struct sn_pnd_var *var)
{
	int count = sn_pnd_count_reads(s->rhs, var) + sn_pnd_count_reads(s->cond, var);

	for (int d = 0; s->lhs && d < s->lhs->arg_count; d++)
		count += sn_pnd_count_reads(s->lhs->args[d], var);
	return count || (s->lhs && s->lhs->var == var && s->punct != '=');
}

static bool is_if_in(const struct splitter *sp, const struct sn_nest_if *f, enum part part)
{
	for (int i = f->first_assign; i < f->end_assign; i++)
		if (sp->is_in[part][i])
			return true;
	return false;
}

/* Does a part read what this variable holds? The scalars' part takes some of it from elements. */
static bool part_reads(const struct splitter *sp, enum part part, const struct sn_pnd_var *var)
{
	const struct sn_nest *nest = sp->nest;

	for (int i = 0; i < nest->assign_count; i++)
		if (sp->is_in[part][i] && !(part == SCALARS && sp->stored_by[i] >= 0) &&
		    reads(nest->assigns[i].stmt, var))
			return true;
	for (int i = 0; i < nest->if_count; i++)
		if (is_if_in(sp, &nest->ifs[i], part) && reads(nest->ifs[i].stmt, var))
			return true;
	return false;
}

static void add_private(struct splitter *sp, enum part part)
{
	const struct sn_nest *nest = sp->nest;
	bool is_changed = true;

	while (is_changed) {
		is_changed = false;
		for (int i = 0; i < nest->assign_count; i++) {
			if (!sp->is_private[i] || sp->is_in[part][i] ||
			    !part_reads(sp, part, nest->assigns[i].stmt->lhs->var))
				continue;
			sp->is_in[part][i] = is_changed = true;
		}
	}
}

/* Does the elements' part need what the scalars' part computes? */
static bool needs_scalars(const struct splitter *sp)
{
	const struct sn_nest *nest = sp->nest;

	for (int i = 0; i < nest->assign_count; i++)
		if (sp->is_in[SCALARS][i] && !sp->is_private[i] &&
		    part_reads(sp, ELEMENTS, nest->assigns[i].stmt->lhs->var))
			return true;
	return false;
}

/* False if one of the parts has nothing in it. */
static bool find_parts(struct splitter *sp)
{
	const struct sn_nest *nest = sp->nest;
	bool has[PARTS] = { false };

	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *a = &nest->assigns[i];
		bool is_element = a->stmt->lhs->var->is_distributed;

		sp->is_private[i] = !is_element && is_private(nest, a);
		sp->is_in[ELEMENTS][i] = is_element;
		sp->is_in[SCALARS][i] = !is_element && !sp->is_private[i];
		sp->stored_by[i] = -1;
		has[ELEMENTS] |= is_element;
		has[SCALARS] |= sp->is_in[SCALARS][i];
	}
	return has[ELEMENTS] && has[SCALARS];
}

static int count_undivided(const struct sn_nest *nest)
{
	int count = 0;

	for (int i = 0; i < nest->assign_count; i++)
		count += nest->assigns[i].stmt->lhs->var->is_distributed &&
			 !sn_nest_is_divided(nest, nest->assigns[i].loop);
	return count;
}

/* ---- which part may run first ---- */

static struct sn_nest_access access_of(const struct sn_nest_assign *a)
{
	return (struct sn_nest_access){ a->subs, a->stmt->lhs->arg_count, a->loop, a->order, true };
}

/* Is an element what this assignment left there when the loop is over? */
static bool keeps_value(const struct sn_nest *nest, int store)
{
	const struct sn_nest_assign *a = &nest->assigns[store];
	struct sn_nest_access stored = access_of(a);

	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *b = &nest->assigns[i];
		struct sn_nest_access again = access_of(b);

		if (b->stmt->lhs->var == a->stmt->lhs->var &&
		    sn_nest_may_follow(nest, &stored, &again))
			return false;
	}
	return true;
}

static int index_of(const struct sn_nest *nest, const struct sn_pnd_stmt *s)
{
	const struct sn_nest_assign *a = sn_nest_assign_of(nest, s);

	return a ? (int)(a - nest->assigns) : -1;
}

static bool has_affine_subscripts(const struct sn_nest_assign *a)
{
	for (int d = 0; d < a->stmt->lhs->arg_count; d++)
		if (!a->subs[d].ok)
			return false;
	return true;
}

/* The block that a statement stands in, directly. */
static const struct sn_pnd_stmt *block_of(const struct sn_pnd_stmt *in, const struct sn_pnd_stmt *s)
{
	const struct sn_pnd_stmt *found = NULL;

	if (!in)
		return NULL;
	for (const struct sn_pnd_stmt *c = in->first; c && !found; c = c->next)
		found = c == s ? in : block_of(c, s);
	if (!found)
		found = block_of(in->body, s);
	return found ? found : block_of(in->otherwise, s);
}

/* Does something in a statement that is no element's need the scalar, but to compute it? */
static bool needs_scalar(const struct sn_nest *nest, const struct sn_pnd_stmt *in,
			 const struct sn_pnd_var *var)
{
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_pnd_stmt *s = nest->assigns[i].stmt;

		if (s->lhs->var != var && !s->lhs->var->is_distributed && reads(s, var) &&
		    sn_pnd_contains(in, s))
			return true;
	}
	for (int i = 0; i < nest->if_count; i++)
		if (reads(nest->ifs[i].stmt, var) && sn_pnd_contains(in, nest->ifs[i].stmt))
			return true;
	return false;
}

/* The statement of the store's block behind which the scalar has the value that is stored, and up to which
 * the scalars' part does not need it; NULL if there is none. */
static const struct sn_pnd_stmt *find_holder(const struct sn_nest *nest, int store)
{
	const struct sn_pnd_stmt *s = nest->assigns[store].stmt, *holder = NULL;
	const struct sn_pnd_stmt *block = block_of(nest->loops[0].stmt->body, s);
	const struct sn_pnd_var *var = s->rhs->var;
	int left = 0;

	for (int i = 0; i < nest->assign_count; i++)
		left += nest->assigns[i].stmt->lhs->var == var;
	for (const struct sn_pnd_stmt *c = block ? block->first : s; c != s; c = c->next)
		for (int i = 0; i < nest->assign_count; i++)
			if (nest->assigns[i].stmt->lhs->var == var &&
			    sn_pnd_contains(c, nest->assigns[i].stmt)) {
				holder = c;
				left--;
			}
	for (const struct sn_pnd_stmt *c = holder ? block->first : NULL; c; c = c->next) {
		if (needs_scalar(nest, c, var))
			return NULL;
		if (c == holder)
			break;
	}
	return left ? NULL : holder;
}

/* "B[i][j] = t;" behind all assignments of t: reads t from there. */
static void find_store(struct splitter *sp, int index)
{
	const struct sn_nest *nest = sp->nest;
	const struct sn_pnd_var *var = nest->assigns[index].stmt->lhs->var;

	for (int i = index + 1; i < nest->assign_count && sp->stored_by[index] < 0; i++) {
		const struct sn_pnd_stmt *s = nest->assigns[i].stmt;

		if (s->punct != '=' || s->rhs->kind != SN_E_VAR || s->rhs->var != var ||
		    !s->lhs->var->is_distributed || s->lhs->var->type != var->type ||
		    !has_affine_subscripts(&nest->assigns[i]) || !keeps_value(nest, i))
			continue;
		sp->holder[index] = find_holder(nest, i);
		if (sp->holder[index])
			sp->stored_by[index] = i;
	}
}

static bool is_read_by_scalars(const struct splitter *sp, const struct sn_nest_ref *ref)
{
	int index = index_of(sp->nest, ref->stmt);
	const struct sn_nest_if *f = index < 0 ? sn_nest_if_of(sp->nest, ref->stmt) : NULL;

	return index >= 0 ? sp->is_in[SCALARS][index] && sp->stored_by[index] < 0
			  : f && is_if_in(sp, f, SCALARS);
}

/* No element is written between the parts' uses of it in the wrong order. */
static bool may_run_first(const struct splitter *sp, enum part first)
{
	const struct sn_nest *nest = sp->nest;

	for (int r = 0; r < nest->ref_count; r++) {
		const struct sn_nest_ref *ref = &nest->refs[r];
		struct sn_nest_access read = { ref->subs, ref->expr->arg_count, ref->loop,
					       ref->order, false };

		if (!is_read_by_scalars(sp, ref))
			continue;
		for (int i = 0; i < nest->assign_count; i++) {
			struct sn_nest_access write = access_of(&nest->assigns[i]);

			if (nest->assigns[i].stmt->lhs->var != ref->expr->var)
				continue;
			if (first == ELEMENTS ? sn_nest_may_follow(nest, &read, &write)
					      : sn_nest_may_follow(nest, &write, &read))
				return false;
		}
	}
	return true;
}

/* Who comes first, and what the scalars' part needs; false if neither may. */
static bool find_order(struct splitter *sp)
{
	const struct sn_nest *nest = sp->nest;

	for (int i = 0; i < nest->assign_count; i++)
		if (sp->is_private[i])
			find_store(sp, i);
	add_private(sp, SCALARS);
	sp->elements_first = true;
	if (may_run_first(sp, ELEMENTS))
		return true;
	for (int i = 0; i < nest->assign_count; i++)
		sp->stored_by[i] = -1;
	add_private(sp, SCALARS);
	sp->elements_first = false;
	return may_run_first(sp, SCALARS);
}

/* Does anything in the nest read a counter outside of its loops, or anything after the nest? A part may
 * lack the loop. */
static bool reads_outside(const struct sn_pnd_stmt *s, const struct sn_pnd_var *counter)
{
	if (!s || (s->kind == SN_S_FOR && s->init && s->init->lhs->var == counter))
		return false;
	if (reads(s, counter))
		return true;
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
		if (reads_outside(c, counter))
			return true;
	return reads_outside(s->init, counter) || reads_outside(s->step, counter) ||
	       reads_outside(s->body, counter) || reads_outside(s->otherwise, counter);
}

static bool has_live_counter(const struct splitter *sp)
{
	const struct sn_nest *nest = sp->nest;
	const struct sn_pnd_stmt *root = nest->loops[0].stmt;

	for (int l = 1; l < nest->loop_count; l++)
		if (reads_outside(root->body, nest->loops[l].var) ||
		    !sn_pnd_is_private(nest->phase_body, root, nest->loops[l].var))
			return true;
	return false;
}

/* ---- copies of the loop ---- */

static struct sn_pnd_var *twin_of(const struct splitter *sp, const struct sn_pnd_var *var)
{
	for (int i = 0; i < sp->twin_count; i++)
		if (sp->twins[i].var == var)
			return sp->twins[i].twin;
	return NULL;
}

static struct sn_pnd_var *make_twin(struct splitter *sp, const struct sn_pnd_var *var)
{
	struct sn_pnd_var *twin = sn_arena_new(sp->program->arena, struct sn_pnd_var);

	*twin = *var;
	twin->next = NULL;
	twin->init = NULL;
	twin->name =
		sn_arena_printf(sp->program->arena, "pd_%s_%d", var->spelled, ++sp->program->names);
	sp->twins[sp->twin_count].var = var;
	sp->twins[sp->twin_count++].twin = twin;
	return twin;
}

/* Private scalars that both parts assign become two, so that each part has its own owners. */
static void find_twins(struct splitter *sp)
{
	const struct sn_nest *nest = sp->nest;

	sp->twin_count = 0;
	sp->twin_locals = NULL;
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_pnd_var *var = nest->assigns[i].stmt->lhs->var;

		if (sp->is_private[i] && sp->is_in[SCALARS][i] && sp->is_in[ELEMENTS][i] &&
		    !twin_of(sp, var)) {
			struct sn_pnd_var *twin = make_twin(sp, var);

			twin->next = sp->twin_locals;
			sp->twin_locals = twin;
		}
	}
}

static struct sn_pnd_expr *copy_expr(const struct splitter *sp, const struct sn_pnd_expr *e)
{
	struct sn_pnd_expr *copy;

	if (!e)
		return NULL;
	copy = sn_arena_new(sp->program->arena, struct sn_pnd_expr);
	*copy = *e;
	if (e->var && twin_of(sp, e->var))
		copy->var = twin_of(sp, e->var);
	copy->a = copy_expr(sp, e->a);
	copy->b = copy_expr(sp, e->b);
	copy->c = copy_expr(sp, e->c);
	if (e->arg_count)
		copy->args = sn_arena_array(sp->program->arena, struct sn_pnd_expr *,
					    (size_t)e->arg_count);
	for (int i = 0; i < e->arg_count; i++)
		copy->args[i] = copy_expr(sp, e->args[i]);
	return copy;
}

static struct sn_pnd_stmt *shallow_copy(const struct splitter *sp, const struct sn_pnd_stmt *s)
{
	struct sn_pnd_stmt *copy = sn_arena_new(sp->program->arena, struct sn_pnd_stmt);

	*copy = *s;
	copy->next = NULL;
	return copy;
}

static struct sn_pnd_stmt *copy_assign(const struct splitter *sp, const struct sn_pnd_stmt *s,
				       enum part part)
{
	int index = index_of(sp->nest, s);
	struct sn_pnd_stmt *copy;

	if (index < 0 || !sp->is_in[part][index] || (part == SCALARS && sp->stored_by[index] >= 0))
		return NULL;
	copy = shallow_copy(sp, s);
	if (part == SCALARS) {
		copy->lhs = copy_expr(sp, s->lhs);
		copy->rhs = copy_expr(sp, s->rhs);
	}
	return copy;
}

/* Does an assignment before this one read the same element into the same scalar? */
static bool is_loaded(const struct splitter *sp, int index)
{
	for (int i = 0; i < index; i++)
		if (sp->stored_by[i] == sp->stored_by[index])
			return true;
	return false;
}

/* What the scalars' part reads of elements behind a statement. */
static struct sn_pnd_stmt *copy_loads(const struct splitter *sp, const struct sn_pnd_stmt *holder)
{
	struct sn_pnd_stmt *first = NULL;

	for (int i = 0; i < sp->nest->assign_count; i++) {
		const struct sn_pnd_stmt *store;
		struct sn_pnd_stmt *load;

		if (sp->stored_by[i] < 0 || !sp->is_in[SCALARS][i] || sp->holder[i] != holder ||
		    is_loaded(sp, i))
			continue;
		store = sp->nest->assigns[sp->stored_by[i]].stmt;
		load = shallow_copy(sp, sp->nest->assigns[i].stmt);
		load->punct = '=';
		load->lhs = copy_expr(sp, store->rhs);
		load->rhs = copy_expr(sp, store->lhs);
		load->next = first;
		first = load;
	}
	return first;
}

static struct sn_pnd_stmt *copy_stmt(struct splitter *sp, const struct sn_pnd_stmt *s,
				     enum part part);

/* Its locals are declared around both parts. */
static struct sn_pnd_stmt *copy_block(struct splitter *sp, const struct sn_pnd_stmt *s,
				      enum part part)
{
	struct sn_pnd_stmt *copy = shallow_copy(sp, s), **last = &copy->first;

	copy->locals = NULL;
	copy->first = NULL;
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next) {
		*last = copy_stmt(sp, c, part);
		if (*last)
			last = &(*last)->next;
		if (part == SCALARS)
			*last = copy_loads(sp, c);
		for (; *last; last = &(*last)->next)
			;
	}
	return copy->first ? copy : NULL;
}

static struct sn_pnd_stmt *copy_if(struct splitter *sp, const struct sn_pnd_stmt *s, enum part part)
{
	struct sn_pnd_stmt *copy = shallow_copy(sp, s);

	copy->body = copy_stmt(sp, s->body, part);
	copy->otherwise = s->otherwise ? copy_stmt(sp, s->otherwise, part) : NULL;
	if (!copy->body && !copy->otherwise)
		return NULL;
	if (part == SCALARS)
		copy->cond = copy_expr(sp, s->cond);
	if (!copy->body) {
		copy->body = shallow_copy(sp, s->body);
		copy->body->kind = SN_S_EMPTY;
	}
	return copy;
}

static struct sn_pnd_stmt *copy_for(struct splitter *sp, const struct sn_pnd_stmt *s,
				    enum part part)
{
	struct sn_pnd_stmt *copy = shallow_copy(sp, s);

	copy->init = shallow_copy(sp, s->init);
	copy->step = shallow_copy(sp, s->step);
	copy->body = copy_stmt(sp, s->body, part);
	return copy->body ? copy : NULL;
}

/* A part of a statement, without what follows it; NULL if nothing of it is in that part. */
static struct sn_pnd_stmt *copy_stmt(struct splitter *sp, const struct sn_pnd_stmt *s,
				     enum part part)
{
	switch (s->kind) {
	case SN_S_BLOCK:
		return copy_block(sp, s, part);
	case SN_S_ASSIGN:
		return copy_assign(sp, s, part);
	case SN_S_IF:
		return copy_if(sp, s, part);
	case SN_S_FOR:
		return copy_for(sp, s, part);
	default:
		return NULL;
	}
}

/* Moves what the blocks of a loop declare to the end of a list. */
static void move_locals(struct splitter *sp, struct sn_pnd_stmt *s, struct sn_pnd_var **list)
{
	if (!s)
		return;
	for (struct sn_pnd_var *v = s->locals, *next; v; v = next) {
		struct sn_pnd_var **last = list;

		next = v->next;
		v->next = NULL;
		for (; *last; last = &(*last)->next)
			if (!strcmp((*last)->name, v->name))
				v->name = sn_arena_printf(sp->program->arena, "pd_%s_%d",
							  v->spelled, ++sp->program->names);
		*last = v;
	}
	for (struct sn_pnd_stmt *c = s->first; c; c = c->next)
		move_locals(sp, c, list);
	move_locals(sp, s->body, list);
	move_locals(sp, s->otherwise, list);
}

/* Puts the two parts in the place of the loop. False, and nothing is changed, if that divides no more of
 * what assigns elements. */
static bool replace(struct splitter *sp, struct sn_pnd_stmt *s)
{
	struct sn_pnd_stmt *before = shallow_copy(sp, s), *parts[PARTS];
	int undivided = count_undivided(sp->nest);

	before->next = s->next;
	parts[ELEMENTS] = copy_stmt(sp, s, ELEMENTS);
	find_twins(sp);
	parts[SCALARS] = copy_stmt(sp, s, SCALARS);
	*s = (struct sn_pnd_stmt){ .kind = SN_S_BLOCK,
				   .pos = s->pos,
				   .zone = s->zone,
				   .next = s->next,
				   .is_split = true,
				   .locals = sp->twin_locals,
				   .first = parts[sp->elements_first ? ELEMENTS : SCALARS] };
	s->first->next = parts[sp->elements_first ? SCALARS : ELEMENTS];
	if (sn_nest_plan(sp->half, sp->program, parts[ELEMENTS], ++*sp->mark,
			 sp->may_reassociate) &&
	    count_undivided(sp->half) < undivided) {
		move_locals(sp, before, &s->locals);
		return true;
	}
	*s = *before;
	return false;
}

/* True if the loop is two now, or there is nothing to gain in the loops in it either. */
static bool split(struct splitter *sp, struct sn_pnd_stmt *s)
{
	if (!sn_nest_plan(sp->nest, sp->program, s, ++*sp->mark, sp->may_reassociate))
		return false;
	if (!find_parts(sp) || !count_undivided(sp->nest))
		return true;
	add_private(sp, ELEMENTS);
	return !needs_scalars(sp) && !has_live_counter(sp) && find_order(sp) && replace(sp, s);
}

static void split_all(struct splitter *sp, struct sn_pnd_stmt *s)
{
	if (!s || (s->kind == SN_S_FOR && split(sp, s)))
		return;
	for (struct sn_pnd_stmt *c = s->first; c; c = c->next)
		split_all(sp, c);
	split_all(sp, s->body);
	split_all(sp, s->otherwise);
}

/* Plans compare ids for what comes first. */
static void number(struct sn_pnd_program *program, struct sn_pnd_stmt *s)
{
	if (!s)
		return;
	number(program, s->init);
	number(program, s->step);
	if (s->kind == SN_S_ASSIGN || s->kind == SN_S_OBSERVE)
		s->id = program->assign_count++;
	for (struct sn_pnd_stmt *c = s->first; c; c = c->next)
		number(program, c);
	number(program, s->body);
	number(program, s->otherwise);
}

void sn_pnd_split_loops(struct sn_pnd_program *program, bool may_reassociate, unsigned *mark)
{
	struct splitter *sp = sn_arena_new(program->arena, struct splitter);

	sp->program = program;
	sp->may_reassociate = may_reassociate;
	sp->mark = mark;
	sp->nest = sn_arena_new(program->arena, struct sn_nest);
	sp->half = sn_arena_new(program->arena, struct sn_nest);
	for (struct sn_pnd_phase *ph = program->phases; ph; ph = ph->next)
		split_all(sp, ph->body);
	program->assign_count = 0;
	for (struct sn_pnd_function *fn = program->functions; fn; fn = fn->next)
		number(program, fn->body);
	for (struct sn_pnd_phase *ph = program->phases; ph; ph = ph->next)
		number(program, ph->body);
}
