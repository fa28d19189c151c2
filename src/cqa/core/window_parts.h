/**
 * The window bound from the inside. window_steps.c prepares a block for it. window.c puts passes
 * through a core in program order. window_repeat.c notices when passes repeat themselves. Times are
 * cycles from when the first pass began.
 */
#ifndef SN_CQA_WINDOW_PARTS_H
#define SN_CQA_WINDOW_PARTS_H

#include "cqa/core/flow.h"

enum {
	/* (room) */
	SN_WINDOW_RING = 4096, /* cycles that are remembered */
	/* (chosen) */
	SN_WINDOW_PASSES_LEAST = 12,
	SN_WINDOW_PASSES_MOST = 400,
	SN_WINDOW_INSNS = 700, /* about as many are put through */
	/* (room) */
	SN_WINDOW_STORED_PASSES = 8, /* passes of which stored values are remembered */
	SN_WINDOW_REORDER_MOST = 512,
	SN_WINDOW_QUEUE_MOST = 128,
	/* (room) of a machine; the pairs of address units and the divider are numbered behind them */
	SN_WINDOW_UNITS = 27,
	SN_WINDOW_SNAPSHOT_INSNS = 64, /* (chosen) instructions, at least, between two snapshots */
	SN_WINDOW_SNAPSHOTS_MOST =
		SN_WINDOW_INSNS / SN_WINDOW_SNAPSHOT_INSNS + SN_WINDOW_PASSES_LEAST + 2,
};

#define SN_WINDOW_FIRST_PAIR  (3u << SN_WINDOW_UNITS)
#define SN_WINDOW_SECOND_PAIR (3u << (SN_WINDOW_UNITS + 2))
#define SN_WINDOW_DIVIDER     (1u << (SN_WINDOW_UNITS + 4))

/* The entries of a scheduler, by when they become free: the latest times at which operations leave
 * it, as many as there are entries. An operation can be dispatched when the first entry is free. */
struct sn_window_scheduler {
	uint8_t freed[SN_WINDOW_RING]; /* entries, by cycle */
	int64_t first;		       /* cycle in which the first of them is free */
	double occupied_cycles;	       /* entries times cycles */
};

/* The units in use in one cycle. `lap` tells which of the cycles that share this entry of the ring
 * it is. */
struct sn_window_cycle {
	uint32_t units, lap;
};

/* Units of which an operation may go to any; it takes the lowest that is free. `full_from` to
 * `full_end` are the last cycles met in which none is free, not to be looked at again. */
struct sn_window_port_set {
	uint32_t units, row_units; /* numbered anew, as the row has them */
	int64_t full_from, full_end;
};

enum sn_uop_kind { SN_UOP_LOAD, SN_UOP_VECTOR_LOAD, SN_UOP_STORE, SN_UOP_GENERAL, SN_UOP_VECTOR };

/* Operations of an instruction that may go to the same units. */
struct sn_window_uops {
	struct sn_window_port_set *ports; /* NULL: address units, which the window chooses */
	enum sn_uop_kind kind;
	unsigned whole;
	bool is_whole; /* else fractions add up over passes in `left_over` */
	float count, left_over;
};

/* A value that a load takes from a store. */
struct sn_window_load {
	double forward_cycles;
	uint32_t store; /* access */
	uint8_t distance;
};

/* A store whose value some load takes. */
struct sn_window_store {
	uint32_t store; /* access */
	bool is_rmw;
};

/* A range of one of the window's arrays. */
struct sn_window_range {
	uint32_t begin, end;
};

/* An instruction, as far as the window looks at it. */
struct sn_window_step {
	struct sn_window_range inputs[SN_ROLE_COUNT];
	struct sn_window_range loads, computes, stores; /* operations */
	struct sn_window_range forwarded_loads, forwarded_stores, outputs;
	double latency, load_latency, update_cycles, divider_cycles, dispatch_cycles;
	unsigned retired_count; /* entries of the reorder buffer */
	bool has_memory, is_scatter, is_store_alone;
	bool needs_address, needs_general, needs_vector; /* an entry of that scheduler */
};

struct sn_window {
	const struct sn_data_flow *flow;
	const struct sn_rules *rules;
	struct sn_window_step *steps; /* [insn] */
	struct sn_window_uops *operations;
	struct sn_flow_read *inputs;
	struct sn_flow_write *outputs;
	struct sn_window_load *forwarded_loads;
	struct sn_window_store *forwarded_stores;
	uint32_t operation_count, input_count, output_count, forwarded_load_count,
		forwarded_store_count;
	struct sn_window_port_set *port_sets;
	size_t port_set_count;
	bool is_alive[SN_RES_COUNT]; /* read by the next pass before it is written */
	/* By how much a pass may put off values that wait for no unit: what was there so long ago
	 * keeps nothing waiting. */
	double idle_cycles;
	struct sn_window_port_set first_pair, second_pair; /* of address units */
	struct sn_window_cycle used[SN_WINDOW_RING];
	struct sn_window_scheduler general, address, vector;
	/* rings of when vector operations passed from their queue to the scheduler, and of when
	 * operations retired; and where the oldest stands */
	double entered[SN_WINDOW_QUEUE_MOST], retired[SN_WINDOW_REORDER_MOST];
	unsigned oldest_entered, oldest_retired;
	double last_entered, last_retired;
	unsigned retired_count;
	double front;	/* when the next operation can be dispatched */
	bool was_first; /* the last address went to the first pair */
	double now[SN_RES_COUNT];
	double (*stored)[SN_WINDOW_STORED_PASSES]; /* [access] */
	double divider_rest;
	int64_t last_used;    /* cycle */
	unsigned late_passes; /* that the front end let begin later than the rest did */
	unsigned distance;    /* passes, at most, from a store to a load that takes its value */
};

/* What the window was like when a pass began, in times from then on. */
struct sn_window_snapshot {
	uint64_t fingerprint;
	double front;
	unsigned pass, late_passes;
};

/* Passes that have been run, and what they were like when they began. */
struct sn_window_history {
	double retired[SN_WINDOW_PASSES_MOST + 1]; /* when all before the pass had retired */
	struct sn_window_snapshot snapshots[SN_WINDOW_SNAPSHOTS_MOST];
	unsigned snapshot_count, passes;
	double front_end_cycles;
};

/* What is in use in that cycle. An entry of the ring that an earlier cycle had is cleared first. */
static inline struct sn_window_cycle *sn_window_cycle_at(struct sn_window *window, int64_t number)
{
	struct sn_window_cycle *cycle = &window->used[(uint64_t)number % SN_WINDOW_RING];
	uint32_t lap = (uint32_t)((uint64_t)number / SN_WINDOW_RING);

	if (cycle->lap != lap)
		*cycle = (struct sn_window_cycle){ 0, lap };
	return cycle;
}

/* The cycle in which an operation can begin whose inputs are there at `ready`. */
static inline int64_t sn_window_first_cycle(const struct sn_window *window, double ready)
{
	double from = ready - window->rules->latency_excess_cycles;
	int64_t whole = from > 0 ? (int64_t)from : 0;

	return whole + ((double)whole < from);
}

/** window_steps.c: what the window needs to know of its block (`window->flow`); all other members
 * are cleared. */
void sn_window_fill(struct sn_window *window, struct sn_arena *arena);

/** window_repeat.c: compares the pass that is about to begin (its number is above
 * `window->distance`) with snapshots of earlier ones. If passes repeat themselves from now on,
 * fills in when all later ones will have retired and returns true: none of them need be run. Else a
 * snapshot of this pass is kept for later ones, while there is room. */
bool sn_window_foresee(struct sn_window_history *history, struct sn_window *window, unsigned pass);

#endif
