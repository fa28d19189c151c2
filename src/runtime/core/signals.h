/**
 * The target must not see our signal, and must not be able to block or take it. What the target
 * believes about SIGSTKFLT is kept here and in struct sn_thread; what the kernel knows is ours.
 */
#ifndef SN_RUNTIME_CORE_SIGNALS_H
#define SN_RUNTIME_CORE_SIGNALS_H

#include <ucontext.h>

#include "runtime/core/runtime.h"

typedef void (*sn_signal_handler)(int, siginfo_t *, void *);

/** What the perf event that sent this SIGTRAP carries (attr.sig_data); 0: no event sent it. si_perf_data
 *  follows si_addr; headers of older C libraries do not name it. */
static inline uint64_t sn_trap_data(const siginfo_t *info)
{
	enum { PERF_TRAP = 6, DATA_OFFSET = 24 };
	uint64_t data;

	__builtin_memcpy(&data, (const uint8_t *)info + DATA_OFFSET, sizeof data);
	return info->si_code == PERF_TRAP ? data : 0;
}

/** Start of an image: takes over mask and action as they are, as the target's own. */
void sn_signals_adopt(void);
/** Unblocks our signal for the calling thread, remembering that the target had it blocked. */
void sn_signals_unblock(struct sn_thread *self);
bool sn_signals_install(sn_signal_handler handler);
/** A SIGSTKFLT that the target sent to itself, or somebody to it: does what the target asked. */
void sn_signals_forward(int signal, siginfo_t *info, void *context);
/** To be called before exec, when no signal of ours is to come: none may be pending. Also after a
 * failed exec: the handler is installed again. */
void sn_signals_before_exec(struct sn_thread *self);
void sn_signals_after_exec(struct sn_thread *self);

/** The target has, or may have, alternate stacks of its own: SA_ONSTACK is what it says from here
 * on.
 */
void sn_altstacks_are_used(void);

/* Handlers on alternate stacks, and these stacks: core/on_stack_handler.c */
/** Puts what makes the handler of `action` (SA_ONSTACK) one that can be sampled in its place. */
void sn_on_stack_wrap(int signal, struct sigaction *action);
/** Changes an action back to what the target installed. */
void sn_on_stack_describe(int signal, struct sigaction *action);
sighandler_t sn_on_stack_handler_of(int signal, sighandler_t handler);
/** Whether the caller runs on the target's own alternate stack. */
bool sn_altstack_is_in_use(const struct sn_thread *self);
stack_t sn_altstack_of_target(const struct sn_thread *self);
/** Called in a handler. If the target has left a handler of its own by longjmp, the kernel still
 * has our stack; it gets the target's again. */
void sn_altstack_repair(struct sn_thread *self, void *interrupted);

/* Faults that may be ours: core/faults_handler.c */
/** Set-up. From here on they come to us, and go on to the target if no collector takes them. Gives the
 * handler; a program that makes system calls itself can still take it away. NULL: they cannot be
 * had. */
void *sn_faults_guard(void);
/** Puts ours in the place of the target's handler, if the signal is such a fault. */
void sn_faults_wrap(int signal, struct sigaction *action);
void sn_faults_describe(int signal, struct sigaction *action);
bool sn_faults_are_wrapped(int signal);
/** What the target ignores stays ignored in the new program. */
void sn_faults_before_exec(void);

/** In a handler of ours: whether it has interrupted a system call. */
bool sn_signals_met_call(const ucontext_t *context);
/** Likewise: a call that is about to fail because of our signal alone is made again by its wrapper. */
void sn_signals_note_call(struct sn_thread *self, const ucontext_t *context);
/** Likewise: runs function(a, context) on the thread's own stack for handlers. */
void sn_signals_run(struct sn_thread *self, void (*function)(void *, void *), void *a,
		    void *context);

/** Runs function(a, b) with rsp at `top` (16-byte aligned). */
void sn_call_on_stack(void (*function)(void *, void *), void *a, void *b, void *top);

/** rt_sigprocmask as made through syscall(): 64 bits. Returns as syscall() does. */
long sn_signals_raw_mask(int how, const void *set, void *old);
/** rt_sigaction likewise, with the kernel's structures: what the target asks for our two signals is
 * kept, and the kernel is not told. */
long sn_signals_raw_action(int signal, const void *action, void *old);

#endif
