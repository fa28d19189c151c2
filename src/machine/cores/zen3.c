/* Zen 3: AMD Software Optimization Guide for family 19h. Nothing was validated on such a
 * machine. */
#include "machine/cores/cores.h"

const struct sn_core sn_core_zen3 = {
	.name = "zen3",
	.alias = "znver3",
	.title = "AMD Zen 3",
	.texts = { "zen3", "zen3.overlay" },
	.rules = {
		SN_CORE_ZEN,
		.vector_bytes = 32,
		.lacks = SN_LACKED_BEFORE_ZEN_4,
		.fusion = SN_FUSION_ALU,
		.decode_width = 4,
		.op_cache_width = 8,
		.issue_width = 6,
		.vector_load_latency = { 7, 7, 7 },
		.forward_latency = 7,
		.forward_latency_vector = 8,
		.forward_stall = 13,
		.rmw_forward_latency = 8,
		.loads_per_cycle = 3,
		.stores_per_cycle = 2,
		.scheduler_uops = 160,
		.reorder_uops = 256,
	},
};
