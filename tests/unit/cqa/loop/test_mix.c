/* Passes of different paths one after the other. */
#include <string.h>

#include "cqa/block/hex.h"
#include "cqa/loop/loop.h"
#include "harness/tap.h"

static struct sn_arena arena;

static double factor(const char *first, const char *second, double share)
{
	const char *texts[2] = { first, second };
	struct sn_cqa_path paths[2] = { 0 };
	struct sn_cqa_loop loop = { .paths = paths, .path_count = 2, .is_weighed = share != 0.5 };
	struct sn_error err = { 0 };

	REQUIRE(sn_machine_find("zen5", &loop.machine, &err) == SN_OK);
	for (unsigned i = 0; i < 2; i++) {
		uint8_t bytes[64];
		size_t count = sizeof(bytes);

		REQUIRE(sn_hex_parse(texts[i], strlen(texts[i]), bytes, &count, &err) == SN_OK);
		REQUIRE(sn_cqa_block_decode(loop.machine, &arena, bytes, count, &paths[i].block,
					    &err) == SN_OK);
		sn_cqa_estimate(loop.machine, &paths[i].block, false, &arena, &paths[i].estimate);
		paths[i].weight = i ? 1 - share : share;
	}
	return sn_cqa_mix_factor(&loop);
}

/* vdivsd xmm2,xmm0,xmm1; dec r15; jnz: four cycles of the divider */
#define DIVIDES "c5fb5ed149ffcf75f7"
/* vaddsd xmm3,xmm0,xmm1; dec r15; jnz: one cycle */
#define ADDS "c5fb58d949ffcf75f7"
/* vaddsd xmm0,xmm0,xmm1; dec r15; jnz: a chain */
#define SUMS "c5fb58c149ffcf75f7"
/* vmulsd xmm0,xmm0,xmm1; dec r15; jnz: another on the same register */
#define MULTIPLIES "c5fb59c149ffcf75f7"

TEST(what_divides_overlaps_with_what_adds)
{
	CHECK_REAL(factor(DIVIDES, ADDS, 0.5), 4.0 / 5, 0.01);
	/* by samples: one of eight passes divides */
	CHECK_REAL(factor(DIVIDES, ADDS, 0.125), 1 / (0.125 * 4 + 0.875), 0.01);
}

TEST(chains_through_one_register_do_not_overlap)
{
	double apart = factor(SUMS, MULTIPLIES, 0.5);

	CHECK(apart >= 1 && apart < 1.3);
}

TEST(paths_alike_cost_what_each_costs)
{
	CHECK_REAL(factor(ADDS, ADDS, 0.5), 1, 1e-9);
	CHECK_REAL(factor(SUMS, SUMS, 0.3), 1, 1e-9);
}
