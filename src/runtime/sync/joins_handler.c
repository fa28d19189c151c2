/*
 * Which thread a join is of. glibc forgets the kernel's number of a thread that has ended, so each leaves its own
 * here. A place is overwritten by whoever ends next with the same hash: what is not found is not known.
 */
#include "runtime/sync/sync.h"

#include <time.h>

enum { ENDED_BITS = 12 };

static struct {
	_Atomic uint64_t thread; /* pthread_t */
	_Atomic uint32_t tid;
} ended[1 << ENDED_BITS];

static uint32_t place_of(uint64_t thread)
{
	return (uint32_t)((thread >> 6) * 0x9e3779b97f4a7c15ULL >> (64 - ENDED_BITS));
}

void sn_sync_note_ended(uint32_t tid)
{
	uint64_t self = (uint64_t)pthread_self();
	uint32_t at = place_of(self);

	/* who reads meanwhile finds nothing */
	atomic_store(&ended[at].thread, 0);
	atomic_store(&ended[at].tid, tid);
	atomic_store(&ended[at].thread, self);
}

static uint32_t ended_tid(uint64_t thread)
{
	uint32_t at = place_of(thread), tid;

	if (atomic_load(&ended[at].thread) != thread)
		return 0;
	tid = atomic_load(&ended[at].tid);
	return atomic_load(&ended[at].thread) == thread ? tid : 0;
}

uint32_t sn_sync_tid_of(uint64_t thread)
{
	clockid_t clock;

	return pthread_getcpuclockid((pthread_t)thread, &clock) == 0 ? (uint32_t) ~(clock >> 3)
								     : ended_tid(thread);
}
