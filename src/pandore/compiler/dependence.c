/*
 * Whether a write of a loop nest can reach a read of it, and in which iteration. Subscripts are
 * compared as affine forms (the GCD test and Banerjee's bounds). What cannot be excluded is taken
 * for a dependence. The answers decide where messages go and which loops may be exchanged or
 * pipelined.
 */
#include "pandore/compiler/dependence.h"

#include <string.h>

/* A difference of two subscripts: counters of the write's iteration and of the read's. */
struct difference {
	int64_t constant;
	int64_t write[SN_NEST_LOOPS_MAX], read[SN_NEST_LOOPS_MAX];
	struct sn_affine symbols; /* only its symbols are used */
};

struct level_test {
	const struct sn_nest *nest;
	int write_loop, read_loop;
	/* loop depth that carries the dependence; below it the iterations are the same */
	int level;
	bool is_carried;
};

static bool affine_equal(const struct sn_affine *a, const struct sn_affine *b)
{
	if (!a->ok || !b->ok || a->constant != b->constant ||
	    memcmp(a->coef, b->coef, sizeof(a->coef)) || a->symbol_count != b->symbol_count)
		return false;
	for (int i = 0; i < a->symbol_count; i++)
		if (a->symbols[i].var != b->symbols[i].var ||
		    a->symbols[i].coef != b->symbols[i].coef)
			return false;
	return true;
}

static int64_t gcd(int64_t a, int64_t b)
{
	a = a < 0 ? -a : a;
	b = b < 0 ? -b : b;
	while (b) {
		int64_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

static void add_symbols(struct difference *d, const struct sn_affine *a, int64_t factor)
{
	for (int i = 0; i < a->symbol_count; i++) {
		int k = 0;

		while (k < d->symbols.symbol_count &&
		       d->symbols.symbols[k].var != a->symbols[i].var)
			k++;
		if (k == SN_NEST_SYMBOLS_MAX) {
			d->symbols.ok = false;
			return;
		}
		if (k == d->symbols.symbol_count) {
			d->symbols.symbols[k].var = a->symbols[i].var;
			d->symbols.symbols[k].coef = 0;
			d->symbols.symbol_count++;
		}
		d->symbols.symbols[k].coef += factor * a->symbols[i].coef;
	}
}

static bool is_shared(const struct level_test *t, int loop)
{
	int depth = t->nest->loops[loop].depth;

	return depth < t->level && sn_nest_ancestor(t->nest, t->read_loop, depth) == loop;
}

/* Adds factor * affine, with counters of the write's or the read's iteration. */
static void add_affine(const struct level_test *t, struct difference *d, const struct sn_affine *a,
		       int64_t factor, bool of_write)
{
	d->constant += factor * a->constant;
	for (int l = 0; l < t->nest->loop_count; l++)
		*(of_write && !is_shared(t, l) ? &d->write[l] : &d->read[l]) += factor * a->coef[l];
	d->symbols.ok &= a->ok;
	add_symbols(d, a, factor);
}

/* Replaces a counter by the bound that makes the form smallest or largest. */
static void eliminate(const struct level_test *t, struct difference *d, int loop, bool of_write,
		      bool smallest)
{
	const struct sn_nest_loop *l = &t->nest->loops[loop];
	int64_t *place = of_write ? &d->write[loop] : &d->read[loop], coef = *place;
	bool take_low = (coef > 0) == smallest;
	bool carries = t->is_carried && l->depth == t->level;
	int64_t gap = l->step < 0 ? -l->step : l->step;

	if (!coef)
		return;
	*place = 0;
	if (carries && of_write && take_low == (l->step < 0)) {
		/* the write's iteration is before the read's */
		d->read[loop] += coef;
		d->constant += coef * (l->step > 0 ? -gap : gap);
		return;
	}
	add_affine(t, d, take_low ? &l->low : &l->high, coef, of_write);
	if (carries && !of_write && take_low == (l->step > 0))
		d->constant += coef * (l->step > 0 ? gap : -gap);
}

static void eliminate_path(const struct level_test *t, struct difference *d, int loop,
			   int down_to_depth, bool of_write, bool smallest)
{
	for (; loop >= 0 && t->nest->loops[loop].depth >= down_to_depth;
	     loop = t->nest->loops[loop].parent)
		eliminate(t, d, loop, of_write, smallest);
}

/* The bound of a difference, or false if none is known. */
static bool bound(const struct level_test *t, struct difference d, bool smallest, int64_t *out)
{
	int deep = t->level + (t->is_carried ? 1 : 0);

	d.symbols.ok = true;
	eliminate_path(t, &d, t->write_loop, deep, true, smallest);
	eliminate_path(t, &d, t->read_loop, deep, false, smallest);
	if (t->is_carried)
		eliminate(t, &d, sn_nest_ancestor(t->nest, t->write_loop, t->level), true,
			  smallest);
	eliminate_path(t, &d, sn_nest_ancestor(t->nest, t->read_loop, deep - 1), 1, false,
		       smallest);
	if (!d.symbols.ok)
		return false;
	for (int i = 0; i < d.symbols.symbol_count; i++)
		if (d.symbols.symbols[i].coef)
			return false;
	*out = d.constant;
	return true;
}

/* A counter's values are start + stride * k; 0 + 1 * k where the start is no constant. */
static int64_t stride_of(const struct sn_nest_loop *l, int64_t *start)
{
	const struct sn_affine *first = l->step > 0 ? &l->low : &l->high;
	bool is_constant = first->ok;

	for (int i = 0; i < SN_NEST_LOOPS_MAX; i++)
		is_constant &= !first->coef[i];
	for (int i = 0; i < first->symbol_count; i++)
		is_constant &= !first->symbols[i].coef;
	*start = is_constant ? first->constant : 0;
	return is_constant ? l->step : 1;
}

/* True if no pair of iterations at this level can have this difference zero. */
static bool excludes(const struct level_test *t, const struct sn_affine *write,
		     const struct sn_affine *read)
{
	struct difference d = { .symbols.ok = true };
	int64_t divisor = 0, constant, smallest, largest;
	bool has_symbols = false;

	if (!write->ok || !read->ok)
		return false;
	add_affine(t, &d, write, 1, true);
	add_affine(t, &d, read, -1, false);
	constant = d.constant;
	for (int l = 0; l < t->nest->loop_count; l++) {
		int64_t start, step = stride_of(&t->nest->loops[l], &start);

		constant += (d.write[l] + d.read[l]) * start;
		divisor = gcd(gcd(divisor, d.write[l] * step), d.read[l] * step);
	}
	for (int i = 0; i < d.symbols.symbol_count; i++)
		has_symbols |= d.symbols.symbols[i].coef != 0;
	if (!has_symbols && (divisor ? constant % divisor != 0 : constant != 0))
		return true;
	return (bound(t, d, true, &smallest) && smallest > 0) ||
	       (bound(t, d, false, &largest) && largest < 0);
}

static bool may_depend(const struct level_test *t, const struct sn_affine *write,
		       const struct sn_affine *read, int rank)
{
	for (int d = 0; d < rank; d++)
		if (excludes(t, &write[d], &read[d]))
			return false;
	return true;
}

static int common_depth(const struct sn_nest *nest, int a, int b)
{
	int depth = nest->loops[a].depth < nest->loops[b].depth ? nest->loops[a].depth
								: nest->loops[b].depth;

	while (depth > 0 && sn_nest_ancestor(nest, a, depth) != sn_nest_ancestor(nest, b, depth))
		depth--;
	return depth;
}

/* The deepest level at which the second access may meet the first one's element later, 0 is none but the
 * text's order; -1 if it never does. */
static int deepest_level(const struct sn_nest *nest, const struct sn_nest_access *first,
			 const struct sn_nest_access *then, bool is_first_in_iteration)
{
	int common = common_depth(nest, first->loop, then->loop);
	struct level_test t = { nest, first->loop, then->loop, common + 1, false };

	if (is_first_in_iteration && may_depend(&t, first->subs, then->subs, then->rank))
		return common;
	t.is_carried = true;
	for (t.level = common; t.level >= 1; t.level--)
		if (may_depend(&t, first->subs, then->subs, then->rank))
			return t.level;
	return -1;
}

bool sn_nest_may_follow(const struct sn_nest *nest, const struct sn_nest_access *first,
			const struct sn_nest_access *then)
{
	bool is_first = first->is_write ? first->order < then->order : first->order <= then->order;

	return deepest_level(nest, first, then, is_first) >= 0;
}

/* The deepest level that a true dependence from this write forces the messages into. */
static int forced_level(const struct sn_nest *nest, const struct sn_nest_assign *w,
			const struct sn_nest_ref *r)
{
	struct sn_nest_access write = { w->subs, r->expr->arg_count, w->loop, w->order, true };
	struct sn_nest_access read = { r->subs, r->expr->arg_count, r->loop, r->order, false };
	int level = deepest_level(nest, &write, &read, w->stmt != r->stmt && w->order < r->order);

	return level < 0 ? 0 : level;
}

/* The dimensions that are cut, slowest first: they alone decide the owner. */
static int cut_dimensions(const struct sn_pnd_var *v, int *out)
{
	int count = 0;

	for (int k = 0; k < v->rank; k++)
		if (v->grid[v->order[k]] > 1)
			out[count++] = v->order[k];
	return count;
}

static bool is_cut_alike(const struct sn_pnd_var *a, int x, const struct sn_pnd_var *b, int y)
{
	if (!sn_pnd_same_size(a->block[x], a->late_block[x], b->block[y], b->late_block[y]))
		return false;
	if (!a->late_block[x] && !a->late_extent[x] && !b->late_extent[y])
		return a->grid[x] == b->grid[y];
	return sn_pnd_same_size(a->extent[x], a->late_extent[x], b->extent[y], b->late_extent[y]);
}

/* The number of the block, floor(subscript / block), with both divided by what divides the block and all
 * coefficients: of U[2 * i + 1] in blocks of 512 it is that of i in blocks of 256. */
static struct sn_affine block_number(const struct sn_affine *subscript, int64_t *block)
{
	struct sn_affine a = *subscript;
	int64_t divisor = *block;

	for (int l = 0; l < SN_NEST_LOOPS_MAX; l++)
		divisor = gcd(divisor, a.coef[l]);
	for (int i = 0; i < a.symbol_count; i++)
		divisor = gcd(divisor, a.symbols[i].coef);
	for (int l = 0; l < SN_NEST_LOOPS_MAX; l++)
		a.coef[l] /= divisor;
	for (int i = 0; i < a.symbol_count; i++)
		a.symbols[i].coef /= divisor;
	a.constant = a.constant / divisor - (a.constant % divisor < 0);
	*block /= divisor;
	return a;
}

static bool is_in_one_block(const struct sn_pnd_var *a, int x, const struct sn_affine *a_subscript,
			    const struct sn_pnd_var *b, int y, const struct sn_affine *b_subscript)
{
	int64_t a_block = a->block[x], b_block = b->block[y];
	struct sn_affine a_number, b_number;

	if (is_cut_alike(a, x, b, y) && affine_equal(a_subscript, b_subscript))
		return true;
	if (a->late_block[x] || a->late_extent[x] || b->late_block[y] || b->late_extent[y] ||
	    a->grid[x] != b->grid[y] || !a_subscript->ok || !b_subscript->ok)
		return false;
	a_number = block_number(a_subscript, &a_block);
	b_number = block_number(b_subscript, &b_block);
	return a_block == b_block && affine_equal(&a_number, &b_number);
}

/* One node owns both elements whatever the counters: the same numbers of blocks in the dimensions that
 * are cut, which need not be the same in number. */
static bool is_aligned(const struct sn_pnd_var *a, const struct sn_affine *a_subs,
		       const struct sn_pnd_var *b, const struct sn_affine *b_subs)
{
	int x[SN_PND_RANK_MAX], y[SN_PND_RANK_MAX], count;

	if (!a->is_distributed || !b->is_distributed)
		return false;
	count = cut_dimensions(a, x);
	/* with at most one block a node both mappings are one */
	if (cut_dimensions(b, y) != count ||
	    (count && a->is_wrapped != b->is_wrapped && a->blocks_per_node > 1))
		return false;
	for (int k = 0; k < count; k++)
		if (!is_in_one_block(a, x[k], &a_subs[x[k]], b, y[k], &b_subs[y[k]]))
			return false;
	return true;
}

bool sn_nest_has_one_owner(const struct sn_nest_assign *a, const struct sn_nest_assign *b)
{
	return is_aligned(a->target->var, a->subs, b->target->var, b->subs);
}

/* Do counters that are free where the messages stand decide more than one subscript each, so that a
 * box around the elements has more than twice as many? A[i][i], A[i + j][i - j]. */
static bool is_coupled(const struct sn_nest *nest, const struct sn_nest_ref *ref)
{
	int counters = 0, shared = 0, dimensions = 0;

	for (int d = 0; d < ref->expr->arg_count; d++)
		for (int l = 0, seen = 0; l < nest->loop_count && !seen; l++)
			if (ref->subs[d].coef[l] && nest->loops[l].depth > ref->level) {
				dimensions++;
				seen = 1;
			}
	for (int l = 0; l < nest->loop_count; l++) {
		int count = 0;

		if (nest->loops[l].depth <= ref->level)
			continue;
		for (int d = 0; d < ref->expr->arg_count; d++)
			count += ref->subs[d].coef[l] != 0;
		counters += count > 0;
		shared += count > 1;
	}
	return shared && (counters < dimensions || shared > 1);
}

static bool can_list(const struct sn_nest *nest, const struct sn_nest_ref *ref)
{
	return sn_nest_can_inspect(nest, ref->expr, ref->loop) &&
	       (ref->assign < 0 ||
		sn_nest_can_inspect(nest, nest->assigns[ref->assign].target, ref->loop));
}

static void list_if_coupled(const struct sn_nest *nest, struct sn_nest_ref *ref)
{
	ref->is_inspected |= is_coupled(nest, ref) && can_list(nest, ref);
}

void sn_nest_place(const struct sn_nest *nest, struct sn_nest_ref *ref)
{
	const struct sn_nest_assign *needs = ref->assign < 0 ? NULL : &nest->assigns[ref->assign];

	if (ref->assign >= 0 &&
	    is_aligned(ref->expr->var, ref->subs, needs->target->var, needs->subs)) {
		ref->is_local = true;
		return;
	}
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *w = &nest->assigns[i];
		int level;

		if (w->stmt->lhs->var != ref->expr->var)
			continue;
		level = forced_level(nest, w, ref);
		ref->level = level > ref->level ? level : ref->level;
	}
	for (int d = 0; d < ref->expr->arg_count; d++)
		ref->is_inspected |= !ref->subs[d].ok;
	ref->is_inspected = ref->is_inspected && can_list(nest, ref);
	list_if_coupled(nest, ref);
	/* bounds that are no affine forms of inner counters must be known where messages stand */
	for (int l = ref->loop; l >= 0; l = nest->loops[l].parent) {
		const struct sn_nest_loop *loop = &nest->loops[l];

		if (loop->depth > ref->level && !(loop->low.ok && loop->high.ok) &&
		    loop->bounds_depth > ref->level)
			ref->level = loop->bounds_depth;
	}
}

const struct sn_pnd_stmt *sn_nest_anchor(const struct sn_nest *nest, const struct sn_nest_ref *ref)
{
	const struct sn_pnd_stmt *anchor = ref->stmt;
	int loop = sn_nest_ancestor(nest, ref->loop, ref->level), in_if = ref->in_if;

	if (nest->loops[ref->loop].depth != ref->level) {
		int inner = sn_nest_ancestor(nest, ref->loop, ref->level + 1);

		anchor = nest->loops[inner].stmt;
		in_if = nest->loops[inner].in_if;
	}
	/* not every node decides an owned if: what it needs is sent before it */
	for (; in_if >= 0 && nest->ifs[in_if].loop == loop; in_if = nest->ifs[in_if].parent)
		if (nest->ifs[in_if].owner_count)
			anchor = nest->ifs[in_if].stmt;
	return anchor;
}

/* Whether a message stands inside this loop. */
static bool has_inner_messages(const struct sn_nest *nest, int loop)
{
	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];

		if (!r->is_local && r->level >= nest->loops[loop].depth &&
		    sn_nest_is_inside(nest, r->loop, loop))
			return true;
	}
	return false;
}

/* ---- who runs which iterations ---- */

static bool has_conditional_loop(const struct sn_nest *nest, int loop)
{
	for (int l = 0; l < nest->loop_count; l++)
		if (l != loop && nest->loops[l].is_conditional && !nest->loops[l].is_dead &&
		    sn_nest_is_inside(nest, l, loop))
			return true;
	return false;
}

static void find_key(const struct sn_nest *nest, struct sn_nest_loop *l, int loop)
{
	l->key = -1;
	l->is_uniform = !has_conditional_loop(nest, loop);
	/* all nodes come by a chain */
	for (int i = loop + 1; i < nest->loop_count; i++)
		l->is_uniform &= !nest->loops[i].is_chain || !sn_nest_is_inside(nest, i, loop);
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *a = &nest->assigns[i];

		if (!sn_nest_is_inside(nest, a->loop, loop))
			continue;
		if (a->target->var->is_distributed && l->key < 0)
			l->key = i;
		else if (!a->target->var->is_distributed ||
			 !sn_nest_has_one_owner(a, &nest->assigns[l->key]))
			l->is_uniform = false;
	}
	for (int i = 0; i < nest->ref_count; i++)
		if (nest->refs[i].assign < 0 && sn_nest_is_inside(nest, nest->refs[i].loop, loop))
			l->is_uniform = false;
	l->is_uniform &= l->key >= 0;
}

/* Does the subscript depend on a counter of a loop deeper than this one? */
static bool depends_deeper(const struct sn_nest *nest, const struct sn_affine *a, int loop)
{
	for (int l = 0; l < nest->loop_count; l++)
		if (a->coef[l] && nest->loops[l].depth > nest->loops[loop].depth)
			return true;
	return false;
}

static void find_governed(const struct sn_nest *nest, struct sn_nest_loop *l, int loop)
{
	const struct sn_nest_assign *key = &nest->assigns[l->key];
	const struct sn_pnd_var *var = key->target->var;

	l->governed = -1;
	l->is_complete = true;
	for (int d = 0; d < var->rank; d++) {
		if (var->grid[d] == 1)
			continue;
		if (!key->subs[d].ok) {
			l->is_uniform = false;
			return;
		}
		if (depends_deeper(nest, &key->subs[d], loop))
			l->is_complete = false;
		else if (key->subs[d].coef[loop] && l->governed >= 0)
			l->is_uniform = false; /* A[i][i]: decided element by element */
		else if (key->subs[d].coef[loop])
			l->governed = d;
	}
}

static void move_to_spans(struct sn_nest *nest, int loop)
{
	for (int i = 0; i < nest->ref_count; i++) {
		struct sn_nest_ref *r = &nest->refs[i];

		if (!r->is_local && r->level >= nest->loops[loop].depth &&
		    sn_nest_is_inside(nest, r->loop, loop)) {
			r->level = nest->loops[loop].depth - 1;
			r->span_loop = loop;
			list_if_coupled(nest, r); /* more counters are free now */
		}
	}
}

/* ---- pipelining two loops ---- */

static const struct sn_pnd_stmt *only_child(const struct sn_pnd_stmt *s)
{
	while (s && s->kind == SN_S_BLOCK) {
		if (!s->first || s->first->next || s->locals)
			return NULL;
		s = s->first;
	}
	return s;
}

bool sn_nest_has_only_assigns(const struct sn_pnd_stmt *s)
{
	if (s->kind == SN_S_ASSIGN || s->kind == SN_S_EMPTY)
		return true;
	if (s->kind != SN_S_BLOCK || s->locals)
		return false;
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
		if (!sn_nest_has_only_assigns(c))
			return false;
	return true;
}

/* The distance in one counter between two accesses of one element, where subscripts fix it. */
static bool distance(const struct sn_affine *a, const struct sn_affine *b, int rank, int loop,
		     int other, int64_t *out)
{
	for (int d = 0; d < rank; d++) {
		struct sn_affine x = a[d], y = b[d];
		int64_t coef = x.coef[loop];

		if (!x.ok || !y.ok || !coef || y.coef[loop] != coef || x.coef[other] ||
		    y.coef[other])
			continue;
		*out = y.constant - x.constant;
		x.constant = y.constant = 0;
		if (!affine_equal(&x, &y) || *out % coef)
			continue;
		*out /= coef;
		return true;
	}
	return false;
}

/* Accesses of one array, one of them a write: may the two loops be exchanged? Not if an element is accessed
 * again later in one counter and earlier in the other. With `is_fixed` both distances must be known. */
static bool allows_exchange(const struct sn_affine *a, const struct sn_affine *b, int rank, int x,
			    int y, int64_t x_step, int64_t y_step, bool is_fixed)
{
	int64_t dx, dy;
	bool has_dx = distance(a, b, rank, x, y, &dx), has_dy = distance(a, b, rank, y, x, &dy);

	if (!is_fixed && ((has_dx && !dx) || (has_dy && !dy)))
		return true;
	if (!has_dx || !has_dy)
		return false;
	dx = x_step > 0 ? dx : -dx;
	dy = y_step > 0 ? dy : -dy;
	return (dx >= 0 && dy >= 0) || (dx <= 0 && dy <= 0);
}

static bool is_permutable(const struct sn_nest *nest, int x, int y, bool is_fixed)
{
	int64_t x_step = nest->loops[x].step, y_step = nest->loops[y].step;

	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *w = &nest->assigns[i];
		const struct sn_pnd_var *var = w->stmt->lhs->var;

		if (w->loop != y || w->added || w->is_private)
			continue;
		for (int k = 0; k < nest->assign_count; k++)
			if (nest->assigns[k].loop == y && nest->assigns[k].stmt->lhs->var == var &&
			    !allows_exchange(w->subs, nest->assigns[k].subs, var->rank, x, y,
					     x_step, y_step, is_fixed))
				return false;
		for (int k = 0; k < nest->ref_count; k++)
			if (nest->refs[k].loop == y && nest->refs[k].expr->var == var &&
			    !allows_exchange(w->subs, nest->refs[k].subs, var->rank, x, y, x_step,
					     y_step, is_fixed))
				return false;
	}
	return true;
}

static bool names_loop(const struct sn_affine *a, int loop)
{
	return !a->ok || a->coef[loop] != 0;
}

/* Does a value move along this counter, and not along the other? */
static bool carries_alone(const struct sn_nest *nest, int outer, int loop, int other)
{
	bool moves = false;

	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];

		if (r->is_local || r->level < nest->loops[outer].depth ||
		    !sn_nest_is_inside(nest, r->loop, outer))
			continue;
		for (int k = 0; k < nest->assign_count; k++) {
			const struct sn_nest_assign *w = &nest->assigns[k];
			int64_t along = 0, across = 0;

			if (w->stmt->lhs->var != r->expr->var ||
			    !distance(w->subs, r->subs, r->expr->arg_count, loop, other, &along) ||
			    !distance(w->subs, r->subs, r->expr->arg_count, other, loop, &across))
				continue;
			if (across)
				return false;
			moves |= along != 0;
		}
	}
	return moves;
}

/* No subscript that decides the owner mixes the two counters. */
static bool has_separate_counters(const struct sn_nest *nest, int key, int x, int y)
{
	const struct sn_nest_assign *a = &nest->assigns[key];
	const struct sn_pnd_var *var = a->target->var;

	for (int d = 0; d < var->rank; d++)
		if (var->grid[d] > 1 && a->subs[d].coef[x] && a->subs[d].coef[y])
			return false;
	return true;
}

/* At a span's start the ranges of the inner loops must be known. */
static bool has_known_bounds(const struct sn_nest *nest, int loop)
{
	for (int l = 0; l < nest->loop_count; l++) {
		const struct sn_nest_loop *in = &nest->loops[l];

		if (l != loop && sn_nest_is_inside(nest, l, loop) && !(in->low.ok && in->high.ok) &&
		    in->bounds_depth >= nest->loops[loop].depth)
			return false;
	}
	return true;
}

/* Replicated arrays and scalars that the body reads are not written by it: all its targets are
 * distributed and the key is uniform. So only distributed arrays can order its iterations. */
static bool try_pipe(struct sn_nest *nest, int x)
{
	struct sn_nest_loop *outer = &nest->loops[x], *inner;
	const struct sn_pnd_stmt *child = only_child(outer->stmt->body);
	int y = child && child->kind == SN_S_FOR ? sn_nest_loop_of(nest, child) : -1;
	/* else one section a turn is enough, unless values move on from node to node */
	bool has_spans = outer->governed >= 0 && outer->is_complete && has_known_bounds(nest, x);
	int spans, strips;

	if (y < 0 || !outer->is_uniform || !sn_nest_is_innermost(nest, y))
		return false;
	inner = &nest->loops[y];
	if (names_loop(&inner->low, x) || names_loop(&inner->high, x) ||
	    !is_permutable(nest, x, y, has_spans))
		return false;
	find_key(nest, inner, y);
	if (!inner->is_uniform)
		return false;
	find_governed(nest, inner, y);
	if (!inner->is_uniform || !inner->is_complete ||
	    !has_separate_counters(nest, inner->key, x, y))
		return false;
	/* spans along the counter that decides the owner, strips along the other */
	spans = outer->governed >= 0 ? x : inner->governed >= 0 ? y : -1;
	if (outer->governed >= 0 && inner->governed >= 0 && carries_alone(nest, x, y, x))
		spans = y;
	strips = spans == x ? y : x;
	if (spans < 0 || nest->loops[strips].step != 1)
		return false;
	outer->pipe_spans = spans;
	outer->pipe_strips = strips;
	return true;
}

/* Two loops without messages between them may be exchanged for memory's sake: the counter of the
 * last dimension belongs inside. */
static void try_swap(struct sn_nest *nest, int x)
{
	struct sn_nest_loop *outer = &nest->loops[x];
	const struct sn_pnd_stmt *child = only_child(outer->stmt->body);
	int y = child && child->kind == SN_S_FOR ? sn_nest_loop_of(nest, child) : -1;
	const struct sn_nest_assign *key = &nest->assigns[outer->key];
	const struct sn_affine *last = &key->subs[key->target->var->rank - 1];

	if (y < 0 || !sn_nest_has_only_assigns(child->body) || !last->ok || !last->coef[x] ||
	    last->coef[y] || names_loop(&nest->loops[y].low, x) ||
	    names_loop(&nest->loops[y].high, x) || !has_separate_counters(nest, outer->key, x, y))
		return;
	if (is_permutable(nest, x, y, false))
		outer->swapped = y;
}

static void choose(struct sn_nest *nest, int loop);

static void choose_children(struct sn_nest *nest, int loop)
{
	for (int l = loop + 1; l < nest->loop_count; l++)
		if (nest->loops[l].parent == loop)
			choose(nest, l);
}

static void choose(struct sn_nest *nest, int loop)
{
	struct sn_nest_loop *l = &nest->loops[loop];
	bool has_messages = has_inner_messages(nest, loop);

	find_key(nest, l, loop);
	if (l->is_uniform || l->is_chain)
		find_governed(nest, l, loop);
	if (l->is_chain) {
		l->mode = SN_LOOP_CHAIN;
		return;
	}
	if (has_messages && l->is_uniform && try_pipe(nest, loop)) {
		l->mode = SN_LOOP_PIPE;
		move_to_spans(nest, loop);
		return;
	}
	if (l->is_uniform && l->governed < 0 && l->is_complete &&
	    (!has_messages || has_known_bounds(nest, loop))) {
		l->mode = SN_LOOP_GUARD;
		move_to_spans(nest, loop);
		return;
	}
	if (l->is_uniform && l->governed >= 0) {
		if (!has_messages)
			l->mode = SN_LOOP_OWN;
		else if (l->is_complete && has_known_bounds(nest, loop))
			l->mode = SN_LOOP_SPANS;
	}
	if (l->mode == SN_LOOP_SPANS)
		move_to_spans(nest, loop);
	if (l->mode == SN_LOOP_PLAIN || (l->mode == SN_LOOP_OWN && !l->is_complete))
		choose_children(nest, loop);
	if (l->mode == SN_LOOP_OWN)
		try_swap(nest, loop);
}

void sn_nest_choose_modes(struct sn_nest *nest)
{
	if (nest->loop_count)
		choose(nest, 0);
}

/* ---- conditions that not every node decides ---- */

/* Does something within this if change what is sent before it? */
static bool is_stale(const struct sn_nest *nest, const struct sn_nest_if *f,
		     const struct sn_nest_ref *ref)
{
	int depth = f->loop < 0 ? 0 : nest->loops[f->loop].depth;

	for (int i = f->first_assign; i < f->end_assign; i++) {
		const struct sn_nest_assign *w = &nest->assigns[i];
		struct level_test t = { nest, w->loop, ref->loop, depth + 1, false };

		if (w->stmt->lhs->var == ref->expr->var && w->order < ref->order &&
		    may_depend(&t, w->subs, ref->subs, ref->expr->arg_count))
			return true;
	}
	return false;
}

/* The outermost owned if that this reference's messages would stand in, or go stale before. */
static int find_obstacle(const struct sn_nest *nest, const struct sn_nest_ref *ref)
{
	int found = -1, depth = ref->level;

	for (int f = ref->in_if; f >= 0; f = nest->ifs[f].parent) {
		const struct sn_nest_if *in = &nest->ifs[f];
		int at = in->loop < 0 ? 0 : nest->loops[in->loop].depth;

		if (!in->owner_count)
			continue;
		if (ref->span_loop >= 0 ? !sn_nest_is_inside(nest, in->loop, ref->span_loop)
					: at < depth || (at == depth && is_stale(nest, in, ref)))
			found = f;
	}
	return found;
}

int sn_nest_find_obstacle(const struct sn_nest *nest)
{
	for (int i = 0; i < nest->ref_count; i++) {
		int found = nest->refs[i].is_local ? -1 : find_obstacle(nest, &nest->refs[i]);

		if (found >= 0)
			return found;
	}
	return -1;
}
