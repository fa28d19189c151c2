/* Messages of optimised nests, by the geometry of the library (runtime/sections.c). */
#include "pandore/compiler/predictor.h"

#include <stdlib.h>
#include <string.h>

#include "pandore/runtime/pandore.h"
#include "pandore/runtime/pieces.h"

enum { STRIP_DEFAULT = 32, NEED_STEPS_MAX = 200000 };

struct pd_array sn_predict_layout(const struct sn_pnd_var *v)
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

static int64_t symbols_value(struct sn_predictor *p, const struct sn_nest *nest,
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
			sn_predict_doubt(p, a->symbols[i].var->pos, "an argument");
		value += a->symbols[i].coef * v.number;
	}
	return value;
}

static int64_t bound_value(struct sn_predictor *p, const struct sn_nest *nest,
			   const struct sn_affine *a, int depth, bool smallest, const int64_t *low,
			   const int64_t *high)
{
	int64_t value = symbols_value(p, nest, a, depth);

	for (int l = 0; l < nest->loop_count; l++)
		if (nest->loops[l].depth > depth && a->coef[l])
			value += a->coef[l] * ((a->coef[l] > 0) == smallest ? low[l] : high[l]);
	return value;
}

static int64_t value_or_doubt(struct sn_predictor *p, const struct sn_pnd_expr *e)
{
	struct sn_pnd_value v = sn_pnd_value_of(&p->values, e);

	if (!v.is_known)
		sn_predict_doubt(p, e->pos, "a loop's bound");
	return v.number;
}

static int64_t start_value(struct sn_predictor *p, const struct sn_nest_loop *l)
{
	return value_or_doubt(p, l->start);
}

static int64_t last_value(struct sn_predictor *p, const struct sn_nest_loop *l)
{
	return value_or_doubt(p, l->end) + l->end_adjust;
}

struct fixed_range {
	int loop;
	int64_t low, high;
};

/* What moves at one place of the program: the library's own boxes, for each pair of nodes. */
struct pair {
	int from, to;
	struct pd_pieces pieces;
};

struct share { /* of a reference in a pair's message */
	size_t pair;
	int ref;
	int64_t bytes;
};

struct place {
	SN_VEC(struct pair) pairs;
	struct sn_map pair_index,
		seen; /* seen: (array, element, receiver), where they are listed */
	SN_VEC(struct share) shares;
	struct sn_map
		needed; /* (array, element, receiver) of references whose boxes are not exact */
};

struct tally {
	struct sn_predictor *p;
	struct place *place;
	const struct sn_nest_ref *ref;
	int index; /* of the reference */
	const struct pd_array *source;
	int64_t bytes; /* added for it */
};

static size_t pair_of(struct place *place, int from, int to)
{
	bool is_new;
	uint64_t *at = sn_map_put(&place->pair_index, (uint64_t)from << 32 | (uint64_t)to, &is_new);

	if (is_new) {
		*at = place->pairs.count;
		sn_vec_push(&place->pairs, (struct pair){ from, to, { 0 } });
	}
	return *at;
}

static void add_bytes(struct place *place, size_t pair, int ref, int64_t bytes)
{
	for (size_t i = place->shares.count; i-- > 0 && place->shares.items[i].ref == ref;)
		if (place->shares.items[i].pair == pair) {
			place->shares.items[i].bytes += bytes;
			return;
		}
	sn_vec_push(&place->shares, (struct share){ pair, ref, bytes });
}

static void add_section(const struct pd_section *s, void *context)
{
	struct tally *t = context;

	for (int to = 0; to < t->p->nodes; to++)
		if (to != s->from && (s->to < 0 || s->to == to)) {
			size_t pair = pair_of(t->place, s->from, to);
			long added = pd_pieces_add(&t->place->pairs.items[pair].pieces,
						   t->ref->expr->var, t->source, t->index, s);
			int64_t bytes = added * sn_pnd_type_bytes(t->ref->expr->var->type);

			add_bytes(t->place, pair, t->index, bytes);
			t->bytes += bytes;
		}
}

struct inspection {
	const struct sn_nest *nest;
	struct place *place;
	const struct sn_nest_ref *ref;
	int index;
	const struct fixed_range *fixed;
	int fixed_count;
	struct sn_predicted_need *need; /* only what is needed is counted; else NULL */
};

/* Subscripts as numbers; false if they are unknown (doubted) or out of bounds. */
static bool subscripts_of(struct sn_predictor *p, const struct sn_pnd_expr *e, int64_t *out)
{
	for (int d = 0; d < e->arg_count; d++) {
		struct sn_pnd_value v = sn_pnd_value_of(&p->values, e->args[d]);

		if (!v.is_known) {
			sn_predict_doubt(p, e->pos, "a subscript");
			return false;
		}
		if (v.number < 0 || v.number >= e->var->extent[d])
			return false;
		out[d] = v.number;
	}
	return true;
}

static void inspect_one(struct sn_predictor *p, struct inspection *in)
{
	const struct sn_nest_ref *ref = in->ref;
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &in->nest->assigns[ref->assign];
	int64_t at[SN_PND_RANK_MAX], to[SN_PND_RANK_MAX], offset = 0;
	int from, owner = SN_PREDICT_EVERYBODY;

	if (!subscripts_of(p, ref->expr, at) || (a && !subscripts_of(p, a->target, to)))
		return;
	from = sn_predict_owner(p, ref->expr);
	if (a)
		owner = sn_predict_owner(p, a->target);
	for (int d = 0; d < ref->expr->arg_count; d++)
		offset = offset * ref->expr->var->extent[d] + at[d];
	for (int node = 0; node < p->nodes; node++) {
		bool is_new = false;

		if (node == from || (owner != SN_PREDICT_EVERYBODY && owner != node))
			continue;
		sn_map_put(in->need ? &in->place->needed : &in->place->seen,
			   sn_hash_u64((uint64_t)(uintptr_t)ref->expr->var) ^
				   ((uint64_t)offset * SN_PND_NODES_MAX + (uint64_t)node),
			   &is_new);
		if (is_new && in->need)
			in->need->needed += sn_pnd_type_bytes(ref->expr->type);
		else if (is_new)
			add_bytes(in->place, pair_of(in->place, from, node), in->index,
				  sn_pnd_type_bytes(ref->expr->type));
	}
}

static void inspect(struct sn_predictor *p, struct inspection *in, int depth)
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
	if (p->doubt)
		return;
	for (int i = 0; i < in->fixed_count; i++)
		if (in->fixed[i].loop == loop) {
			at = in->fixed[i].low;
			last = in->fixed[i].high;
			step = step < 0 ? -step : step;
		}
	if (!sn_nest_is_listed_by(in->nest, in->ref, loop) && (step > 0 ? at <= last : at >= last))
		last = at; /* once is enough */
	for (; step > 0 ? at <= last : at >= last; at += step) {
		*sn_pnd_values_scalar(&p->values, l->var) = (struct sn_pnd_value){ true, at };
		if (in->need ? ++p->need_steps > NEED_STEPS_MAX || p->need_steps > p->steps_max
			     : ++p->steps > p->steps_max)
			sn_predict_doubt(p, l->stmt->pos, "too many iterations");
		if (p->doubt)
			return;
		inspect(p, in, depth + 1);
	}
}

/* One message for each pair of nodes that has something to move, for the first reference; bytes for
 * each. */
static void count_place(struct sn_predictor *p, const struct sn_nest *nest, struct place *place)
{
	struct sn_map counted = { 0 };

	for (size_t i = 0; i < place->shares.count && !p->doubt; i++) {
		const struct share *s = &place->shares.items[i];
		const struct pair *pair = &place->pairs.items[s->pair];
		const struct sn_nest_ref *ref = &nest->refs[s->ref];
		const char *name =
			ref->stmt->kind == SN_S_ASSIGN ? ref->stmt->lhs->var->name : "(condition)";
		bool is_first;

		sn_map_put(&counted, s->pair, &is_first);
		if (is_first || s->bytes)
			sn_predict_count(p, ref->expr->pos.line, ref->assign < 0,
					 ref->expr->var->name, name, pair->from, pair->to, is_first,
					 s->bytes);
	}
	sn_map_free(&counted);
	for (size_t i = 0; i < place->pairs.count; i++)
		free(place->pairs.items[i].pieces.items);
	sn_vec_free(&place->pairs);
	sn_vec_free(&place->shares);
	sn_map_free(&place->pair_index);
	sn_map_free(&place->seen);
	sn_map_free(&place->needed);
	*place = (struct place){ 0 };
}

static void count_inspection(struct sn_predictor *p, const struct sn_nest *nest,
			     struct place *place, int index, const struct fixed_range *fixed,
			     int fixed_count, struct sn_predicted_need *need)
{
	const struct sn_nest_ref *ref = &nest->refs[index];
	struct inspection in = { nest, place, ref, index, fixed, fixed_count, need };
	struct sn_pnd_value kept[SN_NEST_DEPTH_MAX];
	int depth = nest->loops[ref->loop].depth;

	for (int d = ref->level + 1; d <= depth; d++)
		kept[d - 1] = *sn_pnd_values_scalar(
			&p->values, nest->loops[sn_nest_ancestor(nest, ref->loop, d)].var);
	inspect(p, &in, ref->level + 1);
	for (int d = ref->level + 1; d <= depth; d++)
		*sn_pnd_values_scalar(&p->values,
				      nest->loops[sn_nest_ancestor(nest, ref->loop, d)].var) =
			kept[d - 1];
}

static struct sn_predicted_need *need_of(struct sn_predictor *p, const struct sn_nest_ref *ref)
{
	bool is_new;
	uint64_t *at = sn_map_put(&p->need_index, (uint64_t)(uintptr_t)ref, &is_new);

	if (is_new) {
		*at = p->needs.count;
		sn_vec_push(&p->needs, (struct sn_predicted_need){ ref, 0, 0, true });
	}
	return &p->needs.items[*at];
}

const struct sn_predicted_need *sn_predict_need_of(struct sn_predictor *p,
						   const struct sn_nest_ref *ref)
{
	const uint64_t *at = sn_map_get(&p->need_index, (uint64_t)(uintptr_t)ref);

	return at ? &p->needs.items[*at] : NULL;
}

/* Does a counter that is free at the message decide at most one subscript, alone, with bounds that no
 * other one decides? Then a box holds what is needed and nothing else. */
static bool is_exact(const struct sn_nest *nest, const struct sn_nest_ref *ref)
{
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &nest->assigns[ref->assign];
	int of_dimension[SN_PND_RANK_MAX * 2] = { 0 };

	for (int l = ref->loop; l >= 0; l = nest->loops[l].parent) {
		const struct sn_nest_loop *loop = &nest->loops[l];
		int dimensions = 0;

		if (loop->depth <= ref->level)
			continue;
		if (loop->bounds_depth > ref->level || loop->step < -1)
			return false;
		for (int d = 0; d < ref->expr->arg_count; d++) {
			dimensions += ref->subs[d].coef[l] != 0;
			of_dimension[d] += ref->subs[d].coef[l] != 0;
		}
		for (int d = 0; a && d < a->target->arg_count; d++)
			of_dimension[SN_PND_RANK_MAX + d] += a->subs[d].coef[l] != 0;
		if (dimensions > 1)
			return false;
	}
	for (int d = 0; d < ref->expr->arg_count; d++)
		if (!ref->subs[d].ok || of_dimension[d] > 1)
			return false;
	for (int d = 0; a && d < a->target->arg_count; d++)
		if (!a->subs[d].ok || of_dimension[SN_PND_RANK_MAX + d] > 1)
			return false;
	return true;
}

/* `sent` bytes move for a reference: how many of them are needed? The iterations are run to know it,
 * within reason. */
static void count_need(struct sn_predictor *p, const struct sn_nest *nest, struct place *place,
		       int index, const struct fixed_range *fixed, int fixed_count, int64_t sent)
{
	const struct sn_nest_ref *ref = &nest->refs[index];
	struct sn_predicted_need *need = need_of(p, ref), before = *need;

	need->sent += sent;
	if (p->need_steps <= NEED_STEPS_MAX && p->need_steps <= p->steps_max) {
		count_inspection(p, nest, place, index, fixed, fixed_count, need);
		if (!p->doubt)
			return;
		p->doubt = NULL;
		need->needed = before.needed;
	}
	need->needed += sent;
	need->is_known &= is_exact(nest, ref);
}

static void count_exchange(struct sn_predictor *p, const struct sn_nest *nest, struct place *place,
			   int index, const struct fixed_range *fixed, int fixed_count)
{
	const struct sn_nest_ref *ref = &nest->refs[index];
	const struct sn_nest_assign *a = ref->assign < 0 ? NULL : &nest->assigns[ref->assign];
	struct pd_array source = sn_predict_layout(ref->expr->var), target;
	struct pd_moves moves = { .source = &source };
	int64_t low[SN_NEST_LOOPS_MAX] = { 0 }, high[SN_NEST_LOOPS_MAX] = { 0 };
	struct pd_range ranges[SN_NEST_DEPTH_MAX];
	long at[SN_PND_RANK_MAX] = { 0 }, to[SN_PND_RANK_MAX] = { 0 };
	struct tally tally = { p, place, ref, index, &source, 0 };

	if (p->nodes == 1)
		return;
	if (ref->is_inspected) {
		count_inspection(p, nest, place, index, fixed, fixed_count, NULL);
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
		target = sn_predict_layout(a->target->var);
		moves.target = &target;
	}
	for (int d = 0; a && d < a->target->arg_count; d++) {
		moves.target_whole |= a->subs[d].ok ? 0 : 1u << d;
		to[d] = a->subs[d].ok ? symbols_value(p, nest, &a->subs[d], ref->level) : 0;
	}
	if (p->doubt)
		return;
	pd_sections(&moves, to, at, ranges, p->nodes, add_section, &tally);
	if (tally.bytes)
		count_need(p, nest, place, index, fixed, fixed_count, tally.bytes);
}

/* As emit_place() has them. */
static void count_at(struct sn_predictor *p, const struct sn_nest *nest,
		     const struct sn_pnd_stmt *before, int span_loop,
		     const struct fixed_range *fixed, int fixed_count)
{
	struct place place = { 0 };

	for (int is_listed = 0; is_listed < 2; is_listed++)
		for (int i = 0; i < nest->ref_count && !p->doubt; i++) {
			if (nest->refs[i].is_inspected != is_listed ||
			    !sn_nest_stands_at(nest, i, before, span_loop))
				continue;
			if (sn_nest_needs_moved(&nest->refs[i]))
				count_place(p, nest, &place);
			count_exchange(p, nest, &place, i, fixed, fixed_count);
		}
	count_place(p, nest, &place);
}

static void count_before(struct sn_predictor *p, const struct sn_nest *nest,
			 const struct sn_pnd_stmt *s)
{
	count_at(p, nest, s, -1, NULL, 0);
}

static void count_span(struct sn_predictor *p, const struct sn_nest *nest, int loop,
		       const struct fixed_range *fixed, int fixed_count)
{
	count_at(p, nest, NULL, loop, fixed, fixed_count);
}

/* Spans of a counter by the blocks of one dimension; without one, the whole range. */
static bool next_part(struct sn_predictor *p, const struct sn_nest_loop *l, int64_t block,
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

static int64_t cut_of(struct sn_predictor *p, const struct sn_nest *nest, int key, int loop,
		      int depth, const struct sn_affine **sub, int64_t *offset)
{
	int d = cut_dimension(nest, key, loop);

	*sub = d < 0 ? NULL : &nest->assigns[key].subs[d];
	*offset = d < 0 ? 0 : symbols_value(p, nest, *sub, depth);
	return d < 0 ? 0 : nest->assigns[key].target->var->block[d];
}

static void count_spans(struct sn_predictor *p, const struct sn_nest *nest, int loop)
{
	const struct sn_nest_loop *l = &nest->loops[loop];
	const struct sn_affine *sub;
	struct fixed_range span;
	int64_t next = start_value(p, l), offset;
	int64_t block = cut_of(p, nest, l->key, loop, l->depth - 1, &sub, &offset);

	while (next_part(p, l, block, sub, offset, loop, &next, &span))
		count_span(p, nest, loop, &span, 1);
}

static void count_pipe(struct sn_predictor *p, const struct sn_nest *nest, int loop)
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

static void count_plain(struct sn_predictor *p, const struct sn_nest *nest, int loop)
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
			sn_predict_doubt(p, l->stmt->pos, "too many iterations");
		sn_predict_nest(p, nest, l->stmt->body);
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

static void count_if(struct sn_predictor *p, const struct sn_nest *nest,
		     const struct sn_pnd_stmt *s)
{
	struct sn_pnd_value v;

	if (!has_messages(nest, s->body) && !has_messages(nest, s->otherwise))
		return;
	v = sn_pnd_value_of(&p->values, s->cond);
	if (!v.is_known || reads_marked(nest, s->cond)) {
		sn_predict_doubt(p, s->pos, "a condition");
		return;
	}
	if (v.number)
		sn_predict_nest(p, nest, s->body);
	else if (s->otherwise)
		sn_predict_nest(p, nest, s->otherwise);
}

void sn_predict_nest(struct sn_predictor *p, const struct sn_nest *nest,
		     const struct sn_pnd_stmt *s)
{
	if (p->doubt)
		return;
	count_before(p, nest, s);
	if (s->kind == SN_S_BLOCK) {
		for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
			sn_predict_nest(p, nest, c);
	} else if (s->kind == SN_S_IF) {
		count_if(p, nest, s);
	} else if (s->kind == SN_S_FOR) {
		int loop = sn_nest_loop_of(nest, s);

		if (nest->loops[loop].mode == SN_LOOP_SPANS)
			count_spans(p, nest, loop);
		else if (nest->loops[loop].mode == SN_LOOP_PIPE)
			count_pipe(p, nest, loop);
		else if (nest->loops[loop].mode == SN_LOOP_GUARD)
			count_span(p, nest, loop, NULL, 0);
		else if (nest->loops[loop].mode == SN_LOOP_PLAIN)
			count_plain(p, nest, loop);
	}
}

void sn_predict_leave_counters(struct sn_predictor *p, const struct sn_nest *nest, int loop)
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
			sn_predict_leave_counters(p, nest, i);
	counter = sn_pnd_values_scalar(&p->values, l->var);
	counter->number += l->step;
}

void sn_predict_partial_sums(struct sn_predictor *p, const struct sn_nest *nest)
{
	for (int i = 0; i < nest->assign_count; i++) {
		const struct sn_nest_assign *a = &nest->assigns[i];

		for (int from = 0; a->added && from < p->nodes; from++)
			for (int to = 0; to < p->nodes; to++)
				if (to != from)
					sn_predict_count(p, a->stmt->pos.line, true,
							 a->target->var->name,
							 a->stmt->lhs->var->name, from, to, 1,
							 sn_pnd_type_bytes(a->stmt->lhs->type));
	}
}
