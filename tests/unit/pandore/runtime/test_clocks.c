/* One time for all processes, over a network and clocks of the test's own: nodes whose clocks are ahead and
 * drift, and messages that take unequal times. */
#include "pandore/runtime/clocks.c"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"

enum { AWAY_NS = 2000, JITTER_NS = 1000, SLOW_NS = 90000 };

const bool pd_net_has_one_clock = false;
struct pd_state pd_state;
static const struct pd_program two_nodes = { .nodes = 2 };

static uint64_t true_ns, ticks;
static double ahead_ns, drift; /* of node 1's clock */
static int reading, interrupted;

static uint64_t node_ns(uint64_t when)
{
	return when + (uint64_t)(int64_t)(ahead_ns + drift * (double)when);
}

static void travel(void)
{
	static unsigned step;

	true_ns += AWAY_NS + (step * 7919) % JITTER_NS + (step % 5 ? 0 : SLOW_NS);
	step++;
}

uint64_t pd_now_ns(void)
{
	ticks += 10;
	return true_ns;
}

/* The readings before the last are interrupted. */
uint64_t pd_now_ticks(void)
{
	ticks += reading++ / 2 < interrupted ? 5000 : 10;
	return ticks;
}

void *pd_alloc_zeroed(size_t count, size_t bytes)
{
	return calloc(count, bytes);
}

struct pd_header pd_measure_header(size_t count, int event)
{
	(void)count;
	(void)event;
	return (struct pd_header){ 0 };
}

void pd_net_send(int to, struct pd_header header, const void *bytes, size_t count)
{
	(void)to;
	(void)header;
	(void)bytes;
	(void)count;
	travel();
}

/* The node answers as soon as the question is there. */
struct pd_header pd_net_receive(int from, void *bytes, size_t count, uint64_t *waited)
{
	uint64_t answer = node_ns(true_ns);

	(void)from;
	(void)waited;
	memcpy(bytes, &answer, count);
	travel();
	return (struct pd_header){ 0 };
}

static void run(double ahead, double drift_of_node, uint64_t seconds)
{
	pd_state = (struct pd_state){
		.program = &two_nodes, .process_count = 3, .host_process = 2, .me = 2
	};
	ahead_ns = ahead;
	drift = drift_of_node;
	true_ns = 1000000000;
	pd_clocks_begin();
	pd_clocks_meet_first();
	true_ns += seconds * 1000000000;
	pd_clocks_ask_last(1);
}

/* The largest error of times between both meetings, in ns. */
static double worst_error(uint64_t seconds)
{
	double worst = 0;

	for (int i = 0; i <= 10; i++) {
		uint64_t when = 1000000000 + seconds * 100000000 * (uint64_t)i + 200000;
		double truth = (double)(when - 1000000000);

		worst = fmax(worst, fabs(pd_clocks_seconds(1, node_ns(when)) * 1e9 - truth));
	}
	return worst;
}

TEST(a_clock_that_is_ahead_is_set_back)
{
	/* half of what the ways there and back differ by, and rounding of 7 s to 1 ns */
	run(7e9, 0, 100);
	CHECK(worst_error(100) < JITTER_NS);
	run(-7e8, 0, 100);
	CHECK(worst_error(100) < JITTER_NS);
}

TEST(a_clock_that_drifts_is_followed)
{
	run(3e6, 2e-4, 100); /* 20 ms in 100 s */
	CHECK(worst_error(100) < 2 * JITTER_NS);
	run(3e6, -2e-4, 100);
	CHECK(worst_error(100) < 2 * JITTER_NS);
}

TEST(a_difference_that_the_way_explains_is_none)
{
	run(500, 0, 1);
	CHECK(fabs(pd_clocks_seconds(1, 1000000000 + 12345) - 12345e-9) < 1e-12);
}

TEST(the_host_has_its_own_clock)
{
	run(7e9, 1e-4, 10);
	CHECK(fabs(pd_clocks_seconds(2, 1000000000 + 5000000000u) - 5) < 1e-9);
}

TEST(a_node_starts_where_the_host_did)
{
	pd_state = (struct pd_state){
		.program = &two_nodes, .process_count = 3, .host_process = 2, .me = 1
	};
	ahead_ns = drift = 0;
	pd_clocks_meet_first();
	/* what it received last is the host's start by its own clock */
	CHECK(pd_clocks_seconds(1, true_ns) < 1e-3 && pd_clocks_seconds(1, true_ns) >= 0);
}

TEST(an_interrupted_reading_is_not_taken)
{
	uint64_t at_ticks = 0, at_ns = 0, start;

	reading = 0;
	interrupted = READINGS - 1;
	start = ticks;
	pd_clocks_read(&at_ticks, &at_ns);
	CHECK_INT(at_ns, true_ns);
	CHECK(at_ticks - start > 10000u * (READINGS - 1) && ticks - at_ticks <= 30);
}
