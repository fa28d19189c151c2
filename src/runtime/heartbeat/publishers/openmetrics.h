/**
 * The OpenMetrics publisher: what its two files share. One exposition is written per interval, as a
 * text file for the textfile collector of the Prometheus node exporter, and is kept for whoever
 * scrapes the socket.
 */
#ifndef SN_RUNTIME_HEARTBEAT_OPENMETRICS_H
#define SN_RUNTIME_HEARTBEAT_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>

/** Two dialects: OpenMetrics 1.0, and the older text format 0.0.4, the only one that the textfile
 *  collector reads. */
enum beat_dialect { BEAT_TEXT_004, BEAT_OPENMETRICS_10 };

/** An exposition, NULL when memory ran out; the caller frees it. Called by the server's thread. */
char *beat_exposition(enum beat_dialect dialect, size_t *length);

/**
 * Listens at `address`: "unix:PATH" (%p in it stands for the pid, %r for the rank), "IP:PORT" or
 * "IP:FIRST-LAST" (the first free port); IP is 127.x.y.z or [::1], anything else is refused.
 * Returns NULL, or why it does not listen.
 */
const char *beat_server_start(const char *address, long pid, long rank);
void beat_server_stop(void);
/** To be called in a forked child: closes the parent's sockets, whose thread is not there. */
void beat_server_forget(void);

#endif
