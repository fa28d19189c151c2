/**
 * Intervals as vectors: what fraction of an interval's time each piece of code took.
 *
 * A column is (innermost function of the application, innermost source loop, user, system or
 * blocked). Entries are fractions, not seconds: how much CPU a process was given is no property of
 * its phases. Columns that take less than a thousandth of the time are one column of each kind.
 */
#ifndef SN_PHASES_VECTORS_H
#define SN_PHASES_VECTORS_H

#include "phases/intervals.h"
#include "phases/paths.h"
#include "phases/sparse.h"

enum sn_phase_kind { SN_PHASE_USER, SN_PHASE_SYSTEM, SN_PHASE_BLOCKED, SN_PHASE_KINDS };

struct sn_phase_column {
	uint32_t function, loop; /* SN_NONE, SN_NONE: all the small ones */
	uint32_t kind;		 /* enum sn_phase_kind */
	uint64_t total_ns;
};

struct sn_phase_vectors {
	struct sn_sparse matrix; /* a row for every interval that is not idle */
	uint32_t *rows;		 /* by matrix row: the interval's row */
	uint8_t *is_clean; /* by matrix row: takes part in forming the model; the others are only
			      assigned: too little was seen of them, or a phase ends in them */
	size_t clean_count;
	SN_VEC(struct sn_phase_column) columns;
	uint32_t *stack_columns; /* see sn_phase_column_of */
	uint32_t stack_count;
};

/** The column that time of this kind in a stack belongs to; SN_NONE: there is none. */
static inline uint32_t sn_phase_column_of(const struct sn_phase_vectors *vectors, uint32_t stack,
					  enum sn_phase_kind kind)
{
	if (stack > vectors->stack_count)
		stack = vectors->stack_count;
	return vectors->stack_columns[(size_t)stack * SN_PHASE_KINDS + kind];
}

struct sn_phase_vectors *sn_phase_vectors_new(const struct sn_intervals *intervals,
					      const struct sn_phase_paths *paths);
void sn_phase_vectors_free(struct sn_phase_vectors *vectors);

#endif
