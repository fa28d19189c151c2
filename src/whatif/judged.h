/**
 * The verdict of all evidence (evidence.h) on each loop whose variants were timed, for what concludes from
 * many loops: the first screen, its hint. A loop without variants has the static model alone.
 */
#ifndef SN_WHATIF_JUDGED_H
#define SN_WHATIF_JUDGED_H

#include "whatif/evidence.h"
#include "whatif/whatif.h"

struct sn_judged_loop {
	uint32_t number;		   /* of the program */
	const struct sn_whatif_loop *loop; /* NULL: the static model has none */
	struct sn_variants variants;	   /* the loop as a whole, with its level */
	struct sn_loop_known known;
	struct sn_loop_evidence evidence;
};

struct sn_judged {
	struct sn_variants_list variants;
	struct sn_instances_list instances;
	SN_VEC(struct sn_judged_loop) loops; /* hottest first */
};

/** `whatif` is borrowed; NULL: there is no static model. */
void sn_judged_find(const struct sn_profile *profile, struct sn_structures *structures,
		    const struct sn_whatif *whatif, struct sn_judged *out);
/** That loop of the program; NULL: it has no variants. */
const struct sn_judged_loop *sn_judged_of(const struct sn_judged *judged, uint32_t loop);
void sn_judged_free(struct sn_judged *judged);

#endif
