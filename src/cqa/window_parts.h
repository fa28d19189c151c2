/**
 * The window bound from the inside: the core that passes are put through (window.c), and the course
 * that they take, which repeats itself sooner or later (window_repeat.c). Times are cycles from
 * when the first pass began.
 */
#ifndef SN_CQA_WINDOW_PARTS_H
#define SN_CQA_WINDOW_PARTS_H

#include "cqa/flow.h"

enum {
	RING = 4096, /* cycles that are remembered */
	PASSES_LEAST = 12,
	PASSES_MOST = 400,
	OPERATIONS = 700, /* about as many are put through */
	HISTORY = 8,	  /* passes of which stored values are kept */
	REORDER_MOST = 512,
	QUEUE_MOST = 128,
	MARK_INSNS = 64, /* instructions, at least, from mark to mark */
	MARKS_MOST = OPERATIONS / MARK_INSNS + PASSES_LEAST + 2,
};

#define MEASURED_MORE 0.3 /* by which a measured latency of whole cycles may be too long */

/* When the places of a scheduler become free: the latest times at which operations leave it, as
 * many as there are places. An operation can be dispatched when the first place is free. */
struct scheduler {
	uint8_t places[RING];	/* that become free in a cycle */
	uint64_t first;		/* cycle in which the first of them does */
	double occupied_cycles; /* places times cycles */
};

/* The units in use in one cycle; the lap tells which of those that share the place. */
struct cycle {
	uint32_t units, lap;
};

enum place { LOAD, VECTOR_LOAD, STORE, GENERAL, VECTOR };

/* Units of which operations may go to any; the lowest free one is taken. Of cycles in which none is
 * free the last stretch that was met is remembered, not to be walked through again. */
struct pool {
	uint32_t units;
	uint64_t full_from, full_end;
};

/* Operations of an instruction that may go to the same units. */
struct operations {
	struct pool *pool;
	float count, left_over; /* counts need not be whole: parts are left over for later passes */
	enum place place;
};

struct step {
	const struct sn_insn *insn;
	struct operations *operations; /* [insn->set_count] */
	double dispatch_cycles;
	bool needs[VECTOR + 1]; /* a place of this kind */
};

struct window {
	const struct sn_data_flow *flow;
	struct step *steps; /* [insn] */
	struct pool *pools;
	size_t pool_count;
	struct pool first_pair, second_pair; /* of address units */
	struct cycle used[RING];
	struct scheduler general, address, vector;
	/* rings of when vector operations passed from their queue to the scheduler, and of when
	 * operations retired; with the place of the oldest */
	double entered[QUEUE_MOST], retired[REORDER_MOST];
	unsigned entered_place, retired_place;
	double last_entered, last_retired;
	double retired_count;
	double front;	/* when the next operation can be dispatched */
	bool was_first; /* the last address went to the first pair */
	double now[SN_RES_COUNT];
	double (*stored)[HISTORY]; /* [access] */
	double divider_rest;
	uint64_t last_used;   /* cycle */
	unsigned late_passes; /* that the front end let begin later than the rest did */
	unsigned distance;    /* passes, at most, from a store to a load that takes its value */
};

/* What the window was like when a pass began, in times from then on. */
struct mark {
	uint64_t print;
	double front;
	unsigned pass, late_passes;
};

/* Passes that have been run, and what they were like when they began. */
struct course {
	double retired[PASSES_MOST + 1]; /* when all before the pass had retired */
	struct mark marks[MARKS_MOST];
	unsigned mark_count, passes;
	double front_end_cycles;
};

/* fmax() is a call, as it looks after what is no number */
static inline double later(double a, double b)
{
	return a > b ? a : b;
}

/* What is in use in that cycle; a place of the ring that an earlier one had is cleared first. */
static inline struct cycle *cycle_at(struct window *window, uint64_t number)
{
	struct cycle *cycle = &window->used[number % RING];
	uint32_t lap = (uint32_t)(number / RING);

	if (cycle->lap != lap)
		*cycle = (struct cycle){ 0, lap };
	return cycle;
}

/* In which an operation can begin whose inputs are there at `ready`. */
static inline uint64_t first_cycle(double ready)
{
	double from = ready - MEASURED_MORE;
	uint64_t whole = from > 0 ? (uint64_t)from : 0;

	return whole + ((double)whole < from);
}

/** window_repeat.c: compares the pass that is about to begin (its number is above
 *  `window->distance`) with those that were looked at before. If passes repeat themselves from now
 *  on, fills in when all to come will have retired and returns true: none of them need be run. Else
 *  it is marked for later ones, while there is room. */
bool sn_window_foresee(struct course *course, struct window *window, unsigned pass);

#endif
