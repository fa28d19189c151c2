/**
 * Heartbeats that the processes of a run have, by its control page: for who named one that is not there.
 */
#ifndef SN_CAUSAL_BEATS_H
#define SN_CAUSAL_BEATS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "wire/causal.h"

/** Whether a process has one of this name. */
bool sn_causal_beat_is_there(struct sn_causal_control *page, const char *name);

/** Adds the others, nearest to the name first, as "'step', 'save' and 3 more". How many there are; 0: nothing
 *  is added. */
size_t sn_causal_beats_list(struct sn_causal_control *page, const char *name, struct sn_text *out);

#endif
