/** What a compiler was not asked to do. */
#ifndef SN_REPORT_OPTIONS_H
#define SN_REPORT_OPTIONS_H

#include "base/arena.h"

/**
 * Useful options that neither the producer (DW_AT_producer; gcc's has its options) nor the command
 * line (.GCC.command.line; NULL: none) shows: "-O2 or higher, -march=...". NULL if nothing is
 * missing, or if nothing can be told: clang's producer has no options.
 */
const char *sn_options_missing(struct sn_arena *arena, const char *producer,
			       const char *command_line);

#endif
