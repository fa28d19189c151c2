/*
 * Breakpoints by code that a plan has put into the program. The vector registers are the program's, so this file is compiled for general
 * registers only; what is told may use them, so it is told by a signal, at whose handler the kernel keeps all.
 */
#include "runtime/core/breakpoints.h"

_Atomic uint32_t sn_breakpoint_of_code[SN_BREAKPOINTS_MAX];
_Atomic uint32_t sn_breakpoint_code_every[SN_BREAKPOINTS_MAX];

void sn_breakpoint_by_code(uint32_t number)
{
	uint32_t which = atomic_load_explicit(&sn_breakpoint_of_code[number % SN_BREAKPOINTS_MAX],
					      memory_order_relaxed);
	siginfo_t info;

	if (!which || !sn_self || sn_state->is_sealed || !sn_is_active())
		return;
	if (++sn_self->breakpoints[(which - 1) % SN_BREAKPOINTS_MAX].passed <
	    atomic_load_explicit(&sn_breakpoint_code_every[number % SN_BREAKPOINTS_MAX],
				 memory_order_relaxed))
		return;
	info.si_signo = SIGTRAP;
	info.si_errno = 0;
	info.si_code = SI_QUEUE;
	info.si_pid = (pid_t)SYS(getpid);
	info.si_uid = 0;
	info.si_value.sival_ptr = (void *)(SN_BREAKPOINT_COOKIE | (which - 1));
	SYS(rt_tgsigqueueinfo, info.si_pid, sn_self->tid, SIGTRAP, &info);
}
