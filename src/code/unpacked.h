/**
 * Debug information whose sections are packed (zlib, zstd), unpacked once and kept in the cache. Of
 * this folder only.
 */
#ifndef SN_CODE_UNPACKED_H
#define SN_CODE_UNPACKED_H

#include <stdbool.h>

#include "base/file.h"
#include "code/elf_view.h"

/** A file that is made for a few functions, and not kept. */
struct sn_unpacked_part {
	const uint64_t *link_addrs; /* sorted */
	size_t count;		    /* 0: make it whole */
	bool is_part; /* set: .debug_info ends behind the units that have all of these */
};

/** An ELF file that has the sections of `elf` from which lines and inlined subroutines are read, none
 * packed. It is taken from `folder` if it stands there whole, under the module's `id`, and was made in
 * the same `state` (a hash of what tells the file behind `elf` from others: path, size, time). Else it is made,
 * and kept there if that can be written, unless `part` is given. False if nothing is packed, or it cannot be
 * unpacked: read `elf` itself then. The caller unmaps. */
bool sn_unpacked_open(const struct sn_elf_view *elf, uint64_t state, const char *folder,
		      const char *id, struct sn_unpacked_part *part, struct sn_file_view *out);

#endif
