/** What the files that rewrite a path's block share (variants.c). */
#ifndef SN_CQA_VARIANT_PARTS_H
#define SN_CQA_VARIANT_PARTS_H

#include "cqa/loop/loop.h"

/** An empty block with room for all instructions of another, which it has the accesses of. */
struct sn_cqa_block sn_variant_block(const struct sn_cqa_block *block, struct sn_arena *arena);

/** Sets cycles and the speed-up, which is at least 1. */
void sn_variant_set(struct sn_cqa_variant *out, double original, double cycles);

/** Adds operations on units to an instruction. */
void sn_variant_add_set(struct sn_insn *insn, uint32_t units, float count);

/** Adds what the machine does for a move of `bytes` (4 to 64) to or from memory, `times` over. */
void sn_variant_add_move(const struct sn_machine *machine, struct sn_insn *insn, unsigned bytes,
			 bool is_store, float times);

/** Units of an insertion of one element (unpack); 0: not known. */
uint32_t sn_variant_shuffle_units(const struct sn_machine *machine);

/** The access of an instruction; NULL: it has none. */
const struct sn_access *sn_variant_access_of(const struct sn_accesses *accesses, size_t insn);

/** The accesses of one pass lie side by side and the next pass goes on where they end: each is one
 * element of an unrolled loop. */
bool sn_variant_is_contiguous(const struct sn_accesses *accesses, const struct sn_access *access);

/** Fills `without_conversions`: conversions between floating-point types cost nothing. */
void sn_cqa_variant_conversions(const struct sn_machine *machine, struct sn_cqa_path *path,
				struct sn_arena *arena);
/** Fills `integer_vectors` of a path without floating-point arithmetic. */
void sn_cqa_variant_integers(const struct sn_machine *machine, struct sn_cqa_path *path,
			     struct sn_arena *arena);

#endif
