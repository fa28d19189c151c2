/*
 * An abstract execution of undescribed code from the pc to a return. Registers hold known distances
 * from the present stack pointer, constants, loads, or nothing known. Every branch is at first not
 * taken. The first path that returns gives a row as call-frame information would have it.
 */
#include "unwind/scan.h"

#include "unwind/insn.h"

enum {
	RAX = 0,
	RCX = 1,
	RDX = 2,
	RSP = 4,
	RBP = 5,
	RSI = 6,
	RDI = 7,
	STORES_MAX = 24,
	SEGMENTS_MAX = 64,  /* straight pieces of one way */
	DECISIONS_MAX = 32, /* branches of one way that may be taken from the beginning */
	EXITS_HALF = 32,    /* branches kept: so many of the first, and of the latest */
	CHECKPOINTS_MAX = 16,
	CHECKPOINT_BYTES = 256,
};

enum value_kind {
	PLAIN,	/* what register `reg` held at the beginning, plus `add` */
	LOADED, /* the word at register `reg` plus `offset`, plus `add` */
	DEEP,	/* the word at (the word at register `reg` plus `offset`) plus `add` */
	UNKNOWN,
};

struct value {
	uint8_t kind, reg;
	int32_t offset, add;
};

struct store {
	struct value at, what;
};

/* One way through the code. */
struct way {
	struct value regs[16];
	struct store stores[STORES_MAX];
	unsigned store_count;
	uint64_t pc;			   /* where it begins: what follows counts from here */
	int32_t segments[SEGMENTS_MAX][2]; /* first and last instruction */
	unsigned segment_count;
	unsigned branch_count;
	struct {
		int32_t target, rsp_add;
		uint8_t rsp_kind;
	} exits[2 * EXITS_HALF]; /* branches that were not taken */
	unsigned exit_count;
	bool is_changed; /* what a caller would see is no longer as at the beginning */
	uint64_t checkpoints[CHECKPOINTS_MAX];
	unsigned checkpoint_count;
};

static const struct value unknown = { .kind = UNKNOWN };

static bool is_kept_over_calls(unsigned reg)
{
	return reg == 3 || reg == RSP || reg == RBP || reg >= 12;
}

static struct value plus(struct value value, int64_t number)
{
	int32_t sum;

	if (value.kind > LOADED || __builtin_add_overflow((int64_t)value.add, number, &sum))
		return unknown;
	value.add = sum;
	return value;
}

static void set(struct way *way, unsigned reg, struct value value)
{
	way->regs[reg] = value;
	way->is_changed |= is_kept_over_calls(reg);
}

static bool is_same(const struct value *a, const struct value *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->offset == b->offset && a->add == b->add;
}

static void store(struct way *way, struct value at, struct value what)
{
	unsigned i = 0;

	if (at.kind == UNKNOWN)
		return;
	while (i < way->store_count && !is_same(&way->stores[i].at, &at))
		i++;
	if (i == STORES_MAX)
		return;
	way->stores[i] = (struct store){ at, what };
	way->store_count += i == way->store_count;
}

static struct value load(const struct way *way, struct value at)
{
	for (unsigned i = 0; i < way->store_count; i++)
		if (is_same(&way->stores[i].at, &at))
			return way->stores[i].what;
	if (at.kind == PLAIN)
		return (struct value){ LOADED, at.reg, at.add, 0 };
	if (at.kind == LOADED)
		return (struct value){ DEEP, at.reg, at.offset, at.add };
	return unknown;
}

static void push(struct way *way, struct value what)
{
	set(way, RSP, plus(way->regs[RSP], -8));
	store(way, way->regs[RSP], what);
}

static struct value pop(struct way *way)
{
	struct value what = load(way, way->regs[RSP]);

	set(way, RSP, plus(way->regs[RSP], 8));
	return what;
}

/* Where a memory operand lies, if it is a register plus a constant. */
static struct value address(const struct way *way, const struct sn_unwind_insn *insn)
{
	unsigned base = insn->has_sib ? insn->base : insn->rm;

	if (insn->mod == 3 || (insn->has_sib && insn->index != 16) || base > 15 ||
	    (!insn->has_sib && insn->mod == 0 && (insn->rm & 7) == 5))
		return unknown;
	return plus(way->regs[base], insn->displacement);
}

static void forget(struct way *way, unsigned reg)
{
	set(way, reg, unknown);
}

static void forget_rm(struct way *way, const struct sn_unwind_insn *insn)
{
	if (insn->mod == 3)
		forget(way, insn->rm);
}

/* Without REX, 4 to 7 are the second bytes of 0 to 3. */
static unsigned byte_reg(const struct sn_unwind_insn *insn, unsigned reg)
{
	return !insn->rex && reg >= 4 ? reg - 4 : reg;
}

static void move(struct way *way, const struct sn_unwind_insn *insn, bool to_rm)
{
	bool is_whole = insn->rex & 8;
	unsigned to = to_rm ? insn->rm : insn->reg, from = to_rm ? insn->reg : insn->rm;

	if (insn->mod == 3)
		set(way, to, is_whole ? way->regs[from] : unknown);
	else if (to_rm)
		store(way, address(way, insn), is_whole ? way->regs[insn->reg] : unknown);
	else
		set(way, to, is_whole ? load(way, address(way, insn)) : unknown);
}

/* add, or, adc, sbb, and, sub, xor, cmp with a constant */
static void compute(struct way *way, const struct sn_unwind_insn *insn)
{
	unsigned which = insn->reg & 7;
	unsigned to = insn->opcode == 0x80 ? byte_reg(insn, insn->rm) : insn->rm;

	if (insn->mod != 3 || which == 7)
		return;
	if ((insn->rex & 8) && (which == 0 || which == 5) && insn->opcode != 0x80)
		set(way, to, plus(way->regs[to], which ? -insn->immediate : insn->immediate));
	else
		forget(way, to);
}

static void exchange(struct way *way, const struct sn_unwind_insn *insn, unsigned a, unsigned b)
{
	struct value kept = way->regs[a];

	set(way, a, insn->rex & 8 ? way->regs[b] : unknown);
	set(way, b, insn->rex & 8 ? kept : unknown);
}

/* Forgets what a function gives back. The other registers that it may change are not read after it,
 * unless both have a convention of their own: kernels keep their caller's stack pointer in rcx. */
static void after_call(struct way *way)
{
	forget(way, RAX);
	forget(way, RDX);
}

/* 00 to 3f: by the last three bits of the opcode. */
static void arithmetic(struct way *way, const struct sn_unwind_insn *insn)
{
	unsigned form = insn->opcode & 7;

	if (insn->opcode >= 0x38)
		return;
	if (form < 2 && insn->mod == 3)
		forget(way, form ? insn->rm : byte_reg(insn, insn->rm));
	else if (form == 2 || form == 3)
		forget(way, form == 3 ? insn->reg : byte_reg(insn, insn->reg));
	else if (form == 4 || form == 5)
		forget(way, RAX);
}

static void unary(struct way *way, const struct sn_unwind_insn *insn)
{
	unsigned which = insn->reg & 7;

	if (insn->opcode < 0xf8 && which >= 4) {
		forget(way, RAX);
		forget(way, RDX);
	} else if (insn->opcode >= 0xf8 ? which < 2 : which >= 2) {
		forget_rm(way, insn);
	}
	if (insn->opcode == 0xff && which == 6)
		push(way, unknown);
}

static void string_step(struct way *way)
{
	forget(way, RAX);
	forget(way, RCX);
	forget(way, RSI);
	forget(way, RDI);
}

/* One-byte opcodes. False: what it does to the stack is not known. */
static bool one_byte(struct way *way, const struct sn_unwind_insn *insn)
{
	uint8_t opcode = insn->opcode;
	unsigned low = (opcode & 7) | (insn->rex & 1) << 3;

	if (opcode < 0x40) {
		arithmetic(way, insn);
		return true;
	}
	if (opcode >= 0x50 && opcode < 0x60) {
		if (insn->prefix == 0x66)
			return false;
		if (opcode < 0x58)
			push(way, way->regs[low]);
		else
			set(way, low, pop(way));
		return true;
	}
	if (opcode >= 0x91 && opcode < 0x98) {
		exchange(way, insn, RAX, low);
		return true;
	}
	if (opcode >= 0xb0 && opcode < 0xc0) {
		forget(way, opcode < 0xb8 ? byte_reg(insn, low) : low);
		return true;
	}
	switch (opcode) {
	case 0x63:
	case 0x69:
	case 0x6b:
		forget(way, insn->reg);
		return true;
	case 0x68:
	case 0x6a:
	case 0x9c:
		push(way, unknown);
		return true;
	case 0x80:
	case 0x81:
	case 0x83:
		compute(way, insn);
		return true;
	case 0x86:
		forget_rm(way, insn);
		forget(way, byte_reg(insn, insn->reg));
		return true;
	case 0x87:
		if (insn->mod == 3)
			exchange(way, insn, insn->reg, insn->rm);
		else
			forget(way, insn->reg);
		return true;
	case 0x88:
		if (insn->mod == 3)
			forget(way, byte_reg(insn, insn->rm));
		return true;
	case 0x89:
	case 0x8b:
		move(way, insn, opcode == 0x89);
		return true;
	case 0x8a:
		forget(way, byte_reg(insn, insn->reg));
		return true;
	case 0x8d:
		set(way, insn->reg, insn->rex & 8 ? address(way, insn) : unknown);
		return true;
	case 0x8f:
	case 0x9d:
		pop(way);
		return true;
	case 0x98:
	case 0x99:
		forget(way, opcode == 0x98 ? RAX : RDX);
		return true;
	case 0xa4:
	case 0xa5:
	case 0xaa:
	case 0xab:
	case 0xac:
	case 0xad:
		string_step(way);
		return true;
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		forget_rm(way, insn);
		return true;
	case 0xc8:
		return false; /* enter */
	case 0xc9:
		set(way, RSP, way->regs[RBP]);
		set(way, RBP, pop(way));
		return true;
	case 0xe8:
		if (insn->immediate == 0) /* what is called is the next instruction: it pops */
			push(way, unknown);
		else
			after_call(way);
		return true;
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff:
		if (opcode == 0xff && sn_unwind_insn_flow(insn) == SN_UNWIND_FLOW_CALL)
			after_call(way);
		else
			unary(way, insn);
		return true;
	default:
		return true;
	}
}

static void two_bytes(struct way *way, const struct sn_unwind_insn *insn)
{
	uint8_t opcode = insn->opcode;

	if ((opcode >= 0x40 && opcode < 0x50) || opcode == 0x2c || opcode == 0x2d ||
	    opcode == 0x50 || opcode == 0xaf || (opcode >= 0xb6 && opcode <= 0xb8) ||
	    (opcode >= 0xbc && opcode <= 0xbf) || opcode == 0xc5 || opcode == 0xd7)
		forget(way, insn->reg);
	else if ((opcode & 0xf0) == 0x90)
		forget(way, insn->mod == 3 ? byte_reg(insn, insn->rm) : RAX);
	else if (opcode >= 0xc8 && opcode <= 0xcf)
		forget(way, (opcode & 7) | (insn->rex & 1) << 3);
	else if (opcode == 0xa4 || opcode == 0xa5 || (opcode >= 0xab && opcode <= 0xad) ||
		 opcode == 0xb3 || opcode == 0xbb || (opcode == 0xba && (insn->reg & 7) > 4) ||
		 opcode == 0xb0 || opcode == 0xb1 || (opcode == 0x7e && insn->prefix != 0xf3))
		forget_rm(way, insn);
	if (opcode == 0xc0 || opcode == 0xc1) {
		forget_rm(way, insn);
		forget(way, insn->reg);
	}
	if (opcode == 0xa2) /* cpuid */
		forget(way, 3);
	if (opcode == 0xa2 || opcode == 0x05)
		forget(way, RCX);
	if (opcode == 0xa2 || opcode == 0x05 || opcode == 0x31 || opcode == 0xb0 || opcode == 0xb1)
		after_call(way);
}

/* Few vector instructions write to general registers; which of blsr and its like is not said. */
static void vector(struct way *way, const struct sn_unwind_insn *insn)
{
	uint8_t opcode = insn->opcode;

	if (insn->vector_map == 1 && (opcode == 0x2c || opcode == 0x2d || opcode == 0x50 ||
				      opcode == 0x93 || opcode == 0xc5 || opcode == 0xd7))
		forget(way, insn->reg);
	if ((insn->vector_map == 2 && opcode >= 0xf2 && opcode <= 0xf7 && opcode != 0xf3) ||
	    (insn->vector_map == 3 && opcode == 0xf0))
		forget(way, insn->reg);
	if (insn->vector_map == 1 && opcode == 0x7e && insn->prefix != 0xf3)
		forget_rm(way, insn);
	if (insn->vector_map == 3 && opcode >= 0x14 && opcode <= 0x17)
		forget_rm(way, insn);
}

static bool apply(struct way *way, const struct sn_unwind_insn *insn)
{
	switch (insn->map) {
	case SN_UNWIND_MAP_ONE:
		return one_byte(way, insn);
	case SN_UNWIND_MAP_TWO:
		two_bytes(way, insn);
		return true;
	case SN_UNWIND_MAP_VECTOR:
		vector(way, insn);
		return true;
	default:
		/* crc32, movbe, adcx */
		if (insn->opcode == 0xf0 || insn->opcode == 0xf1 || insn->opcode == 0xf6)
			forget(way, insn->reg);
		if (insn->opcode >= 0x14 && insn->opcode <= 0x17)
			forget_rm(way, insn);
		return true;
	}
}

/* ---- ways ---- */

struct scan {
	const struct sn_unwind_module *module;
	struct sn_unwind_cache *cache;
	uint64_t pc;
	bool is_exact;
	uint32_t generation;
	uint32_t decisions; /* bit n: the n-th branch of a way is taken */
	unsigned left;	    /* instructions */
	bool is_known;	    /* `row` was found in the cache */
	struct sn_unwind_short_row *row;
};

static void way_begin(struct way *way, uint64_t pc)
{
	for (uint8_t reg = 0; reg < 16; reg++)
		way->regs[reg] = (struct value){ PLAIN, reg, 0, 0 };
	way->store_count = way->branch_count = way->exit_count = way->checkpoint_count = 0;
	way->is_changed = false;
	way->segment_count = 1;
	way->segments[0][0] = way->segments[0][1] = 0;
	way->pc = pc;
}

/* Goes on elsewhere; false if the way was there before. */
static bool turn(struct way *way, uint64_t target)
{
	int64_t at = (int64_t)(target - way->pc);

	if (at != (int32_t)at || way->segment_count == SEGMENTS_MAX)
		return false;
	for (unsigned i = 0; i < way->segment_count; i++)
		if (at >= way->segments[i][0] && at <= way->segments[i][1])
			return false;
	way->segments[way->segment_count][0] = way->segments[way->segment_count][1] = (int32_t)at;
	way->segment_count++;
	return true;
}

static unsigned exit_slot(unsigned count)
{
	return count < EXITS_HALF ? count : EXITS_HALF + count % EXITS_HALF;
}

static void exit_keep(struct way *way, uint64_t target)
{
	unsigned at = exit_slot(way->exit_count++);

	way->exits[at].target = (int32_t)(target - way->pc);
	way->exits[at].rsp_add = way->regs[RSP].add;
	way->exits[at].rsp_kind = way->regs[RSP].kind;
}

/* The way was here before: it leaves the loop by the last branch that leads elsewhere, with the
 * stack as it is now. 0: there is none. */
static uint64_t leave_loop(struct way *way)
{
	for (unsigned i = way->exit_count; i-- > 0;) {
		unsigned at = exit_slot(i);

		if (i >= EXITS_HALF && way->exit_count - i > EXITS_HALF)
			i = EXITS_HALF; /* what lay between is forgotten */
		else if (way->exits[at].rsp_kind == way->regs[RSP].kind &&
			 way->exits[at].rsp_add == way->regs[RSP].add &&
			 turn(way, way->pc + (uint64_t)way->exits[at].target))
			return way->pc + (uint64_t)way->exits[at].target;
	}
	return 0;
}

/* At the first instruction of each 256 bytes a row may stand already. True: it does. */
static bool checkpoint(struct scan *scan, struct way *way, uint64_t at)
{
	uint64_t key = sn_unwind_cache_key(at, !scan->is_exact);

	if (way->is_changed || !scan->cache)
		return false;
	if (sn_unwind_cache_get(scan->cache, key, scan->generation, scan->row) &&
	    scan->row->flags & SN_UNWIND_SHORT_SCANNED)
		return true;
	if (way->checkpoint_count < CHECKPOINTS_MAX)
		way->checkpoints[way->checkpoint_count++] = at;
	return false;
}

/* A jump through a register or memory after the frame was taken down calls the next function. */
static bool is_last_call(const struct way *way, const struct sn_unwind_insn *insn)
{
	return insn->opcode == 0xff && (way->regs[RSP].kind == LOADED ||
					(way->regs[RSP].kind == PLAIN && way->regs[RSP].add > 0));
}

/* Behind a call that is a function's end: what is called does not return. */
static bool is_padding(const struct sn_unwind_window *text, uint64_t at)
{
	const uint8_t *bytes;

	if (!sn_unwind_window_holds(text, at, 2))
		return true;
	bytes = sn_unwind_window_at(text, at);
	return bytes[0] == 0x90 || bytes[0] == 0xcc || (bytes[0] == 0x0f && bytes[1] == 0x1f) ||
	       (bytes[0] == 0x66 &&
		(bytes[1] == 0x90 || bytes[1] == 0x0f || bytes[1] == 0x2e || bytes[1] == 0x66));
}

/* Follows one way to a return. False: it does not lead to one. */
static bool follow(struct scan *scan, struct way *way)
{
	const struct sn_unwind_window *text = &scan->module->text;
	uint64_t at = scan->pc, block = at / CHECKPOINT_BYTES, target;
	struct sn_unwind_insn insn;

	way_begin(way, at);
	while (scan->left && sn_unwind_window_holds(text, at, 1)) {
		scan->left--;
		if (at / CHECKPOINT_BYTES != block && checkpoint(scan, way, at))
			return scan->is_known = true;
		block = at / CHECKPOINT_BYTES;
		if (!sn_unwind_insn_decode(sn_unwind_window_at(text, at), text->end - at, &insn))
			return false;
		way->segments[way->segment_count - 1][1] = (int32_t)(at - way->pc);
		at += insn.length;
		switch (sn_unwind_insn_flow(&insn)) {
		case SN_UNWIND_FLOW_RETURN:
			return true;
		case SN_UNWIND_FLOW_STOP:
			return is_last_call(way, &insn);
		case SN_UNWIND_FLOW_CALL:
			if (is_padding(text, at))
				return false;
			break;
		case SN_UNWIND_FLOW_BRANCH:
			target = at + (uint64_t)insn.immediate;
			if (way->branch_count < DECISIONS_MAX &&
			    scan->decisions >> way->branch_count++ & 1) {
				at = turn(way, target) ? target : 0;
				break;
			}
			exit_keep(way, target);
			break;
		case SN_UNWIND_FLOW_JUMP:
			at += (uint64_t)insn.immediate;
			if (!turn(way, at))
				at = leave_loop(way);
			break;
		default:
			break;
		}
		if (!apply(way, &insn))
			return false;
		if (at == scan->pc)
			at = leave_loop(way);
	}
	return false;
}

/* ---- the row ---- */

static const uint8_t dwarf_number[16] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };

static bool fits(int32_t bytes)
{
	return bytes % 8 == 0 && bytes / 8 == (int16_t)(bytes / 8);
}

/* Where a register's value was loaded from, by the CFA or by rbp; else it is not known. */
static void describe(const struct value *value, unsigned reg, const struct value *rsp, unsigned i,
		     struct sn_unwind_short_row *row)
{
	int32_t slot = 0;
	bool by_rbp = false, is_saved = false;

	if (value->kind == PLAIN && value->reg == reg && value->add == 0)
		return;
	if (value->kind == LOADED && value->add == 0 && rsp->kind == PLAIN &&
	    value->reg == rsp->reg) {
		slot = value->offset - (rsp->add + 8);
		is_saved = true;
	} else if (value->kind == DEEP && rsp->kind == LOADED && value->reg == rsp->reg &&
		   value->offset == rsp->offset) {
		slot = value->add - (rsp->add + 8);
		is_saved = true;
	} else if (value->kind == LOADED && value->add == 0 && value->reg == RBP) {
		slot = value->offset;
		by_rbp = is_saved = true;
	}
	is_saved = is_saved && fits(slot);
	row->slot[i] = (int16_t)(slot / 8);
	row->saved |= (uint8_t)((unsigned)is_saved << i);
	row->from_rbp |= (uint8_t)((unsigned)(by_rbp || !is_saved) << i);
}

static bool row_make(const struct scan *scan, const struct way *way)
{
	static const uint8_t kept[SN_UNWIND_SAVED_COUNT] = { 3, RBP, 12, 13, 14, 15 };
	const struct value *rsp = &way->regs[RSP];
	struct sn_unwind_short_row *row = scan->row;

	if (rsp->kind > LOADED)
		return false;
	for (unsigned i = 0; i < way->store_count; i++)
		if (is_same(&way->stores[i].at, rsp))
			return false; /* it returns to where it wants: a jump */
	row->cfa_reg = dwarf_number[rsp->reg];
	row->flags = SN_UNWIND_SHORT_SCANNED;
	row->saved = row->from_rbp = 0;
	if (rsp->kind == PLAIN) {
		row->cfa_offset = rsp->add + 8;
	} else {
		if (!fits(rsp->offset) || !fits(rsp->add + 8))
			return false;
		row->flags |= SN_UNWIND_SHORT_DEREF;
		row->cfa_offset =
			(int32_t)((uint32_t)(rsp->add + 8) / 8 << 16 | (uint16_t)(rsp->offset / 8));
	}
	for (unsigned i = 0; i < SN_UNWIND_SAVED_COUNT; i++) {
		row->slot[i] = 0;
		describe(&way->regs[kept[i]], kept[i], rsp, i, row);
	}
	return true;
}

/* Takes the last branch of the way that was not taken; false if there is none. */
static bool decide_anew(struct scan *scan, const struct way *way)
{
	for (unsigned i = way->branch_count; i-- > 0;)
		if (!(scan->decisions >> i & 1)) {
			scan->decisions |= UINT32_C(1) << i;
			scan->decisions &= (uint32_t)((UINT64_C(2) << i) - 1);
			return true;
		}
	return false;
}

bool sn_unwind_scan(const struct sn_unwind_module *module, uint64_t pc, bool is_exact,
		    uint32_t generation, struct sn_unwind_cache *cache,
		    struct sn_unwind_short_row *row)
{
	struct scan scan = { .module = module,
			     .cache = cache,
			     .pc = pc,
			     .is_exact = is_exact,
			     .generation = generation,
			     .left = SN_UNWIND_SCAN_MAX,
			     .row = row };
	struct way way;

	do {
		bool is_out = follow(&scan, &way);

		if (!is_out || (!scan.is_known && !row_make(&scan, &way)))
			continue;
		row->generation = generation;
		for (unsigned i = 0; cache && i < way.checkpoint_count; i++)
			sn_unwind_cache_put(
				cache, sn_unwind_cache_key(way.checkpoints[i], !is_exact), row);
		return true;
	} while (scan.left && decide_anew(&scan, &way));
	return false;
}
