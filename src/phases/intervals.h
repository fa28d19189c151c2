/**
 * A run cut into intervals: what every process did in each piece of a common time grid.
 *
 * A row is one (process, interval); its cells say how much time each call path took in it. Time is
 * CPU time (by samples, each counted where it was taken) and blocked time (traced calls, cut at the
 * grid).
 *
 * Two kinds of time are left out. A thread that is blocked through the whole interval while another
 * thread of its process runs waits for the others, and says nothing about the process. The time of
 * threads between two parallel regions, spinning or blocked, is left out as well: what the process
 * does then is what the thread does that opens them.
 */
#ifndef SN_PHASES_INTERVALS_H
#define SN_PHASES_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "phases/paths.h"
#include "profile/profile.h"

/** Time of one call path in one row. */
struct sn_interval_cell {
	uint32_t stack; /* of the program; its stack_count: samples without one */
	uint32_t samples;
	uint64_t user_ns, system_ns, blocked_ns;
};

struct sn_interval_row {
	uint32_t process, number; /* begins at number * interval_ns */
	int64_t end_ns;		  /* of the last row of a process: its end */
	size_t first_cell;	  /* cells up to the next row's first, by stack */
	uint32_t samples;
	uint64_t user_ns, system_ns, blocked_ns;
	bool is_idle; /* nothing was seen of the process */
};

struct sn_intervals {
	const struct sn_profile *profile; /* borrowed */
	int64_t interval_ns;
	bool is_auto, is_short;		     /* short: no length had enough samples */
	double median_samples;		     /* of busy rows; NaN: none is busy */
	SN_VEC(struct sn_interval_row) rows; /* by process, then number; one more at the end */
	size_t row_count;
	SN_VEC(struct sn_interval_cell) cells;
	size_t busy_count;  /* rows that are not idle */
	int64_t *first_row; /* by process: the row that its number 0 has or would have; INT64_MIN:
			       it has no rows */
};

enum {
	SN_PHASES_SAMPLES_MIN = 95, /* that an automatic length must give at the rate there was */
	SN_INTERVAL_LENGTHS = 5,
	SN_PHASES_ROWS_MAX = 4000000, /* more are refused */
};

/** 0.1, 0.2, 0.5, 1 and 2 s. */
extern const int64_t sn_interval_lengths_ns[SN_INTERVAL_LENGTHS];

/**
 * Cuts the profile's run into intervals. With `interval_ns` 0 it chooses the smallest of these
 * lengths that gives SN_PHASES_SAMPLES_MIN samples to a thread that runs all the time, or as median
 * of the rows that mostly compute. SN_ERR_NO_DATA: no sample and no wait at all; SN_ERR_RANGE: more
 * than SN_PHASES_ROWS_MAX rows. The profile must outlive the result.
 */
sn_status sn_intervals_new(const struct sn_profile *profile, const struct sn_phase_paths *paths,
			   int64_t interval_ns, struct sn_intervals **out, struct sn_error *err);
void sn_intervals_free(struct sn_intervals *intervals);

/** The row of a process at a time; row_count: there is none. */
size_t sn_interval_row_at(const struct sn_intervals *intervals, uint32_t process, int64_t time_ns);

/** Cells of several rows by stack: what walks paths does so once a stack, not once a cell. */
struct sn_stack_sum {
	uint32_t stack;
	uint64_t samples, ns;
};
struct sn_stack_sums {
	SN_VEC(struct sn_stack_sum) items; /* by stack; those with a cell */
};
/** Sums the rows with a flag (NULL: all). `out` is freed with sn_vec_free(&out->items). */
void sn_stack_sums_find(const struct sn_intervals *intervals, const uint8_t *has_row,
			struct sn_stack_sums *out);

static inline uint64_t sn_interval_row_ns(const struct sn_interval_row *row)
{
	return row->user_ns + row->system_ns + row->blocked_ns;
}
static inline uint64_t sn_interval_cell_ns(const struct sn_interval_cell *cell)
{
	return cell->user_ns + cell->system_ns + cell->blocked_ns;
}

#endif
