/** Signals by which somebody asks this command for an end. */
#ifndef SN_RECORD_TOLD_H
#define SN_RECORD_TOLD_H

#include <stdbool.h>

/** SIGINT, SIGTERM, SIGHUP, SIGQUIT. */
bool sn_is_ender(int number);

/** Whether such a signal came and waits, blocked since a recording (it stays). For who records several
 *  times. */
bool sn_is_told_to_end(void);

#endif
