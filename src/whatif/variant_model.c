/*
 * What variants say together with the static model: where the data of a loop are and whether it waits for one
 * load after the other.
 */
#include <math.h>

#include "whatif/variants.h"
#include "whatif/whatif.h"

/* A gain below a tenth is within L1 (as in evidence.c). */
#define BEYOND_L1 1.1
/* Two levels that the model cannot tell apart by so much are not told apart (chosen). */
#define APART 1.15

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
static int level_near(const struct sn_cqa_loop *quality, double times)
{
	int best = SN_LEVEL_L2;
	double distances[SN_LEVEL_COUNT];

	for (int l = SN_LEVEL_L2; l < SN_LEVEL_COUNT; l++) {
		double model = quality->level_cycles[l] / quality->level_cycles[SN_LEVEL_L1];

		distances[l] = fabs(log(times / model));
		/* farther than from RAM */
		if (l == SN_LEVEL_RAM && times > model)
			distances[l] = 0;
		if (distances[l] < distances[best])
			best = l;
	}
	for (int l = SN_LEVEL_L2; l < SN_LEVEL_COUNT; l++)
		if (l != best && distances[l] - distances[best] < log(APART))
			return -1;
	return best;
}

/* Only where both ends of what DL1 would gain are nearest to one level. */
static const char *level_of(const struct sn_cqa_loop *quality, const struct sn_variant_figure *dl1)
{
	int low, high;

	if (isnan(dl1->speedup) || dl1->state == SN_VARIANT_NOT_THERE)
		return NULL;
	if (dl1->speedup_range.high < BEYOND_L1)
		return level_names[SN_LEVEL_L1];
	if (!(dl1->speedup_range.low > BEYOND_L1) || !quality ||
	    !(quality->level_cycles[SN_LEVEL_L1] > 0))
		return NULL;
	low = level_near(quality, dl1->speedup_range.low);
	high = level_near(quality, dl1->speedup_range.high);
	return low == high && low >= 0 ? level_names[low] : NULL;
}

static void set_level(const struct sn_cqa_loop *quality, struct sn_variants *row)
{
	if (row->class != SN_CLASS_DATA)
		return;
	row->level = level_of(quality, &row->figures[SN_VARIANT_DL1]);
	row->has_latency = quality != NULL;
	row->is_latency_bound = quality && quality->paths[quality->main_path].loads_on_chain > 0;
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
		set_level(quality, row);
		if (quality && quality->cycles > 0)
			row->dl1_per_cqa = row->figures[SN_VARIANT_DL1].cycles / quality->cycles;
	}
	if (model.has_quality)
		sn_cqa_loop_free(&model.quality);
}
