/* Chooses the length of the intervals: the one whose sites explain most. Too long an interval holds
 * several phases, too short a one shows moments of an iteration of the main loop. Which it is
 * differs from program to program, so several lengths are tried. The result says what they agree
 * on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "phases/phases.h"

static const double explained_margin = 0.1, /* of the best; within it more phases say more */
	owner_share = 0.9; /* of the time, for a body that is entered once or twice to be the
			      program: it explains nothing */
enum {
	OWNER_CALLS_MAX = 2,
	ROWS_MIN = 20, /* intervals of the longest process, for a length to be looked at */
};

/* ---- what sites explain ---- */

static bool is_program(const struct sn_phases *p, uint32_t entity)
{
	return !sn_entity_is_loop(p->paths, entity) && p->activity->shares[entity] >= owner_share &&
	       p->activity->function_calls[entity] <= OWNER_CALLS_MAX;
}

static double row_weight(const struct sn_phases *p, size_t row)
{
	return (double)sn_interval_row_ns(&p->intervals->rows.items[p->vectors->rows[row]]);
}

/* By entity: time in the rows of a phase (SN_NONE: of all). Returns the rows' time. */
static double shares_sum(const struct sn_phases *p, uint32_t phase, double *sums)
{
	const struct sn_sparse *inclusive = &p->activity->inclusive;
	double total = 0;

	for (size_t r = 0; r < inclusive->row_count; r++) {
		if (phase != SN_NONE && p->phase_of[p->vectors->rows[r]] != phase)
			continue;
		total += row_weight(p, r);
		for (size_t i = inclusive->first[r]; i < inclusive->first[r + 1]; i++)
			sums[inclusive->columns[i]] +=
				row_weight(p, r) * (double)inclusive->values[i];
	}
	return total;
}

static double row_share(const struct sn_sparse *inclusive, size_t row, uint32_t entity)
{
	for (size_t i = inclusive->first[row]; i < inclusive->first[row + 1]; i++)
		if (inclusive->columns[i] == entity)
			return (double)inclusive->values[i];
	return 0;
}

/* How much the phase's site explains, summed over its rows: in each, how much more the most active
 * site is active than elsewhere. `all`: by entity, and after the last the time of the run. */
static double phase_explained(const struct sn_phases *p, const struct sn_phase *phase,
			      const double *all, double *own)
{
	const struct sn_sparse *inclusive = &p->activity->inclusive;
	double sum = 0, others;

	memset(own, 0, p->paths->entity_count * sizeof(double));
	others = all[p->paths->entity_count] - shares_sum(p, phase->number, own);
	for (size_t r = 0; r < inclusive->row_count; r++) {
		double best = 0;

		if (p->phase_of[p->vectors->rows[r]] != phase->number)
			continue;
		for (size_t s = 0; s < phase->sites.count; s++) {
			uint32_t e = phase->sites.items[s].mark;
			double outside = others > 0 ? (all[e] - own[e]) / others : 0;

			if (!is_program(p, e))
				best = fmax(best, row_share(inclusive, r, e) - outside);
		}
		sum += best * row_weight(p, r);
	}
	return sum;
}

static double explained_find(const struct sn_phases *p)
{
	size_t entities = (size_t)p->paths->entity_count + 1;
	double *all = sn_alloc_zeroed(entities, sizeof(double)), sum = 0;
	double *own = sn_alloc_zeroed(entities, sizeof(double)), total;

	all[entities - 1] = total = shares_sum(p, SN_NONE, all);
	for (size_t i = 0; i < p->phases.count; i++)
		sum += phase_explained(p, &p->phases.items[i], all, own);
	free(all);
	free(own);
	return total > 0 ? sum / total : 0;
}

/* ---- what two lengths agree on ---- */

static bool has_site(const struct sn_phases *p, const struct sn_phase_site *site)
{
	for (size_t i = 0; i < p->phases.count; i++)
		for (size_t s = 0; s < p->phases.items[i].sites.count; s++)
			if (!p->phases.items[i].sites.items[s].is_alternative &&
			    sn_sites_are_equal(p->paths, &p->phases.items[i].sites.items[s], site))
				return true;
	return false;
}

static bool phases_are_alike(const struct sn_phases *a, uint32_t x, const struct sn_phases *b,
			     uint32_t y)
{
	const struct sn_phase *one = &a->phases.items[x], *two = &b->phases.items[y];

	for (size_t i = 0; i < one->sites.count; i++)
		for (size_t k = 0; k < two->sites.count; k++)
			if (sn_sites_are_equal(a->paths, &one->sites.items[i],
					       &two->sites.items[k]))
				return true;
	return !one->sites.count && !two->sites.count;
}

/* Fraction of the shorter intervals' time for which both name a common site. */
static double agreement_of(const struct sn_phases *a, const struct sn_phases *b)
{
	const struct sn_phases *fine =
		a->intervals->interval_ns < b->intervals->interval_ns ? a : b;
	double same = 0, all = 0;

	for (size_t r = 0; r < fine->intervals->row_count; r++) {
		const struct sn_interval_row *row = &fine->intervals->rows.items[r];
		int64_t middle = row->number * fine->intervals->interval_ns +
				 fine->intervals->interval_ns / 2;
		size_t x = sn_interval_row_at(a->intervals, row->process, middle);
		size_t y = sn_interval_row_at(b->intervals, row->process, middle);

		if (x == a->intervals->row_count || y == b->intervals->row_count ||
		    a->phase_of[x] == SN_NONE || b->phase_of[y] == SN_NONE)
			continue;
		all++;
		same += phases_are_alike(a, a->phase_of[x], b, b->phase_of[y]);
	}
	return all > 0 ? same / all : 0;
}

/* ---- the choice ---- */

struct candidates {
	struct sn_phases *items[SN_INTERVAL_LENGTHS];
	double explained[SN_INTERVAL_LENGTHS], agreement[SN_INTERVAL_LENGTHS];
	size_t count;
};

static size_t candidate_choose(const struct candidates *c)
{
	size_t chosen = 0;
	double best = 0;

	for (size_t i = 0; i < c->count; i++)
		best = fmax(best, c->explained[i]);
	for (size_t i = 1; i < c->count; i++) {
		size_t here = c->items[i]->phases.count, there = c->items[chosen]->phases.count;

		if (c->explained[i] < best - explained_margin)
			continue;
		if (c->explained[chosen] < best - explained_margin || here > there ||
		    (here == there && c->agreement[i] > c->agreement[chosen]))
			chosen = i;
	}
	return chosen;
}

static void sites_count_lengths(const struct candidates *c, struct sn_phases *chosen)
{
	for (size_t i = 0; i < chosen->phases.count; i++)
		for (size_t s = 0; s < chosen->phases.items[i].sites.count; s++)
			for (size_t l = 0; l < c->count; l++)
				chosen->phases.items[i].sites.items[s].length_count += has_site(
					c->items[l], &chosen->phases.items[i].sites.items[s]);
}

static struct sn_phases *candidates_judge(struct candidates *c)
{
	struct sn_phases *chosen;
	size_t at;

	for (size_t i = 0; i < c->count; i++) {
		c->explained[i] = explained_find(c->items[i]);
		for (size_t k = 0; k < c->count; k++)
			c->agreement[i] += k == i ? 0 : agreement_of(c->items[i], c->items[k]);
	}
	at = candidate_choose(c);
	chosen = c->items[at];
	for (size_t i = 0; i < c->count; i++)
		sn_vec_push(&chosen->lengths,
			    (struct sn_phase_length){ c->items[i]->intervals->interval_ns,
						      c->items[i]->phases.count, c->explained[i],
						      agreement_of(c->items[i], chosen) });
	sites_count_lengths(c, chosen);
	chosen->intervals->is_auto = true;
	c->items[at] = NULL;
	return chosen;
}

/* The longest time for which something was seen of a process. */
static int64_t longest_ns(const struct sn_intervals *intervals)
{
	int64_t longest = 0, ns = 0;

	for (size_t r = 0; r < intervals->row_count; r++) {
		const struct sn_interval_row *row = &intervals->rows.items[r];

		if (!r || row->process != row[-1].process)
			ns = 0;
		ns += row->is_idle ? 0 : intervals->interval_ns;
		longest = ns > longest ? ns : longest;
	}
	return longest;
}

sn_status sn_phases_new(const struct sn_profile *profile, const struct sn_phases_options *options,
			struct sn_phases **out, struct sn_error *err)
{
	struct sn_phases_options at = { 0 };
	struct candidates c = { 0 };
	sn_status status;
	int64_t first_ns, run_ns;

	if (options)
		at = *options;
	status = sn_phases_new_at(profile, &at, NULL, &c.items[0], err);
	if (status != SN_OK)
		return status;
	c.count = 1;
	first_ns = c.items[0]->intervals->interval_ns;
	run_ns = longest_ns(c.items[0]->intervals);
	for (size_t i = 0; i < SN_INTERVAL_LENGTHS && !at.interval_ns; i++) {
		struct sn_phases_options longer = at;

		longer.interval_ns = sn_interval_lengths_ns[i];
		if (at.sites == SN_SITES_PAPER || isnan(c.items[0]->intervals->median_samples) ||
		    longer.interval_ns <= first_ns || longer.interval_ns * ROWS_MIN > run_ns)
			continue;
		status = sn_phases_new_at(profile, &longer, c.items[0], &c.items[c.count], err);
		if (status != SN_OK)
			break;
		c.count++;
	}
	if (status == SN_OK)
		*out = c.count > 1 ? candidates_judge(&c) : c.items[0];
	for (size_t i = 0; i < c.count && (c.count > 1 || status != SN_OK); i++)
		sn_phases_free(c.items[i]);
	return status;
}
