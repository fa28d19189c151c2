/* One time for all processes. Without a common clock a node's is set against the host's as in NTP
 * (RFC 5905, section 8). The host asks for the time several times; the answer that took least
 * counts. The node read its clock in the middle of that round trip, give or take half of it. */
#include "pandore/runtime/measure.h"

enum { QUESTIONS = 16, READINGS = 5 };

/* What a node's clock has more than the host's, at a time of the node's. */
struct difference {
	uint64_t at_ns;
	double ns, error_ns; /* half of the way there and back */
};

static uint64_t zero_ns;		/* when the host began; on a node: by its own clock */
static struct difference *first, *last; /* the host's, by node */

void pd_clocks_begin(void)
{
	zero_ns = pd_now_ns();
}

void pd_clocks_read(uint64_t *ticks, uint64_t *ns)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = pd_now_ticks(), now = pd_now_ns(), after = pd_now_ticks();

		if (after - before >= least)
			continue;
		least = after - before;
		*ticks = before + least / 2;
		*ns = now;
	}
}

static void send_time(int to, uint64_t ns)
{
	pd_net_send(to, pd_measure_header(sizeof(ns), 0), &ns, sizeof(ns));
}

static uint64_t receive_time(int from)
{
	uint64_t ns;

	pd_net_receive(from, &ns, sizeof(ns), NULL);
	return ns;
}

/* A difference that the way there and back would explain is none: then it is one machine. */
static struct difference ask(int node)
{
	struct difference d = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < QUESTIONS; i++) {
		uint64_t asked = pd_now_ns(), answer, answered;

		send_time(node, asked);
		answer = receive_time(node);
		answered = pd_now_ns();
		if (answered - asked >= least)
			continue;
		least = answered - asked;
		d.at_ns = answer;
		d.ns = (double)(int64_t)(answer - asked) - 0.5 * (double)least;
	}
	d.error_ns = 0.5 * (double)least;
	if (d.ns <= d.error_ns && d.ns >= -d.error_ns)
		d.ns = 0;
	return d;
}

static void answer(void)
{
	for (int i = 0; i < QUESTIONS; i++) {
		receive_time(pd_state.host_process);
		send_time(pd_state.host_process, pd_now_ns());
	}
}

void pd_clocks_meet_first(void)
{
	int nodes = pd_state.program->nodes;

	if (pd_net_has_one_clock)
		return;
	if (pd_state.me != pd_state.host_process) {
		answer();
		zero_ns = receive_time(pd_state.host_process);
		return;
	}
	first = pd_alloc_zeroed((size_t)nodes, sizeof(*first));
	last = pd_alloc_zeroed((size_t)nodes, sizeof(*last));
	for (int n = 0; n < nodes; n++) {
		if (n == pd_state.host_process)
			continue;
		first[n] = ask(n);
		send_time(n, zero_ns + (uint64_t)(int64_t)first[n].ns);
	}
}

void pd_clocks_ask_last(int node)
{
	if (!pd_net_has_one_clock)
		last[node] = ask(node);
}

void pd_clocks_answer_last(void)
{
	if (!pd_net_has_one_clock)
		answer();
}

/* Clocks drift apart only if both meetings cannot be right otherwise. */
static double difference_at(int node, uint64_t ns)
{
	const struct difference *a, *b;
	double drift_ns, error_ns;

	/* a keeper never met the others: it is on one machine with them */
	if (pd_net_has_one_clock || !last || pd_state.me != pd_state.host_process ||
	    node == pd_state.me)
		return 0;
	a = &first[node];
	b = &last[node];
	drift_ns = b->ns - a->ns;
	error_ns = a->error_ns + b->error_ns;
	if (b->at_ns <= a->at_ns)
		return a->ns;
	if (drift_ns <= error_ns && -drift_ns <= error_ns)
		return a->error_ns <= b->error_ns ? a->ns : b->ns;
	return a->ns + drift_ns * (double)(int64_t)(ns - a->at_ns) / (double)(b->at_ns - a->at_ns);
}

double pd_clocks_seconds(int node, uint64_t ns)
{
	return ((double)(int64_t)(ns - zero_ns) - difference_at(node, ns)) * 1e-9;
}
