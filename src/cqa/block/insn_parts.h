/**
 * What insn.c (an instruction by itself) and insn_block.c (among its neighbours) share.
 */
#ifndef SN_CQA_INSN_PARTS_H
#define SN_CQA_INSN_PARTS_H

#include "cqa/block/insn.h"

/** insn.c: takes `count` operations from those that may go to just these units, if there are such.
 * The set is removed when (nearly) nothing is left in it. */
void sn_insn_remove_uops(struct sn_insn *insn, uint32_t units, float count);

/** insn.c: the cycles that a load into a part of a register takes to join the rest. 0: it writes all
 * of the register. */
float sn_insn_merging_cycles(const struct sn_rules *rules, const struct sn_insn *insn);

#endif
