/*
 * What to do at a pc that no call-frame information describes. Several ways are tried, from sure
 * to doubtful: the kernel's signal frame, a function that has no frame yet, frame pointers. A
 * return address is believed only if a call stands before it.
 */
#include "unwind/fallback.h"

#include "unwind/expression.h"

/** How far from an image's entry point its start-up code may lie: some 40 bytes everywhere. */
#define ENTRY_BYTES 128

/** Whether the bytes at `load_addr` are these; false if they cannot be read. */
static bool text_is(const struct sn_unwind_module *module, uint64_t load_addr,
		    const uint8_t *wanted, unsigned count)
{
	const uint8_t *at;

	if (!module || !sn_unwind_window_holds(&module->text, load_addr, count))
		return false;
	at = sn_unwind_window_at(&module->text, load_addr);
	for (unsigned i = 0; i < count; i++)
		if (at[i] != wanted[i])
			return false;
	return true;
}

/** Bytes of `call *operand` from the opcode ff on, by its ModRM and SIB bytes; 0 if it is none. */
static unsigned indirect_call_length(const uint8_t *at, unsigned available)
{
	unsigned mod, rm, length = 2;

	if (available < 2 || at[0] != 0xff || (at[1] & 0x38) != 0x10)
		return 0;
	mod = at[1] >> 6;
	rm = at[1] & 7;
	if (mod == 3)
		return 2;
	if (rm == 4) {
		if (available < 3)
			return 0;
		length = 3;
		if (mod == 0 && (at[2] & 7) == 5)
			return length + 4;
	}
	if (mod == 1)
		return length + 1;
	if (mod == 2 || (mod == 0 && rm == 5))
		return length + 4;
	return length;
}

enum plausibility {
	IMPOSSIBLE,
	UNKNOWN, /* outside all images, so perhaps just-in-time code; or not readable */
	AFTER_INDIRECT_CALL,
	AFTER_DIRECT_CALL,
};

/** What stands before an address that may be a return address; *callee is set for a direct call. */
static enum plausibility judge_return(const struct sn_unwind_target *target, uint64_t load_addr,
				      uint64_t *callee)
{
	const struct sn_unwind_module *module = sn_unwind_find_module(target, load_addr);
	const uint8_t *at;
	int32_t distance;

	if (load_addr < 4096 || load_addr >> 47)
		return IMPOSSIBLE;
	for (uint32_t i = 0; i < target->stack_count; i++)
		if (sn_unwind_window_holds(&target->stacks[i], load_addr, 0))
			return IMPOSSIBLE;
	if (!module || module->text.start == module->text.end)
		return UNKNOWN;
	if (!sn_unwind_window_holds(&module->text, load_addr - 8, 8))
		return IMPOSSIBLE;
	at = sn_unwind_window_at(&module->text, load_addr - 8);
	if (at[3] == 0xe8) {
		__builtin_memcpy(&distance, at + 4, 4);
		*callee = load_addr + (uint64_t)(int64_t)distance;
		if (sn_unwind_find_module(target, *callee))
			return AFTER_DIRECT_CALL;
	}
	for (unsigned length = 2; length <= 7; length++)
		if (indirect_call_length(at + 8 - length, length) == length)
			return AFTER_INDIRECT_CALL;
	return IMPOSSIBLE;
}

/** The interrupted registers of a kernel signal frame: rsp points at its ucontext. */
static enum sn_unwind_end step_signal_frame(const struct sn_unwind_target *target,
					    struct sn_unwind_frame *frame)
{
	int64_t gregs[SN_UNWIND_REG_COUNT];
	uint64_t at = frame->regs.value[SN_UNWIND_RSP] + 40; /* uc_flags, uc_link, uc_stack */

	for (unsigned i = 0; i < SN_UNWIND_REG_COUNT; i++) {
		uint64_t word;

		if (!sn_unwind_stack_read(target, at + 8 * i, &word))
			return SN_UNWIND_STACK_RANGE;
		gregs[i] = (int64_t)word;
	}
	sn_unwind_regs_from_gregs(&frame->regs, gregs);
	frame->is_exact = true;
	frame->flags |= SN_UNWIND_CROSSED_SIGNAL;
	return SN_UNWIND_GOES_ON;
}

/** Takes the word at `slot` for the return address of a frame that saved nothing else below it. */
static enum sn_unwind_end step_by_return(const struct sn_unwind_target *target, uint64_t slot,
					 struct sn_unwind_frame *frame)
{
	uint64_t rip;

	if (!sn_unwind_stack_read(target, slot, &rip))
		return SN_UNWIND_STACK_RANGE;
	frame->regs.value[SN_UNWIND_RIP] = rip;
	frame->regs.value[SN_UNWIND_RSP] = slot + 8;
	frame->is_exact = false;
	frame->flags |= SN_UNWIND_BY_RETURN_GUESS;
	return SN_UNWIND_GOES_ON;
}

/** Where the return address stands if pc is where a function has no frame yet, or no more; else 0.
 */
static uint64_t bare_return_slot(const struct sn_unwind_module *module,
				 const struct sn_unwind_regs *regs)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t push_rbp_mov[] = { 0x55, 0x48, 0x89, 0xe5 };
	static const uint8_t ret[] = { 0xc3 }, ret_pop[] = { 0xc2 }, rep_ret[] = { 0xf3, 0xc3 };
	uint64_t pc = regs->value[SN_UNWIND_RIP], rsp = regs->value[SN_UNWIND_RSP];

	if (text_is(module, pc, endbr64, 4) || text_is(module, pc, push_rbp_mov, 4) ||
	    text_is(module, pc, ret, 1) || text_is(module, pc, ret_pop, 1) ||
	    text_is(module, pc, rep_ret, 2))
		return rsp;
	if (text_is(module, pc - 1, push_rbp_mov, 4))
		return rsp + 8;
	return 0;
}

static enum plausibility judge_slot(const struct sn_unwind_target *target, uint64_t slot,
				    uint64_t *callee)
{
	uint64_t word;

	if (!sn_unwind_stack_read(target, slot, &word))
		return IMPOSSIBLE;
	return judge_return(target, word, callee);
}

/**
 * By the ABI the deepest frame is marked by a zero in rbp (AMD64 supplement, 3.4.1): what was
 * reached by frame pointers ends there. A return address that follows no call was planted by who
 * made the stack, as Go's runtime does for each goroutine.
 */
static enum sn_unwind_end step_by_frame_pointer(const struct sn_unwind_target *target,
						struct sn_unwind_frame *frame)
{
	uint64_t *value = frame->regs.value;
	uint64_t rbp = value[SN_UNWIND_RBP], caller_rbp, rip, callee;

	if (!(frame->regs.valid & (UINT32_C(1) << SN_UNWIND_RBP)))
		return SN_UNWIND_NO_RULE;
	if (rbp == 0 && !frame->is_exact &&
	    (frame->flags & (SN_UNWIND_BY_FRAME_POINTER | SN_UNWIND_BY_SCAN)))
		return SN_UNWIND_COMPLETE;
	if (rbp % 8 || rbp < value[SN_UNWIND_RSP] ||
	    !sn_unwind_stack_read(target, rbp, &caller_rbp) ||
	    !sn_unwind_stack_read(target, rbp + 8, &rip))
		return SN_UNWIND_NO_RULE;
	if (judge_return(target, rip, &callee) == IMPOSSIBLE)
		return caller_rbp == 0 && sn_unwind_find_module(target, rip) ? SN_UNWIND_COMPLETE
									     : SN_UNWIND_NO_RULE;
	value[SN_UNWIND_RBP] = caller_rbp;
	value[SN_UNWIND_RSP] = rbp + 16;
	value[SN_UNWIND_RIP] = rip;
	/* The other saved registers may have been used by this code, which does not say where. */
	frame->regs.valid = UINT32_C(1) << SN_UNWIND_RBP | UINT32_C(1) << SN_UNWIND_RSP |
			    UINT32_C(1) << SN_UNWIND_RIP;
	frame->is_exact = false;
	frame->flags |= SN_UNWIND_BY_FRAME_POINTER;
	return SN_UNWIND_GOES_ON;
}

static bool is_signal_trampoline(const struct sn_unwind_module *module, uint64_t pc)
{
	static const uint8_t glibc[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t musl[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };

	return text_is(module, pc, glibc, sizeof(glibc)) || text_is(module, pc, musl, sizeof(musl));
}

static bool is_entry(const struct sn_unwind_module *module, uint64_t pc)
{
	return module && module->entry_load_addr && pc - module->entry_load_addr < ENTRY_BYTES;
}

bool sn_unwind_is_known_end(const struct sn_unwind_module *module, uint64_t pc)
{
	return is_entry(module, pc) || is_signal_trampoline(module, pc);
}

bool sn_unwind_may_return_to(const struct sn_unwind_target *target, uint64_t load_addr)
{
	uint64_t callee;

	return judge_return(target, load_addr, &callee) != IMPOSSIBLE;
}

enum sn_unwind_end sn_unwind_fall_back(const struct sn_unwind_target *target,
				       const struct sn_unwind_module *module,
				       struct sn_unwind_frame *frame)
{
	uint64_t pc = frame->regs.value[SN_UNWIND_RIP], rsp = frame->regs.value[SN_UNWIND_RSP];
	uint64_t slot = 0, callee = 0;
	enum sn_unwind_end end;
	enum plausibility top;

	if (is_signal_trampoline(module, pc))
		return step_signal_frame(target, frame);
	if (is_entry(module, pc))
		return SN_UNWIND_COMPLETE;
	if (frame->is_exact)
		slot = bare_return_slot(module, &frame->regs);
	if (slot && judge_slot(target, slot, &callee) >= AFTER_INDIRECT_CALL)
		return step_by_return(target, slot, frame);
	top = frame->is_exact ? judge_slot(target, rsp, &callee) : IMPOSSIBLE;
	/* A direct call to a little before this pc: no frame was made since. */
	if (top == AFTER_DIRECT_CALL && pc - callee < 4096)
		return step_by_return(target, rsp, frame);
	end = step_by_frame_pointer(target, frame);
	return end != SN_UNWIND_GOES_ON && top >= AFTER_INDIRECT_CALL
		       ? step_by_return(target, rsp, frame)
		       : end;
}

#define PUSHES_MAX 8

/** The registers pushed by the first instructions of a function, up to `pc`. */
static unsigned leading_pushes(const struct sn_unwind_module *module, uint64_t start, uint64_t pc,
			       uint8_t *pushed)
{
	/* Numbers of instructions' registers 0 to 7 as DWARF counts them. */
	static const uint8_t number[] = { 0, 2, 1, 3, 7, 6, 4, 5 };
	unsigned count = 0;

	while (count < PUSHES_MAX && start + 2 <= pc &&
	       sn_unwind_window_holds(&module->text, start, 2)) {
		const uint8_t *at = sn_unwind_window_at(&module->text, start);
		bool is_high = *at == 0x41;

		if ((at[is_high] & 0xf8) != 0x50)
			break;
		pushed[count++] = is_high ? 8 + (at[1] & 7) : number[*at & 7];
		start += 1 + is_high;
	}
	if (count < PUSHES_MAX && start + 1 == pc &&
	    sn_unwind_window_holds(&module->text, start, 1) &&
	    (*sn_unwind_window_at(&module->text, start) & 0xf8) == 0x50)
		pushed[count] = number[*sn_unwind_window_at(&module->text, start) & 7], count++;
	return count;
}

static bool says_nothing(struct sn_unwind_bytes program)
{
	while (program.next < program.end)
		if (*program.next++ != 0) /* DW_CFA_nop */
			return false;
	return true;
}

bool sn_unwind_step_undescribed(const struct sn_unwind_target *target,
				const struct sn_unwind_module *module,
				const struct sn_unwind_fde *fde, struct sn_unwind_frame *frame)
{
	uint64_t *value = frame->regs.value, rsp = value[SN_UNWIND_RSP], callee, word;
	uint8_t pushed[PUSHES_MAX];
	unsigned count, above = 0;

	if (!frame->is_exact || !says_nothing(fde->program))
		return false;
	count = leading_pushes(module, fde->start_load_addr, value[SN_UNWIND_RIP], pushed);
	while (above <= count && judge_slot(target, rsp + 8 * above, &callee) < AFTER_INDIRECT_CALL)
		above++;
	if (above == 0 || above > count)
		return false;
	for (unsigned i = 0; i < above; i++)
		if (sn_unwind_stack_read(target, rsp + 8 * (above - 1 - i), &word))
			value[pushed[i]] = word;
	return step_by_return(target, rsp + 8 * above, frame) == SN_UNWIND_GOES_ON;
}

bool sn_unwind_is_planted(const struct sn_unwind_target *target,
			  const struct sn_unwind_module *module, uint64_t pc)
{
	struct sn_unwind_fde fde;
	uint64_t callee;

	return module && sn_unwind_fde_find(module, pc, &fde) == SN_UNWIND_FOUND &&
	       fde.start_load_addr == pc && judge_return(target, pc, &callee) == IMPOSSIBLE;
}
