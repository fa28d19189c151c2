/* Waiting for a CPU: by thread from the kernel's account, by stack from the gaps between samples. */
#include "search/evidence/delays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "experiment/cpus.h"
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
	sn_gap_vec items;
	double *cells_s;   /* by cell; NULL: nobody asks */
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
	uint64_t cell = g->cells_s ? g->cell_of[stack_of(g->r, sample)] : 0;

	if (cell)
		g->cells_s[cell - 1] += seconds / 2;
}

static void gap_add(struct gaps *g, const struct sn_sample *before, const struct sn_sample *after)
{
	double gap_s = (double)(after->time_ns - before->time_ns) / 1e9;
	double delay_s;

	if (!(gap_s > 0))
		return;
	delay_s =
		fmax(0, gap_s - (double)after->cpu_ns / 1e9 -
				blocked_between(g, after->thread, before->time_ns, after->time_ns));
	sn_vec_push(&g->items, (struct sn_gap){ .from_ns = before->time_ns,
						.to_ns = after->time_ns,
						.thread = after->thread,
						.stack = stack_of(g->r, after),
						.cpu = after->cpu,
						.cpu_s = fmin(gap_s, (double)after->cpu_ns / 1e9),
						.delay_s = delay_s });
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

static void gaps_find(struct gaps *g)
{
	const struct sn_recorded *r = g->r;
	const struct sn_experiment *e = r->profile->experiment;
	const struct sn_sample *before = NULL;

	g->threads_s = sn_alloc_zeroed(e->threads.count + 1, sizeof(*g->threads_s));
	g->cell_of = sn_alloc_zeroed(r->profile->program->stack_count + 1, sizeof(*g->cell_of));
	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		if (sample->flags & SN_SAMPLE_IS_SUM || !sn_profile_has_sample(r->profile, sample))
			continue;
		if (!before || before->thread != sample->thread)
			thread_enter(g, sample->thread);
		else if (!is_apart(r, before->time_ns, sample->time_ns))
			gap_add(g, before, sample);
		before = sample;
	}
}

static void gaps_free(struct gaps *g)
{
	sn_vec_free(&g->items);
	free(g->threads_s);
	free(g->cell_of);
}

double *sn_delays_of_cells(const struct sn_recorded *r)
{
	double *accounts_s = sn_delays_of_threads(r);
	struct gaps g = { .r = r };

	g.cells_s = sn_alloc_zeroed(r->cells.count + 1, sizeof(*g.cells_s));
	gaps_find(&g);
	for (size_t i = 0; i < r->cells.count; i++) {
		uint32_t thread = r->cells.items[i].thread;

		if (g.threads_s[thread] > accounts_s[thread])
			g.cells_s[i] *= accounts_s[thread] / g.threads_s[thread];
	}
	gaps_free(&g);
	free(accounts_s);
	return g.cells_s;
}

/* ---- whose fault it is ---- */

static double delays_up_to(const struct sn_gap *gaps, size_t count, double most_s)
{
	double sum_s = 0;

	for (size_t i = 0; i < count; i++)
		sum_s += fmin(gaps[i].delay_s, most_s);
	return sum_s;
}

/* The gaps of one thread, whose delays come to more than its account: the rest are waits that nothing traces. A scheduler's
 * delays are of a size, and waits are the long ones: so the longest are cut until there are no more than the account has. */
static void thread_settle(struct sn_gap *gaps, size_t count, double account_s)
{
	enum { HALVINGS = 40 };
	double low_s = 0, high_s = 0;

	for (size_t i = 0; i < count; i++)
		high_s = fmax(high_s, gaps[i].delay_s);
	if (delays_up_to(gaps, count, high_s) <= account_s)
		return;
	for (int i = 0; i < HALVINGS; i++) {
		double middle_s = (low_s + high_s) / 2;

		if (delays_up_to(gaps, count, middle_s) > account_s)
			high_s = middle_s;
		else
			low_s = middle_s;
	}
	for (size_t i = 0; i < count; i++)
		gaps[i].delay_s = fmin(gaps[i].delay_s, low_s);
}

/* Gaps are by thread, as samples are. */
static void gaps_settle(struct gaps *g, const double *accounts_s)
{
	size_t end;

	for (size_t i = 0; i < g->items.count; i = end) {
		uint32_t thread = g->items.items[i].thread;

		for (end = i; end < g->items.count && g->items.items[end].thread == thread;)
			end++;
		thread_settle(&g->items.items[i], end - i, accounts_s[thread]);
	}
}

void sn_delays_gaps(const struct sn_recorded *r, sn_gap_vec *out)
{
	double *accounts_s = sn_delays_of_threads(r);
	struct gaps g = { .r = r };

	gaps_find(&g);
	gaps_settle(&g, accounts_s);
	*out = g.items;
	memset(&g.items, 0, sizeof(g.items));
	gaps_free(&g);
	free(accounts_s);
}

/* A gap begins, or ends. */
struct edge {
	int64_t time_ns;
	struct sn_gap *gap;
	int is_end;
};

static int edges_compare(const void *left, const void *right)
{
	const struct edge *x = left, *y = right;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static double per_second(const struct sn_gap *gap, double seconds)
{
	return seconds / ((double)(gap->to_ns - gap->wants_ns) / 1e9);
}

/* Threads of one host: between two edges so many want a CPU (`wanting`), and so many have none (`waiting`). As many as there are
 * more than CPUs wait for each other, the rest for other work. Writes into each gap the integral over time of the share that
 * is the program's own, at its begin and its end. */
static void own_sum(struct edge *edges, size_t count, double cpus)
{
	double wanting = 0, waiting = 0, sum_s = 0;
	int64_t last_ns = 0;

	qsort(edges, count, sizeof(*edges), edges_compare);
	for (size_t i = 0; i < count; i++) {
		struct sn_gap *gap = edges[i].gap;
		double sign = edges[i].is_end ? -1 : 1;

		if (wanting > cpus && waiting > 0)
			sum_s += fmin(1, (wanting - cpus) / waiting) *
				 (double)(edges[i].time_ns - last_ns) / 1e9;
		last_ns = edges[i].time_ns;
		gap->own_at_s[edges[i].is_end] = sum_s;
		wanting += sign * per_second(gap, gap->cpu_s + gap->delay_s);
		waiting += sign * per_second(gap, gap->delay_s);
	}
}

/* Of the threads of some processes: what they do to themselves, if that is more than is known. */
static void own_take(struct gaps *g, const uint8_t *is_in, unsigned cpus, double *own_s)
{
	const struct sn_experiment *e = g->r->profile->experiment;
	struct edge *edges = sn_alloc_zeroed(2 * g->items.count + 1, sizeof(*edges));
	double *sums_s = sn_alloc_zeroed(e->threads.count + 1, sizeof(*sums_s));
	size_t count = 0;

	for (size_t i = 0; i < g->items.count; i++) {
		struct sn_gap *gap = &g->items.items[i];

		int64_t wants_ns = (int64_t)ceil(1e9 * (gap->cpu_s + gap->delay_s));

		if (!is_in[e->threads.items[gap->thread].process])
			continue;
		/* what else is in the gap came before: a thread gets ready, waits, runs, and is seen */
		gap->wants_ns =
			gap->to_ns - wants_ns < gap->from_ns ? gap->from_ns : gap->to_ns - wants_ns;
		if (gap->wants_ns >= gap->to_ns)
			continue;
		edges[count++] = (struct edge){ gap->wants_ns, gap, 0 };
		edges[count++] = (struct edge){ gap->to_ns, gap, 1 };
	}
	own_sum(edges, count, cpus);
	for (size_t i = 0; i < count; i++) {
		const struct sn_gap *gap = edges[i].gap;

		if (edges[i].is_end)
			sums_s[gap->thread] += per_second(gap, gap->delay_s) *
					       (gap->own_at_s[1] - gap->own_at_s[0]);
	}
	for (size_t t = 0; t < e->threads.count; t++)
		own_s[t] = fmax(own_s[t], sums_s[t]);
	free(sums_s);
	free(edges);
}

/* All processes of the host of this one. */
static void host_take(struct gaps *g, size_t first, double *own_s)
{
	const struct sn_experiment *e = g->r->profile->experiment;
	uint8_t *is_in = sn_alloc_zeroed(e->processes.count + 1, 1);
	const char *host = e->processes.items[first].host;

	for (size_t p = first; p < e->processes.count; p++)
		is_in[p] = !strcmp(e->processes.items[p].host, host);
	own_take(g, is_in, sn_experiment_cpus_of(e, is_in), own_s);
	free(is_in);
}

/* One process of several threads may be bound to fewer CPUs than its host's others are. */
static void process_take(struct gaps *g, size_t process, double *own_s)
{
	const struct sn_experiment *e = g->r->profile->experiment;
	uint8_t *is_in = sn_alloc_zeroed(e->processes.count + 1, 1);
	uint32_t thread = SN_NONE;
	bool has_several = false;

	for (size_t i = 0; i < g->items.count; i++) {
		if (e->threads.items[g->items.items[i].thread].process != process)
			continue;
		has_several |= thread != SN_NONE && thread != g->items.items[i].thread;
		thread = g->items.items[i].thread;
	}
	is_in[process] = 1;
	if (has_several)
		own_take(g, is_in, sn_experiment_cpus_of(e, is_in), own_s);
	free(is_in);
}

/* Whether no process before this one is of its host. */
static bool is_first_of_host(const struct sn_experiment *e, size_t process)
{
	for (size_t i = 0; i < process; i++)
		if (!strcmp(e->processes.items[i].host, e->processes.items[process].host))
			return false;
	return true;
}

double *sn_delays_own_of_threads(const struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	double *accounts_s, *own_s, own_all_s = 0, gaps_all_s = 0;
	struct gaps g = { .r = r };

	gaps_find(&g);
	if (!g.items.count) {
		gaps_free(&g);
		return NULL;
	}
	accounts_s = sn_delays_of_threads(r);
	own_s = sn_alloc_zeroed(e->threads.count + 1, sizeof(*own_s));
	gaps_settle(&g, accounts_s);
	for (size_t p = 0; p < e->processes.count; p++) {
		if (is_first_of_host(e, p))
			host_take(&g, p, own_s);
		if (e->processes.count > 1)
			process_take(&g, p, own_s);
	}
	for (size_t t = 0; t < e->threads.count; t++) {
		own_all_s += own_s[t];
		gaps_all_s += fmin(g.threads_s[t], accounts_s[t]);
	}
	for (size_t t = 0; t < e->threads.count; t++) {
		double known_s = fmin(g.threads_s[t], accounts_s[t]);

		if (known_s > 0)
			own_s[t] *= accounts_s[t] / known_s;
		else
			own_s[t] = gaps_all_s > 0 ? accounts_s[t] * own_all_s / gaps_all_s : 0;
		own_s[t] = fmin(own_s[t], accounts_s[t]);
	}
	gaps_free(&g);
	free(accounts_s);
	return own_s;
}
