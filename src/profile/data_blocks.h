/** Names of blocks of the heap, for people. */
#ifndef SN_PROFILE_DATA_BLOCKS_H
#define SN_PROFILE_DATA_BLOCKS_H

#include "profile/data_objects.h"
#include "profile/program.h"

/**
 * "unew (setup, solve.f90:41)": the variable that holds what an allocation returned (code/held.h), and the site that allocated
 * (profile/site.h); "setup (solve.f90:41)" where no variable is known. `stack` is that of the call. In the arena.
 */
const char *sn_data_block_name(struct sn_data_objects *objects, const struct sn_program *program,
			       uint32_t stack, struct sn_arena *arena);

#endif
