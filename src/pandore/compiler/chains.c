/* Which loops are chains. A loop is one if it assigns nothing but scalars, and one node owns what each of its
 * iterations reads first. */
#include "pandore/compiler/chains.h"

#include "pandore/compiler/dependence.h"
#include "pandore/compiler/liveness.h"

/* A block dealt out in turn must hold that many elements: each block is a message. */
enum { DEALT_MIN = 64 };

/* Only scalars that every node keeps, and no loop that may not run. */
static bool assigns_only_scalars(const struct sn_nest *nest, int loop)
{
	int count = 0;

	for (int l = loop; l < nest->loop_count; l++)
		if (sn_nest_is_inside(nest, l, loop) &&
		    (nest->loops[l].in_if >= 0 || !nest->loops[l].low.ok ||
		     !nest->loops[l].high.ok))
			return false;
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *a = &nest->assigns[i];

		if (!sn_nest_is_inside(nest, a->loop, loop))
			continue;
		if (a->target->var->is_distributed || a->stmt->lhs->var->rank || a->added)
			return false;
		count++;
	}
	return count > 0;
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
	int in = loop;

	if (is_in_chain(nest, loop) || !assigns_only_scalars(nest, loop))
		return;
	element = find_element(nest, loop, &in);
	subs = element ? sn_nest_read_subs(nest, element, in) : NULL;
	if (!element || !has_long_spans(nest, loop, element, subs) || !saves_messages(nest, loop))
		return;
	nest->loops[loop].is_chain = true;
	for (int i = 0; i < nest->assign_count; i++) {
		struct sn_nest_assign *a = &nest->assigns[i];

		if (!sn_nest_is_inside(nest, a->loop, loop))
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

int sn_nest_chained(const struct sn_nest *nest, int loop, const struct sn_pnd_var **out, int room)
{
	int count = 0;

	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_pnd_var *var = nest->assigns[i].stmt->lhs->var;
		bool is_known = false;

		if (!sn_nest_is_inside(nest, nest->assigns[i].loop, loop) ||
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
