/* Sources of the numbers: Intel 64 and IA-32 Architectures Optimization Reference Manual (chapters
 * on each microarchitecture), AMD Software Optimization Guides for families 17h, 19h and 1Ah, and
 * our own measurements where docs/method/cqa.md says so. */
#include "machine/rules.h"

#define INTEL_COMMON                                                                               \
	.vendor = SN_VENDOR_INTEL, .fusion = SN_FUSION_INTEL, .unlaminates = true,                 \
	.load_latency = 5, .load_latency_simple = 4, .taken_branch_cycles = 1

#define SKYLAKE                                                                                    \
	INTEL_COMMON, .issue_width = 4, .op_cache_width = 6, .decode_width = 4,                    \
		      .predecode_bytes = 16, .predecode_width = 5, .jcc_erratum = true,            \
		      .slow_lea = true, .eliminates_gpr_moves = true,                              \
		      .eliminates_vector_moves = true, .popcnt_reads_destination = true,           \
		      .simple_store_address_unit = true, .vector_load_latency = { 6, 7, 7 },       \
		      .forward_latency = 4, .forward_latency_vector = 5, .forward_stall = 12,      \
		      .rmw_forward_latency = 4, .loads_per_cycle = 2, .stores_per_cycle = 1,       \
		      .scheduler_uops = 97, .reorder_uops = 224

#define ZEN_COMMON                                                                                 \
	.vendor = SN_VENDOR_AMD, .load_latency = 4, .load_latency_simple = 4,                      \
	.eliminates_gpr_moves = true, .eliminates_vector_moves = true, .taken_branch_cycles = 1

const struct sn_machine_definition sn_machine_definitions[] = {
	{ "haswell",
	  "Intel Haswell",
	  { "haswell", "intel.overlay", "haswell.overlay" },
	  { INTEL_COMMON,
	    .issue_width = 4,
	    .op_cache_width = 4,
	    .decode_width = 4,
	    .predecode_bytes = 16,
	    .predecode_width = 6,
	    .loop_buffer_uops = 56,
	    .slow_lea = true,
	    .eliminates_gpr_moves = true,
	    .eliminates_vector_moves = true,
	    .popcnt_reads_destination = true,
	    .simple_store_address_unit = true,
	    .vector_load_latency = { 6, 7, 7 },
	    .forward_latency = 5,
	    .forward_latency_vector = 6,
	    .forward_stall = 12,
	    .rmw_forward_latency = 6,
	    .loads_per_cycle = 2,
	    .stores_per_cycle = 1,
	    .vector_bytes = 32,
	    .scheduler_uops = 60,
	    .reorder_uops = 192 } },
	{ "skylake",
	  "Intel Skylake",
	  { "skylake", "intel.overlay", "skylake.overlay" },
	  { SKYLAKE, .vector_bytes = 32 } },
	{ "skylake-avx512",
	  "Intel Skylake server",
	  { "skylake-avx512", "intel.overlay", "skylake.overlay" },
	  { SKYLAKE, .vector_bytes = 64 } },
	{ "cascadelake",
	  "Intel Cascade Lake",
	  { "cascadelake", "intel.overlay", "skylake.overlay" },
	  { SKYLAKE, .vector_bytes = 64 } },
	{ "icelake-server",
	  "Intel Ice Lake server",
	  { "icelake-server", "intel.overlay", "icelake.overlay" },
	  { INTEL_COMMON,
	    .issue_width = 5,
	    .op_cache_width = 6,
	    .decode_width = 5,
	    .predecode_bytes = 16,
	    .predecode_width = 6,
	    .loop_buffer_uops = 70,
	    .slow_lea = false,
	    .eliminates_gpr_moves = false,
	    .eliminates_vector_moves = true,
	    .vector_load_latency = { 6, 7, 7 },
	    .forward_latency = 4,
	    .forward_latency_vector = 5,
	    .forward_stall = 13,
	    .rmw_forward_latency = 4,
	    .loads_per_cycle = 2,
	    .stores_per_cycle = 2,
	    .vector_bytes = 64,
	    .scheduler_uops = 160,
	    .reorder_uops = 352 } },
	{ "sapphirerapids",
	  "Intel Sapphire Rapids",
	  { "sapphirerapids", "intel.overlay", "sapphirerapids.overlay" },
	  { INTEL_COMMON,
	    .predecode_bytes = 32,
	    .issue_width = 6,
	    .op_cache_width = 8,
	    .decode_width = 6,
	    .predecode_width = 6,
	    .loop_buffer_uops = 144,
	    .slow_lea = false,
	    .eliminates_gpr_moves = false,
	    .eliminates_vector_moves = true,
	    .vector_load_latency = { 6, 7, 7 },
	    .forward_latency = 5,
	    .forward_latency_vector = 5,
	    .forward_stall = 13,
	    .rmw_forward_latency = 1,
	    .loads_per_cycle = 3,
	    .stores_per_cycle = 2,
	    .vector_bytes = 64,
	    .scheduler_uops = 205,
	    .reorder_uops = 512 } },
	{ "zen2",
	  "AMD Zen 2",
	  { "zen2", "zen.overlay", "zen2.overlay" },
	  { ZEN_COMMON, .fusion = SN_FUSION_CMP_TEST, .issue_width = 6, .op_cache_width = 8,
	    .decode_width = 4, .vector_load_latency = { 7, 7, 7 }, .forward_latency = 7,
	    .forward_latency_vector = 8, .forward_stall = 13, .rmw_forward_latency = 7,
	    .loads_per_cycle = 2, .stores_per_cycle = 1, .vector_bytes = 32, .scheduler_uops = 128,
	    .reorder_uops = 224 } },
	{ "zen3",
	  "AMD Zen 3",
	  { "zen3", "zen.overlay", "zen3.overlay" },
	  { ZEN_COMMON, .fusion = SN_FUSION_ALU, .issue_width = 6, .op_cache_width = 8,
	    .decode_width = 4, .vector_load_latency = { 7, 7, 7 }, .forward_latency = 7,
	    .forward_latency_vector = 8, .forward_stall = 13, .rmw_forward_latency = 8,
	    .loads_per_cycle = 3, .stores_per_cycle = 2, .vector_bytes = 32, .scheduler_uops = 160,
	    .reorder_uops = 256 } },
	{ "zen4",
	  "AMD Zen 4",
	  { "zen4", "zen.overlay", "zen4.overlay" },
	  { ZEN_COMMON, .fusion = SN_FUSION_ALU, .issue_width = 6, .op_cache_width = 9,
	    .decode_width = 4, .vector_load_latency = { 7, 7, 7 }, .forward_latency = 7,
	    .forward_latency_vector = 8, .forward_stall = 13, .rmw_forward_latency = 8,
	    .loads_per_cycle = 3, .stores_per_cycle = 2, .vector_bytes = 64, .scheduler_uops = 160,
	    .reorder_uops = 320 } },
	{ "zen5",
	  "AMD Zen 5",
	  { "zen5", "zen5.overlay" },
	  { ZEN_COMMON, .fusion = SN_FUSION_ALU, .issue_width = 8, .op_cache_width = 12,
	    .decode_width = 8, .vector_load_latency = { 7, 7, 7 }, .forward_latency = 7,
	    .forward_latency_vector = 8, .forward_stall = 13, .rmw_forward_latency = 8,
	    .loads_per_cycle = 4, .stores_per_cycle = 2, .vector_bytes = 64, .scheduler_uops = 200,
	    .reorder_uops = 448 } },
};

const unsigned sn_machine_definition_count =
	sizeof(sn_machine_definitions) / sizeof(sn_machine_definitions[0]);
