/**
 * How much of .debug_info a few functions need. Units stand in the order of linking, and what programs spend time
 * in is mostly in the first half of the C library's. Of this folder only.
 */
#ifndef SN_CODE_INFO_PREFIX_H
#define SN_CODE_INFO_PREFIX_H

#include <stddef.h>
#include <stdint.h>

/** How many bytes of .debug_info hold the units of all `count` addresses (sorted), by the table that `aranges` is
 * (.debug_aranges, DWARF 5, section 6.1.2). 0: all of them, or that cannot be told. */
size_t sn_info_prefix(const uint8_t *aranges, size_t length, const uint64_t *link_addrs,
		      size_t count);

#endif
