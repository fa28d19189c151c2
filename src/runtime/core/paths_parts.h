/** The table of nodes, for the files that make it and use it. */
#ifndef SN_RUNTIME_CORE_PATHS_PARTS_H
#define SN_RUNTIME_CORE_PATHS_PARTS_H

#include "runtime/core/paths.h"

/** Of the process image; wiped on fork. */
struct sn_paths {
	_Atomic uint32_t next_path, node_count;
	_Atomic uint64_t nodes[SN_PATH_NODES]; /* tag | is a site | id */
};
extern struct sn_paths *sn_paths; /* NULL before sn_paths_open */

#endif
