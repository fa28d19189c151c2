/* Shares of paths from where samples fell. */
#include <math.h>
#include <string.h>

#include "cqa/block/hex.h"
#include "cqa/loop/retire.h"
#include "harness/tap.h"

static struct sn_arena arena;

/* test byte [rcx],1; jnz: to the second path */
#define HEADER "f601017540"
/* vdivsd xmm2,xmm0,xmm1; vmovsd [rdi],xmm2; dec r15; jnz */
#define DIVIDES HEADER "c5fb5ed1c5fb111749ffcf75f0"
/* vaddsd xmm3,xmm0,xmm1; vmulsd xmm3,xmm3,xmm3; vmovsd [rsi],xmm3; dec r15; jnz */
#define ADDS HEADER "c5fb58d9c5e359dbc5fb111e49ffcf75ec"

struct two_paths {
	struct sn_cqa_loop loop;
	struct sn_cqa_path paths[2];
	struct sn_loop code;
	struct sn_range range;
};

/* What follows the header of the second path stands `apart` bytes on. */
static void two_paths_of(struct two_paths *out, const char *const texts[2], unsigned apart)
{
	struct sn_error err = { 0 };

	memset(out, 0, sizeof(*out));
	out->code.ranges = &out->range;
	out->loop.loop = &out->code;
	out->loop.paths = out->paths;
	out->loop.path_count = 2;
	REQUIRE(sn_machine_find("zen5", &out->loop.machine, &err) == SN_OK);
	for (unsigned p = 0; p < 2; p++) {
		struct sn_cqa_path *path = &out->paths[p];
		uint8_t bytes[64];
		size_t count = sizeof(bytes);

		REQUIRE(sn_hex_parse(texts[p], strlen(texts[p]), bytes, &count, &err) == SN_OK);
		REQUIRE(sn_cqa_block_decode(out->loop.machine, &arena, bytes, count, &path->block,
					    &err) == SN_OK);
		for (size_t i = 2; i < path->block.count && p; i++)
			path->block.insns[i].offset += apart;
		sn_cqa_estimate(out->loop.machine, &path->block, false, &arena, &path->estimate);
		path->weight = 0.5;
	}
}

static void two_paths(struct two_paths *out)
{
	static const char *const texts[2] = { DIVIDES, ADDS };

	two_paths_of(out, texts, 0x40);
}

/* Samples as the core would show them. */
static size_t samples(const struct two_paths *two, const double shares[SN_CQA_PATHS_MAX],
		      double missed_each, struct sn_heat heat[SN_PLACES_MAX])
{
	struct sn_places places;
	struct sn_retirement retirement;
	struct sn_arrivals arrivals;
	double missed[SN_ARRIVALS_MAX] = { 0 };

	REQUIRE(sn_places_of(&two->loop, &arena, &places));
	sn_places_arrivals(&two->loop, &places, shares, &arrivals);
	for (unsigned k = 0; k < arrivals.count; k++)
		missed[k] = arrivals.items[k].branch_offset == 3 ? missed_each : 0;
	sn_retire(&two->loop, &places, shares, missed, &retirement);
	for (unsigned k = 0; k < places.count; k++) {
		heat[k].link_addr = places.first_offset[k];
		heat[k].weight = retirement.missed_cycles[k];
		for (unsigned p = 0; p < 2; p++)
			heat[k].weight += shares[p] * retirement.path_cycles[p][k];
	}
	return places.count;
}

TEST(code_is_cut_where_control_parts_and_meets)
{
	struct two_paths two;
	struct sn_places places;
	unsigned heads = 0;

	two_paths(&two);
	REQUIRE(sn_places_of(&two.loop, &arena, &places));
	CHECK_INT((int)places.count, 5);
	for (unsigned k = 0; k < places.count; k++)
		heads += places.is_head[k];
	CHECK_INT((int)heads, 2);
	CHECK_INT((int)sn_places_at(&places, 0), 0);
	CHECK_INT((int)sn_places_at(&places, 1000), UINT16_MAX);
}

TEST(shares_are_found_again)
{
	static const double truths[] = { 0.125, 0.5, 0.75 };

	for (unsigned i = 0; i < 3; i++) {
		double shares[SN_CQA_PATHS_MAX] = { truths[i], 1 - truths[i] };
		struct sn_heat heat[SN_PLACES_MAX];
		struct two_paths two;
		size_t count;

		two_paths(&two);
		count = samples(&two, shares, 0, heat);
		sn_cqa_loop_weigh(&two.loop, heat, count);
		CHECK(two.loop.is_weighed);
		CHECK_REAL(two.paths[0].weight, truths[i], 0.07);
		CHECK_REAL(two.paths[0].weight + two.paths[1].weight, 1, 1e-9);
		CHECK_REAL(two.loop.missed_cycles, 0, 1e-9);
	}
}

TEST(mispredictions_show_behind_branches)
{
	double shares[SN_CQA_PATHS_MAX] = { 0.5, 0.5 };
	struct sn_heat heat[SN_PLACES_MAX];
	struct two_paths two;

	two_paths(&two);
	sn_cqa_loop_weigh(&two.loop, heat, samples(&two, shares, 0.25, heat));
	CHECK_REAL(two.paths[0].weight, 0.5, 0.15);
	/* half of the passes cost a way back of some twenty cycles */
	CHECK(two.loop.missed_cycles > 6 && two.loop.missed_cycles < 16);
}

/* How often a pass comes to a place by a branch. */
static double often(const struct sn_arrivals *arrivals, unsigned place, uint64_t branch_offset)
{
	double sum = 0;

	for (unsigned k = 0; k < arrivals->count; k++)
		if (arrivals->items[k].place == place &&
		    arrivals->items[k].branch_offset == branch_offset)
			sum += arrivals->items[k].often;
	return sum;
}

/* if (x) add; store: to the store come those that add, and by the branch those that do not */
TEST(arrivals_are_those_by_branches)
{
	static const char *const texts[2] = { HEADER "c5fb58d9c5fb111e49ffcf75ee",
					      HEADER "c5fb111e49ffcf75ee" };
	double shares[SN_CQA_PATHS_MAX] = { 0.25, 0.75 };
	struct sn_arrivals arrivals;
	struct sn_places places;
	struct two_paths two;

	two_paths_of(&two, texts, 4);
	REQUIRE(sn_places_of(&two.loop, &arena, &places));
	sn_places_arrivals(&two.loop, &places, shares, &arrivals);
	CHECK_INT((int)arrivals.count, 2);
	CHECK_REAL(often(&arrivals, sn_places_at(&places, 5), 3), 0.25, 1e-9);
	CHECK_REAL(often(&arrivals, sn_places_at(&places, 9), 3), 0.75, 1e-9);
	CHECK_REAL(often(&arrivals, sn_places_at(&places, 0), 3), 0, 1e-9);
}

/* if (x) { divide; store; if (y) ...; }: to what follows come those that skip, and by a branch of their own those that do not */
#define TESTS_AGAIN HEADER "c5fb5ed1c5fb111785d2740049ffcf75ea"
#define SKIPS	    HEADER "49ffcf75ea"

static void two_ways_to_one_head(struct two_paths *out)
{
	static const char *const texts[2] = { TESTS_AGAIN, SKIPS };

	two_paths_of(out, texts, 12);
}

TEST(branches_to_one_head_are_apart)
{
	double shares[SN_CQA_PATHS_MAX] = { 0.75, 0.25 };
	struct sn_arrivals arrivals;
	struct sn_places places;
	struct two_paths two;

	two_ways_to_one_head(&two);
	REQUIRE(sn_places_of(&two.loop, &arena, &places));
	sn_places_arrivals(&two.loop, &places, shares, &arrivals);
	CHECK_INT((int)arrivals.count, 3);
	CHECK_REAL(often(&arrivals, sn_places_at(&places, 17), 3), 0.25, 1e-9);
	CHECK_REAL(often(&arrivals, sn_places_at(&places, 17), 15), 0.75, 1e-9);
	CHECK_REAL(often(&arrivals, sn_places_at(&places, 5), 3), 0.75, 1e-9);
}

/* Mispredictions of the branch that skips, none of the other one that leads there. */
TEST(ranges_hold_the_truth)
{
	static const double truths[] = { 0.1, 0.3, 0.5, 0.7, 0.9 };

	for (unsigned i = 0; i < 10; i++) {
		double truth = truths[i / 2], missed = i & 1 ? fmin(truth, 1 - truth) / 2 : 0;
		double shares[SN_CQA_PATHS_MAX] = { truth, 1 - truth };
		struct sn_heat heat[SN_PLACES_MAX];
		struct two_paths two;

		two_ways_to_one_head(&two);
		sn_cqa_loop_weigh(&two.loop, heat, samples(&two, shares, missed, heat));
		CHECK(two.loop.is_weighed);
		for (unsigned p = 0; p < 2; p++) {
			double is = p ? 1 - truth : truth;

			CHECK(two.paths[p].weight_low <= is + 1e-9 &&
			      two.paths[p].weight_high >= is - 1e-9);
			CHECK(two.paths[p].weight_low <= two.paths[p].weight &&
			      two.paths[p].weight_high >= two.paths[p].weight);
		}
	}
}

TEST(samples_elsewhere_weigh_nothing)
{
	struct sn_heat heat = { 4096, 1 };
	struct two_paths two;

	two_paths(&two);
	sn_cqa_loop_weigh(&two.loop, &heat, 1);
	CHECK(!two.loop.is_weighed);
	CHECK_REAL(two.paths[0].weight, 0.5, 1e-9);
}
