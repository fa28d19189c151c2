/**
 * The metrics of the whole run (ONE View, section 6.1): what it took, how good its code is, and how many
 * times as fast it would be, in elapsed time (docs/method/global.md).
 */
#ifndef SN_WHATIF_GLOBAL_H
#define SN_WHATIF_GLOBAL_H

#include "base/arena.h"
#include "whatif/whatif.h"

struct sn_global_row {
	const char *metric;	 /* "elapsed", "speedup_clean" ... */
	const char *unit;	 /* "s", "share", "threads", "paths", "ratio" */
	const char *source;	 /* "measured", "static"; NULL: there is no value */
	const char *reason;	 /* why there is no single value; NULL: there is one */
	double value, low, high; /* NaN: not known. An interval without a value: somewhere in it */
	double basis_share;	 /* of CPU time: what the figure rests on; NaN: not known */
	size_t loops_for_80_percent; /* of the loops that gain most */
	bool has_loops;		     /* loops_for_80_percent is known */
};

struct sn_global {
	struct sn_arena arena;
	SN_VEC(struct sn_global_row) rows;
};

/** `whatif` NULL: there is no model of the processor. `structures` may be NULL. */
void sn_global_find(const struct sn_profile *profile, struct sn_structures *structures,
		    const struct sn_whatif *whatif, struct sn_global *out);

/** What speed-ups in elapsed time rest on where threads waited for CPUs; NULL: they hardly did, or it is not
 * known. The arena's. */
char *sn_global_warning(const struct sn_profile *profile, struct sn_arena *arena);

/** By group of loops, how many times as fast the run would be at most, in elapsed time, if these loops alone were fully
 * vectorized and their data in L1: the upper end of such a row as `speedup_full_vector`. NaN: there are no
 * samples, or no loop has an estimate. `group_of` is by loop of the program; SN_NONE: in none. */
void sn_global_vectors_of_groups(const struct sn_profile *profile, const struct sn_whatif *whatif,
				 const uint32_t *group_of, size_t groups, double *high);
void sn_global_free(struct sn_global *global);

#endif
