#include "profile/uncertainty.h"

#include <math.h>
#include <stdio.h>

#include "harness/tap.h"
#include "profile/displaced.h"

/*
 * A program that alternates between two parts, A and B, sampled as the collector does, by two
 * clocks of random periods: how often does the 95 % interval hold the true share of that run?
 */
struct program {
	const char *name;
	double mean_a, mean_b; /* mean stay in each part, in periods */
	bool is_random;	       /* exponential stays; else fixed ones */
	double jitter;	       /* standard deviation of a sample's instant, in periods */
	int threads;
	int samples; /* a thread */
	/* as the collector claims: each sample the mean period, signals lost by chance, and what the
	 * clock says beyond that made up for later */
	double lost; /* 0: each sample claims the time since the one before */
};

static double exponential(struct sn_random *random, double mean)
{
	return -mean * log(1 - sn_random_unit(random));
}

static double gaussian(struct sn_random *random)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += sn_random_unit(random);
	return sum - 6;
}

struct observed {
	double time_a, time, weight_a, weight, squares, samples, transitions, pairs;
	struct sn_displaced displaced;
};

/* Two clocks of a mean period of 2; each gets a new period after 64 of its samples. */
struct clocks {
	struct sn_random *random;
	double next[2], period[2], last;
	int left[2];
	/* what samples claimed, and should claim more */
	double claimed, credit;
	int until_look;
};

static double period_draw(struct sn_random *random)
{
	return 2 * (0.5 + sn_random_unit(random));
}

static struct clocks clocks_start(struct sn_random *random)
{
	struct clocks c = { .random = random, .left = { 64, 32 } };

	for (int i = 0; i < 2; i++) {
		c.period[i] = period_draw(random);
		c.next[i] = sn_random_unit(random) * c.period[i];
	}
	return c;
}

static double clocks_next(const struct clocks *c)
{
	return c->next[0] < c->next[1] ? c->next[0] : c->next[1];
}

/* Takes the next sample; gives the time since the one before, which is its weight. */
static double clocks_take(struct clocks *c, double jitter)
{
	int i = c->next[1] < c->next[0];
	double since = c->next[i] - c->last;

	c->last = c->next[i];
	if (--c->left[i] == 0) {
		c->left[i] = 64;
		c->period[i] = period_draw(c->random);
	}
	c->next[i] += fmax(0.1, c->period[i] + jitter * gaussian(c->random));
	return since;
}

/* What a sample claims: the mean of the periods now, and an eighth of what the clock said that was
 * missing when it was last read, 64 samples ago at most. */
static double claim(struct clocks *c, double at)
{
	double a = c->period[0], b = c->period[1], step = c->credit / 8;
	double weight = a * b / (a + b);

	step = step < -0.5 ? -0.5 : step > 0.5 ? 0.5 : step;
	weight += step;
	c->credit -= step;
	c->claimed += weight;
	if (--c->until_look <= 0) {
		c->until_look = 64;
		c->credit = at - c->claimed;
	}
	return weight;
}

/* One thread: walks the stays and the sampling instants together. The instants drift as real ones
 * do: each period is measured from the interrupt before, which came late by a little. */
static void thread_run(const struct program *p, struct sn_random *random, struct observed *o)
{
	struct clocks clocks = clocks_start(random);
	double end = p->samples, at = 0;
	bool is_a = sn_random_unit(random) < p->mean_a / (p->mean_a + p->mean_b), before = false;
	int taken = 0;

	for (bool is_first = true; at < end; is_a = !is_a, is_first = false) {
		double mean = is_a ? p->mean_a : p->mean_b;
		double stay = p->is_random ? exponential(random, mean) : mean, until;

		if (is_first && !p->is_random)
			stay *= sn_random_unit(random);
		until = at + stay < end ? at + stay : end;
		if (is_a)
			o->time_a += until - at;
		while (clocks_next(&clocks) < until) {
			double weight = clocks_take(&clocks, p->jitter);

			if (p->lost > 0 && sn_random_unit(random) < p->lost)
				continue;
			if (p->lost > 0) {
				weight = claim(&clocks, clocks.last);
				sn_displaced_add(&o->displaced, weight);
			}
			o->weight += weight;
			o->squares += weight * weight;
			o->weight_a += is_a ? weight : 0;
			o->samples++;
			if (taken++) {
				o->pairs++;
				o->transitions += is_a != before;
			}
			before = is_a;
		}
		at = until;
	}
	o->time += end;
	sn_displaced_end_thread(&o->displaced);
}

/* As profile/intervals.c does, where samples claim periods. */
static struct sn_interval interval_of(const struct observed *o, double share)
{
	double effective = sn_effective_samples(o->weight, o->squares);
	double factor = sn_sampling_factor(share, o->transitions, o->pairs);

	factor += sn_displaced_factor(&o->displaced,
				      sn_sampling_correlation(share, o->transitions, o->pairs),
				      factor, o->weight, effective);
	return sn_share_interval(share, effective, factor);
}

static double coverage(const struct program *p, int repeats, uint64_t seed, double *width)
{
	struct sn_random random;
	int covered = 0;

	sn_random_seed(&random, seed);
	*width = 0;
	for (int i = 0; i < repeats; i++) {
		struct observed o = { 0 };
		struct sn_interval interval;
		double share;

		for (int t = 0; t < p->threads; t++)
			thread_run(p, &random, &o);
		share = o.weight_a / o.weight;
		interval = interval_of(&o, share);
		sn_displaced_free(&o.displaced);
		*width += (interval.high - interval.low) / repeats;
		covered += interval.low <= o.time_a / o.time && o.time_a / o.time <= interval.high;
	}
	return (double)covered / repeats;
}

/* 2000 repeats: 4 sigma of a coverage of 95 % are 2 %. */
TEST(intervals_cover_in_95_of_100_runs)
{
	static const struct program programs[] = {
		{ "short random stays", 0.02, 0.01, true, 0.01, 1, 1000, 0 },
		{ "stays of half a period", 0.5, 0.25, true, 0.01, 1, 1000, 0 },
		{ "stays of two periods", 2, 1, true, 0.01, 1, 1000, 0 },
		{ "stays of ten periods", 10, 5, true, 0.01, 1, 2000, 0 },
		{ "a rare part", 1, 0.05, true, 0.01, 1, 3000, 0 },
		{ "four threads", 2, 1, true, 0.01, 4, 500, 0 },
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		double width, covered = coverage(&programs[i], tap_trials(2000), 7 + i, &width);

		printf("# %-24s coverage %.3f, mean width %.4f\n", programs[i].name, covered,
		       width);
		CHECK_OF_TRIALS(covered >= 0.93 && covered <= 0.97);
	}
}

/* Signals that are lost, and made up for in another part of the program. */
TEST(time_that_is_claimed_late_is_in_the_interval)
{
	static const struct program programs[] = {
		{ "late, 0.05 and 0.03", 0.05, 0.03, true, 0.01, 1, 1000, 0.04 },
		{ "late, 0.5 and 0.25", 0.5, 0.25, true, 0.01, 1, 1000, 0.04 },
		{ "late, 5 and 3", 5, 3, false, 0.01, 1, 1000, 0.04 },
		{ "late, 50 and 30", 50, 30, false, 0.01, 1, 1000, 0.04 },
		{ "late, 50 and 30, random", 50, 30, true, 0.01, 1, 1000, 0.04 },
		{ "late, a tenth lost", 50, 30, false, 0.01, 1, 1000, 0.1 },
		{ "late, 200 and 100", 200, 100, false, 0.01, 1, 2000, 0.04 },
		{ "late, 100 and 1", 100, 1, false, 0.01, 1, 2000, 0.04 },
		{ "late, four threads", 50, 30, false, 0.01, 4, 500, 0.04 },
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		double width, covered = coverage(&programs[i], tap_trials(2000), 777 + i, &width);

		printf("# %-24s coverage %.3f, mean width %.4f\n", programs[i].name, covered,
		       width);
		CHECK_OF_TRIALS(covered >= 0.925);
	}
}

/* Regular programs are measured better than chance would; the interval may be too wide for them,
 * not too narrow: even those in step with the clock's mean period. */
TEST(regular_programs_are_covered)
{
	static const struct program programs[] = {
		{ "fixed 0.2 and 0.1", 0.2, 0.1, false, 0.02, 1, 1000, 0 },
		{ "fixed 2.7 and 1.3", 2.7, 1.3, false, 0.02, 1, 3000, 0 },
		{ "in step with the period", 0.667, 0.333, false, 0.002, 1, 1000, 0 },
		{ "in step with its half", 0.333, 0.167, false, 0.002, 1, 1000, 0 },
		{ "in step with twice it", 1.333, 0.667, false, 0.002, 1, 1000, 0 },
		{ "in step with four periods", 2.667, 1.333, false, 0.002, 1, 1000, 0 },
		{ "long phases", 300, 150, false, 0.01, 1, 3000, 0 },
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		double width, covered = coverage(&programs[i], tap_trials(2000), 77 + i, &width);

		printf("# %-24s coverage %.3f, mean width %.4f\n", programs[i].name, covered,
		       width);
		CHECK_OF_TRIALS(covered >= 0.93);
	}
}

TEST(factor_limits)
{
	CHECK_REAL(sn_sampling_factor(0.5, 500, 1000), 1, 1e-12); /* a coin */
	CHECK_REAL(sn_sampling_factor(0.5, 1e-3, 1e6), 0.02,
		   1e-12);				 /* two long phases: the floor */
	CHECK(sn_sampling_factor(0.5, 900, 1000) < 0.3); /* strictly alternating */
	CHECK_REAL(sn_sampling_factor(0, 0, 1000), 1, 1e-12);
	CHECK_REAL(sn_sampling_factor(1, 0, 0), 1, 1e-12);
	/* twice transitions / 12 over n p q, while stays are long */
	CHECK_REAL(sn_sampling_factor(0.3, 12600, 100000), 0.11, 0.01);
}

TEST(intervals_hold_the_share_and_stay_in_range)
{
	for (double share = 0; share <= 1; share += 0.125) {
		struct sn_interval interval = sn_share_interval(share, 7, 1);

		CHECK(interval.low >= 0 && interval.high <= 1);
		CHECK(interval.low <= share && share <= interval.high);
	}
	CHECK_REAL(sn_share_interval(0.5, 0, 1).low, 0, 0);
	CHECK_REAL(sn_share_interval(0.5, 0, 1).high, 1, 0);
	CHECK_REAL(sn_effective_samples(10, 10), 10, 1e-12);	       /* ten of weight one */
	CHECK_REAL(sn_effective_samples(11, 101), 121.0 / 101, 1e-12); /* ten, and one */
}

/* A thread with a part of its time in the kernel: a tick in four ms finds it there by chance, and stands for four samples
 * of user time, of which there is one a millisecond. */
TEST(kinds_of_samples_that_weigh_differently)
{
	enum { TICKS = 100, USERS = 300, TICK = 4 };
	struct sn_random random;
	unsigned trials = (unsigned)tap_trials(2000), covered = 0, pooled = 0;
	double truth = 0.25;

	sn_random_seed(&random, 11);
	for (unsigned i = 0; i < trials; i++) {
		double systems = 0, total = TICKS * TICK, n;
		struct sn_kinds kinds = { .observations = { USERS } };
		struct sn_interval interval;

		for (int k = 0; k < TICKS; k++)
			systems += sn_random_unit(&random) < truth;
		kinds.own[1] = kinds.all[1] = systems * TICK;
		kinds.all[0] = total - systems * TICK; /* the kernel's split makes up the sum */
		kinds.observations[1] = systems;
		n = sn_share_observations(&kinds);
		interval = sn_share_interval(systems / TICKS, n, 1);
		covered += interval.low <= truth && truth <= interval.high;
		n = sn_effective_samples(total, systems * TICK * TICK +
							kinds.all[0] * kinds.all[0] / USERS);
		interval = sn_share_interval(systems / TICKS, n, 1);
		pooled += interval.low <= truth && truth <= interval.high;
	}
	printf("# covered %.3f, with one number for all samples %.3f\n", covered / (double)trials,
	       pooled / (double)trials);
	CHECK(covered >= 0.93 * trials);
	CHECK(pooled < 0.9 * trials);
}

TEST(one_kind_or_equal_weights_are_the_plain_number)
{
	const struct sn_kinds users = { { 30 }, { 100 }, { 200 } },
			      systems = { { 0, 30 }, { 0, 100 }, { 0, 200 } };
	const struct sn_kinds equal = { { 0, 30 }, { 70, 30 }, { 140, 60 } },
			      none = { { 0 }, { 0 }, { 0 } };
	const struct sn_kinds mixed = { { 10, 20 }, { 50, 50 }, { 100, 100 } };

	CHECK_REAL(sn_share_observations(&users), 200, 1e-9);
	CHECK_REAL(sn_share_observations(&systems), 200, 1e-9);
	CHECK_REAL(sn_share_observations(&equal), 200, 1e-9);
	CHECK_REAL(sn_share_observations(&mixed), 200, 1e-9);
	CHECK_REAL(sn_share_observations(&none), 0, 0);
}
