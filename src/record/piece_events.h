/** How many events a piece of a trace holds, for one that is not kept: what is lost is counted in events. */
#ifndef SN_RECORD_PIECE_EVENTS_H
#define SN_RECORD_PIECE_EVENTS_H

#include "wire/trace.h"

/** What the runtime would have counted as lost (`lost` of the header) had it dropped the events itself. The bytes may be those
 * of a damaged file: events behind the damage are not counted. */
uint64_t sn_piece_events(const struct sn_trace_piece *piece, uint32_t committed_bytes);

#endif
