/* Haswell: Intel 64 and IA-32 Architectures Optimization Reference Manual, 2.4. Nothing was
 * validated on such a machine. */
#include "machine/cores/cores.h"

const struct sn_core sn_core_haswell = {
	.name = "haswell",
	.alias = "core-avx2",
	.title = "Intel Haswell",
	.texts = { "haswell", "haswell.overlay" },
	.rules = {
		SN_CORE_INTEL,
		.vector_bytes = 32,
		.lacks = SN_LACKED_BEFORE_ICE_LAKE | SN_LACKS(AVX512_VNNI) | SN_LACKS(AVX512) | SN_LACKS(ADOX_ADCX) | SN_LACKS(RDSEED),
		.eliminates_gpr_moves = true,
		.eliminates_vector_moves = true,
		.slow_lea = true,
		.popcnt_reads_destination = true,
		.predecode_bytes = 16,
		.predecode_width = 6,
		.decode_width = 4,
		.op_cache_width = 4,
		.op_cache_window_bytes = 32,
		.op_cache_window_uops = 18,
		.loop_buffer_uops = 56,
		.loop_buffer_copies = 8, /* chosen */
		.issue_width = 4,
		.load_latency_simple = 4,
		.vector_load_latency = { 6, 7, 7 },
		.forward_latency = 5,
		.forward_latency_vector = 6,
		.forward_stall = 12,
		.rmw_forward_latency = 6,
		.loads_per_cycle = 2,
		.stores_per_cycle = 1,
		.simple_store_address_unit = true,
		.scheduler_uops = 60,
		.reorder_uops = 192,
	},
};
