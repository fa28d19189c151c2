/*
 * Computes, block by block of the target, the smallest box of the source that its iterations read,
 * and cuts it up by owners. Loops over the blocks that a node owns (spans) use the same bounds.
 */
#include "pandore/runtime/sections.h"

#include <stdlib.h>
#include <string.h>

#include "pandore/runtime/pandore.h"

enum { UNKNOWN_BLOCKS_MAX = 256 };

struct hull {
	long first[PD_DIMENSIONS_MAX], last[PD_DIMENSIONS_MAX], stride[PD_DIMENSIONS_MAX];
};

struct visitor {
	const struct pd_moves *moves;
	const long *target_base, *source_base;
	const struct pd_range *loops;
	int nodes;
	void (*visit)(const struct pd_section *section, void *context);
	void *context;
	struct hull *last_hulls; /* by target node: what it was given last */
	char *has_hull;
	int is_same;	/* every block of the target reads the same */
	int seen_count; /* nodes with a hull */
};

static long floor_div(long a, long b)
{
	long q = a / b;

	return q - (a % b != 0 && (a < 0) != (b < 0));
}

static long ceil_div(long a, long b)
{
	return -floor_div(-a, b);
}

static int owner_of_block(const struct pd_array *a, const long *coordinates, int nodes)
{
	long block = 0;

	for (int k = 0; k < a->rank; k++)
		block = block * a->grid[a->order[k]] + coordinates[a->order[k]];
	return (int)(a->is_wrapped ? block % nodes : block / a->per_node);
}

static int nonzero(const long *coef, int count, int *which)
{
	int found = 0;

	for (int i = 0; i < count; i++)
		if (coef[i]) {
			found++;
			*which = i;
		}
	return found;
}

/* Interval of base + sum of coefficient * counter. */
static void image(const long *coef, long base, const struct pd_range *loops, int count, long *low,
		  long *high)
{
	*low = *high = base;
	for (int i = 0; i < count; i++) {
		*low += coef[i] * (coef[i] > 0 ? loops[i].low : loops[i].high);
		*high += coef[i] * (coef[i] > 0 ? loops[i].high : loops[i].low);
	}
}

static void clip(long *low, long *high, long extent)
{
	if (*low < 0)
		*low = 0;
	if (*high >= extent)
		*high = extent - 1;
}

/* The counters for which the target lies in a block. 0 if there are none. */
static int narrow(const struct visitor *v, const long *block, struct pd_range *loops)
{
	const struct pd_moves *m = v->moves;
	const struct pd_array *t = m->target;

	for (int d = 0; d < t->rank; d++) {
		long first = block[d] * t->block[d], last = first + t->block[d] - 1, a, low, high;
		int i = 0;

		if (m->target_whole >> d & 1 || t->grid[d] == 1 ||
		    nonzero(m->target_coef[d], m->loop_count, &i) != 1)
			continue;
		a = m->target_coef[d][i];
		low = a > 0 ? ceil_div(first - v->target_base[d], a)
			    : ceil_div(last - v->target_base[d], a);
		high = a > 0 ? floor_div(last - v->target_base[d], a)
			     : floor_div(first - v->target_base[d], a);
		if (low > loops[i].low)
			loops[i].low += ceil_div(low - loops[i].low, loops[i].step) * loops[i].step;
		if (high < loops[i].high)
			loops[i].high = high;
		if (loops[i].low > loops[i].high)
			return 0;
	}
	return 1;
}

static int source_hull(const struct visitor *v, const struct pd_range *loops, struct hull *out)
{
	const struct pd_moves *m = v->moves;

	for (int d = 0; d < m->source->rank; d++) {
		long extent = m->source->extent[d], low, high, stride = 1;
		int i = 0;

		if (m->source_whole >> d & 1) {
			low = 0;
			high = extent - 1;
		} else {
			image(m->source_coef[d], v->source_base[d], loops, m->loop_count, &low,
			      &high);
			if (nonzero(m->source_coef[d], m->loop_count, &i) == 1)
				stride = labs(m->source_coef[d][i]) * loops[i].step;
			/* a falling subscript ends with the last value of the counter */
			if (stride > 1 && m->source_coef[d][i] < 0)
				low = high +
				      m->source_coef[d][i] * ((loops[i].high - loops[i].low) /
							      loops[i].step * loops[i].step);
			if (low < 0)
				low += ceil_div(-low, stride) * stride;
			clip(&low, &high, extent);
		}
		if (low > high)
			return 0;
		out->first[d] = low;
		out->last[d] = low + (high - low) / stride * stride;
		out->stride[d] = stride;
	}
	return 1;
}

/* Walks `count` counters between bounds, last fastest; 0 at the end. */
static int step_block(long *at, const long *low, const long *high, int count)
{
	for (int d = count; d-- > 0; at[d] = low[d])
		if (++at[d] <= high[d])
			return 1;
	return 0;
}

/* The parts of a hull by their owners. */
static void visit_hull(const struct visitor *v, const struct hull *hull, int to)
{
	const struct pd_array *s = v->moves->source;
	long low[PD_DIMENSIONS_MAX], high[PD_DIMENSIONS_MAX], at[PD_DIMENSIONS_MAX];

	for (int d = 0; d < s->rank; d++) {
		at[d] = low[d] = hull->first[d] / s->block[d];
		high[d] = hull->last[d] / s->block[d];
	}
	do {
		struct pd_section section = { .from = owner_of_block(s, at, v->nodes), .to = to };
		int is_empty = 0;

		if (section.from == to)
			continue;
		for (int d = 0; d < s->rank; d++) {
			long first = at[d] * s->block[d], last = first + s->block[d] - 1;
			long stride = hull->stride[d];

			section.first[d] = hull->first[d];
			if (first > hull->first[d])
				section.first[d] +=
					ceil_div(first - hull->first[d], stride) * stride;
			section.last[d] = last < hull->last[d] ? last : hull->last[d];
			section.stride[d] = stride;
			is_empty |= section.first[d] > section.last[d];
		}
		if (!is_empty)
			v->visit(&section, v->context);
	} while (step_block(at, low, high, s->rank));
}

static int is_same_hull(const struct hull *a, const struct hull *b, int rank)
{
	size_t bytes = sizeof(long) * (size_t)rank;

	return !memcmp(a->first, b->first, bytes) && !memcmp(a->last, b->last, bytes) &&
	       !memcmp(a->stride, b->stride, bytes);
}

static void visit_target_block(struct visitor *v, const long *block)
{
	int to = owner_of_block(v->moves->target, block, v->nodes);
	struct pd_range loops[PD_LOOPS_MAX];
	struct hull hull;

	memcpy(loops, v->loops, sizeof(*loops) * (size_t)v->moves->loop_count);
	if (v->is_same && v->has_hull[to])
		return;
	if (!narrow(v, block, loops) || !source_hull(v, loops, &hull))
		return;
	v->seen_count += !v->has_hull[to];
	if (v->has_hull[to] && is_same_hull(&hull, &v->last_hulls[to], v->moves->source->rank))
		return;
	v->has_hull[to] = 1;
	v->last_hulls[to] = hull;
	visit_hull(v, &hull, to);
}

/* Does no counter that decides a target's block decide what is read? */
static int reads_the_same(const struct pd_moves *m)
{
	for (int d = 0; d < m->target->rank; d++)
		for (int i = 0; i < m->loop_count; i++) {
			if (m->target->grid[d] == 1 || !m->target_coef[d][i])
				continue;
			for (int e = 0; e < m->source->rank; e++)
				if (m->source_coef[e][i])
					return 0;
		}
	return 1;
}

static void visit_target_blocks(struct visitor *v)
{
	const struct pd_moves *m = v->moves;
	const struct pd_array *t = m->target;
	long low[PD_DIMENSIONS_MAX], high[PD_DIMENSIONS_MAX], at[PD_DIMENSIONS_MAX];

	for (int d = 0; d < t->rank; d++) {
		low[d] = 0;
		high[d] = t->extent[d] - 1;
		if (!(m->target_whole >> d & 1)) {
			image(m->target_coef[d], v->target_base[d], v->loops, m->loop_count,
			      &low[d], &high[d]);
			clip(&low[d], &high[d], t->extent[d]);
			if (low[d] > high[d])
				return;
		}
		at[d] = low[d] = low[d] / t->block[d];
		high[d] = high[d] / t->block[d];
	}
	v->is_same = reads_the_same(m);
	do {
		visit_target_block(v, at);
	} while (!(v->is_same && v->seen_count == v->nodes) && step_block(at, low, high, t->rank));
}

void pd_sections(const struct pd_moves *moves, const long *target_base, const long *source_base,
		 const struct pd_range *loops, int nodes,
		 void (*visit)(const struct pd_section *section, void *context), void *context)
{
	static struct hull *last_hulls;
	static char *has_hull;
	static int allocated;
	struct visitor v = { moves,   target_base, source_base, loops, nodes, visit,
			     context, 0,	   0,		0,     0 };
	struct hull hull;

	for (int i = 0; i < moves->loop_count; i++)
		if (loops[i].low > loops[i].high)
			return;
	if (!moves->target) {
		if (source_hull(&v, loops, &hull))
			visit_hull(&v, &hull, -1);
		return;
	}
	if (nodes > allocated) {
		last_hulls = realloc(last_hulls, sizeof(*last_hulls) * (size_t)nodes);
		has_hull = realloc(has_hull, (size_t)nodes);
		if (!last_hulls || !has_hull)
			abort();
		allocated = nodes;
	}
	memset(has_hull, 0, (size_t)nodes);
	v.last_hulls = last_hulls;
	v.has_hull = has_hull;
	visit_target_blocks(&v);
}

long pd_section_count(const struct pd_section *section, int rank)
{
	long count = 1;

	for (int d = 0; d < rank; d++)
		count *= (section->last[d] - section->first[d]) / section->stride[d] + 1;
	return count;
}

/* ---- spans ---- */

/* Does `me` own a block with these coordinates (-1: any)? Unknown ones are tried, within reason. */
static int may_own(const struct pd_array *a, const long *coordinates, int nodes, int me)
{
	long low[PD_DIMENSIONS_MAX], high[PD_DIMENSIONS_MAX], at[PD_DIMENSIONS_MAX], tried = 1;

	for (int d = 0; d < a->rank; d++) {
		at[d] = low[d] = coordinates[d] < 0 ? 0 : coordinates[d];
		high[d] = coordinates[d] < 0 ? a->grid[d] - 1 : coordinates[d];
		tried *= high[d] - low[d] + 1;
	}
	if (tried > UNKNOWN_BLOCKS_MAX)
		return 1;
	do {
		if (owner_of_block(a, at, nodes) == me)
			return 1;
	} while (step_block(at, low, high, a->rank));
	return 0;
}

int pd_span_next(struct pd_spans *s, int me)
{
	const struct pd_array *a = s->array;
	long coordinates[PD_DIMENSIONS_MAX], slope = s->coef * s->step;
	int all_known = 1;

	for (int d = 0; d < a->rank; d++) {
		int is_open = s->known[d] == PD_UNKNOWN && d != s->dimension && a->grid[d] > 1;

		coordinates[d] = a->grid[d] == 1 ? 0 : is_open ? -1 : s->known[d] / a->block[d];
		all_known &= !is_open;
	}
	while (s->step > 0 ? s->next <= s->end : s->next >= s->end) {
		long at = s->coef * s->next + s->offset, b = floor_div(at, a->block[s->dimension]);
		long limit = slope > 0 ? (b + 1) * a->block[s->dimension] - 1
				       : b * a->block[s->dimension];
		long steps = (limit - at) / slope, left = (s->end - s->next) / s->step;

		s->first = s->next;
		s->last = s->next + (steps < left ? steps : left) * s->step;
		s->next = s->last + s->step;
		if (b < 0 || b >= a->grid[s->dimension])
			continue; /* out of bounds: nobody's */
		coordinates[s->dimension] = b;
		s->owner = all_known ? owner_of_block(a, coordinates, s->nodes) : -1;
		if (me < 0 || (all_known ? s->owner == me : may_own(a, coordinates, s->nodes, me)))
			return 1;
	}
	return 0;
}
