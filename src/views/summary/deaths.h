/**
 * Processes of a run that a signal ended, in words.
 */
#ifndef SN_VIEWS_DEATHS_H
#define SN_VIEWS_DEATHS_H

#include <stdint.h>

#include "base/text.h"
#include "views/summary/summary.h"

/** Adds "SIGSEGV (what it mostly means)", or "signal 35"; `is_brief`: the name alone. */
void sn_signal_describe(int32_t number, bool is_brief, struct sn_text *out);
/** Adds a warning for each process that a signal ended, and counts them (death_count); equal deaths
 *  of one program share a sentence. */
void sn_summary_deaths_find(struct sn_summary *summary);

#endif
