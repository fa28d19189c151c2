/**
 * Any number of sets of runs against one of them: every function and source loop with its time in each.
 *
 * Each set is compared with the reference as compare.h does it. The false-alarm rate is that of all of
 * it: Holm's correction goes over the rows of all sets. Runs of one campaign are compared block by block.
 */
#ifndef SN_COMPARE_SETS_H
#define SN_COMPARE_SETS_H

#include "compare/compare.h"

struct sn_compare_set {
	const char *name;
	struct sn_compare_run *runs; /* borrowed */
	size_t count;
};

enum sn_set_verdict {
	SN_SET_SAME,
	SN_SET_SLOWER,
	SN_SET_FASTER,
	SN_SET_ONLY_HERE, /* the reference never ran it */
	SN_SET_DRIFT,
	SN_SET_REFERENCE,
	SN_SET_UNTESTED, /* small, or too few runs */
};
/** "same" ... "reference"; NULL for untested. */
const char *sn_set_verdict_name(enum sn_set_verdict verdict);

struct sn_set_cell {
	double cpu_s, low_s, high_s; /* mean over the runs, 95 % interval; NaN: too few runs */
	double ratio, ratio_low, ratio_high; /* to the reference */
	double p;
	enum sn_set_verdict verdict;
	double detectable_ratio; /* that would be found in 80 of 100 such comparisons; NaN: unknown */
	double difference_s;
};

/** Whether "same" is a matter of how many rows are compared: the cell's own interval leaves 1 out, and only the correction
 * for the number of rows makes it no finding. More runs settle it. */
bool sn_set_cell_is_unsure(const struct sn_set_cell *cell);

struct sn_set_row {
	struct sn_compare_entry entry;
	struct sn_set_cell *cells; /* by set */
	size_t best;		   /* set with the least time, of those that have it */
	bool is_matched;	   /* the reference has it */
};

/** What a reader wants first, 0: a total, or a row that differs in some set. 1: another that was tested. 2: the rest. */
int sn_set_row_rank(const struct sn_set_row *row, size_t set_count);

struct sn_set_comparison {
	struct sn_arena arena;
	size_t set_count, reference;
	const char *design;	 /* "blocks", "sequential" or "unknown" */
	double false_alarm_rate; /* NaN: cannot be stated */
	size_t tested, findings, drifted;
	SN_VEC(const char *) warnings;
	SN_VEC(struct sn_set_row)
	rows; /* totals, then by time in the reference, unmatched ones last */
};

/** How many cells are unsure. */
size_t sn_set_unsure_count(const struct sn_set_comparison *comparison);
/** Compares. At least two sets. `false_alarm_rate` 0: 0.05. */
struct sn_set_comparison *sn_compare_sets(const struct sn_compare_set *sets, size_t count,
					  size_t reference, double false_alarm_rate);
void sn_set_comparison_free(struct sn_set_comparison *comparison);

/** What a split of equal runs into halves says of the false-alarm rate. */
struct sn_self_test {
	size_t comparisons, alarms;
	struct sn_interval rate;	 /* 95 % (Wilson) */
	struct sn_set_comparison *last;	 /* two halves of one set; NULL: no set has enough runs */
	struct sn_compare_set halves[2]; /* these; their runs borrow from the sets */
};
/** Splits the runs of each set at random, pair by pair of neighbouring blocks, `splits` times a set, and
 * compares the halves. Sets of fewer than six runs are left out. Runs get blocks of their own meanwhile. Free with
 * sn_self_test_free. */
void sn_compare_self(const struct sn_compare_set *sets, size_t count, size_t splits, uint64_t seed,
		     double false_alarm_rate, struct sn_self_test *out);
void sn_self_test_free(struct sn_self_test *test);

#endif
