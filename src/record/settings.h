/** What the launcher tells the runtime (wire/settings.h). */
#ifndef SN_RECORD_SETTINGS_H
#define SN_RECORD_SETTINGS_H

#include "record/record.h"

/** Adds the variable "SONDE_RUNTIME=..."; `folder` is where the data go. */
void sn_settings_text(const struct sn_record_options *options, const char *folder,
		      struct sn_text *text);

#endif
