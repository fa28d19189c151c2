/* How far what was timed of variants is to be believed: one rule for all that concludes from it. */
#include <math.h>

#include "whatif/variants.h"

/* DL1 that takes so much longer than the loop is not the loop on nearer data (chosen: as near as ORIG should be). */
#define SLOWER 0.95

bool sn_variant_counts(const struct sn_variants *variants, enum sn_decan_variant variant)
{
	const struct sn_variant_figure *f = &variants->figures[variant];

	if (f->state == SN_VARIANT_NOT_THERE || f->state == SN_VARIANT_WITHHELD ||
	    isnan(f->speedup) ||
	    variants->figures[SN_VARIANT_ORIG].instance_cycles < SN_VARIANT_CYCLES_LEAST)
		return false;
	return !variants->keeps_loads || variants->class != SN_CLASS_UNKNOWN ||
	       f->speedup_range.low > 1;
}

struct sn_interval sn_variant_range(const struct sn_variants *variants,
				    enum sn_decan_variant variant)
{
	const struct sn_variant_figure *f = &variants->figures[variant];
	struct sn_interval range = f->speedup_range;

	if (variant == SN_VARIANT_DL1)
		range.high *= SN_VARIANT_ERROR;
	if (f->state == SN_VARIANT_WARMED)
		range.low = fmin(range.low, 1);
	return range;
}

bool sn_variants_are_sure(const struct sn_variants *variants)
{
	for (int v = 0; v < SN_VARIANTS; v++)
		if (sn_variant_is_doubtful(&variants->figures[v]))
			return false;
	return variants->class != SN_CLASS_UNKNOWN && !variants->withheld &&
	       !variants->is_list_by_model;
}

void sn_variants_doubt_dl1(struct sn_variants *variants)
{
	struct sn_variant_figure *dl1 = &variants->figures[SN_VARIANT_DL1];

	if (!(dl1->speedup_range.high < 1))
		return;
	if (dl1->speedup_range.high < SLOWER && dl1->state == SN_VARIANT_MEASURED)
		dl1->state = SN_VARIANT_WEAK;
	dl1->speedup_range.high = dl1->program_range.high = 1;
}
