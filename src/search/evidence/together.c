/* Threads that run at the same time, from what lies between samples. */
#include "search/evidence/together.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

/* (chosen) of more threads at one time the first ones are looked at: enough to tell a share */
enum { ACTIVE_MOST = 64 };

struct edge {
	int64_t time_ns;
	const struct sn_gap *gap;
	bool is_end;
};

struct sweep {
	const struct sn_gap *active[ACTIVE_MOST];
	size_t count;
	double low_s, high_s, cpu_s, samples;
};

static int edges_compare(const void *left, const void *right)
{
	const struct edge *x = left, *y = right;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (int)y->is_end - (int)x->is_end;
}

/* Of the time that a gap has (without what it was blocked) the share on a CPU. */
static double density_of(const struct sn_gap *gap)
{
	return gap->cpu_s / (gap->cpu_s + gap->delay_s);
}

/* For how much of a time one of the threads runs beside another one, at least and at most. */
static void overlap_add(struct sweep *s, size_t of, double seconds)
{
	double own = density_of(s->active[of]), most = 0, sum = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct sn_gap *other = s->active[i];

		if (i == of || other->thread == s->active[of]->thread ||
		    other->cpu == s->active[of]->cpu)
			continue;
		most = fmax(most, density_of(other));
		sum += density_of(other);
	}
	s->low_s += seconds * fmax(0, own + most - 1);
	s->high_s += seconds * fmin(own, sum);
}

static void edge_take(struct sweep *s, const struct edge *edge)
{
	if (!edge->is_end) {
		if (s->count == ACTIVE_MOST)
			return;
		s->active[s->count++] = edge->gap;
		s->cpu_s += edge->gap->cpu_s;
		s->samples++;
		return;
	}
	for (size_t i = 0; i < s->count; i++)
		if (s->active[i] == edge->gap) {
			s->active[i] = s->active[--s->count];
			return;
		}
}

static void sweep_run(struct sweep *s, struct edge *edges, size_t count)
{
	qsort(edges, count, sizeof(*edges), edges_compare);
	for (size_t i = 0; i < count; i++) {
		double seconds = i ? (double)(edges[i].time_ns - edges[i - 1].time_ns) / 1e9 : 0;

		for (size_t k = 0; k < s->count && seconds > 0; k++)
			overlap_add(s, k, seconds);
		edge_take(s, &edges[i]);
	}
}

static bool stack_is_in(const struct sn_recorded *r, uint32_t stack, const uint8_t *is_in)
{
	const struct sn_stack_facts *facts = &r->stacks[stack];

	for (uint32_t i = 0; i < facts->count; i++)
		if (is_in[r->stack_regions.items[facts->first + i]])
			return true;
	return false;
}

/* Two observations more, one of them of each kind, keep few samples from being certain (Agresti and Coull 1998). */
static struct sn_together together_of(const struct sweep *s)
{
	double low = fmin(1, s->low_s / s->cpu_s), high = fmin(1, s->high_s / s->cpu_s);
	double middle = (low + high) / 2, n = s->samples + 2;
	double smooth = (middle * s->samples + 1) / n;
	double half = 1.96 * sqrt(smooth * (1 - smooth) / n);

	return (struct sn_together){ .share = middle,
				     .low = fmax(0, low - half),
				     .high = fmin(1, high + half),
				     .samples = s->samples };
}

struct sn_together sn_together_of(const struct sn_recorded *r, const sn_gap_vec *gaps,
				  uint32_t process, const uint8_t *is_in)
{
	const struct sn_experiment *e = r->profile->experiment;
	struct sweep sweep = { .count = 0 };
	struct edge *edges;
	size_t count = 0;

	edges = sn_alloc((2 * gaps->count + 1) * sizeof(*edges));
	for (size_t i = 0; i < gaps->count; i++) {
		const struct sn_gap *gap = &gaps->items[i];
		int64_t begin_ns = gap->to_ns - (int64_t)(1e9 * (gap->cpu_s + gap->delay_s));

		if (!(gap->cpu_s > 0) ||
		    r->process_members[e->threads.items[gap->thread].process] != process ||
		    !stack_is_in(r, gap->stack, is_in))
			continue;
		/* it was blocked first, then got ready and ran, and was seen */
		if (begin_ns < gap->from_ns)
			begin_ns = gap->from_ns;
		edges[count++] = (struct edge){ begin_ns, gap, false };
		edges[count++] = (struct edge){ gap->to_ns, gap, true };
	}
	sweep_run(&sweep, edges, count);
	free(edges);
	return sweep.cpu_s > 0 ? together_of(&sweep)
			       : (struct sn_together){ .share = 0.5, .high = 1 };
}
