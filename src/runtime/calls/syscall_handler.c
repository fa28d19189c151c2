/* System calls that the program makes through syscall(). Collectors hear of them as of libc's
 * functions. */
#include "runtime/calls/calls.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "runtime/calls/real.h"
#include "runtime/core/seccomp.h"
#include "runtime/core/signals.h"

/* What a system call made through syscall() waits for; -1: it does not, or not for long. */
static int kind_of_call(long number)
{
	switch (number) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_pause:
		return SN_WAIT_SLEEP;
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return SN_WAIT_POLL;
	case SYS_read:
	case SYS_write:
	case SYS_readv:
	case SYS_writev:
	case SYS_pread64:
	case SYS_pwrite64:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_flock:
		return SN_WAIT_IO;
	case SYS_wait4:
	case SYS_waitid:
		return SN_WAIT_CHILD;
	case SYS_futex:
		return SN_WAIT_OTHER;
	default:
		return -1;
	}
}

SN_EXPORT long syscall(long number, ...)
{
	va_list arguments;
	va_start(arguments, number);
	long a = va_arg(arguments, long), b = va_arg(arguments, long), c = va_arg(arguments, long),
	     d = va_arg(arguments, long), e = va_arg(arguments, long), f = va_arg(arguments, long);
	va_end(arguments);

	if (!sn_is_active())
		return REAL_CALL(syscall)(number, a, b, c, d, e, f);
	if (number == SYS_prctl && (a == PR_SET_SECCOMP || a == PR_SET_TSC))
		return prctl((int)a, b, c, d, e);
	if (number == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT && !b && !c)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	if (number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER) {
		bool was_sealed = sn_state->is_sealed;
		sn_seccomp_prepare((const struct sock_fprog *)c);
		long result = REAL_CALL(syscall)(number, a, b, c, d, e, f);
		if (!was_sealed)
			sn_seccomp_conclude(result == 0 ||
					    (result > 0 && b & SECCOMP_FILTER_FLAG_NEW_LISTENER));
		return result;
	}
	if (number == SYS_exit_group)
		sn_finish(SN_DATA_EXITED, (int)a & 0xff);
	if (number == SYS_rt_sigprocmask && d == 8 && sn_self)
		return sn_signals_raw_mask((int)a, (const void *)b, (void *)c);
	if (number == SYS_rt_sigaction && d == 8)
		return sn_signals_raw_action((int)a, (const void *)b, (void *)c);
	int kind = kind_of_call(number);
	if (kind < 0)
		return REAL_CALL(syscall)(number, a, b, c, d, e, f);
	struct sn_call call;
	SN_CALL_BEGIN(call, (unsigned)kind, syscall, number, a, b, c, d, e, f);
	if (sn_self)
		sn_self->own_eintr = 0;
	long result = REAL_CALL(syscall)(number, a, b, c, d, e, f);
	sn_call_end(&call, result);
	return result;
}
