/*
 * Functions whose basic blocks are counted. The whole function is copied, and each block of the copy begins by adding 1 to its
 * executions: how often every instruction was executed follows, as a block is done from its first instruction to its
 * last, but where a call in it does not return.
 */
#include <assert.h>

#include "rewrite/rewrite_parts.h"

/* The entries of the plan that have the function's blocks, SN_RECORD_BLOCKS_MAX in each; of the first: which it is. */
static uint32_t add_entries(struct rw_plan *plan, const struct rw_nest *nest)
{
	uint32_t first = (uint32_t)plan->loops.count;

	for (size_t b = 0; b < nest->blocks.count; b++) {
		const struct rw_block *block = &nest->blocks.items[b];
		uint64_t link_addr = nest->function->blocks[block->index].link_addr;
		struct sn_plan_block out = { .instructions = block->insn_count };

		if (b % SN_RECORD_BLOCKS_MAX == 0)
			sn_vec_push(&plan->loops, ((struct sn_plan_loop){
							  .header_link_addr = link_addr,
							  .counting = SN_PLAN_COUNT_BLOCKS,
							  .table = (uint32_t)plan->tables.length,
						  }));
		sn_vec_last(&plan->loops).table_bytes += (uint32_t)sizeof(out);
		out.offset = (int32_t)(link_addr - sn_vec_last(&plan->loops).header_link_addr);
		sn_text_add_bytes(&plan->tables, (const char *)&out, sizeof(out));
	}
	return first;
}

struct rw_op rw_block_op(const struct rw_nest *nest, size_t position)
{
	assert(nest->beats && nest->beats->counts_blocks);
	return (struct rw_op){
		.kind = RW_BLOCK,
		.plan_index =
			nest->beats->first_entry + (uint32_t)(position / SN_RECORD_BLOCKS_MAX),
		.at = (uint32_t)(offsetof(struct sn_record_blocks, blocks) +
				 position % SN_RECORD_BLOCKS_MAX * sizeof(struct sn_block_count) +
				 offsetof(struct sn_block_count, executions)),
	};
}

static const char *add_function(struct rw_plan *plan, struct sn_rewriter *rewriter,
				const struct sn_function *function)
{
	struct rw_plan_mark before = rw_plan_mark(plan);
	struct rw_beats beats = { .body = -1, .counts_blocks = true };
	struct sn_arena arena = { 0 };
	struct sn_loop whole = rw_whole_function(rewriter, function, &arena);
	struct rw_nest nest = { 0 };
	const char *why = rw_whole_entries_refusal(rewriter, function);

	beats.why_not = sn_arena_array(&arena, const char *, function->loop_count + 1u);
	if (!why)
		why = rw_nest_begin(&nest, rewriter, &whole, NULL, &beats);
	if (!why)
		why = rw_whole_calls_refusal(&nest);
	if (!why) {
		beats.first_entry = add_entries(plan, &nest);
		if (plan->loops.count > SN_PLAN_LOOPS_MAX)
			why = "there are more functions than a plan has room for";
	}
	if (!why)
		why = rw_nest_copy(&nest, &plan->pieces, &plan->thunks, 0, plan->loops.items,
				   &plan->patches, &plan->tables);
	if (why)
		rw_plan_return(plan, before);
	rw_nest_end(&nest);
	sn_arena_free(&arena);
	return why;
}

size_t sn_rewriter_blocks(struct sn_rewriter *rewriter, const struct sn_function *const *functions,
			  size_t count, const char **refusals, struct sn_text *out)
{
	struct rw_plan plan;
	size_t added = 0;

	rw_plan_begin(&plan);
	for (size_t i = 0; i < count; i++) {
		refusals[i] = add_function(&plan, rewriter, functions[i]);
		added += !refusals[i];
	}
	if (added)
		rw_plan_write(&plan, rewriter, out);
	rw_plan_end(&plan);
	return added;
}
