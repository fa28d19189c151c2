/* Waiting for a CPU: by thread from the kernel's account, by stack from the gaps between samples. */
#include "search/evidence/delays.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/wait.h"

double *sn_delays_of_threads(const struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	double *delays_s = sn_alloc_zeroed(e->threads.count + 1, sizeof(*delays_s));

	for (uint32_t i = 0; !r->part && i < e->threads.count; i++)
		delays_s[i] = fmax(0, (double)e->threads.items[i].account.wait_cpu_ns / 1e9);
	for (size_t i = 0; r->part && i < r->part->threads.count; i++) {
		uint32_t thread = sn_recorded_part_thread(r, &r->part->threads.items[i]);

		if (thread != SN_NONE)
			delays_s[thread] +=
				fmax(0, (double)r->part->threads.items[i].wait_cpu_ns / 1e9);
	}
	return delays_s;
}

/* ---- between samples ---- */

struct gaps {
	const struct sn_recorded *r;
	double *cells_s;   /* by cell */
	double *threads_s; /* by thread, all of its gaps */
	uint64_t *cell_of; /* by stack, of the thread that is looked at: number of the cell, + 1 */
	size_t next_cell;  /* of the first thread that was not looked at yet */
	size_t next_wait;
};

static uint32_t stack_of(const struct sn_recorded *r, const struct sn_sample *sample)
{
	uint32_t stacks = r->profile->program->stack_count;

	return sample->stack < stacks ? sample->stack : stacks;
}

/* Cells are by thread, as samples are. Those of other threads are forgotten. */
static void thread_enter(struct gaps *g, uint32_t thread)
{
	const struct sn_recorded_cell *cells = g->r->cells.items;
	size_t count = g->r->cells.count;

	for (size_t i = g->next_cell; i-- > 0 && cells[i].thread == cells[g->next_cell - 1].thread;)
		g->cell_of[cells[i].stack] = 0;
	while (g->next_cell < count && cells[g->next_cell].thread < thread)
		g->next_cell++;
	for (; g->next_cell < count && cells[g->next_cell].thread == thread; g->next_cell++)
		g->cell_of[cells[g->next_cell].stack] = g->next_cell + 1;
}

/* Waits are by thread, then time, as samples are. One that reaches beyond the gap is cut. */
static double blocked_between(struct gaps *g, uint32_t thread, int64_t from_ns, int64_t to_ns)
{
	const struct sn_experiment *e = g->r->profile->experiment;
	double sum_s = 0;

	for (; g->next_wait < e->waits.count; g->next_wait++) {
		const struct sn_wait *wait = &e->waits.items[g->next_wait];

		if (wait->thread > thread || (wait->thread == thread && wait->time_ns >= to_ns))
			break;
		if (wait->thread == thread && wait->time_ns >= from_ns)
			sum_s += (double)sn_profile_wait_ns(g->r->profile, wait) / 1e9;
	}
	return fmin(sum_s, (double)(to_ns - from_ns) / 1e9);
}

static void half_add(struct gaps *g, const struct sn_sample *sample, double seconds)
{
	uint64_t cell = g->cell_of[stack_of(g->r, sample)];

	if (cell)
		g->cells_s[cell - 1] += seconds / 2;
}

static void gap_add(struct gaps *g, const struct sn_sample *before, const struct sn_sample *after)
{
	double gap_s = (double)(after->time_ns - before->time_ns) / 1e9;
	double delay_s;

	if (!(gap_s > 0))
		return;
	delay_s = gap_s - (double)after->cpu_ns / 1e9 -
		  blocked_between(g, after->thread, before->time_ns, after->time_ns);
	if (!(delay_s > 0))
		return;
	g->threads_s[after->thread] += delay_s;
	half_add(g, before, delay_s);
	half_add(g, after, delay_s);
}

/* What is measured in parts is stopped between them. */
static bool is_apart(const struct sn_recorded *r, int64_t from_ns, int64_t to_ns)
{
	const struct sn_spans *spans = &r->profile->filter.spans;

	for (size_t i = 0; i < spans->count; i++)
		if (spans->items[i].to_ns > from_ns && spans->items[i].to_ns <= to_ns)
			return true;
	return false;
}

double *sn_delays_of_cells(const struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	double *accounts_s = sn_delays_of_threads(r);
	struct gaps g = { .r = r };
	const struct sn_sample *before = NULL;

	g.cells_s = sn_alloc_zeroed(r->cells.count + 1, sizeof(*g.cells_s));
	g.threads_s = sn_alloc_zeroed(e->threads.count + 1, sizeof(*g.threads_s));
	g.cell_of = sn_alloc_zeroed(r->profile->program->stack_count + 1, sizeof(*g.cell_of));
	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		if (sample->flags & SN_SAMPLE_IS_SUM || !sn_profile_has_sample(r->profile, sample))
			continue;
		if (!before || before->thread != sample->thread)
			thread_enter(&g, sample->thread);
		else if (!is_apart(r, before->time_ns, sample->time_ns))
			gap_add(&g, before, sample);
		before = sample;
	}
	for (size_t i = 0; i < r->cells.count; i++) {
		uint32_t thread = r->cells.items[i].thread;

		if (g.threads_s[thread] > accounts_s[thread])
			g.cells_s[i] *= accounts_s[thread] / g.threads_s[thread];
	}
	free(g.threads_s);
	free(g.cell_of);
	free(accounts_s);
	return g.cells_s;
}
