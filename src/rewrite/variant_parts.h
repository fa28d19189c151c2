/**
 * What the files about variants share: a loop's instructions with what they read and write, what
 * decides where it goes on, and how each variant changes an instruction.
 */
#ifndef SN_REWRITE_VARIANT_PARTS_H
#define SN_REWRITE_VARIANT_PARTS_H

#include "rewrite/rewrite_parts.h"

/* Registers and flags as bits: 16 general, 32 vector, 8 mask registers, 6 flags. */
enum { RW_VECTOR = 16, RW_MASK = 48, RW_FLAG = 56, RW_FLAGS = 6 };
#define RW_ALL_FLAGS (((1ULL << RW_FLAGS) - 1) << RW_FLAG)
#define RW_ALL_GPRS  0xffffULL

struct rw_effect {
	uint64_t reads, writes;
	uint64_t kills;	    /* of the writes those that leave nothing of what was there */
	uint64_t addresses; /* of the reads those of memory operands */
};

/* ---- effect.c ---- */

void rw_effect_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
		  struct rw_effect *out);

/* ---- body ---- */

/** An instruction of a loop that has variants. */
struct rw_action {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct rw_effect effect;
	int8_t memory; /* the operand that is in memory; -1: none */
	bool is_load, is_store;
	bool is_move;  /* it moves data, and computes nothing */
	bool is_float; /* arithmetic of floating-point numbers */
	bool is_vex;   /* not legacy SSE */
	bool is_prefetch;
	bool is_before_call; /* in a block that calls: no decision and no other block follows it */
	bool is_control;     /* decides where the loop goes on */
	bool is_address;     /* the same, or where in memory it is */
	bool is_recurrent;   /* a load whose address follows from what it loaded before */
	bool is_list;	     /* recurrent, and with no more than the address: mov disp(REG), REG */
	bool is_fixed;	     /* its address is the same in each iteration */
	/* of fixed ones: the same for the same place; of recurrent ones: the general register that
	 * it comes around in */
	uint16_t cell;
	int64_t stride; /* bytes an iteration; 0: none, or not known */
};

struct rw_body {
	const struct rw_nest *nest;
	const struct sn_loop *loop;
	struct rw_action *actions; /* by the nest's instruction */
	const bool *is_reached;	   /* by the nest's block, without a call before; NULL: all are */
	uint64_t used;		   /* registers that any of its instructions names */
	uint64_t controlled;	   /* registers that any decision depends on */
	uint64_t needed;	   /* registers that any address or decision depends on */
	bool has_memory, has_stores, has_floats, has_integers, has_x87, has_vex, has_division;
	bool is_data_controlled; /* memory tells where it goes on */
	bool has_data_addresses; /* memory tells where in memory it is */
	bool may_alias; /* what it stores may be what tells where it goes on, or where in memory it is */
	bool has_unclear_recurrence;
	uint16_t cells;
	/* tells ORIG's iterations; NULL: they are counted, or the nest's copy has one, too */
	const struct rw_induction *induction;
};

/** Reads the loop; why it can have no variants, or NULL. The memory is of the arena. */
const char *rw_body_read(struct rw_nest *nest, const struct sn_loop *loop, struct rw_body *out);
static inline bool rw_body_has(const struct rw_body *body, size_t block)
{
	return (!body->is_reached || body->is_reached[block]) &&
	       rw_loop_holds(
		       body->nest->function, (int32_t)body->loop->index,
		       body->nest->function->blocks[body->nest->blocks.items[block].index].loop);
}

/* ---- variant_calls.c ---- */

/** Finds the blocks that are reached without a call. False: there is a call in each iteration. */
bool rw_body_find_reached(struct rw_body *body);
/** Instructions of the nest's block in front of its first call, and of what moves the stack pointer for it. */
uint32_t rw_body_insns(const struct rw_body *body, size_t block);
/** Does it have one? Then it leads nowhere. */
bool rw_body_calls(const struct rw_body *body, size_t block);

/* ---- body ---- */

/** How far an instruction moves the register that it writes; 0: by no constant. */
int64_t rw_action_step(const struct rw_action *action);
/** Finds strides, fixed addresses and recurrences. */
void rw_body_find_addresses(struct rw_body *body);

/* ---- variant.c ---- */

/** How one variant is made. */
struct rw_variant {
	const struct rw_body *body;
	struct rw_pieces *pieces;
	enum sn_decan_variant kind;
	int lines_ahead;	/* of PF */
	int gpr;		/* a general register of its own, -1: none */
	int second_gpr;		/* another */
	int vector;		/* a vector register of its own, -1: none */
	unsigned loads, stores; /* lines given out */
	const char *why;	/* it cannot be made */
};

/** Of a code (wire/variants.h). Finds registers of its own; why the loop cannot have it, or NULL. */
const char *rw_variant_begin(struct rw_variant *variant, const struct rw_body *body,
			     struct rw_pieces *pieces, unsigned code);
/** What a variant that runs in the loop's place begins with. */
void rw_variant_put_entry(struct rw_variant *variant);
/** An instruction that is no branch, as the variant has it. */
void rw_variant_put_insn(struct rw_variant *variant, const struct rw_insn *insn,
			 const struct rw_action *action);

/* ---- variant_memory.c: instructions with another operand in place of one in memory ---- */

/** With a register; false: it has no such form. */
bool rw_put_with_register(struct rw_pieces *pieces, const struct rw_action *action,
			  ZydisRegister reg);
/** With base + displacement; index of the scratch if `index` is a register. */
bool rw_put_with_address(struct rw_pieces *pieces, const struct rw_action *action,
			 ZydisRegister base, ZydisRegister index, int64_t displacement);
/** Any instruction; false: there is none such. */
bool rw_put_request(struct rw_pieces *pieces, const ZydisEncoderRequest *request);

#endif
