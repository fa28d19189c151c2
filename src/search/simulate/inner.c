/*
 * An inner agent: what comes from below goes up, several messages packed into one, and nothing is kept; what comes
 * from above goes to the one it is for, or to all.
 */
#include <stdlib.h>
#include <string.h>

#include "search/simulate/parts.h"

enum { PACK = 256 * 1024, LOOK_MS = 100 };

struct child {
	struct sn_link_peer peer;
	uint32_t agent;
	int64_t heard_ns;
	SN_VEC(uint32_t) below; /* agents that it has heard of, itself first */
};

struct inner {
	struct sn_uplink uplink;
	SN_VEC(struct child) children;
	struct sn_map route; /* agent -> child */
	struct sn_text pack; /* frames for the parent */
	bool is_over;
};

/* ---- from below ---- */

static struct child *child_of(struct inner *n, const struct sn_link_peer *peer)
{
	for (size_t i = 0; i < n->children.count; i++)
		if (!memcmp(&n->children.items[i].peer, peer, sizeof(*peer)))
			return &n->children.items[i];
	sn_vec_push(&n->children, (struct child){ .peer = *peer });
	return &sn_vec_last(&n->children);
}

static void child_answer(struct inner *n, const struct child *child, int64_t now_ns)
{
	struct sn_text body = { 0 }, message = { 0 };
	struct sn_link_frame frame = { .type = SN_LINK_BEAT, .agent = n->uplink.agent };

	sn_body_u64(&body, (uint64_t)(now_ns - n->uplink.front_heard_ns));
	frame.body = (const uint8_t *)body.chars;
	frame.length = (uint32_t)body.length;
	sn_link_frame_add(&message, &frame);
	sn_link_send_down(n->uplink.link, &child->peer, &message);
	sn_text_free(&message);
	sn_text_free(&body);
}

static void beat_take(struct inner *n, struct child *child, const struct sn_link_frame *frame,
		      int64_t now_ns)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);
	uint32_t count = sn_cursor_u32(&cur);

	child->below.count = 0;
	sn_vec_push(&child->below, frame->agent);
	while (count-- && sn_cursor_left(&cur) >= 4)
		sn_vec_push(&child->below, sn_cursor_u32(&cur));
	child_answer(n, child, now_ns);
}

static void pack_send(struct inner *n)
{
	sn_link_send_up(n->uplink.link, &n->pack);
	sn_text_clear(&n->pack);
}

static void below_take(struct inner *n, const struct sn_link_message *message)
{
	struct child *child = child_of(n, &message->peer);
	struct sn_cursor cur = sn_cursor_over(message->bytes, message->length);
	int64_t now_ns = sn_agent_now_ns();
	struct sn_link_frame frame;

	child->heard_ns = now_ns;
	for (;;) {
		const uint8_t *begin = cur.next;

		if (!sn_cursor_left(&cur) || sn_link_frame_read(&cur, &frame) != SN_OK)
			return;
		if (frame.type == SN_LINK_BEAT) {
			beat_take(n, child, &frame, now_ns);
			continue;
		}
		*sn_map_put(&n->route, frame.agent, NULL) = (uint64_t)(child - n->children.items);
		if (n->pack.length + (size_t)(cur.next - begin) > PACK)
			pack_send(n);
		sn_text_add_bytes(&n->pack, (const char *)begin, (size_t)(cur.next - begin));
	}
}

/* ---- from above ---- */

static void down_send(struct inner *n, const struct sn_link_frame *frame)
{
	const bool is_for_all = frame->type == SN_LINK_BEGIN || frame->type == SN_LINK_END;
	const uint64_t *place = sn_map_get(&n->route, frame->agent);
	struct sn_text message = { 0 };

	sn_link_frame_add(&message, frame);
	for (size_t i = 0; i < n->children.count; i++)
		if (is_for_all || (place && *place == i))
			sn_link_send_down(n->uplink.link, &n->children.items[i].peer, &message);
	sn_text_free(&message);
}

static void above_take(struct inner *n, const struct sn_link_message *message)
{
	struct sn_cursor cur = sn_cursor_over(message->bytes, message->length);
	struct sn_link_frame frame;

	while (sn_cursor_left(&cur) && sn_link_frame_read(&cur, &frame) == SN_OK) {
		sn_uplink_heard(&n->uplink, &frame, sn_agent_now_ns());
		if (frame.type == SN_LINK_BEAT)
			continue;
		if (frame.type == SN_LINK_END || frame.type == SN_LINK_BEGIN ||
		    frame.agent != n->uplink.agent)
			down_send(n, &frame);
		n->is_over = n->is_over || frame.type == SN_LINK_END ||
			     (frame.type == SN_LINK_REJECT && frame.agent == n->uplink.agent);
	}
}

/* ---- all ---- */

/* Children that went elsewhere or died make room; routes count anew from the next frame of each. */
static void children_sweep(struct inner *n, int64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->children.count; i++) {
		if (now_ns - n->children.items[i].heard_ns > 2 * SN_AGENT_SILENCE_NS)
			sn_vec_free(&n->children.items[i].below);
		else
			n->children.items[kept++] = n->children.items[i];
	}
	if (kept < n->children.count)
		sn_map_free(&n->route);
	n->children.count = kept;
	for (size_t i = 0; i < kept; i++)
		for (size_t k = 0; k < n->children.items[i].below.count; k++)
			*sn_map_put(&n->route, n->children.items[i].below.items[k], NULL) = i;
}

/* With each beat, as it may get lost. */
static void refused_tell(struct inner *n)
{
	uint64_t refused = sn_link_refused(n->uplink.link);
	struct sn_text body = { 0 };

	if (!refused)
		return;
	sn_body_u64(&body, refused);
	sn_body_u64(&body, 0);
	sn_uplink_send(&n->uplink, SN_LINK_NOTE, 0, 0, &body);
	sn_text_free(&body);
}

static void beat(struct inner *n, int64_t now_ns)
{
	SN_VEC(uint32_t) below = { 0 };

	if (now_ns < n->uplink.beat_ns)
		return;
	children_sweep(n, now_ns);
	for (size_t i = 0; i < n->children.count; i++)
		for (size_t k = 0; k < n->children.items[i].below.count; k++)
			sn_vec_push(&below, n->children.items[i].below.items[k]);
	sn_uplink_beat(&n->uplink, now_ns, below.items, below.count);
	sn_vec_free(&below);
	refused_tell(n);
}

static void look(struct inner *n)
{
	struct sn_link_message message;
	int64_t now_ns = sn_agent_now_ns();
	int timeout_ms = LOOK_MS;

	sn_uplink_look(&n->uplink, now_ns);
	beat(n, now_ns);
	while (sn_link_receive(n->uplink.link, timeout_ms, &message)) {
		if (message.is_from_above)
			above_take(n, &message);
		else
			below_take(n, &message);
		timeout_ms = 0;
	}
	pack_send(n);
	n->is_over = n->is_over || sn_uplink_is_alone(&n->uplink, now_ns);
}

int sn_inner_run(struct sn_simulation *simulation, uint32_t agent, uint32_t epoch)
{
	struct inner n = { 0 };
	char address[SN_LINK_ADDRESS] = "tcp://127.0.0.1:*";
	struct sn_error err;
	sn_status status = sn_simulation_uplink(simulation, agent, epoch, &n.uplink, &err);

	if (status == SN_OK)
		status = sn_link_listen(n.uplink.link, address, &err);
	if (status == SN_OK)
		sn_place_address_set(sn_place_of(simulation->places, agent), address);
	while (status == SN_OK && !n.is_over)
		look(&n);
	sn_link_close(n.uplink.link);
	for (size_t i = 0; i < n.children.count; i++)
		sn_vec_free(&n.children.items[i].below);
	sn_vec_free(&n.children);
	sn_map_free(&n.route);
	sn_text_free(&n.pack);
	return status == SN_OK ? 0 : 1;
}
