/**
 * What the program would gain if its loops were cleaned or vectorized. For every loop of an
 * experiment it has the loop's share of the run and what the static model says about its code; from
 * both comes the speed-up of the whole program. docs/method/whatif.md has the formulas (Amdahl
 * 1967; ONE View, sections 4.1 and 6.1).
 *
 * The figures are the model's, for data in L1. Where `sonde decan` has measured that a loop waits for data, its
 * speed-ups leave that waiting in (sn_variants_beside_waiting); the cycles are still the model's. Loops
 * whose figures may be wrong are marked (enum sn_doubt), and totals are given with and without
 * them.
 */
#ifndef SN_WHATIF_WHATIF_H
#define SN_WHATIF_WHATIF_H

#include "cqa/words/advice.h"
#include "cqa/loop/loop.h"
#include "profile/profile.h"
#include "profile/structures.h"

/** Why the figures of a loop are weak. */
enum sn_doubt {
	SN_DOUBT_FEW_SAMPLES = 1,   /* below 20: its share is rough */
	SN_DOUBT_NOT_ANALYSED = 2,  /* no figures at all */
	SN_DOUBT_MANY_PATHS = 4,    /* all blocks as one: paths not told apart, or irreducible */
	SN_DOUBT_HOLDS_LOOPS = 8,   /* not innermost: what happens between its nested loops */
	SN_DOUBT_CALLS = 16,	    /* calls in the body, estimated without them */
	SN_DOUBT_ESTIMATED = 32,    /* instructions that the machine's table lacks */
	SN_DOUBT_NOT_DECODED = 64,  /* bytes that are no instruction */
	SN_DOUBT_SHORT_TRIPS = 128, /* fewer passes than a vector has lanes, if counted from 0 */
	SN_DOUBTS = 8
};

struct sn_whatif_loop {
	uint32_t loop;			     /* of the program */
	size_t rank;			     /* row in `show loops`, from 1 */
	double share, share_low, share_high; /* exclusive, of all CPU time, as in `show loops` */
	/* without the kernel's part, which better code does not change: what formulas begin with */
	double user_share, user_share_low, user_share_high;
	uint64_t samples;
	struct sn_cqa_loop quality; /* owned; weighed by samples, instructions given back */
	sn_advice_list advice;	    /* most certain first */
	unsigned doubts;	    /* bits of enum sn_doubt */
	double program_speedup[SN_VARIANT_COUNT]; /* if this loop alone were so; 1: nothing */
};

/** One loop's step of a cumulative speed-up. */
struct sn_whatif_step {
	uint32_t index;	   /* into sn_whatif.loops */
	double saved;	   /* share of the run that it saves */
	double cumulative; /* speed-up of the program with this and all loops before */
};

/** Speed-ups are NaN where next to none of the loops' time has an estimate (below 1 %). */
struct sn_whatif_variant {
	double estimated_share;	    /* of CPU time: in loops with an estimate for it */
	double not_estimated_share; /* in the other loops: no FP arithmetic, or not analysed */
	double speedup;		    /* of the program, all data in L1 */
	/* from the lower end with all data in RAM to the upper end with all in L1, which level it
	 * was being unknown; the ends are those of 95 % intervals by the shares and by the model's
	 * own error */
	double speedup_low, speedup_high;
	double reliable_speedup; /* by loops without a doubt alone */
	double ram_speedup;	 /* if all data came from RAM and its bandwidth stayed */
	SN_VEC(struct sn_whatif_step) steps; /* most saved first; only loops that save */
	size_t loops_for_80_percent;	     /* steps for 80 % of `speedup` - 1; 0: no gain */
};

struct sn_whatif {
	const struct sn_machine *machine;
	const struct sn_profile *profile;    /* borrowed */
	SN_VEC(struct sn_whatif_loop) loops; /* hottest first, as in `show loops` */
	struct sn_whatif_variant variants[SN_VARIANT_COUNT];
	double analysed_share;	    /* of CPU time: in loops that have figures */
	double reliable_share;	    /* and no doubt */
	size_t left_out;	    /* loops with time but not looked at: beyond the limit */
	double flow_complexity;	    /* paths of a loop, weighed by time; NaN: no loops */
	struct sn_heat_index *heat; /* where samples fell */
	double array_efficiency;    /* share of regular accesses, weighed by time; NaN: none */
};

enum { SN_WHATIF_LOOPS_MAX = 2000 };

/** Analyses the loops that took CPU time, hottest first, the runtimes' apart; at most `most`. */
struct sn_whatif *sn_whatif_new(const struct sn_machine *machine, const struct sn_profile *profile,
				struct sn_structures *structures, size_t most);
void sn_whatif_free(struct sn_whatif *whatif);

/** One loop in full, weighed by the profile's samples. The answer does not keep instructions, so the
 * loop is analysed again. False if its code is not at hand. Free with sn_cqa_loop_free. */
bool sn_whatif_detail(const struct sn_whatif *whatif, struct sn_structures *structures,
		      uint32_t loop, struct sn_cqa_loop *out);

/** The same for one loop alone. SN_ERR_NOT_FOUND if its code is not at hand. */
sn_status sn_whatif_quality(const struct sn_machine *machine, const struct sn_profile *profile,
			    struct sn_structures *structures, uint32_t loop,
			    struct sn_cqa_loop *out, struct sn_error *err);

/** The model's advice on a loop (sn_cqa_advise) and what the run adds to it. Texts are in the
 *  quality's arena. */
void sn_whatif_advise(const struct sn_machine *machine, const struct sn_profile *profile,
		      uint32_t loop, struct sn_cqa_loop *quality, sn_advice_list *out);

/** "few samples, calls" into a buffer; "" without doubts. */
enum { SN_DOUBTS_TEXT = 128 };
const char *sn_doubts_print(unsigned doubts, char text[SN_DOUBTS_TEXT]);

#endif
