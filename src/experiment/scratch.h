/**
 * Private folders for the length of a command: removed when it ends, by a signal, too.
 */
#ifndef SN_EXPERIMENT_SCRATCH_H
#define SN_EXPERIMENT_SCRATCH_H

#include "base/error.h"
#include "base/text.h"

/** Makes an empty folder that only this user can look into, in $TMPDIR or /tmp. A process of its own
 * removes it as soon as this one is gone, so a SIGKILL does not leave it either. */
sn_status sn_scratch_folder(struct sn_text *out, struct sn_error *err);
/** The same in `place`, if no scratch was made before; NULL: in $TMPDIR or /tmp. */
sn_status sn_scratch_folder_in(const char *place, struct sn_text *out, struct sn_error *err);
/** Removes one at once. */
void sn_scratch_remove(const char *folder);

#endif
