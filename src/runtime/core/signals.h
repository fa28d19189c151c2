/**
 * The target must not see our signal, and must not be able to block or take it. What the target
 * believes about SIGSTKFLT is kept here and in struct sn_thread; what the kernel knows is ours.
 */
#ifndef SN_RUNTIME_CORE_SIGNALS_H
#define SN_RUNTIME_CORE_SIGNALS_H

#include "runtime/core/runtime.h"

typedef void (*sn_signal_handler)(int, siginfo_t *, void *);

/** Start of an image: takes over mask and action as they are, as the target's own. */
void sn_signals_adopt(void);
/** Unblocks our signal for the calling thread, remembering that the target had it blocked. */
void sn_signals_unblock(struct sn_thread *self);
bool sn_signals_install(sn_signal_handler handler);
/** A SIGSTKFLT that the target sent to itself, or somebody to it: does what the target asked. */
void sn_signals_forward(int signal, siginfo_t *info, void *context);
/** Before exec: nothing of ours may be pending or to come. After a failed exec: again. */
void sn_signals_before_exec(struct sn_thread *self);
void sn_signals_after_exec(struct sn_thread *self);

/** rt_sigprocmask as made through syscall(): 64 bits. Returns as syscall() does. */
long sn_signals_raw_mask(int how, const void *set, void *old);

#endif
