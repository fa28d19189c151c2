/**
 * Reuse distances (Mattson and others 1970): how many other things were met since this one was met last.
 *
 * Things are numbered from 0, densely. A marker stands at the time of each thing's last access; the
 * distance is the number of markers behind it (Bennett and Kruskal 1975), by a tree of partial sums (Fenwick
 * 1994) over words of 64 markers. An access takes O(log(things/64)), a near one a few words.
 */
#ifndef SN_CACHES_REUSE_H
#define SN_CACHES_REUSE_H

#include <stddef.h>
#include <stdint.h>

#define SN_REUSE_NEW UINT32_MAX

/** Zeroed, it is empty and ready. */
struct sn_reuse {
	uint32_t *last; /* by thing: time of its last access + 1; 0: none */
	size_t last_room;
	uint32_t *thing_at; /* by time */
	uint64_t *marks;    /* a bit for each time */
	uint32_t *sums;	    /* Fenwick tree over words of `marks`, from 1 */
	uint32_t word_count;
	uint32_t now;  /* the time of the next access */
	uint32_t live; /* markers */
};

/** The thing is met now: its distance, or SN_REUSE_NEW. Fewer than 2^30 things. */
uint32_t sn_reuse_touch(struct sn_reuse *reuse, uint32_t thing);
/** Forgets all accesses, and keeps memory. */
void sn_reuse_clear(struct sn_reuse *reuse);
void sn_reuse_free(struct sn_reuse *reuse);

#endif
