/*
 * Opens a perf event with its ring buffer, and takes the kernel's records out of it one by one. A
 * record that wraps around the end of the ring is copied to be whole.
 */
#include "record/outside_ring.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

int sn_ring_open(struct sn_ring *ring, struct perf_event_attr *attr, pid_t tid, unsigned order)
{
	return sn_ring_open_on(ring, attr, tid, -1, order);
}

int sn_ring_open_on(struct sn_ring *ring, struct perf_event_attr *attr, pid_t tid, int cpu,
		    unsigned order)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), bytes = page_bytes << order;
	void *memory;
	int fault;

	*ring = (struct sn_ring){ .fd = -1 };
	attr->size = sizeof(*attr);
	ring->fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return errno;
	memory = mmap(NULL, page_bytes + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (memory == MAP_FAILED) {
		fault = errno;
		close(ring->fd);
		ring->fd = -1;
		return fault;
	}
	ring->page = memory;
	ring->data_bytes = bytes;
	return 0;
}

void sn_ring_close(struct sn_ring *ring)
{
	if (ring->fd < 0)
		return;
	munmap(ring->page, (size_t)(ring->page->data_offset + ring->data_bytes));
	close(ring->fd);
	free(ring->copy);
	*ring = (struct sn_ring){ .fd = -1 };
}

const struct perf_event_header *sn_ring_next(struct sn_ring *ring)
{
	_Atomic uint64_t *shared_head = (_Atomic uint64_t *)&ring->page->data_head;
	_Atomic uint64_t *shared_tail = (_Atomic uint64_t *)&ring->page->data_tail;
	const uint8_t *data = (const uint8_t *)ring->page + ring->page->data_offset;
	const struct perf_event_header *header;
	uint64_t at, first;

	/* What was given out last has been used: the kernel may write there again. */
	atomic_store_explicit(shared_tail, ring->tail, memory_order_release);
	ring->head = atomic_load_explicit(shared_head, memory_order_acquire);
	if (ring->tail + sizeof(*header) > ring->head)
		return NULL;
	at = ring->tail % ring->data_bytes;
	header = (const void *)(data + at); /* records are multiples of 8: a header is never cut */
	if (header->size < sizeof(*header) || ring->tail + header->size > ring->head) {
		ring->tail = ring->head; /* cannot be; but never loop */
		return NULL;
	}
	ring->tail += header->size;
	first = ring->data_bytes - at;
	if (header->size <= first)
		return header;
	if (!ring->copy)
		ring->copy = sn_alloc(UINT16_MAX + 1);
	memcpy(ring->copy, header, first);
	memcpy(ring->copy + first, data, header->size - first);
	return (const void *)ring->copy;
}

void sn_ring_enable(const struct sn_ring *ring, bool is_enabled)
{
	if (ring->fd >= 0)
		ioctl(ring->fd, is_enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

bool sn_ring_count(const struct sn_ring *ring, uint64_t *count, uint64_t *lost)
{
	uint64_t words[2] = { 0 };
	ssize_t got = ring->fd < 0 ? -1 : read(ring->fd, words, sizeof(words));

	if (got < 8)
		return false;
	*count = words[0];
	*lost = got >= 16 ? words[1] : 0;
	return true;
}
