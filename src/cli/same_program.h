/** Whether what is about to run is what an experiment was recorded of: --from of causal, vprof, decan, trace. */
#ifndef SN_CLI_SAME_PROGRAM_H
#define SN_CLI_SAME_PROGRAM_H

#include "base/error.h"
#include "experiment/experiment.h"

/** SN_ERR_USAGE: a program of the experiment has the build-id of another file now. `program` is the first
 * word of the command, `given` the experiment's name for people. */
sn_status sn_cli_check_builds(const struct sn_experiment *experiment, const char *program,
			      const char *given, struct sn_error *err);

/** Likewise, and SN_ERR_USAGE if the command is not called as the experiment's was, and neither runs a file that was
 * loaded in it nor names a program of it in its words (as 'mpirun ./app' does). `words` end with NULL. */
sn_status sn_cli_check_same_program(const struct sn_experiment *experiment, char *const *words,
				    const char *given, struct sn_error *err);

#endif
