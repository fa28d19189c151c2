/**
 * The five bounds on the cycles that one pass over a block takes; the estimate is their maximum.
 * Pure functions of the block and the machine.
 */
#ifndef SN_CQA_BOUNDS_H
#define SN_CQA_BOUNDS_H

#include "cqa/block/insn.h"

enum sn_bound {
	SN_BOUND_PORTS,
	SN_BOUND_DIVIDER,
	SN_BOUND_ISSUE,
	SN_BOUND_FRONT_END,
	SN_BOUND_LATENCY,
	SN_BOUND_COUNT
};

/** "ports", "divider", "issue", "front_end", "latency". */
extern const char *const sn_bound_names[SN_BOUND_COUNT];

/** The ports bound: the largest, over unions of sets of units, of the operations that only the
 * union can execute, over its number of units. This is Hall's condition for a fractional
 * assignment, and exact where operations may choose freely. `units_out` (may be NULL) receives that
 * union. */
double sn_bound_ports(const struct sn_machine *machine, const struct sn_cqa_block *block,
		      uint32_t *units_out);

/** Cycles that the stores need to reach the cache; part of the ports bound. */
double sn_bound_stores(const struct sn_machine *machine, const struct sn_cqa_block *block);

/** Cycles that non-temporal stores need on their way to memory; part of the ports bound. 0 if the
 *  machine's rate is not known. */
double sn_bound_past_caches(const struct sn_machine *machine, const struct sn_cqa_block *block);

/** Cycles that the address units need for all loads and stores; part of the ports bound. Operations
 * are given to units in program order, which does not keep the units evenly busy. */
double sn_bound_addresses(const struct sn_machine *machine, const struct sn_cqa_block *block);

/** The parts of the ports bound; the largest is the bound. */
enum sn_ports_part {
	SN_PORTS_UNITS,	   /* operations that only some units can execute */
	SN_PORTS_STORES,   /* stores on their way to the cache */
	SN_PORTS_ADDRESSES /* address units, loads and stores taking turns */
};
/** Fills what each instruction adds to sn_bound_ports, whose `units` are given:
 * cycles[block->count]. */
void sn_parts_ports(const struct sn_machine *machine, const struct sn_cqa_block *block,
		    uint32_t units, double *cycles);

/** An even assignment of operations to units, for the table that is shown: the cycles that each
 * unit is busy in a pass. It reaches the ports bound within 1 %. */
void sn_ports_distribute(const struct sn_machine *machine, const struct sn_cqa_block *block,
			 double busy_cycles[SN_UNITS_MAX]);

double sn_bound_divider(const struct sn_cqa_block *block);
double sn_bound_issue(const struct sn_machine *machine, const struct sn_cqa_block *block);

/** Fills what each instruction adds to the issue bound: cycles[block->count]. */
void sn_parts_issue(const struct sn_machine *machine, const struct sn_cqa_block *block,
		    double *cycles);

/** Which part of the front end the figure comes from. */
enum sn_front_end {
	SN_FRONT_OP_CACHE,
	SN_FRONT_LOOP_BUFFER,
	SN_FRONT_DECODE,
	SN_FRONT_PREDECODE,
	SN_FRONT_TAKEN_BRANCH
};

double sn_bound_front_end(const struct sn_machine *machine, const struct sn_cqa_block *block,
			  bool is_unrolled, enum sn_front_end *part);

struct sn_chain {
	double cycles;	 /* per pass: the largest mean weight of a dependence cycle */
	bool *is_member; /* [block->count] instructions on it */
	/* [block->count] what each adds to it on its way through `passes` passes: over all of them
	 * it sums to cycles * passes */
	double *step_cycles;
	unsigned passes; /* after which the dependence comes back to where it began */
	bool through_memory;
};

/** Longest loop-carried dependence with its members, which belong to the arena. */
struct sn_chain sn_chain_of(const struct sn_machine *machine, const struct sn_cqa_block *block,
			    struct sn_arena *arena);

/** Whether anything in the block could delay a chain. */
bool sn_chain_may_be_delayed(const struct sn_machine *machine, const struct sn_cqa_block *block);

/** Cycles by which other operations delay a pass through the chain. They are added to the steps,
 * not to `cycles`. */
double sn_chain_delay(const struct sn_machine *machine, const struct sn_cqa_block *block,
		      struct sn_chain *chain);

struct sn_data_flow; /* cqa/core/flow.h */

/** Cycles of the longest loop-carried dependence. `arena` is for scratch. */
double sn_bound_latency(const struct sn_data_flow *flow, struct sn_arena *arena);

/** The window bound: cycles that a pass takes because waiting operations fill the schedulers and
 * the reorder buffer. All other limits are in it, too. 0 if they would be far from full with
 * `bound_cycles`, the largest of the other bounds. 0 also if the machine's schedulers are not
 * known. */
double sn_bound_window(const struct sn_data_flow *flow, struct sn_arena *arena,
		       double front_end_cycles, double bound_cycles);

#endif
