/* System calls that the program makes through syscall(). Collectors hear of them as of libc's
 * functions. */
#include "runtime/calls/calls.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "runtime/calls/real.h"
#include "runtime/core/seccomp.h"
#include "runtime/core/signals.h"

/* What is done about a system call by its number: nothing (0), or something of its own, or it is a
 * call that may block, of a kind. */
enum { NUMBERS = 512, OF_ITS_OWN = 1, BLOCKS = 2 };
static const uint8_t care_of[NUMBERS] __asm__("sn_syscall_care_of") __attribute__((used)) = {
	[SYS_prctl] = OF_ITS_OWN,
	[SYS_seccomp] = OF_ITS_OWN,
	[SYS_exit_group] = OF_ITS_OWN,
	[SYS_rt_sigprocmask] = OF_ITS_OWN,
	[SYS_rt_sigaction] = OF_ITS_OWN,
	[SYS_nanosleep] = BLOCKS + SN_WAIT_SLEEP,
	[SYS_clock_nanosleep] = BLOCKS + SN_WAIT_SLEEP,
	[SYS_pause] = BLOCKS + SN_WAIT_SLEEP,
	[SYS_poll] = BLOCKS + SN_WAIT_POLL,
	[SYS_ppoll] = BLOCKS + SN_WAIT_POLL,
	[SYS_select] = BLOCKS + SN_WAIT_POLL,
	[SYS_pselect6] = BLOCKS + SN_WAIT_POLL,
	[SYS_epoll_wait] = BLOCKS + SN_WAIT_POLL,
	[SYS_epoll_pwait] = BLOCKS + SN_WAIT_POLL,
	[SYS_read] = BLOCKS + SN_WAIT_IO,
	[SYS_write] = BLOCKS + SN_WAIT_IO,
	[SYS_readv] = BLOCKS + SN_WAIT_IO,
	[SYS_writev] = BLOCKS + SN_WAIT_IO,
	[SYS_pread64] = BLOCKS + SN_WAIT_IO,
	[SYS_pwrite64] = BLOCKS + SN_WAIT_IO,
	[SYS_recvfrom] = BLOCKS + SN_WAIT_IO,
	[SYS_recvmsg] = BLOCKS + SN_WAIT_IO,
	[SYS_sendto] = BLOCKS + SN_WAIT_IO,
	[SYS_sendmsg] = BLOCKS + SN_WAIT_IO,
	[SYS_accept] = BLOCKS + SN_WAIT_IO,
	[SYS_accept4] = BLOCKS + SN_WAIT_IO,
	[SYS_connect] = BLOCKS + SN_WAIT_IO,
	[SYS_fsync] = BLOCKS + SN_WAIT_IO,
	[SYS_fdatasync] = BLOCKS + SN_WAIT_IO,
	[SYS_flock] = BLOCKS + SN_WAIT_IO,
	[SYS_wait4] = BLOCKS + SN_WAIT_CHILD,
	[SYS_waitid] = BLOCKS + SN_WAIT_CHILD,
	[SYS_futex] = BLOCKS + SN_WAIT_OTHER,
};

/* Six words, whatever the call takes of them. */
typedef long by_number(long number, long a, long b, long c, long d, long e, long f);
static by_number with_care __asm__("sn_syscall_with_care") __attribute__((used));

static long with_care(long number, long a, long b, long c, long d, long e, long f)
{
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
	int kind = (unsigned long)number < NUMBERS ? care_of[number] - BLOCKS : -1;
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

/* Most calls need no care: then this is a look into a table and a jump, and what it takes is counted by
 * samples (sn_locks_hold). The stack is left alone: where a word of the call should be, one of the
 * caller's variables may be that another thread writes. */
void plain_syscall(void) __asm__("syscall") __attribute__((naked));

SN_EXPORT void plain_syscall(void)
{
	__asm__("cmp %[last], %%rdi\n\t"
		"ja 1f\n\t"
		"lea sn_syscall_care_of(%%rip), %%r11\n\t"
		"cmpb $0, (%%r11, %%rdi)\n\t"
		"jne sn_syscall_with_care\n"
		"1:\tmov sn_calls_real+%c[real](%%rip), %%r11\n\t"
		"test %%r11, %%r11\n\t"
		"jz sn_syscall_with_care\n\t"
		"jmp *%%r11"
		:
		: [last] "i"(NUMBERS - 1), [real] "i"(__builtin_offsetof(struct sn_calls_real,
									 real_syscall)));
}
