/* How far the core sees ahead. Passes are put through the core one after the other in program
 * order: each operation is dispatched as soon as there is a place for it, and executed in the first
 * cycle, from its inputs on, in which one of its units is free. An operation is placed without
 * regard to younger ones, so this is what a core does that always takes the oldest ready operation.
 * What waits for inputs keeps its place in the scheduler, and when schedulers are full, nothing
 * younger enters: that is the time which the other bounds do not see.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "cqa/core/bounds.h"
#include "cqa/core/window_parts.h"

enum {
	TRIAL_PASSES = 2,
	PORTION = 4,
};

#define NEARLY_FULL 0.9

static void occupy(struct scheduler *scheduler, double from, double until)
{
	int64_t cycle = (int64_t)until;

	scheduler->occupied_cycles += until - from;
	if (cycle <= scheduler->first)
		return;
	if (cycle >= scheduler->first + RING)
		cycle = scheduler->first + RING - 1;
	scheduler->places[(uint64_t)cycle % RING]++;
	scheduler->places[(uint64_t)scheduler->first % RING]--;
	while (!scheduler->places[(uint64_t)scheduler->first % RING])
		scheduler->first++;
}

/* The first cycle from `ready` on in which one of the units is free; it is taken. */
static double issue(struct window *window, struct pool *pool, double ready)
{
	int64_t begin = first_cycle(ready), number;

	for (number = begin;; number++) {
		struct cycle *cycle;
		uint32_t free;

		if (number >= pool->full_from && number < pool->full_end)
			number = pool->full_end;
		cycle = cycle_at(window, number);
		free = pool->units & ~cycle->units;
		if (!free)
			continue;
		cycle->units |= free & -free;
		break;
	}
	window->last_used = number > window->last_used ? number : window->last_used;
	if (number > begin && number >= pool->full_end) {
		if (begin < pool->full_from || begin > pool->full_end)
			pool->full_from = begin;
		pool->full_end = number;
	}
	return (double)number;
}

/* The same for the divider, which is held for `cycles`; a part of a cycle is saved up. */
static double divide(struct window *window, double cycles, double ready)
{
	int64_t begin = first_cycle(ready), length, free = 0;

	window->divider_rest += cycles;
	length = (int64_t)(window->divider_rest + 1e-6);
	window->divider_rest -= (double)length;
	length = length < RING / 2 ? length : RING / 2;
	while (free < length) {
		if (cycle_at(window, begin + free)->units & DIVIDER) {
			begin += free + 1;
			free = 0;
		} else {
			free++;
		}
	}
	for (int64_t k = 0; k < length; k++)
		cycle_at(window, begin + k)->units |= DIVIDER;
	window->last_used = begin + length > window->last_used ? begin + length : window->last_used;
	return (double)begin;
}

static double issue_address(struct window *window, enum place place, double ready)
{
	double when;

	window->was_first = place == VECTOR_LOAD || !window->was_first;
	when = issue(window, window->was_first ? &window->first_pair : &window->second_pair,
		     later(ready, window->front));
	occupy(&window->address, window->front,
	       when + (place == STORE ? window->rules->store_hold_cycles
				      : window->rules->load_hold_cycles));
	return when;
}

/* Of the vector operation dispatched now: when it is in the scheduler. */
static double enter_vector(struct window *window)
{
	double when = later(window->front, window->last_entered);

	when = later(when, (double)window->vector.first);
	window->last_entered = when;
	window->entered[window->entered_place++] = when;
	if (window->entered_place == window->rules->vector_queue_uops)
		window->entered_place = 0;
	return when;
}

/* How many they are this time. */
static unsigned count_now(struct operations *operations)
{
	unsigned whole = operations->whole;

	if (operations->is_whole)
		return whole;
	operations->left_over += operations->count;
	whole = (unsigned)(operations->left_over + 1e-4F);
	operations->left_over -= (float)whole;
	return whole;
}

/* Dispatch waits for places in the reorder buffer and in every scheduler that the instruction
 * needs.
 */
static void dispatch(struct window *window, const struct step *step)
{
	double least = later(window->front, window->retired[window->retired_place]);

	if (step->needs_address)
		least = later(least, (double)window->address.first);
	if (step->needs_general)
		least = later(least, (double)window->general.first);
	if (step->needs_vector)
		least = later(least, window->entered[window->entered_place]);
	window->front = least;
}

static void retire(struct window *window, const struct step *step, double complete)
{
	unsigned place = window->retired_place;

	window->last_retired = later(window->last_retired, complete);
	window->retired_count += step->retired_count;
	for (unsigned k = 0; k < step->retired_count; k++) {
		window->retired[place++] = window->last_retired;
		place = place == window->rules->reorder_uops ? 0 : place;
	}
	window->retired_place = place;
	window->front += step->dispatch_cycles;
}

/* When the last of these is there. */
static double inputs_ready(const struct window *window, struct part part)
{
	double last = 0;

	for (uint32_t k = part.begin; k < part.end; k++) {
		const struct sn_flow_read *input = &window->inputs[k];

		last = later(last, window->now[input->resource] + input->cycles);
	}
	return last;
}

/* Loads of the instruction: when the last operand, of which `data` come from registers, is there;
 * and the last value that is taken from a store. */
static double run_loads(struct window *window, const struct step *step, unsigned pass, double data,
			double address, double *memory)
{
	double operand = data;

	for (uint32_t k = step->loads.begin; k < step->loads.end; k++) {
		struct operations *loads = &window->operations[k];

		for (unsigned n = count_now(loads); n > 0; n--) {
			double when = issue_address(window, loads->place, address);

			operand = later(operand, when + step->load_latency);
		}
	}
	for (uint32_t k = step->taken.begin; k < step->taken.end; k++) {
		const struct taken *taken = &window->taken[k];
		double value = 0;

		if (taken->distance <= pass)
			value = window->stored[taken->store][(pass - taken->distance) % HISTORY];
		if (value <= 0)
			continue;
		*memory = later(*memory, value);
		operand = later(operand, value + taken->forward_cycles);
	}
	return operand;
}

/* Operations but loads and stores: when the first of them begins. */
static double run_units(struct window *window, const struct step *step, double ready)
{
	double first = INFINITY;

	for (uint32_t k = step->computes.begin; k < step->computes.end; k++) {
		struct operations *operations = &window->operations[k];
		bool is_vector = operations->place == VECTOR;
		unsigned count = count_now(operations);

		for (unsigned n = 0; n < count; n++) {
			double from = is_vector ? enter_vector(window) : window->front;
			double when = issue(window, operations->pool, later(from, ready));

			/* microcode comes in small portions */
			if (n < PORTION && is_vector)
				occupy(&window->vector, window->front,
				       when + window->rules->vector_hold_cycles);
			else if (n < PORTION)
				occupy(&window->general, window->front,
				       when + window->rules->general_hold_cycles);
			first = when < first ? when : first;
		}
	}
	if (step->divider_cycles > 0) {
		double when = divide(window, step->divider_cycles, later(ready, window->front));

		first = first < INFINITY ? later(first, when) : when;
	}
	return first < INFINITY ? first : ready;
}

/* Writes `value` when it is there: when the last store is done. */
static double run_stores(struct window *window, const struct step *step, double value,
			 double address)
{
	double complete = 0;

	for (uint32_t k = step->stores.begin; k < step->stores.end; k++) {
		struct operations *stores = &window->operations[k];
		unsigned count = count_now(stores);

		for (unsigned n = 0; n < count; n++) {
			double when = issue(window, stores->pool, later(value, window->front));

			/* one address, however long the store takes to write */
			if (n == 0 || step->is_scatter)
				when = later(when, issue_address(window, STORE, address));
			complete = later(complete, when + 1);
		}
	}
	return complete;
}

/* What is stored, for the loads that take it. A value that was itself taken (`memory`, 0: it was
 * not) and changed is there sooner. */
static void keep(struct window *window, const struct step *step, unsigned pass, double value,
		 double data, double memory)
{
	for (uint32_t k = step->kept.begin; k < step->kept.end; k++) {
		const struct kept *kept = &window->kept[k];
		double when = value;

		if (kept->is_rmw && memory > 0)
			when = later(data + step->latency, memory + step->update_cycles);
		window->stored[kept->store][pass % HISTORY] = when;
	}
}

static void run_step(struct window *window, const struct step *step, unsigned pass)
{
	double data = inputs_ready(window, step->inputs[SN_ROLE_DATA]);
	double address = 0, store_address = 0, operand = data, memory = 0, begin, done, complete;
	double late = inputs_ready(window, step->inputs[SN_ROLE_LATE]);

	dispatch(window, step);
	if (step->has_memory) {
		address = inputs_ready(window, step->inputs[SN_ROLE_ADDRESS]);
		store_address =
			later(inputs_ready(window, step->inputs[SN_ROLE_STORE_ADDRESS]), address);
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
		complete = later(done, run_stores(window, step, value, store_address));
	}
	retire(window, step, later(complete, window->front));
}

static void window_init(struct window *window, const struct sn_data_flow *flow,
			struct sn_arena *arena)
{
	const struct sn_rules *rules = &flow->machine->rules;

	assert(flow->machine->unit_count <= UNITS && rules->reorder_uops <= REORDER_MOST &&
	       rules->vector_queue_uops <= QUEUE_MOST &&
	       rules->general_scheduler_uops <= UINT8_MAX &&
	       rules->address_scheduler_uops <= UINT8_MAX &&
	       rules->vector_scheduler_uops <= UINT8_MAX);
	memset(window, 0, sizeof(*window));
	window->flow = flow;
	window->rules = rules;
	window->general.places[0] = (uint8_t)rules->general_scheduler_uops;
	window->address.places[0] = (uint8_t)rules->address_scheduler_uops;
	window->vector.places[0] = (uint8_t)rules->vector_scheduler_uops;
	window->first_pair.units = FIRST_PAIR;
	window->second_pair.units = SECOND_PAIR;
	sn_window_fill(window, arena);
}

/* Would the schedulers or the reorder buffer be near full, if each pass took `cycles`? */
static bool is_filled(const struct window *window, double cycles)
{
	const struct sn_rules *rules = window->rules;
	double places = TRIAL_PASSES * cycles * NEARLY_FULL;

	return window->general.occupied_cycles > places * rules->general_scheduler_uops ||
	       window->address.occupied_cycles > places * rules->address_scheduler_uops ||
	       window->vector.occupied_cycles > places * rules->vector_scheduler_uops ||
	       window->last_retired * window->retired_count / TRIAL_PASSES >
		       places * rules->reorder_uops;
}

static void run_pass(struct window *window, unsigned pass, double front_end_cycles)
{
	double delivered = pass * front_end_cycles;

	window->late_passes += delivered > window->front;
	window->front = later(window->front, delivered);
	for (size_t i = 0; i < window->flow->block->count; i++)
		run_step(window, &window->steps[i], pass);
	sn_flow_turn_x87(window->flow, &window->now[SN_RES_X87], sizeof(*window->now));
}

double sn_bound_window(const struct sn_data_flow *flow, struct sn_arena *arena,
		       double front_end_cycles, double bound_cycles)
{
	const struct sn_cqa_block *block = flow->block;
	struct window window;
	struct course course;
	unsigned middle, interval;

	if (!flow->machine->rules.general_scheduler_uops || !block->count)
		return 0;
	course.passes = (unsigned)(OPERATIONS / block->count) + PASSES_LEAST;
	course.passes = course.passes < PASSES_MOST ? course.passes : PASSES_MOST;
	course.mark_count = 0;
	course.front_end_cycles = front_end_cycles;
	middle = course.passes / 2;
	interval = MARK_INSNS / (unsigned)block->count + 1;
	window_init(&window, flow, arena);
	for (unsigned pass = 0; pass < course.passes; pass++) {
		if (pass > window.distance && pass % interval == 0 &&
		    sn_window_foresee(&course, &window, pass))
			break;
		run_pass(&window, pass, front_end_cycles);
		course.retired[pass + 1] = window.last_retired;
		if (pass + 1 == TRIAL_PASSES && !is_filled(&window, bound_cycles))
			return 0;
	}
	return (course.retired[course.passes] - course.retired[middle]) / (course.passes - middle);
}
