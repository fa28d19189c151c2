/*
 * Calls that a signal ends with EINTR even if its handler says SA_RESTART. Where the signal was ours
 * alone the target must not see that: the call goes on with the time that is left.
 */
#include "runtime/calls/calls.h"

#include <errno.h>

#include "runtime/calls/real.h"

static bool is_interrupted_by_us(bool is_eintr)
{
	struct sn_thread *self = sn_self;

	if (!is_eintr || !self || !self->own_eintr)
		return false;
	self->own_eintr = 0;
	return true;
}

static void forget_interruptions(void)
{
	if (sn_self)
		sn_self->own_eintr = 0;
}

static struct timespec until_ns(int64_t end_ns)
{
	int64_t left_ns = end_ns - sn_now_ns();

	if (left_ns < 0)
		left_ns = 0;
	return (struct timespec){ left_ns / 1000000000, left_ns % 1000000000 };
}

static int64_t end_of(const struct timespec *time)
{
	/* far enough for ever, near enough not to overflow */
	int64_t seconds = time->tv_sec > 1000000000 ? 1000000000 : time->tv_sec;

	return sn_now_ns() + seconds * 1000000000 + time->tv_nsec;
}

#define AGAIN(result, first, again)                                                                \
	forget_interruptions();                                                                    \
	result = first;                                                                            \
	while (is_interrupted_by_us(result == -1 && errno == EINTR))                               \
	result = again

SN_EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_POLL, poll, fds, count, timeout_ms);
	int64_t end_ns =
		sn_is_active() && timeout_ms > 0 ? sn_now_ns() + timeout_ms * 1000000LL : 0;
	int result;

	AGAIN(result, REAL_CALL(poll)(fds, count, timeout_ms),
	      REAL_CALL(poll)(fds, count,
			      timeout_ms > 0 ? (int)((end_ns - sn_now_ns()) / 1000000)
					     : timeout_ms));
	sn_call_end(&call, result);
	return result;
}

SN_EXPORT int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_POLL, epoll_wait, fd, events, max, timeout_ms);
	int64_t end_ns =
		sn_is_active() && timeout_ms > 0 ? sn_now_ns() + timeout_ms * 1000000LL : 0;
	int result;

	AGAIN(result, REAL_CALL(epoll_wait)(fd, events, max, timeout_ms),
	      REAL_CALL(epoll_wait)(fd, events, max,
				    timeout_ms > 0 ? (int)((end_ns - sn_now_ns()) / 1000000)
						   : timeout_ms));
	sn_call_end(&call, result);
	return result;
}

/* Linux leaves the time that was left in `timeout`, so the call can simply be made again. */
SN_EXPORT int select(int count, fd_set *reads, fd_set *writes, fd_set *errors,
		     struct timeval *timeout)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_POLL, select, count, reads, writes, errors, timeout);
	int result;

	AGAIN(result, REAL_CALL(select)(count, reads, writes, errors, timeout),
	      REAL_CALL(select)(count, reads, writes, errors, timeout));
	sn_call_end(&call, result);
	return result;
}

/* With a mask of the target's: ours is added, so that our signal waits for the call's end. */
static const sigset_t *with_ours_blocked(const sigset_t *mask, sigset_t *copy)
{
	if (!mask || !sn_is_active())
		return mask;
	*copy = *mask;
	sigaddset(copy, SN_SIGNAL);
	sigaddset(copy, SN_SIGNAL_TRAP);
	return copy;
}

SN_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		    const sigset_t *mask)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_POLL, ppoll, fds, count, timeout, mask);
	int64_t end_ns = sn_is_active() && timeout ? end_of(timeout) : 0;
	struct timespec left;
	sigset_t copy;
	const sigset_t *ours = with_ours_blocked(mask, &copy);
	int result;

	AGAIN(result, REAL_CALL(ppoll)(fds, count, timeout, ours),
	      (left = until_ns(end_ns),
	       REAL_CALL(ppoll)(fds, count, timeout ? &left : NULL, ours)));
	sn_call_end(&call, result);
	return result;
}

SN_EXPORT int pselect(int count, fd_set *reads, fd_set *writes, fd_set *errors,
		      const struct timespec *timeout, const sigset_t *mask)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_POLL, pselect, count, reads, writes, errors, timeout, mask);
	int64_t end_ns = sn_is_active() && timeout ? end_of(timeout) : 0;
	struct timespec left;
	sigset_t copy;
	const sigset_t *ours = with_ours_blocked(mask, &copy);
	int result;

	AGAIN(result, REAL_CALL(pselect)(count, reads, writes, errors, timeout, ours),
	      (left = until_ns(end_ns),
	       REAL_CALL(pselect)(count, reads, writes, errors, timeout ? &left : NULL, ours)));
	sn_call_end(&call, result);
	return result;
}

SN_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout_ms,
			  const sigset_t *mask)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_POLL, epoll_pwait, fd, events, max, timeout_ms, mask);
	int64_t end_ns =
		sn_is_active() && timeout_ms > 0 ? sn_now_ns() + timeout_ms * 1000000LL : 0;
	sigset_t copy;
	const sigset_t *ours = with_ours_blocked(mask, &copy);
	int result;

	AGAIN(result, REAL_CALL(epoll_pwait)(fd, events, max, timeout_ms, ours),
	      REAL_CALL(epoll_pwait)(
		      fd, events, max,
		      timeout_ms > 0 ? (int)((end_ns - sn_now_ns()) / 1000000) : timeout_ms, ours));
	sn_call_end(&call, result);
	return result;
}

SN_EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_SLEEP, nanosleep, time, left);
	int64_t end_ns = sn_is_active() ? end_of(time) : 0;
	struct timespec rest;
	int result;

	AGAIN(result, REAL_CALL(nanosleep)(time, left),
	      (rest = until_ns(end_ns), REAL_CALL(nanosleep)(&rest, left)));
	sn_call_end(&call, result);
	return result;
}

SN_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			      struct timespec *left)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_SLEEP, clock_nanosleep, clock, flags, time, left);
	bool is_relative = !(flags & TIMER_ABSTIME);
	int64_t end_ns = sn_is_active() && is_relative ? end_of(time) : 0;
	struct timespec rest = *time;
	int result;

	forget_interruptions();
	result = REAL_CALL(clock_nanosleep)(clock, flags, time, left);
	while (is_interrupted_by_us(result == EINTR)) {
		if (is_relative)
			rest = until_ns(end_ns);
		result = REAL_CALL(clock_nanosleep)(clock, flags, &rest, left);
	}
	sn_call_end(&call, result);
	return result;
}

SN_EXPORT int usleep(useconds_t time_us)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_SLEEP, usleep, time_us);
	int64_t end_ns = sn_is_active() ? sn_now_ns() + time_us * 1000LL : 0;
	int result;

	AGAIN(result, REAL_CALL(usleep)(time_us),
	      REAL_CALL(usleep)(
		      (useconds_t)(end_ns > sn_now_ns() ? (end_ns - sn_now_ns()) / 1000 : 0)));
	sn_call_end(&call, result);
	return result;
}

SN_EXPORT unsigned sleep(unsigned seconds)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_SLEEP, sleep, seconds);
	int64_t end_ns = sn_is_active() ? sn_now_ns() + seconds * 1000000000LL : 0;
	unsigned left;

	forget_interruptions();
	left = REAL_CALL(sleep)(seconds);
	while (left && is_interrupted_by_us(true)) {
		struct timespec rest = until_ns(end_ns);
		left = REAL_CALL(nanosleep)(&rest, &rest) == 0 ? 0 : (unsigned)rest.tv_sec + 1;
	}
	sn_call_end(&call, left);
	return left;
}

SN_EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
	struct sn_call call;
	SN_CALL_BEGIN(call, SN_WAIT_CONDITION, sem_timedwait, semaphore, until);
	int result;

	AGAIN(result, REAL_CALL(sem_timedwait)(semaphore, until),
	      REAL_CALL(sem_timedwait)(semaphore, until));
	sn_call_end(&call, result);
	return result;
}
