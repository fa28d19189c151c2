/** Entries that are counted up where they lie (wire/entries.h): the time of a piece. */
#ifndef SN_TRACE_ENTRIES_H
#define SN_TRACE_ENTRIES_H

#include "trace/trace.h"
#include "wire/entries.h"

/** The first entry of a piece; NULL: it has none that is sound. */
const struct sn_entry_time *sn_entries_time(const struct sn_trace_item *item);
/** The pair of clocks there; the piece's begin, if there is none: for sn_trace_pieces_open. */
struct sn_trace_instant sn_entries_last_instant(const struct sn_trace_item *item);

#endif
