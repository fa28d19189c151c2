/**
 * The lattice counted from the definition alone, for tests: a set of cuts grown event by event from
 * the empty one, with dependencies looked up as they were given. Knows nothing of clocks.
 */
#ifndef SN_TESTS_BRUTE_H
#define SN_TESTS_BRUTE_H

#include "base/map.h"
#include "base/vec.h"
#include "executions.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/interval.h"
#include "pandore/lattice/profile.h"

struct brute {
	uint64_t cuts, arcs;
	uint64_t *levels, *level_arcs; /* events + 1 */
	uint64_t degrees[64];
	uint32_t event_count;
};

/* A cut of P processes with at most 2^(64/P) - 1 events each is one key. */
static inline uint32_t brute_done(uint64_t cut, uint32_t process, unsigned bits)
{
	return (uint32_t)(cut >> (process * bits) & ((1ull << bits) - 1));
}

static inline const struct made_event *brute_find(const struct made *made, uint32_t process,
						  uint32_t index)
{
	for (uint32_t e = 0; e < made->event_count; e++)
		if (made->events[e].process == process && made->events[e].index == index)
			return &made->events[e];
	return NULL;
}

static inline bool brute_is_possible(const struct made_event *event, uint64_t cut, unsigned bits)
{
	if (!event)
		return false;
	for (size_t i = 0; i < event->after_count; i++)
		if (brute_done(cut, event->after[i].process, bits) <= event->after[i].index)
			return false;
	return true;
}

static inline struct brute brute_count(const struct made *made)
{
	struct brute brute = { .event_count = made->event_count };
	unsigned bits = made->process_count == 1 ? 32 : 64 / made->process_count;
	struct sn_map seen = { 0 };
	SN_VEC(uint64_t) queue = { 0 };

	brute.levels = sn_alloc_zeroed(made->event_count + 1, sizeof(uint64_t));
	brute.level_arcs = sn_alloc_zeroed(made->event_count + 1, sizeof(uint64_t));
	sn_vec_push(&queue, 0);
	for (size_t i = 0; i < queue.count; i++) {
		uint64_t cut = queue.items[i];
		uint32_t level = 0, degree = 0;

		for (uint32_t p = 0; p < made->process_count; p++)
			level += brute_done(cut, p, bits);
		for (uint32_t p = 0; p < made->process_count; p++) {
			const struct made_event *event =
				brute_find(made, p, brute_done(cut, p, bits));
			uint64_t next = cut + (1ull << (p * bits));
			bool is_new;

			if (!brute_is_possible(event, cut, bits))
				continue;
			degree++;
			sn_map_put(&seen, next, &is_new);
			if (is_new)
				sn_vec_push(&queue, next);
		}
		brute.cuts++;
		brute.arcs += degree;
		brute.levels[level]++;
		brute.level_arcs[level] += degree;
		brute.degrees[degree]++;
	}
	sn_vec_free(&queue);
	sn_map_free(&seen);
	return brute;
}

static inline void brute_free(struct brute *brute)
{
	free(brute->levels);
	free(brute->level_arcs);
}

/* An execution of some kind with few enough cuts to visit. */
static inline struct made made_any(struct sn_random *random)
{
	uint32_t processes = 1 + (uint32_t)sn_random_below(random, 6);
	uint32_t events =
		1 + (uint32_t)sn_random_below(random, processes > 4 ? 22 : 60 / processes + 10);
	double message = sn_random_unit(random);

	switch (sn_random_below(random, 4)) {
	case 0:
		return made_stencil(processes, 1 + events / processes,
				    1 + (uint32_t)sn_random_below(random, 3));
	case 1:
		return made_random(random, processes, events, message, 1);
	default:
		return made_random(random, processes, events, message, 0);
	}
}

static inline struct sn_interval_counts count_all(const struct sn_lattice_order *order)
{
	struct sn_interval_limits limits = { .want_levels = true, .want_histogram = true };
	uint32_t *zero = sn_alloc_zeroed(order->process_count, sizeof(uint32_t));
	struct sn_interval_counts counts = { 0 };

	if (sn_interval_count(order, zero, order->counts, &limits, &counts) != SN_INTERVAL_DONE)
		abort();
	free(zero);
	return counts;
}

/* One- or two-limb numbers that fit in one. */
static inline uint64_t brute_number(const uint64_t *numbers, size_t i, unsigned limbs)
{
	for (unsigned l = 1; l < limbs; l++)
		if (numbers[i * limbs + l])
			return UINT64_MAX;
	return numbers[i * limbs];
}

static inline bool agrees(const struct brute *brute, const struct sn_interval_counts *counts)
{
	bool holds = brute_number(counts->cuts, 0, counts->limbs) == brute->cuts &&
		     brute_number(counts->arcs, 0, counts->limbs) == brute->arcs &&
		     counts->level_count == brute->event_count + 1;

	for (uint32_t k = 0; k < counts->level_count && holds; k++)
		holds = brute_number(counts->levels, k, counts->limbs) == brute->levels[k] &&
			brute_number(counts->level_arcs, k, counts->limbs) == brute->level_arcs[k];
	for (uint32_t d = 0; d < 64 && holds; d++)
		holds = brute->degrees[d] ==
			(d < counts->degree_count ? brute_number(counts->degrees, d, counts->limbs)
						  : 0);
	return holds;
}

static inline bool agrees_with_counts(const struct brute *brute,
				      const struct sn_lattice_order *order)
{
	struct sn_interval_counts counts = count_all(order);
	bool holds = agrees(brute, &counts);

	sn_interval_counts_free(&counts);
	return holds;
}

/* The profile splits at synchronisations and joins again. */
static inline bool agrees_with_profile(const struct brute *brute,
				       const struct sn_lattice_order *order)
{
	struct sn_lattice_budget budget = { 0 };
	struct sn_lattice_profile profile;
	uint32_t single = 0;
	bool holds;

	sn_lattice_profile_make(order, &budget, &profile);
	for (uint32_t k = 1; k < brute->event_count; k++)
		single += brute->levels[k] == 1;
	holds = profile.is_exact && profile.windows.count == 1 &&
		profile.synchronisation_count == single &&
		agrees(brute, &profile.windows.items[0].counts);
	sn_lattice_profile_free(&profile);
	return holds;
}

/* The paper's program: a send, b, c receive, d on one process; e receive, f, g send, h on the
 * other. */
static inline struct sn_execution *figure_2(bool only_assignments)
{
	static const char *const LABELS[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	static const struct sn_lattice_ref A = { 0, 0 }, G = { 1, 2 };
	struct sn_execution_builder builder = { .process_count = 2 };
	struct sn_execution *execution = NULL;

	for (uint32_t i = 0; i < 8; i++) {
		struct sn_lattice_event event = { .process = i / 4,
						  .index = i % 4,
						  .label = LABELS[i] };

		event.duration_s = event.start_s = NAN;
		event.is_observed = !only_assignments || i % 2;
		event.after = i == 4 ? &A : i == 2 ? &G : NULL;
		event.after_count = i == 4 || i == 2;
		sn_execution_builder_add(&builder, &event);
	}
	if (sn_execution_build(&builder, &execution, NULL) != SN_OK)
		abort();
	return execution;
}

#endif
