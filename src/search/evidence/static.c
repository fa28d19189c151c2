/* Evidence from the static model: what the code of loops could gain. */
#include <math.h>

#include "search/evidence/sources.h"
#include "whatif/whatif.h"

/* Loops whose share is looked at: what is below cannot be severe. */
enum { LOOPS_MOST = 50 };

/* A loop of which the model does not know enough says nothing. Few samples are the affair of its
 * time's confidence. */
static bool is_reliable(const struct sn_whatif_loop *loop)
{
	return !(loop->doubts & ~(unsigned)SN_DOUBT_FEW_SAMPLES);
}

static void value_add(struct sn_recorded *r, const char *metric, uint32_t region, double number)
{
	struct sn_value value = { .column = sn_tables_column(r->tables, metric, NULL),
				  .value = number,
				  .samples = NAN,
				  .error = NAN,
				  .source = sn_tables_source(r->tables, "static") };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_REGION] = region;
	sn_tables_add(r->tables, &value);
}

/* Where the data come from is not known: what the loop gains at least, with all of them in RAM. 0: not known. */
static double vector_gain(const struct sn_whatif_loop *loop)
{
	double gain = loop->quality.variants[SN_VARIANT_FULL_VECTOR].ram_speedup;

	return gain >= 1 && isfinite(gain) ? gain : 0;
}

/* What a pass over a path takes without what keeps the divider busy, and with all data in RAM. */
static double cycles_without(const struct sn_cqa_path *path)
{
	double most = path->moved_cycles[SN_LEVEL_RAM];

	for (int bound = 0; bound < SN_BOUND_COUNT; bound++)
		if (bound != SN_BOUND_DIVIDER)
			most = fmax(most, path->estimate.bounds[bound]);
	return fmin(most, path->level_cycles[SN_LEVEL_RAM]);
}

/* Of two remedies for the same cycles the one that saves clearly more is told. */
static const double clearly = 0.05;

/* Likewise: of the cycles with all data in RAM. */
static void slow_add(struct sn_recorded *r, const struct sn_whatif_loop *loop, uint32_t region)
{
	const struct sn_cqa_loop *quality = &loop->quality;
	double cycles = 0, busy = 0, without = 0, gain = vector_gain(loop), saved;

	for (uint32_t i = 0; i < quality->path_count; i++) {
		const struct sn_cqa_path *path = &quality->paths[i];

		cycles += path->weight * path->level_cycles[SN_LEVEL_RAM];
		busy += path->weight * path->estimate.bounds[SN_BOUND_DIVIDER];
		without += path->weight * cycles_without(path);
	}
	if (!(cycles > 0) || !isfinite(cycles))
		return;
	value_add(r, "slow_operations", region, busy / cycles);
	saved = 1 - without / cycles;
	value_add(r, "slow_cost", region, gain > 0 && 1 - 1 / gain > saved + clearly ? 0 : saved);
}

/* Loads whose addresses come from loads of the pass before (a list, a chain of indices): nothing hides what their misses take. */
static void chain_add(struct sn_recorded *r, const struct sn_whatif_loop *loop, uint32_t region)
{
	const struct sn_cqa_loop *quality = &loop->quality;
	double loads = 0, cycles = quality->level_cycles[SN_LEVEL_L1];

	for (uint32_t i = 0; i < quality->path_count; i++)
		loads += quality->paths[i].weight * quality->paths[i].loads_on_chain;
	if (!(loads > 0) || !isfinite(loads) || !isfinite(cycles))
		return;
	value_add(r, "chained_loads", region, loads);
	value_add(r, "cycles_in_l1", region, cycles);
}

static bool is_main(const struct sn_program *program, uint32_t loop)
{
	const struct sn_loop *code = program->loops.items[loop].code;

	return sn_loop_main(code) == code;
}

static void static_collect(struct sn_recorded *r)
{
	struct sn_whatif *whatif;

	if (!r->machine || !r->machine->machine || !r->structures)
		return;
	whatif = sn_whatif_new(r->machine->machine, r->profile, r->structures, LOOPS_MOST);
	for (size_t i = 0; i < whatif->loops.count; i++) {
		const struct sn_whatif_loop *loop = &whatif->loops.items[i];
		uint32_t region = sn_recorded_loop_region(r, loop->loop);

		if (region == SN_ALL || !is_main(r->profile->program, loop->loop) ||
		    !is_reliable(loop))
			continue;
		if (vector_gain(loop) > 0) {
			value_add(r, "vector_gain", region, vector_gain(loop));
			value_add(r, "vector_passes", region,
				  loop->quality.paths[loop->quality.main_path].widening);
		}
		slow_add(r, loop, region);
		chain_add(r, loop, region);
	}
	sn_whatif_free(whatif);
}

const struct sn_source sn_source_static = {
	.name = "static",
	.measures =
		"how many times as fast loops would be with full vectors, for which share of their cycles they divide, at "
		"least, and which follow chains of loads",
	.needs = "a model of the processor (--arch), and loops that it can judge",
	.costs = "nothing in the run",
	.collect = static_collect,
};
