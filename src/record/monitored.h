/** Files that an agent steers processes by (wire/monitor.h), in the live folder. */
#ifndef SN_RECORD_MONITORED_H
#define SN_RECORD_MONITORED_H

#include "record/record.h"

/** Takes them away when the run is over, if the options say that there was an agent. */
void sn_monitored_remove(const struct sn_record_options *options, const char *live_folder);

/** Says why a program that is linked statically has no phases to measure. */
sn_status sn_monitored_refuse(const char *program, struct sn_error *err);

#endif
