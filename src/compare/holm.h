/**
 * Many tests, one rate of false alarms: the weighted method of Holm, "A simple sequentially rejective multiple test
 * procedure" (1979), section 4.
 *
 * The whole program's times have half of the rate between them, and functions and loops the other half. A change of the whole
 * would else have to stand out against as many tests as there are functions, though it is what is asked for first.
 */
#ifndef SN_COMPARE_HOLM_H
#define SN_COMPARE_HOLM_H

#include <stdbool.h>
#include <stddef.h>

struct sn_hypothesis {
	double p;
	bool is_total; /* of the whole program */
	void *row;     /* the caller's */
};

/** How many of both kinds there are. */
struct sn_hypothesis_counts {
	size_t totals, others;
};

/** The part of the rate that one hypothesis has before any is rejected. */
double sn_holm_share(struct sn_hypothesis_counts counts, bool is_total);

/** Puts those first that are rejected at this rate of the whole, and tells how many they are. Of true hypotheses any is
 *  rejected in at most that part of the cases, whatever their dependence. */
size_t sn_holm_reject(struct sn_hypothesis *tests, struct sn_hypothesis_counts counts, double rate);

#endif
