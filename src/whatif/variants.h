/**
 * Variants of loops: what each took, what the loop would gain, and what bounds it
 * (docs/method/variants.md).
 */
#ifndef SN_WHATIF_VARIANTS_H
#define SN_WHATIF_VARIANTS_H

#include "base/stats.h"
#include "cqa/loop/loop.h"
#include "machine/machine.h"
#include "profile/profile.h"
#include "profile/structures.h"
#include "wire/variants.h"

/** "orig", "ls", "fp", "arith", "dl1", "fes", "pf". */
extern const char *const sn_loop_variant_names[SN_VARIANTS];
/** What a variant writes: "same" (it is the execution itself), "silent" (what it has just read),
 * "none". */
const char *sn_variant_safety(enum sn_decan_variant variant);

enum sn_variant_state {
	SN_VARIANT_MEASURED,
	SN_VARIANT_WEAK, /* few timings, or short ones */
	/* it ran behind other variants on the same instances, as there were few: what it read was in the caches. It is
	 * trusted like a weak one */
	SN_VARIANT_WARMED,
	SN_VARIANT_WITHHELD,  /* cycles, but no gain: `reason` says why */
	SN_VARIANT_NOT_THERE, /* `reason` says why */
};

/** One variant of a loop. Cycles are of the time-stamp counter, an iteration; NaN: not known. */
struct sn_variant_figure {
	enum sn_variant_state state;
	const char *reason;
	uint64_t samples;
	double cycles, low, high; /* median, and its 95 % interval */
	double instance_cycles;	  /* median of an instance */
	double stability;	  /* (median - least) / least */
	/* how many times faster the loop would be, and the program; not of ORIG and FES */
	double speedup, program_speedup;
	struct sn_interval speedup_range, program_range;
};

enum sn_loop_class {
	SN_CLASS_UNKNOWN, /* not measured, or differences within noise */
	SN_CLASS_DATA,
	SN_CLASS_COMPUTE,
	SN_CLASS_BOTH,	  /* loads and stores take as long as arithmetic, and as the loop */
	SN_CLASS_NEITHER, /* neither alone: they do not overlap */
	SN_CLASS_FRONT_END,
};
/** "measured", "weak" or "warm", or the reason why it is not there. */
const char *sn_variant_state_name(const struct sn_variant_figure *figure);
/** Measured, though it may be trusted less than others. */
static inline bool sn_variant_is_doubtful(const struct sn_variant_figure *figure)
{
	return figure->state == SN_VARIANT_WEAK || figure->state == SN_VARIANT_WARMED;
}

const char *sn_loop_class_name(enum sn_loop_class class);
struct sn_variants;
/** Below so many cycles of an instance nothing is concluded. */
#define SN_VARIANT_CYCLES_LEAST 250.0
/** What bounds a loop, by what its variants took: only where differences exceed their intervals, and
 * never of instances below SN_VARIANT_CYCLES_LEAST (docs/method/variants.md). */
enum sn_loop_class sn_loop_class_of(const struct sn_variants *variants);

/** Whether a variant's gain counts, for all that concludes from it: it is there and not withheld, instances are long
 * enough, and where every variant has the loads that decide where the loop goes on it surely gains. */
bool sn_variant_counts(const struct sn_variants *variants, enum sn_decan_variant variant);
/** The loop with what a variant spares is within 10 % of the variant (bench/whatif/pairs.py: divisions). */
#define SN_VARIANT_ERROR 1.1
/** The interval of a variant's gain with what else is in doubt: DL1 is the loop within SN_VARIANT_ERROR, and of one that found
 * warm caches the gain may be less, down to nothing. */
struct sn_interval sn_variant_range(const struct sn_variants *variants,
				    enum sn_decan_variant variant);
/** Whether the variant surely takes nine tenths of what the loop takes, or more. */
bool sn_variant_explains(const struct sn_variants *variants, enum sn_decan_variant variant);
/** Whether the class is known by variants alone, none of them weak, timed beside an ORIG that is the loop. */
bool sn_variants_are_sure(const struct sn_variants *variants);

/** Data in first-level cache make no loop slower: the interval of a DL1 that is reaches to 1, and one that is surely slower
 * by a twentieth is weak. */
void sn_variants_doubt_dl1(struct sn_variants *variants);

/** A loop, or the instances of it whose iterations are alike. */
struct sn_variants {
	uint32_t loop; /* of the program */
	int exponent; /* 2^exponent <= iterations of an instance < 2^(exponent + 1); -1: all of them */
	int only_exponent; /* of a loop whose instances are all in one bucket, that one; else -1 */
	uint64_t instances, iterations; /* in all; of a bucket 0: not known */
	double coverage; /* share of CPU time, with that of loops in it, without what they call */
	double called_share; /* of its instances in which a variant was begun: they called a function, and have no timing */
	struct sn_variant_figure figures[SN_VARIANTS];
	enum sn_loop_class class;
	bool has_no_memory; /* it is known to access none: no LS, no DL1 */
	bool has_no_arithmetic; /* it is known to have none: no FP, no ARITH; FES is the loop without its loads and stores */
	bool is_list_by_model; /* its class is that of a list, as the static model leaves nothing else */
	bool keeps_loads; /* every variant has loads at irregular addresses, which decide where it goes on */
	const char *
		withheld; /* why gains, and a class, are not known though they were timed; NULL: they are */
	const char *level; /* of class DATA: "L1", "L2", "L3", "RAM"; NULL: not known */
	bool is_latency_bound;
	bool has_latency; /* is_latency_bound is known */
	/* Of a whole loop, NaN: not known. Cycles an iteration of the loop where it ran as it is (by the samples of the
	 * run before), and ORIG by them. */
	double ref_cycles, copy_bias;
	uint64_t ref_samples; /* behind ref_cycles; 0: they are not known */
	double dl1_per_cqa;   /* DL1 by what the static model says of data in first-level cache */
	unsigned
		pf_lines; /* so many lines (or iterations of longer steps) ahead PF prefetches; 0: not timed */
	double fp_per_cqa; /* FP (or ARITH) by what it says of the loop without loads and stores */
	double frequency_impact; /* the core's clock by the time-stamp counter's, while variants were timed */
};

struct sn_variants_list {
	struct sn_arena arena;
	struct sn_variants *items; /* most CPU time first; each loop as a whole, then its buckets */
	size_t count;
};

/** Of the threads that pass the profile's filter; where variants ran in another run of the program
 * (profile/companions.h), of all its threads. `structures` may be NULL: then no reason says why a
 * loop cannot have a variant. */
void sn_variants_find(const struct sn_profile *profile, struct sn_structures *structures,
		      struct sn_variants_list *out);
/** Sets ref_cycles (of so many samples, above 0) and copy_bias. Where the copy surely differs by more than a tenth from the
 * loop as it was, gains that this could explain, and a class that rests on them, are withheld; intervals of the
 * others are wider by it. Texts are of the arena. */
void sn_variants_refer(struct sn_variants *variants, double ref_cycles, uint64_t samples,
		       struct sn_arena *arena);
/** Adds what the static model (`machine` may be NULL) says: `level` and what stands behind it. */
void sn_variants_compare(const struct sn_machine *machine, const struct sn_profile *profile,
			 struct sn_structures *structures, struct sn_variants_list *list);
/** Sets `level` and what stands behind it by what the static model (may be NULL) says of the loop's own blocks: of
 * an innermost loop. */
void sn_variants_set_level(const struct sn_cqa_loop *quality, struct sn_variants *variants);
/** Where the data of a loop are that DL1 makes so many times as fast: the enum sn_level, from `nearest` on (L2 or
 * farther; nearer ones have no room for them), with whose cycles the static model comes nearest; -1: data may be in
 * L1, or two fit. */
int sn_variants_level(const double *level_cycles, struct sn_interval gain, int nearest);
/** Why this loop cannot have variants at all, as what follows "because"; NULL: it can. */
const char *sn_variants_refusal(struct sn_structure *structure, const struct sn_loop *loop);
void sn_variants_free(struct sn_variants_list *list);

#endif
