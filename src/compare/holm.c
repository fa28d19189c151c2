/* Hypotheses in the order of p over share, each against its share of what is left. */
#include "compare/holm.h"

#include <stdlib.h>

double sn_holm_share(struct sn_hypothesis_counts counts, bool is_total)
{
	size_t of_kind = is_total ? counts.totals : counts.others;
	bool are_both = counts.totals && counts.others;

	return of_kind ? (are_both ? 0.5 : 1.0) / (double)of_kind : 0;
}

static int by_p_over_share(const void *left, const void *right, void *context)
{
	const struct sn_hypothesis *a = left, *b = right;
	const struct sn_hypothesis_counts *counts = context;
	double x = a->p / sn_holm_share(*counts, a->is_total),
	       y = b->p / sn_holm_share(*counts, b->is_total);

	return (x > y) - (x < y);
}

size_t sn_holm_reject(struct sn_hypothesis *tests, struct sn_hypothesis_counts counts, double rate)
{
	size_t count = counts.totals + counts.others, rejected = 0;
	struct sn_hypothesis_counts left = counts;

	if (count)
		qsort_r(tests, count, sizeof(*tests), by_p_over_share, &counts);
	while (rejected < count) {
		const struct sn_hypothesis *test = &tests[rejected];
		double share = sn_holm_share(counts, test->is_total);
		double share_left = (double)left.totals * sn_holm_share(counts, true) +
				    (double)left.others * sn_holm_share(counts, false);

		if (!(test->p <= rate * share / share_left))
			break;
		*(test->is_total ? &left.totals : &left.others) -= 1;
		rejected++;
	}
	return rejected;
}
