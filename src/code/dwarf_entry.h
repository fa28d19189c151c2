/** Debug information entries, which nobody trusts. */
#ifndef SN_CODE_DWARF_ENTRY_H
#define SN_CODE_DWARF_ENTRY_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/** The next entry of a level, in place; offsets grow, or something is wrong. False: there is none. */
static inline bool sn_dwarf_next_entry(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);

	return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

/** The constant link address of a variable, of a COMMON block's member with its offset. False: it has none, or the linker dropped
 *  it. In variables.c. */
bool sn_dwarf_address_of(Dwarf_Die *die, uint64_t *out);

#endif
