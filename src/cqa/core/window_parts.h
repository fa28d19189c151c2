/**
 * The window bound from the inside: a block as the window sees it (window_steps.c), the core that
 * passes are put through (window.c), and the course that they take, which repeats itself sooner or
 * later (window_repeat.c). Times are cycles from
 * when the first pass began.
 */
#ifndef SN_CQA_WINDOW_PARTS_H
#define SN_CQA_WINDOW_PARTS_H

#include "cqa/core/flow.h"

enum {
	RING = 4096, /* cycles that are remembered */
	PASSES_LEAST = 12,
	PASSES_MOST = 400,
	OPERATIONS = 700, /* about as many are put through */
	HISTORY = 8,	  /* passes of which stored values are kept */
	REORDER_MOST = 512,
	QUEUE_MOST = 128,
	UNITS = 27, /* of a machine; the pairs of address units and the divider stand behind them */
	MARK_INSNS = 64, /* instructions, at least, from mark to mark */
	MARKS_MOST = OPERATIONS / MARK_INSNS + PASSES_LEAST + 2,
};

#define FIRST_PAIR    (3u << UNITS)
#define SECOND_PAIR   (3u << (UNITS + 2))
#define DIVIDER	      (1u << (UNITS + 4))
#define MEASURED_MORE 0.3 /* by which a measured latency of whole cycles may be too long */

/* When the places of a scheduler become free: the latest times at which operations leave it, as
 * many as there are places. An operation can be dispatched when the first place is free. */
struct scheduler {
	uint8_t places[RING];	/* that become free in a cycle */
	int64_t first;		/* cycle in which the first of them does */
	double occupied_cycles; /* places times cycles */
};

/* The units in use in one cycle; the lap tells which of those that share the place. */
struct cycle {
	uint32_t units, lap;
};

/* Units of which operations may go to any; the lowest free one is taken. Of cycles in which none is
 * free the last stretch that was met is remembered, not to be walked through again. */
struct pool {
	uint32_t units, row_units; /* numbered anew, as the row has them */
	int64_t full_from, full_end;
};

/* Where operations go: to the address units, to write a store, or to compute. */
enum place { LOAD, VECTOR_LOAD, STORE, GENERAL, VECTOR };

/* Operations of an instruction that may go to the same units. */
struct operations {
	struct pool *pool; /* NULL: address units, which the window chooses */
	enum place place;
	unsigned whole;
	bool is_whole; /* else parts are left over for later passes */
	float count, left_over;
};

/* A value that a load takes from a store. */
struct taken {
	double forward_cycles;
	uint32_t store; /* access */
	uint8_t distance;
};

/* A store whose value some load takes. */
struct kept {
	uint32_t store; /* access */
	bool is_rmw;
};

/* A part of an array. */
struct part {
	uint32_t begin, end;
};

/* An instruction, as far as the window looks at it. Parts are of the window's arrays. */
struct step {
	struct part inputs[SN_ROLE_COUNT];
	struct part loads, computes, stores; /* operations */
	struct part taken, kept, outputs;
	double latency, load_latency, update_cycles, divider_cycles, dispatch_cycles;
	unsigned retired_count; /* places of the reorder buffer */
	bool has_memory, is_scatter, is_store_alone;
	bool needs_address, needs_general, needs_vector; /* a place there */
};

struct window {
	const struct sn_data_flow *flow;
	const struct sn_rules *rules;
	struct step *steps; /* [insn] */
	struct operations *operations;
	struct sn_flow_read *inputs;
	struct sn_flow_write *outputs;
	struct taken *taken;
	struct kept *kept;
	uint32_t operation_count, input_count, output_count, taken_count, kept_count;
	struct pool *pools;
	size_t pool_count;
	bool is_alive[SN_RES_COUNT]; /* read by the next pass before it is written */
	/* By how much a pass may put off values that wait for no unit: what was there so long ago
	 * keeps nothing waiting. */
	double idle_cycles;
	struct pool first_pair, second_pair; /* of address units */
	struct cycle used[RING];
	struct scheduler general, address, vector;
	/* rings of when vector operations passed from their queue to the scheduler, and of when
	 * operations retired; with the place of the oldest */
	double entered[QUEUE_MOST], retired[REORDER_MOST];
	unsigned entered_place, retired_place;
	double last_entered, last_retired;
	unsigned retired_count;
	double front;	/* when the next operation can be dispatched */
	bool was_first; /* the last address went to the first pair */
	double now[SN_RES_COUNT];
	double (*stored)[HISTORY]; /* [access] */
	double divider_rest;
	int64_t last_used;    /* cycle */
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
static inline struct cycle *cycle_at(struct window *window, int64_t number)
{
	struct cycle *cycle = &window->used[(uint64_t)number % RING];
	uint32_t lap = (uint32_t)((uint64_t)number / RING);

	if (cycle->lap != lap)
		*cycle = (struct cycle){ 0, lap };
	return cycle;
}

/* In which an operation can begin whose inputs are there at `ready`. */
static inline int64_t first_cycle(double ready)
{
	double from = ready - MEASURED_MORE;
	int64_t whole = from > 0 ? (int64_t)from : 0;

	return whole + ((double)whole < from);
}

/** window_steps.c: what the window needs to know of its block (`window->flow`); all other members
 * are cleared. */
void sn_window_fill(struct window *window, struct sn_arena *arena);

/** window_repeat.c: compares the pass that is about to begin (its number is above
 *  `window->distance`) with those that were looked at before. If passes repeat themselves from now
 *  on, fills in when all to come will have retired and returns true: none of them need be run. Else
 *  it is marked for later ones, while there is room. */
bool sn_window_foresee(struct course *course, struct window *window, unsigned pass);

#endif
