/*
 * The estimate: charges what depends on the whole block, asks each bound, and takes the largest.
 * docs/method/cqa.md explains the bounds.
 */
#include "cqa/core/cqa.h"

#include <math.h>
#include <string.h>

#include "cqa/core/flow.h"

static unsigned common_divisor(unsigned a, unsigned b)
{
	return b ? common_divisor(b, a % b) : a;
}

float sn_cqa_split_share(int64_t start_bytes, int64_t stride_bytes, unsigned bytes)
{
	unsigned start = (unsigned)(start_bytes & (SN_LINE_BYTES - 1));
	unsigned stride = (unsigned)(stride_bytes & (SN_LINE_BYTES - 1));
	unsigned positions = SN_LINE_BYTES / common_divisor(SN_LINE_BYTES, stride), split = 0;

	for (unsigned i = 0; i < positions; i++)
		split += (start + i * stride) % SN_LINE_BYTES + bytes > SN_LINE_BYTES;
	return (float)split / (float)positions;
}

static float split_share(const struct sn_access *access)
{
	return sn_cqa_split_share(access->address.constant, access->stride_bytes,
				  access->address.bytes);
}

/* Costs are changed in a copy of the instructions, which is made if there is one to change. */
static void own_instructions(struct sn_cqa_block *block, const struct sn_cqa_block *original,
			     struct sn_arena *arena)
{
	if (block->insns != original->insns || !block->count)
		return;
	block->insns = sn_arena_array(arena, struct sn_insn, block->count);
	memcpy(block->insns, original->insns, block->count * sizeof(*block->insns));
}

void sn_cqa_charge_memory(const struct sn_machine *machine, struct sn_insn *insn, float times)
{
	uint32_t memory_units = machine->load_units | machine->vector_load_units |
				machine->store_address_units | machine->store_data_units;

	for (unsigned k = 0; k < insn->set_count; k++)
		if (!(insn->sets[k].units & ~memory_units))
			insn->sets[k].count *= times;
}

/* Accesses that lie in two lines count twice. */
static void charge_split_lines(const struct sn_machine *machine, struct sn_cqa_block *block,
			       const struct sn_cqa_block *original, struct sn_arena *arena)
{
	for (size_t i = 0; i < block->accesses->count; i++) {
		const struct sn_access *access = &block->accesses->items[i];
		float share;

		if (!access->has_stride || !access->stride_bytes || access->address.bytes < 2 ||
		    access->address.bytes > SN_LINE_BYTES)
			continue;
		share = split_share(access);
		if (share <= 0)
			continue;
		own_instructions(block, original, arena);
		sn_cqa_charge_memory(machine, &block->insns[access->insn], 1 + share);
	}
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

/* Integer units are never all busy with operations that wait for each other. Operations bound for
 * the same unit meet. An operation of several cycles needs its unit's result bus again when it
 * ends. Loads and stores of general registers take part. */
static void charge_conflicts(const struct sn_machine *machine, struct sn_insn *insn,
			     float alu_share)
{
	const struct sn_rules *rules = &machine->rules;
	float share = 0;

	for (unsigned k = 0; k < insn->set_count; k++) {
		if (insn->sets[k].units == machine->alu_units)
			insn->sets[k].count *= alu_share;
		else if (!(insn->sets[k].units & ~machine->alu_units) &&
			 insn->latency >= rules->alu_long_cycles)
			share += rules->alu_share_long;
	}
	for (unsigned k = 0; k < insn->memory_count && !insn->is_vector; k++)
		if (insn->memory[k].is_load != insn->memory[k].is_store && !insn->is_stack_engine)
			share += insn->memory[k].is_load ? rules->alu_share_load
							 : rules->alu_share_store;
	if (share > 0)
		add_operation(insn, machine->alu_units, share);
}

static struct sn_cqa_block with_split_lines(const struct sn_machine *machine,
					    const struct sn_cqa_block *original,
					    struct sn_arena *arena)
{
	struct sn_cqa_block block = *original;

	charge_split_lines(machine, &block, original, arena);
	return block;
}

/* For the bound of the units only: in the window operations meet by themselves. */
static struct sn_cqa_block with_conflicts(const struct sn_machine *machine,
					  const struct sn_cqa_block *original,
					  struct sn_arena *arena)
{
	const struct sn_rules *rules = &machine->rules;
	struct sn_cqa_block block = *original;
	bool several_lines =
		block.count && block.bytes - block.insns[0].offset > rules->op_cache_line_bytes;

	if (rules->alu_share <= 0)
		return block;
	own_instructions(&block, original, arena);
	for (size_t i = 0; i < block.count; i++)
		charge_conflicts(machine, &block.insns[i],
				 several_lines ? rules->alu_share_several_lines : rules->alu_share);
	return block;
}

struct sn_cqa_block sn_cqa_charged(const struct sn_machine *machine,
				   const struct sn_cqa_block *original, struct sn_arena *arena)
{
	struct sn_cqa_block split = with_split_lines(machine, original, arena);

	return with_conflicts(machine, &split, arena);
}

/* How long the busiest units are busy, if operations meet there that could go to several; else 0.
 */
static double meeting_cycles(const struct sn_machine *machine, const struct sn_cqa_estimate *out)
{
	bool is_general =
		machine->rules.alu_share > 0 && !(out->busiest_units & ~machine->alu_units);
	bool is_vector = machine->rules.vector_share > 0 &&
			 !(out->busiest_units & ~machine->vector_units) &&
			 (out->busiest_units & (out->busiest_units - 1));

	return is_general || is_vector ? out->bounds[SN_BOUND_PORTS] : 0;
}

/* All bounds but those of the front end and of the latency. Returns meeting_cycles. */
static double bound_units(const struct sn_machine *machine, const struct sn_cqa_block *block,
			  struct sn_cqa_estimate *out)
{
	double stores, addresses, meeting;

	out->ports_part = SN_PORTS_UNITS;
	out->bounds[SN_BOUND_PORTS] = sn_bound_ports(machine, block, &out->busiest_units);
	meeting = meeting_cycles(machine, out);
	stores = fmax(sn_bound_stores(machine, block), sn_bound_past_caches(machine, block));
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
	return meeting;
}

static double largest(const double bounds[SN_BOUND_COUNT])
{
	double most = 0;

	for (unsigned i = 0; i < SN_BOUND_COUNT; i++)
		most = bounds[i] > most ? bounds[i] : most;
	return most;
}

/* The part of the back end that takes longest. The window prolongs it: full schedulers keep units
 * idle, or keep a divider or a dependence from being overlapped. */
static enum sn_bound prolonged(const double bounds[SN_BOUND_COUNT])
{
	enum sn_bound slowest = SN_BOUND_PORTS;

	if (bounds[SN_BOUND_DIVIDER] > bounds[slowest])
		slowest = SN_BOUND_DIVIDER;
	if (bounds[SN_BOUND_LATENCY] > bounds[slowest])
		slowest = SN_BOUND_LATENCY;
	return slowest;
}

static void add_window(const struct sn_data_flow *flow, struct sn_arena *arena,
		       struct sn_cqa_estimate *out)
{
	double most = largest(out->bounds);

	out->window_cycles = sn_bound_window(flow, arena, out->bounds[SN_BOUND_FRONT_END], most);
	if (out->window_cycles > 0 &&
	    out->window_cycles >= most * flow->machine->rules.window_noticed)
		out->bounds[prolonged(out->bounds)] = out->window_cycles;
}

/* Units that are busy for nearly as long as the largest other bound make that bound wait now and
 * then. Where both take the same time, the pass takes some percent more; the further they are
 * apart, the less. */
static void add_meetings(const struct sn_rules *rules, double met_cycles,
			 struct sn_cqa_estimate *out)
{
	double exponent = (double)rules->meeting_exponent;
	double other = fmax(fmax(out->bounds[SN_BOUND_FRONT_END], out->bounds[SN_BOUND_LATENCY]),
			    fmax(out->bounds[SN_BOUND_DIVIDER], out->bounds[SN_BOUND_ISSUE]));
	double longer = fmax(met_cycles, other), shorter = fmin(met_cycles, other), both;

	if (shorter < longer / 2 || longer <= 0 || exponent <= 0)
		return;
	both = longer * pow(1 + pow(shorter / longer, exponent), 1.0 / exponent);
	if (both >= largest(out->bounds) * rules->meeting_noticed)
		out->bounds[SN_BOUND_PORTS] = both;
}

/* Three digits: more would be noise, and ties should be ties. */
static double rounded(double cycles)
{
	return round(cycles * 1000) / 1000;
}

static void round_bounds(double bounds[SN_BOUND_COUNT])
{
	for (unsigned i = 0; i < SN_BOUND_COUNT; i++)
		bounds[i] = rounded(bounds[i]);
}

static void find_bottleneck(struct sn_cqa_estimate *out)
{
	out->bottleneck = SN_BOUND_PORTS;
	for (unsigned i = 0; i < SN_BOUND_COUNT; i++)
		if (out->bounds[i] > out->bounds[out->bottleneck])
			out->bottleneck = (enum sn_bound)i;
	out->cycles = out->bounds[out->bottleneck];
}

void sn_cqa_estimate(const struct sn_machine *machine, const struct sn_cqa_block *original,
		     bool is_unrolled, struct sn_arena *arena, struct sn_cqa_estimate *out)
{
	struct sn_cqa_block block = with_split_lines(machine, original, arena);
	struct sn_cqa_block charged = with_conflicts(machine, &block, arena);
	struct sn_data_flow *flow = sn_data_flow_new(machine, &block, arena);
	double met_cycles;

	met_cycles = bound_units(machine, &charged, out);
	out->bounds[SN_BOUND_FRONT_END] =
		sn_bound_front_end(machine, &block, is_unrolled, &out->front_end);
	out->bounds[SN_BOUND_LATENCY] = out->chain_cycles = sn_bound_latency(flow, arena);
	add_window(flow, arena, out);
	add_meetings(&machine->rules, met_cycles, out);
	round_bounds(out->bounds);
	find_bottleneck(out);
	out->instructions = block.count;
	out->estimated_instructions = block.estimated_count;
}

/* Of code without addresses. */
static double front_end_width(const struct sn_machine *machine, const struct sn_cqa_block *block,
			      double taken_jumps, enum sn_front_end *part)
{
	double jumps = taken_jumps * (double)machine->rules.taken_branch_cycles, fused = 0;

	for (size_t i = 0; i < block->count; i++)
		fused += (double)block->insns[i].fused_uops;
	fused /= machine->rules.op_cache_width;
	*part = jumps > fused ? SN_FRONT_TAKEN_BRANCH : SN_FRONT_OP_CACHE;
	return fmax(fused, jumps);
}

void sn_cqa_estimate_apart(const struct sn_machine *machine, const struct sn_cqa_block *block,
			   double taken_jumps, struct sn_arena *arena, struct sn_cqa_estimate *out)
{
	sn_cqa_estimate(machine, block, false, arena, out);
	out->bounds[SN_BOUND_FRONT_END] =
		front_end_width(machine, block, taken_jumps, &out->front_end);
	find_bottleneck(out);
}

double sn_cqa_variant_cycles(const struct sn_machine *machine, const struct sn_cqa_block *original,
			     const double *chain_cycles, double enough_cycles,
			     struct sn_arena *arena)
{
	struct sn_cqa_block block = with_split_lines(machine, original, arena);
	struct sn_cqa_block charged = with_conflicts(machine, &block, arena);
	struct sn_cqa_estimate estimate = { .cycles = 0 };
	double *bounds = estimate.bounds;
	double front_end = front_end_width(machine, original, 1, &estimate.front_end);
	double most = fmax(front_end, chain_cycles ? *chain_cycles : 0), met_cycles;
	struct sn_data_flow *flow;

	met_cycles = bound_units(machine, &charged, &estimate);
	if (fmax(most, rounded(largest(bounds))) >= enough_cycles)
		return enough_cycles;
	flow = sn_data_flow_new(machine, &block, arena);
	bounds[SN_BOUND_FRONT_END] =
		sn_bound_front_end(machine, &block, false, &estimate.front_end);
	bounds[SN_BOUND_LATENCY] = sn_bound_latency(flow, arena);
	if (!chain_cycles || prolonged(bounds) != SN_BOUND_LATENCY) {
		add_window(flow, arena, &estimate);
		add_meetings(&machine->rules, met_cycles, &estimate);
	}
	round_bounds(bounds);
	bounds[SN_BOUND_FRONT_END] = front_end;
	if (chain_cycles)
		bounds[SN_BOUND_LATENCY] = *chain_cycles;
	return fmin(largest(bounds), enough_cycles);
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
