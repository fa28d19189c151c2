/**
 * Where memory operands point, as far as the block itself tells: each address is a sum of unknown
 * roots (the registers as they were when the pass began, or a value made in it) and a constant. Two
 * operands with the same roots overlap or not by their constants; over passes, registers that move
 * by a constant step are followed. Distinct roots are taken not to alias.
 */
#ifndef SN_CQA_ADDRESS_H
#define SN_CQA_ADDRESS_H

#include "cqa/insn.h"

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
};

struct sn_accesses {
	struct sn_access *items;
	size_t count;
	struct sn_register_step steps[16];
};

struct sn_accesses sn_accesses_of(const struct sn_cqa_block *block, struct sn_arena *arena);

#endif
