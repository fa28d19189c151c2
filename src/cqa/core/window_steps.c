/* A block as the window sees it. What decides nothing is left out, as each pass would have to carry
 * it along: results that are written anew before anything reads them (most flags), and what only
 * these wait for; stores that no load looks at. */
#include <math.h>

#include "cqa/core/window_parts.h"

/* An operation that may go to several units leaves those alone that others cannot do without. So
 * units are numbered anew, the least wanted first. */
static void number_units(const struct sn_data_flow *flow, unsigned numbers[UNITS])
{
	const struct sn_cqa_block *block = flow->block;
	unsigned ascending[UNITS], count = 0;
	double pressure[UNITS] = { 0 };

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].set_count; k++) {
			const struct sn_unit_set *set = &block->insns[i].sets[k];
			double share = (double)set->count / __builtin_popcount(set->units);

			for (uint32_t rest = set->units; rest; rest &= rest - 1)
				pressure[__builtin_ctz(rest)] += share;
		}
	for (unsigned u = 0; u < flow->machine->unit_count; u++) {
		unsigned place = count;

		if (pressure[u] <= 0)
			continue;
		for (; place && pressure[ascending[place - 1]] > pressure[u]; place--)
			ascending[place] = ascending[place - 1];
		ascending[place] = u;
		count++;
	}
	for (unsigned i = 0; i < count; i++)
		numbers[ascending[i]] = i;
}

static enum place place_of(const struct sn_machine *machine, const struct sn_insn *insn,
			   uint32_t units)
{
	if (!(units & ~machine->vector_load_units))
		return VECTOR_LOAD;
	if (!(units & ~(machine->load_units | machine->vector_load_units)))
		return LOAD;
	if (units == machine->store_data_units)
		return STORE;
	return insn->is_vector ? VECTOR : GENERAL;
}

static struct pool *pool_of(struct window *window, uint32_t units, const unsigned numbers[UNITS])
{
	struct pool *pool = window->pools;

	while (pool < window->pools + window->pool_count && pool->row_units != units)
		pool++;
	if (pool < window->pools + window->pool_count)
		return pool;
	window->pool_count++;
	pool->row_units = units;
	for (; units; units &= units - 1)
		pool->units |= (uint32_t)1 << numbers[__builtin_ctz(units)];
	return pool;
}

static bool is_between(enum place place, enum place first, enum place last)
{
	return place >= first && place <= last;
}

/* Those of the instruction's operations that go to one of these places. */
static struct part add_operations(struct window *window, const struct sn_insn *insn,
				  const unsigned numbers[UNITS], enum place first, enum place last)
{
	struct part part = { window->operation_count, window->operation_count };

	for (unsigned k = 0; k < insn->set_count; k++) {
		enum place place = place_of(window->flow->machine, insn, insn->sets[k].units);

		if (is_between(place, first, last))
			window->operations[part.end++] = (struct operations){
				.pool = place < STORE
						? NULL
						: pool_of(window, insn->sets[k].units, numbers),
				.count = insn->sets[k].count,
				.whole = (unsigned)insn->sets[k].count,
				.is_whole = truncf(insn->sets[k].count) == insn->sets[k].count,
				.place = place,
			};
	}
	window->operation_count = part.end;
	return part;
}

/* Results that are still alive behind the instruction. */
static void add_outputs(struct window *window, struct step *step, const struct sn_flow_insn *insn)
{
	step->outputs.begin = window->output_count;
	for (unsigned k = 0; k < insn->write_count; k++)
		if (window->is_alive[insn->writes[k].resource])
			window->outputs[window->output_count++] = insn->writes[k];
	step->outputs.end = window->output_count;
	for (uint32_t k = step->outputs.begin; k < step->outputs.end; k++)
		window->is_alive[window->outputs[k].resource] =
			window->flow->turns_x87 && window->outputs[k].resource >= SN_RES_X87 &&
			window->outputs[k].resource < SN_RES_FLAG;
}

static void add_inputs(struct window *window, struct step *step, const struct sn_flow_insn *insn,
		       enum sn_role role)
{
	step->inputs[role].begin = window->input_count;
	for (unsigned k = insn->read_begin[role]; k < insn->read_begin[role + 1]; k++) {
		window->inputs[window->input_count++] = insn->reads[k];
		window->is_alive[insn->reads[k].resource] = true;
	}
	step->inputs[role].end = window->input_count;
}

/* Values that its loads take from stores, and its stores whose values are taken. */
static void add_memory(struct window *window, struct step *step, size_t number,
		       const bool *is_taken)
{
	const struct sn_insn *insn = &window->flow->block->insns[number];
	uint32_t first = window->flow->insns[number].first_access;

	step->taken.begin = window->taken_count;
	step->kept.begin = window->kept_count;
	for (uint32_t i = first; i < first + insn->memory_count; i++) {
		const struct sn_access *access = &window->flow->block->accesses->items[i];

		if (access->is_load && access->source >= 0)
			window->taken[window->taken_count++] =
				(struct taken){ window->flow->forward_cycles[i],
						(uint32_t)access->source, access->source_distance };
		if (access->is_store && is_taken[i])
			window->kept[window->kept_count++] = (struct kept){ i, access->is_load };
	}
	step->taken.end = window->taken_count;
	step->kept.end = window->kept_count;
}

/* By how much the instruction may put off a value that is there long before it is dispatched: where
 * no unit must be waited for, the result is there `latency` after the operand. */
static double lag_of(const struct window *window, const struct step *step)
{
	double delay = 0, forward = 0, latency = step->latency + 1;

	for (unsigned role = 0; role < SN_ROLE_COUNT; role++)
		for (uint32_t k = step->inputs[role].begin; k < step->inputs[role].end; k++)
			delay = later(delay, window->inputs[k].cycles);
	for (uint32_t k = step->taken.begin; k < step->taken.end; k++)
		forward = later(forward, window->taken[k].forward_cycles);
	for (uint32_t k = step->computes.begin; k < step->computes.end; k++)
		if (window->operations[k].count >= 1)
			latency = 0;
	if (step->kept.begin < step->kept.end)
		latency = later(step->latency, step->update_cycles);
	return delay + forward + latency;
}

static void fill_step(struct window *window, size_t number, const unsigned numbers[UNITS],
		      const bool *is_taken)
{
	const struct sn_insn *insn = &window->flow->block->insns[number];
	const struct sn_flow_insn *flow = &window->flow->insns[number];
	struct step *step = &window->steps[number];
	bool has_accesses, has_flags = false;

	step->loads = add_operations(window, insn, numbers, LOAD, VECTOR_LOAD);
	step->stores = add_operations(window, insn, numbers, STORE, STORE);
	step->computes = add_operations(window, insn, numbers, GENERAL, VECTOR);
	has_accesses = step->loads.begin < step->stores.end;
	add_outputs(window, step, flow);
	for (uint32_t k = step->outputs.begin; k < step->outputs.end; k++)
		has_flags |= window->outputs[k].is_flag;
	add_inputs(window, step, flow, SN_ROLE_DATA);
	if (has_accesses)
		add_inputs(window, step, flow, SN_ROLE_ADDRESS);
	if (step->stores.begin < step->stores.end)
		add_inputs(window, step, flow, SN_ROLE_STORE_ADDRESS);
	if (has_flags)
		add_inputs(window, step, flow, SN_ROLE_LATE);
	add_memory(window, step, number, is_taken);
	step->latency = flow->latency;
	step->update_cycles = flow->update_cycles;
	step->load_latency = flow->load_latency;
	step->divider_cycles = (double)insn->divider_cycles;
	step->dispatch_cycles = (double)insn->issued_uops / window->rules->issue_width;
	step->retired_count = (unsigned)ceilf(insn->issued_uops);
	step->has_memory = has_accesses || insn->memory_count;
	step->is_scatter = insn->memory[0].is_vector_index;
	step->is_store_alone = insn->memory_count && !insn->write_count;
	step->needs_address = has_accesses;
	for (uint32_t k = step->computes.begin; k < step->computes.end; k++) {
		step->needs_general |= !insn->is_vector;
		step->needs_vector |= insn->is_vector;
	}
	window->idle_cycles += lag_of(window, step);
}

/* All arrays as long as they can become. */
static void allot(struct window *window, struct sn_arena *arena)
{
	const struct sn_cqa_block *block = window->flow->block;
	size_t accesses = block->accesses->count, sets = 0, reads = 0, writes = 0;

	for (size_t i = 0; i < block->count; i++) {
		sets += block->insns[i].set_count;
		reads += block->insns[i].read_count;
		writes += block->insns[i].write_count;
	}
	window->steps = sn_arena_array(arena, struct step, block->count);
	window->operations = sn_arena_array(arena, struct operations, sets + 1);
	window->pools = sn_arena_array(arena, struct pool, sets + 1);
	window->inputs = sn_arena_array(arena, struct sn_flow_read, reads + 1);
	window->outputs = sn_arena_array(arena, struct sn_flow_write, writes + 1);
	window->taken = sn_arena_array(arena, struct taken, accesses + 1);
	window->kept = sn_arena_array(arena, struct kept, accesses + 1);
	window->stored = sn_arena_alloc(arena, accesses + 1, sizeof(*window->stored));
}

/* What any instruction reads may be alive at the end of a pass. */
static void find_read(struct window *window)
{
	const struct sn_cqa_block *block = window->flow->block;

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].read_count; k++)
			window->is_alive[block->insns[i].reads[k].resource] = true;
	for (unsigned i = SN_RES_X87; i < SN_RES_FLAG && window->flow->turns_x87; i++)
		window->is_alive[i] = true;
}

void sn_window_fill(struct window *window, struct sn_arena *arena)
{
	const struct sn_cqa_block *block = window->flow->block;
	bool *is_taken = sn_arena_array(arena, bool, block->accesses->count + 1);
	unsigned numbers[UNITS] = { 0 };

	allot(window, arena);
	for (size_t i = 0; i < block->accesses->count; i++) {
		const struct sn_access *access = &block->accesses->items[i];

		if (access->source < 0)
			continue;
		is_taken[access->source] = true;
		if (access->source_distance > window->distance)
			window->distance = access->source_distance;
	}
	number_units(window->flow, numbers);
	find_read(window);
	for (size_t i = block->count; i-- > 0;)
		fill_step(window, i, numbers, is_taken);
}
