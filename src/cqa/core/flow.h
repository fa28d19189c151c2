/**
 * What both the latency bound and the window bound know of a block's data flow: where its loads get
 * their values from, and which operands come earlier or later than the instruction's row says.
 */
#ifndef SN_CQA_FLOW_H
#define SN_CQA_FLOW_H

#include "base/vec.h"
#include "cqa/block/address.h"

enum {
	SN_CARRIED_MAX = 512,
	SN_LANES = 8, /* carried values that one pass of the latency bound follows */
};

/** The value that store `access` left `distance` passes ago. */
struct sn_carried_cell {
	int32_t access;
	uint8_t distance;
};

/** A value that an instruction made in a traced pass, and the one that it waited for. */
struct sn_made {
	int32_t insn, from; /* from: number of a value, -1: what came into the pass at time 0 */
	double when;
};

/** When a value is there, by lane: after the carried value that started at time 0 in that lane;
 *  -INFINITY: it does not depend on it. */
struct sn_arrival {
	double when[SN_LANES];
	int32_t maker; /* in a traced pass, of the first lane: number of `made`; -1: it came into
			  the pass */
};

struct sn_data_flow {
	const struct sn_machine *machine;
	const struct sn_cqa_block *block;
	float *load_latency;	/* [insn] from the address, fast pointer chase considered */
	uint32_t *first_access; /* [insn] */
	uint32_t *early_reads;	/* [insn] bit k: operand k comes a cycle early */
	int32_t *cell_of;	/* [access] carried cell that a load reads, or -1 */
	struct sn_carried_cell *cells;
	unsigned cell_count;
	unsigned *carried; /* numbers of the values that matter */
	unsigned carried_count;
	/* of one pass of the latency bound */
	struct sn_arrival *now;	   /* [SN_RES_COUNT + cell_count] */
	struct sn_arrival *stored; /* [access] */
	bool trace;		   /* for members: how each value came about */
	SN_VEC(struct sn_made) made;
};

/** The flow of a block; belongs to the arena. */
struct sn_data_flow *sn_data_flow_new(const struct sn_machine *machine,
				      const struct sn_cqa_block *block, struct sn_arena *arena);

/** Cycles from a stored value to the load that takes it (`access` has a source). */
double sn_forward_cycles(const struct sn_data_flow *flow, const struct sn_insn *insn,
			 const struct sn_access *access);

/** Cycles in which a value in memory is read, changed and stored for the next to read, by an
 *  operation of one cycle. */
double sn_rmw_cycles(const struct sn_rules *rules, const struct sn_insn *insn);

#endif
