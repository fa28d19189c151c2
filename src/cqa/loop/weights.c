/* How often each path through a loop is taken, from where samples fell. For a guess of the shares,
 * passes are put through a simple core (retire.c), which shows in what parts of the code time would
 * be seen. The guess is sought that diverges least from the samples (Kullback and Leibler 1951),
 * first by expectation-maximization (Dempster, Laird and Rubin 1977), then in small steps. Branches
 * may be unpredictable; that is believed if the samples fit with it and do not fit without. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cqa/loop/loop.h"
#include "cqa/loop/retire.h"

/* (room) How long is sought, and among how many branches that may be unpredictable. */
enum { TURNS = 8, ROUNDS = 40, BRANCHES_MOST = 8, SUBSETS_OF = 3 };

#define FEWEST_CYCLES 0.01  /* (rounding) of a pass, lest something is divided by 0 */
#define MOST	      0.875 /* (chosen) of the passes: where the search for one path begins */

struct likelihood {
	unsigned paths, places;
	double stray_share;
	double observed[SN_PLACES_MAX]; /* shares of the samples */
	double shown[SN_CQA_PATHS_MAX][SN_PLACES_MAX];
	double time[SN_CQA_PATHS_MAX]; /* shares of the paths */
};

struct guess {
	double shares[SN_CQA_PATHS_MAX]; /* of the passes */
	unsigned unpredictable;		 /* branches, as bits */
	double cycles;			 /* of a pass, mispredictions included */
	double divergence, cost;
};

/* The two ways of a branch, if both stay in the loop. */
struct fork {
	unsigned arrivals[2];
};

struct forks {
	struct fork items[BRANCHES_MOST];
	unsigned count;
};

static struct forks find_forks(const struct sn_cqa_loop *loop, const struct sn_places *places)
{
	double shares[SN_CQA_PATHS_MAX] = { 0 };
	struct sn_arrivals arrivals;
	struct forks forks = { .count = 0 };

	sn_places_arrivals(loop, places, shares, &arrivals);
	for (unsigned a = 0; a < arrivals.count; a++)
		for (unsigned b = a + 1; b < arrivals.count && forks.count < BRANCHES_MOST; b++)
			if (arrivals.items[a].branch_offset == arrivals.items[b].branch_offset)
				forks.items[forks.count++] = (struct fork){ { a, b } };
	return forks;
}

/* Data decides in no order: the predictor guesses one way in no order too, mostly the commoner. */
static void expect_misses(const struct sn_cqa_loop *loop, const struct sn_places *places,
			  const struct forks *forks, const struct guess *guess,
			  double missed[SN_ARRIVALS_MAX])
{
	struct sn_arrivals arrivals;
	double lean = loop->machine->rules.sampled->predictor_lean;

	memset(missed, 0, SN_ARRIVALS_MAX * sizeof(*missed));
	sn_places_arrivals(loop, places, guess->shares, &arrivals);
	for (unsigned i = 0; i < forks->count; i++) {
		unsigned a = forks->items[i].arrivals[0], b = forks->items[i].arrivals[1];
		double often_a = arrivals.items[a].often, often_b = arrivals.items[b].often;
		double lean_a = pow(often_a, lean), lean_b = pow(often_b, lean);

		if (!(guess->unpredictable >> i & 1) || !(lean_a + lean_b > 0))
			continue;
		missed[a] += often_a * lean_b / (lean_a + lean_b);
		missed[b] += often_b * lean_a / (lean_a + lean_b);
	}
}

struct search {
	const struct sn_cqa_loop *loop;
	const struct sn_places *places;
	struct forks forks;
	struct likelihood likelihood;
};

/* The share of samples that a place shows, if some may lie anywhere. */
static double strayed(const struct likelihood *l, double share)
{
	return share * (1 - l->stray_share) + l->stray_share / l->places;
}

static void judge(const struct search *search, struct guess *guess,
		  struct sn_retirement *retirement)
{
	const struct likelihood *l = &search->likelihood;
	const struct sn_sampled *sampled = search->loop->machine->rules.sampled;
	double expected[SN_PLACES_MAX], missed[SN_ARRIVALS_MAX], whole = 0;

	expect_misses(search->loop, search->places, &search->forks, guess, missed);
	sn_retire(search->loop, search->places, guess->shares, missed, retirement);
	for (unsigned k = 0; k < l->places; k++) {
		expected[k] = retirement->missed_cycles[k];
		for (unsigned p = 0; p < l->paths; p++)
			expected[k] += guess->shares[p] * retirement->path_cycles[p][k];
		whole += expected[k];
	}
	guess->divergence = whole > 0 ? 0 : INFINITY;
	for (unsigned k = 0; k < l->places && whole > 0; k++)
		if (l->observed[k] > 0)
			guess->divergence += l->observed[k] *
					     log(l->observed[k] / strayed(l, expected[k] / whole));
	guess->cycles = retirement->cycles;
	guess->cost =
		guess->divergence + sampled->slow_penalty * log(fmax(guess->cycles, FEWEST_CYCLES));
}

static void expect(struct likelihood *l, const struct sn_retirement *retirement)
{
	for (unsigned p = 0; p < l->paths; p++) {
		double whole = 0;

		for (unsigned k = 0; k < l->places; k++)
			whole += retirement->path_cycles[p][k];
		for (unsigned k = 0; k < l->places && whole > 0; k++)
			l->shown[p][k] = strayed(l, retirement->path_cycles[p][k] / whole);
	}
}

static void maximize(struct likelihood *l)
{
	for (unsigned p = 0; p < l->paths; p++)
		l->time[p] = fmax(l->time[p], 1e-4);
	for (int round = 0; round < ROUNDS; round++) {
		double next[SN_CQA_PATHS_MAX] = { 0 };

		for (unsigned k = 0; k < l->places; k++) {
			double likely = 0;

			for (unsigned p = 0; p < l->paths; p++)
				likely += l->time[p] * l->shown[p][k];
			for (unsigned p = 0; p < l->paths && likely > 0; p++)
				next[p] += l->observed[k] * l->time[p] * l->shown[p][k] / likely;
		}
		memcpy(l->time, next, sizeof(next));
	}
}

/* Passes by path, for shares of time. */
static void passes_of(const struct likelihood *l, const struct sn_retirement *retirement,
		      double passes[SN_CQA_PATHS_MAX])
{
	double all = 0;

	for (unsigned p = 0; p < l->paths; p++) {
		double cycles = 0;

		for (unsigned k = 0; k < l->places; k++)
			cycles += retirement->path_cycles[p][k];
		passes[p] = l->time[p] / fmax(cycles, FEWEST_CYCLES);
		all += passes[p];
	}
	for (unsigned p = 0; p < l->paths && all > 0; p++)
		passes[p] /= all;
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

/* Goes from a first guess without mispredictions towards what fits better; the best one on the way
 * is kept. */
static void improve(struct search *search, struct guess guess, struct guess *best)
{
	struct likelihood *l = &search->likelihood;

	memcpy(l->time, guess.shares, sizeof(l->time));
	for (int turn = 0; turn < TURNS; turn++) {
		double shares[SN_CQA_PATHS_MAX] = { 0 };
		struct sn_retirement retirement;

		judge(search, &guess, &retirement);
		if (guess.cost < best->cost)
			*best = guess;
		if (guess.unpredictable)
			return;
		expect(l, &retirement);
		maximize(l);
		passes_of(l, &retirement, shares);
		for (unsigned p = 0; p < l->paths; p++)
			guess.shares[p] = (guess.shares[p] + shares[p]) / 2;
	}
}

/* More or less of one path after the other, in smaller and smaller steps, as long as that fits
 * better.
 */
static void polish(const struct search *search, struct guess *best)
{
	static const double steps[] = { 3, 1.5, 1.2, 1.08 }; /* (chosen) */
	unsigned paths = search->likelihood.paths;

	assert(paths > 0);
	for (unsigned s = best->unpredictable ? 0 : 1; s < sizeof(steps) / sizeof(*steps); s++)
		for (unsigned i = 0; i < 4 * paths; i++) {
			struct guess guess = *best;
			struct sn_retirement retirement;
			double whole = 0;

			guess.shares[i / 2 % paths] *= i & 1 ? steps[s] : 1 / steps[s];
			for (unsigned p = 0; p < paths; p++)
				whole += guess.shares[p];
			for (unsigned p = 0; p < paths; p++)
				guess.shares[p] /= whole;
			judge(search, &guess, &retirement);
			if (guess.cost < best->cost)
				*best = guess;
		}
}

/* Time that one path spends may look like another's, so there are several first guesses: all alike,
 * and each most of the passes. */
static struct guess find_shares(struct search *search, unsigned unpredictable)
{
	struct guess best = { .cost = INFINITY };
	unsigned paths = search->likelihood.paths;

	for (unsigned first = 0; first <= paths; first++) {
		struct guess guess = { .unpredictable = unpredictable };

		for (unsigned p = 0; p < paths; p++)
			guess.shares[p] = first == paths ? 1.0 / paths
					  : p == first	 ? MOST
							 : (1 - MOST) / (paths - 1);
		improve(search, guess, &best);
	}
	polish(search, &best);
	return best;
}

/* What explains the samples: without mispredictions, and with them. */
struct answers {
	struct guess without,
		with; /* `with.cost` is INFINITY where nothing asked for mispredictions */
};

static bool is_fair(const struct search *search, const struct answers *answers)
{
	return answers->without.divergence < search->loop->machine->rules.sampled->fair_divergence;
}

/* Every subset of few branches may be unpredictable; of many, each alone and all. */
static struct answers find_answers(struct search *search)
{
	struct answers answers = { find_shares(search, 0), { .cost = INFINITY } };
	unsigned all = (1u << search->forks.count) - 1;

	if (is_fair(search, &answers)) {
		/* they are not needed, and may be there all the same */
		if (all)
			answers.with = find_shares(search, all);
		return answers;
	}
	for (unsigned subset = 1; subset <= all; subset++) {
		struct guess guess;

		if (search->forks.count > SUBSETS_OF && subset != all && (subset & (subset - 1)))
			continue;
		guess = find_shares(search, subset);
		if (guess.cost < answers.with.cost)
			answers.with = guess;
	}
	return answers;
}

static bool has_mispredictions(const struct answers *answers)
{
	return answers->with.cost < INFINITY;
}

static const struct guess *choose(const struct search *search, const struct answers *answers)
{
	const struct sn_sampled *sampled = search->loop->machine->rules.sampled;
	double explained = fmin(sampled->poor_divergence,
				answers->without.divergence / sampled->explained_factor);

	return has_mispredictions(answers) && !is_fair(search, answers) &&
			       answers->with.divergence < explained
		       ? &answers->with
		       : &answers->without;
}

/* ---- what the samples leave open ---- */

/* (chosen) Shares that are tried. */
static const double steps_of_share[] = { 0.01, 0.02, 0.05, 0.1, 0.2,  0.3,  0.4, 0.5,
					 0.6,  0.7,  0.8,  0.9, 0.95, 0.98, 0.99 };

enum { SHARE_STEPS = sizeof(steps_of_share) / sizeof(*steps_of_share) };

/* Half-way to the next step, which may not have been too far. */
static double step_below(unsigned i)
{
	return i ? (steps_of_share[i - 1] + steps_of_share[i]) / 2 : 0;
}

/* Widens the ranges by the shares with which an answer still explains the samples, one path after the other: the
 * other paths keep their proportions. */
static void widen(const struct search *search, const struct guess *answer, double most_divergence,
		  struct sn_cqa_path *out)
{
	unsigned paths = search->likelihood.paths;

	for (unsigned p = 0; p < paths; p++)
		for (unsigned i = 0; i < SHARE_STEPS; i++) {
			double rest = 1 - answer->shares[p], left = 1 - steps_of_share[i];
			struct guess guess = *answer;
			struct sn_retirement retirement;

			for (unsigned q = 0; q < paths; q++)
				guess.shares[q] = q == p     ? steps_of_share[i]
						  : rest > 0 ? answer->shares[q] / rest * left
							     : left / (paths - 1);
			judge(search, &guess, &retirement);
			if (guess.divergence > most_divergence)
				continue;
			out[p].weight_low = fmin(out[p].weight_low, step_below(i));
			out[p].weight_high = fmax(out[p].weight_high,
						  i + 1 < SHARE_STEPS ? step_below(i + 1) : 1);
		}
}

static void find_ranges(const struct search *search, const struct answers *answers,
			const struct guess *chosen, struct sn_cqa_path *out)
{
	const struct sn_sampled *sampled = search->loop->machine->rules.sampled;
	double least = fmin(answers->without.divergence,
			    has_mispredictions(answers) ? answers->with.divergence : INFINITY);
	double most = chosen->divergence < sampled->useless_divergence
			      ? least + fmax(sampled->fair_divergence, least)
			      : INFINITY;

	widen(search, &answers->without, most, out);
	if (has_mispredictions(answers))
		widen(search, &answers->with, most, out);
}

static void weights_set(struct sn_cqa_loop *result, const struct guess *guess, uint32_t all)
{
	for (uint32_t p = 0; p < all; p++) {
		double weight = p < result->path_count ? guess->shares[p] : 0;

		result->paths[p].weight = result->paths[p].weight_low =
			result->paths[p].weight_high = weight;
	}
}

/* What mispredictions add to a pass. */
static double missed_cycles(const struct search *search, const struct guess *guess)
{
	static const double none[SN_ARRIVALS_MAX];
	struct sn_retirement without;

	if (!guess->unpredictable)
		return 0;
	sn_retire(search->loop, search->places, guess->shares, none, &without);
	return fmax(0, guess->cycles - without.cycles);
}

void sn_cqa_loop_weigh(struct sn_cqa_loop *result, const struct sn_heat *heat, size_t count)
{
	struct sn_places places;
	struct sn_arena arena = { 0 };
	struct search *search;
	uint32_t all = result->path_count;

	if (result->not_analysed || result->is_union)
		return;
	/* of paths for errno time in what they share with others would tell nothing */
	result->path_count = sn_cqa_taken_paths(result, heat, count);
	if (!sn_places_of(result, &arena, &places)) {
		result->path_count = all;
		sn_arena_free(&arena);
		return;
	}
	search = sn_alloc_zeroed(1, sizeof(*search));
	search->loop = result;
	search->places = &places;
	search->forks = find_forks(result, &places);
	search->likelihood.paths = result->path_count;
	search->likelihood.places = places.count;
	search->likelihood.stray_share = result->machine->rules.sampled->stray_share;
	if (observe(result, &places, heat, count, &search->likelihood)) {
		struct answers answers = { .without.shares = { 1 }, .with.cost = INFINITY };
		const struct guess *guess = &answers.without;

		if (result->path_count > 1) {
			answers = find_answers(search);
			guess = choose(search, &answers);
		}
		result->missed_cycles = missed_cycles(search, guess);
		weights_set(result, guess, all);
		if (result->path_count > 1)
			find_ranges(search, &answers, guess, result->paths);
		result->is_weighed = true;
	}
	result->path_count = all;
	if (result->is_weighed)
		sn_cqa_loop_sum(result);
	sn_arena_free(&arena);
	free(search);
}
