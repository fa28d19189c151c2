/*
 * Finds start values for the registers of a foreign loop so that its closing branch is taken as
 * often as wanted and its pointers stay in memory that is there. Code that could do more than
 * compute is refused here.
 */
#include "cqa/calibrate/trip.h"

#include <string.h>

#include "cqa/block/address.h"

enum {
	STEP_BYTES = SN_LINE_BYTES,
	/* (chosen) bytes from one pointer to the next, */
	WRITTEN_APART = 192,
	READ_AHEAD = 1536, /* (chosen) and from the first written to the first that is only read */
};

static const char *refusal_of(const ZydisDecodedInstruction *insn)
{
	if (insn->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		return "privileged";
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
		return "a system call";
	case ZYDIS_CATEGORY_INTERRUPT:
		return "an interrupt";
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
		return "input or output";
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		return "a call or return";
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
		return "a system instruction";
	default:
		break;
	}
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFD:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_VLDMXCSR:
	case ZYDIS_MNEMONIC_FLDCW:
	case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_WRFSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_STD:
		return "one that changes the state of the processor";
	default:
		return NULL;
	}
}

static sn_status check_code(const uint8_t *bytes, size_t length, struct sn_error *err)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at < length; at += insn.length) {
		const char *refusal;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + at, length - at, &insn,
							 operands)))
			return sn_error_set(err, SN_ERR_FORMAT,
					    "the bytes at offset %zu are no instruction that this "
					    "decoder knows",
					    at);
		refusal = refusal_of(&insn);
		if (refusal)
			return sn_error_set(
				err, SN_ERR_UNSUPPORTED,
				"the instruction at offset %zu (%s) is %s and is not run", at,
				ZydisMnemonicGetString(insn.mnemonic), refusal);
		for (unsigned i = 0; i < insn.operand_count_visible; i++)
			if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    ZydisRegisterGetClass(operands[i].reg.value) ==
				    ZYDIS_REGCLASS_SEGMENT &&
			    (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
				return sn_error_set(
					err, SN_ERR_UNSUPPORTED,
					"the instruction at offset %zu writes a segment "
					"register and is not run",
					at);
	}
	return SN_OK;
}

/* Jumps must stay inside; backward ones but the last could loop for ever. */
static sn_status check_jumps(const struct sn_cqa_block *block, bool is_unrolled,
			     struct sn_error *err)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		int64_t target = (int64_t)insn->offset + insn->length + insn->immediate;
		bool is_last = i + 1 == block->count;

		if (!insn->is_branch)
			continue;
		if (!insn->has_immediate)
			return sn_error_set(
				err, SN_ERR_UNSUPPORTED,
				"the instruction at offset %u is an indirect jump and is "
				"not run",
				insn->offset);
		if (is_last && !is_unrolled)
			continue;
		if (target <= (int64_t)insn->offset || target > (int64_t)block->bytes)
			return sn_error_set(
				err, SN_ERR_UNSUPPORTED,
				"the jump at offset %u leaves the block or goes back in it",
				insn->offset);
	}
	return SN_OK;
}

struct flags {
	bool carry, zero, sign, overflow;
};

static bool is_taken(ZydisMnemonic branch, struct flags f, bool *is_known)
{
	*is_known = true;
	switch (branch) {
	case ZYDIS_MNEMONIC_JZ:
		return f.zero;
	case ZYDIS_MNEMONIC_JNZ:
		return !f.zero;
	case ZYDIS_MNEMONIC_JB:
		return f.carry;
	case ZYDIS_MNEMONIC_JNB:
		return !f.carry;
	case ZYDIS_MNEMONIC_JBE:
		return f.carry || f.zero;
	case ZYDIS_MNEMONIC_JNBE:
		return !f.carry && !f.zero;
	case ZYDIS_MNEMONIC_JS:
		return f.sign;
	case ZYDIS_MNEMONIC_JNS:
		return !f.sign;
	case ZYDIS_MNEMONIC_JL:
		return f.sign != f.overflow;
	case ZYDIS_MNEMONIC_JNL:
		return f.sign == f.overflow;
	case ZYDIS_MNEMONIC_JLE:
		return f.zero || f.sign != f.overflow;
	case ZYDIS_MNEMONIC_JNLE:
		return !f.zero && f.sign == f.overflow;
	default:
		*is_known = false;
		return false;
	}
}

static uint64_t truncate_to(uint64_t value, unsigned bytes)
{
	return bytes == 4 ? (uint32_t)value : value;
}

static struct flags flags_of_sub(uint64_t a, uint64_t b, unsigned bytes)
{
	uint64_t top = (uint64_t)1 << (bytes * 8 - 1), difference;

	a = truncate_to(a, bytes);
	b = truncate_to(b, bytes);
	difference = truncate_to(a - b, bytes);
	return (struct flags){ a < b, difference == 0, (difference & top) != 0,
			       ((a ^ b) & (a ^ difference) & top) != 0 };
}

static struct flags flags_of_add(uint64_t a, uint64_t b, unsigned bytes)
{
	uint64_t top = (uint64_t)1 << (bytes * 8 - 1), sum;

	a = truncate_to(a, bytes);
	b = truncate_to(b, bytes);
	sum = truncate_to(a + b, bytes);
	return (struct flags){ sum < a, sum == 0, (sum & top) != 0,
			       (~(a ^ b) & (a ^ sum) & top) != 0 };
}

/* What closes the loop: flags of `counter` (which steps) against a constant or a still register. */
struct closing {
	enum { BY_STEP, BY_COMPARE, BY_TEST } kind;
	ZydisMnemonic branch;
	unsigned bytes;
	unsigned counter, limit; /* registers; limit 255: the immediate */
	bool is_swapped;	 /* the limit stands first */
	int64_t immediate;
	int64_t step;	   /* per pass */
	int64_t before;	   /* what the counter has moved in this pass before the flags are set */
	int64_t last_step; /* BY_STEP: of the instruction itself */
	bool keeps_carry;  /* inc, dec */
};

static bool taken_after(const struct closing *closing, uint64_t counter, uint64_t limit,
			unsigned pass, bool *is_known)
{
	uint64_t value = counter + (uint64_t)closing->step * pass + (uint64_t)closing->before;
	struct flags flags;

	if (closing->kind == BY_STEP)
		flags = closing->last_step < 0
				? flags_of_sub(value, 0 - (uint64_t)closing->last_step,
					       closing->bytes)
				: flags_of_add(value, (uint64_t)closing->last_step, closing->bytes);
	else if (closing->kind == BY_TEST)
		flags = flags_of_sub(value, 0, closing->bytes);
	else
		flags = closing->is_swapped ? flags_of_sub(limit, value, closing->bytes)
					    : flags_of_sub(value, limit, closing->bytes);
	return is_taken(closing->branch, flags, is_known);
}

static bool runs_exactly(const struct closing *closing, uint64_t counter, uint64_t limit,
			 unsigned trips)
{
	bool is_known;

	for (unsigned pass = 0; pass < trips; pass++)
		if (taken_after(closing, counter, limit, pass, &is_known) != (pass + 1 < trips) ||
		    !is_known)
			return false;
	return true;
}

/* Start values for the counter and its limit; tries those near the arithmetic answer. */
static bool solve(const struct closing *closing, unsigned trips, uint64_t registers[16])
{
	int64_t nudges[] = { 0,
			     1,
			     -1,
			     closing->step,
			     -closing->step,
			     closing->step + 1,
			     closing->step - 1,
			     -closing->step - 1,
			     -closing->step + 1 };
	uint64_t travel = (uint64_t)closing->step * trips;
	bool limit_is_register = closing->kind == BY_COMPARE && closing->limit != 255;
	uint64_t fixed = closing->kind == BY_COMPARE ? (uint64_t)closing->immediate : 0;

	for (unsigned i = 0; i < sizeof(nudges) / sizeof(nudges[0]); i++) {
		uint64_t counter = registers[closing->counter], limit = fixed;

		if (limit_is_register)
			limit = counter + travel + (uint64_t)nudges[i];
		else
			counter = fixed - travel + (uint64_t)nudges[i];
		if (closing->bytes == 4 && !limit_is_register)
			counter = (uint32_t)counter;
		if (!runs_exactly(closing, counter, limit, trips))
			continue;
		registers[closing->counter] = counter;
		if (limit_is_register)
			registers[closing->limit] = limit;
		return true;
	}
	return false;
}

static bool writes(const struct sn_insn *insn, unsigned resource)
{
	for (unsigned i = 0; i < insn->write_count; i++)
		if (insn->writes[i] == resource)
			return true;
	return false;
}

static bool writes_flags(const struct sn_insn *insn)
{
	return writes(insn, SN_RES_FLAG + 3);
}

static bool block_writes(const struct sn_cqa_block *block, unsigned resource)
{
	for (size_t i = 0; i < block->count; i++)
		if (writes(&block->insns[i], resource))
			return true;
	return false;
}

/* The constant that an instruction adds to the register; false if it does something else to it. */
static bool own_step(const struct sn_insn *insn, unsigned reg, int64_t *step)
{
	*step = 0;
	if (!writes(insn, reg))
		return true;
	if (insn->rsp_change_bytes && reg == SN_RES_RSP) {
		*step = insn->rsp_change_bytes;
		return true;
	}
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_INC:
		*step = 1;
		return !insn->memory_count;
	case ZYDIS_MNEMONIC_DEC:
		*step = -1;
		return !insn->memory_count;
	case ZYDIS_MNEMONIC_ADD:
		*step = insn->immediate;
		return insn->has_immediate && !insn->memory_count;
	case ZYDIS_MNEMONIC_SUB:
		*step = -insn->immediate;
		return insn->has_immediate && !insn->memory_count;
	case ZYDIS_MNEMONIC_LEA:
		*step = insn->immediate;
		return insn->has_immediate && insn->read_count == 1 &&
		       insn->reads[0].resource == reg;
	default:
		return false;
	}
}

static bool find_step(const struct sn_cqa_block *block, struct closing *closing, size_t setter)
{
	closing->step = closing->before = 0;
	for (size_t i = 0; i < block->count; i++) {
		int64_t step;

		if (!own_step(&block->insns[i], closing->counter, &step))
			return false;
		if (i < setter)
			closing->before += step;
		if (i == setter)
			closing->last_step = step;
		closing->step += step;
	}
	return closing->step != 0;
}

static bool find_closing(const struct sn_cqa_block *block, struct closing *closing)
{
	const struct sn_insn *insn;
	size_t setter = block->count - 1;
	enum sn_form_kind first;

	while (setter > 0 && !writes_flags(&block->insns[setter - 1]))
		setter--;
	if (setter == 0)
		return false;
	insn = &block->insns[--setter];
	first = sn_form_operand(insn->form, 0);
	closing->branch = sn_form_mnemonic(block->insns[block->count - 1].form);
	closing->bytes = first == SN_KIND_R32 ? 4 : 8;
	if ((first != SN_KIND_R32 && first != SN_KIND_R64) || insn->memory_count ||
	    !insn->read_count)
		return false;
	closing->counter = insn->reads[0].resource;
	closing->limit = 255;
	closing->immediate = insn->immediate;
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		closing->kind = BY_STEP;
		break;
	case ZYDIS_MNEMONIC_TEST:
		if (insn->read_count != 1 || insn->has_immediate)
			return false;
		closing->kind = BY_TEST;
		break;
	case ZYDIS_MNEMONIC_CMP:
		closing->kind = BY_COMPARE;
		if (insn->has_immediate)
			break;
		if (insn->read_count != 2)
			return false;
		closing->limit = insn->reads[1].resource;
		if (block_writes(block, closing->limit)) {
			closing->is_swapped = true;
			closing->limit = insn->reads[0].resource;
			closing->counter = insn->reads[1].resource;
		}
		if (block_writes(block, closing->limit))
			return false;
		break;
	default:
		return false;
	}
	return closing->counter < 16 && find_step(block, closing, setter);
}

/* Bytes of new memory that a pass touches: the strides of all streams, each counted once. */
static uint64_t bytes_walked(const struct sn_cqa_block *block)
{
	const struct sn_accesses *accesses = block->accesses;
	uint64_t total = 0;

	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *access = &accesses->items[i];
		int64_t stride = access->stride_bytes;
		bool is_known = !access->has_stride || stride < -65536 || stride > 65536;

		for (size_t k = 0; k < i && !is_known; k++)
			is_known =
				accesses->items[k].address.base_root == access->address.base_root &&
				accesses->items[k].address.index_root ==
					access->address.index_root &&
				accesses->items[k].address.scale == access->address.scale;
		if (!is_known)
			total += (uint64_t)(stride < 0 ? -stride : stride);
	}
	return total;
}

/* Trip counts of the two runs of a pair. Long runs end in a mispredicted branch, short ones in a
 * predicted one, and the two must end alike for the cost to cancel. So counts in between are
 * avoided: at 160 and more both are mispredicted, at 96 and less mostly neither. The fewer the
 * trips, the more a cycle lost at either end weighs: 1 % at 320, 2 % at 96 (measured). Where pages
 * can be shared (see timing.c) the memory walked does not matter. */
static unsigned choose_trips(uint64_t walked_bytes)
{
	static const unsigned choices[] = { 2000, 800, 320, 96, 48, 24 };
	unsigned i = 0;

	while (choices[i] > 24 && walked_bytes * choices[i] > SN_TIMING_OWN_BYTES)
		i++;
	return sn_timing_shares_pages() && choices[i] < 800 ? 800 : choices[i];
}

/* What one pass touches through a pointer: the step that makes its passes join, at most a line (a
 * table of rows far apart is not walked as one). */
static uint64_t joining_step(const struct sn_cqa_block *block, unsigned pointer)
{
	int64_t first = INT64_MAX, end = INT64_MIN;
	uint64_t widest = 1;

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].memory_count; k++) {
			const struct sn_memory_operand *memory = &block->insns[i].memory[k];
			int64_t stop = memory->displacement + memory->bytes;

			if (memory->base != pointer && memory->index != pointer)
				continue;
			first = memory->displacement < first ? memory->displacement : first;
			end = stop > end ? stop : end;
			widest = memory->bytes > widest ? memory->bytes : widest;
		}
	if (end > first && end - first <= STEP_BYTES)
		widest = (uint64_t)(end - first);
	return widest < STEP_BYTES ? (widest + 7) & ~7ULL : STEP_BYTES;
}

/* Pointers stepped by a register ("add rdi, rdx") would leap from page to page with the default
 * values. So the step is chosen to join one pass to the next. Returns the bytes walked by it. */
static uint64_t tame_steps(const struct sn_cqa_block *block, struct sn_timing_request *out)
{
	bool is_tame[16] = { false };
	uint64_t walked = 0;

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		ZydisMnemonic mnemonic = sn_form_mnemonic(insn->form);
		unsigned target = insn->write_count ? insn->writes[0] : SN_RES_NONE;

		if ((mnemonic != ZYDIS_MNEMONIC_ADD && mnemonic != ZYDIS_MNEMONIC_SUB &&
		     mnemonic != ZYDIS_MNEMONIC_LEA) ||
		    insn->memory_count || insn->read_count != 2 || target >= 16)
			continue;
		for (unsigned k = 0; k < 2; k++) {
			unsigned step = insn->reads[k].resource;
			uint64_t bytes;

			if (insn->reads[1 - k].resource != target || step >= 16 ||
			    step == SN_RES_RSP || step == target || block_writes(block, step))
				continue;
			bytes = joining_step(block, target);
			/* one register may step several pointers: the widest decides */
			if (!is_tame[step] || out->registers_long[step] < bytes)
				out->registers_short[step] = out->registers_long[step] = bytes;
			is_tame[step] = true;
			walked += bytes;
		}
	}
	return walked;
}

/* Where in its page each pointer begins. A load waits for a store of a few passes ago to the same
 * page offset, though the pages differ. So pointers that are only read start ahead of those that
 * are written, in the direction in which the loop walks. They then meet no store of a pass that is
 * still under way. */
static void place_pointers(const struct sn_cqa_block *block, struct sn_timing_request *out)
{
	const struct sn_accesses *accesses = block->accesses;
	bool is_pointer[16] = { false }, is_written[16] = { false };
	unsigned written = 0, read = 0;
	int down = 0;

	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *access = &accesses->items[i];
		unsigned base = block->insns[access->insn].memory[access->operand].base;

		if (access->has_stride)
			down += access->stride_bytes < 0 ? 1 : -1;
		if (base >= 16)
			continue;
		is_pointer[base] = true;
		is_written[base] |= access->is_store;
	}
	for (unsigned r = 0; r < 16; r++) {
		uint64_t offset;

		if (!is_pointer[r])
			continue;
		offset = is_written[r] ? WRITTEN_APART * (uint64_t)written++
				       : READ_AHEAD + WRITTEN_APART * (uint64_t)read++;
		if (down > 0)
			offset = SN_PAGE_BYTES - STEP_BYTES - offset;
		out->registers_short[r] = out->registers_long[r] =
			(sn_timing_register(r) & ~(uint64_t)(SN_PAGE_BYTES - 1)) +
			offset % SN_PAGE_BYTES;
	}
}

static sn_status plan_loop(const struct sn_cqa_block *block, struct sn_timing_request *out,
			   struct sn_error *err)
{
	const struct sn_insn *last = &block->insns[block->count - 1];
	struct closing closing = { 0 };
	unsigned trips;

	place_pointers(block, out);
	trips = choose_trips(bytes_walked(block) + tame_steps(block, out));
	if (!last->is_conditional || last->immediate != -(int64_t)block->bytes)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "the block does not end in a conditional branch back to byte 0 "
				    "(for code without a branch give --unrolled)");
	if (!find_closing(block, &closing))
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"the trip count of the block cannot be set: its closing branch must "
			"compare a register that moves by a constant step");
	out->trips_long = trips;
	out->trips_short = trips / 2;
	out->is_loop = true;
	if (!solve(&closing, out->trips_long, out->registers_long) ||
	    !solve(&closing, out->trips_short, out->registers_short))
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"the trip count of the block cannot be set: no start value makes "
			"its closing condition hold exactly as often as asked");
	return SN_OK;
}

sn_status sn_trip_plan(const struct sn_machine *machine, const uint8_t *bytes, size_t length,
		       bool is_unrolled, struct sn_timing_request *out, struct sn_error *err)
{
	struct sn_arena arena = { 0 };
	struct sn_cqa_block block;
	sn_status status;

	if (!length || length > SN_TIMING_CODE_MAX)
		return sn_error_set(err, SN_ERR_RANGE,
				    "a block of %zu bytes cannot be timed; 1 to %d can", length,
				    SN_TIMING_CODE_MAX);
	status = check_code(bytes, length, err);
	if (!status)
		status = sn_cqa_block_decode(machine, &arena, bytes, length, &block, err);
	if (!status)
		status = check_jumps(&block, is_unrolled, err);
	if (!status) {
		sn_timing_request_init(out, bytes, length);
		if (!is_unrolled)
			status = plan_loop(&block, out, err);
	}
	sn_arena_free(&arena);
	return status;
}
