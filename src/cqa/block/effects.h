/** Registers, flags and memory that an instruction reads and writes. */
#ifndef SN_CQA_EFFECTS_H
#define SN_CQA_EFFECTS_H

#include "cqa/block/insn.h"

/** Fills reads, writes, memory operands and immediate of `out` (whose form is set). */
void sn_effects_fill(const struct sn_machine *machine, const ZydisDecodedInstruction *insn,
		     const ZydisDecodedOperand *operands, struct sn_x87_stack *x87,
		     struct sn_insn *out);

#endif
