/** Threads that began before our constructor: how they become ours. */
#ifndef SN_RUNTIME_CORE_ADOPT_H
#define SN_RUNTIME_CORE_ADOPT_H

#include <ucontext.h>

#include "runtime/core/runtime.h"

/** The block of the calling thread if it is one that we wait for; it is awaited no longer. NULL
 *  otherwise. */
struct sn_thread *sn_adopt_find(void);
/** In the handler, for what sn_adopt_find gave: the thread becomes ours when the handler returns.
 */
void sn_adopt_in_signal(struct sn_thread *self, ucontext_t *context);

#endif
