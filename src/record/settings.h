/** What the launcher tells the runtime (wire/settings.h). */
#ifndef SN_RECORD_SETTINGS_H
#define SN_RECORD_SETTINGS_H

#include "record/record.h"

/** Adds the variable "SONDE_RUNTIME=..."; `folder` is where the data go. `later_ns`: between samples of
 * a thread that is past its beginning; 0: as at the beginning. */
void sn_settings_text(const struct sn_record_options *options, const char *folder,
		      uint64_t later_ns, struct sn_text *text);

#endif
