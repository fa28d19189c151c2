/*
 * Answers scrapers over HTTP on a UNIX socket or on the loopback interface, in a thread of its
 * own.
 */
#include "runtime/heartbeat/publishers/openmetrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A server for one client at a time, each with two seconds: a scraper asks once in many seconds. */

enum { CLIENT_MS = 2000, REQUEST_MAX = 8192 };

static struct {
	int listener, stopper; /* 0: none (descriptor 0 is the application's) */
	pthread_t thread;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* of the socket; empty: TCP */
	char why[256];
} server;

static const char *fail(const char *what, const char *about)
{
	snprintf(server.why, sizeof(server.why), "cannot %s %.150s: %s", what, about,
		 strerror(errno));
	return server.why;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for the client until its time is over, or until we are asked to stop. */
static bool is_ready(int client, short events, int64_t until_ms)
{
	struct pollfd both[2] = { { .fd = client, .events = events },
				  { .fd = server.stopper, .events = POLLIN } };
	int64_t left = until_ms - now_ms();

	return left > 0 && poll(both, 2, (int)left) > 0 && !both[1].revents && both[0].revents;
}

static bool read_request(int client, char *request, int64_t until_ms)
{
	size_t length = 0;

	while (length < REQUEST_MAX - 1 && is_ready(client, POLLIN, until_ms)) {
		ssize_t n = recv(client, request + length, REQUEST_MAX - 1 - length, MSG_DONTWAIT);

		if (n <= 0)
			return false;
		length += (size_t)n;
		request[length] = 0;
		if (strstr(request, "\r\n\r\n") || strstr(request, "\n\n"))
			return true;
	}
	return false;
}

static void send_all(int client, const char *chars, size_t length, int64_t until_ms)
{
	while (length && is_ready(client, POLLOUT, until_ms)) {
		ssize_t n = send(client, chars, length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0 && errno != EAGAIN)
			return;
		if (n > 0) {
			chars += n;
			length -= (size_t)n;
		}
	}
}

static void respond(int client, const char *status, const char *type, const char *body,
		    size_t length, bool is_head, int64_t until_ms)
{
	char head[256];
	int head_length = snprintf(head, sizeof(head),
				   "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
				   "Connection: close\r\n\r\n",
				   status, type, length);

	send_all(client, head, (size_t)head_length, until_ms);
	if (!is_head)
		send_all(client, body, length, until_ms);
}

static bool asks_for(const char *request, const char *method)
{
	size_t length = strlen(method);

	return !strncmp(request, method, length) && request[length] == ' ';
}

static bool is_known_path(const char *request)
{
	const char *path = strchr(request, ' ') + 1;
	size_t length = strcspn(path, " ?\r\n");

	return (length == 1 && *path == '/') || (length == 8 && !strncmp(path, "/metrics", 8));
}

static void serve(int client)
{
	static char request[REQUEST_MAX];
	int64_t until_ms = now_ms() + CLIENT_MS;
	bool is_head, is_new;
	size_t length;
	char *body;

	if (!read_request(client, request, until_ms))
		return;
	is_head = asks_for(request, "HEAD");
	if (!is_head && !asks_for(request, "GET")) {
		respond(client, "405 Method Not Allowed", "text/plain", "GET only\n", 9, false,
			until_ms);
		return;
	}
	if (!is_known_path(request)) {
		respond(client, "404 Not Found", "text/plain", "see /metrics\n", 13, is_head,
			until_ms);
		return;
	}
	is_new = strcasestr(request, "application/openmetrics-text") != NULL;
	body = beat_exposition(is_new ? BEAT_OPENMETRICS_10 : BEAT_TEXT_004, &length);
	if (body)
		respond(client, "200 OK",
			is_new ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
			       : "text/plain; version=0.0.4; charset=utf-8",
			body, length, is_head, until_ms);
	free(body);
}

static void *serve_all(void *unused)
{
	pthread_setname_np(pthread_self(), "sonde-scrape");
	for (;;) {
		struct pollfd both[2] = { { .fd = server.listener, .events = POLLIN },
					  { .fd = server.stopper, .events = POLLIN } };
		int client;

		if (poll(both, 2, -1) < 0 && errno != EINTR)
			return unused;
		if (both[1].revents)
			return unused;
		client = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC);
		if (client >= 0) {
			serve(client);
			close(client);
		} else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
			poll(&both[1], 1, 100); /* no descriptor free, for instance */
		}
	}
}

/* Bytes of the path with %p and %r filled in; false if it is too long. */
static bool expand(const char *pattern, long pid, long rank)
{
	size_t length = 0, room = sizeof(server.path);

	for (; *pattern && length < room; pattern++) {
		bool is_pid = pattern[0] == '%' && pattern[1] == 'p';

		if (is_pid || (pattern[0] == '%' && pattern[1] == 'r')) {
			length += (size_t)snprintf(server.path + length, room - length, "%ld",
						   is_pid     ? pid
						   : rank < 0 ? 0
							      : rank);
			pattern++;
		} else {
			server.path[length++] = *pattern;
		}
	}
	if (length >= room)
		return false;
	server.path[length] = 0;
	return length > 0;
}

/* A socket that a killed process left behind: nobody answers there. */
static bool is_stale(const struct sockaddr_un *address)
{
	int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool is_refused = probe >= 0 &&
			  connect(probe, (const struct sockaddr *)address, sizeof(*address)) &&
			  errno == ECONNREFUSED;

	if (probe >= 0)
		close(probe);
	return is_refused;
}

static const char *listen_unix(const char *pattern, long pid, long rank)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (!expand(pattern, pid, rank))
		return "the path of the socket is empty or longer than 107 bytes";
	strcpy(address.sun_path, server.path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail("make", "a socket");
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) &&
	    (errno != EADDRINUSE || !is_stale(&address) || unlink(server.path) ||
	     bind(fd, (struct sockaddr *)&address, sizeof(address)))) {
		const char *why = fail("listen at", server.path);

		close(fd);
		server.path[0] = 0;
		return why;
	}
	server.listener = fd;
	return NULL;
}

/* "127.0.0.1:9400-9499" into an address and two ports. */
static bool parse(const char *text, struct sockaddr_storage *out, long *first, long *last)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
	const char *colon = strrchr(text, ':');
	char ip[64] = "", *end;

	if (!colon || colon == text || (size_t)(colon - text) >= sizeof(ip))
		return false;
	memcpy(ip, text, (size_t)(colon - text));
	*first = *last = strtol(colon + 1, &end, 10);
	if (*end == '-')
		*last = strtol(end + 1, &end, 10);
	if (*end || end == colon + 1 || *first < 0 || *last < *first || *last > 65535)
		return false;
	if (!strcmp(ip, "[::1]")) {
		six->sin6_family = AF_INET6;
		six->sin6_addr = in6addr_loopback;
		return true;
	}
	four->sin_family = AF_INET;
	return inet_pton(AF_INET, ip, &four->sin_addr) == 1 &&
	       ntohl(four->sin_addr.s_addr) >> 24 == 127;
}

static const char *listen_loopback(const char *text)
{
	struct sockaddr_storage address = { 0 };
	long port, last;
	int fd, one = 1;

	if (!parse(text, &address, &port, &last))
		return "SONDE_HEARTBEAT_OPENMETRICS_LISTEN must be unix:PATH, 127.0.0.1:PORT, "
		       "127.0.0.1:FIRST-LAST or [::1]:PORT: only this machine may ask";
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail("make", "a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	for (; port <= last; port++) {
		/* the port stands at the same place in both kinds of address */
		((struct sockaddr_in *)&address)->sin_port = htons((uint16_t)port);
		if (bind(fd, (struct sockaddr *)&address,
			 address.ss_family == AF_INET ? sizeof(struct sockaddr_in)
						      : sizeof(struct sockaddr_in6)) == 0 &&
		    listen(fd, 8) == 0) {
			server.listener = fd;
			return NULL;
		}
	}
	fail("listen at", text);
	close(fd);
	return server.why;
}

/* Above the standard streams, whose numbers the application may have freed on purpose. */
static int raise_descriptor(int fd)
{
	int higher = fd >= 3 || fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (higher != fd)
		close(fd);
	return higher;
}

static void close_all(void)
{
	if (server.listener > 0)
		close(server.listener);
	if (server.stopper > 0)
		close(server.stopper);
	server.listener = server.stopper = 0;
}

const char *beat_server_start(const char *address, long pid, long rank)
{
	const char *why;
	sigset_t all, before;
	int error;

	server.path[0] = 0;
	why = strncmp(address, "unix:", 5) ? listen_loopback(address)
					   : listen_unix(address + 5, pid, rank);
	if (why)
		return why;
	server.listener = raise_descriptor(server.listener);
	if (server.path[0] && listen(server.listener, 8) != 0)
		return fail("listen at", server.path);
	server.stopper = raise_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = server.listener < 0 || server.stopper < 0
			? EMFILE
			: pthread_create(&server.thread, NULL, serve_all, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error)
		return NULL;
	errno = error;
	close_all();
	return fail("start", "the server's thread");
}

void beat_server_stop(void)
{
	uint64_t one = 1;

	if (server.listener <= 0)
		return;
	(void)!write(server.stopper, &one, sizeof(one));
	pthread_join(server.thread, NULL);
	close_all();
	if (server.path[0])
		unlink(server.path);
	server.path[0] = 0;
}

void beat_server_forget(void)
{
	close_all();
	server.path[0] = 0;
}
