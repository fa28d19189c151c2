/**
 * x86-64 instructions: length and control flow, fast; and text for people.
 *
 * For operands use Zydis itself with sn_decoder(). Nothing here allocates; all is thread-safe.
 */
#ifndef SN_CODE_DECODE_H
#define SN_CODE_DECODE_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum sn_flow {
	SN_FLOW_NEXT,	/* goes on behind itself */
	SN_FLOW_BRANCH, /* conditional direct jump (jcc, jrcxz, loop, xbegin) */
	SN_FLOW_JUMP,	/* direct */
	SN_FLOW_JUMP_INDIRECT,
	SN_FLOW_CALL, /* direct */
	SN_FLOW_CALL_INDIRECT,
	SN_FLOW_RETURN, /* ret, iret, sysret */
	SN_FLOW_STOP,	/* ud2, ud0, ud1, hlt, int3: control does not come to what follows */
};

struct sn_instruction {
	uint64_t target_link_addr; /* of direct jumps and calls, else 0 */
	uint16_t mnemonic;	   /* ZydisMnemonic */
	uint8_t length;
	uint8_t flow;	 /* enum sn_flow */
	bool is_padding; /* nop, int3, xchg ax,ax: fills up to the next alignment */
};

/** Decodes one instruction of long mode. 0 if the bytes are none or are cut short, else its length.
 */
unsigned sn_instruction_decode(const uint8_t *bytes, size_t available, uint64_t link_addr,
			       struct sn_instruction *out);

/** The number of the general register that a register is part of (rax 0, rcx 1, ... r15 15), or -1
 * for any other and for none. */
int sn_gpr_number(ZydisRegister reg);

/** The shared decoder: long mode, operands decoded. */
const ZydisDecoder *sn_decoder(void);

enum sn_syntax { SN_SYNTAX_INTEL, SN_SYNTAX_ATT };
/** Adds one instruction as text ("vfmadd231pd ymm0, ymm1, [rax+rcx*8]"); returns its length, or 0
 * with
 *  "(bad)" added. `name_of` (may be NULL) gives the name for a branch or rip-relative target. */
unsigned sn_instruction_format(struct sn_text *out, enum sn_syntax syntax, const uint8_t *bytes,
			       size_t available, uint64_t link_addr,
			       const char *(*name_of)(void *context, uint64_t link_addr,
						      uint64_t *offset),
			       void *context);

#endif
