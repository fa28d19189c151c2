/**
 * What the program would gain if its loops were as one of their variants: the gains of `sonde decan`,
 * added up over loops, most first (ONE View, section 6.1, figure 3; docs/method/variants.md).
 */
#ifndef SN_WHATIF_MEASURED_H
#define SN_WHATIF_MEASURED_H

#include "base/vec.h"
#include "whatif/variants.h"

struct sn_measured_loop {
	const struct sn_variants *variants;  /* the loop as a whole; borrowed from the list */
	double saved, saved_low, saved_high; /* share of the run's CPU time; below 0: it loses */
	/* SN_NONE, or the loop of the program that stands for it: one around it or in it, which saves
	 * more of the same time */
	uint32_t counted_with;
	size_t rank;	   /* from 1; 0: it is not in the curve, as it saves nothing or
					   another loop stands for it */
	double cumulative; /* speed-up of the program with this and all loops before;
					   NaN: not in the curve */
	struct sn_interval cumulative_range;
};

struct sn_measured_curve {
	SN_VEC(struct sn_measured_loop) loops; /* the curve, then the others, most saved first */
	size_t count;			       /* loops of the curve */
	double measured_share;		       /* of CPU time: in loops in which it was timed */
	double speedup; /* of the program by the whole curve; NaN: no time was measured */
	struct sn_interval range;
	size_t loops_for_80_percent; /* of `speedup` - 1; 0: no gain */
};

/** ORIG and FES have no gains: for these the curve is empty. `program` says which loops hold which. The
 * list is borrowed. */
void sn_measured_curve_find(const struct sn_program *program, const struct sn_variants_list *list,
			    enum sn_decan_variant variant, struct sn_measured_curve *out);
void sn_measured_curve_free(struct sn_measured_curve *curve);

#endif
