/* Golden Cove, the core of Sapphire Rapids: Intel 64 and IA-32 Architectures Optimization Reference Manual,
 * 2.1, and measurements on such a machine: bench/cqa/sapphirerapids has them, docs/method/cores.md says on
 * how many loops each rule stands. */
#include "machine/cores/cores.h"

/* Loops of the tuning half: 27 with integer chains of one cycle, 4 with products and selections of
 * what was added. */
static const struct sn_chain_delays delays = { {
	[SN_STEP_INTEGER] = { [SN_BESIDE_READER] = { 0.67F, 0.75F },
			      [SN_BESIDE_CHAIN] = { 0.12F, 0.5F } },
	[SN_STEP_SELECT] = { [SN_BESIDE_ADD] = { 1, 1 } },
	[SN_STEP_PRODUCT] = { [SN_BESIDE_ADD] = { 1, 1 } },
} };

const struct sn_core sn_core_sapphirerapids = {
	.name = "sapphirerapids",
	.alias = "emeraldrapids",
	.title = "Intel Sapphire Rapids",
	.texts = { "sapphirerapids", "sapphirerapids.overlay", "sapphirerapids.measured",
		   "sapphirerapids.chains" },
	.rules = {
		SN_CORE_INTEL,

		/* the instruction set */
		.vector_bytes = 64,
		.lacks = SN_LACKED_BY_ALL | SN_LACKS(AVX512_VP2INTERSECT) | SN_LACKS(SSE4A),

		/* what an instruction is */
		.caches_updates_split = true,
		.eliminates_gpr_moves = true,
		.eliminates_vector_moves = true,
		.adds_constants_at_rename = true,
		.scaled_lea_latency = 2,
		.carry_move_cycles = 1,
		.insert_merge_latency = 1,
		.gather_merge_latency = 1,

		/* front end */
		.predecode_bytes = 32,
		.predecode_width = 6,
		.decode_width = 6,
		.op_cache_width = 8,
		.op_cache_whole_cycles = true,
		.op_cache_window_bytes = 64,
		.op_cache_window_uops = 48,

		/* issue */
		.issue_width = 6,

		/* latency of memory */
		.load_latency_simple = 5,
		.vector_load_latency = { 6, 7, 7 },
		.forward_latency = 5,
		.forward_latency_vector = 5,
		.forward_stall = 13,
		.rmw_forward_latency = 1,
		.rmw_register_latency = 7,
		.renames_same_address = true,
		.renamed_bytes_least = 4,

		/* latency between operations */
		.forwards_additions = true,
		.chain_delays = &delays,

		/* units */
		.closed_by_wide_vectors = 1u << 1,
		.vector_share = 1.05F,
		.meeting_exponent = 24,
		.meeting_noticed = 1.002, /* chosen */

		/* loads and stores */
		.loads_per_cycle = 3,
		.stores_per_cycle = 2,
		.commits_neighbours = true,
		.past_caches_bytes_per_cycle = 2.7F,

		/* out of order */
		.scheduler_uops = 205,
		.reorder_uops = 512,
	},
};
