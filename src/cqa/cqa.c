#include "cqa/cqa.h"

#include <math.h>
#include <string.h>

#include "cqa/address.h"

enum { LINE_BYTES = 64 };

#define WINDOW_NOTICED 1.01 /* its start and end are not exact to less */

static unsigned common_divisor(unsigned a, unsigned b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* The share of passes in which an access lies in two lines, if the registers of its address point
 * to the beginning of one when the loop begins. */
static float split_share(const struct sn_access *access)
{
	unsigned start = (unsigned)(access->address.constant & (LINE_BYTES - 1));
	unsigned stride = (unsigned)(access->stride_bytes & (LINE_BYTES - 1));
	unsigned positions = LINE_BYTES / common_divisor(LINE_BYTES, stride), split = 0;

	for (unsigned i = 0; i < positions; i++)
		split += (start + i * stride) % LINE_BYTES + access->address.bytes > LINE_BYTES;
	return (float)split / (float)positions;
}

static void charge_twice(const struct sn_machine *machine, struct sn_insn *insn, float share)
{
	uint32_t memory_units = machine->load_units | machine->vector_load_units |
				machine->store_address_units | machine->store_data_units;

	for (unsigned k = 0; k < insn->set_count; k++)
		if (!(insn->sets[k].units & ~memory_units))
			insn->sets[k].count *= 1 + share;
}

/* Accesses that lie in two lines count twice. */
static struct sn_cqa_block with_split_lines(const struct sn_machine *machine,
					    const struct sn_cqa_block *block,
					    struct sn_arena *arena)
{
	struct sn_accesses accesses = sn_accesses_of(block, arena);
	struct sn_cqa_block out = *block;

	for (size_t i = 0; i < accesses.count; i++) {
		const struct sn_access *access = &accesses.items[i];
		float share;

		if (!access->has_stride || !access->stride_bytes || access->address.bytes < 2 ||
		    access->address.bytes > LINE_BYTES)
			continue;
		share = split_share(access);
		if (share <= 0)
			continue;
		if (out.insns == block->insns) {
			out.insns = sn_arena_array(arena, struct sn_insn, block->count);
			memcpy(out.insns, block->insns, block->count * sizeof(*out.insns));
		}
		charge_twice(machine, &out.insns[access->insn], share);
	}
	return out;
}

/* An input of the instruction is made in the block, be it in the pass before. */
static bool waits(const struct sn_insn *insn, const bool is_written[SN_RES_COUNT])
{
	for (unsigned i = 0; i < insn->read_count; i++)
		if (is_written[insn->reads[i].resource])
			return true;
	return false;
}

static void add_operation(struct sn_insn *insn, uint32_t units, float count)
{
	for (unsigned k = 0; k < insn->set_count; k++)
		if (insn->sets[k].units == units) {
			insn->sets[k].count += count;
			return;
		}
	if (insn->set_count < SN_ROW_SETS_MAX)
		insn->sets[insn->set_count++] = (struct sn_unit_set){ units, count };
}

static void charge_waiting(const struct sn_machine *machine, struct sn_insn *insn)
{
	for (unsigned k = 0; k < insn->set_count; k++)
		if (insn->sets[k].units == machine->alu_units)
			insn->sets[k].count *= machine->rules.alu_cost_waiting;
	for (unsigned k = 0; k < insn->memory_count; k++)
		if (insn->memory[k].is_store && !insn->memory[k].is_load && !insn->is_vector &&
		    !insn->is_stack_engine)
			add_operation(insn, machine->alu_units, machine->rules.alu_cost_store);
}

/* Integer operations that wait for others in the block do not keep all units busy, and stores that
 * wait take part in it. */
static void charge_waits(const struct sn_machine *machine, struct sn_cqa_block *block,
			 struct sn_arena *arena)
{
	bool is_written[SN_RES_COUNT] = { false };
	struct sn_insn *insns;

	if (machine->rules.alu_cost_waiting <= 0)
		return;
	insns = sn_arena_array(arena, struct sn_insn, block->count + 1);
	memcpy(insns, block->insns, block->count * sizeof(*insns));
	block->insns = insns;
	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < insns[i].write_count; k++)
			is_written[insns[i].writes[k]] = true;
	for (size_t i = 0; i < block->count; i++)
		if (waits(&insns[i], is_written))
			charge_waiting(machine, &insns[i]);
}

/* What the window adds is the part of the back end that already takes longest: full schedulers keep
 * units idle, or a divider or a dependence from being overlapped. */
static void add_window(const struct sn_machine *machine, const struct sn_cqa_block *block,
		       struct sn_arena *arena, struct sn_cqa_estimate *out)
{
	enum sn_bound slowest = SN_BOUND_PORTS;
	double most = 0;

	for (unsigned i = 0; i < SN_BOUND_COUNT; i++)
		most = fmax(most, out->bounds[i]);
	out->window_cycles =
		sn_bound_window(machine, block, arena, out->bounds[SN_BOUND_FRONT_END], most);
	if (out->window_cycles < most * WINDOW_NOTICED)
		return;
	if (out->bounds[SN_BOUND_DIVIDER] > out->bounds[slowest])
		slowest = SN_BOUND_DIVIDER;
	if (out->bounds[SN_BOUND_LATENCY] > out->bounds[slowest])
		slowest = SN_BOUND_LATENCY;
	out->bounds[slowest] = out->window_cycles;
}

struct sn_cqa_block sn_cqa_charged(const struct sn_machine *machine,
				   const struct sn_cqa_block *block, struct sn_arena *arena)
{
	struct sn_cqa_block out = with_split_lines(machine, block, arena);

	charge_waits(machine, &out, arena);
	return out;
}

void sn_cqa_estimate(const struct sn_machine *machine, const struct sn_cqa_block *original,
		     bool is_unrolled, struct sn_arena *arena, struct sn_cqa_estimate *out)
{
	struct sn_cqa_block charged = sn_cqa_charged(machine, original, arena);
	const struct sn_cqa_block *block = &charged;
	double stores, addresses;

	out->ports_part = SN_PORTS_UNITS;
	out->bounds[SN_BOUND_PORTS] = sn_bound_ports(machine, block, &out->busiest_units);
	stores = sn_bound_stores(machine, block, arena);
	if (stores > out->bounds[SN_BOUND_PORTS]) {
		out->bounds[SN_BOUND_PORTS] = stores;
		out->busiest_units = machine->store_data_units;
		out->ports_part = SN_PORTS_STORES;
	}
	addresses = sn_bound_addresses(machine, block);
	if (addresses > out->bounds[SN_BOUND_PORTS]) {
		out->bounds[SN_BOUND_PORTS] = addresses;
		out->busiest_units = machine->load_units | machine->vector_load_units |
				     machine->store_data_units;
		out->ports_part = SN_PORTS_ADDRESSES;
	}
	out->bounds[SN_BOUND_DIVIDER] = sn_bound_divider(block);
	out->bounds[SN_BOUND_ISSUE] = sn_bound_issue(machine, block);
	out->bounds[SN_BOUND_FRONT_END] =
		sn_bound_front_end(machine, block, is_unrolled, &out->front_end);
	out->bounds[SN_BOUND_LATENCY] = sn_bound_latency(machine, block, arena, false).cycles;
	out->chain_cycles = out->bounds[SN_BOUND_LATENCY];
	add_window(machine, block, arena, out);
	out->bottleneck = SN_BOUND_PORTS;
	for (unsigned i = 0; i < SN_BOUND_COUNT; i++) {
		/* three digits: more would be noise, and ties should be ties */
		out->bounds[i] = round(out->bounds[i] * 1000) / 1000;
		if (out->bounds[i] > out->bounds[out->bottleneck])
			out->bottleneck = (enum sn_bound)i;
	}
	out->cycles = out->bounds[out->bottleneck];
	out->instructions = block->count;
	out->estimated_instructions = block->estimated_count;
}

void sn_cqa_estimate_apart(const struct sn_machine *machine, const struct sn_cqa_block *block,
			   double taken_jumps, struct sn_arena *arena, struct sn_cqa_estimate *out)
{
	double fused = 0;

	sn_cqa_estimate(machine, block, false, arena, out);
	for (size_t i = 0; i < block->count; i++)
		fused += (double)block->insns[i].fused_uops;
	out->bounds[SN_BOUND_FRONT_END] =
		fmax(fused / machine->rules.op_cache_width,
		     taken_jumps * (double)machine->rules.taken_branch_cycles);
	out->front_end = out->bounds[SN_BOUND_FRONT_END] > fused / machine->rules.op_cache_width
				 ? SN_FRONT_TAKEN_BRANCH
				 : SN_FRONT_OP_CACHE;
	out->bottleneck = SN_BOUND_PORTS;
	for (unsigned i = 0; i < SN_BOUND_COUNT; i++)
		if (out->bounds[i] > out->bounds[out->bottleneck])
			out->bottleneck = (enum sn_bound)i;
	out->cycles = out->bounds[out->bottleneck];
}

sn_status sn_cqa_bytes(const struct sn_machine *machine, const uint8_t *bytes, size_t length,
		       bool is_unrolled, struct sn_cqa_estimate *out, struct sn_error *err)
{
	struct sn_arena arena = { 0 };
	struct sn_cqa_block block;
	sn_status status;

	if (!length)
		return sn_error_set(err, SN_ERR_FORMAT, "the block is empty");
	status = sn_cqa_block_decode(machine, &arena, bytes, length, &block, err);
	if (!status)
		sn_cqa_estimate(machine, &block, is_unrolled, &arena, out);
	sn_arena_free(&arena);
	return status;
}
