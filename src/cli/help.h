/** Finding a command by name; shared by main, help and completion. */
#ifndef SN_CLI_HELP_H
#define SN_CLI_HELP_H

#include "cli/command.h"

/** NULL if there is none. */
const struct sn_command *sn_command_find(const char *name);

#endif
