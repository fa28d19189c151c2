/*
 * The LDMS publisher. One JSON message per heartbeat and interval, summed over threads, through the message service of
 * LDMS (4.5 and later; manual page ldms_msg(7)). The keys job_id, ProducerName, rank, timestamp,
 * region and time are those that stores of LDMS already know from other tools.
 *
 * Nothing here waits for the network while the program runs: the connection is made by LDMS's own
 * threads. Messages made meanwhile are kept, so that the first interval is not lost; what finds no
 * connection, no room or no send quota is dropped, and the next one tells how many were. At the end
 * a connection that is being made is given a moment, if messages wait for it.
 */
#include <ldms/ldms.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/heartbeat/parts.h"
#include "runtime/heartbeat/publishers/sums.h"

enum link_state { LINK_NONE, LINK_CONNECTING, LINK_UP, LINK_DOWN };

enum { FIRST_PAUSE_S = 5, LONGEST_PAUSE_S = 300, KEPT_MAX = 256, LAST_WAIT_MS = 2000 };

static struct {
	struct sonde_heartbeat_process process;
	struct beat_sums sums;
	ldms_t transport;
	int state; /* enum link_state; LDMS's threads change it */
	uint64_t retry_ns, pause_s;
	uint64_t dropped; /* messages */
	struct beat_text kept[KEPT_MAX];
	unsigned kept_count;
	char channel[128], host[256], port[32], kind[32], authentication[32];
} me;

static void on_event(ldms_t transport, ldms_xprt_event_t event, void *context)
{
	(void)transport, (void)context;
	if (event->type == LDMS_XPRT_EVENT_CONNECTED)
		__atomic_store_n(&me.state, LINK_UP, __ATOMIC_RELEASE);
	else if (event->type == LDMS_XPRT_EVENT_REJECTED || event->type == LDMS_XPRT_EVENT_ERROR ||
		 event->type == LDMS_XPRT_EVENT_DISCONNECTED)
		__atomic_store_n(&me.state, LINK_DOWN, __ATOMIC_RELEASE);
}

static void disconnect(uint64_t now_ns)
{
	if (me.transport)
		ldms_xprt_put(me.transport, "rail_ref");
	me.transport = NULL;
	me.pause_s = me.pause_s * 2 < LONGEST_PAUSE_S ? me.pause_s * 2 : LONGEST_PAUSE_S;
	me.retry_ns = now_ns + me.pause_s * 1000000000;
	__atomic_store_n(&me.state, LINK_NONE, __ATOMIC_RELEASE);
}

static void connect_now(uint64_t now_ns)
{
	me.transport = ldms_xprt_new_with_auth(me.kind, me.authentication, NULL);
	__atomic_store_n(&me.state, LINK_CONNECTING, __ATOMIC_RELEASE);
	if (!me.transport ||
	    ldms_xprt_connect_by_name(me.transport, me.host, me.port, on_event, NULL) != 0)
		disconnect(now_ns);
}

/* True when messages can be sent. */
static bool keep_link(uint64_t now_ns)
{
	int state = __atomic_load_n(&me.state, __ATOMIC_ACQUIRE);

	if (state == LINK_DOWN)
		disconnect(now_ns);
	else if (state == LINK_NONE && now_ns >= me.retry_ns)
		connect_now(now_ns);
	else if (state == LINK_UP)
		me.pause_s = FIRST_PAUSE_S / 2;
	return __atomic_load_n(&me.state, __ATOMIC_ACQUIRE) == LINK_UP;
}

static void add_key(struct beat_text *text, const char *key)
{
	beat_text_string(text, ",\"");
	beat_text_string(text, key);
	beat_text_string(text, "\":");
}

static void add_text(struct beat_text *text, const char *key, const char *chars, size_t length)
{
	add_key(text, key);
	beat_text_json(text, chars, length);
}

static void add_number(struct beat_text *text, const char *key, uint64_t value)
{
	add_key(text, key);
	beat_text_uint(text, value);
}

static void add_seconds(struct beat_text *text, const char *key, uint64_t ns)
{
	add_key(text, key);
	beat_text_seconds(text, ns);
}

/* Stores want every key in every message: an unknown rank is -1, an unknown job "". */
static void add_message(struct beat_text *text, const struct beat_sum *sum, uint64_t end_ns,
			uint64_t length_ns)
{
	const struct sonde_heartbeat_row *row = &sum->last;
	const char *job_id = me.process.job_id ? me.process.job_id : "";

	beat_text_string(text, "{\"schema\":\"sonde_heartbeat\"");
	add_text(text, "job_id", job_id, strlen(job_id));
	add_text(text, "ProducerName", me.process.host, strlen(me.process.host));
	add_text(text, "program", me.process.program, strlen(me.process.program));
	add_number(text, "pid", me.process.pid);
	add_key(text, "rank");
	if (me.process.rank < 0)
		beat_text_string(text, "-1");
	else
		beat_text_uint(text, (uint64_t)me.process.rank);
	add_seconds(text, "timestamp", end_ns);
	add_seconds(text, "interval", length_ns);
	add_text(text, "region", sum->name, sum->name_length);
	add_seconds(text, "time", row->sum_ns);
	add_number(text, "count", row->count);
	add_number(text, "timed", row->timed);
	add_seconds(text, "time_min", row->min_ns);
	add_seconds(text, "time_max", row->max_ns);
	add_number(text, "open", row->open);
	add_seconds(text, "time_open", row->open_ns);
	add_number(text, "work", row->work);
	add_number(text, "threads", row->threads);
	add_number(text, "misuse", row->misuse);
	add_number(text, "dropped_messages", me.dropped);
	beat_text_string(text, "}");
	beat_text_add(text, "", 1); /* LDMS wants the zero within the length */
}

static bool is_published(const struct beat_text *text)
{
	return ldms_msg_publish(me.transport, me.channel, LDMS_MSG_JSON, NULL, 0440, text->chars,
				text->length) == 0;
}

static void send_kept(void)
{
	for (unsigned i = 0; i < me.kept_count; i++) {
		me.dropped += !is_published(&me.kept[i]);
		free(me.kept[i].chars);
	}
	me.kept_count = 0;
}

static void send_sum(const struct beat_sum *sum, uint64_t end_ns, uint64_t length_ns, bool is_up)
{
	bool is_connecting = __atomic_load_n(&me.state, __ATOMIC_ACQUIRE) == LINK_CONNECTING;
	struct beat_text text = { 0 };

	if (is_up || is_connecting)
		add_message(&text, sum, end_ns, length_ns);
	if (!is_up && is_connecting && !text.is_short && me.kept_count < KEPT_MAX) {
		me.kept[me.kept_count++] = text;
		return;
	}
	if (!is_up || text.is_short || !is_published(&text))
		me.dropped++;
	free(text.chars);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void end_interval(uint64_t end_realtime_ns, uint64_t length_ns)
{
	bool is_up = keep_link(now_ns());

	if (is_up)
		send_kept();
	for (uint32_t i = 0; i < me.sums.count; i++)
		if (me.sums.items[i].is_touched)
			send_sum(&me.sums.items[i], end_realtime_ns, length_ns, is_up);
	beat_sums_settle(&me.sums);
}

static void add_row(const struct sonde_heartbeat_row *row)
{
	beat_sums_add(&me.sums, row);
}

static void setting(char *out, size_t bytes, const char *name, const char *otherwise)
{
	const char *value = secure_getenv(name);

	strncpy(out, value && *value ? value : otherwise, bytes - 1);
}

static const char *start(const struct sonde_heartbeat_process *process)
{
	me.process = *process;
	setting(me.channel, sizeof(me.channel), "SONDE_HEARTBEAT_LDMS_CHANNEL", "sonde-heartbeat");
	setting(me.host, sizeof(me.host), "SONDE_HEARTBEAT_LDMS_HOST", "localhost");
	setting(me.port, sizeof(me.port), "SONDE_HEARTBEAT_LDMS_PORT", "411");
	setting(me.kind, sizeof(me.kind), "SONDE_HEARTBEAT_LDMS_XPRT", "sock");
	setting(me.authentication, sizeof(me.authentication), "SONDE_HEARTBEAT_LDMS_AUTH", "none");
	me.pause_s = FIRST_PAUSE_S / 2;
	connect_now(now_ns());
	return NULL;
}

static void stop(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < LAST_WAIT_MS && me.kept_count &&
			__atomic_load_n(&me.state, __ATOMIC_ACQUIRE) == LINK_CONNECTING;
	     i++)
		nanosleep(&pause, NULL);
	if (__atomic_load_n(&me.state, __ATOMIC_ACQUIRE) == LINK_UP)
		send_kept();
	for (unsigned i = 0; i < me.kept_count; i++)
		free(me.kept[i].chars);
	me.kept_count = 0;
	if (me.transport)
		ldms_xprt_close(me.transport);
	me.transport = NULL;
	beat_sums_free(&me.sums);
}

/* No `forked`: the threads of LDMS are not in a forked child, and its library cannot start anew. */
__attribute__((visibility("default")))
const struct sonde_heartbeat_publisher sonde_heartbeat_publisher = {
	.version = SONDE_HEARTBEAT_PUBLISHER_VERSION,
	.start = start,
	.row = add_row,
	.interval = end_interval,
	.stop = stop,
};
