/**
 * The link between agents of a search: messages to a parent and to children, over ZeroMQ with CURVE.
 *
 * A link may lose messages, as when a wire is cut, and says nothing then: who needs one to come sends it until
 * it is answered (outbox.h, journal.h). It never changes, doubles or forges one. Only those that hold the
 * search's secret come in; all others are refused and counted.
 *
 * libzmq is looked for when a link is opened first; it need not be installed for anything else. A link belongs
 * to the thread and the process that opened it.
 */
#ifndef SN_SEARCH_LINK_LINK_H
#define SN_SEARCH_LINK_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum { SN_LINK_SECRET = 32, SN_LINK_PEER = 12, SN_LINK_ADDRESS = 64 };

/** Makes a secret and its file: 0600, and not one that is there. */
sn_status sn_link_secret_make(const char *path, uint8_t secret[SN_LINK_SECRET],
			      struct sn_error *err);
/** Reads one. A file that others may read, or that is not the user's, is refused. */
sn_status sn_link_secret_read(const char *path, uint8_t secret[SN_LINK_SECRET],
			      struct sn_error *err);

/** Whether links can be had: SN_ERR_UNSUPPORTED says what to install. To be asked before processes that will
 *  have links are forked, so that they share the library. */
sn_status sn_link_check(struct sn_error *err);

struct sn_link;

/** A peer below, as it connected. */
struct sn_link_peer {
	uint8_t id[SN_LINK_PEER];
};

struct sn_link_message {
	bool is_from_above;
	struct sn_link_peer peer; /* of a message from below */
	const uint8_t *bytes;	  /* until the next call */
	size_t length;
};

/** `is_cut` (NULL: never) says whether the link is to behave as a cut one: nothing goes out or comes in. */
sn_status sn_link_open(const uint8_t secret[SN_LINK_SECRET], bool (*is_cut)(void *context),
		       void *context, struct sn_link **out, struct sn_error *err);
/** Listens on this host. `address` is where ("tcp://127.0.0.1:*": any port), and becomes what was found. */
sn_status sn_link_listen(struct sn_link *link, char address[SN_LINK_ADDRESS], struct sn_error *err);
/** Turns to a parent, and away from the one before. It need not be there yet. */
sn_status sn_link_connect(struct sn_link *link, const char *address, uint32_t agent, uint32_t epoch,
			  struct sn_error *err);
void sn_link_send_up(struct sn_link *link, const struct sn_text *message);
void sn_link_send_down(struct sn_link *link, const struct sn_link_peer *peer,
		       const struct sn_text *message);
/** Waits for a message, at most so long; false: there was none. Between messages strangers are refused. */
bool sn_link_receive(struct sn_link *link, int timeout_ms, struct sn_link_message *out);
/** Strangers that were refused so far. */
uint64_t sn_link_refused(const struct sn_link *link);
/** What was sent is given some time to go. */
void sn_link_close(struct sn_link *link);

#endif
