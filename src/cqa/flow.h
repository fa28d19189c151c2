/**
 * What both the latency bound and the window bound know of a block's data flow: where its loads get
 * their values from, and which operands come earlier or later than the instruction's row says.
 */
#ifndef SN_CQA_FLOW_H
#define SN_CQA_FLOW_H

#include "cqa/address.h"

enum {
	SN_CARRIED_MAX = 512,
};

/** The value that store `access` left `distance` passes ago. */
struct sn_carried_cell {
	int32_t access;
	uint8_t distance;
};

struct sn_flow {
	const struct sn_machine *machine;
	const struct sn_cqa_block *block;
	struct sn_accesses accesses;
	float *load_latency;	/* [insn] from the address, fast pointer chase considered */
	uint32_t *first_access; /* [insn] */
	uint32_t *early_reads;	/* [insn] bit k: operand k comes a cycle early */
	int32_t *cell_of;	/* [access] carried cell that a load reads, or -1 */
	struct sn_carried_cell cells[SN_CARRIED_MAX - SN_RES_COUNT];
	unsigned cell_count;
	unsigned carried[SN_CARRIED_MAX]; /* numbers of the values that matter */
	unsigned carried_count;
	/* of one run of the latency bound */
	double now[SN_CARRIED_MAX];
	double *stored; /* [access] when the value is there */
	/* for members: the instruction that made a value, and its latest input */
	bool trace;
	int32_t maker[SN_CARRIED_MAX], *stored_maker, *came_from;
};

/** The flow of a block; belongs to the arena. */
struct sn_flow *sn_flow_new(const struct sn_machine *machine, const struct sn_cqa_block *block,
			    struct sn_arena *arena);

/** Cycles from a stored value to the load that takes it (`access` has a source). */
double sn_forward_cycles(const struct sn_flow *flow, const struct sn_insn *insn,
			 const struct sn_access *access);

#endif
