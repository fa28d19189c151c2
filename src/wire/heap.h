/**
 * Events of the heap in a piece of a trace (wire/trace.h, SN_TRACE_HEAP).
 *
 * An event is a tag, the ticks of the time-stamp counter since the event before, the address as a
 * signed difference from that of the event before, and what its kind adds. Numbers are LEB128, signed
 * ones in zigzag. The first event of a piece counts from its base_tsc and from address 0.
 *
 *   ALLOC, NEW   size in bytes as requested, then the path unless it is that of the one before
 *   FREE         nothing
 *   TIME         no address; CLOCK_MONOTONIC in ns less the piece's base_ns
 *
 * A time is read after an allocation has returned and before a block is freed. So of two blocks at one
 * address, the end of the first comes before the begin of the second, whatever threads they are of.
 */
#ifndef SN_WIRE_HEAP_H
#define SN_WIRE_HEAP_H

#include "wire/trace.h"

enum sn_heap_event {
	SN_HEAP_NONE,
	SN_HEAP_ALLOC, /* malloc, calloc, realloc and their kin */
	SN_HEAP_NEW,   /* operator new */
	SN_HEAP_FREE,
	SN_HEAP_TIME,
	SN_HEAP_EVENTS,
};

enum {
	SN_HEAP_KIND_MASK = 7,
	SN_HEAP_UNALIGNED = 8,	/* the address is no multiple of 16: the difference is in bytes */
	SN_HEAP_SAME_PATH = 16, /* as the allocation before */
	SN_HEAP_EVENT_MAX = 40, /* bytes */
};

/** The difference of two addresses as it is stored, and the flag that goes with it. */
static inline uint64_t sn_heap_difference(uint64_t address, uint64_t before, uint8_t *flag)
{
	*flag = (address | before) & 15 ? SN_HEAP_UNALIGNED : 0;
	return sn_trace_zigzag((int64_t)(address - before) >> (*flag ? 0 : 4));
}

#endif
