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

/** Codes of a loop's variants, one of each but of PF, which prefetches at several distances: PF's are the last. */
enum { SN_VARIANT_DISTANCES = 3, SN_VARIANT_CODES = SN_VARIANTS - 1 + SN_VARIANT_DISTANCES };

static inline enum sn_decan_variant sn_variant_of_code(unsigned code)
{
	return code < SN_VARIANT_PF ? (enum sn_decan_variant)code : SN_VARIANT_PF;
}

/** How many lines, or iterations of longer steps, PF's code prefetches ahead. */
static inline unsigned sn_variant_lines_ahead(unsigned code)
{
	return code == SN_VARIANT_PF ? 16 : code == SN_VARIANT_PF + 1 ? 4 : 64;
}

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
	uint32_t
		variant; /* its code: enum sn_decan_variant, or of a further distance of PF; and SN_VARIANT_WARM */
	uint32_t disturbed; /* left out: another thread, a page fault, another CPU came between */
	uint32_t faulted;   /* ended by a fault that only the variant had */
	uint32_t runaway;   /* ended as it took many times what the loop takes */
	/* before so many of these instances SN_CLOCK_CORE_CYCLES of the core took so many of the time-stamp counter,
	 * in all */
	uint64_t clock_cycles, clock_count;
	/* left out: the loop called a function, which no variant does. These are counted at once, where the instance's iterations
	 * are not known yet, as an exception may leave it: in the record of the fewest */
	uint64_t called;
};
/** Records of older versions end before the clock, or before what was called. */
enum {
	SN_VARIANT_BYTES_LEAST = offsetof(struct sn_record_variant, clock_cycles),
	SN_VARIANT_BYTES_CLOCK = offsetof(struct sn_record_variant, called),
};

/** Of a variant that ran behind another one on the same instance: it found in the caches what that one had read. */
#define SN_VARIANT_WARM 0x100u

/** A chain of multiplications, each of three cycles on every processor that we know. */
enum { SN_CLOCK_CHAIN = 100, SN_CLOCK_CORE_CYCLES = 3 * SN_CLOCK_CHAIN };

#endif
