/* Adds up what variants of loops would save. Of loops in each other only one counts. */
#include "whatif/measured.h"

#include <math.h>
#include <stdlib.h>

#define MOST_OF_GAIN 0.8

/* Of the run's time, by a speed-up of a loop with this share of it. */
static double saved_by(double coverage, double speedup)
{
	return coverage * (1 - 1 / speedup);
}

static bool holds(const struct sn_program *program, uint32_t outer, uint32_t loop)
{
	for (; loop != SN_NONE; loop = program->loops.items[loop].parent)
		if (loop == outer)
			return true;
	return false;
}

static int by_saving(const void *a, const void *b)
{
	const struct sn_measured_loop *x = a, *y = b;

	if (x->saved != y->saved)
		return x->saved > y->saved ? -1 : 1;
	return x->variants->loop < y->variants->loop ? -1 : x->variants->loop > y->variants->loop;
}

/* The curve's loops before those that are not in it, both as they were. */
static int by_rank(const void *a, const void *b)
{
	const struct sn_measured_loop *x = a, *y = b;

	if (!x->rank != !y->rank)
		return x->rank ? -1 : 1;
	return by_saving(a, b);
}

static void collect(const struct sn_variants_list *list, enum sn_decan_variant variant,
		    struct sn_measured_curve *out)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct sn_variants *loop = &list->items[i];
		const struct sn_variant_figure *f = &loop->figures[variant];
		struct sn_measured_loop new = {
			.variants = loop,
			.saved = saved_by(loop->coverage, f->speedup),
			.saved_low = saved_by(loop->coverage, f->speedup_range.low),
			.saved_high = saved_by(loop->coverage, f->speedup_range.high),
			.counted_with = SN_NONE,
			.cumulative = NAN,
			.cumulative_range = { NAN, NAN },
		};

		if (loop->exponent < 0 && sn_variant_counts(loop, variant))
			sn_vec_push(&out->loops, new);
	}
	if (out->loops.count)
		qsort(out->loops.items, out->loops.count, sizeof(*out->loops.items), by_saving);
}

/* Time in a loop is time in those around it, too: it counts once. */
static double share_of_all(const struct sn_program *program, const struct sn_measured_curve *curve)
{
	double share = 0;

	for (size_t i = 0; i < curve->loops.count; i++) {
		uint32_t loop = curve->loops.items[i].variants->loop;
		bool is_inside = false;

		for (size_t k = 0; k < curve->loops.count; k++)
			is_inside |= k != i &&
				     holds(program, curve->loops.items[k].variants->loop, loop);
		if (!is_inside)
			share += curve->loops.items[i].variants->coverage;
	}
	return share;
}

/* A loop of the curve so far that is around this one or in it. */
static uint32_t stands_for(const struct sn_program *program, const struct sn_measured_curve *curve,
			   size_t index)
{
	uint32_t loop = curve->loops.items[index].variants->loop;

	for (size_t i = 0; i < index; i++) {
		uint32_t other = curve->loops.items[i].variants->loop;

		if (curve->loops.items[i].rank &&
		    (holds(program, other, loop) || holds(program, loop, other)))
			return other;
	}
	return SN_NONE;
}

static void set_cumulative(struct sn_measured_curve *curve, const struct sn_program *program)
{
	double saved = 0, below = 0, above = 0; /* errors in squares: loops are timed apart */

	for (size_t i = 0; i < curve->loops.count; i++) {
		struct sn_measured_loop *loop = &curve->loops.items[i];

		if (loop->saved <= 0)
			continue;
		loop->counted_with = stands_for(program, curve, i);
		if (loop->counted_with != SN_NONE)
			continue;
		saved += loop->saved;
		below = hypot(below, loop->saved - loop->saved_low);
		above = hypot(above, loop->saved_high - loop->saved);
		loop->rank = ++curve->count;
		loop->cumulative = 1 / (1 - saved);
		loop->cumulative_range = (struct sn_interval){
			1 / (1 - (saved - below)),
			1 / (1 - fmin(saved + above, 1)),
		};
		curve->speedup = loop->cumulative;
		curve->range = loop->cumulative_range;
	}
}

void sn_measured_curve_find(const struct sn_program *program, const struct sn_variants_list *list,
			    enum sn_decan_variant variant, struct sn_measured_curve *out)
{
	*out = (struct sn_measured_curve){ .speedup = NAN, .range = { NAN, NAN } };
	collect(list, variant, out);
	if (!out->loops.count)
		return;
	out->measured_share = share_of_all(program, out);
	if (out->measured_share > 0) {
		out->speedup = 1;
		out->range = (struct sn_interval){ 1, 1 };
	}
	set_cumulative(out, program);
	qsort(out->loops.items, out->loops.count, sizeof(*out->loops.items), by_rank);
	for (size_t i = 0; i < out->count && !out->loops_for_80_percent; i++)
		if (out->loops.items[i].cumulative - 1 >= MOST_OF_GAIN * (out->speedup - 1))
			out->loops_for_80_percent = i + 1;
}

void sn_measured_curve_free(struct sn_measured_curve *curve)
{
	sn_vec_free(&curve->loops);
}
