/* All cores, and what those of one maker have in common where nothing was measured. */
#include "machine/cores/cores.h"

#include <math.h>
#include <stddef.h>

const struct sn_usual_memory sn_usual_memory_intel = {
	.latency_cycles = { 5, 14, 55, 250 },
	.bytes_per_cycle = { INFINITY, 28, 10, 4 },
	.written_bytes_per_cycle = { INFINITY, 28, 10, 2 },
	.misses_in_flight = 12,
};
const struct sn_usual_memory sn_usual_memory_amd = {
	.latency_cycles = { 4, 14, 50, 350 },
	.bytes_per_cycle = { INFINITY, 32, 14, 8 },
	.written_bytes_per_cycle = { INFINITY, 32, 14, 5 },
	.misses_in_flight = 24,
};

/* Where samples fall was looked at on Zen 5 only; other cores are taken to be alike. All numbers
 * were found with the 17 loops of known shares in bench/cqa/paths.c; none of them is held out
 * (bench/RESULTS.md, Paths by samples: 17 to 20 % error where branches are predicted, 62 to 66 % with
 * all paths alike).
 *
 * - retire_width: the core retires 8 (of a run behind a division each eighth is seen), but in which
 *   of them passes begin is not known. With 24 what came ready long ago is seen little, and shares
 *   are found best.
 * - redirect_cycles: loops of random branches.
 * - useless_divergence: with it and twice the least divergence, ranges hold the truth of 69 of 70 of the
 *   loops of two paths; they are 0.48 wide on average.
 * - explained_factor: without it one misprediction in 100 passes came out as 40; 3 is 23 % off in a fixed order where 2
 *   is 16 % off. */
const struct sn_sampled sn_sampled_alike = {
	.retire_width = 24,
	.redirect_cycles = 20,
	.first_insns = 2,
	.stray_share = 0.01,
	.fair_divergence = 0.1,
	.poor_divergence = 0.25,
	.explained_factor = 2,
	.useless_divergence = 1,
	.predictor_lean = 3,
	.slow_penalty = 0.02,
};

extern const struct sn_core sn_core_haswell, sn_core_skylake, sn_core_skylake_avx512,
	sn_core_cascadelake, sn_core_icelake_server, sn_core_sapphirerapids, sn_core_zen1,
	sn_core_zen2, sn_core_zen3, sn_core_zen4, sn_core_zen5;

const struct sn_core *const sn_cores[] = {
	&sn_core_haswell,     &sn_core_skylake,	       &sn_core_skylake_avx512,
	&sn_core_cascadelake, &sn_core_icelake_server, &sn_core_sapphirerapids,
	&sn_core_zen1,	      &sn_core_zen2,	       &sn_core_zen3,
	&sn_core_zen4,	      &sn_core_zen5,	       NULL,
};
