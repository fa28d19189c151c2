/* Counters and traces. Each process keeps its own; at the end the nodes send theirs to the host. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pandore/runtime/measure.h"

struct pd_counter *pd_counters;
uint64_t *pd_executions;

static struct pd_measured kept;
static struct pd_event *events;
static size_t event_count, event_capacity;

/* The order through the host: for each node how many of its events surely came before. The host
 * knows it from the collections; a node gets it when it is triggered. A row of `waits` is an event
 * of this node and the counts which that event, the first one since, came after. */
static uint32_t *host_order;
static bool is_order_new;
static uint32_t *waits;
static size_t wait_count, wait_capacity;

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

static uint64_t host_hash(void)
{
	char name[256] = "";
	uint64_t hash = 14695981039346656037ULL; /* FNV-1a */

	gethostname(name, sizeof(name) - 1);
	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
	return hash;
}

static uint64_t cpus_allowed(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 0 : (uint64_t)CPU_COUNT(&set);
}

static struct pd_summary summarize(void)
{
	uint64_t ticks, ns;

	pd_clocks_read(&ticks, &ns);
	ticks -= pd_state.start_ticks;
	ns -= pd_state.start_ns;
	return (struct pd_summary){
		event_count,	      wait_count,	 ticks ? (double)ns / (double)ticks : 1,
		pd_state.start_ticks, pd_state.start_ns, host_hash(),
		cpus_allowed()
	};
}

void pd_measure_start(void)
{
	const struct pd_program *p = pd_state.program;

	if (!pd_keep_open(pd_state.me, &kept))
		pd_die_out_of_memory();
	pd_counters = kept.counters;
	pd_executions = kept.executions;
	pd_state.phase_times = kept.phases;
	pd_state.zone_times = kept.zones;
	pd_state.zone_entered = pd_alloc_zeroed((size_t)p->zone_count, sizeof(uint64_t));
	sent_messages = pd_alloc_zeroed((size_t)p->nodes, sizeof(uint64_t));
	sent_bytes = pd_alloc_zeroed((size_t)p->nodes, sizeof(uint64_t));
	host_order = pd_alloc_zeroed((size_t)p->nodes, sizeof(*host_order));
	if (p->has_trace)
		pd_clocks_meet_first();
	pd_clocks_read(&pd_state.start_ticks, &pd_state.start_ns);
	kept.head->summary = summarize();
	if (p->has_trace && pd_state.me == pd_state.host_process)
		pd_live_begin();
}

/* ---- while phases run ---- */

static void set_running(int phase)
{
	__atomic_store_n(&kept.head->running, phase, __ATOMIC_RELEASE);
}

void pd_measure_run_begin(int phase)
{
	pd_state.event_ticks = kept.head->running_since = pd_now_ticks();
	set_running(phase + 1);
}

void pd_measure_run_end(int phase)
{
	struct pd_phase_times *times = &pd_state.phase_times[phase];

	set_running(0);
	times->run_ticks += pd_now_ticks() - kept.head->running_since;
	times->calls++;
}

void pd_measure_sent(int to, size_t bytes)
{
	sent_messages[to]++;
	sent_bytes[to] += bytes;
}

void pd_measure_bytes(int site, int to, size_t bytes)
{
	if (pd_state.program->has_profile)
		pd_counters[site * pd_state.program->nodes + to].bytes += bytes;
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

struct pd_header pd_measure_collection_header(size_t bytes)
{
	return pd_measure_header(bytes, (int)event_count);
}

void pd_measure_collected(int node, struct pd_header header)
{
	host_order[node] = header.event;
}

void pd_measure_ran_inside(void)
{
	host_order[pd_state.me] = (uint32_t)event_count;
}

void pd_measure_send_order(int node)
{
	size_t bytes = (size_t)pd_state.program->nodes * sizeof(*host_order);

	if (pd_state.program->has_trace)
		pd_net_send(node, pd_measure_header(bytes, 0), host_order, bytes);
}

void pd_measure_receive_order(void)
{
	size_t bytes = (size_t)pd_state.program->nodes * sizeof(*host_order);

	if (!pd_state.program->has_trace)
		return;
	pd_net_receive(pd_state.host_process, host_order, bytes, NULL);
	is_order_new = true;
}

void pd_measure_order_inside(void)
{
	is_order_new = true;
}

static size_t wait_columns(void)
{
	return (size_t)pd_state.program->nodes + 1;
}

static void *grow(enum pd_measured_list list, void *old, size_t old_bytes, size_t bytes)
{
	void *memory = pd_keep_grow(pd_state.me, list, old, old_bytes, bytes);

	if (!memory)
		pd_die_out_of_memory();
	return memory;
}

/* After what is counted: who reads the one sees the other. */
static void set_count(uint64_t *place, size_t count)
{
	__atomic_store_n(place, count, __ATOMIC_RELEASE);
}

/* The row for the event that is about to be recorded, or NULL: it waited for no other node. */
static const uint32_t *add_wait(void)
{
	uint32_t *row, others = 0;

	if (!is_order_new)
		return NULL;
	is_order_new = false;
	for (int n = 0; n < pd_state.program->nodes; n++)
		others |= n == pd_state.me ? 0 : host_order[n];
	if (!others)
		return NULL;
	if (wait_count == wait_capacity) {
		size_t old = wait_capacity, row_bytes = wait_columns() * sizeof(*waits);

		wait_capacity = wait_capacity ? wait_capacity * 2 : 16;
		waits = grow(PD_MEASURED_WAITS, waits, old * row_bytes, wait_capacity * row_bytes);
	}
	row = waits + wait_count++ * wait_columns();
	row[0] = (uint32_t)event_count;
	memcpy(row + 1, host_order, sizeof(*row) * (wait_columns() - 1));
	set_count(&kept.head->summary.wait_count, wait_count);
	return row;
}

/* What this thread waited for a CPU so far, as the kernel counts it; 0: not known. */
static uint64_t cpu_wait_ns(void)
{
	static int fd = -2;
	static pid_t owner;
	char text[96];
	unsigned long long ran, waited;
	ssize_t length;

	if (fd == -2 || owner != getpid()) {
		owner = getpid();
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	}
	length = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	if (length <= 0)
		return 0;
	text[length] = 0;
	return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

static double ns_per_tick(uint64_t now)
{
	uint64_t ticks = now - pd_state.start_ticks, ns = pd_now_ns() - pd_state.start_ns;

	return ticks && ns ? (double)ns / (double)ticks : 1;
}

/* The ticks of an event without the time in which the thread had no CPU. Asking the kernel takes a
 * microsecond, so only what took long is asked about; what others lose is no more than it may last. */
static uint64_t ticks_with_cpu(uint64_t now, uint64_t ticks)
{
	enum { LONG_NS = 50000 };
	static uint64_t waited_ns;
	double rate = ns_per_tick(now);
	uint64_t waited, lost;

	if ((double)ticks * rate < LONG_NS)
		return ticks;
	waited = cpu_wait_ns();
	lost = waited > waited_ns ? (uint64_t)((double)(waited - waited_ns) / rate) : 0;
	waited_ns = waited;
	return lost < ticks ? ticks - lost : 0;
}

/* The time that recording takes belongs to no event: not to this one, as the clock is read first,
 * and not to the next, as it is read once more in the end. */
static uint32_t record(enum pd_event_kind kind, int what, int peer, uint32_t peer_event)
{
	uint64_t now = pd_now_ticks();
	const uint32_t *wait = add_wait();

	if (event_count == event_capacity) {
		size_t old = event_capacity * sizeof(*events);

		event_capacity = event_capacity ? event_capacity * 2 : 4096;
		events = grow(PD_MEASURED_EVENTS, events, old, event_capacity * sizeof(*events));
	}
	events[event_count] = (struct pd_event){ (uint32_t)kind,
						 (uint32_t)what,
						 (uint32_t)peer,
						 peer_event,
						 ticks_with_cpu(now, now - pd_state.event_ticks),
						 now - pd_state.start_ticks };
	pd_live_event((uint32_t)event_count, &events[event_count], wait);
	set_count(&kept.head->summary.event_count, ++event_count);
	pd_state.event_ticks = pd_now_ticks();
	return (uint32_t)event_count - 1;
}

void pd_trace_point(int point)
{
	record(PD_EVENT_POINT, point, 0, 0);
}

struct pd_header pd_trace_header(int site, int to, size_t count)
{
	return pd_measure_header(count, (int)record(PD_EVENT_SEND, site, to, 0));
}

void pd_trace_received(int site, int from, struct pd_header header)
{
	record(PD_EVENT_RECEIVE, site, from, header.event);
}

void pd_trace_send(int site, int to, const void *bytes, size_t count)
{
	struct pd_header header = pd_trace_header(site, to, count);

	pd_measure_sent(to, count);
	pd_net_send(to, header, bytes, count);
}

void pd_trace_receive(int site, int from, void *bytes, size_t count, uint64_t *wait_ticks)
{
	struct pd_header header = pd_net_receive(from, bytes, count, wait_ticks);

	pd_trace_received(site, from, header);
}

/* ---- at the end ---- */

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

static void give(const void *bytes, size_t count)
{
	if (count)
		pd_net_send(pd_state.host_process, pd_measure_header(count, 0), bytes, count);
}

void pd_measure_give(void)
{
	const struct pd_program *p = pd_state.program;
	struct pd_summary summary = summarize();

	give_counts();
	if (!p->has_profile && !p->has_trace)
		return;
	if (p->has_trace)
		pd_clocks_answer_last();
	give(&summary, sizeof(summary));
	give(pd_counters, counter_count() * sizeof(*pd_counters));
	give(pd_executions, (size_t)p->point_count * sizeof(*pd_executions));
	give(pd_state.phase_times, (size_t)p->phase_count * sizeof(struct pd_phase_times));
	give(pd_state.zone_times, (size_t)p->zone_count * sizeof(struct pd_zone_times));
	give(events, event_count * sizeof(*events));
	give(waits, wait_count * wait_columns() * sizeof(*waits));
}

static void *take(int node, size_t count, size_t bytes)
{
	void *memory = pd_alloc_zeroed(count, bytes);

	if (count)
		pd_net_receive(node, memory, count * bytes, NULL);
	return memory;
}

static struct pd_node_measure own_measure(void)
{
	return (struct pd_node_measure){
		summarize(),	     pd_counters, pd_executions, pd_state.phase_times,
		pd_state.zone_times, events,	  waits
	};
}

static struct pd_node_measure take_measure(int node)
{
	const struct pd_program *p = pd_state.program;
	struct pd_node_measure m;

	if (p->has_trace)
		pd_clocks_ask_last(node);
	pd_net_receive(node, &m.summary, sizeof(m.summary), NULL);
	m.counters = take(node, counter_count(), sizeof(*m.counters));
	m.executions = take(node, (size_t)p->point_count, sizeof(*m.executions));
	m.phases = take(node, (size_t)p->phase_count, sizeof(*m.phases));
	m.zones = take(node, (size_t)p->zone_count, sizeof(*m.zones));
	m.events = take(node, m.summary.event_count, sizeof(*m.events));
	m.waits = take(node, m.summary.wait_count * wait_columns(), sizeof(*m.waits));
	return m;
}

void pd_measure_collect(void)
{
	const struct pd_program *p = pd_state.program;
	struct pd_node_measure *nodes;

	if (p->host_inside)
		give_counts();
	if (!p->has_profile && !p->has_trace)
		return;
	nodes = pd_alloc_zeroed((size_t)p->nodes, sizeof(*nodes));
	for (int n = 0; n < p->nodes; n++)
		nodes[n] = n == pd_state.host_process ? own_measure() : take_measure(n);
	if (p->has_trace)
		pd_live_end();
	if (p->has_profile)
		pd_write_profile(nodes, false);
	if (p->has_trace)
		pd_write_trace(nodes, false);
}
