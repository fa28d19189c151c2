/* Gathers what was measured of each loop, and judges it. */
#include "whatif/judged.h"

#include <string.h>

static const struct sn_whatif_loop *whatif_of(const struct sn_whatif *whatif, uint32_t loop)
{
	for (size_t i = 0; whatif && i < whatif->loops.count; i++)
		if (whatif->loops.items[i].loop == loop)
			return &whatif->loops.items[i];
	return NULL;
}

static const struct sn_instances *instances_of(const struct sn_judged *judged, uint32_t loop)
{
	for (size_t i = 0; i < judged->instances.count; i++)
		if (judged->instances.items[i].loop == loop)
			return &judged->instances.items[i];
	return NULL;
}

static void judge(const struct sn_profile *profile, struct sn_judged *judged,
		  struct sn_judged_loop *loop)
{
	const struct sn_metrics *m = &profile->loops[loop->number];
	const struct sn_cqa_loop *quality =
		loop->loop && !loop->loop->quality.not_analysed ? &loop->loop->quality : NULL;

	sn_variants_set_level(quality && quality->loop && quality->loop->is_innermost ? quality
										      : NULL,
			      &loop->variants);
	loop->known = (struct sn_loop_known){
		.quality = quality,
		.advice = quality ? &loop->loop->advice : NULL,
		.variants = &loop->variants,
		.instances = instances_of(judged, loop->number),
		.exclusive_share = sn_share(m->exclusive.cpu_ns - m->exclusive.system_ns,
					    profile->total.cpu_ns),
		.inclusive_share = sn_share(m->inclusive.cpu_ns, profile->total.cpu_ns),
	};
	sn_loop_evidence_judge(&loop->known, &loop->evidence);
}

void sn_judged_find(const struct sn_profile *profile, struct sn_structures *structures,
		    const struct sn_whatif *whatif, struct sn_judged *out)
{
	memset(out, 0, sizeof(*out));
	if (!structures)
		return;
	sn_variants_find(profile, structures, &out->variants);
	if (!out->variants.count)
		return;
	sn_instances_find(profile, &out->instances);
	for (size_t i = 0; i < out->variants.count; i++) {
		const struct sn_variants *of = &out->variants.items[i];

		if (of->exponent < 0 && of->figures[SN_VARIANT_ORIG].samples)
			sn_vec_push(&out->loops,
				    ((struct sn_judged_loop){ .number = of->loop,
							      .loop = whatif_of(whatif, of->loop),
							      .variants = *of }));
	}
	/* what is known borrows from the items, which no longer move */
	for (size_t i = 0; i < out->loops.count; i++)
		judge(profile, out, &out->loops.items[i]);
}

const struct sn_judged_loop *sn_judged_of(const struct sn_judged *judged, uint32_t loop)
{
	for (size_t i = 0; judged && i < judged->loops.count; i++)
		if (judged->loops.items[i].number == loop)
			return &judged->loops.items[i];
	return NULL;
}

void sn_judged_free(struct sn_judged *judged)
{
	for (size_t i = 0; i < judged->loops.count; i++)
		sn_loop_evidence_free(&judged->loops.items[i].evidence);
	sn_vec_free(&judged->loops);
	sn_variants_free(&judged->variants);
	sn_instances_free(&judged->instances);
}
