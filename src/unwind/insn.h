/**
 * The length and the outer shape of x86-64 instructions, where nothing may be called.
 *
 * Reads bytes that nobody vouches for: what is no instruction, or goes on beyond `available`, has
 * length 0. Some invalid forms are given a length all the same (a decoder of operands would know).
 * Source: Intel SDM, volume 2, chapter 2 and appendix A; AMD APM, volume 3, for XOP and 3DNow!.
 */
#ifndef SN_UNWIND_INSN_H
#define SN_UNWIND_INSN_H

#include <stdbool.h>
#include <stdint.h>

enum sn_unwind_insn_map {
	SN_UNWIND_MAP_ONE,    /* one-byte opcodes */
	SN_UNWIND_MAP_TWO,    /* 0f */
	SN_UNWIND_MAP_OTHER,  /* 0f38, 0f3a, 3DNow! */
	SN_UNWIND_MAP_VECTOR, /* VEX, EVEX, XOP */
};

struct sn_unwind_insn {
	uint8_t length; /* 0: none */
	uint8_t map;	/* enum sn_unwind_insn_map */
	uint8_t opcode;
	uint8_t vector_map; /* of vector instructions: 1, 2, 3 as 0f, 0f38, 0f3a; others */
	uint8_t rex;	    /* 0: none */
	/* 66, f2, f3 (the last of them), or 0; of vector instructions the implied */
	uint8_t prefix;
	bool has_modrm;
	uint8_t mod, reg, rm; /* reg and rm with their bits of REX; numbers of the processor */
	bool has_sib;
	uint8_t base, index; /* of the SIB byte; base 16: none; index 16: none */
	int32_t displacement;
	int64_t immediate; /* sign-extended; of relative branches the distance */
};

enum sn_unwind_insn_flow {
	SN_UNWIND_FLOW_NEXT,
	SN_UNWIND_FLOW_BRANCH, /* conditional, relative */
	SN_UNWIND_FLOW_JUMP,   /* relative */
	SN_UNWIND_FLOW_CALL,   /* direct or not */
	SN_UNWIND_FLOW_RETURN,
	SN_UNWIND_FLOW_STOP, /* ud2, hlt, int3, jumps to an address that is computed */
};

/** Decodes what begins at `bytes`. False if it is no instruction. */
bool sn_unwind_insn_decode(const uint8_t *bytes, uint64_t available, struct sn_unwind_insn *out);
enum sn_unwind_insn_flow sn_unwind_insn_flow(const struct sn_unwind_insn *insn);
/** Whether it may read or write memory by an operand or by the stack; false only where it certainly does not. */
bool sn_unwind_insn_may_access(const struct sn_unwind_insn *insn);

#endif
