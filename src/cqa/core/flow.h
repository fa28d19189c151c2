/**
 * What the instructions of a block do with their data: which values each waits for and when, when
 * its results are there, and which loads take what a store of the block left.
 *
 * This is the only reading of the data flow. The latency bound (latency.c) and the window
 * (window.c) use it; cqa/loop/retire.c uses it instruction by instruction, for where samples fall.
 */
#ifndef SN_CQA_FLOW_H
#define SN_CQA_FLOW_H

#include "cqa/block/address.h"

enum { SN_FLOW_CELLS_MAX = 512 - SN_RES_COUNT };

/** An operand in a register. It may come `cycles` later than the others (below 0: it must come
 *  earlier) for the instruction to begin at the same time. */
struct sn_flow_read {
	uint8_t resource;
	int8_t cycles;
};

/** A result in a register: there `latency` cycles after the instruction began. */
struct sn_flow_write {
	uint8_t resource;
	bool is_flag; /* waits for the operands of SN_ROLE_LATE too */
	bool is_late; /* comes a cycle after the others */
};

/** An instruction. The stack pointer that push and pop move is none of its operands where the stack
 *  engine follows it. */
struct sn_flow_insn {
	struct sn_flow_read reads[SN_INSN_READS_MAX]; /* by role */
	uint8_t read_begin[SN_ROLE_COUNT + 1];	      /* [role], and the end of the last */
	uint8_t write_count;
	struct sn_flow_write writes[SN_INSN_WRITES_MAX];
	double latency;	      /* from the last operand */
	double load_latency;  /* from the address to the loaded operand */
	double update_cycles; /* from a value in memory that is read and changed to the one that is
				 stored in its place */
	uint32_t first_access;
};

/** A value in memory that comes into the pass: what store `access` left `distance` passes ago. */
struct sn_flow_cell {
	int32_t access;
	uint8_t distance;
	int32_t younger; /* the cell of the pass after that; -1: the store of the last pass */
};

struct sn_data_flow {
	const struct sn_machine *machine;
	const struct sn_cqa_block *block;
	struct sn_flow_insn *insns; /* [insn] */
	int32_t *cell_of;	    /* [access] the cell that a load reads, or -1 */
	double *forward_cycles;	    /* [access] from the stored value to the load that takes it, if
				       there is one */
	struct sn_flow_cell *cells; /* younger ones of a store before its older ones */
	unsigned cell_count;
	bool turns_x87; /* a pass leaves other names to the x87 registers than it finds */
};

/** The later of two times. It takes the place of fmax(), a call that also looks for NaN; most of
 * the time of these models goes here. */
static inline double sn_later(double a, double b)
{
	return a > b ? a : b;
}

/** The flow of a block; belongs to the arena. */
struct sn_data_flow *sn_data_flow_new(const struct sn_machine *machine,
				      const struct sn_cqa_block *block, struct sn_arena *arena);

/** An instruction alone, whatever stands beside it in its block: additions hand over nothing early,
 * and a loaded base has no shorter way. */
struct sn_flow_insn sn_flow_insn_of(const struct sn_rules *rules, const struct sn_insn *insn);

/** Gives the values of the x87 registers the names that they have in the next pass.
 *  `x87_values`: 8 values of `value_bytes` each, at most SN_FLOW_VALUE_BYTES_MAX. */
enum { SN_FLOW_VALUE_BYTES_MAX = 128 };
void sn_flow_turn_x87(const struct sn_data_flow *flow, void *x87_values, size_t value_bytes);

#endif
