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

extern const struct sn_core sn_core_haswell, sn_core_skylake, sn_core_skylake_avx512,
	sn_core_cascadelake, sn_core_icelake_server, sn_core_sapphirerapids, sn_core_zen1,
	sn_core_zen2, sn_core_zen3, sn_core_zen4, sn_core_zen5;

const struct sn_core *const sn_cores[] = {
	&sn_core_haswell,     &sn_core_skylake,	       &sn_core_skylake_avx512,
	&sn_core_cascadelake, &sn_core_icelake_server, &sn_core_sapphirerapids,
	&sn_core_zen1,	      &sn_core_zen2,	       &sn_core_zen3,
	&sn_core_zen4,	      &sn_core_zen5,	       NULL,
};
