/*
 * Evidence from variants of loops (sonde decan): what a loop takes as it is, without its arithmetic, and without its
 * accesses to memory.
 */
#include <math.h>

#include "profile/companions.h"
#include "search/evidence/sources.h"
#include "whatif/variants.h"

enum { ORIGINAL, MEMORY, ARITHMETIC, COLUMNS };

static const char *const given[] = { [ORIGINAL] = "time_original",
				     [MEMORY] = "time_memory",
				     [ARITHMETIC] = "time_arithmetic",
				     [COLUMNS] = NULL };

/* (chosen) of the time-stamp counter: properties look at ratios alone */
static const double counter_hz = 3e9;

/* All arithmetic; where that of a loop does not count, that of floating-point numbers. */
static enum sn_decan_variant variant_of(const struct sn_variants *loop, int column)
{
	if (column == ORIGINAL)
		return SN_VARIANT_ORIG;
	if (column == MEMORY)
		return SN_VARIANT_LS;
	return sn_variant_counts(loop, SN_VARIANT_ARITH) ? SN_VARIANT_ARITH : SN_VARIANT_FP;
}

/* By the one rule of whatif/variant_trust.c. ORIG has no gain that could count: it does beside another that does. */
static bool counts(const struct sn_variants *loop, int column)
{
	if (column == ORIGINAL)
		return counts(loop, MEMORY) || counts(loop, ARITHMETIC);
	return sn_variant_counts(loop, variant_of(loop, column));
}

static void loop_add(struct sn_recorded *r, const struct sn_variants *loop, uint32_t region)
{
	double seconds = (double)(loop->iterations ? loop->iterations : 1) / counter_hz;
	struct sn_value value = { .source = sn_tables_source(r->tables, "variants"),
				  .samples = NAN };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_REGION] = region;
	for (int c = 0; c < COLUMNS; c++) {
		const struct sn_variant_figure *figure = &loop->figures[variant_of(loop, c)];

		if (!counts(loop, c) || !(figure->cycles > 0))
			continue;
		value.column = sn_tables_column(r->tables, given[c], NULL);
		value.value = figure->cycles * seconds;
		value.error = (figure->high - figure->low) / 2 * seconds;
		sn_tables_add(r->tables, &value);
	}
}

static void variants_collect(struct sn_recorded *r)
{
	const struct sn_profile *ran = sn_profile_with_variants(r->profile);
	struct sn_variants_list list = { 0 };

	if (r->part || !ran->experiment->variants.count)
		return;
	sn_variants_find(r->profile, r->structures, &list);
	for (size_t i = 0; i < list.count; i++) {
		const struct sn_variants *loop = &list.items[i];
		uint32_t region = loop->exponent < 0 && counts(loop, ORIGINAL)
					  ? sn_recorded_loop_region(r, loop->loop)
					  : SN_ALL;

		if (region != SN_ALL)
			loop_add(r, loop, region);
	}
	sn_variants_free(&list);
}

const struct sn_source sn_source_variants = {
	.name = "variants",
	.measures =
		"what loops take as they are, without their arithmetic, and without their accesses to memory",
	.needs = "a run of sonde decan",
	.none = "no hot loop of this program can give",
	.costs = "a fifth of the CPU time",
	.option = "decan",
	.gives = given,
	.collect = variants_collect,
};
