/**
 * The performance properties that a command is to use.
 */
#ifndef SN_CLI_PROPERTIES_H
#define SN_CLI_PROPERTIES_H

#include "cli/command.h"
#include "search/properties/library.h"

/** The files that come with sonde, and those of --properties. What is wrong in them is printed to
 * stderr, and counted in `errors`. The caller frees the library. */
sn_status sn_library_of_args(const struct sn_args *args, struct sn_library **out, size_t *errors,
			     struct sn_error *err);

#endif
