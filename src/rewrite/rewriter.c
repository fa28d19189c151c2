/* What is known of a module, and the question whether one of its loops can run as a copy: the answer
 * comes from making it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "rewrite/recorder_parts.h"

struct sn_rewriter *sn_rewriter_new(struct sn_image *image, struct sn_structure *structure)
{
	struct sn_rewriter *rewriter = sn_alloc_zeroed(1, sizeof(*rewriter));

	rewriter->image = image;
	rewriter->structure = structure;
	rw_entered_find(structure, &rewriter->entered);
	return rewriter;
}

void sn_rewriter_free(struct sn_rewriter *rewriter)
{
	if (!rewriter)
		return;
	sn_vec_free(&rewriter->entered);
	sn_arena_free(&rewriter->arena);
	free(rewriter);
}

void rw_plan_begin(struct rw_plan *plan)
{
	*plan = (struct rw_plan){ 0 };
	rw_put_thunks(&plan->pieces, &plan->thunks);
}

void rw_plan_end(struct rw_plan *plan)
{
	rw_pieces_free(&plan->pieces);
	sn_vec_free(&plan->patches.patches);
	sn_vec_free(&plan->loops);
	sn_text_free(&plan->tables);
}

struct rw_plan_mark rw_plan_mark(const struct rw_plan *plan)
{
	return (struct rw_plan_mark){ plan->pieces.items.count, plan->pieces.labels.count,
				      plan->patches.patches.count, plan->loops.count,
				      plan->tables.length };
}

void rw_plan_return(struct rw_plan *plan, struct rw_plan_mark to)
{
	plan->pieces.items.count = to.pieces;
	plan->pieces.labels.count = to.labels;
	plan->patches.patches.count = to.patches;
	plan->loops.count = to.loops;
	plan->tables.length = to.tables;
}

const char *rw_plan_add(struct rw_plan *plan, struct sn_rewriter *rewriter,
			const struct sn_loop *outer, const bool *is_selected, const char **why_not)
{
	struct rw_plan_mark before = rw_plan_mark(plan);
	struct rw_nest nest;
	const char *why;

	if (plan->loops.count == SN_PLAN_LOOPS_MAX)
		return "there are more loops than a plan can have";
	why = rw_nest_begin(&nest, rewriter, outer, is_selected, NULL);

	for (uint32_t l = 0; !why && l < outer->function->loop_count; l++) {
		struct sn_plan_loop none = { 0 };

		nest.plan_index[l] = (uint32_t)plan->loops.count;
		if (nest.is_selected[l])
			sn_vec_push(&plan->loops, none);
	}
	if (!why && plan->loops.count > SN_PLAN_LOOPS_MAX)
		why = "there are more loops than a plan can have";
	if (!why)
		why = rw_nest_copy(&nest, &plan->pieces, &plan->thunks, plan->variants,
				   plan->loops.items, &plan->patches, &plan->tables);
	for (uint32_t l = 0; !why && l < outer->function->loop_count; l++)
		if (nest.is_selected[l])
			why_not[l] = nest.why_no_recorder[l];
	if (why)
		rw_plan_return(plan, before);
	rw_nest_end(&nest);
	return why;
}

const char *sn_rewriter_refusal(struct sn_rewriter *rewriter, const struct sn_loop *loop)
{
	struct sn_text bytes = { 0 };
	const char *why = NULL;

	sn_rewriter_plan(rewriter, &loop, 1, 0, &why, &bytes);
	sn_text_free(&bytes);
	return why;
}

bool sn_loop_variants_judge(struct sn_structure *structure, const struct sn_loop *loop,
			    const char **why)
{
	bool decides_by_irregular_loads = false;
	struct sn_rewriter rewriter = { .structure = structure };
	struct rw_nest nest;
	const char *why_none = rw_nest_begin(&nest, &rewriter, loop, NULL, NULL);

	for (int v = 0; v < SN_VARIANTS; v++)
		why[v] = why_none;
	if (!why_none)
		decides_by_irregular_loads = rw_nest_judge(&nest, why);
	rw_nest_end(&nest);
	sn_arena_free(&rewriter.arena);
	return decides_by_irregular_loads;
}

const char *sn_loop_recorder_refusal(struct sn_structure *structure, const struct sn_loop *loop)
{
	struct sn_rewriter rewriter = { .structure = structure };
	struct rw_recorder recorder = { 0 };
	struct rw_nest nest;
	const char *why = rw_nest_begin(&nest, &rewriter, loop, NULL, NULL);

	if (!why)
		why = rw_recorder_read(&recorder, &nest, loop);
	rw_recorder_free(&recorder);
	rw_nest_end(&nest);
	sn_arena_free(&rewriter.arena);
	return why;
}
