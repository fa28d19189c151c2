/*
 * Walks the stacks that hold one function and adds their time up by the function before and after
 * it.
 */
#include "profile/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

/* Attributed time by (other function), and by (other function, line) to find the main line. */
struct side {
	struct sn_map of_function, of_line;
	SN_VEC(struct sn_call) calls;
	SN_VEC(uint64_t) line_times; /* by call: time of the line chosen so far */
	SN_VEC(uint64_t) times;	     /* by (function, line) */
};

static void side_add(struct side *side, uint32_t function, uint32_t line,
		     const struct sn_weight *weight, enum sn_time_kind kind)
{
	bool is_new;
	uint64_t *slot = sn_map_put(&side->of_function, function, &is_new), *line_slot;

	if (is_new) {
		struct sn_call call = { .function = function, .line = line };

		*slot = side->calls.count;
		sn_vec_push(&side->calls, call);
		sn_vec_push(&side->line_times, 0);
	}
	sn_weight_add(&side->calls.items[*slot].attributed, weight);
	line_slot = sn_map_put(&side->of_line, (uint64_t)function << 32 | line, &is_new);
	if (is_new) {
		*line_slot = side->times.count;
		sn_vec_push(&side->times, 0);
	}
	side->times.items[*line_slot] += sn_weight_time(weight, kind);
	if (side->times.items[*line_slot] > side->line_times.items[*slot]) {
		side->line_times.items[*slot] = side->times.items[*line_slot];
		side->calls.items[*slot].line = line;
	}
}

static void stack_add(const struct sn_step_vec *steps, uint32_t function, struct side *callers,
		      struct side *callees, const struct sn_weight *weight, enum sn_time_kind kind)
{
	uint32_t caller = SN_NONE, caller_line = SN_NONE, line = SN_NONE;
	bool is_met = false, is_last = false;
	const struct sn_step *callee = NULL;

	for (size_t i = 0; i < steps->count; i++) {
		const struct sn_step *step = &steps->items[i];

		if (step->kind != SN_STEP_FUNCTION)
			continue;
		if (step->index == function) {
			if (!is_met)
				side_add(callers, caller, caller_line, weight, kind);
			is_met = is_last = true;
			line = step->line;
			callee = NULL;
		} else if (is_last) {
			callee = step;
			is_last = false;
		}
		caller = step->index;
		caller_line = step->line;
	}
	if (callee)
		side_add(callees, callee->index, line, weight, kind);
}

struct order {
	const struct sn_program *program;
	enum sn_time_kind kind;
};

static int calls_compare(const void *left, const void *right, void *context)
{
	const struct sn_call *x = left, *y = right;
	const struct order *order = context;
	uint64_t tx = sn_weight_time(&x->attributed, order->kind);
	uint64_t ty = sn_weight_time(&y->attributed, order->kind);

	if (tx != ty)
		return tx > ty ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static void side_finish(struct side *side, struct order *order)
{
	if (side->calls.count)
		qsort_r(side->calls.items, side->calls.count, sizeof(*side->calls.items),
			calls_compare, order);
	sn_map_free(&side->of_function);
	sn_map_free(&side->of_line);
	sn_vec_free(&side->line_times);
	sn_vec_free(&side->times);
}

void sn_calls_find(const struct sn_profile *profile, uint32_t function, enum sn_time_kind kind,
		   struct sn_calls *out)
{
	struct side callers = { 0 }, callees = { 0 };
	struct order order = { profile->program, kind };
	struct sn_step_vec steps = { 0 };

	for (uint32_t s = 0; s <= profile->program->stack_count; s++) {
		const struct sn_weight *weight = &profile->stacks[s];

		if (!weight->cpu_ns && !weight->samples && !weight->waits)
			continue;
		sn_program_stack_steps(profile->program, s, &steps);
		stack_add(&steps, function, &callers, &callees, weight, kind);
	}
	sn_vec_free(&steps);
	side_finish(&callers, &order);
	side_finish(&callees, &order);
	*out = (struct sn_calls){ .function = function };
	memcpy(&out->callers, &callers.calls, sizeof(out->callers));
	memcpy(&out->callees, &callees.calls, sizeof(out->callees));
}

void sn_calls_free(struct sn_calls *calls)
{
	sn_vec_free(&calls->callers);
	sn_vec_free(&calls->callees);
}
