/**
 * The ways from an agent to those below it: by which peer each of them is reached, and what is to go there.
 *
 * What is sent waits in a queue for each peer, so that the frames of one turn are one message. A frame may get
 * lost like any other: who needs one to come sends it until it is answered. One thread at a time.
 */
#ifndef SN_SEARCH_LINK_DOWNLINK_H
#define SN_SEARCH_LINK_DOWNLINK_H

#include "base/map.h"
#include "base/vec.h"
#include "search/link/frame.h"
#include "search/link/link.h"

/** A peer that has been silent for longer is no longer there. */
#define SN_DOWNLINK_STALE_NS 3000000000LL

struct sn_downlink_peer {
	struct sn_link_peer id;
	int64_t heard_ns;	/* sn_agent_now_ns */
	SN_VEC(uint32_t) below; /* those that its last beat named, itself first */
	struct sn_text out;	/* frames for it */
};

struct sn_downlink {
	SN_VEC(struct sn_downlink_peer) peers;
	struct sn_map route; /* agent -> index of its peer */
};

/** The index of the peer that a message came from. It is valid until the next sweep. */
size_t sn_downlink_heard(struct sn_downlink *down, const struct sn_link_peer *id, int64_t now_ns);
/** `agent` is reached by this peer from now on. */
void sn_downlink_route(struct sn_downlink *down, uint32_t agent, size_t peer);
/** A beat (SN_LINK_BEAT) came from a peer: all that it names are reached by it. It is answered with how long ago the front
 *  was heard. */
void sn_downlink_beat(struct sn_downlink *down, size_t peer, const struct sn_link_frame *beat,
		      int64_t front_age_ns);
/** Queues a frame for its agent, or for all peers that are there if that is SN_LINK_FRONT. One whose way is not known goes
 *  nowhere. */
void sn_downlink_queue(struct sn_downlink *down, const struct sn_link_frame *frame, int64_t now_ns);
/** Sends what waits in the queues. */
void sn_downlink_flush(struct sn_downlink *down, struct sn_link *link);
/** Peers that went elsewhere or died make room, and the ways by them are forgotten. */
void sn_downlink_sweep(struct sn_downlink *down, int64_t now_ns);
void sn_downlink_free(struct sn_downlink *down);

#endif
