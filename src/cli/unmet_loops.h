/** Loops that are named and that no sample met: they are looked for in the files of the program. */
#ifndef SN_CLI_UNMET_LOOPS_H
#define SN_CLI_UNMET_LOOPS_H

#include "profile/profile.h"
#include "whatif/plans.h"

/** Adds to `out` the loops that a name with a colon means ("file:line", a label, an id) in the program's
 * file and the modules that samples met. Of loops around a line the innermost ones, with all copies of them. `met` is the
 * sampled loop that the name means (SN_NONE: none); where it is as near to the line, nothing is added. Whether any was. */
bool sn_cli_unmet_loops_find(const struct sn_profile *profile, const char *name, uint32_t met,
			     struct sn_unmet_loops *out);

#endif
