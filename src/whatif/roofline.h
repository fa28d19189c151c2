/**
 * Loops beside the roofs of their machine (docs/method/roofline.md): floating-point operations for
 * each byte that a loop loads or stores, at L1, and how many it does a second. Without hardware
 * counters nobody knows which bytes come from farther away: that is said, not guessed.
 */
#ifndef SN_WHATIF_ROOFLINE_H
#define SN_WHATIF_ROOFLINE_H

#include "base/arena.h"
#include "machine/roofs.h"
#include "whatif/whatif.h"

enum { SN_ROOFLINE_LOOPS_MAX = 200 };

struct sn_roofline_loop {
	uint32_t loop; /* of the program */
	double share;  /* exclusive, as in `show loops` */
	/* of one pass of the machine code; from the path with the least to that with the most */
	double flops, bytes;
	double intensity, intensity_low, intensity_high; /* FLOP a byte; NaN: no bytes */
	/* FLOP a second of one thread while it runs there; NaN: not known */
	double rate, rate_low, rate_high;
	const char *
		source; /* of the rate: "counted" (instances), "paced" (registers of samples); NULL */
	enum sn_roof_kind kind; /* the roof of arithmetic that holds for its instructions */
	unsigned threads;	/* at once there; the roofs are a thread's part of them */
	double roof;		/* of arithmetic and L1, at its intensity; NaN: no roofs */
	double ram_roof;	/* if all its bytes came from RAM; NaN: no roofs, no bytes */
	const char *bound_by;	/* "fma_double", "L1", "RAM"; NULL: not known */
	bool is_above;		/* faster than its roof: one of the two numbers is wrong */
	const char *reason; /* why something is not known, or what it means; NULL: nothing to say */
};

struct sn_roofline {
	struct sn_arena arena;
	struct sn_roofs roofs;
	const char *roofs_absent; /* why there are none, and what helps; NULL: they are there */
	SN_VEC(struct sn_roofline_loop) loops; /* hottest first; those with FP arithmetic */
	double no_flops_share; /* of CPU time: in loops that were looked at and do none */
	double covered_share;  /* in loops with a row */
};

/** Roofs are those that were recorded with the run, else this machine's, if its processor has the
 * same name. */
void sn_roofline_find(const struct sn_profile *profile, struct sn_structures *structures,
		      const struct sn_whatif *whatif, struct sn_roofline *out);
void sn_roofline_free(struct sn_roofline *roofline);

/** The roofs alone. The reason why there are none is in `arena`; NULL: there are some. */
const char *sn_roofline_roofs(const struct sn_experiment *experiment, struct sn_arena *arena,
			      struct sn_roofs *out);

#endif
