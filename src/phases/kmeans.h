/**
 * k-means on sparse rows: Lloyd's iteration from k-means++ starts (Arthur and Vassilvitskii 2007).
 *
 * The same input gives the same bytes: the generator is seeded, sums are taken in the order of the
 * rows, and of equal distances the lowest index wins.
 */
#ifndef SN_PHASES_KMEANS_H
#define SN_PHASES_KMEANS_H

#include "base/stats.h"
#include "phases/sparse.h"

enum { SN_KMEANS_MAX = 64 }; /* clusters at most */

struct sn_kmeans {
	uint32_t k;
	double *centroids;  /* [column * k + cluster] */
	uint32_t *labels;   /* by row */
	double *distances2; /* by row: squared distance to its centroid */
	size_t *counts;	    /* rows of each cluster */
	double inertia;	    /* sum of distances2 */
	unsigned iterations;
};

/** The best of `restarts` runs; `k` is at most the number of rows and SN_KMEANS_MAX. */
struct sn_kmeans *sn_kmeans_fit(const struct sn_sparse *rows, uint32_t k, uint64_t seed,
				unsigned restarts);
/** Continues from given centroids (as laid out above) on other rows, at most `iterations` times; 0
 * only assigns every row to the nearest. */
struct sn_kmeans *sn_kmeans_continue(const struct sn_sparse *rows, uint32_t k,
				     const double *centroids, unsigned iterations);
void sn_kmeans_free(struct sn_kmeans *kmeans);

/**
 * Mean silhouette (Rousseeuw 1987) with Euclidean distances, for several clusterings of the same
 * rows at once: out[i] belongs to labels[i] of ks[i] clusters; NaN for k = 1. A row alone in its
 * cluster counts 0. The cost is that of all pairs of rows.
 */
void sn_silhouettes(const struct sn_sparse *rows, const uint32_t *const *labels, const uint32_t *ks,
		    size_t count, double *out);

#endif
