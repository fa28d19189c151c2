/**
 * How fast lattices are counted, visited and built. Prints one line a figure:
 * what, how much, the median and the best of some runs. See bench/RESULTS.md.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "unit/pandore/lattice/executions.h"
#include "pandore/lattice/enumerate.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/lattice.h"
#include "pandore/lattice/online.h"

enum { RUNS = 7 };

/* CPU time: other work on the machine counts less. */
static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void print_seconds(const char *what, const char *size, double *seconds)
{
	double best = seconds[0];

	for (int i = 1; i < RUNS; i++)
		best = seconds[i] < best ? seconds[i] : best;
	printf("%-44s %-36s median %8.3f s  best %8.3f s\n", what, size, sn_median(seconds, RUNS),
	       best);
}

static void print_rate(const char *what, const char *size, double count, double *seconds)
{
	double best = seconds[0];

	for (int i = 1; i < RUNS; i++)
		best = seconds[i] < best ? seconds[i] : best;
	printf("%-44s %-36s median %8.3g /s best %8.3g /s\n", what, size,
	       count / sn_median(seconds, RUNS), count / best);
}

static void bench_count(const char *what, const struct sn_execution *execution, bool want_levels)
{
	const struct sn_lattice_order *order = &execution->observed;
	struct sn_interval_limits limits = { .want_levels = want_levels, .want_histogram = true };
	uint32_t *zero = sn_alloc_zeroed(order->process_count, sizeof(uint32_t));
	double seconds[RUNS];
	char size[64];

	for (int run = 0; run < RUNS; run++) {
		struct sn_interval_counts counts;
		double started_s = cpu_s();

		if (sn_interval_count(order, zero, order->counts, &limits, &counts) !=
		    SN_INTERVAL_DONE)
			abort();
		seconds[run] = cpu_s() - started_s;
		snprintf(size, sizeof(size), "%u events, %.3g cuts", order->event_count,
			 sn_limbs_double(counts.cuts, counts.limbs));
		sn_interval_counts_free(&counts);
	}
	print_seconds(what, size, seconds);
	free(zero);
}

struct visited {
	uint64_t cuts, sum;
};

/* Touches every cut: what a check of a predicate over the last process would do at least. */
static bool visit(void *context, const uint32_t *cut, uint32_t first, uint32_t last)
{
	struct visited *visited = context;

	for (uint32_t c = first; c <= last; c++)
		visited->sum += cut[0] ^ c;
	visited->cuts += last - first + 1;
	return true;
}

static bool visit_cut(void *context, const uint32_t *cut, uint32_t level)
{
	struct visited *visited = context;

	visited->sum += cut[0] ^ level;
	visited->cuts++;
	return true;
}

static void bench_enumerate(const char *what, const struct sn_execution *execution, bool one_by_one)
{
	double seconds[RUNS];
	char size[64];
	struct visited visited;

	for (int run = 0; run < RUNS; run++) {
		double started_s = cpu_s();

		visited = (struct visited){ 0 };
		if (one_by_one)
			sn_lattice_enumerate_cuts(&execution->observed, visit_cut, &visited);
		else
			sn_lattice_enumerate(&execution->observed, visit, &visited);
		seconds[run] = cpu_s() - started_s;
	}
	snprintf(size, sizeof(size), "%.3g cuts (check %llx)", (double)visited.cuts,
		 (unsigned long long)visited.sum);
	print_rate(what, size, (double)visited.cuts, seconds);
}

static void bench_online(const char *what, const struct sn_execution *execution)
{
	double seconds[RUNS], nodes = 0;
	char size[64];

	for (int run = 0; run < RUNS; run++) {
		struct sn_lattice_graph *graph = sn_lattice_graph_new(execution->process_count, 0);
		double started_s = cpu_s();

		if (sn_lattice_graph_add_order(graph, &execution->observed, NULL) != SN_OK)
			abort();
		seconds[run] = cpu_s() - started_s;
		nodes = sn_lattice_graph_node_count(graph);
		sn_lattice_graph_free(graph);
	}
	snprintf(size, sizeof(size), "%.3g nodes", nodes);
	print_rate(what, size, nodes, seconds);
}

static struct sn_execution *random_execution(uint32_t processes, uint32_t events, double message)
{
	struct sn_random random;
	struct sn_execution *execution;
	struct made made;

	sn_random_seed(&random, 1);
	made = made_random(&random, processes, events, message, 0);
	execution = made_execution(&made);
	made_free(&made);
	return execution;
}

static struct sn_execution *stencil_execution(uint32_t processes, uint32_t rounds, uint32_t every)
{
	struct made made = made_stencil(processes, rounds, every);
	struct sn_execution *execution = made_execution(&made);

	made_free(&made);
	return execution;
}

int main(void)
{
	struct sn_execution *random8 = random_execution(8, 100000, 0.1);
	struct sn_execution *stencil16 = stencil_execution(16, 2000, 5);
	struct sn_execution *random16 = random_execution(16, 2400, 0.3);
	struct sn_execution *stencil64 = stencil_execution(64, 400, 4);
	struct sn_execution *visit8 = random_execution(8, 800, 0.3);
	struct sn_execution *visit4 = random_execution(4, 1200, 0.1);
	struct sn_execution *build8 = random_execution(8, 6000, 0.65);
	struct sn_execution *build4 = random_execution(4, 3000, 0.1);

	bench_count("histogram, 8 processes, random p=0.1", random8, false);
	bench_count("histogram and levels, the same", random8, true);
	bench_count("histogram, 16 processes, stencil", stencil16, false);
	bench_count("histogram and levels, the same", stencil16, true);
	bench_count("histogram, 16 processes, random p=0.3", random16, false);
	bench_count("histogram, 64 processes, stencil", stencil64, false);
	bench_count("histogram and levels, the same", stencil64, true);
	bench_enumerate("enumerate, 4 processes, by intervals", visit4, false);
	bench_enumerate("enumerate, 8 processes, by intervals", visit8, false);
	bench_enumerate("enumerate, 8 processes, one by one", visit8, true);
	bench_online("online graph, 4 processes", build4);
	bench_online("online graph, 8 processes", build8);
	return 0;
}
