/* Processes by severity: a few classes with the least spread, and sets of them as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/engine/parts.h"

/* No class needs to be narrower than this. */
static const double wide = 0.05;

/* Sum of squares about the mean of sorted values [first, end), by sums from the start. */
static double spread(const double *sums, const double *squares, size_t first, size_t end)
{
	double count = (double)(end - first), sum = sums[end] - sums[first];

	return fmax(0, squares[end] - squares[first] - sum * sum / count);
}

/* Costs of dividing the first values into so many classes, and where the last class begins. */
struct division {
	const double *sums, *squares;
	const double *before; /* by end: the least cost of one class fewer */
	double *cost;
	size_t *from;
};

/* Ends from `low` to `high`, whose last class begins between `first` and `last`: the later an end, the later its
 * last class begins, so the end in the middle bounds both halves. */
static void costs_find(struct division *d, size_t low, size_t high, size_t first, size_t last)
{
	size_t middle = low + (high - low) / 2;
	double best = INFINITY;

	if (low > high)
		return;
	for (size_t f = first; f <= last && f < middle; f++) {
		double all = d->before[f] + spread(d->sums, d->squares, f, middle);

		if (all < best) {
			best = all;
			d->from[middle] = f;
		}
	}
	d->cost[middle] = best;
	if (middle > low)
		costs_find(d, low, middle - 1, first, d->from[middle]);
	costs_find(d, middle + 1, high, d->from[middle], last);
}

/* The best division of the first `count` values into classes, by dynamic programming over the last
 * class's first value (Fisher 1958). */
static void divide(const double *values, size_t count, size_t classes, size_t *firsts)
{
	double *sums = sn_alloc_zeroed(count + 1, sizeof(double));
	double *squares = sn_alloc_zeroed(count + 1, sizeof(double));
	double *cost = sn_alloc_zeroed((classes + 1) * (count + 1), sizeof(double));
	size_t *from = sn_alloc_zeroed((classes + 1) * (count + 1), sizeof(size_t));

	for (size_t i = 0; i < count; i++) {
		sums[i + 1] = sums[i] + values[i];
		squares[i + 1] = squares[i] + values[i] * values[i];
		cost[i + 1] = INFINITY; /* no class has values */
	}
	for (size_t c = 1; c <= classes; c++) {
		struct division d = { sums, squares, cost + (c - 1) * (count + 1),
				      cost + c * (count + 1), from + c * (count + 1) };

		costs_find(&d, c, count, c - 1, count - 1);
	}
	for (size_t c = classes, end = count; c > 0; c--) {
		end = from[c * (count + 1) + end];
		firsts[c - 1] = end;
	}
	free(sums);
	free(squares);
	free(cost);
	free(from);
}

static bool is_wide(const double *values, size_t count, const size_t *firsts, size_t classes)
{
	for (size_t c = 0; c < classes; c++) {
		size_t end = c + 1 < classes ? firsts[c + 1] : count;

		if (values[end - 1] - values[firsts[c]] > wide)
			return true;
	}
	return false;
}

size_t sn_search_classes(const double *severities, size_t count, size_t firsts[SN_CLASSES_MAX])
{
	for (size_t classes = 1;; classes++) {
		divide(severities, count, classes, firsts);
		if (classes == SN_CLASSES_MAX || classes == count ||
		    !is_wide(severities, count, firsts, classes))
			return classes;
	}
}

/* ---- sets ---- */

static int numbers_compare(const void *left, const void *right)
{
	long a = *(const long *)left, b = *(const long *)right;

	return (a > b) - (a < b);
}

static void ranges_print(const long *numbers, size_t count, struct sn_text *out)
{
	for (size_t i = 0; i < count;) {
		size_t end = i + 1;

		while (end < count && numbers[end] <= numbers[end - 1] + 1)
			end++;
		sn_text_addf(out, "%s%ld", i ? "," : "", numbers[i]);
		if (numbers[end - 1] > numbers[i])
			sn_text_addf(out, "-%ld", numbers[end - 1]);
		i = end;
	}
}

void sn_search_set_print(const struct sn_member *members, const uint32_t *indices, size_t count,
			 struct sn_text *out)
{
	long *numbers = sn_alloc_zeroed(count + 1, sizeof(*numbers));
	bool are_numbers = true;

	for (size_t i = 0; i < count && are_numbers; i++) {
		char *end;
		const char *id = members[indices[i]].id ? members[indices[i]].id : "";

		numbers[i] = strtol(id, &end, 10);
		are_numbers = *id && !*end;
	}
	if (are_numbers && count) {
		qsort(numbers, count, sizeof(*numbers), numbers_compare);
		ranges_print(numbers, count, out);
	} else {
		for (size_t i = 0; i < count; i++)
			sn_text_addf(out, "%s%s", i ? "," : "",
				     members[indices[i]].id ? members[indices[i]].id : "");
	}
	free(numbers);
}

void sn_search_left_out_print(const struct sn_search *s, struct sn_text *out)
{
	const struct sn_recorded *r = s->recorded;
	const struct sn_experiment *e = r->profile ? r->profile->experiment : NULL;
	size_t processes = e && !strcmp(s->options.mode, "phases") ? e->processes.count : 0;
	long *numbers = sn_alloc_zeroed(processes + 1, sizeof(*numbers));
	size_t count = 0;

	/* of a rank there may be several processes: a script, and what it runs */
	for (size_t p = 0; p < processes; p++) {
		bool is_in = e->processes.items[p].rank < 0;

		for (size_t k = 0; k < processes && !is_in; k++)
			is_in = e->processes.items[k].rank == e->processes.items[p].rank &&
				r->process_members[k] != SN_ALL;
		if (!is_in)
			numbers[count++] = e->processes.items[p].rank;
	}
	if (count) {
		qsort(numbers, count, sizeof(*numbers), numbers_compare);
		ranges_print(numbers, count, out);
	}
	free(numbers);
}

void sn_search_who_print(const struct sn_finding *finding, enum sn_key key, struct sn_text *out)
{
	uint32_t *indices = sn_alloc_zeroed(finding->members.count + 1, sizeof(*indices));
	size_t count = 0;

	for (size_t i = 0; i < finding->members.count; i++) {
		uint32_t index = key == SN_KEY_PROCESS ? finding->members.items[i].process
						       : finding->members.items[i].thread;

		if (index != SN_ALL)
			indices[count++] = index;
	}
	if (count)
		sn_search_set_print(finding->recorded->tables->members[key].items, indices, count,
				    out);
	free(indices);
}
