/*
 * Sums the polynomials of interval.h over the states that states.c makes, layer by layer, each
 * layer in the narrowest integers that hold its bound.
 */
#include "pandore/lattice/interval.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/states.h"

/* The sums of one layer's states. Polynomials stand one after the other, that of state s from
 * number poly_first[s] on; its constant term belongs to the level of the state's needs. */
struct sums {
	size_t *poly_first; /* count + 1 */
	uint64_t *numbers, *arcs;
	uint64_t *cubes; /* width + 1 numbers a state */
};

struct summing {
	const struct sn_states *states;
	const struct sn_interval_limits *limits;
	unsigned limbs;
	uint64_t *plain_steps,
		*flagged_steps; /* differences, to be summed up at the end of a state */
};

static void free_sums(struct sums *sums)
{
	free(sums->poly_first);
	free(sums->numbers);
	free(sums->arcs);
	free(sums->cubes);
}

/* Levels between the needs and the limits of a state, both ends included. */
static size_t level_count_of(const struct sn_state_layer *layer, uint32_t state)
{
	const uint32_t *key = sn_state_key(layer, state);
	size_t sum = 1;

	for (uint32_t j = 0; j < layer->width; j++)
		sum += key[layer->width + j] - key[j];
	return sum;
}

/* The value at y = 1 of a state's F: a bound on everything that is summed for it. Long doubles
 * reach 2^16383; their error is far below the bit that is added for it. */
static long double bound_of(const struct sn_state_layer *layer, uint32_t state,
			    const long double *below)
{
	long double sum = 0;

	for (size_t r = layer->plain_first.items[state]; r < layer->plain_first.items[state + 1];
	     r++)
		sum += below[layer->plain.items[r].child] * layer->plain.items[r].length;
	for (size_t r = layer->flagged_first.items[state];
	     r < layer->flagged_first.items[state + 1]; r++)
		sum += below[layer->flagged.items[r].child] * layer->flagged.items[r].length;
	return sum;
}

/* Words that hold every number of a layer, of which the largest bound is given; 0: too many. */
static unsigned limbs_for(long double bound)
{
	int exponent;

	if (!isfinite(bound))
		return 0;
	frexpl(bound, &exponent);
	return ((unsigned)exponent + 1) / 64 + 1;
}

/* The width of each layer's numbers. A layer's are no larger than those of the layer before. */
static unsigned *limbs_of_layers(const struct sn_states *states)
{
	const struct sn_state_layer *last = &states->layers[states->layer_count - 1];
	unsigned *limbs = sn_alloc_zeroed(states->layer_count, sizeof(*limbs));
	long double *below = sn_alloc_zeroed(last->count, sizeof(*below));

	for (uint32_t s = 0; s < last->count; s++)
		below[s] = 2.0L * (long double)level_count_of(last, s);
	limbs[states->layer_count - 1] = 1;
	for (uint32_t k = states->layer_count - 1; k-- > 0;) {
		const struct sn_state_layer *layer = &states->layers[k];
		long double *here = sn_alloc_zeroed(layer->count, sizeof(*here)), largest = 0;

		for (uint32_t s = 0; s < layer->count; s++) {
			here[s] = bound_of(layer, s, below);
			largest = here[s] > largest ? here[s] : largest;
		}
		limbs[k] = limbs_for(largest);
		free(below);
		below = here;
	}
	free(below);
	return limbs;
}

static void place_polynomials(const struct sn_state_layer *layer, struct sums *sums)
{
	sums->poly_first = sn_alloc(((size_t)layer->count + 1) * sizeof(size_t));
	sums->poly_first[0] = 0;
	for (uint32_t s = 0; s < layer->count; s++)
		sums->poly_first[s + 1] = sums->poly_first[s] + level_count_of(layer, s);
}

/* False if the layer's numbers would exceed the memory allowed. */
static bool make_sums(const struct summing *sum, const struct sn_state_layer *layer,
		      struct sums *out)
{
	size_t cubes = (size_t)layer->count * (layer->width + 1), total;

	*out = (struct sums){ 0 };
	place_polynomials(layer, out);
	total = out->poly_first[layer->count];
	if (sum->limits->bytes &&
	    (2 * total + cubes) * sum->limbs * sizeof(uint64_t) > sum->limits->bytes / 2)
		return false;
	if (sum->limits->want_levels) {
		out->numbers = sn_alloc_zeroed(total * sum->limbs, sizeof(uint64_t));
		out->arcs = sn_alloc_zeroed(total * sum->limbs, sizeof(uint64_t));
	}
	out->cubes = sn_alloc_zeroed(cubes * sum->limbs, sizeof(uint64_t));
	return true;
}

/* One process is left: every choice is a cut, and every one but the last has an arc. */
static void sum_last_layer(const struct summing *sum, const struct sn_state_layer *layer,
			   struct sums *out)
{
	unsigned limbs = sum->limbs;

	for (uint32_t s = 0; s < layer->count; s++) {
		size_t first = out->poly_first[s], length = out->poly_first[s + 1] - first;

		out->cubes[2 * (size_t)s * limbs] = length;
		out->cubes[(2 * (size_t)s + 1) * limbs] = length - 1;
		for (size_t i = 0; i < length && out->numbers; i++) {
			out->numbers[(first + i) * limbs] = 1;
			out->arcs[(first + i) * limbs] = i + 1 < length;
		}
	}
}

/* to += x^shift (1 + x + .. + x^(length-1)) from: at once for one term, as differences for more. */
static void add_shifted(const struct summing *sum, uint64_t *to, uint64_t *steps,
			const uint64_t *from, size_t count, const struct sn_state_run *run)
{
	unsigned limbs = sum->limbs;

	if (run->length == 1) {
		sn_limbs_add(to + (size_t)run->shift * limbs, from, count, limbs);
		return;
	}
	sn_limbs_add(steps + (size_t)run->shift * limbs, from, count, limbs);
	sn_limbs_subtract(steps + ((size_t)run->shift + run->length) * limbs, from, count, limbs);
}

static uint64_t *widen(uint64_t *numbers, size_t count, unsigned from, unsigned to)
{
	uint64_t *wide;

	if (!numbers)
		return NULL;
	wide = sn_alloc(count * to * sizeof(uint64_t));
	sn_limbs_widen(wide, to, numbers, from, count);
	free(numbers);
	return wide;
}

static void widen_sums(const struct sn_state_layer *layer, struct sums *sums, unsigned from,
		       unsigned to)
{
	size_t total;

	assert(sums->poly_first); /* the layer below was made first */
	total = sums->poly_first[layer->count];
	if (from == to)
		return;
	sums->numbers = widen(sums->numbers, total, from, to);
	sums->arcs = widen(sums->arcs, total, from, to);
	sums->cubes = widen(sums->cubes, (size_t)layer->count * (layer->width + 1), from, to);
}

static void sum_levels(const struct summing *sum, const struct sn_state_layer *layer,
		       uint32_t state, struct sums *here, const struct sums *below)
{
	unsigned limbs = sum->limbs;
	size_t first = here->poly_first[state], length = here->poly_first[state + 1] - first;
	uint64_t *numbers = here->numbers + first * limbs, *arcs = here->arcs + first * limbs;
	bool want_arcs = layer->arcs_wanted.items[state];

	memset(sum->plain_steps, 0, (length + 1) * limbs * sizeof(uint64_t));
	memset(sum->flagged_steps, 0, (length + 1) * limbs * sizeof(uint64_t));
	for (size_t r = layer->plain_first.items[state]; r < layer->plain_first.items[state + 1];
	     r++) {
		const struct sn_state_run *run = &layer->plain.items[r];
		size_t from = below->poly_first[run->child];
		size_t count = below->poly_first[run->child + 1] - from;

		add_shifted(sum, numbers, sum->plain_steps, below->numbers + from * limbs, count,
			    run);
		if (want_arcs)
			add_shifted(sum, arcs, sum->flagged_steps, below->arcs + from * limbs,
				    count, run);
	}
	for (size_t r = layer->flagged_first.items[state];
	     want_arcs && r < layer->flagged_first.items[state + 1]; r++) {
		const struct sn_state_run *run = &layer->flagged.items[r];
		size_t from = below->poly_first[run->child];

		add_shifted(sum, arcs, sum->flagged_steps, below->numbers + from * limbs,
			    below->poly_first[run->child + 1] - from, run);
	}
	sn_limbs_add_running(numbers, sum->plain_steps, length, limbs);
	if (want_arcs)
		sn_limbs_add_running(arcs, sum->flagged_steps, length, limbs);
}

static void sum_cubes(const struct summing *sum, const struct sn_state_layer *layer, uint32_t state,
		      struct sums *here, const struct sums *below)
{
	unsigned limbs = sum->limbs;
	uint32_t terms = layer->width;
	uint64_t *cubes = here->cubes + (size_t)state * (terms + 1) * limbs;

	for (size_t r = layer->plain_first.items[state]; r < layer->plain_first.items[state + 1];
	     r++) {
		const struct sn_state_run *run = &layer->plain.items[r];

		sn_limbs_add_times(cubes, below->cubes + (size_t)run->child * terms * limbs,
				   run->length, terms, limbs);
	}
	for (size_t r = layer->flagged_first.items[state];
	     r < layer->flagged_first.items[state + 1]; r++) {
		const struct sn_state_run *run = &layer->flagged.items[r];

		sn_limbs_add_times(cubes + limbs, below->cubes + (size_t)run->child * terms * limbs,
				   run->length, terms, limbs);
	}
}

static size_t longest_polynomial(const struct sn_state_layer *layer, const struct sums *sums)
{
	size_t longest = 0;

	for (uint32_t s = 0; s < layer->count; s++) {
		size_t length = sums->poly_first[s + 1] - sums->poly_first[s];

		longest = length > longest ? length : longest;
	}
	return longest;
}

/* Sums over a layer from the sums of the layer below it. */
static enum sn_interval_outcome sum_layer(struct summing *sum, const struct sn_state_layer *layer,
					  struct sums *here, const struct sums *below)
{
	size_t longest = longest_polynomial(layer, here) + 2, work = 0;
	bool is_late = false;

	sum->plain_steps = sn_alloc(longest * sum->limbs * sizeof(uint64_t));
	sum->flagged_steps = sn_alloc(longest * sum->limbs * sizeof(uint64_t));
	for (uint32_t s = 0; s < layer->count && !is_late; s++) {
		if (sum->limits->want_levels)
			sum_levels(sum, layer, s, here, below);
		if (sum->limits->want_histogram)
			sum_cubes(sum, layer, s, here, below);
		work += 1 + (layer->plain_first.items[s + 1] - layer->plain_first.items[s]) *
				    (here->poly_first[s + 1] - here->poly_first[s]) / 256;
		if (work > 1024) {
			work = 0;
			is_late = sum->limits->deadline_ns &&
				  sn_lattice_clock_ns() > sum->limits->deadline_ns;
		}
	}
	free(sum->plain_steps);
	free(sum->flagged_steps);
	return is_late ? SN_INTERVAL_TIME : SN_INTERVAL_DONE;
}

/* F(y) is a polynomial in 1 + y whose coefficients are the histogram: a Taylor shift by -1. */
static void histogram_of_cubes(uint64_t *cubes, uint32_t count, unsigned limbs)
{
	for (uint32_t i = 0; i + 1 < count; i++)
		for (uint32_t j = count - 1; j-- > i;)
			sn_limbs_subtract(cubes + (size_t)j * limbs,
					  cubes + (size_t)(j + 1) * limbs, 1, limbs);
}

static uint64_t *sum_of(const uint64_t *numbers, size_t count, unsigned limbs)
{
	uint64_t *sum = sn_alloc_zeroed(limbs, sizeof(uint64_t));

	for (size_t i = 0; i < count; i++)
		sn_limbs_add(sum, numbers + i * limbs, 1, limbs);
	return sum;
}

/* Moves the root's sums into the result. */
static void take_root(const struct summing *sum, struct sums *root, struct sn_interval_counts *out)
{
	unsigned limbs = sum->limbs;

	*out = (struct sn_interval_counts){
		.limbs = limbs,
		.level_count = (uint32_t)root->poly_first[1],
		.degree_count = sum->states->layer_count + 1,
		.levels = root->numbers,
		.level_arcs = root->arcs,
		.state_count = sum->states->state_count,
	};
	root->numbers = root->arcs = NULL;
	if (sum->limits->want_histogram) {
		out->degrees = root->cubes;
		root->cubes = NULL;
		out->cuts = sum_of(out->degrees, 1, limbs);
		out->arcs = sum_of(out->degrees + limbs, 1, limbs);
		histogram_of_cubes(out->degrees, out->degree_count, limbs);
	} else {
		out->cuts = sum_of(out->levels, out->level_count, limbs);
		out->arcs = sum_of(out->level_arcs, out->level_count, limbs);
	}
}

static enum sn_interval_outcome sum_all(struct summing *sum, const unsigned *layer_limbs,
					struct sn_interval_counts *out)
{
	const struct sn_states *states = sum->states;
	enum sn_interval_outcome outcome = SN_INTERVAL_DONE;
	struct sums below = { 0 };

	for (uint32_t k = states->layer_count; k-- > 0 && outcome == SN_INTERVAL_DONE;) {
		const struct sn_state_layer *layer = &states->layers[k];
		struct sums here;

		sum->limbs = layer_limbs[k];
		if (!make_sums(sum, layer, &here)) {
			outcome = SN_INTERVAL_STATES;
		} else if (k == states->layer_count - 1) {
			sum_last_layer(sum, layer, &here);
		} else {
			widen_sums(layer + 1, &below, layer_limbs[k + 1], sum->limbs);
			outcome = sum_layer(sum, layer, &here, &below);
		}
		free_sums(&below);
		below = here;
	}
	if (outcome == SN_INTERVAL_DONE)
		take_root(sum, &below, out);
	free_sums(&below);
	return outcome;
}

/* A and B are one cut: nothing to choose. */
static void count_nothing(const struct sn_interval_limits *limits, struct sn_interval_counts *out)
{
	*out = (struct sn_interval_counts){ .limbs = 1, .level_count = 1, .degree_count = 1 };
	out->cuts = sn_alloc_zeroed(1, sizeof(uint64_t));
	out->arcs = sn_alloc_zeroed(1, sizeof(uint64_t));
	*out->cuts = 1;
	if (limits->want_levels) {
		out->levels = sn_alloc_zeroed(1, sizeof(uint64_t));
		out->level_arcs = sn_alloc_zeroed(1, sizeof(uint64_t));
		*out->levels = 1;
	}
	if (limits->want_histogram) {
		out->degrees = sn_alloc_zeroed(1, sizeof(uint64_t));
		*out->degrees = 1;
	}
}

enum sn_interval_outcome sn_interval_count(const struct sn_lattice_order *order, const uint32_t *a,
					   const uint32_t *b,
					   const struct sn_interval_limits *limits,
					   struct sn_interval_counts *out)
{
	struct sn_states states;
	struct summing sum = { .states = &states, .limits = limits };
	enum sn_interval_outcome outcome = sn_states_make(&states, order, a, b, limits);

	if (outcome != SN_INTERVAL_DONE)
		return outcome;
	if (states.layer_count == 0) {
		count_nothing(limits, out);
	} else {
		unsigned *layer_limbs = limbs_of_layers(&states);

		/* Beyond 2^16383 nothing would fit in memory anyway. */
		outcome = layer_limbs[0] ? sum_all(&sum, layer_limbs, out) : SN_INTERVAL_STATES;
		free(layer_limbs);
	}
	sn_states_free(&states);
	return outcome;
}

void sn_interval_counts_free(struct sn_interval_counts *counts)
{
	free(counts->cuts);
	free(counts->arcs);
	free(counts->levels);
	free(counts->level_arcs);
	free(counts->degrees);
	*counts = (struct sn_interval_counts){ 0 };
}
