/* Which loops are chains. A loop is one if it assigns nothing but scalars, and one node owns what each of its
 * iterations reads first. If the nodes' parts may run at the same time, it may assign elements of that node, too. */
#include "pandore/compiler/chains.h"

#include "pandore/compiler/dependence.h"
#include "pandore/compiler/liveness.h"

/* A block dealt out in turn must hold that many elements: each block is a message. */
enum { DEALT_MIN = 64 };

/* Scalars that every node keeps, elements, and no loop that may not run. Counts elements, or returns -1. */
static int count_elements(const struct sn_nest *nest, int loop)
{
	int scalars = 0, elements = 0;

	for (int l = loop; l < nest->loop_count; l++)
		if (sn_nest_is_inside(nest, l, loop) &&
		    (nest->loops[l].in_if >= 0 || !nest->loops[l].low.ok ||
		     !nest->loops[l].high.ok))
			return -1;
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *a = &nest->assigns[i];

		if (!sn_nest_is_inside(nest, a->loop, loop))
			continue;
		if (a->added || (a->stmt->lhs->var->rank && !a->stmt->lhs->var->is_distributed))
			return -1;
		elements += a->target->var->is_distributed;
		scalars += !a->target->var->is_distributed;
	}
	return scalars ? elements : -1;
}

/* Does the owner of this element own all that the loop assigns, and needs nothing that others assign in it? */
static bool owns_elements(const struct sn_nest *nest, int loop, const struct sn_pnd_expr *element,
			  struct sn_affine *subs)
{
	struct sn_nest_assign owner = { .target = element, .subs = subs };

	for (int i = 0; i < nest->assign_count; i++)
		if (sn_nest_is_inside(nest, nest->assigns[i].loop, loop) &&
		    nest->assigns[i].target->var->is_distributed &&
		    !sn_nest_has_one_owner(&nest->assigns[i], &owner))
			return false;
	for (int i = 0; i < nest->ref_count; i++) {
		struct sn_nest_ref ref = nest->refs[i];

		if (!sn_nest_is_inside(nest, ref.loop, loop))
			continue;
		sn_nest_place(nest, &ref);
		if (!ref.is_local && ref.level >= nest->loops[loop].depth)
			return false;
	}
	return true;
}

/* An element that the loop reads; its owner is known from the counters down to this loop's. */
static const struct sn_pnd_expr *find_element(const struct sn_nest *nest, int loop, int *in)
{
	for (int i = 0; i < nest->if_count; i++)
		if (sn_nest_is_inside(nest, nest->ifs[i].loop, loop) &&
		    sn_nest_first_element(nest->ifs[i].stmt->cond)) {
			*in = nest->ifs[i].loop;
			return sn_nest_first_element(nest->ifs[i].stmt->cond);
		}
	for (int i = 0; i < nest->assign_count; i++)
		if (sn_nest_is_inside(nest, nest->assigns[i].loop, loop) &&
		    sn_nest_first_element(nest->assigns[i].stmt->rhs)) {
			*in = nest->assigns[i].loop;
			return sn_nest_first_element(nest->assigns[i].stmt->rhs);
		}
	return NULL;
}

static bool has_long_spans(const struct sn_nest *nest, int loop, const struct sn_pnd_expr *element,
			   const struct sn_affine *subs)
{
	const struct sn_pnd_var *var = element->var;
	int governed = 0;

	for (int d = 0; d < var->rank; d++) {
		if (var->grid[d] == 1)
			continue;
		if (!subs[d].ok)
			return false;
		for (int l = 0; l < nest->loop_count; l++)
			if (subs[d].coef[l] && nest->loops[l].depth > nest->loops[loop].depth)
				return false;
		if (!subs[d].coef[loop])
			continue;
		if (governed++ ||
		    (var->is_wrapped && (var->late_block[d] || var->block[d] < DEALT_MIN)))
			return false;
	}
	return true;
}

/* Would all nodes get the operands anew before each run of the loop? Else they move less often than a
 * chain's messages would. */
static bool saves_messages(const struct sn_nest *nest, int loop)
{
	for (int i = 0; i < nest->ref_count; i++) {
		struct sn_nest_ref ref = nest->refs[i];

		if (!sn_nest_is_inside(nest, ref.loop, loop) || ref.is_subscript)
			continue;
		sn_nest_place(nest, &ref);
		if (ref.level >= nest->loops[loop].depth - 1)
			return true;
	}
	return false;
}

int sn_nest_chained(const struct sn_nest *nest, int loop, const struct sn_pnd_var **out, int room)
{
	int count = 0;

	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_pnd_var *var = nest->assigns[i].stmt->lhs->var;
		bool is_known = false;

		if (var->rank || !sn_nest_is_inside(nest, nest->assigns[i].loop, loop) ||
		    (nest->phase_body &&
		     sn_pnd_is_private(nest->phase_body, nest->loops[loop].stmt, var)))
			continue;
		for (int k = 0; k < count && k < room; k++)
			is_known |= out[k] == var;
		if (!is_known && count < room)
			out[count] = var;
		count += !is_known;
	}
	return count;
}

/* ---- chains whose parts may run at the same time ---- */

/* The only assignment of a scalar in a loop; -1: there are more. */
static int only_assignment(const struct sn_nest *nest, int loop, const struct sn_pnd_var *var)
{
	int found = -1;

	for (int i = 0; i < nest->assign_count; i++) {
		if (nest->assigns[i].stmt->lhs->var != var ||
		    !sn_nest_is_inside(nest, nest->assigns[i].loop, loop))
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

static const struct sn_nest_if *innermost_if(const struct sn_nest *nest, int assign)
{
	const struct sn_nest_if *found = NULL;

	for (int i = 0; i < nest->if_count; i++)
		if (nest->ifs[i].first_assign <= assign && assign < nest->ifs[i].end_assign)
			found = &nest->ifs[i];
	return found;
}

/* "if (e > d) d = e;", d < e, and the like: what is compared with the scalar, or NULL. */
static const struct sn_pnd_expr *compared_with(const struct sn_pnd_expr *cond,
					       const struct sn_pnd_var *var, bool *is_largest)
{
	const struct sn_pnd_expr *left = cond->a, *right = cond->b;
	bool is_left;

	if (cond->kind != SN_E_BINARY || (cond->punct != '<' && cond->punct != '>') || !left ||
	    !right)
		return NULL;
	is_left = left->kind == SN_E_VAR && left->var == var;
	if (!is_left && !(right->kind == SN_E_VAR && right->var == var))
		return NULL;
	*is_largest = is_left == (cond->punct == '<');
	return is_left ? right : left;
}

/* The scalar that this if makes larger or smaller; NULL if it does not. */
static const struct sn_pnd_var *extreme_of(const struct sn_nest *nest, const struct sn_nest_if *f,
					   bool *is_largest)
{
	const struct sn_pnd_expr *cond = f->stmt->cond;

	if (f->stmt->otherwise || !sn_nest_has_only_assigns(f->stmt->body))
		return NULL;
	for (int i = f->first_assign; i < f->end_assign; i++) {
		const struct sn_pnd_stmt *s = nest->assigns[i].stmt;
		const struct sn_pnd_expr *other = compared_with(cond, s->lhs->var, is_largest);

		if (other && s->lhs->kind == SN_E_VAR && s->punct == '=' &&
		    other->type == s->lhs->type && sn_pnd_same_expr(other, s->rhs) &&
		    !sn_pnd_count_reads(other, s->lhs->var))
			return s->lhs->var;
	}
	return NULL;
}

/* Owners of the key come one after the other, each once. */
static bool has_one_piece_each(const struct sn_nest *nest, int loop)
{
	const struct sn_nest_loop *l = &nest->loops[loop];

	return l->key >= 0 && l->governed >= 0 && !nest->assigns[l->key].target->var->is_wrapped;
}

static bool find_extremes(const struct sn_nest *nest, int loop, struct sn_nest_extreme *out)
{
	const struct sn_pnd_var *vars[SN_NEST_ASSIGNS_MAX];
	int count = sn_nest_chained(nest, loop, vars, SN_NEST_ASSIGNS_MAX);

	for (int i = 0; i < count; i++) {
		int assign = only_assignment(nest, loop, vars[i]);
		const struct sn_nest_if *f = assign < 0 ? NULL : innermost_if(nest, assign);
		const struct sn_pnd_var *extreme =
			f ? extreme_of(nest, f, &out[i].is_largest) : NULL;
		int uses = extreme == vars[i] ? 2 : 1;

		if (!extreme || nest->assigns[assign].stmt->punct != '=' ||
		    sn_pnd_count_uses(nest->loops[loop].stmt, vars[i]) != uses)
			return false;
		out[i].decided_by = -1;
		for (int k = 0; k < count; k++)
			if (vars[k] == extreme)
				out[i].decided_by = k;
		if (out[i].decided_by < 0)
			return false;
	}
	return count > 0;
}

bool sn_nest_find_extremes(const struct sn_nest *nest, int loop, struct sn_nest_extreme *out)
{
	return has_one_piece_each(nest, loop) && find_extremes(nest, loop, out);
}

bool sn_nest_is_in_turns(const struct sn_nest *nest, int loop)
{
	struct sn_nest_extreme extremes[SN_NEST_ASSIGNS_MAX];

	return nest->loops[loop].mode == SN_LOOP_CHAIN && nest->loops[loop].governed >= 0 &&
	       !sn_nest_find_extremes(nest, loop, extremes);
}

/* ---- */

static bool is_in_chain(const struct sn_nest *nest, int loop)
{
	for (; loop >= 0; loop = nest->loops[loop].parent)
		if (nest->loops[loop].is_chain)
			return true;
	return false;
}

static void make_chain(struct sn_nest *nest, int loop)
{
	const struct sn_pnd_expr *element;
	struct sn_affine *subs;
	struct sn_nest_extreme extremes[SN_NEST_ASSIGNS_MAX];
	int in = loop, elements = count_elements(nest, loop);

	if (is_in_chain(nest, loop) || elements < 0)
		return;
	element = find_element(nest, loop, &in);
	subs = element ? sn_nest_read_subs(nest, element, in) : NULL;
	if (!element || !has_long_spans(nest, loop, element, subs) || !saves_messages(nest, loop))
		return;
	if (elements && (element->var->is_wrapped || !find_extremes(nest, loop, extremes) ||
			 !owns_elements(nest, loop, element, subs)))
		return;
	nest->loops[loop].is_chain = true;
	for (int i = 0; i < nest->assign_count; i++) {
		struct sn_nest_assign *a = &nest->assigns[i];

		if (!sn_nest_is_inside(nest, a->loop, loop) || a->target->var->is_distributed)
			continue;
		a->target = element;
		a->subs = subs;
		for (int r = 0; r < nest->ref_count; r++)
			if (nest->refs[r].stmt == a->stmt && !nest->refs[r].is_subscript)
				nest->refs[r].assign = i;
	}
}

void sn_nest_find_chains(struct sn_nest *nest)
{
	for (int loop = 0; loop < nest->loop_count; loop++)
		make_chain(nest, loop);
}
