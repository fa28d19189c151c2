/**
 * The call paths of two sets of runs as one tree, for a flame graph of differences.
 *
 * Paths are aligned by the functions on them (module and linkage name, as in compare.h); loops are
 * left out. Times are inclusive, and means over the runs of a side. A path that a side never took
 * has 0 there. Runs are added one by one, so only one experiment at a time is in memory.
 */
#ifndef SN_COMPARE_PATHS_H
#define SN_COMPARE_PATHS_H

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "profile/profile.h"

/** Parents come before children. */
struct sn_compare_path {
	uint32_t parent; /* SN_NONE: a root */
	uint32_t name;	 /* index into `names` */
	double cpu_ns[2];
};

struct sn_compare_path_name {
	const char *name, *module; /* for people; live as long as the paths */
};

/** Zero-initialised is empty and ready. */
struct sn_compare_paths {
	struct sn_arena arena;
	struct sn_interner keys;
	struct sn_map nodes; /* (parent + 1, name) -> index */
	SN_VEC(struct sn_compare_path) paths;
	SN_VEC(struct sn_compare_path_name) names;
	size_t runs[2];
};

/** Adds a run to a side (0 or 1). Texts are copied. */
void sn_compare_paths_add(struct sn_compare_paths *paths, const struct sn_profile *profile,
			  int side);
/** Ends the adding, once, after all runs: sums become inclusive means, and paths below this share
 * of the CPU time on both sides are dropped. */
void sn_compare_paths_finish(struct sn_compare_paths *paths, double smallest_share);
void sn_compare_paths_free(struct sn_compare_paths *paths);

#endif
