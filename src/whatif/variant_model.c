/*
 * What variants say together with the static model: where the data of a loop are and whether it waits for one
 * load after the other.
 */
#include <math.h>

#include "machine/caches.h"
#include "whatif/variants.h"
#include "whatif/whatif.h"

/* A gain below a tenth is within L1 (as in evidence.c). */
#define BEYOND_L1 1.1
/* Two levels that the model cannot tell apart by so much are not told apart (chosen). */
#define APART 1.15
/* So many times a cache's bytes, walked over, leave next to nothing in it for the next walk (chosen). */
#define TOO_MANY 2
/* What cores of a socket share has pieces of unknown number: no socket has more (chosen). */
#define SHARED_BYTES (512ull << 20)

struct model {
	const struct sn_machine *machine;
	const struct sn_profile *profile;
	struct sn_structures *structures;
	struct sn_cqa_loop quality; /* of `loop` */
	uint32_t loop;
	bool has_quality;
};

static const char *const level_names[SN_LEVEL_COUNT] = { "L1", "L2", "L3", "RAM" };

static void model_of(struct model *model, uint32_t loop)
{
	struct sn_error err;

	if (model->loop == loop)
		return;
	if (model->has_quality)
		sn_cqa_loop_free(&model->quality);
	model->loop = loop;
	model->has_quality = model->machine && model->structures &&
			     sn_whatif_quality(model->machine, model->profile, model->structures,
					       loop, &model->quality, &err) == SN_OK;
}

/* ---- where its data are ---- */

/* The level with which the model comes nearest to so many times the cycles with data in L1; -1: two are as near. */
static int level_near(const double *level_cycles, double times, int nearest)
{
	int best = nearest;
	double distances[SN_LEVEL_COUNT];

	for (int l = nearest; l < SN_LEVEL_COUNT; l++) {
		double model = level_cycles[l] / level_cycles[SN_LEVEL_L1];

		distances[l] = fabs(log(times / model));
		/* farther than from RAM */
		if (l == SN_LEVEL_RAM && times > model)
			distances[l] = 0;
		if (distances[l] < distances[best])
			best = l;
	}
	for (int l = nearest; l < SN_LEVEL_COUNT; l++)
		if (l != best && distances[l] - distances[best] < log(APART))
			return -1;
	return best;
}

int sn_variants_level(const double *level_cycles, struct sn_interval gain, int nearest)
{
	int low, high;

	if (!(gain.low > BEYOND_L1) || !(level_cycles[SN_LEVEL_L1] > 0))
		return -1;
	low = level_near(level_cycles, gain.low, nearest);
	high = level_near(level_cycles, gain.high, nearest);
	return low == high ? low : -1;
}

static double cache_bytes(const struct sn_caches *caches, enum sn_level level)
{
	for (unsigned i = 0; i < caches->count; i++) {
		const struct sn_cache *cache = &caches->items[i];

		if (cache->level == (unsigned)level + 1 && cache->kind != SN_CACHE_INSTRUCTION)
			return cache->reach == SN_CACHE_PIECE ? (double)SHARED_BYTES
							      : (double)cache->bytes;
	}
	return INFINITY;
}

/* The nearest level that has room for what an instance walks over. Only constant strides tell of places that are
 * all different. */
static int nearest_level(const struct sn_cqa_loop *quality, const struct sn_variants *row)
{
	const struct sn_cqa_metrics *m = &quality->paths[quality->main_path].metrics;
	double iterations = row->exponent >= 0 ? ldexp(1, row->exponent)
			    : row->instances   ? (double)row->iterations / (double)row->instances
					       : 0;
	double bytes = iterations * m->bytes_from_memory;
	struct sn_caches caches;
	struct sn_error err;
	int level = SN_LEVEL_L2;

	if (quality->path_count != 1 || m->strides[SN_STRIDE_UNKNOWN] ||
	    m->strides[SN_STRIDE_INDIRECT] ||
	    sn_caches_of(quality->machine->name, &caches, &err) != SN_OK)
		return level;
	while (level < SN_LEVEL_RAM &&
	       bytes > TOO_MANY * cache_bytes(&caches, (enum sn_level)level))
		level++;
	return level;
}

/* Only where both ends of what DL1 would gain are nearest to one level. */
static const char *level_of(const struct sn_cqa_loop *quality, const struct sn_variants *row)
{
	const struct sn_variant_figure *dl1 = &row->figures[SN_VARIANT_DL1];
	int level;

	if (isnan(dl1->speedup) || dl1->state == SN_VARIANT_NOT_THERE)
		return NULL;
	if (dl1->speedup_range.high < BEYOND_L1)
		return level_names[SN_LEVEL_L1];
	if (!quality)
		return NULL;
	level = sn_variants_level(quality->level_cycles, dl1->speedup_range,
				  nearest_level(quality, row));
	return level >= 0 ? level_names[level] : NULL;
}

/* ---- lists ---- */

/* Mispredicted branches are one an instance: of so many iterations they are next to nothing (chosen). */
#define LIST_ITERATIONS 32

/* ORIG's cycles of the core, by the model's for data in first-level cache. */
static struct sn_interval times_of_model(const struct sn_cqa_loop *quality,
					 const struct sn_variants *row)
{
	const struct sn_variant_figure *orig = &row->figures[SN_VARIANT_ORIG];
	double clock = isnan(row->frequency_impact) ? 1 : row->frequency_impact;

	return (struct sn_interval){ orig->low * clock / quality->cycles,
				     orig->high * clock / quality->cycles };
}

/* A loop that goes on as the list says has its loads in every variant. Where it has one way and long instances no
 * branches are mispredicted; where each load waits for the one before, its time is theirs. */
static bool follows_list(const struct sn_cqa_loop *quality, const struct sn_variants *row)
{
	const struct sn_variant_figure *orig = &row->figures[SN_VARIANT_ORIG];

	return row->class == SN_CLASS_UNKNOWN && row->keeps_loads && !row->withheld && quality &&
	       quality->path_count == 1 && quality->cycles > 0 &&
	       quality->bottleneck == SN_BOUND_LATENCY &&
	       quality->paths[quality->main_path].loads_on_chain > 0 &&
	       orig->instance_cycles >= SN_VARIANT_CYCLES_LEAST &&
	       orig->instance_cycles >= LIST_ITERATIONS * orig->cycles &&
	       sn_variant_explains(row, SN_VARIANT_LS);
}

static void set_list(const struct sn_cqa_loop *quality, struct sn_variants *row)
{
	struct sn_interval times = times_of_model(quality, row);
	int level = sn_variants_level(quality->level_cycles, times, SN_LEVEL_L2);

	row->class = SN_CLASS_DATA;
	row->is_list_by_model = row->has_latency = row->is_latency_bound = true;
	row->level = times.high < BEYOND_L1 ? level_names[SN_LEVEL_L1]
		     : level >= 0	    ? level_names[level]
					    : NULL;
}

void sn_variants_set_level(const struct sn_cqa_loop *quality, struct sn_variants *row)
{
	if (follows_list(quality, row)) {
		set_list(quality, row);
		return;
	}
	if (row->class != SN_CLASS_DATA)
		return;
	row->level = level_of(quality, row);
	row->has_latency = quality != NULL;
	row->is_latency_bound = quality && quality->paths[quality->main_path].loads_on_chain > 0;
}

/* ---- against the model ---- */

/* The model's cycles are the core's, what was timed those of the time-stamp counter. */
static double by_model(const struct sn_variants *row, const struct sn_variant_figure *figure,
		       double cycles)
{
	double clock = isnan(row->frequency_impact) ? 1 : row->frequency_impact;

	return cycles > 0 ? figure->cycles * clock / cycles : NAN;
}

static void model_compare(const struct sn_cqa_loop *quality, struct sn_variants *row)
{
	const struct sn_variant_figure *work = isnan(row->figures[SN_VARIANT_FP].cycles)
						       ? &row->figures[SN_VARIANT_ARITH]
						       : &row->figures[SN_VARIANT_FP];

	row->dl1_per_cqa = by_model(row, &row->figures[SN_VARIANT_DL1], quality->cycles);
	/* of several paths FP may take others */
	if (quality->path_count == 1)
		row->fp_per_cqa = by_model(row, work, sn_cqa_arithmetic_cycles(quality));
}

/* ---- all of it ---- */

void sn_variants_compare(const struct sn_machine *machine, const struct sn_profile *profile,
			 struct sn_structures *structures, struct sn_variants_list *list)
{
	struct model model = {
		.machine = machine, .profile = profile, .structures = structures, .loop = SN_NONE
	};

	for (size_t i = 0; i < list->count; i++) {
		struct sn_variants *row = &list->items[i];
		const struct sn_cqa_loop *quality;

		model_of(&model, row->loop);
		/* the model's cycles are those of the loop's own blocks */
		quality =
			model.has_quality && !model.quality.not_analysed &&
					profile->program->loops.items[row->loop].code->is_innermost
				? &model.quality
				: NULL;
		sn_variants_set_level(quality, row);
		if (quality)
			model_compare(quality, row);
	}
	if (model.has_quality)
		sn_cqa_loop_free(&model.quality);
}
