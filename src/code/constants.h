/**
 * The constant that a register holds before an instruction, where straight code says so.
 */
#ifndef SN_CODE_CONSTANTS_H
#define SN_CODE_CONSTANTS_H

#include "code/structure.h"

/** A general-purpose register by its number in the encoding. */
enum sn_gpr { SN_GPR_RAX = 0, SN_GPR_RDI = 7 };

/**
 * Whether `gpr` holds one known value before the instruction at link_addr. The code is followed
 * from the function's beginning, and begun anew behind each jump or return. So a value is right or
 * unknown, but for code that jumps between the load and link_addr.
 */
bool sn_constant_before(const struct sn_structure *structure, uint64_t link_addr, enum sn_gpr gpr,
			uint64_t *value);

/** The address of the instruction that ends at end_link_addr, decoded from its function's beginning
 *  on; false if none ends there. */
bool sn_instruction_ends_at(const struct sn_structure *structure, uint64_t end_link_addr,
			    uint64_t *link_addr);

#endif
