/*
 * What evaluating properties costs: all that come with sonde, on every region of one process, each region with values of every
 * thread. Prints microseconds of CPU time, of the least of several rounds.
 *
 *     bench_properties [REGIONS [THREADS]]
 *
 * Metrics that samples give of a region and thread are there for all of them, those that only a trace gives for each
 * twentieth region.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "search/properties/evaluate.h"

enum { ROUNDS = 5, SPARSE = 20, GROUP = 10 /* regions of one function */ };

struct round {
	struct sn_evaluator *evaluator;
	const struct sn_property *property;
	size_t contexts, proven;
};

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void add_members(struct sn_tables *tables, uint32_t regions, uint32_t threads)
{
	struct sn_member process = { .id = "0", .parent = SN_ALL };
	char id[32];

	sn_tables_add_member(tables, SN_KEY_PROCESS, &process);
	for (uint32_t t = 0; t < threads; t++) {
		struct sn_member thread = { .id = id, .parent = 0 };

		snprintf(id, sizeof(id), "%u", t);
		sn_tables_add_member(tables, SN_KEY_THREAD, &thread);
	}
	for (uint32_t r = 0; r < regions; r++) {
		bool is_function = r % GROUP == 0;
		struct sn_member region = { .id = id,
					    .name = id,
					    .kind = is_function	     ? "function"
						    : r % GROUP == 1 ? "parallel"
								     : "loop",
					    .parent = is_function ? SN_ALL : r - r % GROUP };

		snprintf(id, sizeof(id), "r%u", r);
		sn_tables_add_member(tables, SN_KEY_REGION, &region);
	}
}

static bool is_sampled(const struct sn_metric *metric)
{
	for (size_t i = 0; i < metric->needs.count; i++)
		if (!strcmp(metric->needs.items[i], "samples"))
			return true;
	return false;
}

static void add_values(struct sn_tables *tables, const struct sn_metric *metric, uint32_t regions,
		       uint32_t threads)
{
	uint32_t of_region = 1u << SN_KEY_REGION, of_thread = 1u << SN_KEY_THREAD;
	uint32_t step = is_sampled(metric) ? 1 : SPARSE;
	struct sn_value value = { .column = sn_tables_column(tables, metric->name, NULL),
				  .samples = 100,
				  .error = 1e-5,
				  .source = sn_tables_source(tables, metric->needs.items[0]) };

	if (metric->keys & ~(of_region | of_thread))
		return; /* of data, locks, files and peers: there are none */
	for (uint32_t r = 0; r < (metric->keys & of_region ? regions : 1); r += step)
		for (uint32_t t = 0; t < (metric->keys & of_thread ? threads : 1); t++) {
			for (int k = 0; k < SN_KEYS; k++)
				value.keys[k] = SN_ALL;
			value.keys[SN_KEY_PROCESS] = 0;
			if (metric->keys & of_region)
				value.keys[SN_KEY_REGION] = r;
			if (metric->keys & of_thread)
				value.keys[SN_KEY_THREAD] = t;
			value.value = 1e-3 * (1 + (double)((r * 31 + t * 17) % 100));
			sn_tables_add(tables, &value);
		}
}

static void see(const uint32_t keys[SN_KEYS], void *context)
{
	struct round *round = context;
	struct sn_verdict verdict;

	sn_property_evaluate(round->evaluator, round->property, keys, &verdict);
	round->contexts++;
	round->proven += verdict.state == SN_PROVEN;
}

int main(int argc, char **argv)
{
	uint32_t regions = argc > 1 ? (uint32_t)atoi(argv[1]) : 2000;
	uint32_t threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 64;
	static const uint32_t any[SN_KEYS] = { SN_ALL, SN_ALL, SN_ALL, SN_ALL,
					       SN_ALL, SN_ALL, SN_ALL };
	struct sn_library *library = sn_library_new();
	struct sn_tables *tables = sn_tables_new();
	double first_us = 0, least_us = 0;
	struct round round = { 0 };

	sn_library_settle(library);
	tables->phase_s = 100;
	add_members(tables, regions, threads);
	for (size_t f = 0; f < library->files.count; f++)
		for (size_t m = 0; m < library->files.items[f]->metrics.count; m++)
			add_values(tables, library->files.items[f]->metrics.items[m], regions,
				   threads);
	for (int i = 0; i < ROUNDS; i++) {
		double begin_us = cpu_us(), took_us;

		round = (struct round){ .evaluator = sn_evaluator_new(tables, SN_SEVERITY_LOST) };
		for (size_t p = 0; p < library->properties.count; p++) {
			double own_us = cpu_us();
			size_t before = round.contexts;

			round.property = library->properties.items[p];
			sn_property_contexts(tables, round.property, any, see, &round);
			if (getenv("BENCH_EACH") && i == ROUNDS - 1)
				printf("  %-32s %8zu contexts %10.0f us\n", round.property->name,
				       round.contexts - before, cpu_us() - own_us);
		}
		sn_evaluator_free(round.evaluator);
		took_us = cpu_us() - begin_us;
		first_us = i ? first_us : took_us;
		least_us = i && least_us < took_us ? least_us : took_us;
	}
	printf("%zu properties, %u regions, %u threads, %zu values: %zu contexts, %zu proven\n",
	       library->properties.count, regions, threads, tables->values.count, round.contexts,
	       round.proven);
	printf("  the first time, with its sums %.1f ms, then %.1f ms\n", first_us * 1e-3,
	       least_us * 1e-3);
	sn_tables_free(tables);
	sn_library_free(library);
	return 0;
}
