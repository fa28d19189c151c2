/* sonde version: prints the number of this release. */
#include "cli/command.h"

static int version_run(const struct sn_args *args)
{
	(void)args;
	puts("sonde " SN_VERSION);
	return SN_EXIT_OK;
}

static const struct sn_option version_options[] = { { 0 } };

const struct sn_command sn_command_version = {
	.name = "version",
	.operands = "",
	.summary = "Prints the version",
	.description = "Prints the version of sonde.",
	.options = version_options,
	.run = version_run,
};
