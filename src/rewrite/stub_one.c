/*
 * The code that counts, where one register is enough: a free one, or one that is saved. What is rare (a
 * thread's first instance, one that is timed) stands behind the code that always runs, so that
 * nothing jumps over it.
 */
#include "rewrite/rewrite_parts.h"

#include <assert.h>
#include <string.h>

enum { RAX = 0, RCX = 1, RDX = 2, NONE = -1 };

/* Where they are saved, if somebody needs them: below the stack pointer if the function has nothing there, else by pushes. */
struct one {
	struct rw_pieces *pieces;
	const struct rw_op *op;
	uint8_t low, high; /* the number of that with the record: three bits, and the fourth */
	int flags, second; /* one with the flags; one more; or NONE */
	uint16_t saved;
	bool is_free, keeps_flags, has_red_zone;
};

/* ---- the registers ---- */

/* Those whose value the stub itself needs. */
static uint16_t needed(const struct rw_op *ops, size_t count)
{
	uint16_t registers = ops[0].counting;

	for (size_t i = 0; i < count; i++)
		if (ops[i].induction)
			registers |= (uint16_t)(1u << ops[i].induction->reg);
	return registers;
}

static bool needs_second(const struct rw_op *ops, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ops[i].kind == RW_LEAVE && ops[i].counter && ops[i].counter->reg < 0)
			return true;
	return false;
}

/* A free one, or else one that will be saved. */
static int take(struct one *one, uint16_t *usable, uint16_t free)
{
	uint16_t from = *usable & free ? *usable & free : *usable;
	int reg = __builtin_ctz(from);

	*usable &= (uint16_t) ~(1u << reg);
	if (!(free & 1u << reg))
		one->saved |= (uint16_t)(1u << reg);
	return reg;
}

static bool choose_by_pushes(struct one *one, const struct rw_op *ops, size_t count)
{
	uint16_t usable = (uint16_t)~needed(ops, count);
	uint16_t free = one->keeps_flags ? 0 : ops[0].scratch;

	/* the flags are saved by way of rax */
	usable &= (uint16_t)(free | (one->keeps_flags ? 1 << RAX : 1 << RAX | 1 << RCX | 1 << RDX));
	if (!usable)
		return false;
	int reg = take(one, &usable, free);

	one->is_free = !one->saved;
	one->low = reg & 7;
	one->high = (uint8_t)(reg >> 3);
	return true;
}

static bool choose(struct one *one, const struct rw_op *ops, size_t count)
{
	uint16_t usable = (uint16_t)(RW_USABLE_REGISTERS & ~needed(ops, count));
	uint16_t free = ops[0].scratch, rax = 1 << RAX;
	int reg;

	one->flags = one->second = NONE;
	one->has_red_zone = ops[0].has_red_zone;
	if (!one->has_red_zone)
		return choose_by_pushes(one, ops, count);
	one->is_free = true;
	if (one->keeps_flags && usable & rax) {
		uint16_t only = rax;

		one->flags = take(one, &only, free);
		usable &= (uint16_t)~rax;
	} else if (one->keeps_flags) {
		one->flags = take(one, &usable, free);
	}
	reg = take(one, &usable, free);
	one->low = reg & 7;
	one->high = (uint8_t)(reg >> 3);
	if (needs_second(ops, count))
		one->second = take(one, &usable, free);
	return true;
}

/* mov reg, [rsp + at], or the other way round: by the operation's code; sub, too */
static void put_on_stack(struct rw_pieces *pieces, uint8_t code, int reg, int at)
{
	const uint8_t bytes[] = { (uint8_t)(0x48 | reg >> 3 << 2), code,
				  (uint8_t)(0x44 | (reg & 7) << 3), 0x24, (uint8_t)at };

	rw_put(pieces, bytes, sizeof(bytes));
}

static void put_move(struct rw_pieces *pieces, int to, int from)
{
	const uint8_t bytes[] = { (uint8_t)(0x48 | from >> 3 << 2 | to >> 3), 0x89,
				  (uint8_t)(0xc0 | (from & 7) << 3 | (to & 7)) };

	rw_put(pieces, bytes, sizeof(bytes));
}

static void put_with_rax(struct rw_pieces *pieces, int reg) /* xchg */
{
	const uint8_t bytes[] = { (uint8_t)(0x48 | reg >> 3), (uint8_t)(0x90 | (reg & 7)) };

	rw_put(pieces, bytes, sizeof(bytes));
}

static void put_all_saved(const struct one *one, uint8_t code)
{
	int at = 0;

	for (int reg = 0; reg < 16; reg++)
		if (one->saved & 1u << reg)
			put_on_stack(one->pieces, code, reg, at -= 8);
}

static void put_begin_in_red_zone(const struct one *one)
{
	struct rw_pieces *pieces = one->pieces;

	put_all_saved(one, 0x89);
	if (!one->keeps_flags)
		return;
	if (one->flags != RAX)
		put_move(pieces, one->flags, RAX);
	RW_PUT(pieces, 0x9f);		  /* lahf */
	RW_PUT(pieces, 0x0f, 0x90, 0xc0); /* seto al */
	if (one->flags != RAX)
		put_with_rax(pieces, one->flags);
}

static void put_end_in_red_zone(const struct one *one)
{
	struct rw_pieces *pieces = one->pieces;

	if (one->keeps_flags) {
		if (one->flags != RAX)
			put_with_rax(pieces, one->flags);
		RW_PUT(pieces, 0x04, 0x7f); /* add al, 127: overflows if al was 1 */
		RW_PUT(pieces, 0x9e);	    /* sahf */
		if (one->flags != RAX)
			put_move(pieces, RAX, one->flags);
	}
	put_all_saved(one, 0x8b);
}

static void put_begin(const struct one *one)
{
	struct rw_pieces *pieces = one->pieces;
	const uint8_t push[] = { (uint8_t)(0x50 | one->low) };

	if (one->has_red_zone)
		put_begin_in_red_zone(one);
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

	if (one->has_red_zone)
		put_end_in_red_zone(one);
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

static void put_of_thread(const struct one *one, enum sn_plan_thread_word word)
{
	const uint8_t load[] = { 0x64, (uint8_t)(0x48 | one->high << 2),
				 0x8b, (uint8_t)(0x04 | one->low << 3),
				 0x25, 0,
				 0,    0,
				 0 };

	rw_put_field(one->pieces, load, sizeof(load), 5, SN_PLAN_THREAD, word);
}

static void put_of_loop(const struct one *one, enum sn_plan_relocation_kind kind)
{
	const uint8_t low = one->low;
	const uint8_t load[] = {
		(uint8_t)(0x48 | one->high * 5), 0x8b, (uint8_t)(0x80 | low << 3 | low), 0, 0, 0, 0
	};

	rw_put_field(one->pieces, load, sizeof(load), 3, kind, one->op->plan_index);
}

/* Blocks: goes to `none` where the thread has no table, to `first` where they have no record in it. */
static void put_blocks(const struct one *one, int32_t none, int32_t first)
{
	struct rw_pieces *pieces = one->pieces;
	const uint8_t test[] = { (uint8_t)(0x48 | one->high * 5), 0x85,
				 (uint8_t)(0xc0 | one->low << 3 | one->low) };
	uint8_t increment[] = {
		(uint8_t)(0x48 | one->high), 0xff, (uint8_t)(0x80 | one->low), 0, 0, 0, 0
	};

	put_of_thread(one, SN_PLAN_WORD_TABLE);
	rw_put(pieces, test, sizeof(test));
	rw_put_jump(pieces, 0x74, none, true);
	put_of_loop(one, SN_PLAN_SLOT);
	rw_put(pieces, test, sizeof(test));
	rw_put_jump(pieces, 0x74, first, true);
	memcpy(increment + 3, &one->op->at, sizeof(one->op->at));
	rw_put(pieces, increment, sizeof(increment));
}

/* The record's distance from that which is nobody's. */
static void put_record(const struct one *one)
{
	put_of_thread(one, SN_PLAN_WORD_PLACES);
	put_of_loop(one, SN_PLAN_PLACE);
}

/* An instruction of one byte with a number of the record. `reg` is a register, or more of the operation's code. */
static void put_with_record(const struct one *one, bool is_wide, uint8_t code, int reg, uint8_t at)
{
	const uint8_t bytes[] = {
		0x64, (uint8_t)((is_wide ? 0x48 : 0x40) | one->high | reg >> 3 << 2),
		code, (uint8_t)(0x80 | (reg & 7) << 3 | one->low),
		0,    0,
		0,    0,
	};

	rw_put_field(one->pieces, bytes, sizeof(bytes), 4, SN_PLAN_THREAD, SN_PLAN_WORD_NONE + at);
}

static void put_increment(const struct one *one, uint8_t at)
{
	put_with_record(one, true, 0xff, 0, at);
}

/* add reg, step */
static void put_step_added(const struct one *one, int reg)
{
	uint8_t add[] = {
		(uint8_t)(0x48 | reg >> 3), 0x81, (uint8_t)(0xc0 | (reg & 7)), 0, 0, 0, 0
	};
	int32_t step = (int32_t)one->op->induction->step;

	memcpy(add + 3, &step, sizeof(step));
	rw_put(one->pieces, add, sizeof(add));
}

/* Before anything that may be done again. */
static void put_counter_begin(const struct one *one)
{
	const struct rw_counter *counter = one->op->counter;

	if (one->op->induction) {
		put_on_stack(one->pieces, 0x89, one->op->induction->reg, counter->at);
	} else if (counter->reg >= 0) {
		const int reg = counter->reg;
		const uint8_t zero[] = { (uint8_t)(0x40 | (reg >> 3) * 5), 0x31,
					 (uint8_t)(0xc0 | (reg & 7) * 9) };

		if (counter->is_saved)
			put_on_stack(one->pieces, 0x89, reg, counter->at);
		rw_put(one->pieces, zero, sizeof(zero)); /* xor reg, reg */
	} else {					 /* mov qword [rsp + at], 0 */
		const uint8_t zero[] = { 0x48, 0xc7, 0x44, 0x24, (uint8_t)counter->at, 0, 0, 0, 0 };

		rw_put(one->pieces, zero, sizeof(zero));
	}
}

static void put_counter_end(const struct one *one)
{
	const struct rw_counter *counter = one->op->counter;
	int reg = counter->reg >= 0 ? counter->reg : one->second;

	if (one->op->induction) {
		put_move(one->pieces, reg, one->op->induction->reg);
		if (one->op->is_ahead)
			put_step_added(one, reg);
		put_on_stack(one->pieces, 0x2b, reg, counter->at); /* sub */
	} else if (counter->reg < 0) {
		put_on_stack(one->pieces, 0x8b, reg, counter->at);
	}
	put_with_record(one, true, 0x01, reg, RW_AT(sum));
	if (counter->reg >= 0 && counter->is_saved)
		put_on_stack(one->pieces, 0x8b, reg, counter->at);
}

void rw_put_counted_apart(struct rw_pieces *pieces, const struct rw_counter *counter)
{
	int reg = counter->reg;
	/* lea reg, [reg + 1] changes no flags */
	const uint8_t lea[] = { (uint8_t)(0x48 | (reg >> 3 & 1) * 5), 0x8d,
				(uint8_t)(0x40 | (reg & 7) * 9), 1 };
	const uint8_t increment[] = { 0x48, 0xff, 0x44, 0x24, (uint8_t)counter->at };

	if (reg >= 0)
		rw_put(pieces, lea, sizeof(lea));
	else
		rw_put(pieces, increment, sizeof(increment));
}

static void put_enter(const struct one *one, int32_t rare)
{
	const struct rw_induction *induction = one->op->induction;

	put_record(one);
	if (induction && !one->op->counter) {
		put_with_record(one, true, 0x29, induction->reg, RW_AT(sum));
		put_with_record(one, true, 0x89, induction->reg, RW_AT(last_entry));
	}
	put_with_record(one, false, 0xff, 1, RW_AT(turn)); /* dec dword */
	rw_put_jump(one->pieces, 0x7e, rare, true);
}

static void put_leave(const struct one *one, int32_t rare)
{
	const struct rw_induction *induction = one->op->induction;

	put_record(one);
	if (one->op->counter)
		put_counter_end(one);
	else if (induction)
		put_with_record(one, true, 0x01, induction->reg, RW_AT(sum));
	if (induction && !one->op->counter && one->op->is_ahead) {
		uint8_t add[] = { 0x64, (uint8_t)(0x48 | one->high),
				  0x81, (uint8_t)(0x80 | one->low),
				  0,	0,
				  0,	0,
				  0,	0,
				  0,	0 };
		int32_t step = (int32_t)induction->step;

		memcpy(add + 8, &step, sizeof(step));
		rw_put_field(one->pieces, add, sizeof(add), 4, SN_PLAN_THREAD,
			     SN_PLAN_WORD_NONE + RW_AT(sum));
	}
	put_increment(one, RW_AT(exits)); /* negative while one is timed */
	rw_put_jump(one->pieces, 0x78, rare, true);
}

/* ---- what is rare ---- */

/* It goes on at `again` when there is a record that was not, at `back` when it was timed. */
static struct rw_aside aside_of(const struct one *one, enum sn_plan_call call, int32_t again,
				int32_t back, int32_t none)
{
	struct rw_pieces *pieces = one->pieces;

	return (struct rw_aside){
		.label = rw_label_new(pieces),
		.again = again,
		.back = back,
		.none = none,
		.call = (uint8_t)call,
		.reg = (uint8_t)(one->low | one->high << 3),
		.has_induction = call == SN_PLAN_CALL_BEGIN && one->op->induction,
		.induction = one->op->induction ? one->op->induction->reg : 0,
		.is_counted_apart = one->op->counter,
		.is_pushed = !one->is_free,
		.plan_index = one->op->plan_index,
		.stack = one->op->stack,
		.link_addr = pieces->link_addr,
		.below = pieces->below,
	};
}

/* The registers that calls take. */
static void put_saved(struct rw_pieces *pieces, const struct rw_aside *aside)
{
	if (!aside->is_pushed) {
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
	if (!aside->is_pushed)
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
	rw_put_jump(pieces, 0, aside->again, true);
}

/* rcx becomes the record, and rax what BEGIN takes as the induction variable. */
static void put_arguments(struct rw_pieces *pieces, const struct rw_aside *aside)
{
	static const uint8_t lea[] = { 0x48, 0x8d, 0x89, 0, 0, 0, 0 };
	bool has_entry = aside->has_induction && !aside->is_counted_apart;

	if (has_entry && aside->reg == RAX && aside->induction == RCX) {
		RW_PUT(pieces, 0x48, 0x91); /* xchg rax, rcx */
	} else if (aside->reg == RAX) {
		put_move(pieces, RCX, aside->reg);
		if (has_entry)
			put_move(pieces, RAX, aside->induction);
	} else {
		if (has_entry)
			put_move(pieces, RAX, aside->induction);
		put_move(pieces, RCX, aside->reg);
	}
	if (!has_entry)
		RW_PUT(pieces, 0x31, 0xc0);			  /* xor eax, eax */
	RW_PUT(pieces, 0x64, 0x48, 0x03, 0x0c, 0x25, 0, 0, 0, 0); /* add rcx, fs:[0] */
	rw_put_field(pieces, lea, sizeof(lea), 3, SN_PLAN_THREAD, SN_PLAN_WORD_NONE);
}

static void put_timed(struct rw_pieces *pieces, const struct rw_thunks *thunks,
		      const struct rw_aside *aside)
{
	const uint8_t test[] = { (uint8_t)(0x48 | (aside->reg >> 3) * 5), 0x85,
				 (uint8_t)(0xc0 | (aside->reg & 7) * 9) };
	int32_t first = aside->call == SN_PLAN_CALL_BEGIN ? rw_label_new(pieces) : -1;
	uint16_t below = pieces->below;

	if (first >= 0) {
		rw_put(pieces, test, sizeof(test));
		rw_put_jump(pieces, 0x74, first, true);
	}
	put_arguments(pieces, aside);
	rw_put_stack_pointer(pieces, RDX, aside->stack);
	rw_put_call(pieces, thunks->label[aside->call]);
	put_restored(pieces, aside);
	rw_put_jump(pieces, 0, aside->back, true);
	if (first < 0)
		return;
	pieces->below = below;
	rw_label_place(pieces, first);
	put_first(pieces, thunks, aside);
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

static void put_block(const struct one *one, int32_t begin, int32_t done)
{
	struct rw_aside aside = aside_of(one, SN_PLAN_CALL_FIRST, begin, begin, done);

	put_blocks(one, done, aside.label);
	sn_vec_push(&one->pieces->asides, aside);
}

static void put_op(const struct one *one)
{
	struct rw_pieces *pieces = one->pieces;
	const struct rw_op *op = one->op;
	int32_t begin = rw_label_new(pieces), done = rw_label_new(pieces);

	if (op->kind == RW_ENTER && op->counter)
		put_counter_begin(one);
	rw_label_place(pieces, begin);
	if (op->kind == RW_COUNT) {
		put_record(one);
		put_increment(one, RW_AT(sum));
	} else if (op->kind == RW_BLOCK) {
		put_block(one, begin, done);
	} else {
		bool is_enter = op->kind == RW_ENTER;
		int32_t back = rw_label_new(pieces);
		struct rw_aside aside = aside_of(
			one, is_enter ? SN_PLAN_CALL_BEGIN : SN_PLAN_CALL_END, begin, back, done);

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
	struct one one = { .keeps_flags = keeps_flags };

	for (size_t i = 0; i < count; i++)
		if (ops[i].has_variants)
			return false;
	return choose(&one, ops, count);
}

bool rw_put_ops_by_one(struct rw_pieces *pieces, const struct rw_op *ops, size_t count,
		       bool keeps_flags)
{
	struct one one = { .pieces = pieces, .keeps_flags = keeps_flags };

	if (!rw_is_one_enough(ops, count, keeps_flags) || !choose(&one, ops, count))
		return false;
	put_begin(&one);
	for (size_t i = 0; i < count; i++) {
		one.op = &ops[i];
		put_op(&one);
	}
	put_end(&one);
	return true;
}
