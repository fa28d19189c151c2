/**
 * Many tests, one rate of false alarms: a weighted method of Holm, "A simple sequentially rejective multiple test
 * procedure" (1979), section 4, with Hochberg's among the times of the whole program.
 *
 * The whole program's times have half of the rate between them, and functions and loops the other half. A change of the whole
 * would else have to stand out against as many tests as there are functions, though it is what is asked for first.
 *
 * Elapsed and CPU time of one comparison rise and fall together, so Hochberg's method (1988) goes for these two: both are
 * rejected if both p are below their common rate, else the smaller one if it is below half of it. Behind it stands Simes'
 * inequality, which holds for the absolute values of any two normal variables (Karlin and Rinott 1981).
 */
#ifndef SN_COMPARE_HOLM_H
#define SN_COMPARE_HOLM_H

#include <stdbool.h>
#include <stddef.h>

struct sn_hypothesis {
	double p;
	bool is_total;	 /* of the whole program */
	size_t together; /* totals: of which comparison; the two of one rise and fall together */
	void *row;	 /* the caller's */
};

/** How many of both kinds there are. */
struct sn_hypothesis_counts {
	size_t totals, others;
};

/** The part of the rate that one hypothesis has by itself before any is rejected. */
double sn_holm_share(struct sn_hypothesis_counts counts, bool is_total);

/** Puts those first that are rejected at this rate of the whole, and tells how many they are. Of true hypotheses any is
 *  rejected in at most that part of the cases, whatever the dependence of functions, loops and comparisons. */
size_t sn_holm_reject(struct sn_hypothesis *tests, struct sn_hypothesis_counts counts, double rate);

#endif
