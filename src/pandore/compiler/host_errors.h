/**
 * Findings made from what the C compiler and the linker say about the host's part, where they found
 * what a user of Pandore gets wrong: a call of a function that does not exist.
 */
#ifndef SN_PANDORE_COMPILER_HOST_ERRORS_H
#define SN_PANDORE_COMPILER_HOST_ERRORS_H

#include "pandore/compiler/diag.h"

/**
 * Adds a P12 for each undefined reference in `said` whose place in the source is found. `phases`
 * are the names of the program's phases, for "did you mean". True if that explains every error
 * there, so that nothing of `said` need be shown.
 */
bool sn_pnd_explain_host_errors(struct sn_pnd_diags *diags, const char *said,
				const char *const *phases, size_t phase_count);

#endif
