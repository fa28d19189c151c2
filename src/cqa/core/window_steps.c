/* A block as the window sees it. Values that decide nothing are left out, as each pass would have
 * to carry them along: results that are written anew before anything reads them (most flags), what
 * only these wait for, and stores that no load looks at. */
#include <math.h>

#include "cqa/core/window_parts.h"

/* An operation that may go to several units leaves those alone that others cannot do without. So
 * units are numbered anew, the least wanted first. */
static void number_units(const struct sn_data_flow *flow, unsigned numbers[SN_WINDOW_UNITS])
{
	const struct sn_cqa_block *block = flow->block;
	unsigned ascending[SN_WINDOW_UNITS], count = 0;
	double pressure[SN_WINDOW_UNITS] = { 0 };

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

static enum sn_uop_kind kind_of(const struct sn_machine *machine, const struct sn_insn *insn,
				uint32_t units)
{
	if (!(units & ~machine->vector_load_units))
		return SN_UOP_VECTOR_LOAD;
	if (!(units & ~(machine->load_units | machine->vector_load_units)))
		return SN_UOP_LOAD;
	if (units == machine->store_data_units)
		return SN_UOP_STORE;
	return insn->is_vector ? SN_UOP_VECTOR : SN_UOP_GENERAL;
}

static struct sn_window_port_set *ports_of(struct sn_window *window, uint32_t units,
					   const unsigned numbers[SN_WINDOW_UNITS])
{
	struct sn_window_port_set *ports = window->port_sets;

	while (ports < window->port_sets + window->port_set_count && ports->row_units != units)
		ports++;
	if (ports < window->port_sets + window->port_set_count)
		return ports;
	window->port_set_count++;
	ports->row_units = units;
	for (; units; units &= units - 1)
		ports->units |= (uint32_t)1 << numbers[__builtin_ctz(units)];
	return ports;
}

static bool is_between(enum sn_uop_kind kind, enum sn_uop_kind first, enum sn_uop_kind last)
{
	return kind >= first && kind <= last;
}

/* Those of the instruction's operations that are of one of these kinds. */
static struct sn_window_range add_operations(struct sn_window *window, const struct sn_insn *insn,
					     const unsigned numbers[SN_WINDOW_UNITS],
					     enum sn_uop_kind first, enum sn_uop_kind last)
{
	struct sn_window_range part = { window->operation_count, window->operation_count };

	for (unsigned k = 0; k < insn->set_count; k++) {
		enum sn_uop_kind kind = kind_of(window->flow->machine, insn, insn->sets[k].units);

		if (is_between(kind, first, last))
			window->operations[part.end++] = (struct sn_window_uops){
				.ports = kind < SN_UOP_STORE
						 ? NULL
						 : ports_of(window, insn->sets[k].units, numbers),
				.count = insn->sets[k].count,
				.whole = (unsigned)insn->sets[k].count,
				.is_whole = truncf(insn->sets[k].count) == insn->sets[k].count,
				.kind = kind,
			};
	}
	window->operation_count = part.end;
	return part;
}

/* Results that are still alive behind the instruction. */
static void add_outputs(struct sn_window *window, struct sn_window_step *step,
			const struct sn_flow_insn *insn)
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

static void add_inputs(struct sn_window *window, struct sn_window_step *step,
		       const struct sn_flow_insn *insn, enum sn_role role)
{
	step->inputs[role].begin = window->input_count;
	for (unsigned k = insn->read_begin[role]; k < insn->read_begin[role + 1]; k++) {
		window->inputs[window->input_count++] = insn->reads[k];
		window->is_alive[insn->reads[k].resource] = true;
	}
	step->inputs[role].end = window->input_count;
}

/* Values that its loads take from stores, and its stores whose values are taken. */
static void add_memory(struct sn_window *window, struct sn_window_step *step, size_t number,
		       const bool *is_taken)
{
	const struct sn_insn *insn = &window->flow->block->insns[number];
	uint32_t first = window->flow->insns[number].first_access;

	step->forwarded_loads.begin = window->forwarded_load_count;
	step->forwarded_stores.begin = window->forwarded_store_count;
	for (uint32_t i = first; i < first + insn->memory_count; i++) {
		const struct sn_access *access = &window->flow->block->accesses->items[i];

		if (access->is_load && access->source >= 0)
			window->forwarded_loads[window->forwarded_load_count++] =
				(struct sn_window_load){ window->flow->forward_cycles[i],
							 (uint32_t)access->source,
							 access->source_distance };
		if (access->is_store && is_taken[i])
			window->forwarded_stores[window->forwarded_store_count++] =
				(struct sn_window_store){ i, access->is_load };
	}
	step->forwarded_loads.end = window->forwarded_load_count;
	step->forwarded_stores.end = window->forwarded_store_count;
}

/* By how much the instruction may delay a value that is there long before it is dispatched. Where
 * no unit must be waited for, the result is there `latency` after the operand. */
static double lag_of(const struct sn_window *window, const struct sn_window_step *step)
{
	double delay = 0, forward = 0, latency = step->latency + 1;

	for (unsigned role = 0; role < SN_ROLE_COUNT; role++)
		for (uint32_t k = step->inputs[role].begin; k < step->inputs[role].end; k++)
			delay = sn_later(delay, window->inputs[k].cycles);
	for (uint32_t k = step->forwarded_loads.begin; k < step->forwarded_loads.end; k++)
		forward = sn_later(forward, window->forwarded_loads[k].forward_cycles);
	for (uint32_t k = step->computes.begin; k < step->computes.end; k++)
		if (window->operations[k].count >= 1)
			latency = 0;
	if (step->forwarded_stores.begin < step->forwarded_stores.end)
		latency = sn_later(step->latency, step->update_cycles);
	return delay + forward + latency;
}

static void fill_step(struct sn_window *window, size_t number,
		      const unsigned numbers[SN_WINDOW_UNITS], const bool *is_taken)
{
	const struct sn_insn *insn = &window->flow->block->insns[number];
	const struct sn_flow_insn *flow = &window->flow->insns[number];
	struct sn_window_step *step = &window->steps[number];
	bool has_accesses, has_flags = false;

	step->loads = add_operations(window, insn, numbers, SN_UOP_LOAD, SN_UOP_VECTOR_LOAD);
	step->stores = add_operations(window, insn, numbers, SN_UOP_STORE, SN_UOP_STORE);
	step->computes = add_operations(window, insn, numbers, SN_UOP_GENERAL, SN_UOP_VECTOR);
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
static void allot(struct sn_window *window, struct sn_arena *arena)
{
	const struct sn_cqa_block *block = window->flow->block;
	size_t accesses = block->accesses->count, sets = 0, reads = 0, writes = 0;

	for (size_t i = 0; i < block->count; i++) {
		sets += block->insns[i].set_count;
		reads += block->insns[i].read_count;
		writes += block->insns[i].write_count;
	}
	window->steps = sn_arena_array(arena, struct sn_window_step, block->count);
	window->operations = sn_arena_array(arena, struct sn_window_uops, sets + 1);
	window->port_sets = sn_arena_array(arena, struct sn_window_port_set, sets + 1);
	window->inputs = sn_arena_array(arena, struct sn_flow_read, reads + 1);
	window->outputs = sn_arena_array(arena, struct sn_flow_write, writes + 1);
	window->forwarded_loads = sn_arena_array(arena, struct sn_window_load, accesses + 1);
	window->forwarded_stores = sn_arena_array(arena, struct sn_window_store, accesses + 1);
	window->stored = sn_arena_alloc(arena, accesses + 1, sizeof(*window->stored));
}

/* What any instruction reads may be alive at the end of a pass. */
static void find_read(struct sn_window *window)
{
	const struct sn_cqa_block *block = window->flow->block;

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].read_count; k++)
			window->is_alive[block->insns[i].reads[k].resource] = true;
	for (unsigned i = SN_RES_X87; i < SN_RES_FLAG && window->flow->turns_x87; i++)
		window->is_alive[i] = true;
}

void sn_window_fill(struct sn_window *window, struct sn_arena *arena)
{
	const struct sn_cqa_block *block = window->flow->block;
	bool *is_taken = sn_arena_array(arena, bool, block->accesses->count + 1);
	unsigned numbers[SN_WINDOW_UNITS] = { 0 };

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
