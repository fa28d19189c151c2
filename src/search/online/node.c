/* The thread that has the link, and what it shares with the others under one lock. */
#include "search/online/node.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "search/online/above.h"

enum { WAIT_MS = 10 };
#define CLOSING_NS 5000000000LL
#define TELL_NS	   100000000LL /* how often it tells how far processes are */

struct node_say {
	char sentence[240];
};

struct sn_node {
	const char *folder, *name;
	struct sn_uplink uplink;
	struct sn_outbox outbox;
	struct sn_above above;
	int64_t replay_ns, tell_ns;
	pthread_t thread;

	pthread_mutex_t lock; /* of all below */
	struct sn_node_view view;
	struct sn_node_step asked;
	uint32_t answered;
	bool wants, is_over, is_closing;
	uint32_t traces;     /* that it wants */
	bool has_room;	     /* the spool could be written */
	struct sn_told *end; /* to be told; then NULL */
	SN_VEC(struct sn_text) bodies;
	SN_VEC(struct node_say) sayings;
};

/* ---- sending ---- */

static void frames_send(struct sn_node *n, size_t first)
{
	sn_uplink_send_outbox(&n->uplink, &n->outbox, first);
	n->replay_ns = sn_agent_now_ns() + SN_AGENT_REPLAY_NS;
}

static void say_send(struct sn_node *n, const char *sentence)
{
	struct sn_text body = { 0 };

	sn_body_string(&body, n->name);
	sn_body_string(&body, sentence);
	sn_uplink_send(&n->uplink, SN_LINK_SAY, 0, 0, &body);
	sn_text_free(&body);
}

/* Without room in the spool a result is in none: the front is told, and nothing more is measured. */
static void bodies_keep(struct sn_node *n, const struct sn_text *bodies, size_t count)
{
	size_t first = n->outbox.frames.count;
	struct sn_error err;

	if (!count || !n->has_room)
		return;
	if (sn_outbox_add(&n->outbox, bodies, count, &err) == SN_OK) {
		frames_send(n, first);
		return;
	}
	n->has_room = false;
	say_send(n, err.sentence);
}

static void at_send(struct sn_node *n, int64_t now_ns)
{
	struct sn_text body = { 0 };

	if (now_ns < n->tell_ns)
		return;
	n->tell_ns = now_ns + TELL_NS;
	sn_body_u32(&body, n->view.ended);
	sn_body_double(&body, n->view.mean_s);
	sn_body_u32(&body, n->answered);
	sn_body_u32(&body, n->wants && n->has_room);
	sn_body_u32(&body, n->view.is_found);
	sn_body_string(&body, n->name);
	sn_body_u32(&body,
		    n->traces); /* an older front does not look for it, nor for what follows */
	sn_body_u32(&body, n->view.is_deaf);
	sn_uplink_send(&n->uplink, SN_LINK_AT, 0, 0, &body);
	sn_text_free(&body);
}

/* ---- what comes ---- */

static void step_take(struct sn_node *n, const struct sn_link_frame *frame)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);
	struct sn_node_step step = { .step = sn_cursor_u32(&cur) };

	step.first = sn_cursor_u32(&cur);
	step.executions = sn_cursor_u32(&cur);
	step.stop_ns = (int64_t)sn_cursor_u64(&cur);
	if (cur.status != SN_OK || step.step <= n->asked.step || !step.executions ||
	    step.stop_ns < 0)
		return;
	step.traces = sn_cursor_u32(&cur);
	n->asked = step;
}

static void frame_take(struct sn_node *n, const struct sn_link_frame *frame)
{
	sn_uplink_heard(&n->uplink, frame, sn_agent_now_ns());
	if (frame->type == SN_LINK_MEASURE)
		step_take(n, frame);
	else if (frame->type == SN_LINK_ACK && frame->agent == n->outbox.agent)
		sn_outbox_ack(&n->outbox, frame->epoch, frame->ack);
	else if (frame->type == SN_LINK_END || frame->type == SN_LINK_REJECT)
		n->is_over = true;
}

static void messages_take(struct sn_node *n)
{
	struct sn_link_message message;
	struct sn_link_frame frame;
	int timeout_ms = WAIT_MS;

	while (sn_link_receive(n->uplink.link, timeout_ms, &message)) {
		struct sn_cursor cur = sn_cursor_over(message.bytes, message.length);

		pthread_mutex_lock(&n->lock);
		while (sn_cursor_left(&cur) && sn_link_frame_read(&cur, &frame) == SN_OK)
			frame_take(n, &frame);
		pthread_mutex_unlock(&n->lock);
		timeout_ms = 0;
	}
}

/* ---- the thread ---- */

static void told_take(struct sn_node *n)
{
	for (size_t i = 0; i < n->bodies.count; i++) {
		bodies_keep(n, &n->bodies.items[i], 1);
		sn_text_free(&n->bodies.items[i]);
	}
	n->bodies.count = 0;
	/* a front that does not know the host yet would pass over them */
	for (size_t i = 0; i < n->sayings.count && n->uplink.is_welcome; i++)
		say_send(n, n->sayings.items[i].sentence);
	n->sayings.count = n->uplink.is_welcome ? 0 : n->sayings.count;
	if (n->end) {
		struct sn_text body = { 0 };

		sn_told_end(n->end, &n->outbox, &body);
		n->end = NULL;
		bodies_keep(n, &body, 1);
		sn_text_free(&body);
	}
}

static bool round_go(struct sn_node *n)
{
	int64_t now_ns = sn_agent_now_ns();
	bool is_done;

	pthread_mutex_lock(&n->lock);
	if (sn_uplink_look(&n->uplink, now_ns))
		frames_send(n, 0);
	sn_uplink_beat(&n->uplink, now_ns, NULL, 0);
	told_take(n);
	if (n->outbox.unacked && now_ns >= n->replay_ns)
		frames_send(n, 0);
	at_send(n, now_ns);
	n->is_over = n->is_over || sn_uplink_is_alone(&n->uplink, now_ns) ||
		     (!n->view.is_needed && now_ns - n->uplink.front_heard_ns > SN_NODE_IDLE_NS);
	is_done = n->is_closing && !n->end && (!n->outbox.unacked || !n->has_room);
	pthread_mutex_unlock(&n->lock);
	messages_take(n);
	return !is_done;
}

static void *link_run(void *context)
{
	struct sn_node *n = context;
	int64_t last_ns = 0;

	while (round_go(n)) {
		bool is_closing;

		pthread_mutex_lock(&n->lock);
		is_closing = n->is_closing;
		pthread_mutex_unlock(&n->lock);
		if (is_closing && !last_ns)
			last_ns = sn_agent_now_ns() + CLOSING_NS;
		if (last_ns && sn_agent_now_ns() > last_ns)
			break;
	}
	sn_link_close(n->uplink.link);
	return NULL;
}

/* ---- all ---- */

static sn_status node_begin(struct sn_node *n, uint32_t fanout, uint32_t epoch,
			    struct sn_error *err)
{
	const struct sn_uplink_above above = sn_above_uplink(&n->above);
	struct sn_text spool = { 0 };
	uint32_t number;
	sn_status status = sn_above_open(n->folder, fanout, &n->above, err);

	if (status == SN_OK && !sn_node_number(n->folder, n->name, &number))
		status = sn_error_set(err, SN_ERR_NOT_FOUND,
				      "search: host '%s' has no part in the search of '%s'",
				      n->name, n->folder);
	if (status != SN_OK)
		return status;
	sn_text_addf(&spool, "%s/search.nodes/spool.%u", n->folder, number);
	status = sn_outbox_open(spool.chars, number, epoch, &n->outbox, err);
	sn_text_free(&spool);
	if (status == SN_OK)
		status = sn_uplink_open(&above, n->above.secret, number, epoch, &n->uplink, err);
	if (status == SN_OK && pthread_create(&n->thread, NULL, link_run, n))
		status = sn_error_set(err, SN_ERR_IO, "search: the agent cannot have a thread");
	return status;
}

sn_status sn_node_open(const char *folder, const char *name, uint32_t fanout, uint32_t epoch,
		       struct sn_node **out, struct sn_error *err)
{
	struct sn_node *n = sn_alloc_zeroed(1, sizeof(*n));
	sn_status status;

	n->folder = folder;
	n->name = name;
	n->has_room = true;
	n->view.is_needed = true;
	pthread_mutex_init(&n->lock, NULL);
	status = node_begin(n, fanout, epoch, err);
	if (status == SN_OK)
		*out = n;
	else
		free(n);
	return status;
}

void sn_node_tell(struct sn_node *n, const struct sn_node_view *view)
{
	pthread_mutex_lock(&n->lock);
	if ((!n->view.ended && view->ended) || (!n->view.is_deaf && view->is_deaf))
		n->tell_ns = 0; /* the front waits for that */
	n->view = *view;
	pthread_mutex_unlock(&n->lock);
}

void sn_node_want(struct sn_node *n, bool wants, uint32_t traces)
{
	pthread_mutex_lock(&n->lock);
	if (n->wants != wants || n->traces != traces)
		n->tell_ns = 0;
	n->wants = wants;
	n->traces = traces;
	pthread_mutex_unlock(&n->lock);
}

bool sn_node_asked(struct sn_node *n, uint32_t after, struct sn_node_step *out)
{
	bool is_new;

	pthread_mutex_lock(&n->lock);
	is_new = n->asked.step > after && n->has_room;
	if (is_new)
		*out = n->asked;
	pthread_mutex_unlock(&n->lock);
	return is_new;
}

void sn_node_measured(struct sn_node *n, uint32_t step, const struct sn_mri_window *window)
{
	struct sn_text body = { 0 };

	if (window)
		sn_told_window(step, window, &body);
	else
		sn_told_none(step, &body);
	pthread_mutex_lock(&n->lock);
	n->answered = step;
	n->tell_ns = 0;
	sn_vec_push(&n->bodies, body);
	pthread_mutex_unlock(&n->lock);
}

void sn_node_say(struct sn_node *n, const char *sentence)
{
	struct node_say say;

	snprintf(say.sentence, sizeof(say.sentence), "%s", sentence);
	pthread_mutex_lock(&n->lock);
	sn_vec_push(&n->sayings, say);
	pthread_mutex_unlock(&n->lock);
}

bool sn_node_is_over(struct sn_node *n)
{
	bool is_over;

	pthread_mutex_lock(&n->lock);
	is_over = n->is_over || !n->has_room;
	pthread_mutex_unlock(&n->lock);
	return is_over;
}

void sn_node_close(struct sn_node *n, const struct sn_told *end)
{
	struct sn_told told = *end;

	pthread_mutex_lock(&n->lock);
	n->end = &told;
	n->is_closing = true;
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->thread, NULL);
	sn_outbox_close(&n->outbox);
	sn_vec_free(&n->bodies);
	sn_vec_free(&n->sayings);
	sn_above_close(&n->above);
	free(n);
}
