/* Which of repeated measurements are believed. */
#include "machine/settle.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/stats.h"

enum { ROUNDS_NEEDED = 3 }; /* two disturbed ones of some hundred forms do agree now and then */

static const double FORM_TOLERANCE = 0.03;  /* repeated passes of a quiet core agree within 1 % */
static const double PROBE_TOLERANCE = 0.1;  /* a second thread on a core takes a third and more */
static const double MEMORY_TOLERANCE = 0.1; /* as far as pages lie in caches by chance */

void sn_settling_add(struct sn_settling *s, double throughput_cycles, double latency_cycles,
		     double probe_cycles)
{
	if (s->rounds == SN_SETTLE_ROUNDS_MAX)
		return;
	s->throughput_cycles[s->rounds] = throughput_cycles;
	s->latency_cycles[s->rounds] = latency_cycles;
	s->probe_cycles[s->rounds++] = probe_cycles;
}

static int by_size(const void *left, const void *right)
{
	double x = *(const double *)left, y = *(const double *)right;

	return (x > y) - (x < y);
}

/* The lowest value with which the next ones agree, `needed` in all; NaN if there is none. Sorts in
 * place. */
double sn_lowest_agreed(double *values, size_t count, size_t needed, double tolerance)
{
	qsort(values, count, sizeof(*values), by_size);
	for (size_t i = 0; i + needed <= count; i++)
		if (values[i + needed - 1] <= values[i] * (1 + tolerance))
			return values[i];
	return NAN;
}

double sn_best_probe_cycles(double *probes, size_t count)
{
	return sn_lowest_agreed(probes, count, count / 20 > 3 ? count / 20 : 3,
				PROBE_TOLERANCE / 2);
}

static double settled(const struct sn_settling *s, const double *values, double best_probe_cycles)
{
	double undisturbed[SN_SETTLE_ROUNDS_MAX];
	size_t count = 0;

	for (unsigned i = 0; i < s->rounds; i++)
		if (!isnan(values[i]) && !(fabs(s->probe_cycles[i] - best_probe_cycles) >
					   PROBE_TOLERANCE * best_probe_cycles))
			undisturbed[count++] = values[i];
	/* the most that agree: of a few rounds most are right */
	for (size_t needed = count; needed >= ROUNDS_NEEDED; needed--) {
		double agreed = sn_lowest_agreed(undisturbed, count, needed, FORM_TOLERANCE);

		if (!isnan(agreed))
			return agreed;
	}
	return NAN;
}

bool sn_settling_is_stable(const struct sn_settling *s, double best_probe_cycles,
			   struct sn_form_timing *out)
{
	bool has_latency = false;

	for (unsigned i = 0; i < s->rounds; i++)
		has_latency |= !isnan(s->latency_cycles[i]);
	out->throughput_cycles = settled(s, s->throughput_cycles, best_probe_cycles);
	out->latency_cycles = settled(s, s->latency_cycles, best_probe_cycles);
	return !isnan(out->throughput_cycles) && (!has_latency || !isnan(out->latency_cycles));
}

struct sn_settled sn_core_profile_keep(const sn_form *unstable, size_t count,
				       const struct sn_core_profile *older,
				       struct sn_core_profile *out)
{
	struct sn_settled settled = { .unstable = count };

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < older->forms.count; k++)
			if (older->forms.items[k].form == unstable[i]) {
				sn_vec_push(&out->forms, older->forms.items[k]);
				settled.kept++;
				break;
			}
	return settled;
}

/* ---- memory ---- */

#define FIGURE(member, is_rate)                                                                    \
	{                                                                                          \
		offsetof(struct sn_memory_level, member), is_rate                                  \
	}

static const struct {
	size_t offset;
	bool is_rate; /* more is better */
} figures[] = {
	FIGURE(unit_bytes_per_cycle, true),  FIGURE(line_bytes_per_cycle, true),
	FIGURE(copy_bytes_per_cycle, true),  FIGURE(past_caches_bytes_per_cycle, true),
	FIGURE(store_bytes_per_cycle, true), FIGURE(latency_cycles, false),
	FIGURE(random_cycles, false),	     FIGURE(stride_cycles[0], false),
	FIGURE(stride_cycles[1], false),     FIGURE(stride_cycles[2], false),
	FIGURE(stride_cycles[3], false),
};

static double *figure_of(const struct sn_memory_level *level, size_t figure)
{
	return (double *)((char *)(uintptr_t)level + figures[figure].offset);
}

/* Both as times: the lower is the better one. */
static double as_time(double value, bool is_rate)
{
	return is_rate ? 1 / value : value;
}

static void figure_settle(const struct sn_memory_profile *measured, size_t count,
			  const struct sn_memory_profile *older, unsigned level, size_t figure,
			  struct sn_memory_profile *out, struct sn_settled *settled)
{
	bool is_rate = figures[figure].is_rate;
	double times[SN_SETTLE_ROUNDS_MAX], best, known;

	for (size_t i = 0; i < count; i++)
		times[i] = as_time(*figure_of(&measured[i].levels[level], figure), is_rate);
	best = sn_lowest_agreed(times, count, 2, MEMORY_TOLERANCE);
	if (isnan(best)) {
		known = older ? *figure_of(&older->levels[level], figure) : 0;
		settled->unstable++;
		settled->kept += known > 0;
		best = known > 0 ? as_time(known, is_rate) : sn_median(times, count);
	}
	*figure_of(&out->levels[level], figure) = as_time(best, is_rate);
}

struct sn_settled sn_memory_profile_settle(const struct sn_memory_profile *measured, size_t count,
					   const struct sn_memory_profile *older,
					   struct sn_memory_profile *out)
{
	struct sn_settled settled = { 0 };

	*out = measured[0];
	for (unsigned level = 0; level < SN_MEMORY_LEVELS; level++)
		for (size_t f = 0; f < sizeof(figures) / sizeof(*figures); f++)
			figure_settle(measured, count, older, level, f, out, &settled);
	return settled;
}
