/* How far the core sees ahead. Passes are put through the core one after the other in program
 * order: each operation is dispatched as soon as there is a place for it, and executed in the first
 * cycle, from its inputs on, in which one of its units is free. An operation is placed without
 * regard to younger ones, so this is what a core does that always takes the oldest ready operation.
 * What waits for inputs keeps its place in the scheduler, and when schedulers are full, nothing
 * younger enters: that is the time which the other bounds do not see.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cqa/bounds.h"
#include "cqa/flow.h"

enum {
	RING = 4096, /* cycles of which a unit's use is remembered */
	PASSES_LEAST = 12,
	PASSES_MOST = 400,
	OPERATIONS = 700, /* about as many are put through */
	HISTORY = 8,	  /* passes of which stored values are kept */
	UNITS = SN_UNITS_MAX + 4,
	FIRST_PAIR = SN_UNITS_MAX, /* the pairs of address units stand behind the machine's units */
	SECOND_PAIR = SN_UNITS_MAX + 2,
	DIVIDER = SN_UNITS_MAX + 4,
	TRIAL_PASSES = 2,
	PORTION = 4,
};

#define NEARLY_FULL   0.75
#define MEASURED_MORE 0.3 /* by which a measured latency of whole cycles may be too long */

/* The latest issue times of `size` operations, the least on top: an operation can be dispatched
 * when that one has left. */
struct scheduler {
	unsigned size, count;
	double *heap;
	double occupied_cycles; /* places times cycles */
};

/* The units in use in one cycle; the number tells which of those that share the place. */
struct cycle {
	uint64_t units;
	uint64_t number;
};

struct window {
	const struct sn_flow *flow;
	struct cycle *used;	/* [RING] */
	double pressure[UNITS]; /* what else wants the unit: the least wanted is taken */
	struct scheduler general, address, vector;
	double *entered; /* ring of when vector operations passed from their queue to the scheduler
			  */
	size_t entered_count;
	double last_entered;
	double *retired; /* ring of the reorder buffer */
	size_t retired_count;
	double last_retired;
	double front;	/* when the next operation can be dispatched */
	bool was_first; /* the last address went to the first pair */
	double now[SN_RES_COUNT];
	double (*stored)[HISTORY];	/* [access] */
	float (*rest)[SN_ROW_SETS_MAX]; /* [insn] parts of operations left over from earlier passes
					 */
	double divider_rest;
};

static void sift_down(struct scheduler *scheduler)
{
	unsigned at = 0;

	for (;;) {
		unsigned child = 2 * at + 1;
		double kept = scheduler->heap[at];

		if (child >= scheduler->count)
			return;
		if (child + 1 < scheduler->count &&
		    scheduler->heap[child + 1] < scheduler->heap[child])
			child++;
		if (kept <= scheduler->heap[child])
			return;
		scheduler->heap[at] = scheduler->heap[child];
		scheduler->heap[child] = kept;
		at = child;
	}
}

static double free_from(const struct scheduler *scheduler)
{
	return scheduler->count < scheduler->size ? 0 : scheduler->heap[0];
}

static void occupy(struct scheduler *scheduler, double from, double until)
{
	unsigned at;

	scheduler->occupied_cycles += until - from;
	if (scheduler->count == scheduler->size) {
		if (until > scheduler->heap[0]) {
			scheduler->heap[0] = until;
			sift_down(scheduler);
		}
		return;
	}
	at = scheduler->count++;
	while (at && scheduler->heap[(at - 1) / 2] > until) {
		scheduler->heap[at] = scheduler->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	scheduler->heap[at] = until;
}

static struct cycle *cycle_at(struct window *window, uint64_t number)
{
	struct cycle *cycle = &window->used[number % RING];

	if (cycle->number != number)
		*cycle = (struct cycle){ 0, number };
	return cycle;
}

static int least_wanted(const struct window *window, uint64_t units)
{
	int best = __builtin_ctzll(units);

	for (uint64_t rest = units & (units - 1); rest; rest &= rest - 1)
		if (window->pressure[__builtin_ctzll(rest)] < window->pressure[best])
			best = __builtin_ctzll(rest);
	return best;
}

/* The first cycle from `ready` on in which one of the units is free; it is taken. */
static double issue(struct window *window, uint64_t units, double ready)
{
	uint64_t number = (uint64_t)ceil(ready - MEASURED_MORE);

	for (;; number++) {
		struct cycle *cycle = cycle_at(window, number);
		uint64_t free = units & ~cycle->units;

		if (!free)
			continue;
		cycle->units |= (uint64_t)1 << least_wanted(window, free);
		return (double)number;
	}
}

/* The same for the divider, which is held for `cycles`; a part of a cycle is saved up. */
static double divide(struct window *window, double cycles, double ready)
{
	const uint64_t divider = (uint64_t)1 << DIVIDER;
	uint64_t begin = (uint64_t)ceil(ready - MEASURED_MORE), length, free = 0;

	window->divider_rest += cycles;
	length = (uint64_t)(window->divider_rest + 1e-6);
	window->divider_rest -= (double)length;
	length = length < RING / 2 ? length : RING / 2;
	while (free < length) {
		if (cycle_at(window, begin + free)->units & divider) {
			begin += free + 1;
			free = 0;
		} else {
			free++;
		}
	}
	for (uint64_t k = 0; k < length; k++)
		cycle_at(window, begin + k)->units |= divider;
	return (double)begin;
}

static double issue_address(struct window *window, bool is_vector_load, double ready)
{
	double when;

	window->was_first = is_vector_load || !window->was_first;
	when = issue(window, (uint64_t)3 << (window->was_first ? FIRST_PAIR : SECOND_PAIR),
		     ready > window->front ? ready : window->front);
	occupy(&window->address, window->front,
	       when + (double)window->flow->machine->rules.scheduler_hold_cycles);
	return when;
}

/* Of the vector operation dispatched now: when it is in the scheduler. */
static double enter_vector(struct window *window)
{
	unsigned queue = window->flow->machine->rules.vector_queue_uops;
	double when = window->front, free = free_from(&window->vector);

	when = when > window->last_entered ? when : window->last_entered;
	when = when > free ? when : free;
	window->last_entered = when;
	window->entered[window->entered_count++ % queue] = when;
	return when;
}

/* How many operations set `k` of instruction `i` is this time: counts need not be whole. */
static unsigned operations_of(struct window *window, size_t i, unsigned k)
{
	float *rest = &window->rest[i][k];
	unsigned whole;

	*rest += window->flow->block->insns[i].sets[k].count;
	whole = (unsigned)(*rest + 1e-4F);
	*rest -= (float)whole;
	return whole;
}

static bool is_load_set(const struct sn_machine *machine, uint32_t units)
{
	return !(units & ~(machine->load_units | machine->vector_load_units));
}

/* Dispatch waits for places in the reorder buffer and in every scheduler that the instruction
 * needs.
 */
static void dispatch(struct window *window, size_t i)
{
	const struct sn_machine *machine = window->flow->machine;
	const struct sn_insn *insn = &window->flow->block->insns[i];
	unsigned reorder = machine->rules.reorder_uops, queue = machine->rules.vector_queue_uops;
	double least = window->front;

	if (window->retired_count >= reorder)
		least = fmax(least, window->retired[window->retired_count % reorder]);
	for (unsigned k = 0; k < insn->set_count; k++) {
		uint32_t units = insn->sets[k].units;

		if (is_load_set(machine, units) || units == machine->store_data_units)
			least = fmax(least, free_from(&window->address));
		else if (!insn->is_vector)
			least = fmax(least, free_from(&window->general));
		else if (window->entered_count >= queue)
			least = fmax(least, window->entered[window->entered_count % queue]);
	}
	window->front = least;
}

static void retire(struct window *window, double complete, double operations)
{
	window->last_retired = fmax(window->last_retired, complete);
	for (double k = 0; k < operations; k += 1)
		window->retired[window->retired_count++ %
				window->flow->machine->rules.reorder_uops] = window->last_retired;
	window->front += operations / window->flow->machine->rules.issue_width;
}

struct inputs {
	double data, address, late, store_address;
};

static struct inputs inputs_of(const struct window *window, size_t i)
{
	const struct sn_insn *insn = &window->flow->block->insns[i];
	struct inputs in = { 0 };

	for (unsigned k = 0; k < insn->read_count; k++) {
		const struct sn_read *read = &insn->reads[k];
		double when = window->now[read->resource] + read->delay_cycles -
			      (window->flow->early_reads[i] >> k & 1 ? 1.0 : 0.0);
		double *into = read->role == SN_ROLE_DATA      ? &in.data
			       : read->role == SN_ROLE_ADDRESS ? &in.address
			       : read->role == SN_ROLE_LATE    ? &in.late
							       : &in.store_address;

		if (!(insn->is_stack_engine && read->resource == SN_RES_RSP))
			*into = fmax(*into, when);
	}
	return in;
}

/* When the value that the load takes from a store is there; 0: it takes none. */
static double forwarded(const struct window *window, size_t number, unsigned pass)
{
	const struct sn_access *access = &window->flow->accesses.items[number];

	if (access->source < 0 || access->source_distance > pass)
		return 0;
	return window->stored[access->source][(pass - access->source_distance) % HISTORY];
}

/* Loads of the instruction: when the last operand is there. */
static double run_loads(struct window *window, size_t i, unsigned pass, const struct inputs *in,
			double *memory)
{
	const struct sn_flow *flow = window->flow;
	const struct sn_insn *insn = &flow->block->insns[i];
	double operand = in->data;

	for (unsigned k = 0; k < insn->set_count; k++) {
		unsigned count;

		if (!is_load_set(flow->machine, insn->sets[k].units))
			continue;
		count = operations_of(window, i, k);
		for (unsigned n = 0; n < count; n++) {
			bool is_vector = !(insn->sets[k].units & ~flow->machine->vector_load_units);
			double when = issue_address(window, is_vector, in->address);

			operand = fmax(operand, when + (double)flow->load_latency[i]);
		}
	}
	for (unsigned k = 0; k < insn->memory_count; k++) {
		size_t number = flow->first_access[i] + k;
		double value = forwarded(window, number, pass);

		if (!flow->accesses.items[number].is_load || value <= 0)
			continue;
		*memory = fmax(*memory, value);
		operand = fmax(operand, value + sn_forward_cycles(flow, insn,
								  &flow->accesses.items[number]));
	}
	return operand;
}

/* Operations but loads and stores: when the first of them begins. */
static double run_units(struct window *window, size_t i, double ready)
{
	const struct sn_machine *machine = window->flow->machine;
	const struct sn_insn *insn = &window->flow->block->insns[i];
	double first = INFINITY;

	for (unsigned k = 0; k < insn->set_count; k++) {
		uint32_t units = insn->sets[k].units;
		unsigned count;

		if (is_load_set(machine, units) || units == machine->store_data_units)
			continue;
		count = operations_of(window, i, k);
		for (unsigned n = 0; n < count; n++) {
			double from = insn->is_vector ? enter_vector(window) : window->front;
			double when = issue(window, units, fmax(from, ready));

			/* microcode comes in small portions */
			if (n < PORTION)
				occupy(insn->is_vector ? &window->vector : &window->general,
				       window->front,
				       when + (double)(insn->is_vector
							       ? machine->rules.vector_hold_cycles
							       : machine->rules
									 .scheduler_hold_cycles));
			first = fmin(first, when);
		}
	}
	if (insn->divider_cycles > 0) {
		double when =
			divide(window, (double)insn->divider_cycles, fmax(ready, window->front));

		first = isfinite(first) ? fmax(first, when) : when;
	}
	return isfinite(first) ? first : ready;
}

static double run_stores(struct window *window, size_t i, unsigned pass, const struct inputs *in,
			 double value, double memory)
{
	const struct sn_flow *flow = window->flow;
	const struct sn_rules *rules = &flow->machine->rules;
	const struct sn_insn *insn = &flow->block->insns[i];
	double complete = 0;

	for (unsigned k = 0; k < insn->set_count; k++) {
		unsigned count;

		if (insn->sets[k].units != flow->machine->store_data_units)
			continue;
		count = operations_of(window, i, k);
		for (unsigned n = 0; n < count; n++) {
			double when =
				issue(window, insn->sets[k].units, fmax(value, window->front));

			/* one address, however long the store takes to write */
			if (n == 0 || insn->memory[0].is_vector_index)
				when = fmax(when,
					    issue_address(window, false,
							  fmax(in->store_address, in->address)));
			complete = fmax(complete, when + 1);
		}
	}
	for (unsigned k = 0; k < insn->memory_count; k++) {
		size_t number = flow->first_access[i] + k;
		bool is_rmw = flow->accesses.items[number].is_load && memory > 0;
		double kept = value;

		if (!flow->accesses.items[number].is_store)
			continue;
		if (is_rmw)
			kept = fmax(in->data + (double)insn->latency,
				    memory + (double)rules->rmw_forward_latency +
					    fmax((double)insn->latency - 1, 0));
		window->stored[number][pass % HISTORY] = kept;
	}
	return complete;
}

static void run_insn(struct window *window, size_t i, unsigned pass)
{
	const struct sn_insn *insn = &window->flow->block->insns[i];
	struct inputs in;
	double operand, begin, done, memory = 0, complete;

	dispatch(window, i);
	in = inputs_of(window, i);
	operand = run_loads(window, i, pass, &in, &memory);
	begin = run_units(window, i, operand);
	done = begin + (double)insn->latency;
	complete = fmax(done, run_stores(window, i, pass, &in,
					 insn->memory_count && !insn->write_count ? begin : done,
					 memory));
	for (unsigned k = 0; k < insn->write_count; k++) {
		if (insn->is_stack_engine && insn->writes[k] == SN_RES_RSP)
			continue;
		window->now[insn->writes[k]] = insn->writes[k] >= SN_RES_FLAG && in.late > begin
						       ? in.late + (double)insn->latency
						       : done;
	}
	retire(window, fmax(complete, window->front), (double)insn->issued_uops);
}

static void turn_x87(struct window *window)
{
	double before[8];

	for (unsigned i = 0; i < 8; i++)
		before[i] = window->now[SN_RES_X87 + window->flow->block->x87_end.at[i]];
	memcpy(&window->now[SN_RES_X87], before, sizeof(before));
}

/* An operation that may go to several units leaves those alone that others cannot do without. */
static void find_pressure(struct window *window)
{
	const struct sn_cqa_block *block = window->flow->block;

	for (size_t i = 0; i < block->count; i++)
		for (unsigned k = 0; k < block->insns[i].set_count; k++)
			for (uint32_t rest = block->insns[i].sets[k].units; rest; rest &= rest - 1)
				window->pressure[__builtin_ctz(rest)] +=
					(double)block->insns[i].sets[k].count /
					__builtin_popcount(block->insns[i].sets[k].units);
}

static void scheduler_init(struct scheduler *scheduler, unsigned size)
{
	*scheduler =
		(struct scheduler){ .size = size, .heap = sn_alloc_zeroed(size, sizeof(double)) };
}

static void window_init(struct window *window, const struct sn_flow *flow)
{
	const struct sn_rules *rules = &flow->machine->rules;

	memset(window, 0, sizeof(*window));
	window->flow = flow;
	window->used = sn_alloc_zeroed(RING, sizeof(*window->used));
	find_pressure(window);
	scheduler_init(&window->general, rules->general_scheduler_uops);
	scheduler_init(&window->address, rules->address_scheduler_uops);
	scheduler_init(&window->vector, rules->vector_scheduler_uops);
	window->entered = sn_alloc_zeroed(rules->vector_queue_uops, sizeof(double));
	window->retired = sn_alloc_zeroed(rules->reorder_uops, sizeof(double));
	window->stored = sn_alloc_zeroed(flow->accesses.count + 1, sizeof(*window->stored));
	window->rest = sn_alloc_zeroed(flow->block->count, sizeof(*window->rest));
}

static void window_free(struct window *window)
{
	free(window->used);
	free(window->general.heap);
	free(window->address.heap);
	free(window->vector.heap);
	free(window->entered);
	free(window->retired);
	free(window->stored);
	free(window->rest);
}

/* Would the schedulers or the reorder buffer be near full, if each pass took `cycles`? */
static bool is_filled(const struct window *window, double cycles)
{
	const struct scheduler *all[] = { &window->general, &window->address, &window->vector };
	double places = TRIAL_PASSES * cycles * NEARLY_FULL;

	for (unsigned i = 0; i < 3; i++)
		if (all[i]->occupied_cycles > places * all[i]->size)
			return true;
	return window->last_retired * (double)window->retired_count / TRIAL_PASSES >
	       places * window->flow->machine->rules.reorder_uops;
}

double sn_bound_window(const struct sn_machine *machine, const struct sn_cqa_block *block,
		       struct sn_arena *arena, double front_end_cycles, double bound_cycles)
{
	struct window window;
	unsigned passes, middle;
	double at_middle = 0, at_end;

	if (!machine->rules.general_scheduler_uops || !block->count)
		return 0;
	passes = (unsigned)(OPERATIONS / block->count) + PASSES_LEAST;
	passes = passes < PASSES_MOST ? passes : PASSES_MOST;
	middle = passes / 2;
	window_init(&window, sn_flow_new(machine, block, arena));
	for (unsigned pass = 0; pass < passes; pass++) {
		if (pass == middle)
			at_middle = window.last_retired;
		window.front = fmax(window.front, pass * front_end_cycles);
		for (size_t i = 0; i < block->count; i++)
			run_insn(&window, i, pass);
		turn_x87(&window);
		if (pass + 1 == TRIAL_PASSES && !is_filled(&window, bound_cycles)) {
			window_free(&window);
			return 0;
		}
	}
	at_end = window.last_retired;
	window_free(&window);
	return (at_end - at_middle) / (passes - middle);
}
