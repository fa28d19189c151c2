/**
 * What the files of this folder share: the body of a nest, machine code being laid out, the sites
 * of the original that are written over.
 */
#ifndef SN_REWRITE_PARTS_H
#define SN_REWRITE_PARTS_H

#include "base/arena.h"
#include "base/vec.h"
#include "code/decode.h"
#include "rewrite/rewrite.h"
#include "wire/plan.h"

/* ---- entered.c ---- */

/** Where code of another function may jump to: what its bytes say, be they instructions or not. */
struct rw_entry {
	uint64_t link_addr;
	uint32_t function; /* whose bytes say so */
};
struct rw_entered {
	struct rw_entry *items;
	size_t count, capacity;
	const struct sn_structure *structure; /* borrowed */
	struct sn_range code;		      /* from the first byte of any function to the last */
};
void rw_entered_find(const struct sn_structure *structure, struct rw_entered *out);
/** Does an instruction of another function jump to first <= address < end? */
bool rw_is_entered(const struct rw_entered *entered, uint64_t first, uint64_t end);

/* ---- body.c ---- */

struct rw_op;
struct rw_beats;
struct rw_body;

struct rw_insn {
	uint64_t link_addr, target_link_addr;
	const uint8_t *bytes;
	uint8_t length, flow, rip_at; /* rip_at: offset of the displacement from rip, 0: none */
	bool is_endbr;
	bool has_stack_change; /* its code tells it */
	int64_t stack_change;
};

/** A block of the nest. */
struct rw_block {
	uint32_t index; /* in the function */
	uint32_t first_insn, insn_count;
	int64_t stack; /* rsp at its begin, from where it is at the nest's header */
	bool has_stack;
};

/** A loop nest that is to be copied, with the loops in it that are counted. */
struct rw_nest {
	struct sn_rewriter *rewriter;
	const struct sn_function *function;
	const struct sn_loop *outer;
	bool *is_selected;	      /* by the index of a loop */
	uint32_t *plan_index;	      /* likewise: of selected loops, in the plan */
	int32_t *position;	      /* block of the function -> index in blocks, -1 */
	const uint8_t *flags_in;      /* flags.c: block of the function -> flags that are read */
	const uint16_t *registers_in; /* likewise: general registers */
	bool has_red_zone;	      /* rw_red_zone_is_free */
	const char **why_no_recorder; /* by the index of a loop; NULL: it has one, or needs none */
	struct rw_beats *beats;	      /* NULL: loops are counted. Borrowed */
	struct sn_arena arena;
	SN_VEC(struct rw_block) blocks; /* by address */
	SN_VEC(struct rw_insn) insns;
};

/** Heartbeats in place of counts. */
struct rw_beats {
	int32_t body; /* of the function, whose blocks are all copied: index in the plan, -1: none */
	uint32_t *of_loop; /* by the index of a selected loop: its heartbeat in the plan */
	/* by the index of a selected loop, then by the block's position, once the nest is read: whether a beat is
	 * open there, and where rsp is at the block's begin, from where it is at the header */
	bool **is_open;
	int64_t **stack;
	const char **why_not; /* by the index of a loop: why it can have none */
	bool counts_blocks;   /* there are no heartbeats, but blocks that are counted */
	uint32_t first_entry; /* of them, in the plan */
};

/** Begins a nest; why it cannot be copied, or NULL. Freed by rw_nest_end in any case. With beats
 * `outer` may be rw_whole_function's. */
const char *rw_nest_begin(struct rw_nest *nest, struct sn_rewriter *rewriter,
			  const struct sn_loop *outer, const bool *is_selected,
			  struct rw_beats *beats);
void rw_nest_end(struct rw_nest *nest);
/** The loop around a block, of those of the nest: an index, -1 none. */
static inline bool rw_loop_holds(const struct sn_function *function, int32_t outer, int32_t inner)
{
	while (inner > outer)
		inner = function->loops[inner].parent;
	return inner == outer;
}
/** Adds the instruction at an address to `insns`, or says why it can have no copy. */
const char *rw_insn_read(struct rw_nest *nest, uint64_t link_addr, unsigned *length);
/** What forbids all copies of a function's code; NULL: nothing. */
const char *rw_function_refusal(const struct sn_function *function);
/** The function's block at an address, or -1. */
int32_t rw_block_at(const struct sn_function *function, uint64_t link_addr);

/* ---- beats.c ---- */

/** After the nest is read: finds where beats are open. Loops that can have none are selected no more. */
void rw_beats_find(struct rw_nest *nest);
/** What an edge does to the heartbeats, at most 2 * SN_LOOP_DEPTH_MAX + 1 ops. `from` is NULL for the entry. */
size_t rw_beats_on_edge(const struct rw_nest *nest, const struct rw_block *from, uint64_t to,
			struct rw_op *ops);
/** Where the unwinder may go on: what was called, and loops that were left, have no open beat any more. At most
 * as many ops as the function has loops, and one. */
size_t rw_beats_on_landing(const struct rw_nest *nest, const struct rw_block *at,
			   struct rw_op *ops);
/** Before a call that does not return, at the end of a block: if it is the unwinder's that goes on with the caller,
 * the function has no open beat any more. As many. */
size_t rw_beats_on_resume(const struct rw_nest *nest, const struct rw_block *at, struct rw_op *ops);

/* ---- whole.c ---- */

/** All code of a function as if it were a loop around all others: the index is their parent's. What only fills up behind
 * a block has room for jumps. Ranges in the arena. */
struct sn_loop rw_whole_function(const struct sn_rewriter *rewriter,
				 const struct sn_function *function, struct sn_arena *arena);
/** Why it cannot be copied, by what the module's other code does, or by its own calls; NULL: it can. */
const char *rw_whole_entries_refusal(const struct sn_rewriter *rewriter,
				     const struct sn_function *function);
const char *rw_whole_calls_refusal(const struct rw_nest *nest);

/* ---- blocks.c ---- */

/** What counts an execution of a block, by its position. */
struct rw_op rw_block_op(const struct rw_nest *nest, size_t position);

/* ---- stack.c ---- */

/** How an instruction moves the stack pointer; false: by what cannot be told. */
bool rw_stack_change(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
		     int64_t *change);
/** Sets the blocks' `stack`; false: two ways differ. */
bool rw_stack_follow(struct rw_nest *nest);

/* ---- flags.c ---- */

/** For each block of the function the arithmetic flags that may be read before they are written, as
 * bits; 0: none. In the arena. */
uint8_t *rw_flags_live(const struct sn_structure *structure, const struct sn_function *function,
		       struct sn_arena *arena);

/** For each block of the function the general registers that may be read before they are written, as bits by
 * number. Who is called or returned to is taken to read all. In the arena. */
uint16_t *rw_registers_live(const struct sn_structure *structure,
			    const struct sn_function *function, struct sn_arena *arena);

/** rax, rcx, rdx, rsi, rdi, r8 to r11: calls need not keep them. */
enum { RW_USABLE_REGISTERS = 0x0fc7 };
/** Registers whose value nobody needs where a block of the function (-1: none) begins, as bits. Of those that calls need not
 * keep: nobody finds a caller by them. */
uint16_t rw_free_registers(const struct rw_nest *nest, int32_t function_block);

/* ---- induction.c ---- */

/** A register that moves by a constant step once an iteration. */
struct rw_induction {
	uint8_t reg; /* 0 rax to 15 r15 */
	int64_t step;
	bool *is_ahead; /* by the block's position: on an exit from there the step of the
			   iteration that began last is not made yet */
};
/** Finds one that tells the iterations at every exit of an innermost loop; with a body at those that it has, and where it
 * comes to a call. */
bool rw_induction_find(const struct rw_nest *nest, const struct sn_loop *loop,
		       const struct rw_body *body, struct sn_arena *arena,
		       struct rw_induction *out);

/* ---- red_zone.c ---- */

/** Nothing of the function's is below the stack pointer: there stubs may keep registers, and counts. */
bool rw_red_zone_is_free(const struct sn_rewriter *rewriter, const struct sn_function *function);

/* ---- counter.c ---- */

/** Where an instance of an innermost loop that makes no calls counts its iterations; an exit adds them to the record. */
struct rw_counter {
	int8_t reg; /* a register that the loop leaves alone; -1: the place on the stack */
	int8_t at; /* that place, from the stack pointer; it keeps what the register held, or the induction
			  variable as it was at the entry */
	bool is_saved; /* of a register: who goes on after the loop needs it */
};
/** For each loop of the function that is counted, NULL: it has none. Not for loops that have variants. In the nest's arena. */
struct rw_counter **rw_counters_find(struct rw_nest *nest, struct rw_induction *const *inductions);
/** The registers that count. */
uint16_t rw_counters_registers(const struct rw_nest *nest, struct rw_counter *const *counters);

/* ---- pieces.c ---- */

enum rw_piece_kind {
	RW_BYTES,
	RW_FIELD,   /* bytes with a field that a relocation fills */
	RW_JUMP,    /* to a label: jmp or jcc, short if may_be_short and near */
	RW_COUNTED, /* jrcxz and its kin, to a label */
	RW_ALIGN,   /* up to the same place in a cache line as link_addr */
};

struct rw_piece {
	uint8_t kind, length, field_at, relocation;
	uint8_t condition; /* of a jump: 0x70 to 0x7f of a jcc, 0: jmp */
	bool may_be_short, is_short;
	uint16_t below, map_flags;
	int32_t label;
	int64_t addend;
	uint64_t link_addr; /* of the instruction that it stands for */
	uint32_t offset;
	uint8_t bytes[16];
};

/** Of code that counts what is rare, and still to be put (stub_one.c). */
struct rw_aside {
	int32_t label;		   /* where it begins */
	int32_t again, back, none; /* where it goes on; where nothing is counted */
	uint8_t call, reg;	   /* enum sn_plan_call; the register with the record */
	bool is_pushed;		   /* the code in front has saved something by a push */
	bool has_induction;	   /* the call takes the induction variable, which is in: */
	uint8_t induction;
	bool is_counted_apart; /* the call takes 0 for it */
	uint32_t plan_index;
	int64_t stack; /* as in struct rw_op */
	uint64_t link_addr;
	uint16_t below;
};

struct rw_pieces {
	SN_VEC(struct rw_piece) items;
	SN_VEC(int32_t) labels; /* -> piece, -1: not placed yet */
	SN_VEC(struct rw_aside) asides;
	/* what is put next stands for */
	uint64_t link_addr;
	uint16_t below, map_flags;
};

void rw_pieces_free(struct rw_pieces *pieces);
int32_t rw_label_new(struct rw_pieces *pieces);
/** The next piece is what the label means. */
void rw_label_place(struct rw_pieces *pieces, int32_t label);
void rw_put(struct rw_pieces *pieces, const uint8_t *bytes, size_t length);
/** Bytes whose last four are a field. */
void rw_put_field(struct rw_pieces *pieces, const uint8_t *bytes, size_t length, size_t field_at,
		  enum sn_plan_relocation_kind kind, int64_t addend);
/** An instruction as it is, but for where it lies. */
void rw_put_original(struct rw_pieces *pieces, const struct rw_insn *insn);
/** To, or a call of, the address that stands at a label. */
void rw_put_jump_by(struct rw_pieces *pieces, int32_t label);
void rw_put_call_by(struct rw_pieces *pieces, int32_t label);
void rw_put_jump(struct rw_pieces *pieces, uint8_t condition, int32_t label, bool may_be_short);
/** To an address of the module. */
void rw_put_jump_out(struct rw_pieces *pieces, uint64_t link_addr);
void rw_put_counted(struct rw_pieces *pieces, const uint8_t *bytes, size_t length, int32_t label);
void rw_put_call(struct rw_pieces *pieces, int32_t label);
void rw_put_align(struct rw_pieces *pieces, uint64_t link_addr);
/** Chooses lengths and offsets; the size of it all. */
uint32_t rw_pieces_lay_out(struct rw_pieces *pieces);
/** The bytes; after lay_out. */
void rw_pieces_write(const struct rw_pieces *pieces, uint8_t *out);
uint32_t rw_label_offset(const struct rw_pieces *pieces, int32_t label);

#define RW_PUT(pieces, ...)                                                                        \
	do {                                                                                       \
		static const uint8_t rw_bytes[] = { __VA_ARGS__ };                                 \
		rw_put(pieces, rw_bytes, sizeof(rw_bytes));                                        \
	} while (0)

/* ---- stubs.c ---- */

enum rw_op_kind {
	RW_ENTER,
	RW_LEAVE,
	RW_COUNT,
	RW_BLOCK,
	RW_BEAT_BEGIN,
	RW_BEAT_END,
	RW_BEAT_NEXT,
	RW_BEAT_LEFT,
	RW_BEAT_CAUGHT
};

/** What a stub does to one loop, or heartbeat. */
struct rw_op {
	uint8_t kind;
	bool has_variants;   /* of RW_ENTER: the loop may go on in another copy */
	bool counts_arrival; /* of RW_ENTER: it adds the first arrival, too */
	uint32_t plan_index;
	uint32_t at; /* of RW_BLOCK: its executions, in the record */
	int64_t stack; /* of RW_LEAVE: rsp there, from the header's; of beats: from what they are known by */
	const struct rw_induction *induction; /* NULL: arrivals are counted */
	const struct rw_counter *counter;     /* NULL: in the record */
	bool is_ahead;			      /* of RW_LEAVE: see rw_induction */
	/* of the first of some: rw_free_registers where they lead to; registers that count; rw_red_zone_is_free */
	uint16_t scratch, counting;
	bool has_red_zone;
};

/** The functions of the runtime, for all stubs of a plan. */
struct rw_thunks {
	int32_t label[SN_PLAN_CALLS], address[SN_PLAN_CALLS];
};
enum { RW_RED_ZONE_BYTES = 128 };
/** A counter of a record, as one byte says where. */
#define RW_AT(member) ((uint8_t)offsetof(struct sn_record_instances, member))
_Static_assert(offsetof(struct sn_record_instances, last_entry) < 128, "one byte says where");

void rw_put_thunks(struct rw_pieces *pieces, struct rw_thunks *thunks);
/** The ops in order; every register, and the flags if `keeps_flags`, are as before. */
void rw_put_ops(struct rw_pieces *pieces, const struct rw_thunks *thunks, const struct rw_op *ops,
		size_t count, bool keeps_flags);

/** The flags onto the stack, by way of rax, and back. */
void rw_put_flags_saved(struct rw_pieces *pieces);
void rw_put_flags_restored(struct rw_pieces *pieces);
/** A register becomes the stack pointer as the loop has it, less `stack`. */
void rw_put_stack_pointer(struct rw_pieces *pieces, unsigned to, int64_t stack);

/* ---- stub_one.c ---- */

/** One register is enough. */
bool rw_is_one_enough(const struct rw_op *ops, size_t count, bool keeps_flags);
/** The ops with one register; false, and nothing is put: more are needed. */
bool rw_put_ops_by_one(struct rw_pieces *pieces, const struct rw_op *ops, size_t count,
		       bool keeps_flags);
/** One arrival more, of an instance that counts them itself; at the header, where nobody reads the flags if it counts on the stack. */
void rw_put_counted_apart(struct rw_pieces *pieces, const struct rw_counter *counter);
/** What the ops so far have put aside. After code that goes elsewhere. */
void rw_put_asides(struct rw_pieces *pieces, const struct rw_thunks *thunks);

/* ---- stubs.c ---- */

/** A copy that records has no room: asks, and jumps to `on` (there is room now) or `off`. */
void rw_put_full(struct rw_pieces *pieces, const struct rw_thunks *thunks, uint32_t plan_index,
		 int32_t on, int32_t off);

/** A loop that is timed as itself is about to call a function: tells the runtime. Every register and the flags are as before. */
void rw_put_untime(struct rw_pieces *pieces, const struct rw_thunks *thunks, uint32_t plan_index);

/** Calls the runtime with the index of a point; every register and the flags are as before. */
void rw_put_told(struct rw_pieces *pieces, const struct rw_thunks *thunks, uint32_t index);

/** The flags on the stack, below the red zone, and back. */
void rw_put_flags_pushed(struct rw_pieces *pieces);
void rw_put_flags_popped(struct rw_pieces *pieces);

/* ---- nest.c, sites.c ---- */

/** The nest's block that is this one of the function; NULL: none, also for -1. */
struct rw_block *rw_block_in(const struct rw_nest *nest, int32_t function_block);

/** A place of the original from where control goes to a label of the copy. */
struct rw_site {
	uint64_t link_addr;
	int32_t label;
};

struct rw_patches {
	SN_VEC(struct rw_patch {
		struct sn_plan_patch patch; /* without target where there is a label */
		int32_t label;		    /* -1: two bytes, complete */
	})
	patches;
};

struct rw_sites {
	struct rw_site *items;
	size_t count, capacity;
};

/** Finds room for the jumps of all sites in the nest's bytes, which are dead but for its calls. Adds
 * to `out`; why not, or NULL. The header's must be among the sites. */
const char *rw_sites_place(const struct rw_nest *nest, struct rw_sites *sites,
			   struct rw_patches *out);

/** Adds the copy and its patches; why not, or NULL. */
const char *rw_nest_copy(struct rw_nest *nest, struct rw_pieces *pieces,
			 const struct rw_thunks *thunks, uint32_t variants,
			 struct sn_plan_loop *plan_loops, struct rw_patches *patches,
			 struct sn_text *tables);

/** For each variant why the nest, which is one loop, cannot have it, or NULL; by making it. */
bool rw_nest_judge(struct rw_nest *nest, const char **why);

/* ---- rewriter.c ---- */

/** Nests that are copied so far. */
struct rw_plan {
	uint32_t variants; /* bits of those that are wanted; 0: none, nor ORIG */
	struct rw_pieces pieces;
	struct rw_thunks thunks;
	struct rw_patches patches;
	/* `code` has labels + 1 until all is laid out */
	SN_VEC(struct sn_plan_loop) loops;
	struct sn_text tables;
};
/** How much of a plan there is: what comes after is taken back by rw_plan_return. */
struct rw_plan_mark {
	size_t pieces, labels, patches, loops, tables;
};
struct rw_plan_mark rw_plan_mark(const struct rw_plan *plan);
void rw_plan_return(struct rw_plan *plan, struct rw_plan_mark to);
void rw_plan_begin(struct rw_plan *plan);
void rw_plan_end(struct rw_plan *plan);
/** The plan as a file's bytes. */
void rw_plan_write(struct rw_plan *plan, const struct sn_rewriter *rewriter, struct sn_text *out);
/** Adds a nest, or leaves the plan as it was and says why. `is_selected`: by the index of a loop; those
 * within `outer` are counted, too; NULL: none. `why_not` is set of loops that cannot record. */
const char *rw_plan_add(struct rw_plan *plan, struct sn_rewriter *rewriter,
			const struct sn_loop *outer, const bool *is_selected, const char **why_not);

struct sn_rewriter {
	struct sn_image *image;
	struct sn_structure *structure;
	struct rw_entered entered;
	/* of the function in hand */
	const struct sn_function *function;
	uint8_t *flags_in;
	uint16_t *registers_in;
	bool has_red_zone;
	struct sn_arena arena;
};

#endif
