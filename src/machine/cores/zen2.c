/* Zen 2: AMD Software Optimization Guide for family 17h. Nothing was validated on such a
 * machine. */
#include "machine/cores/cores.h"

const struct sn_core sn_core_zen2 = {
	.name = "zen2",
	.alias = "znver2",
	.title = "AMD Zen 2",
	.texts = { "zen2", "zen2.overlay" },
	.rules = {
		SN_CORE_ZEN,
		.vector_bytes = 32,
		.lacks = SN_LACKED_BEFORE_ZEN_4 | SN_LACKS(VAES) | SN_LACKS(VPCLMULQDQ),
		.fusion = SN_FUSION_CMP_TEST,
		.decode_width = 4,
		.op_cache_width = 8,
		.issue_width = 6,
		.vector_load_latency = { 7, 7, 7 },
		.forward_latency = 7,
		.forward_latency_vector = 8,
		.forward_stall = 13,
		.rmw_forward_latency = 7,
		.loads_per_cycle = 2,
		.stores_per_cycle = 1,
		.scheduler_uops = 128,
		.reorder_uops = 224,
	},
};
