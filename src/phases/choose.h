/**
 * How many phases: k-means for every k, and a rule that chooses.
 *
 *  - silhouette (default): the largest k within 0.03 of the best mean silhouette, unless no k is
 *    convincing; then 1. Clusters that are not apart (below) are joined.
 *  - elbow: the k that lies farthest below the chord from (1, inertia) to (k_max, inertia).
 *  - fixed: the k asked for.
 *
 * Two clusters are apart if, along the line through their centroids, the gap between their medians
 * is more than SN_APART_GAP times the spread of each (median absolute deviation, scaled). k-means
 * makes of one cluster half a Gaussian and half a uniform distribution, and these stay below 2.8.
 * docs/method/phases.md has the derivation.
 */
#ifndef SN_PHASES_CHOOSE_H
#define SN_PHASES_CHOOSE_H

#include <stdbool.h>

#include "base/vec.h"
#include "phases/kmeans.h"

enum sn_phase_method { SN_METHOD_SILHOUETTE, SN_METHOD_ELBOW, SN_METHOD_FIXED };

struct sn_choose_options {
	enum sn_phase_method method;
	uint32_t k;	/* fixed */
	uint32_t k_max; /* 0: 8 */
	uint64_t seed;
	unsigned restarts; /* 0: 20 */
	double noise;	   /* deviation of a row from its phase by sampling alone; 0: none */
};

struct sn_choice_row {
	uint32_t k;
	double inertia, silhouette; /* NaN: unknown */
};

struct sn_choice {
	uint32_t k;
	SN_VEC(struct sn_choice_row) rows;
	size_t model_rows;  /* rows that the table's numbers stand on */
	bool is_subsample;  /* of the rows that could */
	uint32_t *labels;   /* by matrix row, all rows: 0 .. k-1 */
	double *distances2; /* by matrix row: to its centroid */
	double *centroids;  /* [column * k + cluster] */
};

/** `is_clean` says which rows form the model; at least one does. */
struct sn_choice *sn_choose(const struct sn_sparse *matrix, const uint8_t *is_clean,
			    const struct sn_choose_options *options);
void sn_choice_free(struct sn_choice *choice);

/** The elbow of the rows' inertias: an index. Public for tests. */
size_t sn_elbow(const struct sn_choice_row *rows, size_t count);

#endif
