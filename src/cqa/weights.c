/* How often each path through a loop is taken, from where samples fell. Passes by the shares so far
 * are put through a simple core (retire.c), which tells in what parts of the code the time of each
 * path shows; the shares of time, of paths and of mispredicted branches, that make the samples most
 * likely are found by expectation-maximization (Dempster, Laird and Rubin 1977); they give the next
 * shares. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cqa/loop.h"
#include "cqa/retire.h"

enum { TURNS = 8, ROUNDS = 40, SOURCES_MAX = SN_CQA_PATHS_MAX + SN_PLACES_MAX };

#define STRAY_SHARE 0.01 /* of the samples may lie anywhere */
#define MOST	    0.875
#define MISS_SCORE  0.03 /* that mispredictions must gain to be believed */

/* What time comes from: the paths, then the mispredictions into each head. */
struct likelihood {
	unsigned paths, places;
	double observed[SN_PLACES_MAX]; /* shares of the samples */
	double shown[SOURCES_MAX][SN_PLACES_MAX];
	double share[SOURCES_MAX];
};

static void expect(struct likelihood *l, const struct sn_places *places,
		   const struct sn_retirement *retirement)
{
	for (unsigned p = 0; p < l->paths; p++) {
		double whole = 0;

		for (unsigned k = 0; k < l->places; k++)
			whole += retirement->path_cycles[p][k];
		for (unsigned k = 0; k < l->places && whole > 0; k++)
			l->shown[p][k] = retirement->path_cycles[p][k] / whole * (1 - STRAY_SHARE) +
					 STRAY_SHARE / l->places;
	}
	for (unsigned k = 0; k < l->places; k++)
		l->shown[l->paths + k][k] = places->is_head[k] ? 1 : 0;
}

static void maximize(struct likelihood *l, const struct sn_places *places, bool may_miss)
{
	unsigned sources = l->paths + l->places;

	for (unsigned i = 0; i < sources; i++)
		l->share[i] = i < l->paths || (may_miss && places->is_head[i - l->paths])
				      ? fmax(l->share[i], 1e-4)
				      : 0;
	for (int round = 0; round < ROUNDS; round++) {
		double next[SOURCES_MAX] = { 0 };

		for (unsigned k = 0; k < l->places; k++) {
			double likely = 0;

			for (unsigned i = 0; i < sources; i++)
				likely += l->share[i] * l->shown[i][k];
			for (unsigned i = 0; i < sources && likely > 0; i++)
				next[i] += l->observed[k] * l->share[i] * l->shown[i][k] / likely;
		}
		memcpy(l->share, next, sizeof(next));
	}
}

/* Passes by path and mispredictions by head, for shares of time. */
static void passes_of(const struct sn_cqa_loop *loop, const struct sn_places *places,
		      const struct likelihood *l, const struct sn_retirement *retirement,
		      double passes[SN_CQA_PATHS_MAX], double missed[SN_PLACES_MAX])
{
	double all = 0;

	for (unsigned p = 0; p < l->paths; p++) {
		double cycles = 0;

		for (unsigned k = 0; k < l->places; k++)
			cycles += retirement->path_cycles[p][k];
		passes[p] = l->share[p] / fmax(cycles, 0.01);
		all += passes[p];
	}
	for (unsigned p = 0; p < l->paths && all > 0; p++)
		passes[p] /= all;
	for (unsigned k = 0; k < l->places; k++) {
		double often = sn_places_visits(loop, places, k, passes);

		/* whoever always guesses the commoner way is wrong no more often */
		missed[k] = all > 0 ? l->share[l->paths + k] / retirement->missed_cycles / all : 0;
		missed[k] = fmin(missed[k], fmax(0, fmin(often, 1 - often)));
	}
}

static bool observe(const struct sn_cqa_loop *loop, const struct sn_places *places,
		    const struct sn_heat *heat, size_t count, struct likelihood *l)
{
	uint64_t origin_link_addr = loop->loop->ranges[0].first_link_addr & ~63ULL;
	double total = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned place =
			heat[i].link_addr >= origin_link_addr
				? sn_places_at(places, heat[i].link_addr - origin_link_addr)
				: UINT16_MAX;

		if (place == UINT16_MAX)
			continue;
		l->observed[place] += heat[i].weight;
		total += heat[i].weight;
	}
	for (unsigned k = 0; k < l->places && total > 0; k++)
		l->observed[k] /= total;
	return total > 0;
}

struct guess {
	double shares[SN_CQA_PATHS_MAX];
	double missed[SN_PLACES_MAX];
	double score; /* mean logarithm of what the samples' places were expected to get */
};

static double score_of(const struct likelihood *l, const struct guess *guess,
		       const struct sn_retirement *retirement)
{
	double expected[SN_PLACES_MAX], whole = 0, score = 0;

	for (unsigned k = 0; k < l->places; k++) {
		expected[k] = guess->missed[k] * retirement->missed_cycles;
		for (unsigned p = 0; p < l->paths; p++)
			expected[k] += guess->shares[p] * retirement->path_cycles[p][k];
		whole += expected[k];
	}
	for (unsigned k = 0; k < l->places && whole > 0; k++)
		score += l->observed[k] *
			 log(expected[k] / whole * (1 - STRAY_SHARE) + STRAY_SHARE / l->places);
	return score;
}

/* Goes from a first guess towards what fits better; the best one on the way is kept. */
static void improve(const struct sn_cqa_loop *loop, const struct sn_places *places,
		    struct likelihood *l, struct guess guess, bool may_miss, struct guess *best)
{
	for (unsigned p = 0; p < l->paths; p++)
		l->share[p] = guess.shares[p];
	for (unsigned k = 0; k < l->places; k++)
		l->share[l->paths + k] = 0;
	for (int turn = 0; turn < TURNS; turn++) {
		double shares[SN_CQA_PATHS_MAX] = { 0 }, missed[SN_PLACES_MAX] = { 0 };
		struct sn_retirement retirement;

		sn_retire(loop, places, guess.shares, guess.missed, &retirement);
		guess.score = score_of(l, &guess, &retirement);
		if (guess.score > best->score)
			*best = guess;
		expect(l, places, &retirement);
		maximize(l, places, may_miss);
		passes_of(loop, places, l, &retirement, shares, missed);
		for (unsigned p = 0; p < l->paths; p++)
			guess.shares[p] = (guess.shares[p] + shares[p]) / 2;
		for (unsigned k = 0; k < l->places; k++)
			guess.missed[k] = (guess.missed[k] + missed[k]) / 2;
	}
}

/* More or less of one path after the other, in smaller and smaller steps, as long as that fits
 * better.
 */
static void polish(const struct sn_cqa_loop *loop, const struct sn_places *places,
		   const struct likelihood *l, struct guess *best)
{
	static const double steps[] = { 1.5, 1.2, 1.08 };

	for (unsigned s = 0; s < sizeof(steps) / sizeof(*steps); s++)
		for (unsigned i = 0; i < 4 * l->paths; i++) {
			struct guess guess = *best;
			struct sn_retirement retirement;
			double whole = 0;

			guess.shares[i / 2 % l->paths] *= i & 1 ? steps[s] : 1 / steps[s];
			for (unsigned p = 0; p < l->paths; p++)
				whole += guess.shares[p];
			for (unsigned p = 0; p < l->paths; p++)
				guess.shares[p] /= whole;
			sn_retire(loop, places, guess.shares, guess.missed, &retirement);
			guess.score = score_of(l, &guess, &retirement);
			if (guess.score > best->score)
				*best = guess;
		}
}

/* Time that one path spends may look like another's, so there are several first guesses: all alike,
 * and each most of the passes. */
static struct guess find_shares(const struct sn_cqa_loop *loop, const struct sn_places *places,
				struct likelihood *l, bool may_miss)
{
	struct guess best = { .score = -INFINITY };

	for (unsigned first = 0; first <= l->paths; first++) {
		struct guess guess = { .score = 0 };

		for (unsigned p = 0; p < l->paths; p++)
			guess.shares[p] = first == l->paths ? 1.0 / l->paths
					  : p == first	    ? MOST
							    : (1 - MOST) / (l->paths - 1);
		for (unsigned k = 0; k < l->places && may_miss; k++)
			if (places->is_head[k]) {
				double often = sn_places_visits(loop, places, k, guess.shares);

				guess.missed[k] = fmax(0, fmin(often, 1 - often)) / 2;
			}
		improve(loop, places, l, guess, may_miss, &best);
	}
	polish(loop, places, l, &best);
	return best;
}

/* What mispredictions add to a pass. */
static double missed_cycles(const struct sn_cqa_loop *loop, const struct sn_places *places,
			    const double shares[SN_CQA_PATHS_MAX],
			    const double missed[SN_PLACES_MAX])
{
	static const double none[SN_PLACES_MAX];
	struct sn_retirement with, without;

	sn_retire(loop, places, shares, missed, &with);
	sn_retire(loop, places, shares, none, &without);
	return fmax(0, with.cycles - without.cycles);
}

void sn_cqa_loop_weigh(struct sn_cqa_loop *result, const struct sn_heat *heat, size_t count)
{
	struct likelihood *l;
	struct sn_places places;
	struct sn_arena arena = { 0 };
	struct guess guess, missing;

	if (result->not_analysed || result->is_union || !sn_places_of(result, &arena, &places)) {
		sn_arena_free(&arena);
		return;
	}
	l = sn_alloc_zeroed(1, sizeof(*l));
	l->paths = result->path_count;
	l->places = places.count;
	if (observe(result, &places, heat, count, l)) {
		guess = find_shares(result, &places, l, false);
		missing = find_shares(result, &places, l, true);
		if (missing.score > guess.score + MISS_SCORE)
			guess = missing;
		for (uint32_t p = 0; p < result->path_count; p++)
			result->paths[p].weight = guess.shares[p];
		result->missed_cycles = missed_cycles(result, &places, guess.shares, guess.missed);
		result->is_weighed = true;
		sn_cqa_loop_sum(result);
	}
	sn_arena_free(&arena);
	free(l);
}
