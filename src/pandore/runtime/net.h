/**
 * What a back end of libpandore provides: processes 0..count-1 (nodes, then the host unless it is
 * inside node 0) and FIFO messages between each ordered pair. A message is a header of eight bytes
 * and its bytes; the header carries the size (checked) and the sender's event for traces.
 */
#ifndef PANDORE_NET_H
#define PANDORE_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pd_header {
	uint32_t bytes; /* modulo 2^32 */
	uint32_t event;
};

extern const char pd_net_name[];	/* "local" or "mpi" */
extern const bool pd_net_has_one_clock; /* all processes read the same CLOCK_MONOTONIC */

/** Before all else: makes what watches over this process, which may go on as another. */
void pd_net_guard(void);
/** The number of nodes: `nodes`, or what the run says if that is 0. Another number of processes than
 * needed ends the run with one sentence. */
int pd_net_begin(int *argc, char ***argv, int nodes, bool host_inside);
/** All together: the host's file becomes one of all processes. Returns this process's descriptor of it, or
 * -1 if the host has none (`file` is -1) or not all can reach it, as they are on other machines. A
 * process that is not the host leaves its own `file` alone. Its first 8 bytes are of no other file. */
int pd_net_share(int file, bool *is_host);
/** Makes the processes; returns this one's number. */
int pd_net_start(int count, int nodes, int host_process);

/** Never blocks: what does not fit is queued in this process. */
void pd_net_send(int to, struct pd_header header, const void *bytes, size_t count);

/** Blocks. `*waited` (may be NULL) grows by the ticks during which nothing was there. */
struct pd_header pd_net_receive(int from, void *bytes, size_t count, uint64_t *waited);

/** Memory for a message of `count` bytes, to be filled and given to pd_net_send_filled() before any
 * other message is sent. */
char *pd_net_room(size_t count);
/** Like pd_net_send(), but the bytes are in that memory and need not be copied. */
void pd_net_send_filled(int to, struct pd_header header, char *room, size_t count);
/** The next message from this process has `count` bytes and is received with pd_net_receive_there()
 * before anything else from it: long ones may come meanwhile. */
void pd_net_expect(int from, size_t count);
/** Like pd_net_receive(), but leaves the bytes where `*bytes` says, until the next receive. */
struct pd_header pd_net_receive_there(int from, const char **bytes, size_t count, uint64_t *waited);

/** Waits until MPI has taken what pd_net_send() and pd_net_send_filled() sent. The receivers have to
 * get to their receives without anything that this process does later. */
void pd_net_hand_over(void);

struct pd_run {
	char *place;
	size_t bytes;
};

/** Sends runs of bytes; one run goes from where it is, without a copy of this process's own. It may
 * block until the receiver has taken them, so only for a receiver that surely gets to its
 * pd_net_receive_runs. The bytes must not change before pd_net_settle(). */
void pd_net_send_runs(int to, struct pd_header header, const struct pd_run *runs, size_t count);
/** Waits until the bytes of all pd_net_send_runs() may change again. */
void pd_net_settle(void);
/** Receives them where they belong. */
struct pd_header pd_net_receive_runs(int from, const struct pd_run *runs, size_t count);

/** Waits until all that was sent has left. Nodes may end then; the host waits for them. */
void pd_net_finish(void);

/** Whether this is the one process that may say why the run ends. The others end in silence. */
bool pd_net_has_last_word(void);

/** The host: ends the nodes at once. Safe in handlers of signals. False: it did not make them. */
bool pd_net_kill(void);

/** This process said why it ends; ends all. */
__attribute__((noreturn)) void pd_net_abort(void);

/** keep.c, before a back end ends a run: what was measured is written (`is_written`), or is to be written
 * now. Nothing happens where this process has no keeper. Safe in handlers of signals. */
void pd_keep_end(bool is_written);

#endif
