/** The words of a launcher, such as 'mpirun -n 4', that stand before a program. */
#ifndef SN_CLI_LAUNCHER_H
#define SN_CLI_LAUNCHER_H

#include <wordexp.h>

#include "base/error.h"

/** Splits the words as a shell does; nothing in them is executed. `option` names where they were given. Free
 * them with wordfree. SN_ERR_USAGE. */
sn_status sn_cli_launcher_read(const char *option, const char *words, wordexp_t *out,
			       struct sn_error *err);

#endif
