/**
 * Where memory operands point, as far as the block itself says. Each address is a sum of unknown
 * roots and a constant. A root is a register as it was when the pass began, or a value made in the
 * pass. Two operands with the same roots overlap or not by their constants. Registers that move by
 * a constant step are followed over passes. Distinct roots are taken not to alias.
 */
#ifndef SN_CQA_ADDRESS_H
#define SN_CQA_ADDRESS_H

#include "cqa/block/insn.h"

/** By definition: below are numbers of registers. A value is carried by so many passes, at most (room). */
enum { SN_ROOT_NONE = 0xffffff, SN_ROOT_FIRST_MADE = 64, SN_CARRY_DISTANCE_MAX = 4 };

struct sn_address {
	uint32_t base_root, index_root;
	uint8_t scale;
	int64_t constant;
	uint32_t bytes;
};

/** How a general register leaves the pass. */
struct sn_register_step {
	bool is_induction; /* same register plus a constant (0: unchanged) */
	int64_t step_bytes;
};

/** One memory operand in program order. */
struct sn_access {
	uint32_t insn;
	uint8_t operand;
	bool is_load, is_store;
	struct sn_address address;
	/* for loads: the store whose value it takes; -1 none. distance 0: of the same pass. */
	int32_t source;
	uint8_t source_distance;
	bool is_partial; /* the load spans more than the store */
	/* stride per pass; known if all its registers are inductions */
	bool has_stride;
	int64_t stride_bytes;
	/* with those of the same array that move alike it covers all that the stride steps over */
	bool is_covered;
	bool is_indirect; /* an address register was loaded from memory in this pass */
	/* by sn_accesses_find_irregular: an element that loaded data choose (table[index[i]]), not
	 * what a loaded pointer points to */
	bool is_looked_up;
	/* by sn_accesses_find_irregular: no stride tells where the next pass goes, as the address
	 * comes from data of this or an earlier pass, or is computed anew from the last one */
	bool is_irregular;
	/* irregular loads of this pass on the way to it, itself included */
	uint8_t irregular_depth;
};

struct sn_accesses {
	struct sn_access *items;
	size_t count;
	/* of instructions that prefetch; neither loads nor stores */
	struct sn_access *prefetches;
	size_t prefetch_count;
	/* by sn_accesses_find_irregular: operations of a pass that wait for its irregular loads */
	unsigned waiting_vector, waiting_general, waiting_address;
	struct sn_register_step steps[16];
};

/** The accesses of a block whose instructions are final. They belong to the arena. */
const struct sn_accesses *sn_accesses_of(const struct sn_cqa_block *block, struct sn_arena *arena);

/** A copy of the block's accesses, in the arena, that also knows irregular ones: `is_irregular`,
 * `irregular_depth`, and the strides of addresses that each pass makes anew from what moves by a
 * constant (sign extensions, differences of pointers). `is_indirect` is set where an address comes
 * from memory by way of arithmetic, or from a load of the pass before (a list). A value loaded from
 * a place that stays (the stack, a global) and that the pass does not store is a constant. */
const struct sn_accesses *sn_accesses_find_irregular(const struct sn_cqa_block *block,
						     struct sn_arena *arena);

#endif
