/* Zen 1: AMD Software Optimization Guide for family 17h, which describes it beside Zen 2. Entries of the
 * schedulers (56, 28 and 36) and of the retire queue are those of LLVM's model. Forwarding is taken to
 * be as on Zen 2. Nothing was validated on such a machine. */
#include "machine/cores/cores.h"

const struct sn_core sn_core_zen1 = {
	.name = "zen1",
	.alias = "znver1",
	.title = "AMD Zen 1",
	.texts = { "zen1", "zen1.overlay" },
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
		.scheduler_uops = 120,
		.reorder_uops = 192,
	},
};
