/*
 * Weighted linear least squares of laws with up to three coefficients, by the normal equations. Errors
 * are taken to be relative: a run of twice the time varies twice as much.
 */
#include "campaign/scaling/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"

enum { TERMS = 3, MODELS = 3 };
/* Of laws within so much of the best AICc none is ruled out: a weight of 5 % (Burnham and Anderson). */
static const double NEARLY_AS_GOOD = 6;
static const double WORKERS_MOST = 1e6;
/* What two runs differ by at least. Without it, data that fit a law exactly have no error at all. */
static const double LEAST_ERROR = 1e-3;

struct model {
	const char *name;
	int terms;
	double (*term)(int i, double n, bool is_weak);
};

static double amdahl_term(int i, double n, bool is_weak)
{
	return i == 0 ? 1 : is_weak ? n : 1 / n;
}

static double usl_term(int i, double n, bool is_weak)
{
	double term = i == 0 ? 1 : i == 1 ? n - 1 : n * (n - 1);

	return is_weak ? term : term / n;
}

static double logarithm_term(int i, double n, bool is_weak)
{
	return i ? log(n) : is_weak ? 1 : 1 / n;
}

static const struct model models[MODELS] = { { "amdahl", 2, amdahl_term },
					     { "usl", 3, usl_term },
					     { "logarithm", 2, logarithm_term } };

struct data {
	const struct sn_fit_point *points;
	const double *weights;
	size_t count;
	bool is_weak;
};

/* Runs with as many workers. */
struct group {
	double workers, mean_s;
	double variance; /* of a run, relative; 0 for one run */
	size_t runs;
};

struct solution {
	const struct model *model;
	unsigned used; /* bits of terms; the others are 0 */
	int terms;
	double c[TERMS], inverse[TERMS][TERMS]; /* of the normal equations */
	double variance;			/* of a weighted residual */
	double last_variance;			/* that of runs with the most workers, if larger */
	double df, aicc;
};

/* Inverts a symmetric matrix by Gauss and Jordan; false if it is singular. */
static bool invert(double a[TERMS][TERMS], int size, double out[TERMS][TERMS])
{
	for (int i = 0; i < size; i++)
		for (int k = 0; k < size; k++)
			out[i][k] = i == k;
	for (int i = 0; i < size; i++) {
		double pivot = a[i][i];

		if (!(fabs(pivot) > 1e-12))
			return false;
		for (int k = 0; k < size; k++) {
			a[i][k] /= pivot;
			out[i][k] /= pivot;
		}
		for (int row = 0; row < size; row++) {
			double factor = a[row][i];

			for (int k = 0; row != i && k < size; k++) {
				a[row][k] -= factor * a[i][k];
				out[row][k] -= factor * out[i][k];
			}
		}
	}
	return true;
}

/* The terms in use at n workers. */
static void row_of(const struct solution *s, double n, bool is_weak, double *x)
{
	int at = 0;

	for (int i = 0; i < s->model->terms; i++)
		if (s->used & 1u << i)
			x[at++] = s->model->term(i, n, is_weak);
}

static double value_at(const struct solution *s, double n, bool is_weak)
{
	double x[TERMS], value = 0;

	row_of(s, n, is_weak, x);
	for (int i = 0; i < s->terms; i++)
		value += s->c[i] * x[i];
	return value;
}

static bool solve(const struct data *d, struct solution *s)
{
	double a[TERMS][TERMS] = { { 0 } }, b[TERMS] = { 0 }, x[TERMS];

	s->terms = __builtin_popcount(s->used);
	for (size_t p = 0; p < d->count; p++) {
		row_of(s, d->points[p].workers, d->is_weak, x);
		for (int i = 0; i < s->terms; i++) {
			b[i] += d->weights[p] * x[i] * d->points[p].time_s;
			for (int k = 0; k < s->terms; k++)
				a[i][k] += d->weights[p] * x[i] * x[k];
		}
	}
	if (!invert(a, s->terms, s->inverse))
		return false;
	for (int i = 0; i < s->terms; i++) {
		s->c[i] = 0;
		for (int k = 0; k < s->terms; k++)
			s->c[i] += s->inverse[i][k] * b[k];
		if (s->c[i] < 0)
			return false;
	}
	return true;
}

static double weighted_residual(const struct data *d, const struct solution *s)
{
	double sum = 0;

	for (size_t p = 0; p < d->count; p++) {
		double off = d->points[p].time_s - value_at(s, d->points[p].workers, d->is_weak);

		sum += d->weights[p] * off * off;
	}
	return sum;
}

/* The group that begins with this point; points are in the order of workers. */
static struct group group_at(const struct sn_fit_point *points, size_t count, size_t first)
{
	struct group g = { .workers = points[first].workers };
	double squares = 0;

	while (first + g.runs < count && points[first + g.runs].workers == g.workers)
		g.mean_s += points[first + g.runs++].time_s;
	g.mean_s /= (double)g.runs;
	for (size_t i = first; i < first + g.runs; i++)
		squares += (points[i].time_s - g.mean_s) * (points[i].time_s - g.mean_s);
	if (g.runs > 1 && g.mean_s > 0)
		g.variance = squares / (double)(g.runs - 1) / (g.mean_s * g.mean_s);
	return g;
}

static struct group last_group(const struct data *d)
{
	size_t first = d->count - 1;

	while (first && d->points[first - 1].workers == d->points[first].workers)
		first--;
	return group_at(d->points, d->count, first);
}

/* Of what the law misses at each number of workers, where the mean of repeats is better known. */
static double lack_of_fit(const struct data *d, const struct solution *s)
{
	double sum = 0, distinct = 0;
	struct group g;

	for (size_t first = 0; first < d->count; first += g.runs, distinct++) {
		double off;

		g = group_at(d->points, d->count, first);
		off = g.mean_s - value_at(s, g.workers, d->is_weak);
		sum += d->weights[first] * off * off * (double)g.runs;
	}
	return distinct > s->terms ? sum / (distinct - s->terms) : 0;
}

/* The best of a model's choices of terms; false if none can be solved. */
static bool model_fit(const struct data *d, const struct model *model, struct solution *best)
{
	double least = INFINITY;

	for (unsigned used = 1; used < 1u << model->terms; used++) {
		struct solution s = { .model = model, .used = used };
		double residual;

		if (!solve(d, &s) || !((residual = weighted_residual(d, &s)) < least))
			continue;
		least = residual;
		*best = s;
	}
	if (isinf(least))
		return false;
	best->df = (double)d->count - best->terms;
	best->variance =
		fmax(fmax(least / best->df, lack_of_fit(d, best)), LEAST_ERROR * LEAST_ERROR);
	best->last_variance = fmax(best->variance, last_group(d).variance);
	double k = best->terms + 1, n = (double)d->count;

	best->aicc = n * log(fmax(least / n, LEAST_ERROR * LEAST_ERROR)) + 2 * k +
		     (n - k - 1 > 0 ? 2 * k * (k + 1) / (n - k - 1) : INFINITY);
	return best->df > 0 && !isinf(best->aicc);
}

struct fitted {
	struct solution solutions[MODELS];
	bool is_there[MODELS];
	int best; /* -1: none */
};

static void all_fit(const struct data *d, struct fitted *out)
{
	out->best = -1;
	for (int m = 0; m < MODELS; m++) {
		out->is_there[m] = model_fit(d, &models[m], &out->solutions[m]);
		if (out->is_there[m] &&
		    (out->best < 0 || out->solutions[m].aicc < out->solutions[out->best].aicc))
			out->best = m;
	}
}

/* A new run: its own error, which is relative, and that of the fit. Shorter times are relatively less sure:
 * a run with more workers varies at least as much as those with the most workers do. */
static void interval_widen(const struct solution *s, bool is_weak, struct sn_fit_prediction *p)
{
	double x[TERMS], of_fit = 0, value = value_at(s, p->workers, is_weak), half;

	row_of(s, p->workers, is_weak, x);
	for (int i = 0; i < s->terms; i++)
		for (int k = 0; k < s->terms; k++)
			of_fit += x[i] * s->inverse[i][k] * x[k];
	half = sn_student_t(0.05, s->df) *
	       sqrt(s->last_variance * value * value + s->variance * of_fit);
	p->low_s = fmin(p->low_s, fmax(value - half, 0));
	p->high_s = fmax(p->high_s, value + half);
}

static struct sn_fit_prediction predict(const struct fitted *f, bool is_weak, double workers)
{
	struct sn_fit_prediction p = { .workers = workers, .low_s = INFINITY, .high_s = 0 };

	p.time_s = fmax(value_at(&f->solutions[f->best], workers, is_weak), 0);
	for (int m = 0; m < MODELS; m++)
		if (f->is_there[m] &&
		    f->solutions[m].aicc <= f->solutions[f->best].aicc + NEARLY_AS_GOOD)
			interval_widen(&f->solutions[m], is_weak, &p);
	return p;
}

static double efficiency_of(double reference_s, double reference, double time_s, double n,
			    bool is_weak)
{
	if (!(time_s > 0))
		return INFINITY;
	return is_weak ? reference_s / time_s : reference_s * reference / (time_s * n);
}

/* The efficiency that the law goes on with, from the one that was measured at the most workers: it is taken
 * for the shape. */
static double efficiency_beyond(const struct solution *s, bool is_weak, const struct group *last,
				double efficiency, double n)
{
	return efficiency * efficiency_of(value_at(s, last->workers, is_weak), last->workers,
					  value_at(s, n, is_weak), n, is_weak);
}

static double law_below(const struct solution *s, bool is_weak, const struct group *last,
			double efficiency, double level)
{
	double low = last->workers, high = low;

	while (efficiency_beyond(s, is_weak, last, efficiency, high) >= level) {
		low = high;
		high = fmax(high * 1.25, high + 1);
		if (high > WORKERS_MOST)
			return NAN;
	}
	for (int step = 0; step < 60; step++) {
		double middle = (low + high) / 2;

		if (efficiency_beyond(s, is_weak, last, efficiency, middle) >= level)
			low = middle;
		else
			high = middle;
	}
	return ceil(high - 1e-9);
}

/* What was measured goes before the law: the first number of workers that lies below, and between it and
 * the one before the reciprocal of efficiency is taken for a straight line, as under Amdahl's law. */
static double workers_below(const struct data *d, const struct solution *s, double reference,
			    double level)
{
	double reference_s = value_at(s, reference, d->is_weak), before = 1;
	struct group last = { .workers = reference, .mean_s = reference_s }, g;

	for (size_t i = 0; i < d->count; i += g.runs) {
		g = group_at(d->points, d->count, i);
		if (g.workers == reference)
			reference_s = g.mean_s;
	}
	for (size_t i = 0; i < d->count; i += g.runs) {
		double here;

		g = group_at(d->points, d->count, i);
		if (g.workers <= reference)
			continue;
		here = efficiency_of(reference_s, reference, g.mean_s, g.workers, d->is_weak);
		if (here < level)
			return ceil(last.workers - 1e-9 +
				    (g.workers - last.workers) * (1 / level - 1 / before) /
					    (1 / here - 1 / before));
		last = g;
		before = here;
	}
	return law_below(s, d->is_weak, &last, before, level);
}

static int points_compare(const void *left, const void *right)
{
	const struct sn_fit_point *x = left, *y = right;

	if (x->workers != y->workers)
		return x->workers < y->workers ? -1 : 1;
	return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

/* By the mean of the runs with as many workers. Returns how many numbers of workers there are. */
static size_t weights_set(const struct sn_fit_point *points, size_t count, double *weights)
{
	size_t distinct = 0;
	struct group g;

	for (size_t first = 0; first < count; first += g.runs, distinct++) {
		double mean;

		g = group_at(points, count, first);
		mean = fmax(g.mean_s, 1e-9);
		for (size_t i = first; i < first + g.runs; i++)
			weights[i] = 1 / (mean * mean);
	}
	return distinct;
}

/* Whether the others foretell the mean of the last, which is itself known as well as its runs agree. */
static bool last_is_foretold(const struct data *d, struct sn_fit *out)
{
	struct group last = last_group(d);
	struct data others = *d;
	struct sn_fit_prediction p;
	struct fitted f;
	double half = 0;

	others.count -= last.runs;
	all_fit(&others, &f);
	if (f.best < 0) {
		snprintf(out->reason, sizeof(out->reason),
			 "too few runs to check a law by leaving out the last");
		return false;
	}
	p = predict(&f, d->is_weak, last.workers);
	if (last.runs > 1)
		half = sn_student_t(0.05, (double)last.runs - 1) * last.mean_s *
		       sqrt(last.variance / (double)last.runs);
	if (last.mean_s + half >= p.low_s && last.mean_s - half <= p.high_s)
		return true;
	snprintf(
		out->reason, sizeof(out->reason),
		"no law holds: without %g workers, %.3g to %.3g s are foretold for them; they took "
		"%.3g s",
		last.workers, p.low_s, p.high_s, last.mean_s);
	return false;
}

void sn_fit_scaling(const struct sn_fit_point *points, size_t count, bool is_weak, double reference,
		    struct sn_fit *out)
{
	struct sn_fit_point *sorted = sn_alloc_zeroed(count + 1, sizeof(*sorted));
	double *weights = sn_alloc_zeroed(count + 1, sizeof(*weights));
	struct data d = { sorted, weights, count, is_weak };
	struct fitted f = { .best = -1 };
	size_t distinct;

	*out = (struct sn_fit){ .workers_80 = NAN, .workers_50 = NAN };
	memcpy(sorted, points, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), points_compare);
	distinct = weights_set(sorted, count, weights);
	if (distinct < SN_FIT_POINTS_LEAST)
		snprintf(out->reason, sizeof(out->reason),
			 "too few points: %zu number%s of workers, a law needs %d", distinct,
			 distinct == 1 ? "" : "s", SN_FIT_POINTS_LEAST);
	else if (last_is_foretold(&d, out))
		all_fit(&d, &f);
	if (f.best >= 0) {
		const struct solution *best = &f.solutions[f.best];

		out->model = best->model->name;
		out->workers_80 = workers_below(&d, best, reference, 0.8);
		out->workers_50 = workers_below(&d, best, reference, 0.5);
		for (int i = 0; i < SN_FIT_PREDICTIONS; i++)
			out->predicted[i] =
				predict(&f, is_weak, sorted[count - 1].workers * (2 << i));
	}
	free(sorted);
	free(weights);
}
