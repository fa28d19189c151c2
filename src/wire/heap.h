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

/* ---- sums: SN_TRACE_HEAP_SUMS ---- */

/**
 * Pieces of sums have a head, then entries that are counted up where they lie, from the process's begin to
 * its end. One thread's entry of a path, or that of several: a reader adds up. Who releases a block counts it
 * in an entry of the block's path.
 *
 * The peak is met as it comes: `peak_number` of the first head counts new ones, and an entry that is about to
 * change for the first time since the newest keeps in `at_peak` what it held. One with another number has
 * not changed since that peak.
 */
struct sn_heap_head {
	uint32_t mode; /* enum sn_heap_mode in the process's first piece, 0 in others */
	_Atomic uint32_t peak_number;
	uint64_t interval_bytes;	/* SAMPLE: of allocated bytes one in so many is met */
	_Atomic uint64_t unknown_frees; /* AGGREGATE */
	_Atomic int64_t peak_ns;	/* CLOCK_MONOTONIC of the newest peak; 0: none */
	_Atomic uint64_t last_tsc;	/* with last_ns: a late pair of clocks */
	_Atomic int64_t last_ns;
	uint64_t unused[2];
};

struct sn_heap_entry {
	uint32_t path;
	uint32_t is_new; /* operator new */
	_Atomic uint64_t allocations, bytes, frees, freed_bytes, temporary;
	_Atomic int64_t at_peak;
	_Atomic uint32_t peak; /* at_peak is of this one */
	uint32_t unused;
};

enum {
	SN_HEAP_ENTRY_BYTES = 64,
	SN_HEAP_ENTRIES =
		(SN_TRACE_SLOT_BYTES - sizeof(struct sn_trace_piece)) / SN_HEAP_ENTRY_BYTES - 1,
};

_Static_assert(sizeof(struct sn_heap_head) == SN_HEAP_ENTRY_BYTES,
	       "the head takes an entry's place");
_Static_assert(sizeof(struct sn_heap_entry) == SN_HEAP_ENTRY_BYTES, "entries");

/** The difference of two addresses as it is stored, and the flag that goes with it. */
static inline uint64_t sn_heap_difference(uint64_t address, uint64_t before, uint8_t *flag)
{
	*flag = (address | before) & 15 ? SN_HEAP_UNALIGNED : 0;
	return sn_trace_zigzag((int64_t)(address - before) >> (*flag ? 0 : 4));
}

#endif
