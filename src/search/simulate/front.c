/*
 * The front: takes results into its journal, tells their agents when they are on disk, and merges at the end. All
 * that it knows of results comes from the journal, so another front can go on with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "search/link/downlink.h"
#include "search/simulate/parts.h"

enum { WAIT_MS = 50, DRAIN_MOST = 5000 };
#define AGAIN_NS 1000000000LL

struct body {
	uint32_t phase, epoch;
	enum sn_result_kind kind;
	struct sn_text bytes;
};

struct node {
	bool is_joined, is_begun, is_lost;
	bool is_waiting; /* a phase has been told of whose results are not all here */
	int64_t heard_ns;
	uint32_t epoch;		    /* the highest that was heard of */
	uint32_t phase;		    /* the last of which all results are here */
	SN_VEC(struct body) bodies; /* of this phase and later ones */
};

struct touched {
	uint32_t agent, epoch;
};

struct sn_front {
	struct sn_simulation *simulation;
	struct sn_journal journal;
	struct sn_link *link;
	struct node *nodes;
	uint32_t epoch; /* of this front */
	uint32_t *inner_epochs;
	struct sn_downlink down;
	struct sn_map refused; /* agent and epoch -> strangers */
	struct sn_map repeated;
	SN_VEC(struct touched) touched; /* streams that have new results */
	int64_t began_ns, opened_ns, again_ns;
	int64_t asked_ns; /* all nodes for the begin of the phases, by this front; 0: not, or all have answered */
	bool is_quiet;
};

/* ---- what the journal has ---- */

static bool is_node(const struct sn_front *f, uint32_t agent)
{
	return agent < f->simulation->places->nodes;
}

struct counting {
	struct sn_front *front;
	uint32_t agent;
};

static void epoch_expect(uint32_t epoch, uint64_t count, void *context)
{
	const struct counting *c = context;

	sn_journal_expect(&c->front->journal, c->agent, epoch, count);
}

static bool is_of(const struct body *body, uint32_t phase, uint32_t epoch)
{
	return body->phase == phase && body->epoch == epoch;
}

static bool phase_is_whole(const struct node *n, uint32_t phase, uint32_t epoch, uint32_t shares)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n->bodies.count; i++)
		count += n->bodies.items[i].kind == SN_RESULT_SHARE &&
			 is_of(&n->bodies.items[i], phase, epoch);
	return count == shares;
}

/* The latest phase that is whole; what came before it is of no further use. */
static void node_settle(struct sn_front *f, uint32_t agent)
{
	struct node *n = &f->nodes[agent];
	struct counting counting = { f, agent };
	size_t kept = 0;

	n->is_waiting = false;
	for (size_t i = 0; i < n->bodies.count; i++) {
		const struct body *b = &n->bodies.items[i];
		uint32_t shares;

		if (b->kind != SN_RESULT_PHASE || b->phase <= n->phase ||
		    !sn_result_phase_head((const uint8_t *)b->bytes.chars, b->bytes.length, &shares,
					  epoch_expect, &counting))
			continue;
		if (phase_is_whole(n, b->phase, b->epoch, shares))
			n->phase = b->phase;
		else
			n->is_waiting = true;
	}
	for (size_t i = 0; i < n->bodies.count; i++) {
		if (n->bodies.items[i].phase < n->phase)
			sn_text_free(&n->bodies.items[i].bytes);
		else
			n->bodies.items[kept++] = n->bodies.items[i];
	}
	n->bodies.count = kept;
}

static void result_keep(struct sn_front *f, const struct sn_link_frame *frame)
{
	struct node *n = &f->nodes[frame->agent];
	struct body body = { .epoch = frame->epoch };

	if (!sn_result_head(frame->body, frame->length, &body.kind, &body.phase) ||
	    body.phase < n->phase)
		return;
	sn_text_add_bytes(&body.bytes, (const char *)frame->body, frame->length);
	sn_vec_push(&n->bodies, body);
	if (body.kind == SN_RESULT_PHASE || n->is_waiting)
		node_settle(f, frame->agent);
}

static void most_keep(struct sn_map *map, const struct sn_link_frame *frame, uint64_t value)
{
	uint64_t *kept = sn_map_put(map, (uint64_t)frame->agent << 32 | frame->epoch, NULL);

	if (value > *kept)
		*kept = value;
}

static void joined(struct sn_front *f, const struct sn_link_frame *frame)
{
	uint32_t inner = frame->agent - SN_LINK_INNER;

	if (is_node(f, frame->agent)) {
		f->nodes[frame->agent].is_joined = true;
		if (frame->epoch > f->nodes[frame->agent].epoch)
			f->nodes[frame->agent].epoch = frame->epoch;
	} else if (inner < f->simulation->places->inners && frame->epoch > f->inner_epochs[inner]) {
		f->inner_epochs[inner] = frame->epoch;
	}
}

static void noted(struct sn_front *f, const struct sn_link_frame *frame)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);
	uint64_t refused = sn_cursor_u64(&cur), repeated = sn_cursor_u64(&cur);

	if (cur.status != SN_OK)
		return;
	most_keep(&f->refused, frame, refused);
	most_keep(&f->repeated, frame, repeated);
}

/* A frame of the journal. */
static void journal_see(const struct sn_link_frame *frame, void *context)
{
	struct sn_front *f = context;
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);

	if (frame->type == SN_LINK_RESULT && is_node(f, frame->agent))
		result_keep(f, frame);
	else if (frame->type == SN_LINK_HELLO)
		joined(f, frame);
	else if (frame->type == SN_LINK_NOTE)
		noted(f, frame);
	else if (frame->type == SN_LINK_BEGIN)
		f->began_ns = (int64_t)sn_cursor_u64(&cur);
}

/* ---- words to agents ---- */

/* To SN_LINK_FRONT: to all. */
static void agent_send(struct sn_front *f, uint16_t type, uint32_t agent, uint32_t epoch,
		       uint64_t ack, const struct sn_text *body)
{
	const struct sn_link_frame frame = { .type = type,
					     .agent = agent,
					     .epoch = epoch,
					     .ack = ack,
					     .body = (const uint8_t *)body->chars,
					     .length = (uint32_t)body->length };

	sn_downlink_queue(&f->down, &frame, sn_agent_now_ns());
}

static void all_send(struct sn_front *f, uint16_t type, const struct sn_text *body)
{
	agent_send(f, type, SN_LINK_FRONT, f->epoch, 0, body);
}

/* ---- what comes from below ---- */

static void touch(struct sn_front *f, uint32_t agent, uint32_t epoch)
{
	for (size_t i = f->touched.count; i-- > 0;)
		if (f->touched.items[i].agent == agent && f->touched.items[i].epoch == epoch)
			return;
	sn_vec_push(&f->touched, (struct touched){ agent, epoch });
}

static void elapsed_add(const struct sn_front *f, struct sn_text *body)
{
	sn_body_u64(body, f->began_ns ? (uint64_t)(sn_agent_now_ns() - f->began_ns) : UINT64_MAX);
}

/* A peer whose versions have none in common with ours is told so and goes. */
static bool version_agree(struct sn_front *f, const struct sn_link_frame *frame, uint16_t *version)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);
	const uint16_t lowest = SN_LINK_VERSION > 1 ? SN_LINK_VERSION - 1 : 1;
	uint16_t low = sn_cursor_u16(&cur), high = sn_cursor_u16(&cur);
	struct sn_text body = { 0 };

	*version = sn_link_version(lowest, SN_LINK_VERSION, low, high);
	if (*version)
		return true;
	sn_body_u16(&body, lowest);
	sn_body_u16(&body, SN_LINK_VERSION);
	sn_body_string(&body, "the front is of another version of sonde");
	agent_send(f, SN_LINK_REJECT, frame->agent, frame->epoch, 0, &body);
	sn_text_free(&body);
	return false;
}

static void hello_take(struct sn_front *f, const struct sn_link_frame *frame)
{
	struct sn_text body = { 0 };
	uint16_t version;
	bool is_known =
		is_node(f, frame->agent)
			? f->nodes[frame->agent].is_joined &&
				  frame->epoch <= f->nodes[frame->agent].epoch
			: frame->agent < SN_LINK_INNER ||
				  frame->agent - SN_LINK_INNER >= f->simulation->places->inners ||
				  frame->epoch <= f->inner_epochs[frame->agent - SN_LINK_INNER];

	if (!version_agree(f, frame, &version))
		return;
	if (!is_known)
		sn_journal_note(&f->journal, frame);
	joined(f, frame);
	sn_body_u16(&body, version);
	elapsed_add(f, &body);
	agent_send(f, SN_LINK_WELCOME, frame->agent, frame->epoch, 0, &body);
	sn_text_free(&body);
	for (uint32_t epoch = 1; is_node(f, frame->agent) && epoch <= f->nodes[frame->agent].epoch;
	     epoch++)
		if (sn_journal_through(&f->journal, frame->agent, epoch))
			touch(f, frame->agent, epoch);
}

static void node_heard(struct sn_front *f, uint32_t agent, int64_t now_ns)
{
	if (is_node(f, agent))
		f->nodes[agent].heard_ns = now_ns;
}

static void beat_take(struct sn_front *f, size_t peer, const struct sn_link_frame *frame,
		      int64_t now_ns)
{
	const struct sn_downlink_peer *p = &f->down.peers.items[peer];

	sn_downlink_beat(&f->down, peer, frame, 0);
	for (size_t i = 0; i < p->below.count; i++)
		node_heard(f, p->below.items[i], now_ns);
}

static void frame_take(struct sn_front *f, size_t peer, const struct sn_link_frame *frame,
		       int64_t now_ns)
{
	sn_downlink_route(&f->down, frame->agent, peer);
	node_heard(f, frame->agent, now_ns);
	switch (frame->type) {
	case SN_LINK_HELLO:
		hello_take(f, frame);
		break;
	case SN_LINK_BEAT:
		beat_take(f, peer, frame, now_ns);
		break;
	case SN_LINK_RESULT:
		if (!is_node(f, frame->agent))
			break;
		if (frame->epoch > f->nodes[frame->agent].epoch)
			f->nodes[frame->agent].epoch = frame->epoch;
		if (sn_journal_take(&f->journal, frame))
			result_keep(f, frame);
		touch(f, frame->agent, frame->epoch);
		break;
	case SN_LINK_BEGUN:
		if (is_node(f, frame->agent))
			f->nodes[frame->agent].is_begun = true;
		break;
	case SN_LINK_NOTE:
		noted(f, frame);
		break;
	default:
		break;
	}
}

static void messages_take(struct sn_front *f)
{
	struct sn_link_message message;
	int timeout_ms = WAIT_MS;

	for (int i = 0; i < DRAIN_MOST && sn_link_receive(f->link, timeout_ms, &message); i++) {
		struct sn_cursor cur = sn_cursor_over(message.bytes, message.length);
		int64_t now_ns = sn_agent_now_ns();
		size_t peer = sn_downlink_heard(&f->down, &message.peer, now_ns);
		struct sn_link_frame frame;

		while (sn_cursor_left(&cur) && sn_link_frame_read(&cur, &frame) == SN_OK)
			frame_take(f, peer, &frame, now_ns);
		timeout_ms = 0;
	}
}

/* ---- a turn ---- */

static void note_write(struct sn_front *f)
{
	const uint64_t key = (uint64_t)SN_LINK_FRONT << 32 | f->epoch;
	uint64_t refused = sn_link_refused(f->link), repeated = f->journal.repeated;
	const uint64_t *old_refused = sn_map_get(&f->refused, key);
	const uint64_t *old_repeated = sn_map_get(&f->repeated, key);
	struct sn_link_frame frame = { .type = SN_LINK_NOTE,
				       .agent = SN_LINK_FRONT,
				       .epoch = f->epoch };
	struct sn_text body = { 0 };

	if ((old_refused ? *old_refused : 0) == refused &&
	    (old_repeated ? *old_repeated : 0) == repeated)
		return;
	sn_body_u64(&body, refused);
	sn_body_u64(&body, repeated);
	frame.body = (const uint8_t *)body.chars;
	frame.length = (uint32_t)body.length;
	noted(f, &frame);
	sn_journal_note(&f->journal, &frame);
	sn_text_free(&body);
}

static void acks_send(struct sn_front *f)
{
	const struct sn_text none = { 0 };

	for (size_t i = 0; i < f->touched.count; i++) {
		const struct touched *t = &f->touched.items[i];

		agent_send(f, SN_LINK_ACK, t->agent, t->epoch,
			   sn_journal_through(&f->journal, t->agent, t->epoch), &none);
	}
	f->touched.count = 0;
}

static bool all_nodes(const struct sn_front *f, bool (*holds)(const struct node *node))
{
	for (uint32_t i = 0; i < f->simulation->places->nodes; i++)
		if (!holds(&f->nodes[i]))
			return false;
	return true;
}

static bool has_joined(const struct node *node)
{
	return node->is_joined;
}

static bool has_begun(const struct node *node)
{
	return node->is_begun || node->is_lost;
}

static uint32_t joined_count(const struct sn_front *f)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < f->simulation->places->nodes; i++)
		count += f->nodes[i].is_joined;
	return count;
}

static void phases_begin(struct sn_front *f, int64_t now_ns)
{
	struct sn_link_frame frame = { .type = SN_LINK_BEGIN,
				       .agent = SN_LINK_FRONT,
				       .epoch = f->epoch };
	struct sn_text body = { 0 };

	if (f->began_ns || (!all_nodes(f, has_joined) && now_ns - f->opened_ns < SN_FRONT_JOIN_NS))
		return;
	f->began_ns = f->asked_ns = now_ns;
	if (!f->is_quiet)
		sn_warn("%u of %u node agents have joined after %.2f s; the phases begin",
			joined_count(f), f->simulation->places->nodes,
			(double)(now_ns - f->opened_ns) / 1e9);
	sn_body_u64(&body, (uint64_t)now_ns);
	frame.body = (const uint8_t *)body.chars;
	frame.length = (uint32_t)body.length;
	sn_journal_note(&f->journal, &frame);
	sn_text_free(&body);
	atomic_store(&f->simulation->places->began_ns, now_ns);
}

/* To all, until all have answered: a word may get lost. */
static void begin_send(struct sn_front *f, int64_t now_ns)
{
	struct sn_text body = { 0 };

	if (f->asked_ns && all_nodes(f, has_begun)) {
		if (!f->is_quiet)
			sn_warn("all have answered after %.3f s",
				(double)(now_ns - f->asked_ns) / 1e9);
		f->asked_ns = 0;
	}
	if (!f->began_ns || now_ns < f->again_ns || all_nodes(f, has_begun))
		return;
	f->again_ns = now_ns + AGAIN_NS;
	elapsed_add(f, &body);
	all_send(f, SN_LINK_BEGIN, &body);
	sn_text_free(&body);
}

static bool node_is_done(const struct sn_front *f, const struct node *n)
{
	return n->phase == f->simulation->scenario->phases;
}

static void lost_look(struct sn_front *f, int64_t now_ns)
{
	const struct sn_scenario *s = f->simulation->scenario;

	if (!f->began_ns || now_ns < f->began_ns + (int64_t)(s->phases * s->phase_s * 1e9))
		return;
	for (uint32_t i = 0; i < f->simulation->places->nodes; i++) {
		struct node *n = &f->nodes[i];

		n->is_lost = !node_is_done(f, n) && now_ns - n->heard_ns > SN_FRONT_LOST_NS;
	}
}

/* All numbers of all nodes that came to their end. */
static bool is_over(const struct sn_front *f)
{
	for (uint32_t i = 0; i < f->simulation->places->nodes; i++)
		if (!f->nodes[i].is_lost && !node_is_done(f, &f->nodes[i]))
			return false;
	return true;
}

static bool has_all(const struct sn_front *f)
{
	for (uint32_t i = 0; i < f->simulation->places->nodes; i++)
		if (!node_is_done(f, &f->nodes[i]))
			return false;
	return !sn_journal_gaps(&f->journal);
}

static sn_status turn(struct sn_front *f, struct sn_error *err)
{
	int64_t now_ns;
	sn_status status;

	messages_take(f);
	now_ns = sn_agent_now_ns();
	phases_begin(f, now_ns);
	note_write(f);
	status = sn_journal_sync(&f->journal, err);
	if (status != SN_OK)
		return status;
	begin_send(f, now_ns);
	acks_send(f);
	sn_downlink_flush(&f->down, f->link);
	lost_look(f, now_ns);
	return SN_OK;
}

/* ---- all ---- */

sn_status sn_front_open(struct sn_simulation *simulation, struct sn_front **out,
			struct sn_error *err)
{
	struct sn_front *f = sn_alloc_zeroed(1, sizeof(*f));
	char *path = sn_simulation_file(simulation, "search.journal");
	sn_status status;

	f->simulation = simulation;
	f->opened_ns = sn_agent_now_ns();
	f->nodes = sn_alloc_zeroed(simulation->places->nodes, sizeof(*f->nodes));
	f->inner_epochs = sn_alloc_zeroed(simulation->places->inners, sizeof(*f->inner_epochs));
	status = sn_journal_open(path, &f->journal, journal_see, f, err);
	if (status == SN_OK && f->journal.damaged_bytes)
		sn_warn("search: %llu bytes of the journal '%s' are damaged, and left out",
			(unsigned long long)f->journal.damaged_bytes, path);
	free(path);
	if (status == SN_OK)
		*out = f;
	else
		sn_front_free(f);
	return status;
}

static sn_status link_open(struct sn_front *f, struct sn_error *err)
{
	struct sn_place *place = sn_place_of(f->simulation->places, SN_LINK_FRONT);
	char address[SN_LINK_ADDRESS] = "tcp://127.0.0.1:*";
	sn_status status =
		sn_link_open(f->simulation->secret, sn_place_is_cut, place, &f->link, err);

	if (status == SN_OK)
		status = sn_link_listen(f->link, address, err);
	if (status != SN_OK)
		return status;
	f->epoch = atomic_fetch_add(&place->epoch, 1) + 1;
	atomic_store(&place->pid, getpid());
	sn_place_address_set(place, address);
	return SN_OK;
}

/* After the last result there may be numbers that lack: a little time for those. */
sn_status sn_front_run(struct sn_front *f, bool (*is_interrupted)(void), bool is_quiet,
		       struct sn_error *err)
{
	sn_status status = link_open(f, err);
	int64_t over_ns = 0;

	f->is_quiet = is_quiet;
	for (uint32_t i = 0; i < f->simulation->places->nodes; i++)
		f->nodes[i].heard_ns = sn_agent_now_ns();
	while (status == SN_OK && !has_all(f) && !is_interrupted()) {
		status = turn(f, err);
		if (!is_over(f))
			over_ns = 0;
		else if (!over_ns)
			over_ns = sn_agent_now_ns();
		else if (sn_agent_now_ns() - over_ns > 3 * SN_AGENT_REPLAY_NS)
			break;
	}
	return status;
}

void sn_front_end(struct sn_front *f)
{
	const struct sn_text none = { 0 };
	int64_t begin_ns = sn_agent_now_ns();
	struct sn_error err;

	atomic_store(&f->simulation->places->is_over, 1);
	while (!sn_agents_are_gone(f->simulation) &&
	       sn_agent_now_ns() - begin_ns < SN_FRONT_END_NS) {
		all_send(f, SN_LINK_END, &none);
		sn_downlink_flush(&f->down, f->link);
		messages_take(f);
	}
	sn_agents_end(f->simulation);
	note_write(f);
	sn_journal_sync(&f->journal, &err);
}

void sn_front_free(struct sn_front *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->simulation->places->nodes; i++) {
		for (size_t k = 0; k < f->nodes[i].bodies.count; k++)
			sn_text_free(&f->nodes[i].bodies.items[k].bytes);
		sn_vec_free(&f->nodes[i].bodies);
	}
	sn_downlink_free(&f->down);
	sn_vec_free(&f->touched);
	sn_map_free(&f->refused);
	sn_map_free(&f->repeated);
	sn_link_close(f->link);
	sn_journal_close(&f->journal);
	free(f->nodes);
	free(f->inner_epochs);
	free(f);
}

/* ---- the result ---- */

/* The results of one epoch: where a spool was lost, another one has the phase once more. */
static uint32_t epoch_of(const struct node *n)
{
	uint32_t epoch = 0, shares;

	for (size_t i = 0; i < n->bodies.count; i++) {
		const struct body *b = &n->bodies.items[i];
		struct sn_cursor cur = sn_cursor_over(b->bytes.chars, b->bytes.length);

		if (b->kind != SN_RESULT_PHASE || b->phase != n->phase)
			continue;
		sn_cursor_skip(&cur, 5);
		shares = sn_cursor_u32(&cur);
		if (phase_is_whole(n, b->phase, b->epoch, shares) && (!epoch || b->epoch < epoch))
			epoch = b->epoch;
	}
	return epoch;
}

static void node_add(const struct sn_front *f, uint32_t host, struct sn_search *search)
{
	const struct sn_scenario *s = f->simulation->scenario;
	const struct node *n = &f->nodes[host];
	uint32_t epoch = epoch_of(n);

	for (size_t i = 0; n->phase && i < n->bodies.count; i++) {
		const struct body *b = &n->bodies.items[i];
		const uint8_t *bytes = (const uint8_t *)b->bytes.chars;

		if (!is_of(b, n->phase, epoch))
			continue;
		if (b->kind == SN_RESULT_SHARE)
			sn_result_share_add(bytes, b->bytes.length, host * s->processes,
					    s->processes, search);
		else
			sn_result_phase_add(bytes, b->bytes.length, search);
	}
}

static void counts_fill(const struct sn_front *f, struct sn_search *search)
{
	const struct sn_places *places = f->simulation->places;

	search->agents.hosts = places->nodes;
	for (uint32_t i = 0; i < places->nodes; i++) {
		const struct node *n = &f->nodes[i];

		search->agents.joined += n->is_joined;
		search->agents.lost += n->is_lost;
		search->agents.restarted += n->epoch > 1 ? n->epoch - 1 : 0;
	}
	for (uint32_t i = 0; i < places->inners; i++)
		search->agents.restarted += f->inner_epochs[i] > 1 ? f->inner_epochs[i] - 1 : 0;
	search->agents.refused = (uint32_t)sn_map_sum(&f->refused);
	search->results = (struct sn_search_results){ .received = f->journal.received,
						      .repeated = sn_map_sum(&f->repeated),
						      .lost = sn_journal_gaps(&f->journal) };
	search->is_partial = !has_all(f);
}

sn_status sn_front_search(struct sn_front *f, struct sn_search **out, struct sn_error *err)
{
	struct sn_simulation *simulation = f->simulation;
	const struct sn_scenario *s = simulation->scenario;
	struct sn_recorded *recorded = sn_scenario_of_all(s, simulation->library);
	struct sn_search *search = NULL;
	sn_status status;
	uint32_t phase = 0;

	if (!recorded)
		return sn_error_set(err, SN_ERR_FORMAT, "scenario: '%s' has no tables", s->name);
	status = sn_search_begin(recorded, simulation->library, &simulation->search, &search, err);
	if (status != SN_OK) {
		sn_recorded_free(recorded);
		return status;
	}
	for (uint32_t host = 0; host < simulation->places->nodes; host++) {
		node_add(f, host, search);
		if (f->nodes[host].phase > phase)
			phase = f->nodes[host].phase;
	}
	for (size_t i = 0; i < search->steps.count; i++)
		search->steps.items[i].executions = phase;
	search->phase.executions = phase;
	search->phase.mean_s = s->phase_s;
	sn_search_settle(search);
	counts_fill(f, search);
	*out = search;
	return SN_OK;
}
