/**
 * Entries of 64 bytes in a piece of a trace, for what is counted up where it lies: locks (wire/sync.h),
 * input and output (wire/io.h). The first of a piece is a time. A thread counts in its own piece; an
 * entry that it cannot find again it begins anew, and readers add up.
 */
#ifndef SN_WIRE_ENTRIES_H
#define SN_WIRE_ENTRIES_H

#include "wire/trace.h"

enum {
	SN_ENTRY_BYTES = 64,
	SN_ENTRY_NONE = 0, /* of every kind: was taken back */
	SN_ENTRY_TIME = 1, /* of every kind: struct sn_entry_time */
};

/** The time-stamp counter and CLOCK_MONOTONIC at one moment, kept up to date. */
struct sn_entry_time {
	_Atomic uint8_t type;
	uint8_t unused[7];
	uint64_t unused_words[3];
	uint64_t tsc, ns;
	uint64_t unused_word;
	uint32_t tid;	  /* of the thread; 0: none of ours */
	uint32_t creator; /* index of the thread that made it */
};

_Static_assert(sizeof(struct sn_entry_time) == SN_ENTRY_BYTES, "an entry is a line of the cache");

#endif
