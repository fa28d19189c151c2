/* Sections and spans against the definition: every element, every iteration, one by one. */
#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"
#include "pandore/runtime/pandore.h"

static uint64_t seed = 1;

static long draw(long low, long high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (long)((seed >> 33) % (uint64_t)(high - low + 1));
}

static struct pd_array random_array(int rank, int nodes)
{
	struct pd_array a = { .name = "A",
			      .element_bytes = 4,
			      .rank = rank,
			      .is_distributed = 1,
			      .is_wrapped = (int)draw(0, 1),
			      .block_count = 1 };

	for (int d = 0; d < rank; d++) {
		a.extent[d] = draw(1, 12);
		a.block[d] = draw(1, a.extent[d]);
		a.grid[d] = (a.extent[d] + a.block[d] - 1) / a.block[d];
		a.block_count *= a.grid[d];
		a.order[d] = d;
	}
	if (rank == 2 && draw(0, 1)) {
		a.order[0] = 1;
		a.order[1] = 0;
	}
	a.per_node = (a.block_count + nodes - 1) / nodes;
	return a;
}

static bool is_inside(const struct pd_array *a, const long *subscripts)
{
	for (int d = 0; d < a->rank; d++)
		if (subscripts[d] < 0 || subscripts[d] >= a->extent[d])
			return false;
	return true;
}

/* docs/manual/pandore.md: blocks are numbered with the list's first dimension slowest; regular
 * gives runs, wrapped deals them out. */
static int owner_of(const struct pd_array *a, int nodes, const long *subscripts)
{
	long block = 0;

	for (int k = 0; k < a->rank; k++)
		block = block * a->grid[a->order[k]] +
			subscripts[a->order[k]] / a->block[a->order[k]];
	return (int)(a->is_wrapped ? block % nodes : block / a->per_node);
}

struct reference {
	struct pd_moves moves;
	long target_base[PD_DIMENSIONS_MAX], source_base[PD_DIMENSIONS_MAX];
	struct pd_range loops[2];
	int nodes;
	/* [from][to][element]: how many sections hold it */
	unsigned char sent[7][7][144];
	bool is_wrong;
};

static long element_number(const struct pd_array *a, const long *subscripts)
{
	return a->rank == 2 ? subscripts[0] * a->extent[1] + subscripts[1] : subscripts[0];
}

static void note_section(const struct pd_section *s, void *context)
{
	struct reference *r = context;
	const struct pd_array *a = r->moves.source;
	long at[2] = { 0, 0 }, rows = a->rank == 2 ? s->last[1] : 0, visited = 0;

	for (at[0] = s->first[0]; at[0] <= s->last[0]; at[0] += s->stride[0])
		for (at[1] = a->rank == 2 ? s->first[1] : 0; at[1] <= rows;
		     at[1] += a->rank == 2 ? s->stride[1] : 1) {
			visited++;
			if (!is_inside(a, at) || owner_of(a, r->nodes, at) != s->from) {
				r->is_wrong = true;
				return;
			}
			for (int to = 0; to < r->nodes; to++)
				if (to != s->from && (s->to == to || s->to < 0))
					r->sent[s->from][to][element_number(a, at)]++;
		}
	r->is_wrong |= visited != pd_section_count(s, a->rank) || s->from == s->to;
}

static void subscripts_at(const long coef[][PD_LOOPS_MAX], const long *base, int rank, long i,
			  long j, long *out)
{
	for (int d = 0; d < rank; d++)
		out[d] = base[d] + coef[d][0] * i + coef[d][1] * j;
}

/* Elements that an iteration reads on another node than their own and that no section brings. */
static long count_missing(const struct reference *r)
{
	const struct pd_array *source = r->moves.source, *target = r->moves.target;
	long missing = 0, s[2] = { 0, 0 }, t[2] = { 0, 0 };

	for (long i = r->loops[0].low; i <= r->loops[0].high; i += r->loops[0].step)
		for (long j = r->loops[1].low; j <= r->loops[1].high; j += r->loops[1].step) {
			int from, to;

			subscripts_at(r->moves.source_coef, r->source_base, source->rank, i, j, s);
			if (!is_inside(source, s))
				continue;
			from = owner_of(source, r->nodes, s);
			if (target) {
				subscripts_at(r->moves.target_coef, r->target_base, target->rank, i,
					      j, t);
				if (!is_inside(target, t))
					continue;
			}
			for (int k = 0; k < (target ? 1 : r->nodes); k++) {
				to = target ? owner_of(target, r->nodes, t) : k;
				missing +=
					from != to && !r->sent[from][to][element_number(source, s)];
			}
		}
	return missing;
}

static void random_subscripts(long coef[][PD_LOOPS_MAX], long *base, int rank)
{
	for (int d = 0; d < rank; d++) {
		coef[d][0] = draw(-1, 2);
		coef[d][1] = draw(-1, 1);
		base[d] = draw(-3, 12);
	}
}

TEST(sections_bring_all_that_is_read_and_nothing_that_the_sender_does_not_own)
{
	static struct reference r;
	long missing = 0, wrong = 0;

	for (int round = 0; round < 4000; round++) {
		struct pd_array source, target;

		memset(&r, 0, sizeof(r));
		r.nodes = (int)draw(2, 7);
		source = random_array((int)draw(1, 2), r.nodes);
		target = random_array((int)draw(1, 2), r.nodes);
		r.moves.source = &source;
		r.moves.target = draw(0, 5) ? &target : NULL;
		r.moves.loop_count = 2;
		random_subscripts(r.moves.source_coef, r.source_base, source.rank);
		random_subscripts(r.moves.target_coef, r.target_base, target.rank);
		for (int l = 0; l < 2; l++) {
			r.loops[l].low = draw(-2, 3);
			r.loops[l].high = draw(r.loops[l].low - 1, 12);
			r.loops[l].step = draw(1, 3);
		}
		pd_sections(&r.moves, r.target_base, r.source_base, r.loops, r.nodes, note_section,
			    &r);
		wrong += r.is_wrong;
		missing += count_missing(&r);
	}
	CHECK_INT(wrong, 0);
	CHECK_INT(missing, 0);
}

/* B[i] = A[i + shift] in one dimension has a closed form without a hull: nothing too many moves. */
TEST(one_dimension_moves_exactly_what_is_read)
{
	static struct reference r;
	long wrong = 0;

	for (int round = 0; round < 2000; round++) {
		struct pd_array source, target;
		long needed = 0, moved = 0;

		memset(&r, 0, sizeof(r));
		r.nodes = (int)draw(2, 7);
		source = random_array(1, r.nodes);
		target = random_array(1, r.nodes);
		target.extent[0] = source.extent[0];
		target.block[0] = draw(1, target.extent[0]);
		target.grid[0] = (target.extent[0] + target.block[0] - 1) / target.block[0];
		target.block_count = target.grid[0];
		target.per_node = (target.block_count + r.nodes - 1) / r.nodes;
		r.moves.source = &source;
		r.moves.target = &target;
		r.moves.loop_count = 1;
		r.moves.source_coef[0][0] = r.moves.target_coef[0][0] = 1;
		r.source_base[0] = draw(-2, 2);
		r.loops[0] = (struct pd_range){ 0, target.extent[0] - 1, 1 };
		pd_sections(&r.moves, r.target_base, r.source_base, r.loops, r.nodes, note_section,
			    &r);
		for (long i = 0; i < target.extent[0]; i++) {
			long s = i + r.source_base[0];

			if (is_inside(&source, &s))
				needed += owner_of(&source, r.nodes, &s) !=
					  owner_of(&target, r.nodes, &i);
		}
		for (int from = 0; from < r.nodes; from++)
			for (int to = 0; to < r.nodes; to++)
				for (int e = 0; e < 12; e++)
					moved += r.sent[from][to][e];
		wrong += r.is_wrong || needed != moved;
	}
	CHECK_INT(wrong, 0);
}

/* The iterations of `spans` for one node, each marked once, against the owner of each. */
static bool spans_fit(struct pd_spans spans, int me, long low, long high, long step)
{
	unsigned char seen[64] = { 0 };
	bool ok = true;
	struct pd_spans s = spans;

	s.next = step > 0 ? low : high;
	s.end = step > 0 ? high : low;
	while (ok && pd_span_next(&s, me)) {
		for (long i = s.first; step > 0 ? i <= s.last : i >= s.last; i += step) {
			long subscript = s.coef * i + s.offset;

			ok = ok && i >= low && i <= high && !seen[i - low] &&
			     (me >= 0 || owner_of(s.array, s.nodes, &subscript) == s.owner);
			if (!ok)
				break;
			seen[i - low] = 1;
		}
	}
	for (long i = step > 0 ? low : high; ok && i >= low && i <= high; i += step) {
		long subscript = s.coef * i + s.offset;
		bool is_mine = me < 0 || owner_of(s.array, s.nodes, &subscript) == me;

		ok = seen[i - low] == is_mine;
	}
	return ok;
}

TEST(spans_are_the_iterations_of_their_owner)
{
	long wrong = 0;

	for (int round = 0; round < 4000; round++) {
		int nodes = (int)draw(1, 7);
		struct pd_array a = random_array(1, nodes);
		long step = draw(1, 3), coef = draw(0, 1) ? 1 : draw(1, 2), offset = draw(0, 3);
		long high = (a.extent[0] - 1 - offset) / coef;
		struct pd_spans spans = { .array = &a,
					  .nodes = nodes,
					  .coef = coef,
					  .offset = offset,
					  .known = { PD_UNKNOWN } };

		if (offset >= a.extent[0])
			continue;
		if (draw(0, 1)) { /* counted down */
			spans.step = -step;
			wrong += !spans_fit(spans, (int)draw(-1, nodes - 1), 0, high, -step);
		} else {
			spans.step = step;
			wrong += !spans_fit(spans, (int)draw(-1, nodes - 1), 0, high, step);
		}
	}
	CHECK_INT(wrong, 0);
}
