/* Skylake, Skylake server and Cascade Lake: Intel 64 and IA-32 Architectures Optimization Reference
 * Manual, 2.5. The jump erratum is from Intel's white paper on it (2019). Ports 0 and 1 of the
 * servers work as one for 512-bit operations (the manual, 2.6). docs/method/cqa.md counts the model
 * as not validated. */
#include "machine/cores/cores.h"

#define SKYLAKE                                                                                    \
	SN_CORE_INTEL, .issue_width = 4, .load_latency_simple = 4, .op_cache_window_bytes = 32,    \
		       .op_cache_window_uops = 18, .op_cache_width = 6, .decode_width = 4,         \
		       .predecode_bytes = 16, .predecode_width = 5, .jcc_erratum = true,           \
		       .slow_lea = true, .eliminates_gpr_moves = true,                             \
		       .eliminates_vector_moves = true, .popcnt_reads_destination = true,          \
		       .simple_store_address_unit = true, .vector_load_latency = { 6, 7, 7 },      \
		       .forward_latency = 4, .forward_latency_vector = 5, .forward_stall = 12,     \
		       .rmw_forward_latency = 4, .loads_per_cycle = 2, .stores_per_cycle = 1,      \
		       .scheduler_uops = 97, .reorder_uops = 224

const struct sn_core sn_core_skylake = {
	.name = "skylake",
	.title = "Intel Skylake",
	.texts = { "skylake", "skylake.overlay" },
	.rules = { SKYLAKE, .vector_bytes = 32,
		   .lacks = SN_LACKED_BEFORE_ICE_LAKE | SN_LACKS(AVX512_VNNI) | SN_LACKS(AVX512) },
};

const struct sn_core sn_core_skylake_avx512 = {
	.name = "skylake-avx512",
	.alias = "skx",
	.title = "Intel Skylake server",
	.texts = { "skylake-avx512", "skylake.overlay", "skylake-server.overlay" },
	.rules = { SKYLAKE, .vector_bytes = 64, .closed_by_wide_vectors = 1u << 1,
		   .lacks = SN_LACKED_BEFORE_ICE_LAKE | SN_LACKS(AVX512_VNNI) },
};

const struct sn_core sn_core_cascadelake = {
	.name = "cascadelake",
	.title = "Intel Cascade Lake",
	.texts = { "cascadelake", "skylake.overlay", "skylake-server.overlay" },
	.rules = { SKYLAKE, .vector_bytes = 64, .closed_by_wide_vectors = 1u << 1,
		   .lacks = SN_LACKED_BEFORE_ICE_LAKE },
};
