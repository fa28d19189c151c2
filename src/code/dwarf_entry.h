/** Debug information entries, which nobody trusts. */
#ifndef SN_CODE_DWARF_ENTRY_H
#define SN_CODE_DWARF_ENTRY_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/** The next entry of a level, in place; offsets grow, or something is wrong. False: there is none. */
static inline bool sn_dwarf_next_entry(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);

	return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

#endif
