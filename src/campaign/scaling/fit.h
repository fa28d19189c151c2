/**
 * Laws of scaling, fitted to times over the number of workers: where does efficiency end?
 *
 *	            strong                              weak
 *	amdahl      T = a + b/n                         T = a + b n            (Amdahl 1967, Gustafson 1988)
 *	usl         T = (a + b (n-1) + c n (n-1)) / n   T = a + b (n-1) + c n (n-1)       (Gunther 1993)
 *	logarithm   T = a/n + b ln n                    T = a + b ln n
 *
 * Coefficients are not negative. The law is chosen by AICc (Hurvich and Tsai 1989); the intervals of
 * predictions hold those of every law that is nearly as good.
 */
#ifndef SN_CAMPAIGN_SCALING_FIT_H
#define SN_CAMPAIGN_SCALING_FIT_H

#include <stdbool.h>
#include <stddef.h>

struct sn_fit_point {
	double workers, time_s; /* of one run */
};

enum { SN_FIT_POINTS_LEAST = 4, SN_FIT_PREDICTIONS = 2 };

struct sn_fit_prediction {
	double workers, time_s, low_s, high_s; /* 95 % interval of a run's time */
};

struct sn_fit {
	const char *model; /* "amdahl", "usl", "logarithm"; NULL: none, and `reason` says why */
	double workers_80,
		workers_50; /* where efficiency falls below, first by what was measured, beyond it
					* by the law; NaN: not up to 10^6 */
	struct sn_fit_prediction predicted[SN_FIT_PREDICTIONS]; /* at 2x and 4x the most workers */
	char reason[200];					/* "" */
};

/** Fits the times of runs at four numbers of workers or more, in any order. `reference`: the number of
 * workers that efficiency is 1 at. The law is checked by leaving out the most workers: if the rest does
 * not foretell them, there is no fit. */
void sn_fit_scaling(const struct sn_fit_point *points, size_t count, bool is_weak, double reference,
		    struct sn_fit *out);

#endif
