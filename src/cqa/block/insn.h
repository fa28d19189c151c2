/**
 * An instruction as the model sees it: what it reads and writes, which units it keeps busy, and how
 * long each result takes from each kind of operand.
 */
#ifndef SN_CQA_INSN_H
#define SN_CQA_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "machine/machine.h"

/** Storage that carries dependences. x87 registers are physical: the stack's turning is followed.
 */
enum sn_resource {
	SN_RES_GPR = 0,	    /* 16, rsp is 4 */
	SN_RES_VECTOR = 16, /* 32 */
	SN_RES_MASK = 48,   /* 8 */
	SN_RES_X87 = 56,    /* 8, MMX too */
	SN_RES_FLAG = 64,   /* CF PF AF ZF SF OF */
	SN_RES_COUNT = 70,
	SN_RES_NONE = 255
};

enum { SN_RES_RSP = SN_RES_GPR + 4, SN_INSN_READS_MAX = 20, SN_INSN_WRITES_MAX = 16 };

/** By definition of the architecture, and of all its cores so far. */
enum { SN_LINE_BYTES = 64, SN_PAGE_BYTES = 4096 };

/** How an operand enters the instruction. That decides the latency that counts from it. */
enum sn_role {
	SN_ROLE_DATA,	       /* needed when the operation starts */
	SN_ROLE_ADDRESS,       /* needed before the load starts */
	SN_ROLE_STORE_ADDRESS, /* address of a pure store: no part of a data chain */
	SN_ROLE_LATE, /* a merge or flag input that is needed later (the accumulator of an FMA)
		       */
	SN_ROLE_COUNT
};

struct sn_read {
	uint8_t resource, role;
	int8_t delay_cycles; /* added to the instruction's latency from this operand */
};

struct sn_memory_operand {
	uint8_t base, index; /* resource of a general register, or SN_RES_NONE */
	uint8_t scale;
	bool is_vector_index, is_rip, is_segment;
	int64_t displacement;
	uint32_t bytes;
	bool is_load, is_store;
};

struct sn_insn {
	uint32_t offset; /* in the block */
	uint8_t length;
	sn_form form;
	ZydisInstructionCategory category;
	ZydisISAExt isa;
	const struct sn_row *row;
	uint8_t read_count, write_count, memory_count;
	struct sn_read reads[SN_INSN_READS_MAX];
	uint8_t writes[SN_INSN_WRITES_MAX];
	/* [memory_count]; a prefetch and lea have theirs in the first, though their count is 0 */
	struct sn_memory_operand memory[2];
	/* registers as they are written, the mask left out; SN_RES_NONE: memory, constant, none */
	uint8_t operands[SN_FORM_OPERANDS_MAX];
	bool reads_destination; /* operand 0 is an input by its meaning, not only merged */
	uint8_t kept_upper;	/* register whose upper part the result keeps, or SN_RES_NONE: waits
				   for it only if something in the block puts something there */
	uint8_t late_write;	/* register whose result comes a cycle later, or SN_RES_NONE */
	bool fills_upper;	/* writes more of its vector register than a scalar */
	uint8_t element_bytes;	/* of a vector or x87 operation; 0: none */
	uint8_t operand_bytes;	/* width of the widest vector or general operand */
	uint8_t immediate_bytes;
	int64_t immediate;
	bool has_immediate;

	/* what its name says (sn_insn_read_name) */
	int8_t fp_kind; /* of FP arithmetic, as in struct sn_fp_operation; -1: it is none */
	uint8_t fp_element_bytes;
	bool fp_is_packed;
	bool is_vector_move; /* of FP or vector data between registers and memory, or between
				registers */

	/* what the rules make of it */
	float latency;	    /* data operand -> result */
	float load_latency; /* address -> operand of the operation */
	float divider_cycles;
	float fused_uops;  /* that the op cache and decoders handle */
	float issued_uops; /* that the renamer handles, after unlamination */
	uint8_t set_count;
	struct sn_unit_set sets[SN_ROW_SETS_MAX];
	bool is_estimated, is_move_eliminated, is_idiom;
	bool is_constant; /* zero or all ones, whatever its registers held: no work */
	bool is_branch, is_conditional, is_call, is_stack_engine;
	bool may_call_root; /* calls sqrt, or what has no name (set for loops of a binary) */
	bool fuses_with_next, is_fused_into_previous;
	bool has_length_prefix; /* operand-size prefix that changes the immediate's length */
	bool needs_complex_decoder;
	bool is_vector; /* vector or x87 register operand */
	bool is_512;
	bool is_mmx;		  /* an MMX register is an operand */
	int16_t rsp_change_bytes; /* of push, pop, call, ret */
};

/** at[i]: the SN_RES_X87 number that ST(i) names now. */
struct sn_x87_stack {
	uint8_t at[8];
};

struct sn_accesses;

struct sn_cqa_block {
	struct sn_insn *insns;
	size_t count;
	/* Where its memory operands point (cqa/block/address.h); stays true of copies whose
	 * instructions differ in units and latencies alone. */
	const struct sn_accesses *accesses;
	size_t bytes;
	size_t estimated_count;
	struct sn_x87_stack x87_end; /* names after one pass that began with ST(i) = i */
};

/**
 * Decodes a whole block and applies the machine's rules (idioms, eliminated moves, micro- and
 * macro-fusion). SN_ERR_FORMAT if some byte is no instruction: the sentence names its offset.
 * The block's memory belongs to the arena.
 */
sn_status sn_cqa_block_decode(const struct sn_machine *machine, struct sn_arena *arena,
			      const uint8_t *bytes, size_t length, struct sn_cqa_block *out,
			      struct sn_error *err);

/** Fills *out from one decoded instruction, without macro-fusion, which depends on the neighbour.
 * The x87 stack is followed in `x87`. */
void sn_insn_fill(const struct sn_machine *machine, const ZydisDecodedInstruction *decoded,
		  const ZydisDecodedOperand *operands, struct sn_x87_stack *x87,
		  struct sn_insn *out);

/** Fills what the mnemonic says about FP arithmetic and moves. The end of sn_insn_fill
 * (cqa/block/metrics.c). */
void sn_insn_read_name(struct sn_insn *insn);

/** Macro-fusion, counts and accesses of a filled block. */
void sn_cqa_block_finish(const struct sn_machine *machine, struct sn_cqa_block *block,
			 struct sn_arena *arena);

/** The index of the instruction that lies first in memory, in a block that has some. A loop that is
 * entered in the middle does not begin with it. */
size_t sn_cqa_block_lowest(const struct sn_cqa_block *block);

/** The number of bytes from the first one of the block's code to its last. */
size_t sn_cqa_block_span_bytes(const struct sn_cqa_block *block);

#endif
