/**
 * How sure the blocked time of each wait is.
 */
#ifndef SN_SEARCH_EVIDENCE_WAIT_ERRORS_H
#define SN_SEARCH_EVIDENCE_WAIT_ERRORS_H

#include "search/evidence/recorded.h"

/**
 * Half the width of the 95 % interval of what each wait of the run blocked its thread, in seconds, by wait. Made of three
 * things: the clock is read a little outside the time blocked; what a thread's waits were cut down by is known of all of them
 * together; and of what a process recorded some may have been lost. Squares are added up over any of a thread's waits. The
 * caller frees.
 */
double *sn_wait_errors(const struct sn_recorded *recorded);

#endif
