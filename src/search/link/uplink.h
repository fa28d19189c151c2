/**
 * The way from an agent to the front: by its parent, by the parent's parent, at last directly.
 */
#ifndef SN_SEARCH_LINK_UPLINK_H
#define SN_SEARCH_LINK_UPLINK_H

#include "search/link/frame.h"
#include "search/link/link.h"
#include "search/link/outbox.h"

/** Times of the protocol, in ns. */
#define SN_AGENT_BEAT_NS    500000000LL	   /* from child to parent, and back */
#define SN_AGENT_SILENCE_NS 1500000000LL   /* then another parent is tried */
#define SN_AGENT_FRESH_NS   4000000000LL   /* the same for one that has not answered yet */
#define SN_AGENT_REPLAY_NS  2000000000LL   /* what is not in the journal by then is sent again */
#define SN_AGENT_ALONE_NS   600000000000LL /* without a word of the front an agent ends */

/** CLOCK_BOOTTIME: one clock for all processes of a host, which goes on while it sleeps. */
int64_t sn_agent_now_ns(void);

/** What an agent knows of those above it. */
struct sn_uplink_above {
	uint32_t (*parent)(void *context, uint32_t agent); /* SN_LINK_FRONT at last */
	/** False: it listens nowhere yet. */
	bool (*address)(void *context, uint32_t agent, char out[SN_LINK_ADDRESS]);
	bool (*is_over)(void *context);
	bool (*is_cut)(void *context); /* NULL: never */
	void *context, *cut_context;
};

/** An agent's way to a parent: it beats, and turns to the next one when there is silence. */
struct sn_uplink {
	struct sn_uplink_above above;
	struct sn_link *link;
	uint32_t agent, epoch, parent;
	bool is_connected;
	int64_t heard_ns, beat_ns; /* of the parent; of the next beat */
	int64_t front_heard_ns;	   /* as far as the parent says */
	bool is_answered;	   /* by the parent of now */
	bool is_welcome;	   /* the front has answered, by this way */
};

sn_status sn_uplink_open(const struct sn_uplink_above *above, const uint8_t secret[SN_LINK_SECRET],
			 uint32_t agent, uint32_t epoch, struct sn_uplink *out,
			 struct sn_error *err);
/** Whether a parent has just been turned to: it is to be greeted, and to get what it may lack. */
bool sn_uplink_look(struct sn_uplink *uplink, int64_t now_ns);
/** Beats if it is time, and says who is below; until the front has answered, also who the agent is. */
void sn_uplink_beat(struct sn_uplink *uplink, int64_t now_ns, const uint32_t *below, size_t count);
/** Sends one frame upwards. */
void sn_uplink_send(struct sn_uplink *uplink, uint16_t type, uint64_t number, uint64_t ack,
		    const struct sn_text *body);
/** Sends the results of an outbox from its frame `first` on that are not in the journal, as far as is known. */
void sn_uplink_send_outbox(struct sn_uplink *uplink, const struct sn_outbox *outbox, size_t first);
/** A frame came from above. */
void sn_uplink_heard(struct sn_uplink *uplink, const struct sn_link_frame *frame, int64_t now_ns);
/** Whether the front has been silent for too long, or the search is over. */
bool sn_uplink_is_alone(const struct sn_uplink *uplink, int64_t now_ns);

#endif
