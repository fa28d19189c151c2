/*
 * The code that counts, where one register is enough: a free one, or one that is saved. What is rare (a
 * thread's first instance, one that is timed) stands behind the code that always runs, so that
 * nothing jumps over it.
 */
#include "rewrite/rewrite_parts.h"

#include <assert.h>
#include <string.h>

enum { RAX = 0, RCX = 1, RDX = 2, NONE = -1 };

/* The register is the thread's table, then the record. */
struct one {
	struct rw_pieces *pieces;
	const struct rw_op *op;
	uint8_t low, high; /* the register's number: three bits, and the fourth */
	bool is_free, keeps_flags;
};

/* ---- the register ---- */

/* One whose value the stub itself needs. */
static bool is_needed(const struct rw_op *ops, size_t count, unsigned reg)
{
	for (size_t i = 0; i < count; i++)
		if (ops[i].induction && ops[i].induction->reg == reg)
			return true;
	return false;
}

static int choose(const struct rw_op *ops, size_t count, bool keeps_flags, bool *is_free)
{
	*is_free = !keeps_flags;
	for (unsigned reg = 0; !keeps_flags && reg < 16; reg++)
		if (ops[0].scratch & 1u << reg && !is_needed(ops, count, reg))
			return (int)reg;
	*is_free = false;
	/* the flags are saved by way of rax */
	for (unsigned reg = RAX; reg <= (keeps_flags ? RAX : RDX); reg++)
		if (!is_needed(ops, count, reg))
			return (int)reg;
	return NONE;
}

static void put_begin(const struct one *one)
{
	struct rw_pieces *pieces = one->pieces;
	const uint8_t push[] = { (uint8_t)(0x50 | one->low) };

	if (one->is_free)
		return;
	RW_PUT(pieces, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea rsp, [rsp - 128] */
	pieces->below = RW_RED_ZONE_BYTES;
	rw_put(pieces, push, sizeof(push));
	pieces->below = RW_RED_ZONE_BYTES + 8;
	if (one->keeps_flags)
		rw_put_flags_saved(pieces);
}

static void put_end(const struct one *one)
{
	struct rw_pieces *pieces = one->pieces;
	const uint8_t pop[] = { (uint8_t)(0x58 | one->low) };

	if (one->is_free)
		return;
	if (one->keeps_flags)
		rw_put_flags_restored(pieces);
	rw_put(pieces, pop, sizeof(pop));
	pieces->below = RW_RED_ZONE_BYTES;
	RW_PUT(pieces, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea rsp, [rsp + 128] */
	pieces->below = 0;
}

/* ---- what always runs ---- */

/* Goes to `none` where the thread has no table, to `first` where the loop has no record in it. */
static void put_record(const struct one *one, int32_t none, int32_t first)
{
	struct rw_pieces *pieces = one->pieces;
	const uint8_t low = one->low, high = one->high, both = (uint8_t)(0x48 | high * 5);
	const uint8_t load_table[] = {
		0x64, (uint8_t)(0x48 | high << 2), 0x8b, (uint8_t)(0x04 | low << 3), 0x25, 0, 0, 0,
		0
	};
	const uint8_t load_record[] = { both, 0x8b, (uint8_t)(0x80 | low << 3 | low), 0, 0, 0, 0 };
	const uint8_t test[] = { both, 0x85, (uint8_t)(0xc0 | low << 3 | low) };

	rw_put_field(pieces, load_table, sizeof(load_table), 5, SN_PLAN_THREAD, SN_PLAN_WORD_TABLE);
	rw_put(pieces, test, sizeof(test));
	rw_put_jump(pieces, 0x74, none, true);
	rw_put_field(pieces, load_record, sizeof(load_record), 3, SN_PLAN_SLOT,
		     one->op->plan_index);
	rw_put(pieces, test, sizeof(test));
	rw_put_jump(pieces, 0x74, first, true);
}

/* inc qword [record + at] */
static void put_increment(const struct one *one, uint32_t at)
{
	uint8_t increment[] = {
		(uint8_t)(0x48 | one->high), 0xff, (uint8_t)(0x80 | one->low), 0, 0, 0, 0
	};

	if (at < 128) {
		increment[2] = (uint8_t)(0x40 | one->low);
		increment[3] = (uint8_t)at;
		rw_put(one->pieces, increment, 4);
		return;
	}
	memcpy(increment + 3, &at, sizeof(at));
	rw_put(one->pieces, increment, sizeof(increment));
}

/* add, sub or mov qword [record + at], reg: by the operation's code */
static void put_with_memory(const struct one *one, uint8_t code, unsigned reg, uint8_t at)
{
	const uint8_t bytes[] = { (uint8_t)(0x48 | one->high | reg >> 3 << 2), code,
				  (uint8_t)(0x40 | (reg & 7) << 3 | one->low), at };

	rw_put(one->pieces, bytes, sizeof(bytes));
}

/* dec dword [record + at], or cmp with 0 */
static void put_decrement(const struct one *one, uint8_t at)
{
	const uint8_t bytes[] = { (uint8_t)(0x40 | one->high), 0xff, (uint8_t)(0x48 | one->low),
				  at };

	rw_put(one->pieces, bytes + !one->high, sizeof(bytes) - !one->high);
}

static void put_compare(const struct one *one, uint8_t at)
{
	const uint8_t bytes[] = { (uint8_t)(0x40 | one->high), 0x83, (uint8_t)(0x78 | one->low), at,
				  0 };

	rw_put(one->pieces, bytes + !one->high, sizeof(bytes) - !one->high);
}

static void put_enter(const struct one *one, int32_t rare)
{
	const struct rw_induction *induction = one->op->induction;

	put_increment(one, RW_AT(entries));
	if (induction) {
		put_with_memory(one, 0x29, induction->reg, RW_AT(sum));
		put_with_memory(one, 0x89, induction->reg, RW_AT(last_entry));
	}
	put_decrement(one, RW_AT(countdown));
	rw_put_jump(one->pieces, 0x74, rare, true);
}

static void put_leave(const struct one *one, int32_t rare)
{
	const struct rw_induction *induction = one->op->induction;

	put_increment(one, RW_AT(exits));
	if (induction)
		put_with_memory(one, 0x01, induction->reg, RW_AT(sum));
	if (induction && one->op->is_ahead) { /* add qword [record + sum], step */
		uint8_t add[] = { (uint8_t)(0x48 | one->high),
				  0x81,
				  (uint8_t)(0x40 | one->low),
				  RW_AT(sum),
				  0,
				  0,
				  0,
				  0 };
		int32_t step = (int32_t)induction->step;

		memcpy(add + 4, &step, sizeof(step));
		rw_put(one->pieces, add, sizeof(add));
	}
	put_compare(one, RW_AT(is_open));
	rw_put_jump(one->pieces, 0x75, rare, true);
}

/* ---- what is rare ---- */

static struct rw_aside aside_of(const struct one *one, enum sn_plan_call call, int32_t back,
				int32_t none)
{
	struct rw_pieces *pieces = one->pieces;

	return (struct rw_aside){
		.label = rw_label_new(pieces),
		.back = back,
		.none = none,
		.call = (uint8_t)call,
		.reg = (uint8_t)(one->low | one->high << 3),
		.has_induction = call == SN_PLAN_CALL_BEGIN && one->op->induction,
		.induction = one->op->induction ? one->op->induction->reg : 0,
		.is_free = one->is_free,
		.plan_index = one->op->plan_index,
		.stack = one->op->stack,
		.link_addr = pieces->link_addr,
		.below = pieces->below,
	};
}

/* The registers that calls take. */
static void put_saved(struct rw_pieces *pieces, const struct rw_aside *aside)
{
	if (aside->is_free) {
		RW_PUT(pieces, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea rsp, [rsp - 128] */
		pieces->below = RW_RED_ZONE_BYTES;
	}
	RW_PUT(pieces, 0x50); /* push rax, rcx, rdx */
	pieces->below = (uint16_t)(pieces->below + 8);
	RW_PUT(pieces, 0x51);
	pieces->below = (uint16_t)(pieces->below + 8);
	RW_PUT(pieces, 0x52);
	pieces->below = (uint16_t)(pieces->below + 8);
}

/* The flags stay. */
static void put_restored(struct rw_pieces *pieces, const struct rw_aside *aside)
{
	RW_PUT(pieces, 0x5a); /* pop rdx, rcx, rax */
	pieces->below = (uint16_t)(pieces->below - 8);
	RW_PUT(pieces, 0x59);
	pieces->below = (uint16_t)(pieces->below - 8);
	RW_PUT(pieces, 0x58);
	pieces->below = (uint16_t)(pieces->below - 8);
	if (aside->is_free)
		RW_PUT(pieces, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea rsp, [rsp + 128] */
	pieces->below = aside->below;
}

/* The first entry in a thread: the record has to be made. Then it is as if it had always been there. */
static void put_first(struct rw_pieces *pieces, const struct rw_thunks *thunks,
		      const struct rw_aside *aside)
{
	static const uint8_t load_index[] = { 0xb9, 0, 0, 0, 0 };

	rw_put_field(pieces, load_index, sizeof(load_index), 1, SN_PLAN_INDEX, aside->plan_index);
	rw_put_call(pieces, thunks->label[SN_PLAN_CALL_FIRST]);
	RW_PUT(pieces, 0x48, 0x85, 0xc9); /* test rcx, rcx */
	put_restored(pieces, aside);
	rw_put_jump(pieces, 0x74, aside->none, true);
	rw_put_jump(pieces, 0, aside->back, true);
}

static void put_timed(struct rw_pieces *pieces, const struct rw_thunks *thunks,
		      const struct rw_aside *aside)
{
	const uint8_t move[] = { (uint8_t)(0x48 | aside->reg >> 3 << 2), 0x89,
				 (uint8_t)(0xc0 | (aside->reg & 7) << 3 | RCX) };
	const uint8_t entry[] = { (uint8_t)(0x48 | aside->induction >> 3 << 2), 0x89,
				  (uint8_t)(0xc0 | (aside->induction & 7) << 3 | RAX) };

	if (aside->has_induction && aside->reg == RAX && aside->induction == RCX) {
		RW_PUT(pieces, 0x48, 0x91); /* xchg rax, rcx */
	} else if (aside->reg == RAX) {
		rw_put(pieces, move, sizeof(move)); /* mov rcx, record */
		if (aside->has_induction)
			rw_put(pieces, entry, sizeof(entry)); /* mov rax, the induction variable */
	} else {
		if (aside->has_induction)
			rw_put(pieces, entry, sizeof(entry));
		rw_put(pieces, move, sizeof(move));
	}
	rw_put_stack_pointer(pieces, RDX, aside->stack);
	rw_put_call(pieces, thunks->label[aside->call]);
	put_restored(pieces, aside);
	rw_put_jump(pieces, 0, aside->back, true);
}

void rw_put_asides(struct rw_pieces *pieces, const struct rw_thunks *thunks)
{
	for (size_t i = 0; i < pieces->asides.count; i++) {
		const struct rw_aside *aside = &pieces->asides.items[i];

		pieces->link_addr = aside->link_addr;
		pieces->below = aside->below;
		rw_label_place(pieces, aside->label);
		put_saved(pieces, aside);
		if (aside->call == SN_PLAN_CALL_FIRST)
			put_first(pieces, thunks, aside);
		else
			put_timed(pieces, thunks, aside);
	}
	pieces->asides.count = 0;
	pieces->below = 0;
}

/* ---- all of it ---- */

static void put_op(const struct one *one)
{
	struct rw_pieces *pieces = one->pieces;
	const struct rw_op *op = one->op;
	int32_t begin = rw_label_new(pieces), done = rw_label_new(pieces), first = done;
	bool makes_record = op->kind == RW_ENTER || op->kind == RW_BLOCK;

	rw_label_place(pieces, begin);
	if (makes_record) {
		struct rw_aside aside = aside_of(one, SN_PLAN_CALL_FIRST, begin, done);

		first = aside.label;
		sn_vec_push(&pieces->asides, aside);
	}
	put_record(one, done, first);
	if (op->kind == RW_COUNT) {
		put_increment(one, RW_AT(sum));
	} else if (op->kind == RW_BLOCK) {
		put_increment(one, op->at);
	} else {
		bool is_enter = op->kind == RW_ENTER;
		int32_t back = rw_label_new(pieces);
		struct rw_aside aside =
			aside_of(one, is_enter ? SN_PLAN_CALL_BEGIN : SN_PLAN_CALL_END, back, back);

		(is_enter ? put_enter : put_leave)(one, aside.label);
		rw_label_place(pieces, back);
		/* what is timed begins without it */
		if (is_enter && op->counts_arrival)
			put_increment(one, RW_AT(sum));
		sn_vec_push(&pieces->asides, aside);
	}
	rw_label_place(pieces, done);
}

bool rw_is_one_enough(const struct rw_op *ops, size_t count, bool keeps_flags)
{
	bool is_free;

	for (size_t i = 0; i < count; i++)
		if (ops[i].has_variants)
			return false;
	return choose(ops, count, keeps_flags, &is_free) != NONE;
}

bool rw_put_ops_by_one(struct rw_pieces *pieces, const struct rw_op *ops, size_t count,
		       bool keeps_flags)
{
	struct one one = { .pieces = pieces, .keeps_flags = keeps_flags };
	int reg = choose(ops, count, keeps_flags, &one.is_free);

	if (!rw_is_one_enough(ops, count, keeps_flags))
		return false;
	one.low = (uint8_t)(reg & 7);
	one.high = (uint8_t)(reg >> 3);
	put_begin(&one);
	for (size_t i = 0; i < count; i++) {
		one.op = &ops[i];
		put_op(&one);
	}
	put_end(&one);
	return true;
}
