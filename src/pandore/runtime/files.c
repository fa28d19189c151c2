/* Profiles and traces as files, written by the host; and traces while the program runs. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "pandore/runtime/measure.h"

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

static unsigned long long ns(const struct pd_node_measure *m, uint64_t ticks)
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
static void write_traffic(FILE *out, const struct pd_node_measure *nodes)
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

				if (!sent->messages && !sent->bytes)
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

static void write_points(FILE *out, const struct pd_node_measure *nodes)
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

static void write_times(FILE *out, const struct pd_node_measure *nodes)
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

/* A file is written beside its place, and takes it when it is whole. */
struct output {
	const char *path;
	char part[4096 + 32];
	struct timespec begun;
	bool is_late; /* its run is over, and another may have ended since */
	FILE *out;
};

static bool open_output(struct output *o, const char *path, bool is_late)
{
	struct stat there;

	*o = (struct output){ .path = path, .is_late = is_late };
	clock_gettime(CLOCK_REALTIME, &o->begun);
	/* a pipe, a device or a link is no file that another could take the place of */
	if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
		snprintf(o->part, sizeof(o->part), "%s", path);
	else
		snprintf(o->part, sizeof(o->part), "%s.part-%d", path, (int)getpid());
	o->out = fopen(o->part, "w");
	if (!o->out)
		perror(path);
	return o->out != NULL;
}

/* What stands there was written since this file was begun. */
static bool is_newer(const struct output *o)
{
	struct stat there;

	return stat(o->path, &there) == 0 && (there.st_mtim.tv_sec > o->begun.tv_sec ||
					      (there.st_mtim.tv_sec == o->begun.tv_sec &&
					       there.st_mtim.tv_nsec > o->begun.tv_nsec));
}

static void close_output(struct output *o)
{
	int failed = ferror(o->out);
	bool is_apart = strcmp(o->part, o->path) != 0;

	failed |= fclose(o->out) != 0;
	if (!failed && is_apart && o->is_late && is_newer(o)) {
		fprintf(stderr,
			"sonde: pandore: '%s' is of a later run and stays; what this run measured is in '%s'\n",
			o->path, o->part);
		return;
	}
	if (!failed && is_apart)
		failed = rename(o->part, o->path) != 0;
	if (!failed)
		return;
	fprintf(stderr, "sonde: pandore: cannot write '%s'\n", o->path);
	if (is_apart)
		unlink(o->part);
}

void pd_write_profile(const struct pd_node_measure *nodes, bool is_late)
{
	char buffer[4096];
	const char *path =
		output_path("SONDE_PANDORE_PROFILE", ".profile.json", buffer, sizeof(buffer));
	struct output o;

	if (!open_output(&o, path, is_late))
		return;
	write_head(o.out);
	write_traffic(o.out, nodes);
	write_points(o.out, nodes);
	write_times(o.out, nodes);
	close_output(&o);
}

static void write_after(FILE *out, int node, const struct pd_event *e, const uint32_t *wait)
{
	const char *separator = "";

	fprintf(out, ",\"after\":[");
	if (e->kind == PD_EVENT_RECEIVE) {
		fprintf(out, "[%u,%u]", e->peer, e->peer_event);
		separator = ",";
	}
	for (int n = 0; wait && n < pd_state.program->nodes; n++) {
		bool is_later = e->kind == PD_EVENT_RECEIVE && e->peer == (uint32_t)n &&
				e->peer_event + 1 >= wait[n + 1];

		if (n == node || !wait[n + 1] || is_later)
			continue;
		fprintf(out, "%s[%d,%u]", separator, n, wait[n + 1] - 1);
		separator = ",";
	}
	fprintf(out, "]");
}

/* A computation began when what came before it ended. A message is a moment, the end of its receive
 * or send: a receive's time is waiting, and a send's is ours. */
static void write_time(FILE *out, int node, const struct pd_event *e,
		       const struct pd_summary *summary)
{
	uint64_t duration = e->kind == PD_EVENT_POINT ? e->ticks : 0;
	uint64_t start = (uint64_t)((double)(e->end - duration) * summary->ns_per_tick);

	fprintf(out, ",\"start_s\":%.9f", pd_clocks_seconds(node, summary->first_ns + start));
	if (e->kind == PD_EVENT_POINT)
		fprintf(out, ",\"duration_s\":%.9f",
			(double)duration * summary->ns_per_tick * 1e-9);
}

static void write_event(FILE *out, int node, size_t index, const struct pd_event *e,
			const uint32_t *wait, const struct pd_summary *summary)
{
	const struct pd_program *p = pd_state.program;
	int is_point = e->kind == PD_EVENT_POINT;
	int is_observed = is_point && p->points[e->what].is_observed;
	int line = is_point ? p->points[e->what].line : p->sites[e->what].line;

	fprintf(out, "{\"process\":%d,\"index\":%zu,\"label\":", node, index);
	if (is_point) {
		write_string(out, p->points[e->what].label);
	} else {
		char label[300];

		snprintf(label, sizeof(label), "%s %s %s node %u",
			 e->kind == PD_EVENT_SEND ? "send" : "receive", p->sites[e->what].source,
			 e->kind == PD_EVENT_SEND ? "to" : "from", e->peer);
		write_string(out, label);
	}
	write_after(out, node, e, wait);
	fprintf(out, ",\"observed\":%s,\"file\":", is_observed ? "true" : "false");
	write_string(out, p->source);
	write_time(out, node, e, summary);
	fprintf(out, ",\"line\":%d}\n", line);
}

static void write_node_events(FILE *out, int node, const struct pd_node_measure *m)
{
	size_t columns = (size_t)pd_state.program->nodes + 1, next = 0;

	for (size_t i = 0; i < m->summary.event_count; i++) {
		const uint32_t *row = m->waits + next * columns;
		bool waited = next < m->summary.wait_count && row[0] == i;

		write_event(out, node, i, &m->events[i], waited ? row : NULL, &m->summary);
		next += waited;
	}
}

/* CPUs of the nodes' hosts together. An MPI may bind each process to a CPU of its own: then they add up. */
static uint64_t cpus_of(const struct pd_node_measure *nodes)
{
	uint64_t sum = 0;

	for (int n = 0; n < pd_state.program->nodes; n++) {
		bool is_known = false;

		for (int m = 0; m < n; m++)
			is_known |= nodes[m].summary.host == nodes[n].summary.host;
		if (!is_known || nodes[n].summary.cpus == 1)
			sum += nodes[n].summary.cpus;
	}
	return sum;
}

void pd_write_trace(const struct pd_node_measure *nodes, bool is_late)
{
	char buffer[4096];
	const char *path =
		output_path("SONDE_PANDORE_TRACE", ".trace.jsonl", buffer, sizeof(buffer));
	struct output o;

	if (!open_output(&o, path, is_late))
		return;
	fprintf(o.out, "{\"processes\":%d,\"cpus\":%llu}\n", pd_state.program->nodes,
		(unsigned long long)cpus_of(nodes));
	for (int n = 0; n < pd_state.program->nodes; n++)
		write_node_events(o.out, n, &nodes[n]);
	close_output(&o);
}

/* ---- while it runs ---- */

enum { LIVE_UNASKED = -2, LIVE_FAILED = -1 };

static int live_fd = LIVE_UNASKED;

/* What is no plain file could block the program or kill it by SIGPIPE. */
static int open_live(int more_flags)
{
	const char *path = getenv("SONDE_PANDORE_LIVE");
	struct stat st;
	int fd;

	if (!path || !*path)
		return LIVE_FAILED;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | more_flags, 0666);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	if (more_flags) /* the host says it once */
		fprintf(stderr,
			"sonde: pandore: SONDE_PANDORE_LIVE: '%s' cannot be written as a plain "
			"file; the run goes on without it\n",
			path);
	return LIVE_FAILED;
}

static void live_write(const char *bytes, size_t count)
{
	if (live_fd >= 0 && write(live_fd, bytes, count) != (ssize_t)count)
		live_fd = LIVE_FAILED; /* a full disk; the trace at the end is whole */
}

void pd_live_begin(void)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "{\"processes\":%d}\n", pd_state.program->nodes);

	live_fd = open_live(O_TRUNC);
	live_write(line, (size_t)length);
}

void pd_live_event(uint32_t index, const struct pd_event *event, const uint32_t *wait)
{
	struct pd_summary now = { .first_tick = pd_state.start_ticks,
				  .first_ns = pd_state.start_ns };
	uint64_t ticks, ns;
	char *line = NULL;
	size_t length = 0;
	FILE *memory;

	if (live_fd == LIVE_UNASKED)
		live_fd = open_live(0);
	if (live_fd < 0)
		return;
	memory = open_memstream(&line, &length);
	if (!memory)
		return;
	ticks = pd_now_ticks() - pd_state.start_ticks;
	ns = pd_now_ns() - pd_state.start_ns;
	now.ns_per_tick = ticks ? (double)ns / (double)ticks : 1;
	write_event(memory, pd_state.me, index, event, wait, &now);
	fclose(memory);
	live_write(line, length);
	free(line);
}

void pd_live_end(void)
{
	static const char line[] = "{\"end\":true}\n";

	live_write(line, sizeof(line) - 1);
}
