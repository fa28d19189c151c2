/*
 * Heartbeats that are inserted: an iteration of a loop, or a call of a function, whose blocks are then all copied. A beat of
 * a loop is open in its blocks, but not in those of a test on top: there the source's body has not begun. It begins, ends and
 * goes over to the next on the edges between blocks, so that whatever way an iteration takes it is counted once.
 */
#include "rewrite/rewrite_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool is_in(const struct rw_nest *nest, size_t position, uint32_t loop)
{
	const struct sn_function *function = nest->function;

	return rw_loop_holds(function, (int32_t)loop,
			     function->blocks[nest->blocks.items[position].index].loop);
}

/* ---- the test on top ---- */

/* The line of an instruction in the subroutine that the loop was written in; 0: unknown. */
static uint32_t line_in_loop(const struct sn_loop *loop, uint64_t link_addr)
{
	const struct sn_function *function = loop->function;
	const struct sn_line *line = sn_function_line_at(function, link_addr);
	int32_t at = line ? line->inline_index : -1;
	uint32_t number = line ? line->line : 0;

	while (at >= 0 && at != loop->inline_index) {
		number = function->inlines[at].call_line;
		at = function->inlines[at].parent;
	}
	return number;
}

/* Leaves the loop or goes on in it, by a branch of the loop's statement. */
static bool is_test(const struct rw_nest *nest, const struct sn_loop *loop, size_t position)
{
	const struct rw_block *block = &nest->blocks.items[position];
	const struct sn_function *function = nest->function;
	const struct sn_block *b = &function->blocks[block->index];
	const struct rw_insn *last = &nest->insns.items[block->first_insn + block->insn_count - 1];
	bool stays = false, leaves = false;

	if (!block->insn_count || last->flow != SN_FLOW_BRANCH)
		return false;
	for (uint32_t s = 0; s < b->successor_count; s++) {
		const struct sn_block *to =
			&function->blocks[function->successors[b->first_successor + s]];
		bool is_inside = rw_loop_holds(function, (int32_t)loop->index, to->loop);

		if (to->link_addr == loop->header_link_addr)
			return false; /* the test is at the bottom */
		stays |= is_inside;
		leaves |= !is_inside;
	}
	if (!stays || !leaves)
		return false;
	if (!loop->line_first)
		return b->link_addr == loop->header_link_addr;
	return line_in_loop(loop, last->link_addr) == loop->line_first;
}

/* Each of the ways to a block comes from the test. */
static bool comes_from_test(const struct rw_nest *nest, const bool *is_open, size_t position)
{
	const struct sn_function *function = nest->function;
	uint32_t index = nest->blocks.items[position].index;

	for (uint32_t b = 0; b < function->block_count; b++)
		for (uint32_t s = 0; s < function->blocks[b].successor_count; s++)
			if (function->successors[function->blocks[b].first_successor + s] ==
				    index &&
			    (nest->position[b] < 0 || is_open[nest->position[b]]))
				return false;
	return true;
}

static void find_open(const struct rw_nest *nest, const struct sn_loop *loop, bool *is_open)
{
	const struct sn_function *function = nest->function;
	int32_t at = nest->position[rw_block_at(function, loop->header_link_addr)];

	for (size_t i = 0; i < nest->blocks.count; i++)
		is_open[i] = is_in(nest, i, loop->index);
	/* a && b: one test leads to the next */
	while (at >= 0 && is_test(nest, loop, (size_t)at)) {
		const struct sn_block *b = &function->blocks[nest->blocks.items[at].index];
		int32_t next = -1;

		is_open[at] = false;
		for (uint32_t s = 0; s < b->successor_count; s++) {
			int32_t to = nest->position[function->successors[b->first_successor + s]];

			if (to >= 0 && is_open[to] && comes_from_test(nest, is_open, (size_t)to))
				next = to;
		}
		at = next;
	}
}

/* ---- the stack pointer ---- */

static int64_t stack_at_end(const struct rw_nest *nest, uint32_t loop, size_t position)
{
	const struct rw_block *block = &nest->blocks.items[position];
	int64_t at = nest->beats->stack[loop][position];

	for (uint32_t i = 0; i < block->insn_count; i++)
		at += nest->insns.items[block->first_insn + i].stack_change;
	return at;
}

/* A beat is known again by the stack pointer at its loop's header; why it cannot be told, or NULL. */
static const char *find_stack(const struct rw_nest *nest, const struct sn_loop *loop)
{
	const struct sn_function *function = nest->function;
	size_t header = (size_t)nest->position[rw_block_at(function, loop->header_link_addr)];
	bool *is_known = sn_alloc_zeroed(nest->blocks.count + 1, sizeof(*is_known));
	int64_t *stack = nest->beats->stack[loop->index];
	const char *why = NULL;
	SN_VEC(size_t) work = { 0 };

	is_known[header] = true;
	sn_vec_push(&work, header);
	while (work.count && !why) {
		size_t at = work.items[--work.count];
		const struct rw_block *block = &nest->blocks.items[at];
		const struct sn_block *b = &function->blocks[block->index];
		int64_t after = stack_at_end(nest, loop->index, at);

		for (uint32_t i = 0; i < block->insn_count; i++)
			if (!nest->insns.items[block->first_insn + i].has_stack_change)
				why = "it moves the stack pointer by an amount that its code does not tell";
		for (uint32_t s = 0; s < b->successor_count; s++) {
			int32_t to = nest->position[function->successors[b->first_successor + s]];

			if (to < 0 || !is_in(nest, (size_t)to, loop->index))
				continue;
			if (is_known[to] && stack[to] != after)
				why = "ways through it leave the stack pointer elsewhere";
			if (is_known[to])
				continue;
			is_known[to] = true;
			stack[to] = after;
			sn_vec_push(&work, (size_t)to);
		}
	}
	sn_vec_free(&work);
	free(is_known);
	return why;
}

void rw_beats_find(struct rw_nest *nest)
{
	const struct sn_function *function = nest->function;
	struct rw_beats *beats = nest->beats;

	beats->is_open = sn_arena_array(&nest->arena, bool *, function->loop_count + 1u);
	beats->stack = sn_arena_array(&nest->arena, int64_t *, function->loop_count + 1u);
	for (uint32_t l = 0; l < function->loop_count; l++) {
		if (!nest->is_selected[l])
			continue;
		beats->is_open[l] = sn_arena_array(&nest->arena, bool, nest->blocks.count + 1);
		beats->stack[l] = sn_arena_array(&nest->arena, int64_t, nest->blocks.count + 1);
		if (function->loops[l].is_irreducible ||
		    rw_block_at(function, function->loops[l].header_link_addr) < 0) {
			beats->why_not[l] = "it can be entered elsewhere than at its header";
		} else {
			find_open(nest, &function->loops[l], beats->is_open[l]);
			beats->why_not[l] = find_stack(nest, &function->loops[l]);
		}
		nest->is_selected[l] = !beats->why_not[l];
	}
}

/* ---- edges ---- */

static struct rw_op loop_op(const struct rw_nest *nest, enum rw_op_kind kind, int32_t loop,
			    int64_t stack)
{
	return (struct rw_op){ .kind = (uint8_t)kind,
			       .plan_index = nest->beats->of_loop[loop],
			       .stack = stack };
}

size_t rw_beats_on_edge(const struct rw_nest *nest, const struct rw_block *from, uint64_t to,
			struct rw_op *ops)
{
	const struct sn_function *function = nest->function;
	const struct rw_block *into = rw_block_in(nest, rw_block_at(function, to));
	int32_t from_loop = from ? function->blocks[from->index].loop : -1;
	int32_t to_loop = into ? function->blocks[into->index].loop : -1;
	size_t count = 0, first, position = from ? (size_t)(from - nest->blocks.items) : 0;

	for (int32_t l = from_loop; l >= 0; l = function->loops[l].parent) {
		bool stays_open;

		if (!nest->is_selected[l] || !nest->beats->is_open[l][position])
			continue;
		stays_open = into && nest->beats->is_open[l][into - nest->blocks.items];
		if (!stays_open || to == function->loops[l].header_link_addr)
			ops[count++] = loop_op(nest, stays_open ? RW_BEAT_NEXT : RW_BEAT_END, l,
					       stack_at_end(nest, (uint32_t)l, position));
	}
	if (nest->beats->body >= 0 && (!from || !into))
		ops[count++] = (struct rw_op){ .kind = from ? RW_BEAT_END : RW_BEAT_BEGIN,
					       .plan_index = (uint32_t)nest->beats->body };
	first = count;
	for (int32_t l = to_loop; l >= 0; l = function->loops[l].parent) {
		bool is_from_within = from && rw_loop_holds(function, l, from_loop);

		if (!nest->is_selected[l] || !nest->beats->is_open[l][into - nest->blocks.items] ||
		    (is_from_within && nest->beats->is_open[l][position]))
			continue;
		memmove(&ops[first + 1], &ops[first], (count - first) * sizeof(*ops));
		ops[first] =
			loop_op(nest, RW_BEAT_BEGIN, l,
				is_from_within ? stack_at_end(nest, (uint32_t)l, position) : 0);
		count++;
	}
	return count;
}

size_t rw_beats_on_landing(const struct rw_nest *nest, const struct rw_block *at, struct rw_op *ops)
{
	size_t count = 0;

	if (nest->beats->counts_blocks)
		return 0;
	ops[count++] = (struct rw_op){ .kind = RW_BEAT_CAUGHT };
	for (uint32_t l = nest->function->loop_count; l-- > 0;)
		if (nest->is_selected[l] && !nest->beats->is_open[l][at - nest->blocks.items])
			ops[count++] = loop_op(nest, RW_BEAT_END, (int32_t)l, 0);
	return count;
}

size_t rw_beats_on_resume(const struct rw_nest *nest, const struct rw_block *at, struct rw_op *ops)
{
	const struct rw_insn *last = &nest->insns.items[at->first_insn + at->insn_count - 1];
	const struct sn_function *called =
		last->flow == SN_FLOW_CALL ? sn_structure_function_at(nest->rewriter->structure,
								      last->target_link_addr)
					   : NULL;
	size_t count = 0;

	if (!called || strncmp(called->linkage_name, "_Unwind_Resume", 14) != 0)
		return 0;
	for (uint32_t l = nest->function->loop_count; l-- > 0;)
		if (nest->is_selected[l] && nest->beats->is_open[l][at - nest->blocks.items])
			ops[count++] = loop_op(nest, RW_BEAT_LEFT, (int32_t)l, 0);
	if (nest->beats->body >= 0)
		ops[count++] = (struct rw_op){ .kind = RW_BEAT_LEFT,
					       .plan_index = (uint32_t)nest->beats->body };
	return count;
}

/* ---- a function's heartbeats ---- */

struct asked {
	const struct sn_function *function;
	size_t at; /* among the heartbeats that are asked for */
};

/* Of one function. */
struct group {
	struct rw_plan *plan;
	struct sn_rewriter *rewriter;
	const struct sn_function *function;
	const struct sn_inserted_beat *beats;
	const char **refusals;
	size_t *of_loop; /* by the loop's index: the heartbeat + 1, 0: none */
	bool *is_selected;
	const char **why_not; /* likewise, once it has been tried */
	struct sn_arena arena;
};

static uint32_t add_entry(struct rw_plan *plan, const struct sn_inserted_beat *beat,
			  uint64_t link_addr)
{
	struct sn_plan_loop entry = { .header_link_addr = link_addr,
				      .step = beat->every > 1 ? beat->every : 1,
				      .counting = SN_PLAN_COUNT_BEATS,
				      .unit_words = 1,
				      .table = (uint32_t)plan->tables.length,
				      .table_bytes = (uint32_t)strlen(beat->name) + 1 };
	static const char zeros[8];

	sn_text_add_bytes(&plan->tables, beat->name, entry.table_bytes);
	sn_text_add_bytes(&plan->tables, zeros, (8 - entry.table_bytes % 8) % 8);
	sn_vec_push(&plan->loops, entry);
	return (uint32_t)plan->loops.count - 1;
}

/* The loops that are selected in `outer`, and the function's calls if `body` is one of the heartbeats. */
static const char *add_nest(struct group *group, const struct sn_loop *outer,
			    const struct sn_inserted_beat *body)
{
	const struct sn_function *function = group->function;
	struct rw_plan_mark before = rw_plan_mark(group->plan);
	struct rw_beats beats = { .body = -1, .why_not = group->why_not };
	struct rw_nest nest;
	const char *why;

	beats.of_loop = sn_arena_array(&group->arena, uint32_t, function->loop_count + 1u);
	why = rw_nest_begin(&nest, group->rewriter, outer, group->is_selected, &beats);
	if (!why)
		why = rw_whole_calls_refusal(&nest);
	if (!why && !body)
		why = group->why_not[outer->index];
	if (!why && body)
		beats.body = (int32_t)add_entry(group->plan, body, function->link_addr);
	for (uint32_t l = 0; !why && l < function->loop_count; l++)
		if (nest.is_selected[l])
			beats.of_loop[l] =
				add_entry(group->plan, &group->beats[group->of_loop[l] - 1],
					  function->loops[l].header_link_addr);
	if (!why && group->plan->loops.count > SN_PLAN_LOOPS_MAX)
		why = "there are more heartbeats than a plan can have";
	if (!why)
		why = rw_nest_copy(&nest, &group->plan->pieces, &group->plan->thunks, 0,
				   group->plan->loops.items, &group->plan->patches,
				   &group->plan->tables);
	if (why)
		rw_plan_return(group->plan, before);
	rw_nest_end(&nest);
	return why;
}

/* If a loop is refused, those within it have a chance of their own. */
static void add_loops(struct group *group)
{
	const struct sn_function *function = group->function;
	bool *is_done = sn_arena_array(&group->arena, bool, function->loop_count + 1u);

	for (uint32_t l = 0; l < function->loop_count; l++) {
		const char *why;

		if (!group->is_selected[l] || is_done[l])
			continue;
		why = add_nest(group, &function->loops[l], NULL);
		if (why)
			group->why_not[l] = why;
		for (uint32_t inner = l; !why && inner < function->loop_count; inner++)
			is_done[inner] |= rw_loop_holds(function, (int32_t)l, (int32_t)inner);
	}
}

static void add_group(struct group *group, const struct asked *asked, size_t count)
{
	const struct sn_inserted_beat *body = NULL;
	struct sn_loop whole = rw_whole_function(group->rewriter, group->function, &group->arena);
	size_t body_at = 0;
	const char *why = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct sn_inserted_beat *beat = &group->beats[asked[i].at];

		if (beat->loop ? group->of_loop[beat->loop->index] != 0 : body != NULL) {
			group->refusals[asked[i].at] = "another heartbeat is at the same place";
		} else if (beat->loop) {
			group->of_loop[beat->loop->index] = asked[i].at + 1;
			group->is_selected[beat->loop->index] = true;
		} else {
			body = beat;
			body_at = asked[i].at;
		}
	}
	if (body) {
		why = rw_whole_entries_refusal(group->rewriter, group->function);
		if (!why)
			why = add_nest(group, &whole, body);
		group->refusals[body_at] = why;
	}
	if (!body || why)
		add_loops(group);
	for (uint32_t l = 0; l < group->function->loop_count; l++)
		if (group->of_loop[l])
			group->refusals[group->of_loop[l] - 1] = group->why_not[l];
}

static int by_function(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	if (x->function != y->function)
		return x->function->index < y->function->index ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static size_t add_function(struct rw_plan *plan, struct sn_rewriter *rewriter,
			   const struct sn_inserted_beat *beats, const struct asked *asked,
			   size_t count, const char **refusals)
{
	const struct sn_function *function = asked->function;
	struct group group = { .plan = plan,
			       .rewriter = rewriter,
			       .function = function,
			       .beats = beats,
			       .refusals = refusals };
	size_t before = plan->loops.count;

	group.of_loop = sn_arena_array(&group.arena, size_t, function->loop_count + 1u);
	group.is_selected = sn_arena_array(&group.arena, bool, function->loop_count + 1u);
	group.why_not = sn_arena_array(&group.arena, const char *, function->loop_count + 1u);
	add_group(&group, asked, count);
	sn_arena_free(&group.arena);
	return plan->loops.count - before;
}

size_t sn_rewriter_beats(struct sn_rewriter *rewriter, const struct sn_inserted_beat *beats,
			 size_t count, const char **refusals, struct sn_text *out)
{
	struct asked *asked = sn_alloc_zeroed(count + 1, sizeof(*asked));
	struct rw_plan plan;
	size_t added = 0;

	for (size_t i = 0; i < count; i++) {
		asked[i] = (struct asked){ .function = beats[i].function, .at = i };
		refusals[i] = NULL;
	}
	qsort(asked, count, sizeof(*asked), by_function);
	rw_plan_begin(&plan);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && asked[end].function == asked[first].function;)
			end++;
		added += add_function(&plan, rewriter, beats, &asked[first], end - first, refusals);
	}
	if (added)
		rw_plan_write(&plan, rewriter, out);
	rw_plan_end(&plan);
	free(asked);
	return added;
}
