/**
 * The machine that a run's loops are estimated for: the one asked for, else the one that the
 * analysis itself runs on. The run may have been on another; then there is a warning to show.
 */
#ifndef SN_MACHINE_CHOICE_H
#define SN_MACHINE_CHOICE_H

#include "machine/machine.h"

struct sn_machine_choice {
	const struct sn_machine *machine; /* NULL: this processor has no model */
	struct sn_error absence;	  /* why it is NULL */
	char warning[768];		  /* a sentence; "": nothing to warn of */
};

/**
 * `arch` is a name as in --arch, or NULL for the machine that we stand on. `run_model` is what
 * /proc/cpuinfo called the processor of the run; "" or NULL: unknown. Who names a machine knows of
 * it, so there is no warning then. Fails with SN_ERR_USAGE if `arch` is unknown, and with
 * SN_ERR_UNSUPPORTED if it is "native" and has no model.
 */
sn_status sn_machine_choose(const char *arch, const char *run_model, struct sn_machine_choice *out,
			    struct sn_error *err);

#endif
