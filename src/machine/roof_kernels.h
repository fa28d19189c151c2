/**
 * Loops that use one resource of a core to the full: arithmetic of one kind, or loads and stores of
 * memory that lies in one level. They use the widest vectors that this processor has.
 */
#ifndef SN_MACHINE_ROOF_KERNELS_H
#define SN_MACHINE_ROOF_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "machine/roofs.h"

enum { SN_ROOF_VARIANTS = 3 };

/** `count` passes of arithmetic on registers; nothing but the time is of interest. */
typedef void (*sn_roof_arithmetic)(uint64_t count, const void *ones);

/** A loop of arithmetic; run NULL: this processor cannot run it. */
struct sn_roof_loop {
	sn_roof_arithmetic run;
	double flops; /* of a pass */
};

/** The loops of a kind: which of them is the fastest depends on the core, which may have units for
 * additions beside those for products. */
void sn_roof_loops_of(enum sn_roof_kind kind, struct sn_roof_loop out[SN_ROOF_VARIANTS]);

/** Reads `bytes` (a multiple of 512) from `memory`, aligned to 64, in order. */
void sn_roof_read(const char *memory, size_t bytes);
/** a = b + 2 c over `bytes` (a multiple of 512) of each. */
void sn_roof_triad(char *a, const char *b, const char *c, size_t bytes);

#endif
