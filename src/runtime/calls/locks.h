/** Locks are libc's own until a second thread is about to be made. */
#ifndef SN_RUNTIME_CALLS_LOCKS_H
#define SN_RUNTIME_CALLS_LOCKS_H

#include "runtime/calls/calls.h"

void sn_locks_leave(void);
void sn_locks_watch(void);
/** Whether pc is in a wrapper that reads no clock: its cost is not counted call by call, but by the
 *  samples that meet it. */
bool sn_locks_hold(uint64_t pc);
/** In a handler: if libc knows of a second thread that was made past us. */
static inline void sn_locks_follow(void)
{
	if (&__libc_single_threaded && !__libc_single_threaded)
		sn_locks_watch();
}
/** `trim` of core/collector.h. */
void sn_locks_trim(struct sn_thread *self, struct sn_frames *frames);

#endif
