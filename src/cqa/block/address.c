/*
 * Follows every address of a block through the few operations that compilers use for pointers,
 * then asks of each pair of accesses whether they meet, in this pass or a later one. From that
 * come forwarded loads, strides, and gaps between fields.
 */
#include "cqa/block/address.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct symbol {
	uint32_t root;
	int64_t offset;
	bool from_load;
};

struct tracker {
	struct symbol registers[16];
	uint32_t next_root;
};

enum { ROOT_RIP = 40, ROOT_SEGMENT = 41 }; /* by definition: no number of a register */
enum { LOOK_BACK = 256 }; /* (room) stores, among which a load looks for its value */

static int64_t wrapping_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrapping_scale(int64_t a, unsigned scale)
{
	return (int64_t)((uint64_t)a * scale);
}

static struct sn_address address_of(const struct tracker *tracker, const struct sn_insn *insn,
				    const struct sn_memory_operand *memory, bool *is_indirect)
{
	struct sn_address out = { SN_ROOT_NONE, SN_ROOT_NONE, 0, memory->displacement,
				  memory->bytes };

	*is_indirect = memory->is_vector_index;
	if (memory->is_rip) {
		out.base_root = ROOT_RIP;
		out.constant = wrapping_add(out.constant, insn->offset + insn->length);
	} else if (memory->base < 16) {
		const struct symbol *base = &tracker->registers[memory->base];

		out.base_root = base->root;
		out.constant = wrapping_add(out.constant, base->offset);
		*is_indirect |= base->from_load;
	}
	if (memory->is_segment && out.base_root == SN_ROOT_NONE)
		out.base_root = ROOT_SEGMENT;
	if (memory->index < 16) {
		const struct symbol *index = &tracker->registers[memory->index];

		out.index_root = index->root;
		out.scale = memory->scale;
		out.constant =
			wrapping_add(out.constant, wrapping_scale(index->offset, memory->scale));
		*is_indirect |= index->from_load;
	} else if (memory->index != SN_RES_NONE) {
		out.index_root = 1000000 + insn->offset; /* gathers match nothing */
	}
	if (out.scale == 1 && out.base_root != SN_ROOT_NONE && out.index_root < out.base_root) {
		uint32_t kept = out.base_root;

		out.base_root = out.index_root;
		out.index_root = kept;
	}
	return out;
}

static bool is_register(sn_form form, unsigned operand)
{
	enum sn_form_kind kind = sn_form_operand(form, operand);

	return kind == SN_KIND_R64 || kind == SN_KIND_R32;
}

static void forget_written(struct tracker *tracker, const struct sn_insn *insn)
{
	bool loads = false;

	for (unsigned i = 0; i < insn->memory_count; i++)
		loads |= insn->memory[i].is_load;
	for (unsigned i = 0; i < insn->write_count; i++)
		if (insn->writes[i] < 16 &&
		    !(insn->is_stack_engine && insn->writes[i] == SN_RES_RSP))
			tracker->registers[insn->writes[i]] =
				(struct symbol){ tracker->next_root++, 0, loads };
}

/* add, sub, inc, dec, lea, mov and the stack keep an address known; all else makes a new root. */
static void track(struct tracker *tracker, const struct sn_insn *insn)
{
	struct symbol *registers = tracker->registers;
	ZydisMnemonic mnemonic = sn_form_mnemonic(insn->form);
	uint8_t target = insn->write_count && insn->writes[0] < 16 ? insn->writes[0] : SN_RES_NONE;
	int64_t step = 0;

	/* what is called returns, and its return restores rsp */
	if (insn->rsp_change_bytes && !insn->is_call)
		registers[SN_RES_RSP].offset =
			wrapping_add(registers[SN_RES_RSP].offset, insn->rsp_change_bytes);
	if (target == SN_RES_NONE || insn->memory_count || !is_register(insn->form, 0)) {
		forget_written(tracker, insn);
		return;
	}
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		step = mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (sn_form_operand(insn->form, 1) != SN_KIND_IMM) {
			forget_written(tracker, insn);
			return;
		}
		step = mnemonic == ZYDIS_MNEMONIC_ADD ? insn->immediate
						      : (int64_t)(0 - (uint64_t)insn->immediate);
		break;
	case ZYDIS_MNEMONIC_MOV:
		if (!is_register(insn->form, 1) || insn->read_count != 1 ||
		    sn_form_operand(insn->form, 0) != SN_KIND_R64) {
			forget_written(tracker, insn);
			return;
		}
		registers[target] = registers[insn->reads[0].resource & 15];
		return;
	default:
		forget_written(tracker, insn);
		return;
	}
	registers[target].offset = wrapping_add(registers[target].offset, step);
}

/* lea reg, [base + constant] */
static bool track_lea(struct tracker *tracker, const struct sn_insn *insn)
{
	if (sn_form_mnemonic(insn->form) != ZYDIS_MNEMONIC_LEA || insn->read_count != 1 ||
	    insn->reads[0].resource >= 16 || !insn->has_immediate ||
	    sn_form_operand(insn->form, 0) != SN_KIND_R64)
		return false;
	tracker->registers[insn->writes[0]] = tracker->registers[insn->reads[0].resource];
	tracker->registers[insn->writes[0]].offset =
		wrapping_add(tracker->registers[insn->writes[0]].offset, insn->immediate);
	return true;
}

static bool same_roots(const struct sn_address *a, const struct sn_address *b)
{
	return a->base_root == b->base_root && a->index_root == b->index_root &&
	       (a->scale == b->scale || a->index_root == SN_ROOT_NONE);
}

/* 0: apart, 1: overlap but not inside, 2: the load lies inside the store */
static int overlap(int64_t load, uint32_t load_bytes, int64_t store, uint32_t store_bytes)
{
	if (load >= wrapping_add(store, store_bytes) || store >= wrapping_add(load, load_bytes))
		return 0;
	return load >= store && wrapping_add(load, load_bytes) <= wrapping_add(store, store_bytes)
		       ? 2
		       : 1;
}

static void set_stride(const struct sn_accesses *all, struct sn_access *access)
{
	uint32_t roots[2] = { access->address.base_root, access->address.index_root };
	unsigned scales[2] = { 1, access->address.scale ? access->address.scale : 1 };

	access->has_stride = true;
	access->stride_bytes = 0;
	if (access->address.scale == 1)
		scales[1] = 1;
	for (unsigned i = 0; i < 2; i++) {
		if (roots[i] == SN_ROOT_NONE || roots[i] == ROOT_RIP || roots[i] == ROOT_SEGMENT)
			continue;
		if (roots[i] >= 16 || !all->steps[roots[i]].is_induction) {
			access->has_stride = false;
			access->stride_bytes = 0;
			return;
		}
		access->stride_bytes =
			wrapping_add(access->stride_bytes,
				     wrapping_scale(all->steps[roots[i]].step_bytes, scales[i]));
	}
}

static bool match(struct sn_access *load, const struct sn_access *store, size_t store_number,
		  int64_t shift, unsigned distance)
{
	int found;

	if (!same_roots(&load->address, &store->address))
		return false;
	found = overlap(wrapping_add(load->address.constant, shift), load->address.bytes,
			store->address.constant, store->address.bytes);
	if (!found)
		return false;
	load->source = (int32_t)store_number;
	load->source_distance = (uint8_t)distance;
	load->is_partial = found == 1;
	return true;
}

/* Numbers of the accesses that store, in program order. */
struct stores {
	uint32_t *numbers;
	size_t count;
};

/* Takes the value of the last of the first `count` stores that has it, if it is one of the
 * LOOK_BACK accesses before `end`. */
static bool take_last(const struct sn_accesses *all, struct sn_access *load,
		      const struct stores *stores, size_t count, size_t end, unsigned distance)
{
	int64_t shift = distance ? wrapping_scale(load->stride_bytes, distance) : 0;

	while (count && stores->numbers[count - 1] + LOOK_BACK >= end) {
		uint32_t number = stores->numbers[--count];

		if (match(load, &all->items[number], number, shift, distance))
			return true;
	}
	return false;
}

/* `before`: stores that stand before the load. */
static void find_source(struct sn_accesses *all, size_t number, const struct stores *stores,
			size_t before)
{
	struct sn_access *load = &all->items[number];
	unsigned farthest = load->stride_bytes ? SN_CARRY_DISTANCE_MAX : 1;

	if (take_last(all, load, stores, before, number, 0) || !load->has_stride)
		return;
	for (unsigned distance = 1; distance <= farthest; distance++)
		if (take_last(all, load, stores, stores->count, all->count, distance))
			return;
}

static void find_sources(struct sn_accesses *all, struct sn_arena *arena)
{
	struct stores stores = { .numbers = sn_arena_array(arena, uint32_t, all->count + 1) };
	size_t before = 0;

	for (size_t i = 0; i < all->count; i++) {
		all->items[i].source = -1;
		if (all->items[i].is_store)
			stores.numbers[stores.count++] = (uint32_t)i;
	}
	for (size_t i = 0; i < all->count; i++) {
		if (all->items[i].is_load)
			find_source(all, i, &stores, before);
		before += all->items[i].is_store;
	}
}

/* Of one array as far as it shows: arrays of constant address differ in the constant alone, so it
 * must be near. */
static bool moves_alike(const struct sn_access *a, const struct sn_access *b)
{
	int64_t apart =
		wrapping_add(a->address.constant, (int64_t)(0 - (uint64_t)b->address.constant));

	return a->has_stride && b->has_stride && !b->is_indirect &&
	       a->stride_bytes == b->stride_bytes && same_roots(&a->address, &b->address) &&
	       apart / 2 < llabs(a->stride_bytes) && apart / 2 > -llabs(a->stride_bytes);
}

/* An extended number has ten bytes and stands in sixteen. */
static uint32_t slot_bytes(const struct sn_access *access)
{
	return access->address.bytes == 10 ? 16 : access->address.bytes;
}

/* The bytes that the accesses of one array touch, modulo the stride that they share: do they leave
 * a gap? Marks them all if not. */
static void find_coverage(struct sn_accesses *all, size_t first)
{
	const struct sn_access *a = &all->items[first];
	uint64_t stride =
		a->stride_bytes < 0 ? 0 - (uint64_t)a->stride_bytes : (uint64_t)a->stride_bytes;
	uint64_t bytes = 0, covered = 0;
	uint8_t *touched;

	assert(stride); /* see find_coverages */
	for (size_t i = first; i < all->count; i++)
		bytes += moves_alike(a, &all->items[i]) ? slot_bytes(&all->items[i]) : 0;
	if (bytes < stride)
		return;
	touched = sn_alloc_zeroed(stride, 1);
	for (size_t i = first; i < all->count; i++) {
		const struct sn_access *b = &all->items[i];
		uint64_t apart = (uint64_t)b->address.constant - (uint64_t)a->address.constant;
		uint64_t place =
			(int64_t)apart < 0 ? stride - 1 - (~apart) % stride : apart % stride;

		for (uint32_t k = 0; moves_alike(a, b) && k < slot_bytes(b); k++) {
			covered += !touched[(place + k) % stride];
			touched[(place + k) % stride] = 1;
		}
	}
	free(touched);
	for (size_t i = first; i < all->count && covered == stride; i++)
		if (moves_alike(a, &all->items[i]))
			all->items[i].is_covered = true;
}

/* Each array once: its first access looks for the others. */
static void find_coverages(struct sn_accesses *all)
{
	for (size_t i = 0; i < all->count; i++) {
		bool is_first = all->items[i].has_stride && all->items[i].stride_bytes != 0 &&
				all->items[i].stride_bytes != INT64_MIN &&
				!all->items[i].is_indirect;

		for (size_t k = 0; k < i && is_first; k++)
			is_first = !moves_alike(&all->items[i], &all->items[k]);
		if (is_first)
			find_coverage(all, i);
	}
}

static bool is_prefetch(const struct sn_insn *insn)
{
	return insn->category == ZYDIS_CATEGORY_PREFETCH && !insn->memory_count;
}

static void add_prefetch(const struct tracker *tracker, const struct sn_insn *insn, size_t number,
			 struct sn_accesses *out)
{
	struct sn_access *access = &out->prefetches[out->prefetch_count++];

	access->insn = (uint32_t)number;
	access->address = address_of(tracker, insn, &insn->memory[0], &access->is_indirect);
	access->source = -1;
}

const struct sn_accesses *sn_accesses_of(const struct sn_cqa_block *block, struct sn_arena *arena)
{
	struct tracker tracker = { .next_root = SN_ROOT_FIRST_MADE };
	struct sn_accesses *out = sn_arena_new(arena, struct sn_accesses);
	size_t total = 0, prefetches = 0;

	for (size_t i = 0; i < block->count; i++) {
		total += block->insns[i].memory_count;
		prefetches += is_prefetch(&block->insns[i]);
	}
	out->items = sn_arena_array(arena, struct sn_access, total ? total : 1);
	if (prefetches)
		out->prefetches = sn_arena_array(arena, struct sn_access, prefetches);
	for (uint32_t i = 0; i < 16; i++)
		tracker.registers[i].root = i;
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];

		/* push writes below the old top; pop reads at it */
		for (unsigned k = 0; k < insn->memory_count; k++) {
			struct sn_access *access = &out->items[out->count++];

			access->insn = (uint32_t)i;
			access->operand = (uint8_t)k;
			access->is_load = insn->memory[k].is_load;
			access->is_store = insn->memory[k].is_store;
			access->address =
				address_of(&tracker, insn, &insn->memory[k], &access->is_indirect);
			if (insn->rsp_change_bytes < 0 && access->is_store)
				access->address.constant += insn->rsp_change_bytes;
		}
		if (is_prefetch(insn))
			add_prefetch(&tracker, insn, i, out);
		if (!track_lea(&tracker, insn))
			track(&tracker, insn);
	}
	for (uint32_t i = 0; i < 16; i++) {
		out->steps[i].is_induction = tracker.registers[i].root == i;
		out->steps[i].step_bytes = tracker.registers[i].offset;
	}
	for (size_t i = 0; i < out->count; i++)
		set_stride(out, &out->items[i]);
	for (size_t i = 0; i < out->prefetch_count; i++)
		set_stride(out, &out->prefetches[i]);
	find_sources(out, arena);
	find_coverages(out);
	return out;
}
