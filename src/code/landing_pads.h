/**
 * Landing pads: where control goes when a call in a guarded piece of code throws.
 */
#ifndef SN_CODE_LANDING_PADS_H
#define SN_CODE_LANDING_PADS_H

#include "base/vec.h"
#include "code/image.h"
#include "code/structure.h"

/** Calls in [first, end) may continue at the pad. */
struct sn_landing_pad {
	uint64_t first_link_addr, end_link_addr, pad_link_addr;
};

struct sn_landing_pads {
	struct sn_landing_pad *items;
	size_t count, capacity;
};

/** Adds those of the FDEs that begin in these ranges, in the order of the tables (Itanium C++ ABI,
 * exception handling tables: the call-site table of the language-specific data area). What is
 * damaged is left out. */
void sn_landing_pads_read(const struct sn_image *image, const struct sn_range *ranges, size_t count,
			  struct sn_landing_pads *pads);

#endif
