/*
 * The walk: one step takes the registers of a frame and gives those of its caller. Steps try, in
 * this order, the cache of short rows, call-frame information, the code itself (scan.h), and
 * guesses (fallback.h).
 */
#include "unwind/unwind.h"

#include "unwind/cache.h"
#include "unwind/expression.h"
#include "unwind/fallback.h"
#include "unwind/row.h"
#include "unwind/scan.h"

static const uint8_t saved_reg[SN_UNWIND_SAVED_COUNT] = { SN_UNWIND_RBX, SN_UNWIND_RBP,
							  SN_UNWIND_R12, SN_UNWIND_R13,
							  SN_UNWIND_R14, SN_UNWIND_R15 };

struct sn_unwind_cache *sn_unwind_cache_place(void *memory, size_t bytes)
{
	struct sn_unwind_cache *cache = memory;
	unsigned bits = 0;

	if ((uintptr_t)memory % 64 || bytes < sizeof(*cache) + 2 * sizeof(cache->sets[0]))
		return NULL;
	while (bits < 31 && sizeof(*cache) + (sizeof(cache->sets[0]) << (bits + 1)) <= bytes)
		bits++;
	cache->shift = 64 - bits;
	return cache;
}

uint64_t sn_unwind_cache_hits(const struct sn_unwind_cache *cache)
{
	return cache->hits;
}

const struct sn_unwind_module *sn_unwind_find_module(const struct sn_unwind_target *target,
						     uint64_t load_addr)
{
	const struct sn_unwind_module *modules = target->modules;
	uint32_t low = 0, count = target->module_count;

	if (count == 0)
		return NULL;
	while (count > 1) {
		uint32_t half = count / 2;

		if (modules[low + half].load_start <= load_addr)
			low += half;
		count -= half;
	}
	if (load_addr < modules[low].load_start || load_addr >= modules[low].load_end)
		return NULL;
	return &modules[low];
}

static bool knows(const struct sn_unwind_regs *regs, unsigned reg)
{
	return regs->valid & (UINT32_C(1) << reg);
}

/**
 * Whether a register was saved there but is back already. In epilogues compilers let the rule stand
 * after the pop, since the word below the stack pointer still holds the value. A copied stack does
 * not reach down there, but the register itself has the value.
 */
static inline bool is_popped(uint64_t slot, uint64_t rsp)
{
	return slot < rsp && rsp - slot <= 128;
}

/** By words: a struct assignment of this size may become a call to memcpy. */
static void copy_regs(struct sn_unwind_regs *to, const struct sn_unwind_regs *from)
{
	for (unsigned i = 0; i < SN_UNWIND_REG_COUNT; i++)
		to->value[i] = from->value[i];
	to->valid = from->valid;
}

/* ---- a full row, applied to registers ---- */

static enum sn_unwind_end full_cfa(const struct sn_unwind_target *target,
				   const struct sn_unwind_module *module,
				   const struct sn_unwind_row *row,
				   const struct sn_unwind_regs *regs, uint64_t *cfa)
{
	switch (row->cfa.kind) {
	case SN_UNWIND_RULE_AT_CFA:
		if (!knows(regs, row->cfa.reg))
			return SN_UNWIND_UNREADABLE;
		*cfa = regs->value[row->cfa.reg] + (uint64_t)(int64_t)row->cfa.value;
		return SN_UNWIND_GOES_ON;
	case SN_UNWIND_RULE_IS_RESULT:
		return sn_unwind_expression_run(target, module, &row->cfa, regs, NULL, cfa);
	default:
		return SN_UNWIND_BAD_CFI;
	}
}

/** The caller's value of one register; *is_known says whether the rule gives one at all. */
static enum sn_unwind_end full_register(const struct sn_unwind_target *target,
					const struct sn_unwind_module *module,
					const struct sn_unwind_rule *rule, unsigned reg,
					const struct sn_unwind_regs *regs, uint64_t cfa,
					uint64_t *value, bool *is_known)
{
	enum sn_unwind_end end = SN_UNWIND_GOES_ON;
	uint64_t addr = cfa + (uint64_t)(int64_t)rule->value;

	*is_known = true;
	switch (rule->kind) {
	case SN_UNWIND_RULE_UNSPECIFIED:
	case SN_UNWIND_RULE_SAME:
		*value = regs->value[reg];
		*is_known = knows(regs, reg);
		return SN_UNWIND_GOES_ON;
	case SN_UNWIND_RULE_REGISTER:
		if (rule->value < 0 || rule->value >= SN_UNWIND_REG_COUNT)
			return SN_UNWIND_BAD_CFI;
		*value = regs->value[rule->value];
		*is_known = knows(regs, (unsigned)rule->value);
		return SN_UNWIND_GOES_ON;
	case SN_UNWIND_RULE_IS_CFA:
		*value = addr;
		return SN_UNWIND_GOES_ON;
	case SN_UNWIND_RULE_AT_RESULT:
	case SN_UNWIND_RULE_IS_RESULT:
		end = sn_unwind_expression_run(target, module, rule, regs, &cfa, &addr);
		*value = addr;
		if (end != SN_UNWIND_GOES_ON || rule->kind == SN_UNWIND_RULE_IS_RESULT)
			return end;
		break;
	case SN_UNWIND_RULE_AT_CFA:
		break;
	default:
		*is_known = false;
		return SN_UNWIND_GOES_ON;
	}
	*is_known = sn_unwind_stack_read(target, addr, value);
	if (!*is_known && is_popped(addr, regs->value[SN_UNWIND_RSP])) {
		*value = regs->value[reg];
		*is_known = knows(regs, reg);
	}
	return SN_UNWIND_GOES_ON;
}

/** Whether the caller's frame can lie there: further out, or on another of the stacks. A return
 *  address in a register (the last instructions of longjmp) may leave the stack as it is. */
static enum sn_unwind_end check_progress(const struct sn_unwind_target *target, uint64_t old_rsp,
					 uint64_t new_rsp, bool may_stay, uint8_t *flags)
{
	for (uint32_t i = 0; i < target->stack_count; i++) {
		const struct sn_unwind_window *stack = &target->stacks[i];

		/* The CFA of an outermost frame may be the very end of its stack. */
		if (new_rsp - stack->start > stack->end - stack->start)
			continue;
		if (old_rsp - stack->start > stack->end - stack->start) {
			*flags |= SN_UNWIND_SWITCHED_STACK;
			return SN_UNWIND_GOES_ON;
		}
		if (new_rsp > old_rsp || (may_stay && new_rsp == old_rsp))
			return SN_UNWIND_GOES_ON;
		return SN_UNWIND_BAD_CFI;
	}
	return SN_UNWIND_STACK_RANGE;
}

static enum sn_unwind_end apply_full(const struct sn_unwind_target *target,
				     const struct sn_unwind_module *module,
				     const struct sn_unwind_row *row, bool is_signal_frame,
				     struct sn_unwind_frame *frame)
{
	struct sn_unwind_regs next;
	uint8_t flags = frame->flags, rip_kind = row->regs[SN_UNWIND_RIP].kind;
	enum sn_unwind_end end;
	uint64_t cfa = 0;

	if (rip_kind == SN_UNWIND_RULE_UNDEFINED)
		return SN_UNWIND_COMPLETE;
	if (rip_kind == SN_UNWIND_RULE_UNSPECIFIED || rip_kind == SN_UNWIND_RULE_SAME)
		return SN_UNWIND_BAD_CFI; /* its own caller, for ever */
	end = full_cfa(target, module, row, &frame->regs, &cfa);
	if (end != SN_UNWIND_GOES_ON)
		return end;
	next.valid = 0;
	for (unsigned reg = 0; reg < SN_UNWIND_REG_COUNT; reg++) {
		bool is_known;

		next.value[reg] = 0;
		end = full_register(target, module, &row->regs[reg], reg, &frame->regs, cfa,
				    &next.value[reg], &is_known);
		if (end != SN_UNWIND_GOES_ON)
			return end;
		next.valid |= (uint32_t)is_known << reg;
	}
	/* Without a rule of its own, the caller's stack pointer is the CFA (by definition). */
	if (row->regs[SN_UNWIND_RSP].kind == SN_UNWIND_RULE_UNSPECIFIED) {
		next.value[SN_UNWIND_RSP] = cfa;
		next.valid |= UINT32_C(1) << SN_UNWIND_RSP;
	}
	if (!knows(&next, SN_UNWIND_RIP) || !knows(&next, SN_UNWIND_RSP))
		return SN_UNWIND_STACK_RANGE;
	end = check_progress(target, frame->regs.value[SN_UNWIND_RSP], next.value[SN_UNWIND_RSP],
			     rip_kind == SN_UNWIND_RULE_REGISTER, &flags);
	/* A handler on the very stack that it interrupted lies further in; one that runs on an
	 * alternate stack may have interrupted any stack, also one that we may not read. */
	if (end != SN_UNWIND_GOES_ON && !is_signal_frame)
		return end;
	copy_regs(&frame->regs, &next);
	frame->is_exact = is_signal_frame;
	frame->flags = flags | (is_signal_frame ? SN_UNWIND_CROSSED_SIGNAL : 0);
	return SN_UNWIND_GOES_ON;
}

/* ---- a short row ---- */

/** As sn_unwind_stack_read, with no call for the innermost stack, where nearly all frames lie. */
static inline bool read_near(const struct sn_unwind_target *target, uint64_t load_addr,
			     uint64_t *value)
{
	const struct sn_unwind_window *stack = target->stacks;

	if (!target->stack_count || !sn_unwind_window_holds(stack, load_addr, 8))
		return sn_unwind_stack_read(target, load_addr, value);
	*value = sn_unwind_load_word(sn_unwind_window_at(stack, load_addr));
	return true;
}

/**
 * The two expressions of real code that are after all a register plus a constant, or the word
 * there. One is `breg off; deref` of functions that realign their stack. The other is that of
 * linkers' PLT entries, whose CFA depends on the low bits of a pc that is known here.
 */
static bool shorten_cfa(const struct sn_unwind_module *module, const struct sn_unwind_row *row,
			uint64_t pc, bool is_exact, struct sn_unwind_short_row *out)
{
	static const uint8_t plt[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22 };
	struct sn_unwind_bytes cur;
	const uint8_t *begin;
	uint64_t length = row->cfa.length;
	int64_t offset;

	if (row->cfa.kind == SN_UNWIND_RULE_AT_CFA) {
		out->cfa_reg = row->cfa.reg;
		out->cfa_offset = row->cfa.value;
		return true;
	}
	if (row->cfa.kind != SN_UNWIND_RULE_IS_RESULT)
		return false;
	cur = sn_unwind_bytes_at(&module->eh_frame,
				 module->eh_frame.start + (uint32_t)row->cfa.value);
	begin = sn_unwind_bytes_skip(&cur, length);
	if (!begin || length < 3)
		return false;
	if (length == sizeof(plt) && is_exact) {
		unsigned same = 0;

		while (same < sizeof(plt) && (begin[same] == plt[same] || same == 6))
			same++;
		if (same == sizeof(plt) && begin[6] >= 0x30 && begin[6] <= 0x3f) {
			out->cfa_reg = SN_UNWIND_RSP;
			out->cfa_offset = (pc & 15) >= begin[6] - 0x30u ? 16 : 8;
			return true;
		}
	}
	if (begin[0] < 0x70 || begin[0] > 0x7f || begin[length - 1] != 0x06)
		return false;
	cur = (struct sn_unwind_bytes){ begin + 1, begin + length - 1, false };
	offset = sn_unwind_bytes_sleb(&cur);
	if (cur.failed || cur.next != cur.end || offset != (int32_t)offset)
		return false;
	out->cfa_reg = begin[0] - 0x70;
	out->cfa_offset = (int32_t)offset;
	out->flags |= SN_UNWIND_SHORT_DEREF;
	return true;
}

/** A rule of one of the six registers, as a slot from the CFA or, as realigned frames say it in an
 *  expression, from rbp. */
static bool shorten_saved(const struct sn_unwind_module *module, const struct sn_unwind_rule *rule,
			  unsigned i, struct sn_unwind_short_row *out)
{
	struct sn_unwind_bytes cur;
	const uint8_t *begin;
	int64_t offset = rule->value;

	if (rule->kind == SN_UNWIND_RULE_UNSPECIFIED || rule->kind == SN_UNWIND_RULE_SAME)
		return true;
	if (rule->kind == SN_UNWIND_RULE_AT_RESULT) {
		cur = sn_unwind_bytes_at(&module->eh_frame,
					 module->eh_frame.start + (uint32_t)rule->value);
		begin = sn_unwind_bytes_skip(&cur, rule->length);
		if (!begin || rule->length < 2 || *begin != 0x70 + SN_UNWIND_RBP)
			return false;
		cur = (struct sn_unwind_bytes){ begin + 1, begin + rule->length, false };
		offset = sn_unwind_bytes_sleb(&cur);
		if (cur.failed || cur.next != cur.end)
			return false;
		out->from_rbp |= (uint8_t)(1u << i);
	} else if (rule->kind != SN_UNWIND_RULE_AT_CFA) {
		return false;
	}
	if (offset % 8 || offset / 8 != (int16_t)(offset / 8))
		return false;
	out->slot[i] = (int16_t)(offset / 8);
	out->saved |= (uint8_t)(1u << i);
	return true;
}

/** Puts a row in short form; false if it has none. */
static bool shorten(const struct sn_unwind_module *module, const struct sn_unwind_row *row,
		    uint64_t pc, bool is_exact, struct sn_unwind_short_row *out)
{
	const struct sn_unwind_rule *rip = &row->regs[SN_UNWIND_RIP];

	if (rip->kind == SN_UNWIND_RULE_UNDEFINED) {
		out->flags |= SN_UNWIND_SHORT_OUTERMOST;
		return true;
	}
	if (rip->kind != SN_UNWIND_RULE_AT_CFA || rip->value != -8 ||
	    !shorten_cfa(module, row, pc, is_exact, out))
		return false;
	for (unsigned i = 0; i < SN_UNWIND_SAVED_COUNT; i++)
		if (!shorten_saved(module, &row->regs[saved_reg[i]], i, out))
			return false;
	for (unsigned reg = 0; reg < SN_UNWIND_RIP; reg++) {
		bool is_saved =
			reg == SN_UNWIND_RBX || reg == SN_UNWIND_RBP || reg >= SN_UNWIND_R12;

		if (!is_saved && row->regs[reg].kind != SN_UNWIND_RULE_UNSPECIFIED &&
		    row->regs[reg].kind != SN_UNWIND_RULE_SAME)
			return false;
	}
	return true;
}

/** The common case of check_progress, decided without a call. */
static inline bool is_outwards(const struct sn_unwind_target *target, uint64_t old_rsp,
			       uint64_t new_rsp)
{
	uint64_t size = target->stacks->end - target->stacks->start;

	return new_rsp > old_rsp && old_rsp - target->stacks->start <= size &&
	       new_rsp - target->stacks->start <= size;
}

static inline bool cfa_of(const struct sn_unwind_target *target,
			  const struct sn_unwind_short_row *row, const uint64_t *value,
			  uint64_t *cfa)
{
	if ((row->flags & (SN_UNWIND_SHORT_DEREF | SN_UNWIND_SHORT_SCANNED)) ==
	    (SN_UNWIND_SHORT_DEREF | SN_UNWIND_SHORT_SCANNED)) {
		int64_t offset = (int16_t)row->cfa_offset * 8, add = (row->cfa_offset >> 16) * 8;

		if (!read_near(target, value[row->cfa_reg] + (uint64_t)offset, cfa))
			return false;
		*cfa += (uint64_t)add;
		return true;
	}
	*cfa = value[row->cfa_reg] + (uint64_t)(int64_t)row->cfa_offset;
	return !(row->flags & SN_UNWIND_SHORT_DEREF) || read_near(target, *cfa, cfa);
}

static inline enum sn_unwind_end apply_short(const struct sn_unwind_target *target,
					     const struct sn_unwind_short_row *row,
					     struct sn_unwind_frame *frame)
{
	uint64_t *value = frame->regs.value, old_rbp = value[SN_UNWIND_RBP];
	uint64_t cfa, rip, base, slot, word;
	enum sn_unwind_end end;

	if (!knows(&frame->regs, row->cfa_reg))
		return SN_UNWIND_UNREADABLE;
	if (!cfa_of(target, row, value, &cfa))
		return SN_UNWIND_STACK_RANGE;
	if (!read_near(target, cfa - 8, &rip))
		return SN_UNWIND_STACK_RANGE;
	if (!is_outwards(target, value[SN_UNWIND_RSP], cfa)) {
		end = check_progress(target, value[SN_UNWIND_RSP], cfa, false, &frame->flags);
		if (end != SN_UNWIND_GOES_ON)
			return end;
	}
	for (unsigned mask = row->saved; mask; mask &= mask - 1) {
		unsigned i = (unsigned)__builtin_ctz(mask);
		uint32_t bit = UINT32_C(1) << saved_reg[i];

		base = row->from_rbp >> i & 1 ? old_rbp : cfa;
		slot = base + (uint64_t)((int64_t)row->slot[i] * 8);
		if (read_near(target, slot, &word)) {
			value[saved_reg[i]] = word;
			frame->regs.valid |= bit;
		} else if (!is_popped(slot, value[SN_UNWIND_RSP])) {
			frame->regs.valid &= ~bit;
		}
	}
	value[SN_UNWIND_RSP] = cfa;
	value[SN_UNWIND_RIP] = rip;
	frame->is_exact = false;
	return SN_UNWIND_GOES_ON;
}

/** Behind a call only registers that survive it, or any if what was called is a kernel as well. */
static bool may_hold_cfa(const struct sn_unwind_frame *frame, unsigned reg)
{
	bool survives = reg == SN_UNWIND_RBX || reg == SN_UNWIND_RBP || reg == SN_UNWIND_RSP ||
			reg >= SN_UNWIND_R12;

	return knows(&frame->regs, reg) &&
	       (frame->is_exact || survives || frame->flags & SN_UNWIND_BY_SCAN);
}

/** Whether a frame that was read from code is the deepest: its caller's rbp is zero, and what it
 * returns to lies in an image, but behind no call. */
static bool is_deepest(const struct sn_unwind_target *target, const struct sn_unwind_short_row *row,
		       const struct sn_unwind_frame *frame, uint64_t cfa, uint64_t rip)
{
	const unsigned bit = 1u << 1; /* rbp is the second of the six */
	uint64_t rbp = frame->regs.value[SN_UNWIND_RBP];
	uint64_t slot = (row->from_rbp & bit ? rbp : cfa) + (uint64_t)((int64_t)row->slot[1] * 8);

	if (row->saved & bit)
		return read_near(target, slot, &rbp) && !rbp && sn_unwind_find_module(target, rip);
	return !(row->from_rbp & bit) && !rbp && knows(&frame->regs, SN_UNWIND_RBP) &&
	       sn_unwind_find_module(target, rip);
}

/** What the code says is believed if a call stands before the return address; else guesses are. */
static enum sn_unwind_end apply_scanned(const struct sn_unwind_target *target,
					const struct sn_unwind_module *module,
					const struct sn_unwind_short_row *row,
					struct sn_unwind_frame *frame)
{
	const uint64_t *value = frame->regs.value;
	uint64_t cfa, rip;

	if (!may_hold_cfa(frame, row->cfa_reg) || !cfa_of(target, row, value, &cfa) ||
	    !read_near(target, cfa - 8, &rip) || !rip)
		return sn_unwind_fall_back(target, module, frame);
	if (!sn_unwind_may_return_to(target, rip))
		return is_deepest(target, row, frame, cfa, rip)
			       ? SN_UNWIND_COMPLETE
			       : sn_unwind_fall_back(target, module, frame);
	if (apply_short(target, row, frame) == SN_UNWIND_GOES_ON) {
		for (unsigned i = 0; i < SN_UNWIND_SAVED_COUNT; i++)
			if (row->from_rbp & ~row->saved & 1u << i)
				frame->regs.valid &= ~(UINT32_C(1) << saved_reg[i]);
		frame->flags |= SN_UNWIND_BY_SCAN;
		return SN_UNWIND_GOES_ON;
	}
	return sn_unwind_fall_back(target, module, frame);
}

/* ---- one step ---- */

/** Finds and runs the rules of a pc that the cache does not hold, and keeps them if they are short.
 */
static enum sn_unwind_end step_cold(const struct sn_unwind_target *target,
				    struct sn_unwind_cache *cache, struct sn_unwind_frame *frame)
{
	uint64_t pc = frame->regs.value[SN_UNWIND_RIP], lookup = pc - !frame->is_exact;
	const struct sn_unwind_module *module = sn_unwind_find_module(target, lookup);
	uint64_t key = sn_unwind_cache_key(pc, !frame->is_exact);
	struct sn_unwind_short_row brief;
	struct sn_unwind_row row;
	struct sn_unwind_fde fde;
	enum sn_unwind_found found =
		module ? sn_unwind_fde_find(module, lookup, &fde) : SN_UNWIND_NOT_FOUND;

	brief.generation = target->generation;
	brief.cfa_offset = 0;
	brief.cfa_reg = brief.flags = brief.saved = brief.from_rbp = 0;
	for (unsigned i = 0; i < SN_UNWIND_SAVED_COUNT; i++)
		brief.slot[i] = 0;
	if (found == SN_UNWIND_CORRUPT)
		return SN_UNWIND_BAD_CFI;
	if (!frame->is_exact && (found == SN_UNWIND_NOT_FOUND || fde.end_load_addr == pc) &&
	    sn_unwind_is_planted(target, module, pc)) {
		brief.flags = SN_UNWIND_SHORT_OUTERMOST;
		if (cache)
			sn_unwind_cache_put(cache, key, &brief);
		return SN_UNWIND_COMPLETE;
	}
	if (found == SN_UNWIND_NOT_FOUND && module && !sn_unwind_is_known_end(module, pc) &&
	    sn_unwind_scan(module, pc, frame->is_exact, target->generation, cache, &brief)) {
		if (cache)
			sn_unwind_cache_put(cache, key, &brief);
		return apply_scanned(target, module, &brief, frame);
	}
	if (found == SN_UNWIND_NOT_FOUND) {
		brief.flags = SN_UNWIND_SHORT_NO_RULE;
		if (cache)
			sn_unwind_cache_put(cache, key, &brief);
		return sn_unwind_fall_back(target, module, frame);
	}
	if (!sn_unwind_row_of(module, &fde, lookup, &row))
		return SN_UNWIND_BAD_CFI;
	if (frame->is_exact && sn_unwind_step_undescribed(target, module, &fde, frame))
		return SN_UNWIND_GOES_ON;
	if (fde.is_signal_frame || !shorten(module, &row, pc, frame->is_exact, &brief))
		return apply_full(target, module, &row, fde.is_signal_frame, frame);
	if (cache)
		sn_unwind_cache_put(cache, key, &brief);
	if (brief.flags & SN_UNWIND_SHORT_OUTERMOST)
		return SN_UNWIND_COMPLETE;
	return apply_short(target, &brief, frame);
}

static inline enum sn_unwind_end step(const struct sn_unwind_target *target,
				      struct sn_unwind_cache *cache, struct sn_unwind_frame *frame)
{
	uint64_t pc = frame->regs.value[SN_UNWIND_RIP];
	uint64_t key = sn_unwind_cache_key(pc, !frame->is_exact);
	struct sn_unwind_short_row row;

	if (!cache || !sn_unwind_cache_get(cache, key, target->generation, &row))
		return step_cold(target, cache, frame);
	/* the copy is by words: NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	if (row.flags & SN_UNWIND_SHORT_OUTERMOST)
		return SN_UNWIND_COMPLETE;
	if (row.flags & SN_UNWIND_SHORT_NO_RULE)
		return sn_unwind_fall_back(
			target, sn_unwind_find_module(target, pc - !frame->is_exact), frame);
	if (row.flags & SN_UNWIND_SHORT_SCANNED)
		return apply_scanned(target, sn_unwind_find_module(target, pc - !frame->is_exact),
				     &row, frame);
	return apply_short(target, &row, frame);
}

enum sn_unwind_end sn_unwind_step(const struct sn_unwind_target *target,
				  struct sn_unwind_cache *cache, struct sn_unwind_frame *frame)
{
	return step(target, cache, frame);
}

static inline void translate(const struct sn_unwind_target *target, struct sn_unwind_frame *frame)
{
	uint64_t pc = frame->regs.value[SN_UNWIND_RIP];

	if (!target->translate ||
	    pc - target->copies_start >= target->copies_end - target->copies_start)
		return;
	target->translate(&frame->regs);
	frame->is_exact |= frame->regs.value[SN_UNWIND_RIP] != pc;
}

uint32_t sn_unwind_walk(const struct sn_unwind_target *target, struct sn_unwind_regs *regs,
			struct sn_unwind_cache *cache, uint64_t *pcs, uint32_t max,
			struct sn_unwind_walk_result *result)
{
	struct sn_unwind_frame frame;
	enum sn_unwind_end end = max ? SN_UNWIND_GOES_ON : SN_UNWIND_TOO_DEEP;
	const uint8_t guesses =
		SN_UNWIND_BY_FRAME_POINTER | SN_UNWIND_BY_RETURN_GUESS | SN_UNWIND_BY_SCAN;
	uint32_t count = 0;

	copy_regs(&frame.regs, regs);
	frame.is_exact = true;
	frame.flags = 0;
	result->first_guessed = UINT32_MAX;
	if (max)
		pcs[count++] = frame.regs.value[SN_UNWIND_RIP];
	while (end == SN_UNWIND_GOES_ON) {
		bool was_exact = frame.is_exact;

		end = step(target, cache, &frame);
		if (end != SN_UNWIND_GOES_ON)
			break;
		/* Threads and coroutines that were started by hand often end in a zero. */
		if (frame.regs.value[SN_UNWIND_RIP] == 0) {
			end = SN_UNWIND_COMPLETE;
			break;
		}
		if (count == max) {
			end = SN_UNWIND_TOO_DEEP;
			break;
		}
		/* The trampoline's address was planted, not called from: name its first byte's
		 * insides. */
		if (frame.is_exact && count > 1)
			pcs[count - 1] += !was_exact;
		translate(target, &frame);
		if (result->first_guessed == UINT32_MAX && (frame.flags & guesses))
			result->first_guessed = count;
		pcs[count++] = frame.regs.value[SN_UNWIND_RIP] + frame.is_exact;
	}
	copy_regs(regs, &frame.regs);
	result->count = count;
	if (result->first_guessed == UINT32_MAX)
		result->first_guessed = count;
	result->end = (uint8_t)end;
	result->flags = frame.flags;
	return count;
}
