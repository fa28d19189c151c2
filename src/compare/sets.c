/*
 * N sets as N-1 comparisons of two with one correction over all, joined row by row by the names that
 * rows have.
 */
#include "compare/sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/text.h"
#include "compare/drift.h"
#include "compare/entry.h"
#include "compare/ranges.h"

/* Of comparisons with a true change, the part in which it is to be found. */
static const double POWER = 0.8;

const char *sn_set_verdict_name(enum sn_set_verdict verdict)
{
	static const char *const names[] = { "same",  "slower",	   "faster", "only_here",
					     "drift", "reference", NULL };

	return names[verdict];
}

bool sn_set_cell_is_unsure(const struct sn_set_cell *cell)
{
	return cell->verdict == SN_SET_SAME && (cell->ratio_low > 1 || cell->ratio_high < 1);
}

size_t sn_set_unsure_count(const struct sn_set_comparison *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->rows.count; i++)
		for (size_t s = 0; s < c->set_count; s++)
			count += sn_set_cell_is_unsure(&c->rows.items[i].cells[s]);
	return count;
}

struct builder {
	struct sn_set_comparison *c;
	const struct sn_compare_set *sets;
	struct sn_comparison **pairs; /* by set; NULL: the reference */
	struct sn_interner keys;
	struct sn_hypothesis_counts tested_of;
};

static bool is_finding(const struct sn_compare_row *row)
{
	return row->verdict == SN_VERDICT_SLOWER || row->verdict == SN_VERDICT_FASTER ||
	       row->verdict == SN_VERDICT_DRIFT;
}

/* What one comparison found stays found only if it passes the correction over all of them. */
static void correct(struct builder *b)
{
	SN_VEC(struct sn_hypothesis) tests = { 0 };
	size_t rejected;

	for (size_t s = 0; s < b->c->set_count; s++)
		for (size_t i = 0; b->pairs[s] && i < b->pairs[s]->rows.count; i++) {
			struct sn_compare_row *row = &b->pairs[s]->rows.items[i];
			struct sn_hypothesis test = { row->p, row->entry.kind == SN_COMPARE_TOTAL,
						      s, row };

			if (isnan(row->p) || row->is_only_loop)
				continue;
			sn_vec_push(&tests, test);
			*(test.is_total ? &b->tested_of.totals : &b->tested_of.others) += 1;
		}
	b->c->tested = tests.count;
	rejected = sn_holm_reject(tests.items, b->tested_of, b->c->false_alarm_rate);
	for (size_t i = 0; i < tests.count; i++) {
		struct sn_compare_row *row = tests.items[i].row;

		if (i >= rejected && is_finding(row))
			row->verdict = SN_VERDICT_SAME;
		b->c->findings +=
			row->verdict == SN_VERDICT_SLOWER || row->verdict == SN_VERDICT_FASTER;
		b->c->drifted += row->verdict == SN_VERDICT_DRIFT;
	}
	if (!tests.count)
		b->c->false_alarm_rate = NAN;
	sn_vec_free(&tests);
}

/* An only loop has the verdict of its function, which the correction may have changed. */
static void only_loops_follow(struct sn_comparison *pair)
{
	for (size_t i = 0; pair && i < pair->rows.count; i++) {
		struct sn_compare_row *loop = &pair->rows.items[i];

		for (size_t k = 0; loop->is_only_loop && k < pair->rows.count; k++) {
			const struct sn_compare_row *f = &pair->rows.items[k];

			if (f->entry.kind == SN_COMPARE_FUNCTION &&
			    !strcmp(f->entry.function, loop->entry.function) &&
			    !strcmp(f->entry.module, loop->entry.module))
				loop->verdict = f->verdict;
		}
	}
}

/* ---- rows ---- */

static struct sn_set_row *row_of(struct builder *b, const struct sn_compare_entry *entry)
{
	struct sn_text key = { 0 };
	uint32_t number;

	sn_compare_key_add(entry, &key);
	number = sn_intern(&b->keys, key.chars, key.length);
	sn_text_free(&key);
	if (number == b->c->rows.count) {
		struct sn_set_row row = { .entry = *entry };

		row.cells = sn_arena_array(&b->c->arena, struct sn_set_cell, b->c->set_count);
		for (size_t s = 0; s < b->c->set_count; s++)
			row.cells[s] = (struct sn_set_cell){ .low_s = NAN,
							     .high_s = NAN,
							     .ratio = NAN,
							     .ratio_low = NAN,
							     .ratio_high = NAN,
							     .p = NAN,
							     .detectable_ratio = NAN,
							     .verdict = SN_SET_UNTESTED };
		sn_vec_push(&b->c->rows, row);
	}
	return &b->c->rows.items[number];
}

static enum sn_set_verdict verdict_of(const struct sn_compare_row *row)
{
	if (!row->a_runs && row->b_runs)
		return SN_SET_ONLY_HERE;
	switch (row->verdict) {
	case SN_VERDICT_SLOWER:
		return SN_SET_SLOWER;
	case SN_VERDICT_FASTER:
		return SN_SET_FASTER;
	case SN_VERDICT_DRIFT:
		return SN_SET_DRIFT;
	case SN_VERDICT_SAME:
		return SN_SET_SAME;
	case SN_VERDICT_SMALL:
	case SN_VERDICT_REPEAT:
		break;
	}
	return SN_SET_UNTESTED;
}

/* The change that a test at the rate of one row would find with the given power: that many standard
 * errors of the difference (Cohen 1988, section 2.5; the t of both sides added). */
static double detectable_of(const struct sn_compare_row *row, double rate)
{
	double needed;

	if (!(row->base_s > 0) || isnan(row->error_s) || !(row->df > 0))
		return NAN;
	needed = sn_student_t(rate, row->df) + sn_student_t(2 * (1 - POWER), row->df);
	return 1 + needed * row->error_s / row->base_s;
}

/* Neither time nor a ratio of two can be below zero, whatever the noise. */
static double from_zero(double low)
{
	return low < 0 ? 0 : low;
}

static void cell_set(struct builder *b, size_t set, const struct sn_compare_row *row)
{
	struct sn_set_cell *cell = &row_of(b, &row->entry)->cells[set];
	struct sn_set_cell *reference = &row_of(b, &row->entry)->cells[b->c->reference];
	double share = sn_holm_share(b->tested_of, row->entry.kind == SN_COMPARE_TOTAL);

	cell->cpu_s = row->b_cpu_s;
	cell->difference_s = row->difference_s;
	cell->low_s = from_zero(row->b_interval.low);
	cell->high_s = row->b_interval.high;
	cell->p = row->p;
	cell->verdict = verdict_of(row);
	if (row->base_s > 0) {
		cell->ratio = 1 + row->difference_s / row->base_s;
		cell->ratio_low = from_zero(1 + row->difference_interval.low / row->base_s);
		cell->ratio_high = 1 + row->difference_interval.high / row->base_s;
		cell->detectable_ratio = detectable_of(row, b->c->false_alarm_rate * share);
	}
	if (!row->a_runs)
		return;
	row_of(b, &row->entry)->is_matched = true;
	reference->cpu_s = row->a_cpu_s;
	reference->low_s = from_zero(row->a_interval.low);
	reference->high_s = row->a_interval.high;
	reference->ratio = reference->ratio_low = reference->ratio_high = 1;
	reference->verdict = SN_SET_REFERENCE;
}

static void best_find(struct sn_set_row *row, size_t count)
{
	row->best = SIZE_MAX;
	for (size_t s = 0; s < count; s++)
		if (row->cells[s].cpu_s > 0 &&
		    (row->best == SIZE_MAX || row->cells[s].cpu_s < row->cells[row->best].cpu_s))
			row->best = s;
}

static int rows_compare(const void *left, const void *right, void *context)
{
	const struct sn_set_row *x = left, *y = right;
	size_t reference = *(const size_t *)context;
	double of_x = x->cells[reference].cpu_s, of_y = y->cells[reference].cpu_s;
	bool x_total = x->entry.kind == SN_COMPARE_TOTAL,
	     y_total = y->entry.kind == SN_COMPARE_TOTAL;
	int order;

	if (x_total != y_total)
		return x_total ? -1 : 1;
	if (x_total)
		return strcmp(y->entry.function, x->entry.function); /* elapsed, then CPU */
	if (x->is_matched != y->is_matched)
		return x->is_matched ? -1 : 1;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	order = strcmp(x->entry.name, y->entry.name);
	return order ? order : (int)x->entry.kind - (int)y->entry.kind;
}

int sn_set_row_rank(const struct sn_set_row *row, size_t set_count)
{
	int rank = row->entry.kind == SN_COMPARE_TOTAL ? 0 : 2;

	for (size_t s = 0; s < set_count; s++) {
		enum sn_set_verdict verdict = row->cells[s].verdict;

		if (verdict == SN_SET_SLOWER || verdict == SN_SET_FASTER)
			rank = 0;
		else if (rank > 1 && (verdict == SN_SET_SAME || verdict == SN_SET_DRIFT))
			rank = 1;
	}
	return rank;
}

/* ---- design ---- */

static const char *design_of(const struct builder *b)
{
	const struct sn_compare_run *first = &b->sets[0].runs[0];
	bool are_paired = true;

	for (size_t s = 0; s < b->c->set_count; s++) {
		are_paired &= !b->pairs[s] || b->pairs[s]->is_paired;
		for (size_t r = 0; r < b->sets[s].count; r++) {
			const struct sn_compare_run *run = &b->sets[s].runs[r];

			if (!run->campaign || !first->campaign ||
			    strcmp(run->campaign, first->campaign) != 0)
				return "unknown";
		}
	}
	return are_paired ? "blocks" : first->is_in_blocks ? "unknown" : "sequential";
}

static void warnings_take(struct sn_set_comparison *c, const struct sn_comparison *pair)
{
	for (size_t i = 0; i < pair->warnings.count; i++) {
		const char *sentence = sn_arena_strdup(&c->arena, pair->warnings.items[i]);
		bool is_new = true;

		for (size_t k = 0; k < c->warnings.count; k++)
			is_new &= strcmp(c->warnings.items[k], sentence) != 0;
		if (is_new)
			sn_vec_push(&c->warnings, sentence);
	}
}

struct sn_set_comparison *sn_compare_sets(const struct sn_compare_set *sets, size_t count,
					  size_t reference, double false_alarm_rate)
{
	struct sn_set_comparison *c = sn_alloc_zeroed(1, sizeof(*c));
	struct builder b = { .c = c, .sets = sets };
	const struct sn_compare_set *of = &sets[reference];
	struct sn_ranges ranges = { 0 };
	struct sn_compare_options options = { .ranges = &ranges,
					      .false_alarm_rate = false_alarm_rate };

	for (size_t r = 0; r < of->count; r++)
		sn_ranges_add(&ranges, &of->runs[r]);
	for (size_t s = 0; s < count; s++)
		for (size_t r = 0; r < sets[s].count; r++)
			sn_ranges_add(&ranges, &sets[s].runs[r]);
	sn_ranges_join(&ranges);
	c->set_count = count;
	c->reference = reference;
	c->false_alarm_rate = false_alarm_rate > 0 ? false_alarm_rate : 0.05;
	b.pairs = sn_alloc_zeroed(count + 1, sizeof(struct sn_comparison *));
	options.a_name = of->name;
	for (size_t s = 0; s < count; s++) {
		options.b_name = sets[s].name;
		if (s != reference)
			b.pairs[s] = sn_compare(of->runs, of->count, sets[s].runs, sets[s].count,
						&options);
	}
	correct(&b);
	c->design = design_of(&b);
	for (size_t s = 0; s < count; s++) {
		only_loops_follow(b.pairs[s]);
		for (size_t i = 0; b.pairs[s] && i < b.pairs[s]->rows.count; i++)
			cell_set(&b, s, &b.pairs[s]->rows.items[i]);
		if (b.pairs[s])
			warnings_take(c, b.pairs[s]);
	}
	for (size_t i = 0; i < c->rows.count; i++)
		best_find(&c->rows.items[i], count);
	if (c->rows.count)
		qsort_r(c->rows.items, c->rows.count, sizeof(*c->rows.items), rows_compare,
			&reference);
	for (size_t s = 0; s < count; s++)
		sn_comparison_free(b.pairs[s]);
	free(b.pairs);
	sn_interner_free(&b.keys);
	sn_ranges_free(&ranges);
	return c;
}

void sn_set_comparison_free(struct sn_set_comparison *comparison)
{
	if (!comparison)
		return;
	sn_vec_free(&comparison->rows);
	sn_vec_free(&comparison->warnings);
	sn_arena_free(&comparison->arena);
	free(comparison);
}

/* ---- equal runs ---- */

static int by_block(const void *left, const void *right)
{
	const struct sn_compare_run *x = left, *y = right;

	return (x->block > y->block) - (x->block < y->block);
}

/* Neighbours in time go to different halves, by the toss of a coin; a pair is a block. */
static void halves_make(const struct sn_compare_set *set, struct sn_random *random,
			struct sn_compare_set halves[2])
{
	struct sn_compare_run *sorted = sn_alloc_zeroed(set->count + 1, sizeof(*sorted));

	memcpy(sorted, set->runs, set->count * sizeof(*sorted));
	qsort(sorted, set->count, sizeof(*sorted), by_block);
	for (int h = 0; h < 2; h++)
		halves[h] = (struct sn_compare_set){
			h ? "second half" : "first half",
			sn_alloc_zeroed(set->count / 2 + 1, sizeof(*sorted)), set->count / 2
		};
	for (size_t p = 0; p < set->count / 2; p++) {
		size_t first = sn_random_below(random, 2);

		halves[0].runs[p] = sorted[2 * p + first];
		halves[1].runs[p] = sorted[2 * p + 1 - first];
		halves[0].runs[p].block = halves[1].runs[p].block = (uint32_t)p;
	}
	free(sorted);
}

void sn_compare_self(const struct sn_compare_set *sets, size_t count, size_t splits, uint64_t seed,
		     double false_alarm_rate, struct sn_self_test *out)
{
	struct sn_random random;

	*out = (struct sn_self_test){ 0 };
	sn_random_seed(&random, seed);
	for (size_t s = 0; s < count; s++)
		for (size_t i = 0; i < splits && sets[s].count >= 2 * SN_COMPARE_RUNS_MIN; i++) {
			sn_self_test_free(out);
			halves_make(&sets[s], &random, out->halves);
			out->last = sn_compare_sets(out->halves, 2, 0, false_alarm_rate);
			out->comparisons++;
			out->alarms += out->last->findings > 0;
		}
	out->rate = sn_wilson_interval((double)out->alarms, (double)out->comparisons);
}

void sn_self_test_free(struct sn_self_test *test)
{
	sn_set_comparison_free(test->last);
	free(test->halves[0].runs);
	free(test->halves[1].runs);
	test->last = NULL;
	test->halves[0].runs = test->halves[1].runs = NULL;
}
