/**
 * A perf event on one thread with its ring buffer (perf_event_open(2), section "MMAP layout").
 */
#ifndef SN_RECORD_OUTSIDE_RING_H
#define SN_RECORD_OUTSIDE_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** Closed: fd < 0. */
struct sn_ring {
	int fd;
	struct perf_event_mmap_page *page;
	uint64_t data_bytes, head, tail;
	uint8_t *copy; /* of the record that lies across the end */
};

/** Opens the event for one thread with 2^order pages of data. Returns 0 or the errno. */
int sn_ring_open(struct sn_ring *ring, struct perf_event_attr *attr, pid_t tid, unsigned order);
/** The same, on one CPU (-1: all); `tid` -1: for all that run there. */
int sn_ring_open_on(struct sn_ring *ring, struct perf_event_attr *attr, pid_t tid, int cpu,
		    unsigned order);
void sn_ring_close(struct sn_ring *ring);

/** The next record, in one piece; NULL: no more for now. Valid until the next call. */
const struct perf_event_header *sn_ring_next(struct sn_ring *ring);

/** Lets the event count and sample, or stops both. */
void sn_ring_enable(const struct sn_ring *ring, bool is_enabled);

/** The event's count, and the records that its ring could not take (0 if the kernel is older than
 *  6.0). False: it cannot be read. */
bool sn_ring_count(const struct sn_ring *ring, uint64_t *count, uint64_t *lost);

#endif
