/* Ice Lake server: Intel 64 and IA-32 Architectures Optimization Reference Manual, 2.2.
 * Nothing was validated on such a machine. */
#include "machine/cores/cores.h"

const struct sn_core sn_core_icelake_server = {
	.name = "icelake-server",
	.alias = "icelake-client",
	.title = "Intel Ice Lake server",
	.texts = { "icelake-server", "icelake.overlay", "skylake-server.overlay" },
	.rules = {
		SN_CORE_INTEL,
		.vector_bytes = 64,
		.lacks = SN_LACKED_BEFORE_SAPPHIRE_RAPIDS | SN_LACKS(AVX512_BF16) | SN_LACKS(SSE4A),
		.eliminates_vector_moves = true,
		.predecode_bytes = 16,
		.predecode_width = 6,
		.decode_width = 5,
		.op_cache_width = 6,
		.op_cache_window_bytes = 32,
		.op_cache_window_uops = 18,
		.loop_buffer_uops = 70,
		.loop_buffer_copies = 8, /* chosen */
		.issue_width = 5,
		.load_latency_simple = 4,
		.vector_load_latency = { 6, 7, 7 },
		.forward_latency = 4,
		.forward_latency_vector = 5,
		.forward_stall = 13,
		.rmw_forward_latency = 4,
		.closed_by_wide_vectors = 1u << 1,
		.loads_per_cycle = 2,
		.stores_per_cycle = 2,
		.scheduler_uops = 160,
		.reorder_uops = 352,
	},
};
