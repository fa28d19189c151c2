/* Divides each bound among the instructions that cause it, so that the parts sum to the bound. */
#include "cqa/loop/parts.h"

#include <math.h>

#include "cqa/block/metrics.h"

enum { PREFIXES_MAX = 1000 };
#define ROUNDING 1e-3 /* of printed bounds */

const char *sn_front_end_name(enum sn_front_end part)
{
	static const char *const names[] = { [SN_FRONT_OP_CACHE] = "op cache",
					     [SN_FRONT_LOOP_BUFFER] = "loop buffer",
					     [SN_FRONT_DECODE] = "decoders",
					     [SN_FRONT_PREDECODE] = "predecode",
					     [SN_FRONT_TAKEN_BRANCH] = "taken branch" };

	return names[part];
}

static void scale_to(double *cycles, size_t count, double whole)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += cycles[i];
	for (size_t i = 0; i < count && sum > 0; i++)
		cycles[i] *= whole / sum;
}

static void by_operations(const struct sn_cqa_block *block, double whole, double *cycles)
{
	for (size_t i = 0; i < block->count; i++)
		cycles[i] = (double)block->insns[i].fused_uops;
	scale_to(cycles, block->count, whole);
}

static void by_jumps(const struct sn_cqa_block *block, double whole, double *cycles)
{
	for (size_t i = 0; i < block->count; i++)
		cycles[i] = block->insns[i].is_branch;
	scale_to(cycles, block->count, whole);
}

/* Stores and address units: all accesses of the kind share the bound alike. */
static void by_accesses(const struct sn_cqa_block *block, uint32_t units, double whole,
			double *cycles)
{
	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].set_count; k++)
			if (!(block->insns[i].sets[k].units & ~units))
				cycles[i] += (double)block->insns[i].sets[k].count;
	scale_to(cycles, block->count, whole);
}

/* The bound of the first instructions, as a loop of their own: an instruction pays for the cycles
 * that delivery takes with it and not without. */
static void by_prefixes(const struct sn_machine *machine, const struct sn_cqa_block *block,
			double whole, double *cycles)
{
	struct sn_cqa_block prefix = *block;
	enum sn_front_end part;
	double before = 0;

	prefix.bytes = 0;
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		double now = whole;

		prefix.count = i + 1;
		if (insn->offset + insn->length > prefix.bytes)
			prefix.bytes = insn->offset + insn->length;
		if (prefix.count < block->count)
			now = fmin(sn_bound_front_end(machine, &prefix, false, &part), whole);
		cycles[i] = fmax(0, now - before);
		before = fmax(before, now);
	}
}

static void front_end_parts(const struct sn_machine *machine, const struct sn_cqa_path *path,
			    double *cycles)
{
	const struct sn_cqa_block *block = &path->block;
	double whole = path->estimate.bounds[SN_BOUND_FRONT_END];

	if (path->estimate.front_end == SN_FRONT_TAKEN_BRANCH)
		by_jumps(block, whole, cycles);
	else if (path->is_expectation || block->count > PREFIXES_MAX)
		by_operations(block, whole, cycles);
	else
		by_prefixes(machine, block, whole, cycles);
}

/* Bytes that each instruction stores past the caches, in all. */
static double bytes_past_caches(const struct sn_cqa_block *block, double *bytes)
{
	double all = 0;

	for (size_t i = 0; i < block->accesses->count; i++) {
		const struct sn_access *access = &block->accesses->items[i];

		if (!access->is_store || !sn_insn_is_past_caches(&block->insns[access->insn]))
			continue;
		bytes[access->insn] += access->address.bytes;
		all += access->address.bytes;
	}
	return all;
}

/* Stores share alike what they take. If those past the caches take longer, that is theirs. */
static void stores_parts(const struct sn_machine *machine, const struct sn_cqa_path *path,
			 const struct sn_cqa_block *charged, double *cycles)
{
	double whole = path->estimate.bounds[SN_BOUND_PORTS];
	double stores = sn_bound_stores(machine, charged);
	bool is_windows = whole <= path->estimate.window_cycles + ROUNDING;

	if (whole > stores + ROUNDING && !is_windows && bytes_past_caches(charged, cycles) > 0)
		scale_to(cycles, charged->count, whole);
	else
		by_accesses(charged, path->estimate.busiest_units, stores, cycles);
}

/* What operations lose by meeting is theirs alike. */
static void units_parts(const struct sn_machine *machine, const struct sn_cqa_path *path,
			const struct sn_cqa_block *charged, double *cycles)
{
	double whole = path->estimate.bounds[SN_BOUND_PORTS];
	bool is_windows = whole <= path->estimate.window_cycles + ROUNDING;

	sn_parts_ports(machine, charged, path->estimate.busiest_units, cycles);
	if (machine->rules.meeting_exponent > 0 && !is_windows)
		scale_to(cycles, charged->count, whole);
}

static void ports_parts(const struct sn_machine *machine, const struct sn_cqa_path *path,
			const struct sn_cqa_block *charged, double *cycles)
{
	switch (path->estimate.ports_part) {
	case SN_PORTS_UNITS:
		units_parts(machine, path, charged, cycles);
		break;
	case SN_PORTS_STORES:
		stores_parts(machine, path, charged, cycles);
		break;
	case SN_PORTS_ADDRESSES:
		by_accesses(charged, path->estimate.busiest_units,
			    sn_bound_addresses(machine, charged), cycles);
		break;
	}
}

struct sn_cqa_parts sn_cqa_parts_of(const struct sn_machine *machine,
				    const struct sn_cqa_path *path, struct sn_arena *arena)
{
	const struct sn_cqa_block *block = &path->block;
	struct sn_cqa_block charged = sn_cqa_charged(machine, block, arena);
	struct sn_chain chain = sn_chain_of(machine, block, arena);
	struct sn_cqa_parts out = { .count = block->count,
				    .chain_passes = chain.passes,
				    .chain_cycles = chain.step_cycles,
				    .is_on_chain = chain.is_member };

	for (unsigned b = 0; b < SN_BOUND_COUNT; b++)
		out.cycles[b] = sn_arena_array(arena, double, block->count + 1);
	ports_parts(machine, path, &charged, out.cycles[SN_BOUND_PORTS]);
	sn_parts_issue(machine, block, out.cycles[SN_BOUND_ISSUE]);
	front_end_parts(machine, path, out.cycles[SN_BOUND_FRONT_END]);
	for (size_t i = 0; i < block->count; i++) {
		out.cycles[SN_BOUND_DIVIDER][i] = (double)charged.insns[i].divider_cycles;
		if (chain.passes)
			out.cycles[SN_BOUND_LATENCY][i] = chain.step_cycles[i] / chain.passes;
		for (unsigned b = 0; b < SN_BOUND_COUNT; b++)
			out.sums[b] += out.cycles[b][i];
	}
	return out;
}
