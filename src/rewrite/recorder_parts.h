/**
 * The copy of a loop that records the addresses of its accesses (wire/accesses.h): where they are, and
 * the code that writes them.
 */
#ifndef SN_REWRITE_RECORDER_PARTS_H
#define SN_REWRITE_RECORDER_PARTS_H

#include "rewrite/variant_parts.h"
#include "wire/accesses.h"

/** An operand in memory; beside the table's site. */
struct rw_access {
	uint32_t insn; /* of the nest */
	uint8_t operand;
	int64_t ahead; /* of a line's own: the address in the first iteration, less what the operand
			  is where the line is entered */
};

/** A loop without branches in it: a line. */
struct rw_line {
	const struct sn_loop *loop;
	struct rw_induction induction;
	bool has_groups;
	uint64_t registers; /* that counting register and first addresses use */
};

/** A way into or out of a line. */
struct rw_line_edge {
	int32_t from, to; /* lines; -1: none */
	uint32_t left;	  /* 1 + the last block that was done, in its order */
	int32_t label, goal;
	uint64_t link_addr;
};

/** Where there may be no room for what comes next. */
struct rw_full {
	int32_t full, resume, goal; /* labels; goal: of the copy that records nothing */
	int32_t line;		    /* whose header it is; -1: none's */
	uint64_t link_addr;
};

struct rw_recorder {
	struct rw_nest *nest;
	const struct sn_loop *loop;
	struct rw_pieces *pieces;
	const struct rw_thunks *thunks;
	struct rw_action *actions; /* by the nest's instruction: decoded, with their effects */
	uint32_t *group_at;	   /* likewise: 1 + the group that is recorded before it */
	int32_t *line_of;	   /* by the function's loop: -1 none */
	uint16_t *order;	   /* by the nest's block: in its line */
	SN_VEC(struct sn_access_site) sites;
	SN_VEC(struct rw_access) accesses; /* of the sites */
	SN_VEC(struct sn_access_group) groups;
	SN_VEC(struct sn_access_line) table_lines;
	SN_VEC(struct rw_line) lines;
	SN_VEC(struct sn_access_member) members;
	SN_VEC(struct rw_line_edge) edges;
	SN_VEC(struct rw_full) fulls;
	const char *why; /* it cannot be made */
};

/* ---- recorder_read.c ---- */

/** Finds the accesses; why the loop cannot have such a copy, or NULL. Freed by rw_recorder_free in any
 * case. */
const char *rw_recorder_read(struct rw_recorder *recorder, struct rw_nest *nest,
			     const struct sn_loop *loop);
void rw_recorder_free(struct rw_recorder *recorder);
/** Two general registers that are not among `used`, and that a caller does not expect back; false: there
 * are none. */
bool rw_recorder_scratch(uint64_t used, int *pointer, int *address);
/** The line of a block of the nest; -1: none. */
int32_t rw_recorder_line(const struct rw_recorder *recorder, size_t block);
/** Words from one header to the next, at most. */
uint64_t rw_recorder_unit_words(const struct rw_recorder *recorder);
/** Adds the loop's table. */
void rw_recorder_add_table(const struct rw_recorder *recorder, struct sn_text *tables);

/* ---- recorder.c ---- */

/** What the copy begins with. */
void rw_recorder_put_entry(struct rw_recorder *recorder);
/** At the begin of a block: there must be room, if it is a header. `goal` is the same block in the copy
 * that records nothing. */
void rw_recorder_put_header(struct rw_recorder *recorder, size_t block, int32_t goal);
/** Before an instruction of the nest: its group, if one begins here. */
void rw_recorder_put_before(struct rw_recorder *recorder, uint32_t insn);
/** A label that leads from a block to a goal by way of what is noted about lines. `to`: a block of the
 * loop, -1: outside. */
int32_t rw_recorder_edge(struct rw_recorder *recorder, size_t from, int32_t to, int32_t goal);
/** The code of all edges, and of headers without room. */
void rw_recorder_put_stubs(struct rw_recorder *recorder, uint32_t plan_index);

#endif
