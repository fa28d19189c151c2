/** Threads that began before our constructor, and how they come to be measured. */
#ifndef SN_RUNTIME_CORE_ADOPT_H
#define SN_RUNTIME_CORE_ADOPT_H

#include <ucontext.h>

#include "runtime/core/runtime.h"

/** Whether the thread is still in libc's own code, with all signals blocked. */
bool sn_adopt_is_starting(int32_t tid);
/** Opens the events of an awaited thread, which the caller holds busy, unless it blocks our
 *  signals. */
void sn_adopt_open(struct sn_thread *thread);
/** To be called now and then: opens events for threads that had none yet, since they blocked our
 * signals. */
void sn_adopt_look_again(void);
/** The block of the calling thread if it is one that we wait for, entered (sn_leave ends that); it
 *  is awaited no longer. NULL otherwise. */
struct sn_thread *sn_adopt_find(void);
/** Called in the handler with the block that sn_adopt_find gave: the thread becomes ours when the
 * handler returns. */
void sn_adopt_in_signal(struct sn_thread *self, ucontext_t *context);

#endif
