#include "pandore/compiler/predict.h"

#include <string.h>

#include "base/alloc.h"
#include "pandore/compiler/nest.h"
#include "pandore/compiler/values.h"
#include "pandore/runtime/pandore.h"

enum { STEPS_MAX = 20000000, STRIP_DEFAULT = 32 };

struct pair {
	int line;
	bool is_broadcast;
	const char *source, *target;
	int from, to;
	int64_t messages, bytes;
};

struct fetched {
	const struct sn_pnd_expr *ref;
	int guard;
	bool is_broadcast;
};

enum { EVERYBODY = -1 };

struct predictor {
	struct sn_pnd_emitter *em;
	struct sn_pnd_values values;
	int nodes;
	long steps, steps_max;
	const char *doubt; /* why nothing can be foretold */
	int doubt_line;
	bool is_silent; /* only follow the values: the messages are counted already */
	SN_VEC(struct pair) pairs;
	struct sn_map pair_index;
	SN_VEC(struct fetched) fetched; /* by the statement that is run now */
	int guard, guard_count;
	struct sn_map nest_index;
};

static void doubt(struct predictor *p, struct sn_pnd_pos pos, const char *why)
{
	if (!p->doubt) {
		p->doubt = why;
		p->doubt_line = pos.line;
	}
}

static void count(struct predictor *p, int line, bool is_broadcast, const char *source,
		  const char *target, int from, int to, int64_t bytes)
{
	struct pair pair = { line, is_broadcast, source, target, from, to, 0, 0 };
	uint64_t key, *place;
	bool is_new;

	if (p->is_silent)
		return;
	key = sn_hash_u64((uint64_t)line ^ sn_hash_u64((uint64_t)(uintptr_t)source) ^
			  sn_hash_u64((uint64_t)(uintptr_t)target * 3 + is_broadcast) ^
			  sn_hash_u64((uint64_t)from << 32 | (uint64_t)to));
	place = sn_map_put(&p->pair_index, key, &is_new);
	if (is_new) {
		*place = p->pairs.count;
		sn_vec_push(&p->pairs, pair);
	}
	p->pairs.items[*place].messages++;
	p->pairs.items[*place].bytes += bytes;
}

/* ---- naive statements: what emit_naive.c fetches, in its order ---- */

static void fetch_operands(struct predictor *p, const struct sn_pnd_stmt *s,
			   const struct sn_pnd_expr *e, int owner, const char *target);

static int owner_of(struct predictor *p, const struct sn_pnd_expr *e)
{
	int64_t block = 0;
	const struct sn_pnd_var *v = e->var;

	for (int k = 0; k < v->rank; k++) {
		int d = v->order[k];
		struct sn_pnd_value sub = { true, 0 };

		if (v->grid[d] > 1) {
			sub = sn_pnd_value_of(&p->values, e->args[d]);
			if (!sub.is_known || sub.number < 0 || sub.number >= v->extent[d]) {
				doubt(p, e->pos, "a subscript");
				return 0;
			}
		}
		block = block * v->grid[d] + sub.number / v->block[d];
	}
	return (int)(v->is_wrapped ? block % p->nodes : block / v->blocks_per_node);
}

static bool was_fetched(const struct predictor *p, const struct sn_pnd_expr *e, bool is_broadcast)
{
	for (size_t i = 0; i < p->fetched.count; i++) {
		const struct fetched *f = &p->fetched.items[i];

		if (f->is_broadcast == is_broadcast && (!f->guard || f->guard == p->guard) &&
		    sn_pnd_same_expr(f->ref, e))
			return true;
	}
	return false;
}

static void fetch(struct predictor *p, const struct sn_pnd_stmt *s, const struct sn_pnd_expr *e,
		  int owner, const char *target)
{
	struct fetched f = { e, p->guard, owner == EVERYBODY };
	int64_t bytes = sn_pnd_type_bytes(e->type);
	int from;

	for (int d = 0; d < e->arg_count; d++)
		fetch_operands(p, s, e->args[d], EVERYBODY,
			       owner == EVERYBODY ? target : "(subscript)");
	if (was_fetched(p, e, f.is_broadcast))
		return;
	sn_vec_push(&p->fetched, f);
	from = owner_of(p, e);
	if (owner != EVERYBODY && from != owner)
		count(p, s->pos.line, false, e->var->name, target, from, owner, bytes);
	for (int to = 0; owner == EVERYBODY && to < p->nodes; to++)
		if (to != from)
			count(p, s->pos.line, true, e->var->name, target, from, to, bytes);
}

/* One branch under a condition; is_taken says whether it is evaluated. */
static void fetch_branch(struct predictor *p, const struct sn_pnd_stmt *s,
			 const struct sn_pnd_expr *e, bool is_taken, int owner, const char *target)
{
	int outer = p->guard;

	if (!e->has_distributed)
		return;
	p->guard = ++p->guard_count;
	if (is_taken)
		fetch_operands(p, s, e, owner, target);
	p->guard = outer;
}

static void fetch_conditional(struct predictor *p, const struct sn_pnd_stmt *s,
			      const struct sn_pnd_expr *e, int owner, const char *target)
{
	struct sn_pnd_value v;

	fetch_operands(p, s, e->a, EVERYBODY, owner == EVERYBODY ? target : "(condition)");
	v = sn_pnd_value_of(&p->values, e->a);
	if (!v.is_known) {
		doubt(p, e->pos, "a condition");
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

static void fetch_operands(struct predictor *p, const struct sn_pnd_stmt *s,
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
	fetch_operands(p, s, e->a, owner, target);
	fetch_operands(p, s, e->b, owner, target);
	fetch_operands(p, s, e->c, owner, target);
	for (int i = 0; i < e->arg_count; i++)
		fetch_operands(p, s, e->args[i], owner, target);
}

static void store(struct predictor *p, const struct sn_pnd_stmt *s)
{
	struct sn_pnd_value *place, old, right = { true, 1 }, result = { 0 };
	struct sn_pnd_expr sum = { .kind = SN_E_BINARY, .type = SN_T_LONG };
	const struct sn_pnd_var *var = s->lhs->var;

	if (var->type != SN_T_INT && var->type != SN_T_LONG)
		return;
	if (s->rhs)
		right = sn_pnd_value_of(&p->values, s->rhs);
	if (s->rhs && s->rhs->type >= SN_T_FLOAT)
		right.is_known = false;
	place = sn_pnd_value_place(&p->values, s->lhs);
	if (!place) {
		sn_pnd_values_forget(&p->values, var);
		return;
	}
	old = *place;
	if (s->punct == '=') {
		result = right;
	} else if (old.is_known && right.is_known) {
		struct sn_pnd_expr a = { .kind = SN_E_INT, .type = SN_T_LONG, .value = old.number };
		struct sn_pnd_expr b = { .kind = SN_E_INT,
					 .type = SN_T_LONG,
					 .value = right.number };

		sum.punct = s->punct & 255;
		sum.a = &a;
		sum.b = &b;
		result.is_known = sn_pnd_evaluate(&sum, &result.number);
	}
	if (var->type == SN_T_INT && (result.number > INT32_MAX || result.number < INT32_MIN))
		result.is_known = false;
	*place = result;
}

static void run_assign(struct predictor *p, const struct sn_pnd_stmt *s)
{
	int owner = EVERYBODY;

	p->fetched.count = 0;
	p->guard = p->guard_count = 0;
	if (!p->is_silent) {
		for (int d = 0; d < s->lhs->arg_count; d++)
			fetch_operands(p, s, s->lhs->args[d], EVERYBODY,
				       s->lhs->var->is_distributed ? "(subscript)"
								   : s->lhs->var->name);
		if (s->lhs->var->is_distributed && (s->rhs && s->rhs->has_distributed))
			owner = owner_of(p, s->lhs);
		fetch_operands(p, s, s->rhs, owner, s->lhs->var->name);
	}
	if (!s->lhs->var->is_distributed)
		store(p, s);
}

/* ---- optimised nests ---- */

static struct pd_array layout_of(const struct sn_pnd_var *v)
{
	struct pd_array a = { .rank = v->rank,
			      .is_wrapped = v->is_wrapped,
			      .block_count = v->block_count,
			      .per_node = v->blocks_per_node };

	for (int d = 0; d < v->rank; d++) {
		a.extent[d] = v->extent[d];
		a.block[d] = v->block[d];
		a.grid[d] = v->grid[d];
		a.order[d] = v->order[d];
	}
	return a;
}

static int64_t symbols_value(struct predictor *p, const struct sn_nest *nest,
			     const struct sn_affine *a, int depth)
{
	int64_t value = a->constant;

	for (int l = 0; l < nest->loop_count; l++)
		if (nest->loops[l].depth <= depth && a->coef[l])
			value += a->coef[l] *
				 sn_pnd_values_scalar(&p->values, nest->loops[l].var)->number;
	for (int i = 0; i < a->symbol_count; i++) {
		struct sn_pnd_value v = *sn_pnd_values_scalar(&p->values, a->symbols[i].var);

		if (!v.is_known && a->symbols[i].coef)
			doubt(p, a->symbols[i].var->pos, "an argument");
		value += a->symbols[i].coef * v.number;
	}
	return value;
}

static int64_t bound_value(struct predictor *p, const struct sn_nest *nest,
			   const struct sn_affine *a, int depth, bool smallest, const int64_t *low,
			   const int64_t *high)
{
	int64_t value = symbols_value(p, nest, a, depth);

	for (int l = 0; l < nest->loop_count; l++)
		if (nest->loops[l].depth > depth && a->coef[l])
			value += a->coef[l] * ((a->coef[l] > 0) == smallest ? low[l] : high[l]);
	return value;
}

static int64_t value_or_doubt(struct predictor *p, const struct sn_pnd_expr *e)
{
	struct sn_pnd_value v = sn_pnd_value_of(&p->values, e);

	if (!v.is_known)
		doubt(p, e->pos, "a loop's bound");
	return v.number;
}

static int64_t start_value(struct predictor *p, const struct sn_nest_loop *l)
{
	return value_or_doubt(p, l->start);
}

static int64_t last_value(struct predictor *p, const struct sn_nest_loop *l)
{
	return value_or_doubt(p, l->end) + l->end_adjust;
}

struct fixed_range {
	int loop;
	int64_t low, high;
};

struct tally {
	struct predictor *p;
	const struct sn_nest_ref *ref;
	int64_t *bytes; /* nodes x nodes */
};

static void add_section(const struct pd_section *s, void *context)
{
	struct tally *t = context;
	int64_t bytes = pd_section_count(s, t->ref->expr->var->rank) *
			sn_pnd_type_bytes(t->ref->expr->var->type);

	for (int to = 0; to < t->p->nodes; to++)
		if (to != s->from && (s->to < 0 || s->to == to))
			t->bytes[s->from * t->p->nodes + to] += bytes;
}

struct inspection {
	const struct sn_nest *nest;
	const struct sn_nest_ref *ref;
	const struct fixed_range *fixed;
	int fixed_count;
	struct sn_map seen; /* (element, receiver) */
	int64_t *bytes;	    /* nodes x nodes */
};

/* Subscripts as numbers; false if they are unknown (doubted) or out of bounds. */
static bool subscripts_of(struct predictor *p, const struct sn_pnd_expr *e, int64_t *out)
{
	for (int d = 0; d < e->arg_count; d++) {
		struct sn_pnd_value v = sn_pnd_value_of(&p->values, e->args[d]);

		if (!v.is_known) {
			doubt(p, e->pos, "a subscript");
			return false;
		}
		if (v.number < 0 || v.number >= e->var->extent[d])
			return false;
		out[d] = v.number;
	}
	return true;
}

static void inspect_one(struct predictor *p, struct inspection *in)
{
	const struct sn_nest_ref *ref = in->ref;
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &in->nest->assigns[ref->assign];
	int64_t at[SN_PND_RANK_MAX], to[SN_PND_RANK_MAX], offset = 0;
	int from, owner = EVERYBODY;

	if (!subscripts_of(p, ref->expr, at) || (a && !subscripts_of(p, a->target, to)))
		return;
	from = owner_of(p, ref->expr);
	if (a)
		owner = owner_of(p, a->target);
	for (int d = 0; d < ref->expr->arg_count; d++)
		offset = offset * ref->expr->var->extent[d] + at[d];
	for (int node = 0; node < p->nodes; node++) {
		bool is_new = false;

		if (node == from || (owner != EVERYBODY && owner != node))
			continue;
		sn_map_put(&in->seen, (uint64_t)offset * SN_PND_NODES_MAX + (uint64_t)node,
			   &is_new);
		if (is_new)
			in->bytes[from * p->nodes + node] += sn_pnd_type_bytes(ref->expr->type);
	}
}

static void inspect(struct predictor *p, struct inspection *in, int depth)
{
	int loop = sn_nest_ancestor(in->nest, in->ref->loop, depth);
	const struct sn_nest_loop *l = &in->nest->loops[loop];
	int64_t step = l->step, at, last;

	if (p->doubt)
		return;
	if (depth > in->nest->loops[in->ref->loop].depth) {
		inspect_one(p, in);
		return;
	}
	at = start_value(p, l);
	last = last_value(p, l);
	for (int i = 0; i < in->fixed_count; i++)
		if (in->fixed[i].loop == loop) {
			at = in->fixed[i].low;
			last = in->fixed[i].high;
			step = step < 0 ? -step : step;
		}
	for (; step > 0 ? at <= last : at >= last; at += step) {
		*sn_pnd_values_scalar(&p->values, l->var) = (struct sn_pnd_value){ true, at };
		if (++p->steps > p->steps_max)
			doubt(p, l->stmt->pos, "too many iterations");
		if (p->doubt)
			return;
		inspect(p, in, depth + 1);
	}
}

/* One message for each pair of nodes that has something to move. */
static void count_pairs(struct predictor *p, const struct sn_nest_ref *ref, const int64_t *bytes)
{
	const char *name =
		ref->stmt->kind == SN_S_ASSIGN ? ref->stmt->lhs->var->name : "(condition)";

	for (int from = 0; from < p->nodes; from++)
		for (int to = 0; to < p->nodes; to++)
			if (bytes[from * p->nodes + to])
				count(p, ref->expr->pos.line, ref->assign < 0, ref->expr->var->name,
				      name, from, to, bytes[from * p->nodes + to]);
}

static void count_inspection(struct predictor *p, const struct sn_nest *nest,
			     const struct sn_nest_ref *ref, const struct fixed_range *fixed,
			     int fixed_count)
{
	struct inspection in = { nest, ref, fixed, fixed_count, { 0 }, NULL };
	struct sn_pnd_value kept[SN_NEST_DEPTH_MAX];
	int depth = nest->loops[ref->loop].depth;

	for (int d = ref->level + 1; d <= depth; d++)
		kept[d - 1] = *sn_pnd_values_scalar(
			&p->values, nest->loops[sn_nest_ancestor(nest, ref->loop, d)].var);
	in.bytes = sn_alloc_zeroed((size_t)p->nodes * (size_t)p->nodes, sizeof(*in.bytes));
	inspect(p, &in, ref->level + 1);
	if (!p->doubt)
		count_pairs(p, ref, in.bytes);
	for (int d = ref->level + 1; d <= depth; d++)
		*sn_pnd_values_scalar(&p->values,
				      nest->loops[sn_nest_ancestor(nest, ref->loop, d)].var) =
			kept[d - 1];
	sn_map_free(&in.seen);
	sn_vec_release(in.bytes);
}

static void count_exchange(struct predictor *p, const struct sn_nest *nest,
			   const struct sn_nest_ref *ref, const struct fixed_range *fixed,
			   int fixed_count)
{
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &nest->assigns[ref->assign];
	struct pd_array source = layout_of(ref->expr->var), target;
	struct pd_moves moves = { .source = &source };
	int64_t low[SN_NEST_LOOPS_MAX] = { 0 }, high[SN_NEST_LOOPS_MAX] = { 0 };
	struct pd_range ranges[SN_NEST_DEPTH_MAX];
	long at[SN_PND_RANK_MAX] = { 0 }, to[SN_PND_RANK_MAX] = { 0 };
	struct tally tally = { p, ref, NULL };
	if (p->nodes == 1)
		return;
	if (ref->is_inspected) {
		count_inspection(p, nest, ref, fixed, fixed_count);
		return;
	}
	for (int depth = ref->level + 1; depth <= nest->loops[ref->loop].depth; depth++) {
		int loop = sn_nest_ancestor(nest, ref->loop, depth), n = moves.loop_count++;
		const struct sn_nest_loop *l = &nest->loops[loop];
		int64_t step = l->step > 0 && l->bounds_depth <= ref->level ? l->step : 1;

		low[loop] = l->low.ok ? bound_value(p, nest, &l->low, ref->level, true, low, high)
				      : (l->step > 0 ? start_value(p, l) : last_value(p, l));
		high[loop] = l->high.ok
				     ? bound_value(p, nest, &l->high, ref->level, false, low, high)
				     : (l->step > 0 ? last_value(p, l) : start_value(p, l));
		for (int i = 0; i < fixed_count; i++)
			if (fixed[i].loop == loop) {
				low[loop] = fixed[i].low;
				high[loop] = fixed[i].high;
			}
		if (fixed_count)
			step = l->step > 0 ? l->step : 1;
		ranges[n] = (struct pd_range){ low[loop], high[loop], step };
		for (int d = 0; d < ref->expr->arg_count; d++)
			moves.source_coef[d][n] = ref->subs[d].ok ? ref->subs[d].coef[loop] : 0;
		for (int d = 0; a && d < a->target->arg_count; d++)
			moves.target_coef[d][n] = a->subs[d].ok ? a->subs[d].coef[loop] : 0;
	}
	for (int d = 0; d < ref->expr->arg_count; d++) {
		moves.source_whole |= ref->subs[d].ok ? 0 : 1u << d;
		at[d] = ref->subs[d].ok ? symbols_value(p, nest, &ref->subs[d], ref->level) : 0;
	}
	if (a) {
		target = layout_of(a->target->var);
		moves.target = &target;
	}
	for (int d = 0; a && d < a->target->arg_count; d++) {
		moves.target_whole |= a->subs[d].ok ? 0 : 1u << d;
		to[d] = a->subs[d].ok ? symbols_value(p, nest, &a->subs[d], ref->level) : 0;
	}
	if (p->doubt)
		return;
	tally.bytes = sn_alloc_zeroed((size_t)p->nodes * (size_t)p->nodes, sizeof(*tally.bytes));
	pd_sections(&moves, to, at, ranges, p->nodes, add_section, &tally);
	count_pairs(p, ref, tally.bytes);
	sn_vec_release(tally.bytes);
}

static bool is_repeated(const struct sn_nest *nest, int index)
{
	const struct sn_nest_ref *r = &nest->refs[index];

	for (int i = 0; i < index; i++) {
		const struct sn_nest_ref *o = &nest->refs[i];

		if (!o->is_local && o->stmt == r->stmt && o->level == r->level &&
		    o->span_loop == r->span_loop && sn_pnd_same_expr(o->expr, r->expr))
			return true;
	}
	return false;
}

static void count_before(struct predictor *p, const struct sn_nest *nest,
			 const struct sn_pnd_stmt *s)
{
	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];

		if (!r->is_local && r->span_loop < 0 && sn_nest_anchor(nest, r) == s &&
		    !is_repeated(nest, i))
			count_exchange(p, nest, r, NULL, 0);
	}
}

static void count_span(struct predictor *p, const struct sn_nest *nest, int loop,
		       const struct fixed_range *fixed, int fixed_count)
{
	for (int i = 0; i < nest->ref_count; i++)
		if (!nest->refs[i].is_local && nest->refs[i].span_loop == loop &&
		    !is_repeated(nest, i))
			count_exchange(p, nest, &nest->refs[i], fixed, fixed_count);
}

/* Spans of a counter by the blocks of one dimension; without one, the whole range. */
static bool next_part(struct predictor *p, const struct sn_nest_loop *l, int64_t block,
		      const struct sn_affine *sub, int64_t offset, int loop, int64_t *next,
		      struct fixed_range *out)
{
	int64_t last = last_value(p, l), first = *next, end = first;

	if (p->doubt || (l->step > 0 ? first > last : first < last))
		return false;
	if (block) {
		int64_t b = (sub->coef[loop] * first + offset) / block;

		while ((l->step > 0 ? end + l->step <= last : end + l->step >= last) &&
		       (sub->coef[loop] * (end + l->step) + offset) / block == b)
			end += l->step;
	} else {
		end = first + (last - first) / l->step * l->step;
	}
	*next = end + l->step;
	out->loop = loop;
	out->low = first < end ? first : end;
	out->high = first < end ? end : first;
	return true;
}

static int cut_dimension(const struct sn_nest *nest, int key, int loop)
{
	const struct sn_nest_assign *k = &nest->assigns[key];

	for (int d = 0; d < k->target->var->rank; d++)
		if (k->target->var->grid[d] > 1 && k->subs[d].coef[loop])
			return d;
	return -1;
}

static int64_t cut_of(struct predictor *p, const struct sn_nest *nest, int key, int loop, int depth,
		      const struct sn_affine **sub, int64_t *offset)
{
	int d = cut_dimension(nest, key, loop);

	*sub = d < 0 ? NULL : &nest->assigns[key].subs[d];
	*offset = d < 0 ? 0 : symbols_value(p, nest, *sub, depth);
	return d < 0 ? 0 : nest->assigns[key].target->var->block[d];
}

static void count_spans(struct predictor *p, const struct sn_nest *nest, int loop)
{
	const struct sn_nest_loop *l = &nest->loops[loop];
	const struct sn_affine *sub;
	struct fixed_range span;
	int64_t next = start_value(p, l), offset;
	int64_t block = cut_of(p, nest, l->key, loop, l->depth - 1, &sub, &offset);

	while (next_part(p, l, block, sub, offset, loop, &next, &span))
		count_span(p, nest, loop, &span, 1);
}

static void count_pipe(struct predictor *p, const struct sn_nest *nest, int loop)
{
	const struct sn_nest_loop *o = &nest->loops[loop];
	const struct sn_nest_loop *spans = &nest->loops[o->pipe_spans];
	const struct sn_nest_loop *strips = &nest->loops[o->pipe_strips];
	int width = p->em->options->strip ? p->em->options->strip : STRIP_DEFAULT;
	const struct sn_affine *strip_sub, *span_sub;
	int64_t strip_offset, span_offset, strip_next = start_value(p, strips);
	int64_t strip_block =
		cut_of(p, nest, o->key, o->pipe_strips, o->depth - 1, &strip_sub, &strip_offset);
	int64_t span_block =
		cut_of(p, nest, o->key, o->pipe_spans, o->depth - 1, &span_sub, &span_offset);
	struct fixed_range whole, fixed[2];

	while (next_part(p, strips, strip_block, strip_sub, strip_offset, o->pipe_strips,
			 &strip_next, &whole))
		for (int64_t a = whole.low; a <= whole.high; a += width) {
			int64_t span_next = start_value(p, spans);

			fixed[1] = (struct fixed_range){ o->pipe_strips, a, a + width - 1 };
			if (fixed[1].high > whole.high)
				fixed[1].high = whole.high;
			while (next_part(p, spans, span_block, span_sub, span_offset, o->pipe_spans,
					 &span_next, &fixed[0]))
				count_span(p, nest, loop, fixed, 2);
		}
}

static void count_stmt(struct predictor *p, const struct sn_nest *nest,
		       const struct sn_pnd_stmt *s);

static void count_plain(struct predictor *p, const struct sn_nest *nest, int loop)
{
	const struct sn_nest_loop *l = &nest->loops[loop];
	int64_t at = start_value(p, l), last = last_value(p, l);
	bool matters = false;

	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];

		matters |= !r->is_local && sn_nest_ancestor(nest, r->loop, l->depth) == loop &&
			   (r->level >= l->depth || (r->span_loop >= 0 && r->span_loop != loop));
	}
	for (; matters && !p->doubt && (l->step > 0 ? at <= last : at >= last); at += l->step) {
		*sn_pnd_values_scalar(&p->values, l->var) = (struct sn_pnd_value){ true, at };
		if (++p->steps > p->steps_max)
			doubt(p, l->stmt->pos, "too many iterations");
		count_stmt(p, nest, l->stmt->body);
	}
}

static bool reads_marked(const struct sn_nest *nest, const struct sn_pnd_expr *e)
{
	if (!e)
		return false;
	if ((e->kind == SN_E_VAR || e->kind == SN_E_INDEX) && e->var->nest_mark == nest->mark) {
		bool is_counter = false;

		for (int l = 0; l < nest->loop_count; l++)
			is_counter |= nest->loops[l].var == e->var;
		if (!is_counter)
			return true;
	}
	for (int i = 0; i < e->arg_count; i++)
		if (reads_marked(nest, e->args[i]))
			return true;
	return reads_marked(nest, e->a) || reads_marked(nest, e->b) || reads_marked(nest, e->c);
}

static bool has_messages(const struct sn_nest *nest, const struct sn_pnd_stmt *s)
{
	if (!s)
		return false;
	for (int i = 0; i < nest->ref_count; i++) {
		const struct sn_nest_ref *r = &nest->refs[i];

		if (!r->is_local && (r->span_loop >= 0 ? nest->loops[r->span_loop].stmt == s
						       : sn_nest_anchor(nest, r) == s))
			return true;
	}
	for (const struct sn_pnd_stmt *c = s->kind == SN_S_BLOCK ? s->first : NULL; c; c = c->next)
		if (has_messages(nest, c))
			return true;
	return (s->kind == SN_S_IF || s->kind == SN_S_FOR) &&
	       (has_messages(nest, s->body) || has_messages(nest, s->otherwise));
}

static void count_if(struct predictor *p, const struct sn_nest *nest, const struct sn_pnd_stmt *s)
{
	struct sn_pnd_value v;

	if (!has_messages(nest, s->body) && !has_messages(nest, s->otherwise))
		return;
	v = sn_pnd_value_of(&p->values, s->cond);
	if (!v.is_known || reads_marked(nest, s->cond)) {
		doubt(p, s->pos, "a condition");
		return;
	}
	if (v.number)
		count_stmt(p, nest, s->body);
	else if (s->otherwise)
		count_stmt(p, nest, s->otherwise);
}

static void count_stmt(struct predictor *p, const struct sn_nest *nest, const struct sn_pnd_stmt *s)
{
	if (p->doubt)
		return;
	count_before(p, nest, s);
	if (s->kind == SN_S_BLOCK) {
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			count_stmt(p, nest, c);
	} else if (s->kind == SN_S_IF) {
		count_if(p, nest, s);
	} else if (s->kind == SN_S_FOR) {
		int loop = sn_nest_loop_of(nest, s);

		if (nest->loops[loop].mode == SN_LOOP_SPANS)
			count_spans(p, nest, loop);
		else if (nest->loops[loop].mode == SN_LOOP_PIPE)
			count_pipe(p, nest, loop);
		else if (nest->loops[loop].mode == SN_LOOP_PLAIN)
			count_plain(p, nest, loop);
	}
}

/* The plan of a loop, or NULL if it stays naive. */
static const struct sn_nest *nest_of(struct predictor *p, const struct sn_pnd_stmt *loop)
{
	bool is_new;
	uint64_t *place = sn_map_put(&p->nest_index, (uint64_t)(uintptr_t)loop, &is_new);
	struct sn_nest *nest;

	if (!is_new)
		return (const struct sn_nest *)(uintptr_t)*place;
	nest = sn_arena_new(p->em->arena, struct sn_nest);
	*place = 0;
	if (p->em->options->scheme == SN_PND_OPT && !p->em->options->check &&
	    sn_nest_plan(nest, p->em->program, loop, ++p->em->nest_mark, p->em->options->reassoc))
		*place = (uint64_t)(uintptr_t)nest;
	return (const struct sn_nest *)(uintptr_t)*place;
}

/* ---- control flow ---- */

static void run(struct predictor *p, const struct sn_pnd_stmt *s);

static bool holds(struct predictor *p, const struct sn_pnd_stmt *s)
{
	struct sn_pnd_value v;

	if (!s->cond)
		return true;
	p->fetched.count = 0;
	p->guard = p->guard_count = 0;
	if (!p->is_silent)
		fetch_operands(p, s, s->cond, EVERYBODY, "(condition)");
	v = sn_pnd_value_of(&p->values, s->cond);
	if (!v.is_known)
		doubt(p, s->pos, "a condition");
	return v.number != 0;
}

static void run_for(struct predictor *p, const struct sn_pnd_stmt *s)
{
	if (s->init)
		run_assign(p, s->init);
	while (!p->doubt && holds(p, s) && !p->doubt) {
		run(p, s->body);
		if (s->step)
			run_assign(p, s->step);
		if (++p->steps > p->steps_max)
			doubt(p, s->pos, "too many iterations");
	}
}

static void run_silently(struct predictor *p, const struct sn_pnd_stmt *s)
{
	p->is_silent = true;
	run_for(p, s);
	p->is_silent = false;
}

/* Are all targets distributed? Then only the counters have to be followed. */
static bool writes_only_distributed(const struct sn_nest *nest)
{
	for (int i = 0; i < nest->assign_count; i++)
		if (!nest->assigns[i].stmt->lhs->var->is_distributed)
			return false;
	return true;
}

static void leave_counters(struct predictor *p, const struct sn_nest *nest, int loop)
{
	const struct sn_nest_loop *l = &nest->loops[loop];
	int64_t start = start_value(p, l), last = last_value(p, l);
	struct sn_pnd_value *counter = sn_pnd_values_scalar(&p->values, l->var);

	*counter = (struct sn_pnd_value){ true, start };
	if (l->step > 0 ? start > last : start < last)
		return;
	*counter = (struct sn_pnd_value){ true, start + (last - start) / l->step * l->step };
	for (int i = loop + 1; i < nest->loop_count; i++)
		if (nest->loops[i].parent == loop)
			leave_counters(p, nest, i);
	counter = sn_pnd_values_scalar(&p->values, l->var);
	counter->number += l->step;
}

static bool has_conditional_loops(const struct sn_nest *nest)
{
	for (int i = 0; i < nest->loop_count; i++)
		if (nest->loops[i].is_conditional)
			return true;
	return false;
}

static void count_partial_sums(struct predictor *p, const struct sn_nest *nest)
{
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *a = &nest->assigns[i];

		for (int from = 0; a->added && from < p->nodes; from++)
			for (int to = 0; to < p->nodes; to++)
				if (to != from)
					count(p, a->stmt->pos.line, true, a->target->var->name,
					      a->stmt->lhs->var->name, from, to,
					      sn_pnd_type_bytes(a->stmt->lhs->type));
	}
}

static void run_loop(struct predictor *p, const struct sn_pnd_stmt *s)
{
	const struct sn_nest *nest = p->is_silent ? NULL : nest_of(p, s);

	if (!nest) {
		run_for(p, s);
		return;
	}
	count_stmt(p, nest, s);
	count_partial_sums(p, nest);
	if (p->doubt)
		return;
	if (writes_only_distributed(nest) && !has_conditional_loops(nest))
		leave_counters(p, nest, 0);
	else
		run_silently(p, s);
}

static void run_while(struct predictor *p, const struct sn_pnd_stmt *s)
{
	if (s->kind == SN_S_DO)
		run(p, s->body);
	while (!p->doubt && holds(p, s) && !p->doubt) {
		run(p, s->body);
		if (++p->steps > p->steps_max)
			doubt(p, s->pos, "too many iterations");
	}
}

static void run(struct predictor *p, const struct sn_pnd_stmt *s)
{
	if (p->doubt || !s)
		return;
	switch (s->kind) {
	case SN_S_BLOCK:
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			run(p, c);
		break;
	case SN_S_ASSIGN:
		run_assign(p, s);
		break;
	case SN_S_IF:
		run(p, holds(p, s) ? s->body : s->otherwise);
		break;
	case SN_S_FOR:
		run_loop(p, s);
		break;
	case SN_S_WHILE:
	case SN_S_DO:
		run_while(p, s);
		break;
	case SN_S_ZONE:
		run(p, s->body);
		break;
	default:
		break;
	}
}

static void write_pairs(const struct predictor *p, struct sn_text *out)
{
	const struct pair *last = NULL;
	int64_t messages = 0, bytes = 0;

	for (size_t i = 0; i < p->pairs.count; i++) {
		const struct pair *q = &p->pairs.items[i];

		if (!last || last->line != q->line || last->source != q->source ||
		    last->target != q->target || last->is_broadcast != q->is_broadcast)
			sn_text_addf(out, "  line %d, %s to %s%s\n", q->line, q->source, q->target,
				     q->is_broadcast ? ", to every node" : "");
		sn_text_addf(out, "    node %d -> node %d: %lld message%s, %lld bytes\n", q->from,
			     q->to, (long long)q->messages, q->messages == 1 ? "" : "s",
			     (long long)q->bytes);
		messages += q->messages;
		bytes += q->bytes;
		last = q;
	}
	sn_text_addf(out, "  in all %lld message%s with %lld bytes\n", (long long)messages,
		     messages == 1 ? "" : "s", (long long)bytes);
}

void sn_pnd_predict(struct sn_pnd_emitter *em, struct sn_text *out)
{
	for (const struct sn_pnd_phase *ph = em->program->phases; ph; ph = ph->next) {
		struct predictor p = { .em = em,
				       .nodes = em->program->nodes,
				       .steps_max = em->options->steps_max ? em->options->steps_max
									   : STEPS_MAX };

		run(&p, ph->body);
		sn_text_addf(out, "phase %s: messages between nodes in one call\n", ph->name);
		if (p.doubt)
			sn_text_addf(out, "  they depend on data: %s at line %d\n", p.doubt,
				     p.doubt_line);
		else
			write_pairs(&p, out);
		sn_vec_free(&p.pairs);
		sn_map_free(&p.pair_index);
		sn_vec_free(&p.fetched);
		sn_map_free(&p.nest_index);
		sn_pnd_values_free(&p.values);
	}
}
