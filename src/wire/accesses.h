/**
 * Memory accesses of loop instances that a trace recorded.
 */
#ifndef SN_WIRE_ACCESSES_H
#define SN_WIRE_ACCESSES_H

/** What an instruction does at an address: bits. */
enum sn_access_kind {
	SN_ACCESS_READ = 1,
	SN_ACCESS_WRITE = 2,
	SN_ACCESS_BOTH = 3, /* reads, then writes the same bytes */
};

#endif
