/** Finding a command by name; shared by main, help and completion. */
#ifndef SN_CLI_HELP_H
#define SN_CLI_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"

/** NULL if there is none. */
const struct sn_command *sn_command_find(const char *name);
/** Prints the commands of two words that begin with `family`; gives false if there are none. */
bool sn_command_family_print(const char *family, FILE *out);

#endif
