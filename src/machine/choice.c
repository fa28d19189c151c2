/* Which machine a run's loops are estimated for, and whether the run was on another. */
#include "machine/choice.h"

#include <stdio.h>
#include <string.h>

static void warn_of_other_machine(struct sn_machine_choice *choice, const char *run_model)
{
	char here[256];

	sn_machine_host_model(here, sizeof(here));
	if (here[0] && strcmp(here, run_model) != 0)
		snprintf(choice->warning, sizeof(choice->warning),
			 "the run was on '%.200s' and its analysis on '%s': loops are estimated "
			 "for %s; --arch chooses another",
			 run_model, here, choice->machine->title);
}

sn_status sn_machine_choose(const char *arch, const char *run_model, struct sn_machine_choice *out,
			    struct sn_error *err)
{
	struct sn_machine_choice choice = { 0 };
	sn_status status =
		sn_machine_find(arch ? arch : "native", &choice.machine, &choice.absence);

	if (status != SN_OK && arch)
		return sn_error_set(err, status, "%s", choice.absence.sentence);
	if (status == SN_OK && !arch && run_model && run_model[0])
		warn_of_other_machine(&choice, run_model);
	*out = choice;
	return SN_OK;
}
