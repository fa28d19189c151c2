/**
 * An inner agent: between the front and agents below, so that nobody has too many children.
 *
 * What comes from below goes up, several messages packed into one, and nothing is kept; what comes from above goes to
 * the one it is for, or to all.
 */
#ifndef SN_SEARCH_LINK_INNER_H
#define SN_SEARCH_LINK_INNER_H

#include "search/link/uplink.h"

enum {
	SN_FANOUT = 32,
	SN_FANOUT_MOST = 1024
}; /* children of an inner agent: unless said, and at most */

struct sn_inner_options {
	const struct sn_uplink_above *above; /* the way up */
	const uint8_t *secret;		     /* SN_LINK_SECRET bytes */
	uint32_t agent, epoch;
	const char *address; /* where it is to listen; "tcp://127.0.0.1:*": any port */
	/** Where it listens: to be told to those that are to come. */
	sn_status (*listens)(void *context, uint32_t agent, const char address[SN_LINK_ADDRESS],
			     struct sn_error *err);
	void *context; /* of `listens` */
	int64_t idle_ns; /* without anybody below and a word of the front for so long it ends; 0: never */
};

/** Runs until the search is over. 0, or 1: it could not listen. */
int sn_inner_run(const struct sn_inner_options *options);

#endif
