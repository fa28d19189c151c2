#include <string.h>

#include "brute.h"
#include "harness/tap.h"
#include "pandore/lattice/enumerate.h"

struct tally {
	const struct sn_lattice_order *order;
	struct brute seen;
	uint64_t stop_after;
};

static bool tally_cut(void *context, const uint32_t *cut, uint32_t level)
{
	struct tally *tally = context;
	uint32_t degree = sn_lattice_out_degree(tally->order, cut);

	tally->seen.cuts++;
	tally->seen.arcs += degree;
	tally->seen.levels[level]++;
	tally->seen.level_arcs[level] += degree;
	tally->seen.degrees[degree]++;
	return tally->seen.cuts != tally->stop_after;
}

static struct tally tally_for(const struct sn_lattice_order *order)
{
	struct tally tally = { .order = order };

	tally.seen.levels = sn_alloc_zeroed(order->event_count + 1, sizeof(uint64_t));
	tally.seen.level_arcs = sn_alloc_zeroed(order->event_count + 1, sizeof(uint64_t));
	return tally;
}

static bool is_equal(const struct brute *a, const struct brute *b, uint32_t levels)
{
	return a->cuts == b->cuts && a->arcs == b->arcs &&
	       !memcmp(a->levels, b->levels, levels * sizeof(uint64_t)) &&
	       !memcmp(a->level_arcs, b->level_arcs, levels * sizeof(uint64_t)) &&
	       !memcmp(a->degrees, b->degrees, sizeof(a->degrees));
}

TEST(a_thousand_random_executions_agree_with_brute_force)
{
	struct sn_random random;

	sn_random_seed(&random, 1);
	for (int round = 0; round < 1000; round++) {
		struct made made = made_any(&random);
		struct sn_execution *execution = made_execution(&made);
		struct brute brute = brute_count(&made);
		struct tally tally = tally_for(&execution->observed);

		REQUIRE(sn_lattice_enumerate_cuts(&execution->observed, tally_cut, &tally));
		REQUIRE(is_equal(&tally.seen, &brute, made.event_count + 1));
		brute_free(&tally.seen);
		brute_free(&brute);
		sn_execution_free(execution);
		made_free(&made);
	}
}

TEST(a_visit_can_be_ended)
{
	struct sn_execution *execution = figure_2(false);
	struct tally tally = tally_for(&execution->observed);

	tally.stop_after = 7;
	CHECK(!sn_lattice_enumerate_cuts(&execution->observed, tally_cut, &tally));
	CHECK_INT(tally.seen.cuts, 7);
	brute_free(&tally.seen);
	sn_execution_free(execution);
}
