/**
 * Variants of loops, and the record of what they took: the same loop with some of its instructions
 * left out or changed, run in its place (decision 0074).
 */
#ifndef SN_WIRE_VARIANTS_H
#define SN_WIRE_VARIANTS_H

#include "wire/data.h"
#include "wire/instances.h"

enum sn_decan_variant {
	SN_VARIANT_ORIG,  /* the loop as it is, without what counts in it */
	SN_VARIANT_LS,	  /* loads and stores, their addresses, control */
	SN_VARIANT_FP,	  /* arithmetic and control of a loop with floating-point arithmetic */
	SN_VARIANT_ARITH, /* the same of one without */
	SN_VARIANT_DL1,	  /* all of it, on data that are in the first-level cache */
	SN_VARIANT_FES,	  /* as many instructions that do nothing, and control */
	SN_VARIANT_PF,	  /* the loop with prefetches */
	SN_VARIANTS,
};

enum { SN_VARIANT_BUCKETS = 40 };

/** In which threads variants of a loop run. */
enum sn_variant_threads {
	SN_VARIANT_THREADS_EACH, /* in each, which takes turns by itself */
	SN_VARIANT_THREADS_ONE, /* in the first that comes to the loop; the others run it as it is */
	/* in all: the n-th that is chosen in a thread is the same instance and the same variant in each */
	SN_VARIANT_THREADS_ALL,
};

/** Instances of a thread in a loop whose iterations are between two powers of two, in which one
 *  variant was timed. */
struct sn_record_variant {
	/* its exponent: 2^exponent <= iterations of the instance < 2^(exponent + 1) */
	struct sn_record_bucket timings;
	uint32_t variant;   /* enum sn_decan_variant */
	uint32_t disturbed; /* left out: another thread, a page fault, another CPU came between */
	uint32_t faulted;   /* ended by a fault that only the variant had */
	uint32_t runaway;   /* ended as it took many times what the loop takes */
};

#endif
