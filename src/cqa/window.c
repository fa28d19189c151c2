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

#include "cqa/bounds.h"
#include "cqa/window_parts.h"

enum {
	UNITS = 27, /* of a machine; the pairs of address units and the divider stand behind them */
	TRIAL_PASSES = 2,
	PORTION = 4,
};

#define FIRST_PAIR  (3u << UNITS)
#define SECOND_PAIR (3u << (UNITS + 2))
#define DIVIDER	    (1u << (UNITS + 4))
#define NEARLY_FULL 0.75

static void occupy(struct scheduler *scheduler, double from, double until)
{
	uint64_t cycle = (uint64_t)until;

	scheduler->occupied_cycles += until - from;
	if (cycle <= scheduler->first)
		return;
	if (cycle >= scheduler->first + RING)
		cycle = scheduler->first + RING - 1;
	scheduler->places[cycle % RING]++;
	scheduler->places[scheduler->first % RING]--;
	while (!scheduler->places[scheduler->first % RING])
		scheduler->first++;
}

/* The first cycle from `ready` on in which one of the units is free; it is taken. */
static double issue(struct window *window, struct pool *pool, double ready)
{
	uint64_t begin = first_cycle(ready), number;

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
	uint64_t begin = first_cycle(ready), length, free = 0;

	window->divider_rest += cycles;
	length = (uint64_t)(window->divider_rest + 1e-6);
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
	for (uint64_t k = 0; k < length; k++)
		cycle_at(window, begin + k)->units |= DIVIDER;
	window->last_used = begin + length > window->last_used ? begin + length : window->last_used;
	return (double)begin;
}

static double issue_address(struct window *window, bool is_vector_load, double ready)
{
	double when;

	window->was_first = is_vector_load || !window->was_first;
	when = issue(window, window->was_first ? &window->first_pair : &window->second_pair,
		     later(ready, window->front));
	occupy(&window->address, window->front,
	       when + window->flow->machine->rules.scheduler_hold_cycles);
	return when;
}

/* Of the vector operation dispatched now: when it is in the scheduler. */
static double enter_vector(struct window *window)
{
	double when = later(window->front, window->last_entered);

	when = later(when, (double)window->vector.first);
	window->last_entered = when;
	window->entered[window->entered_place++] = when;
	if (window->entered_place == window->flow->machine->rules.vector_queue_uops)
		window->entered_place = 0;
	return when;
}

/* How many they are this time. */
static unsigned count_now(struct operations *operations)
{
	unsigned whole;

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

	if (step->needs[LOAD] || step->needs[VECTOR_LOAD] || step->needs[STORE])
		least = later(least, (double)window->address.first);
	if (step->needs[GENERAL])
		least = later(least, (double)window->general.first);
	if (step->needs[VECTOR])
		least = later(least, window->entered[window->entered_place]);
	window->front = least;
}

static void retire(struct window *window, const struct step *step, double complete)
{
	double operations = (double)step->insn->issued_uops;

	window->last_retired = later(window->last_retired, complete);
	for (double k = 0; k < operations; k += 1) {
		window->retired_count++;
		window->retired[window->retired_place++] = window->last_retired;
		if (window->retired_place == window->flow->machine->rules.reorder_uops)
			window->retired_place = 0;
	}
	window->front += step->dispatch_cycles;
}

struct inputs {
	double by_role[SN_ROLE_LATE + 1]; /* when the last of each is there */
};

static struct inputs inputs_of(const struct window *window, size_t i)
{
	const struct sn_insn *insn = window->steps[i].insn;
	uint32_t early_reads = window->flow->early_reads[i];
	struct inputs in = { { 0 } };

	for (unsigned k = 0; k < insn->read_count; k++) {
		const struct sn_read *read = &insn->reads[k];
		double when = window->now[read->resource] +
			      (read->delay_cycles - (int)(early_reads >> k & 1));

		if (!(insn->is_stack_engine && read->resource == SN_RES_RSP))
			in.by_role[read->role] = later(in.by_role[read->role], when);
	}
	return in;
}

/* When the value that the load takes from a store is there; 0: it takes none. */
static double forwarded(const struct window *window, size_t number, unsigned pass)
{
	const struct sn_access *access = &window->flow->block->accesses->items[number];

	if (access->source < 0 || access->source_distance > pass)
		return 0;
	return window->stored[access->source][(pass - access->source_distance) % HISTORY];
}

/* Loads of the instruction: when the last operand is there. */
static double run_loads(struct window *window, size_t i, unsigned pass, const struct inputs *in,
			double *memory)
{
	const struct sn_data_flow *flow = window->flow;
	const struct sn_insn *insn = window->steps[i].insn;
	double operand = in->by_role[SN_ROLE_DATA];

	for (unsigned k = 0; k < insn->set_count; k++) {
		struct operations *loads = &window->steps[i].operations[k];

		if (loads->place != LOAD && loads->place != VECTOR_LOAD)
			continue;
		for (unsigned n = count_now(loads); n > 0; n--) {
			double when = issue_address(window, loads->place == VECTOR_LOAD,
						    in->by_role[SN_ROLE_ADDRESS]);

			operand = later(operand, when + (double)flow->load_latency[i]);
		}
	}
	for (unsigned k = 0; k < insn->memory_count; k++) {
		size_t number = flow->first_access[i] + k;
		double value = forwarded(window, number, pass);

		if (!flow->block->accesses->items[number].is_load || value <= 0)
			continue;
		*memory = later(*memory, value);
		operand = later(operand,
				value + sn_forward_cycles(flow, insn,
							  &flow->block->accesses->items[number]));
	}
	return operand;
}

/* Operations but loads and stores: when the first of them begins. */
static double run_units(struct window *window, size_t i, double ready)
{
	const struct sn_rules *rules = &window->flow->machine->rules;
	const struct sn_insn *insn = window->steps[i].insn;
	double first = INFINITY;

	for (unsigned k = 0; k < insn->set_count; k++) {
		struct operations *operations = &window->steps[i].operations[k];
		bool is_vector = operations->place == VECTOR;
		unsigned count;

		if (!is_vector && operations->place != GENERAL)
			continue;
		count = count_now(operations);
		for (unsigned n = 0; n < count; n++) {
			double from = is_vector ? enter_vector(window) : window->front;
			double when = issue(window, operations->pool, later(from, ready));

			/* microcode comes in small portions */
			if (n < PORTION && is_vector)
				occupy(&window->vector, window->front,
				       when + rules->vector_hold_cycles);
			else if (n < PORTION)
				occupy(&window->general, window->front,
				       when + rules->scheduler_hold_cycles);
			first = when < first ? when : first;
		}
	}
	if (insn->divider_cycles > 0) {
		double when =
			divide(window, (double)insn->divider_cycles, later(ready, window->front));

		first = isfinite(first) ? later(first, when) : when;
	}
	return isfinite(first) ? first : ready;
}

static double run_stores(struct window *window, size_t i, unsigned pass, const struct inputs *in,
			 double value, double memory)
{
	const struct sn_data_flow *flow = window->flow;
	const struct sn_rules *rules = &flow->machine->rules;
	const struct sn_insn *insn = window->steps[i].insn;
	double complete = 0;

	for (unsigned k = 0; k < insn->set_count; k++) {
		struct operations *stores = &window->steps[i].operations[k];
		unsigned count;

		if (stores->place != STORE)
			continue;
		count = count_now(stores);
		for (unsigned n = 0; n < count; n++) {
			double when = issue(window, stores->pool, later(value, window->front));

			/* one address, however long the store takes to write */
			if (n == 0 || insn->memory[0].is_vector_index)
				when = later(when,
					     issue_address(window, false,
							   later(in->by_role[SN_ROLE_STORE_ADDRESS],
								 in->by_role[SN_ROLE_ADDRESS])));
			complete = later(complete, when + 1);
		}
	}
	for (unsigned k = 0; k < insn->memory_count; k++) {
		size_t number = flow->first_access[i] + k;
		bool is_rmw = flow->block->accesses->items[number].is_load && memory > 0;
		double kept = value;

		if (!flow->block->accesses->items[number].is_store)
			continue;
		if (is_rmw)
			kept = later(in->by_role[SN_ROLE_DATA] + (double)insn->latency,
				     memory + (double)rules->rmw_forward_latency +
					     later((double)insn->latency - 1, 0));
		window->stored[number][pass % HISTORY] = kept;
	}
	return complete;
}

static void run_insn(struct window *window, size_t i, unsigned pass)
{
	const struct sn_insn *insn = window->steps[i].insn;
	struct inputs in;
	double operand, begin, done, memory = 0, complete;

	dispatch(window, &window->steps[i]);
	in = inputs_of(window, i);
	operand = run_loads(window, i, pass, &in, &memory);
	begin = run_units(window, i, operand);
	done = begin + (double)insn->latency;
	complete = later(done, run_stores(window, i, pass, &in,
					  insn->memory_count && !insn->write_count ? begin : done,
					  memory));
	for (unsigned k = 0; k < insn->write_count; k++) {
		if (insn->is_stack_engine && insn->writes[k] == SN_RES_RSP)
			continue;
		window->now[insn->writes[k]] =
			insn->writes[k] >= SN_RES_FLAG && in.by_role[SN_ROLE_LATE] > begin
				? in.by_role[SN_ROLE_LATE] + (double)insn->latency
				: done + (insn->writes[k] == insn->late_write);
	}
	retire(window, &window->steps[i], later(complete, window->front));
}

static void turn_x87(struct window *window)
{
	double before[8];

	for (unsigned i = 0; i < 8; i++)
		before[i] = window->now[SN_RES_X87 + window->flow->block->x87_end.at[i]];
	memcpy(&window->now[SN_RES_X87], before, sizeof(before));
}

/* An operation that may go to several units leaves those alone that others cannot do without. So
 * units are numbered anew, the least wanted first. */
static void number_units(const struct sn_data_flow *flow, unsigned numbers[UNITS])
{
	const struct sn_cqa_block *block = flow->block;
	double pressure[UNITS] = { 0 };

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].set_count; k++)
			for (uint32_t rest = block->insns[i].sets[k].units; rest; rest &= rest - 1)
				pressure[__builtin_ctz(rest)] +=
					(double)block->insns[i].sets[k].count /
					__builtin_popcount(block->insns[i].sets[k].units);
	for (unsigned u = 0; u < UNITS; u++) {
		numbers[u] = 0;
		for (unsigned other = 0; other < UNITS; other++)
			numbers[u] += pressure[other] < pressure[u] ||
				      (pressure[other] <= pressure[u] && other < u);
	}
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
	uint32_t numbered = 0;

	for (; units; units &= units - 1)
		numbered |= (uint32_t)1 << numbers[__builtin_ctz(units)];
	while (pool < window->pools + window->pool_count && pool->units != numbered)
		pool++;
	if (pool == window->pools + window->pool_count) {
		pool->units = numbered;
		window->pool_count++;
	}
	return pool;
}

static void fill_step(struct window *window, struct step *step, const struct sn_insn *insn,
		      const unsigned numbers[UNITS])
{
	const struct sn_machine *machine = window->flow->machine;

	step->insn = insn;
	step->dispatch_cycles = (double)insn->issued_uops / machine->rules.issue_width;
	for (unsigned k = 0; k < insn->set_count; k++) {
		struct operations *operations = &step->operations[k];

		operations->count = insn->sets[k].count;
		operations->place = place_of(machine, insn, insn->sets[k].units);
		operations->pool = pool_of(window, insn->sets[k].units, numbers);
		step->needs[operations->place] = true;
	}
}

static void window_init(struct window *window, const struct sn_data_flow *flow,
			struct sn_arena *arena)
{
	const struct sn_rules *rules = &flow->machine->rules;
	const struct sn_cqa_block *block = flow->block;
	unsigned numbers[UNITS];
	struct operations *operations;
	size_t count = 0;

	assert(flow->machine->unit_count <= UNITS && rules->reorder_uops <= REORDER_MOST &&
	       rules->vector_queue_uops <= QUEUE_MOST &&
	       rules->general_scheduler_uops <= UINT8_MAX &&
	       rules->address_scheduler_uops <= UINT8_MAX &&
	       rules->vector_scheduler_uops <= UINT8_MAX);
	memset(window, 0, sizeof(*window));
	window->flow = flow;
	window->general.places[0] = (uint8_t)rules->general_scheduler_uops;
	window->address.places[0] = (uint8_t)rules->address_scheduler_uops;
	window->vector.places[0] = (uint8_t)rules->vector_scheduler_uops;
	window->stored =
		sn_arena_alloc(arena, flow->block->accesses->count + 1, sizeof(*window->stored));
	for (size_t i = 0; i < block->accesses->count; i++)
		if (block->accesses->items[i].source >= 0 &&
		    block->accesses->items[i].source_distance > window->distance)
			window->distance = block->accesses->items[i].source_distance;
	number_units(flow, numbers);
	for (size_t i = 0; i < block->count; i++)
		count += block->insns[i].set_count;
	operations = sn_arena_array(arena, struct operations, count + 1);
	window->pools = sn_arena_array(arena, struct pool, count + 1);
	window->first_pair.units = FIRST_PAIR;
	window->second_pair.units = SECOND_PAIR;
	window->steps = sn_arena_array(arena, struct step, block->count);
	for (size_t i = 0; i < block->count; i++) {
		window->steps[i].operations = operations;
		operations += block->insns[i].set_count;
		fill_step(window, &window->steps[i], &block->insns[i], numbers);
	}
}

/* Would the schedulers or the reorder buffer be near full, if each pass took `cycles`? */
static bool is_filled(const struct window *window, double cycles)
{
	const struct sn_rules *rules = &window->flow->machine->rules;
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
		run_insn(window, i, pass);
	turn_x87(window);
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
