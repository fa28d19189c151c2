/**
 * The collector of waits: calls that may block and did for long enough (settings.wait_min_ns) are
 * recorded with their stack.
 *
 * A kind of wait that was long the last time (in this thread) is written with its stack before it
 * begins. So a process that is killed meanwhile shows where it stood. The stack costs the same then
 * as afterwards.
 */
#ifndef SN_RUNTIME_SYNC_WAITS_H
#define SN_RUNTIME_SYNC_WAITS_H

#include "runtime/core/collector.h"

extern struct sn_collector sn_waits_collector;

/** Ticks of the time-stamp counter as ns, by the whole run so far. */
int64_t sn_waits_ns_of_ticks(uint64_t ticks, int64_t now_ns);

#endif
