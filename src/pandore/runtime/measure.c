/* Counters and traces. Each process keeps its own; at the end the nodes send theirs to the host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pandore/runtime/runtime.h"

struct pd_counter *pd_counters;
uint64_t *pd_executions;

enum event_kind { EVENT_POINT, EVENT_SEND, EVENT_RECEIVE };

struct event {
	uint32_t kind, what; /* point or site */
	uint32_t peer, peer_event;
	uint64_t ticks; /* since the event before it, or the start of the phase */
};

static struct event *events;
static size_t event_count, event_capacity;

/* What the transport itself saw, whatever the generated code counted: messages and bytes from this
 * node to each node, for the tests (PANDORE_COUNTS names a file to append to). */
static uint64_t *sent_messages, *sent_bytes;

struct pd_header pd_measure_header(size_t count, int event)
{
	return (struct pd_header){ (uint32_t)count, (uint32_t)event };
}

static size_t counter_count(void)
{
	const struct pd_program *p = pd_state.program;

	return (size_t)p->site_count * (size_t)p->nodes;
}

void pd_measure_start(void)
{
	const struct pd_program *p = pd_state.program;

	pd_counters = pd_alloc_zeroed(counter_count(), sizeof(*pd_counters));
	pd_executions = pd_alloc_zeroed((size_t)p->point_count, sizeof(*pd_executions));
	pd_state.phase_times =
		pd_alloc_zeroed((size_t)p->phase_count, sizeof(struct pd_phase_times));
	pd_state.zone_times = pd_alloc_zeroed((size_t)p->zone_count, sizeof(struct pd_zone_times));
	pd_state.zone_entered = pd_alloc_zeroed((size_t)p->zone_count, sizeof(uint64_t));
	sent_messages = pd_alloc_zeroed((size_t)p->nodes, sizeof(uint64_t));
	sent_bytes = pd_alloc_zeroed((size_t)p->nodes, sizeof(uint64_t));
	pd_state.start_ticks = pd_now_ticks();
	pd_state.start_ns = pd_now_ns();
}

/* ---- while phases run ---- */

void pd_measure_sent(int to, size_t bytes)
{
	sent_messages[to]++;
	sent_bytes[to] += bytes;
}

void pd_zone_enter(int zone)
{
	pd_state.zone_entered[zone] = pd_now_ticks();
}

void pd_zone_leave(int zone)
{
	pd_state.zone_times[zone].executions++;
	pd_state.zone_times[zone].ticks += pd_now_ticks() - pd_state.zone_entered[zone];
}

static uint32_t record(enum event_kind kind, int what, int peer, uint32_t peer_event)
{
	uint64_t now;

	if (event_count == event_capacity) {
		event_capacity = event_capacity ? event_capacity * 2 : 4096;
		events = realloc(events, event_capacity * sizeof(*events));
		if (!events)
			pd_die_out_of_memory();
	}
	now = pd_now_ticks();
	events[event_count] = (struct event){ (uint32_t)kind, (uint32_t)what, (uint32_t)peer,
					      peer_event, now - pd_state.event_ticks };
	pd_state.event_ticks = now;
	return (uint32_t)event_count++;
}

void pd_trace_point(int point)
{
	record(EVENT_POINT, point, 0, 0);
}

void pd_trace_send(int site, int to, const void *bytes, size_t count)
{
	uint32_t event = record(EVENT_SEND, site, to, 0);

	pd_measure_sent(to, count);
	pd_net_send(to, pd_measure_header(count, (int)event), bytes, count);
}

void pd_trace_receive(int site, int from, void *bytes, size_t count, uint64_t *wait_ticks)
{
	struct pd_header header = pd_net_receive(from, bytes, count, wait_ticks);

	record(EVENT_RECEIVE, site, from, header.event);
}

/* ---- at the end ---- */

struct summary {
	uint64_t event_count;
	double ns_per_tick;
	uint64_t first_tick, first_ns; /* one moment on both clocks */
};

static void give_counts(void)
{
	const char *path = getenv("PANDORE_COUNTS");
	FILE *file = path ? fopen(path, "a") : NULL;

	for (int to = 0; file && to < pd_state.program->nodes; to++)
		if (sent_messages[to])
			fprintf(file, "%d %d %llu %llu\n", pd_state.me, to,
				(unsigned long long)sent_messages[to],
				(unsigned long long)sent_bytes[to]);
	if (file)
		fclose(file);
}

static struct summary summarize(void)
{
	uint64_t ticks = pd_now_ticks() - pd_state.start_ticks;
	uint64_t ns = pd_now_ns() - pd_state.start_ns;

	return (struct summary){ event_count, ticks ? (double)ns / (double)ticks : 1,
				 pd_state.start_ticks, pd_state.start_ns };
}

static void give(const void *bytes, size_t count)
{
	if (count)
		pd_net_send(pd_state.host_process, pd_measure_header(count, 0), bytes, count);
}

void pd_measure_give(void)
{
	const struct pd_program *p = pd_state.program;
	struct summary summary = summarize();

	give_counts();
	if (!p->has_profile && !p->has_trace)
		return;
	give(&summary, sizeof(summary));
	give(pd_counters, counter_count() * sizeof(*pd_counters));
	give(pd_executions, (size_t)p->point_count * sizeof(*pd_executions));
	give(pd_state.phase_times, (size_t)p->phase_count * sizeof(struct pd_phase_times));
	give(pd_state.zone_times, (size_t)p->zone_count * sizeof(struct pd_zone_times));
	give(events, event_count * sizeof(*events));
}

struct node_measure {
	struct summary summary;
	struct pd_counter *counters;
	uint64_t *executions;
	struct pd_phase_times *phases;
	struct pd_zone_times *zones;
	struct event *events;
};

static void *take(int node, size_t count, size_t bytes)
{
	void *memory = pd_alloc_zeroed(count, bytes);

	if (count)
		pd_net_receive(node, memory, count * bytes, NULL);
	return memory;
}

static struct node_measure own_measure(void)
{
	return (struct node_measure){ summarize(),	    pd_counters,	 pd_executions,
				      pd_state.phase_times, pd_state.zone_times, events };
}

static struct node_measure take_measure(int node)
{
	const struct pd_program *p = pd_state.program;
	struct node_measure m;

	pd_net_receive(node, &m.summary, sizeof(m.summary), NULL);
	m.counters = take(node, counter_count(), sizeof(*m.counters));
	m.executions = take(node, (size_t)p->point_count, sizeof(*m.executions));
	m.phases = take(node, (size_t)p->phase_count, sizeof(*m.phases));
	m.zones = take(node, (size_t)p->zone_count, sizeof(*m.zones));
	m.events = take(node, m.summary.event_count, sizeof(*m.events));
	return m;
}

/* ---- files ---- */

static void write_string(FILE *out, const char *chars)
{
	fputc('"', out);
	for (const unsigned char *c = (const unsigned char *)chars; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < 0x20 || *c >= 0x7f)
			fprintf(out, "\\u%04x", *c);
		else
			fputc(*c, out);
	}
	fputc('"', out);
}

static unsigned long long ns(const struct node_measure *m, uint64_t ticks)
{
	return (unsigned long long)((double)ticks * m->summary.ns_per_tick);
}

static void write_head(FILE *out)
{
	const struct pd_program *p = pd_state.program;

	fprintf(out, "{\"schema\":\"sonde.pandore-profile/1\",\"program\":");
	write_string(out, p->name);
	fprintf(out, ",\"source\":");
	write_string(out, p->source);
	fprintf(out, ",\"nodes\":%d,\"scheme\":\"%s\",\"backend\":\"%s\",\n\"phases\":[", p->nodes,
		p->scheme, pd_net_name);
	for (int i = 0; i < p->phase_count; i++) {
		fprintf(out, "%s", i ? "," : "");
		write_string(out, p->phases[i].name);
	}
	fprintf(out, "],\"zones\":[");
	for (int i = 0; i < p->zone_count; i++) {
		fprintf(out, "%s{\"zone\":", i ? "," : "");
		write_string(out, p->zones[i].name);
		fprintf(out, ",\"phase\":%d}", p->zones[i].phase);
	}
	fprintf(out, "],\n");
}

/* One row for each site and ordered pair of nodes that had traffic. */
static void write_traffic(FILE *out, const struct node_measure *nodes)
{
	const struct pd_program *p = pd_state.program;
	int count = p->nodes, rows = 0;

	fprintf(out, "\"traffic\":[");
	for (int s = 0; s < p->site_count; s++)
		for (int from = 0; from < count; from++)
			for (int to = 0; to < count; to++) {
				const struct pd_counter *sent =
					&nodes[from].counters[s * count + to];
				const struct pd_counter *got =
					&nodes[to].counters[s * count + from];

				if (!sent->messages)
					continue;
				fprintf(out,
					"%s\n{\"line\":%d,\"phase\":%d,\"zone\":%d,"
					"\"broadcast\":%s,\"source\":\"%s\",\"target\":",
					rows++ ? "," : "", p->sites[s].line, p->sites[s].phase,
					p->sites[s].zone,
					p->sites[s].is_broadcast ? "true" : "false",
					p->sites[s].source);
				write_string(out, p->sites[s].target);
				fprintf(out,
					",\"from\":%d,\"to\":%d,\"messages\":%llu,"
					"\"bytes\":%llu,\"wait_ns\":%llu}",
					from, to, (unsigned long long)sent->messages,
					(unsigned long long)sent->bytes,
					ns(&nodes[to], got->wait_ticks));
			}
	fprintf(out, "],\n");
}

static void write_points(FILE *out, const struct node_measure *nodes)
{
	const struct pd_program *p = pd_state.program;
	int rows = 0;

	fprintf(out, "\"assignments\":[");
	for (int i = 0; i < p->point_count; i++)
		for (int n = 0; n < p->nodes; n++)
			if (nodes[n].executions[i])
				fprintf(out,
					"%s\n{\"line\":%d,\"phase\":%d,\"zone\":%d,\"node\":%d,"
					"\"count\":%llu}",
					rows++ ? "," : "", p->points[i].line, p->points[i].phase,
					p->points[i].zone, n,
					(unsigned long long)nodes[n].executions[i]);
	fprintf(out, "],\n");
}

static void write_times(FILE *out, const struct node_measure *nodes)
{
	const struct pd_program *p = pd_state.program;

	fprintf(out, "\"phase_times\":[");
	for (int i = 0; i < p->phase_count; i++)
		for (int n = 0; n < p->nodes; n++) {
			const struct pd_phase_times *t = &nodes[n].phases[i];

			fprintf(out,
				"%s\n{\"phase\":%d,\"node\":%d,\"calls\":%llu,"
				"\"trigger_wait_ns\":%llu,\"distribution_ns\":%llu,"
				"\"run_ns\":%llu,\"collection_ns\":%llu}",
				i || n ? "," : "", i, n, (unsigned long long)t->calls,
				ns(&nodes[n], t->trigger_ticks),
				ns(&nodes[n], t->distribution_ticks), ns(&nodes[n], t->run_ticks),
				ns(&nodes[n], t->collection_ticks));
		}
	fprintf(out, "],\n\"zone_times\":[");
	for (int i = 0; i < p->zone_count; i++)
		for (int n = 0; n < p->nodes; n++)
			fprintf(out,
				"%s\n{\"zone\":%d,\"node\":%d,\"executions\":%llu,\"ns\":%llu}",
				i || n ? "," : "", i, n,
				(unsigned long long)nodes[n].zones[i].executions,
				ns(&nodes[n], nodes[n].zones[i].ticks));
	fprintf(out, "]}\n");
}

static const char *output_path(const char *variable, const char *ending, char *buffer, size_t bytes)
{
	const char *path = getenv(variable), *name = pd_state.program->name;
	const char *slash = strrchr(name, '/');

	if (path && *path)
		return path;
	snprintf(buffer, bytes, "%s%s", slash ? slash + 1 : name, ending);
	return buffer;
}

static FILE *open_output(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		perror(path);
	return out;
}

static void close_output(FILE *out, const char *path)
{
	int failed = ferror(out);

	if (fclose(out) || failed)
		fprintf(stderr, "sonde: pandore: cannot write '%s'\n", path);
}

static void write_profile(const struct node_measure *nodes)
{
	char buffer[4096];
	const char *path =
		output_path("SONDE_PANDORE_PROFILE", ".profile.json", buffer, sizeof(buffer));
	FILE *out = open_output(path);

	if (!out)
		return;
	write_head(out);
	write_traffic(out, nodes);
	write_points(out, nodes);
	write_times(out, nodes);
	close_output(out, path);
}

static void write_event(FILE *out, int node, size_t index, const struct node_measure *m)
{
	const struct event *e = &m->events[index];
	const struct pd_program *p = pd_state.program;
	const struct pd_site *site = e->kind == EVENT_POINT ? NULL : &p->sites[e->what];
	const struct pd_point *point = e->kind == EVENT_POINT ? &p->points[e->what] : NULL;

	fprintf(out, "{\"process\":%d,\"index\":%zu,\"label\":", node, index);
	if (point) {
		write_string(out, point->label);
	} else {
		char label[300];

		snprintf(label, sizeof(label), "%s %s %s node %u",
			 e->kind == EVENT_SEND ? "send" : "receive", site->source,
			 e->kind == EVENT_SEND ? "to" : "from", e->peer);
		write_string(out, label);
	}
	if (e->kind == EVENT_RECEIVE)
		fprintf(out, ",\"after\":[[%u,%u]]", e->peer, e->peer_event);
	else
		fprintf(out, ",\"after\":[]");
	fprintf(out, ",\"observed\":%s,\"file\":", point && point->is_observed ? "true" : "false");
	write_string(out, p->source);
	if (point) /* what was computed since; a receive's time is waiting, a send's is ours */
		fprintf(out, ",\"duration_s\":%.9f",
			(double)e->ticks * m->summary.ns_per_tick * 1e-9);
	fprintf(out, ",\"line\":%d}\n", point ? point->line : site->line);
}

static void write_trace(const struct node_measure *nodes)
{
	char buffer[4096];
	const char *path =
		output_path("SONDE_PANDORE_TRACE", ".trace.jsonl", buffer, sizeof(buffer));
	FILE *out = open_output(path);

	if (!out)
		return;
	fprintf(out, "{\"processes\":%d}\n", pd_state.program->nodes);
	for (int n = 0; n < pd_state.program->nodes; n++)
		for (size_t i = 0; i < nodes[n].summary.event_count; i++)
			write_event(out, n, i, &nodes[n]);
	close_output(out, path);
}

void pd_measure_collect(void)
{
	const struct pd_program *p = pd_state.program;
	struct node_measure *nodes;

	if (p->host_inside)
		give_counts();
	if (!p->has_profile && !p->has_trace)
		return;
	nodes = pd_alloc_zeroed((size_t)p->nodes, sizeof(*nodes));
	for (int n = 0; n < p->nodes; n++)
		nodes[n] = n == pd_state.host_process ? own_measure() : take_measure(n);
	if (p->has_profile)
		write_profile(nodes);
	if (p->has_trace)
		write_trace(nodes);
}
