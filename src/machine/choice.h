/**
 * The machine that a run's loops are estimated for: the one asked for, else the one that the
 * analysis runs on. The run may have been on another; then there is a warning to show.
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
 * Chooses the machine. `arch` is a name as in --arch, or NULL for this machine. `run_model` is what
 * /proc/cpuinfo called the processor of the run; "" or NULL: unknown. There is no warning if `arch`
 * was named. SN_ERR_USAGE if `arch` is unknown, SN_ERR_UNSUPPORTED if it is "native" and this
 * machine has no model.
 */
sn_status sn_machine_choose(const char *arch, const char *run_model, struct sn_machine_choice *out,
			    struct sn_error *err);

#endif
