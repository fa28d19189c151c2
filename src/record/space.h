/** What a recording says when data had no more room. */
#ifndef SN_RECORD_SPACE_H
#define SN_RECORD_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "experiment/launch.h"
#include "record/feeder.h"

/** Adds warnings to the launch, when its files are gathered. `has_accesses`: accesses to memory were recorded, which
 * end before all else; `folder` is the one of live data, `file_bytes_most` the limit on file sizes. */
void sn_space_warn(struct sn_launch *launch, const struct sn_feeder *feeder, bool has_accesses,
		   const char *folder, uint64_t file_bytes_most);

#endif
