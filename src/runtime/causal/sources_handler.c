/*
 * Where what a thread waited for came from: from another thread or process of this program, which had paid
 * before it sent it, or from somebody else, whom nobody held up.
 */
#include "runtime/causal/causal.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "runtime/calls/real.h"

enum { LOOKED_AT_MOST = 16 }; /* of the descriptors that are ready at once */

#define PTMX makedev(5, 2) /* Documentation/admin-guide/devices.txt of Linux */

#define IS(name) (call->function == (const void *)sn_calls_real.real_##name)

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage room;
};

static bool are_equal(const void *a, const void *b, size_t bytes)
{
	const uint8_t *x = a, *y = b;

	while (bytes && x[bytes - 1] == y[bytes - 1])
		bytes--;
	return !bytes;
}

static uint32_t port_of(const union address *at)
{
	uint16_t port = at->any.sa_family == AF_INET6 ? at->v6.sin6_port : at->v4.sin_port;

	return (uint32_t)(uint16_t)(port << 8 | port >> 8);
}

/* A connection over TCP whose other end is in a process that is followed, too. Each end notes its port when it first
 * waits there. */
static bool is_to_followed(int fd)
{
	union address own, peer;
	socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
	_Atomic uint64_t *ports = sn_causal_control->ports;

	if (SYS(getsockname, fd, &own, &own_bytes) != 0 ||
	    (own.any.sa_family != AF_INET && own.any.sa_family != AF_INET6))
		return false;
	atomic_fetch_or_explicit(&ports[port_of(&own) / 64], UINT64_C(1) << port_of(&own) % 64,
				 memory_order_relaxed);
	if (SYS(getpeername, fd, &peer, &peer_bytes) != 0 ||
	    own.any.sa_family != peer.any.sa_family ||
	    !(own.any.sa_family == AF_INET
		      ? are_equal(&own.v4.sin_addr, &peer.v4.sin_addr, sizeof own.v4.sin_addr)
		      : are_equal(&own.v6.sin6_addr, &peer.v6.sin6_addr, sizeof own.v6.sin6_addr)))
		return false; /* of another host, or a listening one */
	return atomic_load_explicit(&ports[port_of(&peer) / 64], memory_order_relaxed) >>
		       port_of(&peer) % 64 &
	       1;
}

/* Counters that threads wake each other by; no timers. */
static bool is_eventfd(int fd)
{
	static const char wanted[] = "anon_inode:[eventfd]";
	char path[32] = "/proc/self/fd/", name[sizeof wanted], digits[12];
	int count = 0, at = 14;

	do
		digits[count++] = (char)('0' + fd % 10);
	while ((fd /= 10) > 0);
	while (count)
		path[at++] = digits[--count];
	path[at] = '\0';
	return SYS(readlinkat, AT_FDCWD, path, name, sizeof name) == sizeof wanted - 1 &&
	       are_equal(name, wanted, sizeof wanted - 1);
}

/* A pipe, a socket with a name in the file system or none, a connection within the program, and the end of a pseudo
 * terminal that its maker holds (mpirun has one for what ranks print). What comes over a network, from a disk or from a
 * terminal was held up by nobody. */
bool sn_causal_comes_from_others(int fd)
{
	struct stat about;
	int domain = 0;
	socklen_t bytes = sizeof domain;

	if (fd < 0 || sn_state->is_sealed || SYS(newfstatat, fd, "", &about, AT_EMPTY_PATH) != 0)
		return false;
	if (S_ISFIFO(about.st_mode) || (S_ISCHR(about.st_mode) && about.st_rdev == PTMX))
		return true;
	if (S_ISSOCK(about.st_mode))
		return (SYS(getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 &&
			domain == AF_UNIX) ||
		       is_to_followed(fd);
	return !(about.st_mode & S_IFMT) && is_eventfd(fd);
}

static bool polled(const struct sn_call *call)
{
	const struct pollfd *fds = (const void *)call->words[0];
	int looked_at = 0;

	for (long i = 0; i < call->words[1] && looked_at < LOOKED_AT_MOST; i++)
		if (fds[i].revents) {
			if (sn_causal_comes_from_others(fds[i].fd))
				return true;
			looked_at++;
		}
	return false;
}

/* The kernel does not say of which descriptor an event is; most programs, and libevent, keep it in the event's data.
 * With others nothing is known. */
static bool polled_by_epoll(const struct sn_call *call)
{
	const struct epoll_event *events = (const void *)call->words[1];

	for (long i = 0; i < call->result && i < LOOKED_AT_MOST; i++)
		if (events[i].data.u64 <= INT32_MAX &&
		    sn_causal_comes_from_others(events[i].data.fd))
			return true;
	return false;
}

static bool selected(const struct sn_call *call)
{
	const fd_set *reads = (const void *)call->words[1];
	int looked_at = 0;

	for (int fd = 0; reads && fd < call->words[0] && fd < FD_SETSIZE; fd++)
		if (reads->fds_bits[fd / NFDBITS] >> fd % NFDBITS & 1) {
			if (sn_causal_comes_from_others(fd))
				return true;
			if (++looked_at == LOOKED_AT_MOST)
				break;
		}
	return false;
}

/* One that nobody has waited for yet: its end is what interrupted the call, it seems. */
static bool has_child_ended(void)
{
	siginfo_t about;

	about.si_pid = 0;
	return !sn_state->is_sealed &&
	       SYS(waitid, P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT, NULL) == 0 &&
	       about.si_pid;
}

bool sn_causal_was_poll_answered(const struct sn_call *call)
{
	if (call->result < 0)
		return errno == EINTR && has_child_ended();
	if (call->result == 0)
		return false;
	if (IS(poll) || IS(ppoll))
		return polled(call);
	if (IS(epoll_wait) || IS(epoll_pwait))
		return polled_by_epoll(call);
	return (IS(select) || IS(pselect)) && selected(call);
}
