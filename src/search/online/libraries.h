/**
 * The libraries that a program is started with.
 */
#ifndef SN_SEARCH_ONLINE_LIBRARIES_H
#define SN_SEARCH_ONLINE_LIBRARIES_H

#include "base/vec.h"

/** Paths of the files that the loader says it would map for a program, in its order; none for one without a loader. The
 *  program is not run. */
void sn_libraries_list(const char *program, sn_strings *out);
/** The same of what the loader prints. */
void sn_libraries_read(const char *chars, sn_strings *out);

#endif
