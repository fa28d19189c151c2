/* Cycles of a pass if its data come from farther away: bandwidth of streams, accesses that share no
 * line, latency of loads on the loop-carried dependence, and the number of misses that the window
 * holds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cqa/core/flow.h"
#include "cqa/loop/levels.h"
#include "machine/bandwidth.h"

enum { SLOW_CYCLES = 1 << 16 }; /* (chosen) more than all else takes */

_Static_assert((int)SN_LEVEL_COUNT == SN_MEMORY_LEVELS, "the machine knows the same levels");

/* Usual values where nothing was measured: a core keeps so many misses in flight. */
static void guess(const struct sn_machine *machine, struct sn_bandwidths *out)
{
	const struct sn_usual_memory *usual = machine->rules.usual_memory;

	for (unsigned level = 0; level < SN_LEVEL_COUNT; level++) {
		double line = SN_LINE_BYTES / usual->bytes_per_cycle[level];
		double latency = usual->latency_cycles[level] / usual->misses_in_flight;
		double random = level ? fmax(line, latency) : 0;

		out->latency_cycles[level] = usual->latency_cycles[level];
		out->past_caches_bytes_per_cycle[level] =
			machine->rules.past_caches_bytes_per_cycle > 0
				? (double)machine->rules.past_caches_bytes_per_cycle
				: usual->bytes_per_cycle[SN_LEVEL_RAM];
		out->bytes_per_cycle[level] = usual->bytes_per_cycle[level];
		out->written_bytes_per_cycle[level] = usual->written_bytes_per_cycle[level];
		out->random_cycles[level] = random;
		/* every second line is half prefetched, others are on their own */
		for (unsigned k = 0; k < SN_MEMORY_STRIDES; k++)
			out->stride_cycles[level][k] = k ? random : (line + random) / 2;
	}
}

static void take_measured(const struct sn_memory_profile *profile, struct sn_bandwidths *out)
{
	for (unsigned i = SN_LEVEL_L1; i < SN_LEVEL_COUNT; i++) {
		const struct sn_memory_level *level = &profile->levels[i];
		double read = fmax(level->unit_bytes_per_cycle, level->line_bytes_per_cycle);
		/* half of a copy's bytes are read, half are written */
		double written = level->store_bytes_per_cycle > 0
					 ? 1 / level->store_bytes_per_cycle
					 : 2 / level->copy_bytes_per_cycle - 1 / read;

		out->latency_cycles[i] = level->latency_cycles;
		/* a set as small as L1 is written anew so soon that its figure does not repeat */
		if (level->past_caches_bytes_per_cycle > 0)
			out->past_caches_bytes_per_cycle[i] =
				profile->levels[i ? i : SN_LEVEL_L2].past_caches_bytes_per_cycle;
		if (i == SN_LEVEL_L1)
			continue;
		out->bytes_per_cycle[i] = read;
		out->written_bytes_per_cycle[i] = written > 1 / read ? 1 / written : read;
		if (level->random_cycles <= 0)
			continue;
		memcpy(out->stride_cycles[i], level->stride_cycles, sizeof(level->stride_cycles));
		out->random_cycles[i] = level->random_cycles;
	}
}

struct sn_bandwidths sn_bandwidths_of(const struct sn_machine *machine)
{
	struct sn_bandwidths out = { 0 };
	struct sn_memory_profile profile;

	guess(machine, &out);
	if (sn_memory_profile_of(machine->name, &profile))
		take_measured(&profile, &out);
	return out;
}

double sn_level_access_cycles(const struct sn_bandwidths *bandwidths, enum sn_level level,
			      double stride_bytes)
{
	const double *measured = bandwidths->stride_cycles[level];
	double stride = fabs(stride_bytes), below = SN_LINE_BYTES;
	double cycles = SN_LINE_BYTES / bandwidths->bytes_per_cycle[level];

	if (stride >= SN_PAGE_BYTES && fmod(stride, SN_PAGE_BYTES) == 0)
		return measured[SN_MEMORY_STRIDE_PAGE];
	for (unsigned k = 0; k < SN_MEMORY_STRIDE_PAGE; k++) {
		double above = sn_memory_strides_bytes[k];

		if (stride <= above) {
			double share = log2(fmax(stride, below) / below) / log2(above / below);

			return cycles + (measured[k] - cycles) * share;
		}
		below = above;
		cycles = measured[k];
	}
	return cycles;
}

/* Cycles that the level needs for what a stream takes in a pass. Lines one after the other go at
 * its bandwidth; single ones cost an access each, and that they go back later then costs no more.
 */
static double stream_cycles(const struct sn_bandwidths *b, enum sn_level level,
			    const struct sn_stream *stream)
{
	const struct sn_access *first = stream->first;
	double bandwidth = stream->is_past_caches ? b->past_caches_bytes_per_cycle[level]
			   : stream->is_written	  ? b->written_bytes_per_cycle[level]
						  : b->bytes_per_cycle[level];
	double access = b->random_cycles[level];

	/* a stride in a register is most often the row of a matrix: the widest that was measured */
	if (!first->is_irregular && !first->is_indirect)
		access = sn_level_access_cycles(b, level,
						first->has_stride ? (double)first->stride_bytes
								  : sn_memory_strides_bytes[2]);
	return fmax(stream->new_bytes / bandwidth,
		    stream->is_past_caches ? 0 : stream->lines * access);
}

static double moved_cycles(const struct sn_bandwidths *b, enum sn_level level,
			   const struct sn_streams *streams)
{
	double cycles = 0;

	for (size_t i = 0; i < streams->count; i++)
		cycles += stream_cycles(b, level, &streams->items[i]);
	return cycles;
}

/* Whether another order of loops, or another layout, makes an access one to neighbours. */
static bool can_be_contiguous(const struct sn_access *access)
{
	enum sn_stride_kind kind = sn_stride_kind_of(access);

	return !access->is_irregular && !access->is_indirect &&
	       (kind == SN_STRIDE_N || kind == SN_STRIDE_UNKNOWN);
}

/* The same, if what steps over memory went to neighbours: each element is moved once, and no more. */
static double contiguous_cycles(const struct sn_bandwidths *b, enum sn_level level,
				const struct sn_streams *streams)
{
	const struct sn_accesses *accesses = streams->accesses;
	double cycles = 0;

	for (size_t i = 0; i < streams->count; i++)
		if (!can_be_contiguous(streams->items[i].first))
			cycles += stream_cycles(b, level, &streams->items[i]);
	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *access = &accesses->items[i];

		if (can_be_contiguous(access))
			cycles += access->address.bytes /
				  (access->is_store ? b->written_bytes_per_cycle[level]
						    : b->bytes_per_cycle[level]);
	}
	return cycles;
}

/* The block with loads at irregular addresses as slow as the level; NULL if there are none. */
static struct sn_insn *slowed(const struct sn_cqa_block *block, const struct sn_accesses *accesses,
			      double more_cycles, struct sn_arena *arena)
{
	struct sn_insn *insns = NULL;

	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *access = &accesses->items[i];
		struct sn_insn *insn;
		bool has_data = false;

		if (!access->is_load || !access->is_irregular || access->source >= 0)
			continue;
		if (!insns) {
			insns = sn_arena_array(arena, struct sn_insn, block->count);
			memcpy(insns, block->insns, block->count * sizeof(*insns));
		}
		insn = &insns[access->insn];
		for (unsigned k = 0; k < insn->read_count; k++)
			has_data |= insn->reads[k].role != SN_ROLE_ADDRESS;
		/* a plain load: whatever way its address is found to go */
		if (has_data)
			insn->load_latency += (float)more_cycles;
		else
			insn->latency += (float)more_cycles;
	}
	return insns;
}

/* Irregular loads that wait for each other within a pass, and that nothing prefetches. */
static unsigned misses_in_a_row(const struct sn_accesses *accesses,
				const struct sn_streams *streams)
{
	unsigned most = 0;

	for (size_t i = 0; i < streams->count; i++)
		if (streams->items[i].is_prefetched && streams->items[i].first->is_irregular)
			return 0;
	for (size_t i = 0; i < accesses->count; i++)
		if (accesses->items[i].is_load && accesses->items[i].is_irregular &&
		    accesses->items[i].irregular_depth > most)
			most = accesses->items[i].irregular_depth;
	return most;
}

/* Irregular loads on the loop-carried dependence, and what else it takes: found with loads so slow
 * that they decide where it runs. */
static double loads_on_chain(const struct sn_machine *machine, const struct sn_cqa_path *path,
			     const struct sn_accesses *accesses, struct sn_arena *arena,
			     double *rest_cycles)
{
	struct sn_cqa_block slow = path->block;
	double cycles, loads;

	slow.insns = slowed(&path->block, accesses, SLOW_CYCLES, arena);
	cycles = slow.insns ? sn_bound_latency(sn_data_flow_new(machine, &slow, arena), arena) : 0;
	loads = floor(cycles / SLOW_CYCLES);
	*rest_cycles = cycles - loads * SLOW_CYCLES;
	return loads;
}

/* Passes that the core can have begun at once, while their loads are on their way: the reorder
 * buffer holds all of their operations, the schedulers those that wait. */
static double passes_in_flight(const struct sn_machine *machine, const struct sn_cqa_path *path,
			       const struct sn_accesses *accesses)
{
	const struct sn_rules *rules = &machine->rules;
	double passes = INFINITY;
	unsigned vector = accesses->waiting_vector, general = accesses->waiting_general,
		 address = accesses->waiting_address;

	if (rules->reorder_uops && path->metrics.uops)
		passes = (double)rules->reorder_uops / path->metrics.uops;
	if (rules->vector_scheduler_uops) {
		if (vector)
			passes = fmin(passes, (double)(rules->vector_scheduler_uops +
						       rules->vector_queue_uops) /
						      vector);
		if (general)
			passes = fmin(passes, (double)rules->general_scheduler_uops / general);
		if (address)
			passes = fmin(passes, (double)rules->address_scheduler_uops / address);
	} else if (rules->scheduler_uops && vector + general + address) {
		passes = fmin(passes, (double)rules->scheduler_uops / (vector + general + address));
	}
	return passes;
}

void sn_cqa_add_past_caches(const struct sn_machine *machine,
			    const struct sn_bandwidths *bandwidths, struct sn_cqa_path *path)
{
	struct sn_cqa_estimate *estimate = &path->estimate;
	double cycles = path->metrics.bytes_past_caches /
			bandwidths->past_caches_bytes_per_cycle[SN_LEVEL_L1];

	if (cycles <= estimate->bounds[SN_BOUND_PORTS])
		return;
	estimate->bounds[SN_BOUND_PORTS] = round(cycles * 1000) / 1000;
	estimate->busiest_units = machine->store_data_units;
	estimate->ports_part = SN_PORTS_STORES;
	if (estimate->bounds[SN_BOUND_PORTS] > estimate->cycles) {
		estimate->bottleneck = SN_BOUND_PORTS;
		estimate->cycles = estimate->bounds[SN_BOUND_PORTS];
	}
}

void sn_cqa_levels_estimate(const struct sn_machine *machine,
			    const struct sn_bandwidths *bandwidths,
			    const struct sn_streams *streams, struct sn_cqa_path *path,
			    struct sn_arena *arena)
{
	const struct sn_accesses *accesses = streams->accesses;
	double passes, loads = 0, rest = 0;
	unsigned row;

	passes = passes_in_flight(machine, path, accesses);
	row = misses_in_a_row(accesses, streams);
	if (row)
		loads = loads_on_chain(machine, path, accesses, arena, &rest);
	path->loads_on_chain = (unsigned)loads;
	path->level_cycles[SN_LEVEL_L1] = path->estimate.cycles;
	path->contiguous_ram_cycles =
		fmax(path->estimate.cycles, contiguous_cycles(bandwidths, SN_LEVEL_RAM, streams));
	for (unsigned level = SN_LEVEL_L2; level < SN_LEVEL_COUNT; level++) {
		double latency = bandwidths->latency_cycles[level];
		double moved = moved_cycles(bandwidths, level, streams);

		if (loads > 0)
			moved = fmax(moved,
				     rest + loads * (latency - bandwidths->latency_cycles[0]));
		path->moved_cycles[level] = moved;
		path->window_ram_cycles = row * latency / passes; /* RAM is the last */
		path->level_cycles[level] =
			fmax(fmax(moved, row * latency / passes), path->level_cycles[level - 1]);
	}
}
