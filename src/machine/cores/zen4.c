/* Zen 4: AMD Software Optimization Guide for family 19h. Nothing was validated on such a
 * machine. */
#include "machine/cores/cores.h"

const struct sn_core sn_core_zen4 = {
	.name = "zen4",
	.alias = "znver4",
	.title = "AMD Zen 4",
	.texts = { "zen4", "zen4.overlay" },
	.rules = {
		SN_CORE_ZEN,
		.vector_bytes = 64,
		.lacks = SN_LACKED_BEFORE_ZEN_5,
		.fusion = SN_FUSION_ALU,
		.decode_width = 4,
		.op_cache_width = 9,
		.issue_width = 6,
		.vector_load_latency = { 7, 7, 7 },
		.forward_latency = 7,
		.forward_latency_vector = 8,
		.forward_stall = 13,
		.rmw_forward_latency = 8,
		.loads_per_cycle = 3,
		.stores_per_cycle = 2,
		.scheduler_uops = 160,
		.reorder_uops = 320,
	},
};
