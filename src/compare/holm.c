/*
 * A closed test by its short cut: hypotheses by families (the totals of each comparison; all functions and loops), each
 * family with its share of what is left of the rate.
 */
#include "compare/holm.h"

#include <stdlib.h>

#include "base/alloc.h"

double sn_holm_share(struct sn_hypothesis_counts counts, bool is_total)
{
	size_t of_kind = is_total ? counts.totals : counts.others;
	bool are_both = counts.totals && counts.others;

	return of_kind ? (are_both ? 0.5 : 1.0) / (double)of_kind : 0;
}

static int by_p(const void *left, const void *right)
{
	const struct sn_hypothesis *a = left, *b = right;

	if (a->is_total != b->is_total)
		return a->is_total ? -1 : 1;
	if (a->is_total && a->together != b->together)
		return a->together < b->together ? -1 : 1;
	return (a->p > b->p) - (a->p < b->p);
}

/* Totals of one comparison, by p. */
struct family {
	size_t first, count, rejected;
};

struct rest {
	struct family *families;
	size_t family_count, families_left;
	size_t first_other, others, others_left;
};

static struct rest rest_of(const struct sn_hypothesis *tests, struct sn_hypothesis_counts counts)
{
	struct rest r = { .families = sn_alloc_zeroed(counts.totals + 1, sizeof(struct family)),
			  .first_other = counts.totals,
			  .others = counts.others,
			  .others_left = counts.others };

	for (size_t i = 0; i < counts.totals; i++) {
		if (!i || tests[i].together != tests[i - 1].together)
			r.families[r.family_count++].first = i;
		r.families[r.family_count - 1].count++;
	}
	r.families_left = r.family_count;
	return r;
}

/* What is left of the rate is shared by what is left, in the proportion of the shares. */
static double part_of(const struct rest *r, double share)
{
	double totals = r->family_count ? (double)r->families_left / (double)r->family_count : 0;
	double others = r->others ? (double)r->others_left / (double)r->others : 0;

	return share / (totals + others);
}

/* Hochberg: as many as there are, if the largest p is below the rate; else the others, at half of it ... */
static size_t family_reject(struct family *f, const struct sn_hypothesis *tests, double rate)
{
	size_t before = f->rejected;

	for (size_t k = f->count; k > f->rejected; k--)
		if (tests[f->first + k - 1].p <= rate / (double)(f->count - k + 1))
			f->rejected = k;
	return f->rejected - before;
}

static bool totals_reject(struct rest *r, const struct sn_hypothesis *tests, double rate)
{
	bool is_more = false;

	for (size_t i = 0; i < r->family_count; i++) {
		struct family *f = &r->families[i];
		bool was_left = f->rejected < f->count;

		if (!was_left ||
		    !family_reject(f, tests, rate * part_of(r, 1 / (double)r->family_count)))
			continue;
		is_more = true;
		r->families_left -= f->rejected == f->count;
	}
	return is_more;
}

static bool other_reject(struct rest *r, const struct sn_hypothesis *tests, double rate)
{
	size_t next = r->first_other + r->others - r->others_left;

	if (!r->others_left || !(tests[next].p <= rate * part_of(r, 1 / (double)r->others)))
		return false;
	r->others_left--;
	return true;
}

size_t sn_holm_reject(struct sn_hypothesis *tests, struct sn_hypothesis_counts counts, double rate)
{
	struct sn_hypothesis *sorted;
	size_t count = counts.totals + counts.others, at = 0, rejected = 0;
	struct rest r;

	if (!count)
		return 0;
	qsort(tests, count, sizeof(*tests), by_p);
	r = rest_of(tests, counts);
	while (totals_reject(&r, tests, rate) || other_reject(&r, tests, rate))
		;
	sorted = sn_alloc_zeroed(count, sizeof(*sorted));
	for (int is_kept = 0; is_kept < 2; is_kept++) {
		for (size_t i = 0; i < r.family_count; i++)
			for (size_t k = 0; k < r.families[i].count; k++)
				if ((k >= r.families[i].rejected) == is_kept)
					sorted[at++] = tests[r.families[i].first + k];
		for (size_t k = 0; k < r.others; k++)
			if ((k >= r.others - r.others_left) == is_kept)
				sorted[at++] = tests[r.first_other + k];
		rejected = is_kept ? rejected : at;
	}
	for (size_t i = 0; i < count; i++)
		tests[i] = sorted[i];
	free(sorted);
	free(r.families);
	return rejected;
}
