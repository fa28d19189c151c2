/* Finds accesses that no stride describes. Where values come from is followed through registers and
 * stored values, pass after pass, until nothing changes. An address is irregular if it is loaded,
 * or if a register is computed from its own last value by more than a constant step (a generator of
 * random numbers). */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cqa/block/address.h"

enum { PASSES_MAX = 6 };

/* What is known of a value. */
struct origin {
	uint64_t registers; /* that it hangs on as they were when the pass began (0 to 47) */
	uint64_t mixed;	    /* of these, those that went through more than sums */
	uint8_t depth;	    /* irregular loads of this pass on the way to it */
	bool is_loaded;	    /* from a place that moves */
	bool is_wide;	    /* and of more than one byte: what it selects need not be near */
	bool is_computed;   /* from itself, by more than a step */
	bool is_pointer;    /* as it was loaded, and wide enough for an address */
	bool has_step;	    /* it grows by `step` from pass to pass */
	int64_t step;
};

struct walk {
	const struct sn_cqa_block *block;
	struct sn_accesses *accesses;
	struct origin now[SN_RES_COUNT];
	struct origin *stored; /* [access] */
	size_t next_access, next_prefetch;
};

static void join(struct origin *into, const struct origin *from)
{
	into->registers |= from->registers;
	into->mixed |= from->mixed;
	into->is_loaded |= from->is_loaded;
	into->is_wide |= from->is_wide;
	into->is_computed |= from->is_computed;
	if (from->depth > into->depth)
		into->depth = from->depth;
}

static int64_t wrapping_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* The step of a + b times. */
static void add_step(struct origin *a, const struct origin *b, int64_t times)
{
	a->has_step &= b->has_step;
	a->step = wrapping_add(a->step, (int64_t)((uint64_t)b->step * (uint64_t)times));
}

/* A sum of what it reads, as far as addresses go; shifts of an index and sign extensions too, but
 * those of a register into itself are told by `mixes`. */
static bool mixes(const struct sn_insn *insn)
{
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_AND: /* a ring that wraps */
	case ZYDIS_MNEMONIC_PADDD:
	case ZYDIS_MNEMONIC_PADDQ:
	case ZYDIS_MNEMONIC_VPADDD:
	case ZYDIS_MNEMONIC_VPADDQ:
		return false;
	default:
		return !insn->is_move_eliminated && insn->category != ZYDIS_CATEGORY_CMOV;
	}
}

static struct origin of_address(const struct walk *walk, const struct sn_memory_operand *memory)
{
	struct origin out = { .has_step = true };

	if (memory->base < SN_RES_COUNT) {
		join(&out, &walk->now[memory->base]);
		add_step(&out, &walk->now[memory->base], 1);
	}
	if (memory->index < SN_RES_COUNT) {
		join(&out, &walk->now[memory->index]);
		add_step(&out, &walk->now[memory->index], memory->scale ? memory->scale : 1);
	}
	return out;
}

static void judge(const struct walk *walk, const struct sn_memory_operand *memory,
		  const struct origin *address, struct sn_access *access)
{
	bool is_pointed_to = memory->base < SN_RES_COUNT && walk->now[memory->base].is_pointer;

	if (address->has_step && !address->is_loaded && !address->is_computed &&
	    !access->has_stride) {
		access->has_stride = true;
		access->stride_bytes = address->step;
	}
	access->is_irregular = !access->has_stride && (address->is_wide || address->is_computed);
	access->is_indirect = !access->has_stride && address->is_loaded;
	access->is_looked_up = access->is_indirect && !is_pointed_to;
	access->irregular_depth =
		(uint8_t)(address->depth + (access->is_irregular && address->depth < 255));
}

/* What a load brings. */
static struct origin loaded(const struct walk *walk, const struct sn_access *access)
{
	struct origin out = { .is_loaded = true,
			      .is_wide = access->address.bytes > 1,
			      .depth = access->irregular_depth };

	if (access->source >= 0)
		return walk->stored[access->source];
	if (access->has_stride && !access->stride_bytes)
		out = (struct origin){ .has_step = true };
	return out;
}

/* How the result moves from pass to pass. It is known if the instruction is one of those that
 * addresses are made with, or has no input that changes. `value` has joined all inputs; `brought`
 * came from memory. */
static void find_step(const struct walk *walk, const struct sn_insn *insn,
		      const struct origin *brought, struct origin *value)
{
	const struct origin *target =
		insn->operands[0] < SN_RES_COUNT ? &walk->now[insn->operands[0]] : brought;
	const struct origin *source =
		insn->operands[1] < SN_RES_COUNT ? &walk->now[insn->operands[1]] : brought;
	bool stays = !insn->memory_count || (brought->has_step && !brought->step);

	for (unsigned k = 0; k < insn->read_count; k++) {
		const struct origin *input = &walk->now[insn->reads[k].resource];

		stays &= insn->reads[k].role == SN_ROLE_ADDRESS ||
			 insn->reads[k].role == SN_ROLE_STORE_ADDRESS ||
			 (input->has_step && !input->step);
	}
	value->has_step = true;
	value->step = 0;
	if (stays || insn->is_idiom)
		return;
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSXD:
		add_step(value, source, 1);
		break;
	case ZYDIS_MNEMONIC_CDQE:
		add_step(value, &walk->now[SN_RES_GPR], 1);
		break;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		add_step(value, target, 1);
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		add_step(value, target, 1);
		if (!insn->has_immediate)
			add_step(value, source,
				 sn_form_mnemonic(insn->form) == ZYDIS_MNEMONIC_ADD ? 1 : -1);
		break;
	case ZYDIS_MNEMONIC_SHL:
		add_step(value, target, (int64_t)((uint64_t)1 << (insn->immediate & 63)));
		value->has_step &= insn->has_immediate;
		break;
	case ZYDIS_MNEMONIC_LEA:
		*value = of_address(walk, &insn->memory[0]);
		break;
	default:
		value->has_step = false;
	}
}

/* An operation that waits for an irregular load keeps a place in a scheduler meanwhile. */
static void count_waiting(const struct sn_insn *insn, const struct origin *value,
			  struct sn_accesses *accesses)
{
	if (!value->depth || insn->is_move_eliminated || insn->is_idiom)
		return;
	if (insn->is_vector && insn->latency > 0)
		accesses->waiting_vector++;
	else if (!insn->is_vector && !insn->memory_count)
		accesses->waiting_general++;
}

static bool is_pointer(const struct walk *walk, const struct sn_insn *insn)
{
	if (sn_form_mnemonic(insn->form) != ZYDIS_MNEMONIC_MOV)
		return false;
	if (insn->memory_count)
		return insn->memory[0].is_load && insn->memory[0].bytes == 8;
	return insn->operands[1] < SN_RES_COUNT && walk->now[insn->operands[1]].is_pointer;
}

/* A selection hands on what it chose among: flags of loaded data make it irregular, not loaded. */
static void join_input(struct origin *value, const struct walk *walk, const struct sn_insn *insn,
		       uint8_t resource)
{
	struct origin input = walk->now[resource];

	if (insn->category == ZYDIS_CATEGORY_CMOV && resource >= SN_RES_FLAG)
		input.is_loaded = false;
	join(value, &input);
}

static void walk_insn(struct walk *walk, const struct sn_insn *insn)
{
	struct origin value = { 0 }, all = { 0 };
	size_t first = walk->next_access;

	for (unsigned k = 0; k < insn->memory_count; k++) {
		struct sn_access *access = &walk->accesses->items[walk->next_access++];
		struct origin address = of_address(walk, &insn->memory[k]), brought;

		judge(walk, &insn->memory[k], &address, access);
		if (!access->is_load)
			continue;
		brought = loaded(walk, access);
		join(&value, &brought);
		if (address.depth)
			walk->accesses->waiting_address++;
		all.has_step = brought.has_step;
		all.step = brought.step;
	}
	if (insn->category == ZYDIS_CATEGORY_PREFETCH && !insn->memory_count) {
		struct origin address = of_address(walk, &insn->memory[0]);

		judge(walk, &insn->memory[0], &address,
		      &walk->accesses->prefetches[walk->next_prefetch++]);
	}
	for (unsigned k = 0; k < insn->read_count; k++)
		if (insn->reads[k].role == SN_ROLE_DATA || insn->reads[k].role == SN_ROLE_LATE)
			join_input(&value, walk, insn, insn->reads[k].resource);
	find_step(walk, insn, &all, &value);
	if (insn->is_idiom)
		value = (struct origin){ .has_step = true };
	value.is_pointer = is_pointer(walk, insn);
	count_waiting(insn, &value, walk->accesses);
	if (mixes(insn))
		value.mixed |= value.registers;
	for (unsigned k = 0; k < insn->memory_count; k++)
		if (walk->accesses->items[first + k].is_store)
			walk->stored[first + k] = value;
	for (unsigned k = 0; k < insn->write_count; k++)
		if (!(insn->is_stack_engine && insn->writes[k] == SN_RES_RSP))
			walk->now[insn->writes[k]] = value;
}

/* What a register hands to the next pass: its own past counts only if more than a sum was made of
 * it. True if that is news. */
static bool carry(struct origin *carried, const struct origin *end, unsigned resource)
{
	uint64_t own = resource < 48 ? (uint64_t)1 << resource : 0;
	struct origin next = { .registers = own,
			       .has_step = carried->has_step,
			       .step = carried->step,
			       .is_loaded = end->is_loaded,
			       .is_wide = end->is_wide,
			       .is_pointer = end->is_pointer,
			       .is_computed = end->is_computed || (end->mixed & own) };
	bool is_new = next.is_loaded != carried->is_loaded || next.is_wide != carried->is_wide ||
		      next.is_computed != carried->is_computed;

	*carried = next;
	return is_new;
}

/* What moves by a constant, and what the block leaves as it is. */
static void start_steps(const struct sn_cqa_block *block, const struct sn_accesses *accesses,
			struct origin carried[SN_RES_COUNT])
{
	bool is_written[SN_RES_COUNT] = { false };

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].write_count; k++)
			is_written[block->insns[i].writes[k]] = true;
	for (unsigned i = 0; i < SN_RES_COUNT; i++) {
		carried[i].has_step = !is_written[i];
		if (i < 16 && accesses->steps[i].is_induction) {
			carried[i].has_step = true;
			carried[i].step = accesses->steps[i].step_bytes;
		}
	}
}

static struct sn_accesses *copy_of(const struct sn_accesses *from, struct sn_arena *arena)
{
	struct sn_accesses *out = sn_arena_new(arena, struct sn_accesses);

	*out = *from;
	out->items = sn_arena_array(arena, struct sn_access, from->count + 1);
	out->prefetches = sn_arena_array(arena, struct sn_access, from->prefetch_count + 1);
	if (from->count)
		memcpy(out->items, from->items, from->count * sizeof(*out->items));
	if (from->prefetch_count)
		memcpy(out->prefetches, from->prefetches,
		       from->prefetch_count * sizeof(*out->prefetches));
	return out;
}

/* Nothing is left to find out, and nothing waits. */
static bool all_stride(const struct sn_accesses *accesses)
{
	for (size_t i = 0; i < accesses->count; i++)
		if (!accesses->items[i].has_stride)
			return false;
	for (size_t i = 0; i < accesses->prefetch_count; i++)
		if (!accesses->prefetches[i].has_stride)
			return false;
	return true;
}

const struct sn_accesses *sn_accesses_find_irregular(const struct sn_cqa_block *block,
						     struct sn_arena *arena)
{
	struct sn_accesses *accesses = copy_of(block->accesses, arena);
	struct origin carried[SN_RES_COUNT] = { 0 };
	struct walk walk = { .block = block, .accesses = accesses };
	bool is_new = true;

	if (all_stride(accesses))
		return accesses;
	walk.stored = sn_alloc_zeroed(accesses->count + 1, sizeof(*walk.stored));
	for (unsigned i = 0; i < 48; i++)
		carried[i].registers = (uint64_t)1 << i;
	start_steps(block, accesses, carried);
	for (unsigned pass = 0; pass < PASSES_MAX && is_new; pass++) {
		memcpy(walk.now, carried, sizeof(carried));
		walk.next_access = walk.next_prefetch = 0;
		accesses->waiting_vector = accesses->waiting_general = accesses->waiting_address =
			0;
		for (size_t i = 0; i < block->count; i++)
			walk_insn(&walk, &block->insns[i]);
		is_new = false;
		for (unsigned i = 0; i < SN_RES_COUNT; i++)
			is_new |= carry(&carried[i], &walk.now[i], i);
		/* what a pass stored is of the past when the next one loads it */
		for (size_t i = 0; i < accesses->count; i++) {
			walk.stored[i].depth = 0;
			walk.stored[i].registers = walk.stored[i].mixed = 0;
		}
	}
	free(walk.stored);
	return accesses;
}
