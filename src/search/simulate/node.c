/*
 * The agent of a host. At the end of each phase it searches what the host's sources have so far, and puts what it
 * finds into its spool; it sends that until the front's journal has it.
 */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "search/simulate/parts.h"

enum { LOOK_NS = 100000000, AGAIN_NS = 1000000000 };

struct node {
	struct sn_uplink uplink;
	struct sn_outbox outbox;
	struct sn_simulation *simulation;
	int64_t replay_ns; /* when what is not in the journal is sent again */
	int64_t again_ns;  /* when a phase for which there was no room is tried again */
	bool is_over;
};

/* ---- sending ---- */

static void frames_send(struct node *n, size_t first)
{
	sn_uplink_send_outbox(&n->uplink, &n->outbox, first);
	n->replay_ns = sn_agent_now_ns() + SN_AGENT_REPLAY_NS;
}

/* ---- searching ---- */

static struct sn_search *phase_search(struct node *n, uint32_t phase, struct sn_recorded **recorded)
{
	struct sn_search_options options = n->simulation->search;
	struct sn_search *search = NULL;
	struct sn_error err;

	options.is_of_host = true;
	*recorded = sn_scenario_of_host(n->simulation->scenario, n->simulation->library,
					n->outbox.agent, phase);
	if (!*recorded ||
	    sn_search_run(*recorded, n->simulation->library, &options, &search, &err) != SN_OK)
		return NULL;
	return search;
}

/* What a phase has brought, all or nothing: without room for it, it is tried again later. */
static void phase_end(struct node *n)
{
	const uint32_t phase = n->outbox.phase + 1;
	size_t first = n->outbox.frames.count;
	struct sn_recorded *recorded;
	struct sn_search *search = phase_search(n, phase, &recorded);
	sn_bodies bodies = { 0 };
	struct sn_text last = { 0 };
	struct sn_error err;

	if (search) {
		sn_result_shares_write(search, phase, &bodies);
		sn_result_phase_write(search, phase, &n->outbox, (uint32_t)bodies.count, &last);
		sn_vec_push(&bodies, last);
		n->outbox.phase = phase;
		n->outbox.has_ended = phase == n->simulation->scenario->phases;
		if (sn_outbox_add(&n->outbox, bodies.items, bodies.count, &err) == SN_OK) {
			frames_send(n, first);
		} else {
			n->outbox.phase = phase - 1;
			n->outbox.has_ended = false;
		}
	}
	if (n->outbox.phase != phase)
		n->again_ns = sn_agent_now_ns() + AGAIN_NS;
	for (size_t i = 0; i < bodies.count; i++)
		sn_text_free(&bodies.items[i]);
	sn_vec_free(&bodies);
	sn_search_free(search);
	sn_recorded_free(recorded);
	malloc_trim(0);
}

/* When the next phase ends; INT64_MAX: none does. */
static int64_t phase_ends_ns(const struct node *n)
{
	const struct sn_scenario *s = n->simulation->scenario;
	int64_t ends_ns = n->outbox.began_ns + (int64_t)((n->outbox.phase + 1) * s->phase_s * 1e9);

	if (!n->outbox.began_ns || n->outbox.has_ended)
		return INT64_MAX;
	return ends_ns > n->again_ns ? ends_ns : n->again_ns;
}

/* ---- what comes from above ---- */

static void begun(struct node *n, const struct sn_link_frame *frame, uint64_t elapsed_ns)
{
	struct sn_text none = { 0 };
	struct sn_error err;

	if (elapsed_ns > INT64_MAX)
		return;
	if (!n->outbox.began_ns) {
		n->outbox.began_ns = sn_agent_now_ns() - (int64_t)elapsed_ns;
		sn_outbox_add(&n->outbox, NULL, 0, &err); /* its state, for who comes after it */
	}
	sn_uplink_send(&n->uplink, SN_LINK_BEGUN, frame->number, 0, &none);
}

static void frame_take(struct node *n, const struct sn_link_frame *frame)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);

	sn_uplink_heard(&n->uplink, frame, sn_agent_now_ns());
	switch (frame->type) {
	case SN_LINK_WELCOME:
		sn_cursor_u16(&cur);
		begun(n, frame, sn_cursor_u64(&cur));
		break;
	case SN_LINK_BEGIN:
		begun(n, frame, sn_cursor_u64(&cur));
		break;
	case SN_LINK_ACK:
		if (frame->agent == n->outbox.agent)
			sn_outbox_ack(&n->outbox, frame->epoch, frame->ack);
		break;
	case SN_LINK_END:
	case SN_LINK_REJECT:
		n->is_over = true;
		break;
	default:
		break;
	}
}

static void messages_take(struct node *n, int timeout_ms)
{
	struct sn_link_message message;
	struct sn_link_frame frame;

	while (sn_link_receive(n->uplink.link, timeout_ms, &message)) {
		struct sn_cursor cur = sn_cursor_over(message.bytes, message.length);

		while (sn_cursor_left(&cur) && sn_link_frame_read(&cur, &frame) == SN_OK)
			frame_take(n, &frame);
		timeout_ms = 0;
	}
}

/* ---- all ---- */

static int wait_ms(const struct node *n, int64_t now_ns)
{
	int64_t next = now_ns + SN_AGENT_BEAT_NS;

	if (!n->uplink.is_connected)
		next = now_ns + LOOK_NS;
	else if (n->uplink.beat_ns < next)
		next = n->uplink.beat_ns;
	if (phase_ends_ns(n) < next)
		next = phase_ends_ns(n);
	if (n->outbox.unacked && n->replay_ns < next)
		next = n->replay_ns;
	return next <= now_ns ? 0 : (int)((next - now_ns) / 1000000 + 1);
}

static void look(struct node *n)
{
	int64_t now_ns = sn_agent_now_ns();

	if (sn_uplink_look(&n->uplink, now_ns))
		frames_send(n, 0);
	sn_uplink_beat(&n->uplink, now_ns, NULL, 0);
	if (phase_ends_ns(n) <= now_ns)
		phase_end(n);
	if (n->outbox.unacked && now_ns >= n->replay_ns)
		frames_send(n, 0);
	messages_take(n, wait_ms(n, sn_agent_now_ns()));
	n->is_over = n->is_over || sn_uplink_is_alone(&n->uplink, now_ns);
}

int sn_node_run(struct sn_simulation *simulation, uint32_t host, uint32_t epoch)
{
	const struct sn_uplink_above above = sn_simulation_above(simulation, host);
	struct node n = { .simulation = simulation };
	struct sn_text name = { 0 };
	struct sn_error err;
	sn_status status;
	char *path;

	sn_text_addf(&name, "agents/node.%u", host);
	path = sn_simulation_file(simulation, name.chars);
	status = sn_outbox_open(path, host, epoch, &n.outbox, &err);
	if (status == SN_OK)
		status = sn_uplink_open(&above, simulation->secret, host, epoch, &n.uplink, &err);
	while (status == SN_OK && !n.is_over)
		look(&n);
	sn_link_close(n.uplink.link);
	sn_outbox_close(&n.outbox);
	sn_text_free(&name);
	free(path);
	return status == SN_OK ? 0 : 1;
}
