/*
 * The code that counts. It goes below the red zone before it saves anything there, so that neither
 * the loop's data nor a signal's frame is touched; it has the registers that it needs saved on the
 * stack, and the flags where somebody still reads them. What it adds to is of this thread alone, by
 * single instructions, so that a handler that runs the same loop in between loses nothing.
 */
#include "rewrite/rewrite_parts.h"

#include <string.h>

#include "wire/instances.h"

enum {
	SAVED_BYTES = RW_RED_ZONE_BYTES + 3 * 8, /* rax, rcx, rdx; then lahf's rax */
	RAX = 0,
	RCX = 1,
	RDX = 2,
	RSI = 6,
	THUNK_SAVED_BYTES = 6 * 8,
};

void rw_put_thunks(struct rw_pieces *pieces, struct rw_thunks *thunks)
{
	for (int c = 0; c < SN_PLAN_CALLS; c++) {
		static const uint8_t room[8];

		pieces->link_addr = 0;
		thunks->address[c] = rw_label_new(pieces);
		rw_label_place(pieces, thunks->address[c]);
		rw_put(pieces, room, sizeof(room));
	}
	pieces->map_flags = SN_PLAN_MAP_THUNK;
	for (int c = 0; c < SN_PLAN_CALL_RUN; c++) {
		thunks->label[c] = rw_label_new(pieces);
		rw_label_place(pieces, thunks->label[c]);
		pieces->below = 0;
		pieces->link_addr = 1;
		RW_PUT(pieces, 0x56); /* push rsi, rdi, r8, r9, r10, r11 */
		pieces->below = 8;
		RW_PUT(pieces, 0x57);
		pieces->below = 16;
		RW_PUT(pieces, 0x41, 0x50);
		pieces->below = 24;
		RW_PUT(pieces, 0x41, 0x51);
		pieces->below = 32;
		RW_PUT(pieces, 0x41, 0x52);
		pieces->below = 40;
		RW_PUT(pieces, 0x41, 0x53);
		pieces->below = THUNK_SAVED_BYTES;
		RW_PUT(pieces, 0x48, 0x89, 0xcf); /* mov rdi, rcx */
		RW_PUT(pieces, 0x48, 0x89, 0xd6); /* mov rsi, rdx */
		RW_PUT(pieces, 0x48, 0x89, 0xc2); /* mov rdx, rax */
		rw_put_call_by(pieces, thunks->address[c]);
		RW_PUT(pieces, 0x48, 0x89, 0xc1); /* mov rcx, rax */
		RW_PUT(pieces, 0x41, 0x5b);
		pieces->below = 40;
		RW_PUT(pieces, 0x41, 0x5a);
		pieces->below = 32;
		RW_PUT(pieces, 0x41, 0x59);
		pieces->below = 24;
		RW_PUT(pieces, 0x41, 0x58);
		pieces->below = 16;
		RW_PUT(pieces, 0x5f);
		pieces->below = 8;
		RW_PUT(pieces, 0x5e);
		pieces->below = 0;
		RW_PUT(pieces, 0xc3);
	}
	pieces->map_flags = 0;
	pieces->below = 0;
}

/* rax becomes the thread's slot table */
static void put_table(struct rw_pieces *pieces)
{
	static const uint8_t load[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0 };

	rw_put_field(pieces, load, sizeof(load), 5, SN_PLAN_THREAD, SN_PLAN_WORD_TABLE);
}

/* rcx becomes the record of a loop in there. */
static void put_slot(struct rw_pieces *pieces, uint32_t plan_index)
{
	static const uint8_t load[] = { 0x48, 0x8b, 0x88, 0, 0, 0, 0 };

	rw_put_field(pieces, load, sizeof(load), 3, SN_PLAN_SLOT, plan_index);
}

/* rcx becomes the loop's record; goes to `done` where there is none. Only an entry makes one: the
 * child of a fork goes on in the middle of an instance that it does not count. */
static void put_record(struct rw_pieces *pieces, const struct rw_thunks *thunks,
		       const struct rw_op *op, int32_t done)
{
	uint32_t plan_index = op->plan_index;
	static const uint8_t load_index[] = { 0xb9, 0, 0, 0, 0 };
	int32_t has_record = rw_label_new(pieces);

	put_table(pieces);
	RW_PUT(pieces, 0x48, 0x85, 0xc0); /* test rax, rax */
	rw_put_jump(pieces, 0x74, done, true);
	put_slot(pieces, plan_index);
	RW_PUT(pieces, 0x48, 0x85, 0xc9); /* test rcx, rcx */
	if (op->kind != RW_ENTER) {
		rw_put_jump(pieces, 0x74, done, true);
		rw_label_place(pieces, has_record);
		return;
	}
	rw_put_jump(pieces, 0x75, has_record, true);
	rw_put_field(pieces, load_index, sizeof(load_index), 1, SN_PLAN_INDEX, plan_index);
	rw_put_call(pieces, thunks->label[SN_PLAN_CALL_FIRST]);
	RW_PUT(pieces, 0x48, 0x85, 0xc9);
	rw_put_jump(pieces, 0x74, done, true);
	rw_label_place(pieces, has_record);
}

/* rdx becomes the induction variable as the loop has it. */
static void put_induction(struct rw_pieces *pieces, uint8_t reg)
{
	int saved = reg == RAX ? 2 : reg == RCX ? 1 : reg == RDX ? 0 : -1;

	if (saved >= 0) { /* mov rdx, [rsp + ...] */
		uint8_t load[] = { 0x48, 0x8b, 0x54, 0x24,
				   (uint8_t)(8 * saved + (int)(pieces->below - SAVED_BYTES)) };

		rw_put(pieces, load, sizeof(load));
	} else { /* mov rdx, reg */
		uint8_t move[] = { (uint8_t)(0x48 | (reg > 7 ? 4 : 0)), 0x89,
				   (uint8_t)(0xc0 | (reg & 7) << 3 | RDX) };

		rw_put(pieces, move, sizeof(move));
	}
}

void rw_put_stack_pointer(struct rw_pieces *pieces, unsigned to, int64_t stack)
{
	uint8_t lea[] = { 0x48, 0x8d, (uint8_t)(0x84 | to << 3), 0x24, 0, 0, 0, 0 };
	int32_t above = (int32_t)(pieces->below - stack);

	memcpy(lea + 4, &above, sizeof(above));
	rw_put(pieces, lea, sizeof(lea));
}

static void put_registers_restored(struct rw_pieces *pieces, bool keeps_flags);

/* A variant runs in the loop's place where BEGIN gave one; then the loop itself goes on, in the copy that
 * NEXT gives. */
static void put_variant_begin(struct rw_pieces *pieces, const struct rw_thunks *thunks,
			      uint32_t plan_index, int32_t done, bool keeps_flags)
{
	static const uint8_t store_target[] = { 0x64, 0x48, 0x89, 0x0c, 0x25, 0, 0, 0, 0 };
	static const uint8_t jump_target[] = { 0x64, 0xff, 0x24, 0x25, 0, 0, 0, 0 };
	int32_t none = rw_label_new(pieces);
	uint16_t below = pieces->below;

	RW_PUT(pieces, 0x48, 0x85, 0xc9); /* test rcx, rcx */
	rw_put_jump(pieces, 0x74, none, true);
	rw_put_stack_pointer(pieces, RDX, 0);
	rw_put_call_by(pieces, thunks->address[SN_PLAN_CALL_RUN]);
	rw_label_place(pieces, none);
	put_table(pieces);
	put_slot(pieces, plan_index);
	rw_put_call(pieces, thunks->label[SN_PLAN_CALL_NEXT]);
	RW_PUT(pieces, 0x48, 0x85, 0xc9);
	rw_put_jump(pieces, 0x74, done, true);
	rw_put_field(pieces, store_target, sizeof(store_target), 5, SN_PLAN_THREAD,
		     SN_PLAN_WORD_TARGET);
	put_registers_restored(pieces, keeps_flags);
	rw_put_field(pieces, jump_target, sizeof(jump_target), 4, SN_PLAN_THREAD,
		     SN_PLAN_WORD_TARGET);
	pieces->below = below;
}

static void put_enter(struct rw_pieces *pieces, const struct rw_thunks *thunks,
		      const struct rw_op *op, int32_t done, bool keeps_flags)
{
	if (op->induction) {
		put_induction(pieces, op->induction->reg);
		RW_PUT(pieces, 0x48, 0x29, 0x51, RW_AT(sum));	     /* sub [rcx], rdx */
		RW_PUT(pieces, 0x48, 0x89, 0x51, RW_AT(last_entry)); /* mov [rcx], rdx */
	}
	RW_PUT(pieces, 0xff, 0x49, RW_AT(turn)); /* dec dword */
	rw_put_jump(pieces, 0x7f, done, true);
	if (op->induction)
		RW_PUT(pieces, 0x48, 0x89, 0xd0); /* mov rax, rdx */
	rw_put_stack_pointer(pieces, RDX, 0);
	rw_put_call(pieces, thunks->label[SN_PLAN_CALL_BEGIN]);
	if (op->has_variants)
		put_variant_begin(pieces, thunks, op->plan_index, done, keeps_flags);
}

static void put_leave(struct rw_pieces *pieces, const struct rw_thunks *thunks,
		      const struct rw_op *op, int32_t done)
{
	if (op->induction) {
		put_induction(pieces, op->induction->reg);
		if (op->is_ahead) { /* add rdx, step */
			uint8_t add[] = { 0x48, 0x81, 0xc2, 0, 0, 0, 0 };
			int32_t step = (int32_t)op->induction->step;

			memcpy(add + 3, &step, sizeof(step));
			rw_put(pieces, add, sizeof(add));
		}
		RW_PUT(pieces, 0x48, 0x01, 0x51, RW_AT(sum)); /* add [rcx], rdx */
	}
	RW_PUT(pieces, 0x48, 0xff, 0x41, RW_AT(exits)); /* inc: negative while one is timed */
	rw_put_jump(pieces, 0x79, done, true);
	rw_put_stack_pointer(pieces, RDX, op->stack);
	rw_put_call(pieces, thunks->label[SN_PLAN_CALL_END]);
}

/* lahf and seto take a tenth of the time of pushfq and popfq, and keep all that arithmetic leaves. */
void rw_put_flags_saved(struct rw_pieces *pieces)
{
	RW_PUT(pieces, 0x9f);		  /* lahf */
	RW_PUT(pieces, 0x0f, 0x90, 0xc0); /* seto al */
	RW_PUT(pieces, 0x50);		  /* push rax */
	pieces->below = (uint16_t)(pieces->below + 8);
}

void rw_put_flags_restored(struct rw_pieces *pieces)
{
	RW_PUT(pieces, 0x58); /* pop rax */
	pieces->below = (uint16_t)(pieces->below - 8);
	RW_PUT(pieces, 0x04, 0x7f); /* add al, 127: overflows if al was 1 */
	RW_PUT(pieces, 0x9e);	    /* sahf */
}

static void put_registers_restored(struct rw_pieces *pieces, bool keeps_flags)
{
	if (keeps_flags)
		rw_put_flags_restored(pieces);
	RW_PUT(pieces, 0x5a); /* pop rdx, rcx, rax */
	pieces->below = RW_RED_ZONE_BYTES + 16;
	RW_PUT(pieces, 0x59);
	pieces->below = RW_RED_ZONE_BYTES + 8;
	RW_PUT(pieces, 0x58);
	pieces->below = RW_RED_ZONE_BYTES;
	RW_PUT(pieces, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea rsp, [rsp + 128] */
	pieces->below = 0;
}

void rw_put_flags_pushed(struct rw_pieces *pieces)
{
	RW_PUT(pieces, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea rsp, [rsp - 128] */
	pieces->below = RW_RED_ZONE_BYTES;
	RW_PUT(pieces, 0x9c); /* pushfq */
	pieces->below = RW_RED_ZONE_BYTES + 8;
}

void rw_put_flags_popped(struct rw_pieces *pieces)
{
	RW_PUT(pieces, 0x9d); /* popfq */
	pieces->below = RW_RED_ZONE_BYTES;
	RW_PUT(pieces, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea rsp, [rsp + 128] */
	pieces->below = 0;
}

static void put_registers_saved(struct rw_pieces *pieces, bool keeps_flags)
{
	RW_PUT(pieces, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea rsp, [rsp - 128] */
	pieces->below = RW_RED_ZONE_BYTES;
	RW_PUT(pieces, 0x50); /* push rax, rcx, rdx */
	pieces->below = RW_RED_ZONE_BYTES + 8;
	RW_PUT(pieces, 0x51);
	pieces->below = RW_RED_ZONE_BYTES + 16;
	RW_PUT(pieces, 0x52);
	pieces->below = SAVED_BYTES;
	if (keeps_flags)
		rw_put_flags_saved(pieces);
}

/* ---- heartbeats ---- */

/* What beats call keeps every register, so that only those are saved here that the arguments and the flags take. */
static void put_beats_begin(struct rw_pieces *pieces, bool keeps_flags)
{
	RW_PUT(pieces, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea rsp, [rsp - 128] */
	pieces->below = RW_RED_ZONE_BYTES;
	RW_PUT(pieces, 0x57); /* push rdi, rsi */
	pieces->below = RW_RED_ZONE_BYTES + 8;
	RW_PUT(pieces, 0x56);
	pieces->below = RW_RED_ZONE_BYTES + 16;
	if (keeps_flags) {
		RW_PUT(pieces, 0x50); /* push rax */
		pieces->below = RW_RED_ZONE_BYTES + 24;
		rw_put_flags_saved(pieces);
	}
}

static void put_beats_end(struct rw_pieces *pieces, bool keeps_flags)
{
	if (keeps_flags) {
		rw_put_flags_restored(pieces);
		RW_PUT(pieces, 0x58); /* pop rax */
		pieces->below = RW_RED_ZONE_BYTES + 16;
	}
	RW_PUT(pieces, 0x5e); /* pop rsi, rdi */
	pieces->below = RW_RED_ZONE_BYTES + 8;
	RW_PUT(pieces, 0x5f);
	pieces->below = RW_RED_ZONE_BYTES;
	RW_PUT(pieces, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea rsp, [rsp + 128] */
	pieces->below = 0;
}

/* rdi is the heartbeat's index, rsi what its beats are known by. */
static void put_beat(struct rw_pieces *pieces, const struct rw_thunks *thunks,
		     const struct rw_op *op)
{
	static const uint8_t load_index[] = { 0xbf, 0, 0, 0, 0 };
	static const uint8_t calls[] = { [RW_BEAT_BEGIN] = SN_PLAN_CALL_BEGIN,
					 [RW_BEAT_END] = SN_PLAN_CALL_END,
					 [RW_BEAT_NEXT] = SN_PLAN_CALL_NEXT,
					 [RW_BEAT_LEFT] = SN_PLAN_CALL_FIRST,
					 [RW_BEAT_CAUGHT] = SN_PLAN_CALL_FULL };

	rw_put_field(pieces, load_index, sizeof(load_index), 1, SN_PLAN_INDEX, op->plan_index);
	rw_put_stack_pointer(pieces, RSI, op->stack);
	rw_put_call_by(pieces, thunks->address[calls[op->kind]]);
}

/* ---- all of them ---- */

void rw_put_ops(struct rw_pieces *pieces, const struct rw_thunks *thunks, const struct rw_op *ops,
		size_t count, bool keeps_flags)
{
	if (ops[0].kind >= RW_BEAT_BEGIN) { /* a plan has either */
		put_beats_begin(pieces, keeps_flags);
		for (size_t i = 0; i < count; i++)
			put_beat(pieces, thunks, &ops[i]);
		put_beats_end(pieces, keeps_flags);
		return;
	}
	if (rw_put_ops_by_one(pieces, ops, count, keeps_flags))
		return;
	put_registers_saved(pieces, keeps_flags);
	for (size_t i = 0; i < count; i++) {
		int32_t done = rw_label_new(pieces);

		put_record(pieces, thunks, &ops[i], done);
		if (ops[i].kind == RW_ENTER)
			put_enter(pieces, thunks, &ops[i], done, keeps_flags);
		else
			put_leave(pieces, thunks, &ops[i], done);
		rw_label_place(pieces, done);
	}
	put_registers_restored(pieces, keeps_flags);
}

void rw_put_full(struct rw_pieces *pieces, const struct rw_thunks *thunks, uint32_t plan_index,
		 int32_t on, int32_t off)
{
	int32_t none = rw_label_new(pieces);

	put_registers_saved(pieces, true);
	put_table(pieces);
	RW_PUT(pieces, 0x48, 0x85, 0xc0); /* test rax, rax */
	rw_put_jump(pieces, 0x74, none, true);
	put_slot(pieces, plan_index);
	RW_PUT(pieces, 0x48, 0x85, 0xc9); /* test rcx, rcx */
	rw_put_jump(pieces, 0x74, none, true);
	rw_put_call(pieces, thunks->label[SN_PLAN_CALL_FULL]);
	RW_PUT(pieces, 0x48, 0x85, 0xc9);
	rw_put_jump(pieces, 0x74, none, true);
	put_registers_restored(pieces, true);
	rw_put_jump(pieces, 0, on, false);
	rw_label_place(pieces, none);
	pieces->below = SAVED_BYTES + 8;
	put_registers_restored(pieces, true);
	rw_put_jump(pieces, 0, off, false);
}

void rw_put_untime(struct rw_pieces *pieces, const struct rw_thunks *thunks, uint32_t plan_index)
{
	const struct rw_op op = { .kind = RW_LEAVE, .plan_index = plan_index };
	int32_t none = rw_label_new(pieces);

	put_registers_saved(pieces, true);
	put_record(pieces, thunks, &op, none);
	rw_put_call(pieces, thunks->label[SN_PLAN_CALL_UNTIME]);
	rw_label_place(pieces, none);
	put_registers_restored(pieces, true);
}

void rw_put_told(struct rw_pieces *pieces, const struct rw_thunks *thunks, uint32_t index)
{
	uint8_t load[] = { 0xb9, 0, 0, 0, 0 }; /* mov ecx, index */

	memcpy(load + 1, &index, sizeof(index));
	put_registers_saved(pieces, true);
	rw_put(pieces, load, sizeof(load));
	rw_put_call(pieces, thunks->label[SN_PLAN_CALL_FULL]);
	put_registers_restored(pieces, true);
}
