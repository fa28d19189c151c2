/**
 * Extensions of the instruction set that code needs and a machine lacks.
 */
#ifndef SN_CQA_EXTENSIONS_H
#define SN_CQA_EXTENSIONS_H

#include <Zydis/Zydis.h>

#include "base/text.h"
#include "machine/machine.h"

/** The extension that the instruction belongs to, as a bit, if the machine lacks it; else 0. */
unsigned sn_cqa_lacked_by(const struct sn_machine *machine, const ZydisDecodedInstruction *insn);

/** Adds the names of such bits: "AVX512-VNNI, AVX-512". */
void sn_cqa_lacked_names(unsigned lacked, struct sn_text *out);

#endif
