/**
 * The profile of an execution's lattice: how many cuts, how many arcs, how wide each level, how
 * many events can happen next. Exact where the budget allows, else in labelled windows.
 *
 * The lattice is first split at levels with one cut only (everybody has synchronised there); the
 * parts are counted one by one and joined. A part that is over budget is answered by windows, which
 * are the lattices between two of its cuts. They are exact in themselves and say nothing about what
 * lies beside them.
 */
#ifndef SN_LATTICE_PROFILE_H
#define SN_LATTICE_PROFILE_H

#include "pandore/lattice/interval.h"

struct sn_lattice_budget {
	uint64_t states; /* states of the count in memory at a time; 0: 4,000,000 */
	double seconds;	 /* of CPU time; 0: 3 s */
	uint64_t bytes;	 /* 0: 2 GB */
};

/** The counts between two cuts. */
struct sn_lattice_window {
	uint32_t *from, *to; /* P numbers each */
	uint32_t level_first, level_last;
	bool is_whole; /* every cut of the execution at these levels lies between them */
	struct sn_interval_counts counts;
};

struct sn_lattice_profile {
	uint32_t process_count, event_count;
	uint32_t active_count; /* processes that have events */
	bool is_exact;	       /* one whole window from the empty to the full cut */
	SN_VEC(struct sn_lattice_window) windows; /* by level; exact: one */
	uint32_t level_count;			  /* event_count + 1 */
	double *level_mean;  /* mean out-degree of each level's cuts; NaN: not counted */
	double *level_log10; /* log10 of each level's cuts; NaN: not counted */
	/* all its cuts were counted; if not, the two above are of those cuts and arcs only that lie in
	   a window: lower bounds of what there is */
	bool *level_is_whole;
	/* processes that can act in some cut of the level: a bound from above on what is possible
	   next in any of them. Always exact. */
	uint32_t *level_processes;
	uint32_t synchronisation_count; /* inner levels with one cut only */
	uint64_t state_count;		/* states made in all */
	double seconds;
	const char *stopped_by; /* "states" or "seconds" if not exact, else NULL */
};

/** Profiles an order. Always succeeds, within the budget (a second more at most). */
void sn_lattice_profile_make(const struct sn_lattice_order *order,
			     const struct sn_lattice_budget *budget,
			     struct sn_lattice_profile *out);
/** The mean of the levels' mean out-degrees, each level alike; NaN: none was counted. A mean over cuts says little of a
 * run, as the widest levels have nearly all cuts. */
double sn_lattice_mean_of_levels(const struct sn_lattice_profile *profile);
void sn_lattice_profile_free(struct sn_lattice_profile *profile);

/** Mean out-degree over a window: arcs / (cuts - 1), the last cut having none; NaN for one cut. */
double sn_lattice_window_mean(const struct sn_lattice_window *window);

/** The longest chain of events: its length is the number of steps that no distribution of the same
 *  events over the same dependencies can avoid. `depths` (one number a row of the order, may be
 * NULL) gets the longest chain that ends in each event. */
uint32_t sn_lattice_order_depth(const struct sn_lattice_order *order, uint32_t *depths);

#endif
