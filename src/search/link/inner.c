/* Up in packs, down by the ways that beats show. */
#include "search/link/inner.h"

#include <string.h>

#include "search/link/downlink.h"

enum { PACK = 256 * 1024, LOOK_MS = 100 };

struct inner {
	const struct sn_inner_options *options;
	struct sn_uplink uplink;
	struct sn_downlink down;
	struct sn_text pack; /* frames for the parent */
	bool is_over;
};

/* ---- from below ---- */

static void pack_send(struct inner *n)
{
	sn_link_send_up(n->uplink.link, &n->pack);
	sn_text_clear(&n->pack);
}

static void below_take(struct inner *n, const struct sn_link_message *message)
{
	int64_t now_ns = sn_agent_now_ns();
	size_t peer = sn_downlink_heard(&n->down, &message->peer, now_ns);
	struct sn_cursor cur = sn_cursor_over(message->bytes, message->length);
	struct sn_link_frame frame;

	for (;;) {
		const uint8_t *begin = cur.next;

		if (!sn_cursor_left(&cur) || sn_link_frame_read(&cur, &frame) != SN_OK)
			return;
		if (frame.type == SN_LINK_BEAT) {
			sn_downlink_beat(&n->down, peer, &frame, now_ns - n->uplink.front_heard_ns);
			continue;
		}
		sn_downlink_route(&n->down, frame.agent, peer);
		if (n->pack.length + (size_t)(cur.next - begin) > PACK)
			pack_send(n);
		sn_text_add_bytes(&n->pack, (const char *)begin, (size_t)(cur.next - begin));
	}
}

/* ---- from above ---- */

/* An end may leave those that pass words on where they are: agents below have to tell theirs. */
static bool is_end(const struct sn_link_frame *frame)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);

	return frame->type == SN_LINK_END && !sn_cursor_u32(&cur);
}

static void above_take(struct inner *n, const struct sn_link_message *message)
{
	struct sn_cursor cur = sn_cursor_over(message->bytes, message->length);
	int64_t now_ns = sn_agent_now_ns();
	struct sn_link_frame frame;

	while (sn_cursor_left(&cur) && sn_link_frame_read(&cur, &frame) == SN_OK) {
		sn_uplink_heard(&n->uplink, &frame, now_ns);
		if (frame.type == SN_LINK_BEAT)
			continue;
		if (frame.agent != n->uplink.agent)
			sn_downlink_queue(&n->down, &frame, now_ns);
		n->is_over = n->is_over || is_end(&frame) ||
			     (frame.type == SN_LINK_REJECT && frame.agent == n->uplink.agent);
	}
}

/* ---- all ---- */

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
	sn_downlink_sweep(&n->down, now_ns);
	for (size_t i = 0; i < n->down.peers.count; i++)
		for (size_t k = 0; k < n->down.peers.items[i].below.count; k++)
			sn_vec_push(&below, n->down.peers.items[i].below.items[k]);
	sn_uplink_beat(&n->uplink, now_ns, below.items, below.count);
	sn_vec_free(&below);
	refused_tell(n);
}

static bool is_idle(const struct inner *n, int64_t now_ns)
{
	return n->options->idle_ns && !n->down.peers.count &&
	       now_ns - n->uplink.front_heard_ns > n->options->idle_ns;
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
	sn_downlink_flush(&n->down, n->uplink.link);
	n->is_over = n->is_over || is_idle(n, now_ns) || sn_uplink_is_alone(&n->uplink, now_ns);
}

int sn_inner_run(const struct sn_inner_options *o)
{
	struct inner n = { .options = o };
	char address[SN_LINK_ADDRESS] = "";
	struct sn_error err;
	sn_status status = sn_uplink_open(o->above, o->secret, o->agent, o->epoch, &n.uplink, &err);

	strncat(address, o->address, sizeof(address) - 1);
	if (status == SN_OK)
		status = sn_link_listen(n.uplink.link, address, &err);
	if (status == SN_OK)
		status = o->listens(o->context, o->agent, address, &err);
	while (status == SN_OK && !n.is_over)
		look(&n);
	sn_link_close(n.uplink.link);
	sn_downlink_free(&n.down);
	sn_text_free(&n.pack);
	return status == SN_OK ? 0 : 1;
}
