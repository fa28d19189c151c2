/* Zen 5: AMD Software Optimization Guide for family 1Ah, and measurements on such a machine, without
 * counters (docs/method/cores.md says on how many loops each rule stands).
 *
 * - op_cache_line_bytes, op_cache_entry_ops, op_cache_entries, op_cache_more_cycles: 222 loops of two
 *   to seven lines of 9 to 20 no-operations.
 * - spares_last_place: loads and stores among no-operations, loops of 5 to 12 places.
 * - alternates_address_units: 434 random orders of loads, stores and other operations; median error
 *   0.3 %.
 * - gathered_lines: stores to 1 to 20 streams of several strides.
 * - fuses_moves: loops of 13 operations that fit two entries of the op cache; not so neg, lea, imul,
 *   cmov, or an operand in memory.
 * - joins_halves: with anything between the two halves the low one waits.
 * - places in schedulers, and for how long they are kept: chains of dependent operations, one a pass
 *   (docs/decisions/0015).
 * - latency_excess_cycles, window_filled_share, window_noticed, meeting_noticed: chosen. Of the tuning
 *   half of the corpus the error is 3.49 %. It is 3.48 % without the first (3.21 % instead of 3.19 %
 *   of scalar loops), and 3.51 % if passes of all loops are put through the window.
 *   The window's begin and end are not exact to less than 1 %.
 * - leaping_bytes: one loop of the corpus (of x264), 4 cycles instead of 3; measured 9. */
#include "machine/cores/cores.h"

/* Orders of accesses that no bound explains. All 205 orders of four to seven operations, 105 of eight, with two vector loads and a store as
 * their only accesses; the first is scalar y = a x + y. No rule was found. */
static const struct sn_slow_order slow_orders[] = {
	{ "LLS..", true, 1.055 },    { "LL.S.", true, 7 / 6. },	 { "LL..S", true, 7 / 6. },
	{ "LLS...", true, 1.2 },     { "LS.L..", true, 1.07 },	 { "LL...S..", false, 1.57 },
	{ "LL....S.", false, 1.57 }, { "LLSS...", false, 1.6 },	 { "LL.SS..", false, 1.6 },
	{ "LL.SS...", false, 1.6 },  { "LL..SS..", false, 1.6 }, { NULL, false, 0 },
};

/* Chains of one step beside one, two and three of each kind: 600 loops, docs/method/cores.md. */
static const struct sn_chain_delays delays = { {
	[SN_STEP_INTEGER] = { [SN_BESIDE_WIDE_PRODUCT] = { 0.35F, SN_CORE_NO_LIMIT } },
	[SN_STEP_ADD] = { [SN_BESIDE_TRANSFER] = { 0.5F, 1 },
			  [SN_BESIDE_CONVERSION] = { 0.2F, 0.5F },
			  [SN_BESIDE_SELECT] = { 0.12F, 0.4F } },
	[SN_STEP_SELECT] = { [SN_BESIDE_TRANSFER] = { 0.5F, 1 },
			     [SN_BESIDE_CONVERSION] = { 0.17F, 0.5F } },
	[SN_STEP_PRODUCT] = { [SN_BESIDE_ADD] = { 0.25F, 0.67F } },
	[SN_STEP_FMA] = { [SN_BESIDE_ADD] = { 0.1F, 0.5F } },
	[SN_STEP_SHORT] = { [SN_BESIDE_TRANSFER] = { 0.2F, 0.5F },
			    [SN_BESIDE_ADD] = { 0.25F, 0.5F } },
} };

/* Register copies and no-operations in all orders of 5 to 12 places: with at most one other operation
 * to three on vector registers, the vector side's width is the limit; with more, some cycles lack
 * room and some vector operations. */
static const struct sn_crowded_vectors crowded_vectors = {
	.shortest = 10, .longest = 12, .row = 9, .vectors_to_other = 3, .cycles = 2
};

/* Loops that load 64 bytes twice and store lose a part of a cycle besides, the more the shorter they
 * are; in the harness and in place. */
static const struct sn_wide_loads wide_loads = {
	.several_cycles = 0.25, .short_cycles = 0.5, .long_cycles = 0.1, .few_operations = 5
};

const struct sn_core sn_core_zen5 = {
	.name = "zen5",
	.alias = "znver5",
	.title = "AMD Zen 5",
	.texts = { "zen5", "zen5.overlay" },
	.rules = {
		SN_CORE_ZEN,

		/* the instruction set */
		.vector_bytes = 64,
		.lacks = SN_LACKED_BY_ALL | SN_LACKS(AVX512_FP16) | SN_LACKS(AMX),

		/* what an instruction is */
		.fusion = SN_FUSION_ALU,
		.fuses_moves = true,
		.caches_doubles = true,
		.fast_carry_rotates = true,
		.compress_reads_destination = true,
		.joins_halves = true,
		.high_half_is_late = true,
		.early_lea_index = true,
		.two_flag_move_cycles = 1,
		.wide_mask_cycles = 1,

		/* front end */
		.decode_width = 4,
		.op_cache_width = 12,
		.op_cache_line_bytes = 64,
		.op_cache_entry_ops = 6,
		.op_cache_entries = 2,
		.op_cache_more_cycles = 2,

		/* issue */
		.issue_width = 8,
		.vector_issue_width = 6,
		.vector_issue_several_lines = 5.1F,
		.mmx_issue_width = 3.6F,
		.spares_last_place = true,
		.crowded_vectors = &crowded_vectors,

		/* latency of memory */
		.scaled_index_latency = 1,
		.vector_load_latency = { 7, 7, 7 },
		.forward_latency = 0,
		.forward_latency_narrow = 7,
		.forward_latency_vector = 9,
		.forward_latency_512 = 16,
		.forward_latency_to_vector = 7,
		.forward_stall = 13,
		.rmw_forward_latency = 1,
		.renames_memory = true,
		.renamed_bytes_least = 4,

		/* latency between operations */
		.forwards_additions = true,
		.chain_delays = &delays,

		/* units */
		.taken_branch_alu_uops = 1,
		.alu_share = 1.15F,
		.alu_share_several_lines = 1.25F,
		.alu_share_long = 1,
		.alu_share_load = 0.25F,
		.alu_share_store = 0.9F,
		.alu_long_cycles = 3,
		.meeting_exponent = 25,
		.meeting_noticed = 1.002,

		/* loads and stores */
		.loads_per_cycle = 4,
		.stores_per_cycle = 2,
		.alternates_address_units = true,
		.slow_orders = slow_orders,
		.wide_loads = &wide_loads,
		.gathered_lines = 8,
		.leaping_bytes = 32,
		.past_caches_bytes_per_cycle = 11,

		/* out of order */
		.scheduler_uops = 200,
		.reorder_uops = 448,
		.general_scheduler_uops = 88,
		.address_scheduler_uops = 56,
		.vector_scheduler_uops = 76,
		.vector_queue_uops = 96,
		.microcode_portion_uops = 4,
		.general_hold_cycles = 12,
		.load_hold_cycles = 14,
		.store_hold_cycles = 12,
		.vector_hold_cycles = 16,
		.latency_excess_cycles = 0.3,
		.window_filled_share = 0.9,
		.window_noticed = 1.01,
	},
};
