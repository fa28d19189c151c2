/* Finds suspicious runs, configuration by configuration, from the facts that the state has. */
#include "campaign/judge.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/stats.h"

/* LOST_LEAST: of each rank, as some are lost where one starts (chosen: three or four in each are usual). */
enum { SIBLINGS_LEAST = 3, LOST_LEAST = 10, SAMPLES_LEAST = 100, OUTPUT_LEAST_BYTES = 100 };
static const double TWICE = 2, LOST_SHARE = 0.01;

/* Of short runs, CPU time is mostly their start. */
static const double CPU_LEAST_S = 0.05;

struct siblings {
	struct sn_campaign_attempt **runs;
	size_t count;
	double cpu_s, rate, output; /* medians */
};

static double rate_of(const struct sn_run_facts *facts)
{
	return facts->samples >= 0 && facts->cpu_s > 0 ? (double)facts->samples / facts->cpu_s
						       : NAN;
}

static double output_of(const struct sn_run_facts *facts)
{
	return facts->output_bytes >= 0 ? (double)facts->output_bytes : NAN;
}

static double cpu_of(const struct sn_run_facts *facts)
{
	return facts->cpu_s;
}

/* Of known values; NaN if they are too few. */
static double median_of(const struct siblings *s, double (*value)(const struct sn_run_facts *))
{
	double *values = sn_alloc_zeroed(s->count + 1, sizeof(*values)), median = NAN;
	size_t known = 0;

	for (size_t i = 0; i < s->count; i++)
		if (!isnan(value(&s->runs[i]->facts)))
			values[known++] = value(&s->runs[i]->facts);
	if (known >= SIBLINGS_LEAST)
		median = sn_median(values, known);
	free(values);
	return median;
}

static bool is_far(double value, double median)
{
	return value > TWICE * median || value * TWICE < median;
}

/* A sentence, or NULL. */
static const char *suspicion(struct sn_campaign_state *state, const struct siblings *s,
			     const struct sn_run_facts *f)
{
	struct sn_arena *arena = &state->arena;

	if (f->lost >= LOST_LEAST * (f->ranks > 1 ? f->ranks : 1) &&
	    (double)f->lost > LOST_SHARE * (double)(f->lost + f->samples))
		return sn_arena_printf(arena, "%lld of %lld samples were lost", (long long)f->lost,
				       (long long)f->lost + (long long)f->samples);
	if (s->cpu_s >= CPU_LEAST_S && f->cpu_s > TWICE * s->cpu_s)
		return sn_arena_printf(arena,
				       "it took %.3g s of CPU time, its siblings %.3g s (median)",
				       f->cpu_s, s->cpu_s);
	if (s->rate * s->cpu_s >= SAMPLES_LEAST && is_far(rate_of(f), s->rate))
		return sn_arena_printf(arena,
				       "it has %.0f samples a second, its siblings %.0f (median)",
				       rate_of(f), s->rate);
	if (fabs(output_of(f) - s->output) > OUTPUT_LEAST_BYTES && is_far(output_of(f), s->output))
		return sn_arena_printf(
			arena, "its output has %.0f bytes, that of its siblings %.0f (median)",
			output_of(f), s->output);
	return NULL;
}

static void siblings_judge(struct sn_campaign_state *state, struct siblings *s)
{
	s->cpu_s = median_of(s, cpu_of);
	s->rate = median_of(s, rate_of);
	s->output = median_of(s, output_of);
	for (size_t i = 0; i < s->count; i++) {
		const char *reason = suspicion(state, s, &s->runs[i]->facts);

		if (!reason)
			continue;
		s->runs[i]->reason = reason;
		s->runs[i]->state = SN_RUN_SUSPICIOUS;
	}
}

static int by_configuration(const void *left, const void *right)
{
	const struct sn_campaign_attempt *x = *(struct sn_campaign_attempt *const *)left;
	const struct sn_campaign_attempt *y = *(struct sn_campaign_attempt *const *)right;

	if (x->configuration != y->configuration)
		return x->configuration < y->configuration ? -1 : 1;
	return (x > y) - (x < y);
}

void sn_campaign_judge(struct sn_campaign_state *state)
{
	struct sn_campaign_attempt **done =
		sn_alloc_zeroed(state->attempts.count + 1, sizeof(struct sn_campaign_attempt *));
	size_t count = 0;

	for (size_t i = 0; i < state->attempts.count; i++)
		if (state->attempts.items[i].state == SN_RUN_DONE)
			done[count++] = &state->attempts.items[i];
	qsort(done, count, sizeof(*done), by_configuration);
	for (size_t first = 0, end; first < count; first = end) {
		struct siblings siblings = { .runs = done + first };

		for (end = first;
		     end < count && done[end]->configuration == done[first]->configuration; end++)
			siblings.count++;
		siblings_judge(state, &siblings);
	}
	free(done);
}
