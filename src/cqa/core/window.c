/*
 * How far the core sees ahead. Passes are put through the core one after the other in program
 * order. Each operation is dispatched as soon as there is an entry for it in a scheduler. It is
 * executed in the first cycle, from its inputs on, in which one of its units is free, without
 * regard to younger operations. So this is a core that always takes the oldest ready operation.
 *
 * An operation that waits for inputs keeps its entry in the scheduler. When schedulers are full,
 * nothing younger enters: that is the time which the other bounds do not see.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "cqa/core/bounds.h"
#include "cqa/core/window_parts.h"

enum {
	TRIAL_PASSES = 2, /* (chosen) */
};

static void occupy(struct sn_window_scheduler *scheduler, double from, double until)
{
	int64_t cycle = (int64_t)until;

	scheduler->occupied_cycles += until - from;
	if (cycle <= scheduler->first)
		return;
	if (cycle >= scheduler->first + SN_WINDOW_RING)
		cycle = scheduler->first + SN_WINDOW_RING - 1;
	scheduler->freed[(uint64_t)cycle % SN_WINDOW_RING]++;
	scheduler->freed[(uint64_t)scheduler->first % SN_WINDOW_RING]--;
	while (!scheduler->freed[(uint64_t)scheduler->first % SN_WINDOW_RING])
		scheduler->first++;
}

/* The first cycle from `ready` on in which one of the units is free; it is taken. */
static double issue(struct sn_window *window, struct sn_window_port_set *ports, double ready)
{
	int64_t begin = sn_window_first_cycle(window, ready), number;

	for (number = begin;; number++) {
		struct sn_window_cycle *cycle;
		uint32_t free;

		if (number >= ports->full_from && number < ports->full_end)
			number = ports->full_end;
		cycle = sn_window_cycle_at(window, number);
		free = ports->units & ~cycle->units;
		if (!free)
			continue;
		cycle->units |= free & -free;
		break;
	}
	window->last_used = number > window->last_used ? number : window->last_used;
	if (number > begin && number >= ports->full_end) {
		if (begin < ports->full_from || begin > ports->full_end)
			ports->full_from = begin;
		ports->full_end = number;
	}
	return (double)number;
}

/* The same for the divider, which is held for `cycles`; a part of a cycle is saved up. */
static double divide(struct sn_window *window, double cycles, double ready)
{
	int64_t begin = sn_window_first_cycle(window, ready), length, free = 0;

	window->divider_rest += cycles;
	length = (int64_t)(window->divider_rest + 1e-6);
	window->divider_rest -= (double)length;
	length = length < SN_WINDOW_RING / 2 ? length : SN_WINDOW_RING / 2;
	while (free < length) {
		if (sn_window_cycle_at(window, begin + free)->units & SN_WINDOW_DIVIDER) {
			begin += free + 1;
			free = 0;
		} else {
			free++;
		}
	}
	for (int64_t k = 0; k < length; k++)
		sn_window_cycle_at(window, begin + k)->units |= SN_WINDOW_DIVIDER;
	window->last_used = begin + length > window->last_used ? begin + length : window->last_used;
	return (double)begin;
}

static double issue_address(struct sn_window *window, enum sn_uop_kind kind, double ready)
{
	double when;

	window->was_first = kind == SN_UOP_VECTOR_LOAD || !window->was_first;
	when = issue(window, window->was_first ? &window->first_pair : &window->second_pair,
		     sn_later(ready, window->front));
	occupy(&window->address, window->front,
	       when + (kind == SN_UOP_STORE ? window->rules->store_hold_cycles
					    : window->rules->load_hold_cycles));
	return when;
}

/* Of the vector operation dispatched now: when it is in the scheduler. */
static double enter_vector(struct sn_window *window)
{
	double when = sn_later(window->front, window->last_entered);

	when = sn_later(when, (double)window->vector.first);
	window->last_entered = when;
	window->entered[window->oldest_entered++] = when;
	if (window->oldest_entered == window->rules->vector_queue_uops)
		window->oldest_entered = 0;
	return when;
}

/* How many they are this time. */
static unsigned count_now(struct sn_window_uops *operations)
{
	unsigned whole = operations->whole;

	if (operations->is_whole)
		return whole;
	operations->left_over += operations->count;
	whole = (unsigned)(operations->left_over + 1e-4F);
	operations->left_over -= (float)whole;
	return whole;
}

/* Dispatch waits for entries of the reorder buffer and of every scheduler that the instruction
 * needs.
 */
static void dispatch(struct sn_window *window, const struct sn_window_step *step)
{
	double least = sn_later(window->front, window->retired[window->oldest_retired]);

	if (step->needs_address)
		least = sn_later(least, (double)window->address.first);
	if (step->needs_general)
		least = sn_later(least, (double)window->general.first);
	if (step->needs_vector)
		least = sn_later(least, window->entered[window->oldest_entered]);
	window->front = least;
}

static void retire(struct sn_window *window, const struct sn_window_step *step, double complete)
{
	unsigned entry = window->oldest_retired;

	window->last_retired = sn_later(window->last_retired, complete);
	window->retired_count += step->retired_count;
	for (unsigned k = 0; k < step->retired_count; k++) {
		window->retired[entry++] = window->last_retired;
		entry = entry == window->rules->reorder_uops ? 0 : entry;
	}
	window->oldest_retired = entry;
	window->front += step->dispatch_cycles;
}

/* When the last of these is there. */
static double inputs_ready(const struct sn_window *window, struct sn_window_range part)
{
	double last = 0;

	for (uint32_t k = part.begin; k < part.end; k++) {
		const struct sn_flow_read *input = &window->inputs[k];

		last = sn_later(last, window->now[input->resource] + input->cycles);
	}
	return last;
}

/* The loads of an instruction: when the last of its operands is there, of which `data` come from
 * registers; and the last value that is taken from a store. */
static double run_loads(struct sn_window *window, const struct sn_window_step *step, unsigned pass,
			double data, double address, double *memory)
{
	double operand = data;

	for (uint32_t k = step->loads.begin; k < step->loads.end; k++) {
		struct sn_window_uops *loads = &window->operations[k];

		for (unsigned n = count_now(loads); n > 0; n--) {
			double when = issue_address(window, loads->kind, address);

			operand = sn_later(operand, when + step->load_latency);
		}
	}
	for (uint32_t k = step->forwarded_loads.begin; k < step->forwarded_loads.end; k++) {
		const struct sn_window_load *load = &window->forwarded_loads[k];
		double value = 0;

		if (load->distance <= pass)
			value = window->stored[load->store]
					      [(pass - load->distance) % SN_WINDOW_STORED_PASSES];
		if (value <= 0)
			continue;
		*memory = sn_later(*memory, value);
		operand = sn_later(operand, value + load->forward_cycles);
	}
	return operand;
}

/* Operations but loads and stores: when the first of them begins. */
static double run_units(struct sn_window *window, const struct sn_window_step *step, double ready)
{
	double first = INFINITY;

	for (uint32_t k = step->computes.begin; k < step->computes.end; k++) {
		struct sn_window_uops *operations = &window->operations[k];
		bool is_vector = operations->kind == SN_UOP_VECTOR;
		unsigned count = count_now(operations);

		for (unsigned n = 0; n < count; n++) {
			double from = is_vector ? enter_vector(window) : window->front;
			double when = issue(window, operations->ports, sn_later(from, ready));

			/* what comes from microcode comes in portions, of which one waits at a time */
			if (n < window->rules->microcode_portion_uops && is_vector)
				occupy(&window->vector, window->front,
				       when + window->rules->vector_hold_cycles);
			else if (n < window->rules->microcode_portion_uops)
				occupy(&window->general, window->front,
				       when + window->rules->general_hold_cycles);
			first = when < first ? when : first;
		}
	}
	if (step->divider_cycles > 0) {
		double when = divide(window, step->divider_cycles, sn_later(ready, window->front));

		first = first < INFINITY ? sn_later(first, when) : when;
	}
	return first < INFINITY ? first : ready;
}

/* Writes `value` when it is there: when the last store is done. */
static double run_stores(struct sn_window *window, const struct sn_window_step *step, double value,
			 double address)
{
	double complete = 0;

	for (uint32_t k = step->stores.begin; k < step->stores.end; k++) {
		struct sn_window_uops *stores = &window->operations[k];
		unsigned count = count_now(stores);

		for (unsigned n = 0; n < count; n++) {
			double when = issue(window, stores->ports, sn_later(value, window->front));

			/* one address, however long the store takes to write */
			if (n == 0 || step->is_scatter)
				when = sn_later(when, issue_address(window, SN_UOP_STORE, address));
			complete = sn_later(complete, when + 1);
		}
	}
	return complete;
}

/* What is stored, for the loads that take it. A value that was itself taken (`memory`, 0: it was
 * not) and changed is there sooner. */
static void keep(struct sn_window *window, const struct sn_window_step *step, unsigned pass,
		 double value, double data, double memory)
{
	for (uint32_t k = step->forwarded_stores.begin; k < step->forwarded_stores.end; k++) {
		const struct sn_window_store *store = &window->forwarded_stores[k];
		double when = value;

		if (store->is_rmw && memory > 0)
			when = sn_later(data + step->latency, memory + step->update_cycles);
		window->stored[store->store][pass % SN_WINDOW_STORED_PASSES] = when;
	}
}

static void run_step(struct sn_window *window, const struct sn_window_step *step, unsigned pass)
{
	double data = inputs_ready(window, step->inputs[SN_ROLE_DATA]);
	double address = 0, store_address = 0, operand = data, memory = 0, begin, done, complete;
	double late = inputs_ready(window, step->inputs[SN_ROLE_LATE]);

	dispatch(window, step);
	if (step->has_memory) {
		address = inputs_ready(window, step->inputs[SN_ROLE_ADDRESS]);
		store_address = sn_later(inputs_ready(window, step->inputs[SN_ROLE_STORE_ADDRESS]),
					 address);
		operand = run_loads(window, step, pass, data, address, &memory);
	}
	begin = run_units(window, step, operand);
	complete = done = begin + step->latency;
	for (uint32_t k = step->outputs.begin; k < step->outputs.end; k++) {
		const struct sn_flow_write *output = &window->outputs[k];

		window->now[output->resource] = output->is_flag && late > begin
							? late + step->latency
							: done + output->is_late;
	}
	if (step->has_memory) {
		double value = step->is_store_alone ? begin : done;

		keep(window, step, pass, value, data, memory);
		complete = sn_later(done, run_stores(window, step, value, store_address));
	}
	retire(window, step, sn_later(complete, window->front));
}

static void window_init(struct sn_window *window, const struct sn_data_flow *flow,
			struct sn_arena *arena)
{
	const struct sn_rules *rules = &flow->machine->rules;

	assert(flow->machine->unit_count <= SN_WINDOW_UNITS &&
	       rules->reorder_uops <= SN_WINDOW_REORDER_MOST &&
	       rules->vector_queue_uops <= SN_WINDOW_QUEUE_MOST &&
	       rules->general_scheduler_uops <= UINT8_MAX &&
	       rules->address_scheduler_uops <= UINT8_MAX &&
	       rules->vector_scheduler_uops <= UINT8_MAX);
	memset(window, 0, sizeof(*window));
	window->flow = flow;
	window->rules = rules;
	window->general.freed[0] = (uint8_t)rules->general_scheduler_uops;
	window->address.freed[0] = (uint8_t)rules->address_scheduler_uops;
	window->vector.freed[0] = (uint8_t)rules->vector_scheduler_uops;
	window->first_pair.units = SN_WINDOW_FIRST_PAIR;
	window->second_pair.units = SN_WINDOW_SECOND_PAIR;
	sn_window_fill(window, arena);
}

/* Would the schedulers or the reorder buffer be near full, if each pass took `cycles`? */
static bool is_filled(const struct sn_window *window, double cycles)
{
	const struct sn_rules *rules = window->rules;
	double entries = TRIAL_PASSES * cycles * rules->window_filled_share;

	return window->general.occupied_cycles > entries * rules->general_scheduler_uops ||
	       window->address.occupied_cycles > entries * rules->address_scheduler_uops ||
	       window->vector.occupied_cycles > entries * rules->vector_scheduler_uops ||
	       window->last_retired * window->retired_count / TRIAL_PASSES >
		       entries * rules->reorder_uops;
}

static void run_pass(struct sn_window *window, unsigned pass, double front_end_cycles)
{
	double delivered = pass * front_end_cycles;

	window->late_passes += delivered > window->front;
	window->front = sn_later(window->front, delivered);
	for (size_t i = 0; i < window->flow->block->count; i++)
		run_step(window, &window->steps[i], pass);
	sn_flow_turn_x87(window->flow, &window->now[SN_RES_X87], sizeof(*window->now));
}

double sn_bound_window(const struct sn_data_flow *flow, struct sn_arena *arena,
		       double front_end_cycles, double bound_cycles)
{
	const struct sn_cqa_block *block = flow->block;
	struct sn_window window;
	struct sn_window_history history;
	unsigned middle, interval;

	if (!flow->machine->rules.general_scheduler_uops || !block->count)
		return 0;
	history.passes = (unsigned)(SN_WINDOW_INSNS / block->count) + SN_WINDOW_PASSES_LEAST;
	history.passes =
		history.passes < SN_WINDOW_PASSES_MOST ? history.passes : SN_WINDOW_PASSES_MOST;
	history.snapshot_count = 0;
	history.front_end_cycles = front_end_cycles;
	middle = history.passes / 2;
	interval = SN_WINDOW_SNAPSHOT_INSNS / (unsigned)block->count + 1;
	window_init(&window, flow, arena);
	for (unsigned pass = 0; pass < history.passes; pass++) {
		if (pass > window.distance && pass % interval == 0 &&
		    sn_window_foresee(&history, &window, pass))
			break;
		run_pass(&window, pass, front_end_cycles);
		history.retired[pass + 1] = window.last_retired;
		if (pass + 1 == TRIAL_PASSES && !is_filled(&window, bound_cycles))
			return 0;
	}
	return (history.retired[history.passes] - history.retired[middle]) /
	       (history.passes - middle);
}
