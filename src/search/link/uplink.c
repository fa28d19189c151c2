/* Beats, silence, and whom to turn to then. */
#include "search/link/uplink.h"

#include <time.h>
#include <unistd.h>

/* Results that are packed into one message. */
enum { MESSAGE_BYTES = 512 * 1024 };

int64_t sn_agent_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

sn_status sn_uplink_open(const struct sn_uplink_above *above, const uint8_t secret[SN_LINK_SECRET],
			 uint32_t agent, uint32_t epoch, struct sn_uplink *out,
			 struct sn_error *err)
{
	*out = (struct sn_uplink){ .above = *above,
				   .agent = agent,
				   .epoch = epoch,
				   .parent = above->parent(above->context, agent),
				   .front_heard_ns = sn_agent_now_ns() };
	return sn_link_open(secret, above->is_cut, above->cut_context, &out->link, err);
}

/* Round: after the front comes the agent's own parent again, which may have been started anew. */
static void parent_next(struct sn_uplink *u)
{
	u->parent = u->above.parent(u->above.context,
				    u->parent == SN_LINK_FRONT ? u->agent : u->parent);
}

static bool parent_connect(struct sn_uplink *u)
{
	char address[SN_LINK_ADDRESS];
	struct sn_error err;

	return u->above.address(u->above.context, u->parent, address) &&
	       sn_link_connect(u->link, address, u->agent, u->epoch, &err) == SN_OK;
}

/* A parent that listens nowhere yet is given the time of one that does not answer. */
bool sn_uplink_look(struct sn_uplink *u, int64_t now_ns)
{
	const int64_t most_ns = u->is_answered ? SN_AGENT_SILENCE_NS : SN_AGENT_FRESH_NS;
	const bool is_silent = u->heard_ns && now_ns - u->heard_ns >= most_ns;

	if (u->is_connected && !is_silent)
		return false;
	if (is_silent)
		parent_next(u);
	if (is_silent || !u->heard_ns)
		u->heard_ns = now_ns;
	u->is_answered = u->is_welcome = false;
	u->is_connected = parent_connect(u);
	u->beat_ns = now_ns;
	return u->is_connected;
}

void sn_uplink_send(struct sn_uplink *u, uint16_t type, uint64_t number, uint64_t ack,
		    const struct sn_text *body)
{
	const struct sn_link_frame frame = { .type = type,
					     .agent = u->agent,
					     .epoch = u->epoch,
					     .number = number,
					     .ack = ack,
					     .body = (const uint8_t *)body->chars,
					     .length = (uint32_t)body->length };
	struct sn_text message = { 0 };

	sn_link_frame_add(&message, &frame);
	sn_link_send_up(u->link, &message);
	sn_text_free(&message);
}

void sn_uplink_send_outbox(struct sn_uplink *u, const struct sn_outbox *outbox, size_t first)
{
	struct sn_text message = { 0 };

	for (size_t i = first; i < outbox->frames.count; i++) {
		const struct sn_outbox_frame *f = &outbox->frames.items[i];

		if (f->is_acked)
			continue;
		if (message.length && message.length + f->length > MESSAGE_BYTES) {
			sn_link_send_up(u->link, &message);
			sn_text_clear(&message);
		}
		sn_text_add_bytes(&message, outbox->bytes.chars + f->at, f->length);
	}
	sn_link_send_up(u->link, &message);
	sn_text_free(&message);
}

static void hello(struct sn_uplink *u)
{
	struct sn_text body = { 0 };

	sn_body_u16(&body, SN_LINK_VERSION > 1 ? SN_LINK_VERSION - 1 : 1);
	sn_body_u16(&body, SN_LINK_VERSION);
	sn_body_u32(&body, (uint32_t)getpid());
	sn_uplink_send(u, SN_LINK_HELLO, 0, 0, &body);
	sn_text_free(&body);
}

void sn_uplink_beat(struct sn_uplink *u, int64_t now_ns, const uint32_t *below, size_t count)
{
	struct sn_text body = { 0 };

	if (!u->is_connected || now_ns < u->beat_ns)
		return;
	if (!u->is_welcome)
		hello(u);
	u->beat_ns = now_ns + SN_AGENT_BEAT_NS;
	sn_body_u32(&body, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		sn_body_u32(&body, below[i]);
	sn_uplink_send(u, SN_LINK_BEAT, 0, 0, &body);
	sn_text_free(&body);
}

void sn_uplink_heard(struct sn_uplink *u, const struct sn_link_frame *frame, int64_t now_ns)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);
	int64_t age_ns;

	u->heard_ns = now_ns;
	u->is_answered = true;
	if (frame->type != SN_LINK_BEAT) {
		u->front_heard_ns = now_ns; /* all others are the front's own words */
		u->is_welcome = u->is_welcome ||
				(frame->type == SN_LINK_WELCOME && frame->agent == u->agent);
		return;
	}
	age_ns = (int64_t)sn_cursor_u64(&cur);
	if (age_ns >= 0 && now_ns - age_ns > u->front_heard_ns)
		u->front_heard_ns = now_ns - age_ns;
}

bool sn_uplink_is_alone(const struct sn_uplink *u, int64_t now_ns)
{
	return now_ns - u->front_heard_ns > SN_AGENT_ALONE_NS || u->above.is_over(u->above.context);
}
