/*
 * The copy of a nest: its blocks in the order of their addresses, with the instructions as they are
 * but for where they point to. An edge that enters or leaves a loop that is counted goes through a
 * stub. A call is made by the original: the copy jumps to it, and where it returns to the original
 * jumps back. So do the blocks that a jump table names.
 */
#include "rewrite/nest_parts.h"

#include <assert.h>
#include <string.h>

struct rw_block *rw_block_in(const struct rw_nest *nest, int32_t function_block)
{
	return function_block >= 0 && nest->position[function_block] >= 0
		       ? &nest->blocks.items[nest->position[function_block]]
		       : NULL;
}

static int64_t stack_at_end(const struct rw_nest *nest, const struct rw_block *block)
{
	int64_t at = block->stack;

	for (uint32_t i = 0; i < block->insn_count; i++)
		at += nest->insns.items[block->first_insn + i].stack_change;
	return at;
}

/* Where rsp is at a loop's header. */
static int64_t stack_at_header(const struct rw_nest *nest, const struct sn_loop *loop)
{
	const struct rw_block *header =
		rw_block_in(nest, rw_block_at(nest->function, loop->header_link_addr));

	assert(header);
	return header->stack;
}

static bool has_variants(const struct rw_copy *copy, int32_t loop)
{
	const struct sn_plan_loop *of = &copy->plan_loops[copy->nest->plan_index[loop]];

	return of->code[SN_VARIANT_ORIG] || of->recorder;
}

size_t rw_copy_entered_ops(const struct rw_copy *copy, int32_t from_loop, int32_t to_loop,
			   struct rw_op *ops)
{
	const struct rw_nest *nest = copy->nest;
	size_t count = 0;

	for (int32_t l = to_loop; l >= (int32_t)nest->outer->index;
	     l = nest->function->loops[l].parent)
		if (nest->is_selected[l] && !rw_loop_holds(nest->function, l, from_loop)) {
			memmove(&ops[1], &ops[0], count * sizeof(*ops));
			ops[0] = (struct rw_op){ .kind = RW_ENTER,
						 .plan_index = nest->plan_index[l],
						 .has_variants = has_variants(copy, l),
						 .induction = copy->inductions[l],
						 .counter = copy->counters[l] };
			count++;
		}
	return count;
}

/* What an edge does to the loops that are counted: those that it leaves, from within, then those
 * that it enters, from without. `from` is NULL for the entry of the nest. */
static size_t edge_ops(const struct rw_copy *copy, const struct rw_block *from, uint64_t to,
		       struct rw_op *ops)
{
	const struct rw_nest *nest = copy->nest;
	const struct sn_function *function = nest->function;
	const struct rw_block *into = rw_block_in(nest, rw_block_at(function, to));
	int32_t from_loop = from ? function->blocks[from->index].loop : -1;
	int32_t to_loop = into ? function->blocks[into->index].loop : -1;
	size_t count = 0;

	if (nest->beats)
		return rw_beats_on_edge(nest, from, to, ops);
	for (int32_t l = from_loop; from && l >= (int32_t)nest->outer->index;
	     l = function->loops[l].parent)
		if (nest->is_selected[l] && !rw_loop_holds(function, l, to_loop))
			ops[count++] = (struct rw_op){
				.kind = RW_LEAVE,
				.plan_index = nest->plan_index[l],
				.stack = stack_at_end(nest, from) -
					 stack_at_header(nest, &function->loops[l]),
				.induction = copy->inductions[l],
				.counter = copy->counters[l],
				.is_ahead =
					copy->inductions[l] &&
					copy->inductions[l]->is_ahead[nest->position[from->index]],
			};
	return count + rw_copy_entered_ops(copy, from_loop, to_loop, &ops[count]);
}

int32_t rw_copy_edge_label(struct rw_copy *copy, const struct rw_block *from, uint64_t to)
{
	const struct rw_block *into =
		rw_block_in(copy->nest, rw_block_at(copy->nest->function, to));
	struct rw_op ops[RW_COPY_OPS_MAX];
	struct rw_edge_stub stub = { .from = from ? from->index : UINT32_MAX, .to = to };

	if (!edge_ops(copy, from, to, ops) && (into || !copy->nest->beats))
		return into ? copy->block_label[into - copy->nest->blocks.items] : -1;
	for (size_t i = 0; i < copy->stubs.count; i++)
		if (copy->stubs.items[i].from == stub.from && copy->stubs.items[i].to == to)
			return copy->stubs.items[i].label;
	stub.label = rw_label_new(copy->pieces);
	sn_vec_push(&copy->stubs, stub);
	return stub.label;
}

/* The same for the copy in hand, which may be a variant. */
static int32_t plain_edge_label(struct rw_copy *copy, const struct rw_block *from, uint64_t to)
{
	const struct rw_block *into =
		rw_block_in(copy->nest, rw_block_at(copy->nest->function, to));

	if (copy->variant) {
		size_t position = into ? (size_t)(into - copy->nest->blocks.items) : 0;

		if (into && rw_body_has(copy->variant->body, position))
			return copy->variant->block_label[position];
		if (copy->variant->exit >= 0)
			return copy->variant->exit;
		if (copy->variant->induction && from)
			return rw_copy_left_label(copy, from, to);
	}

	return rw_copy_edge_label(copy, from, to);
}

/* The same, by way of what a copy that records notes there. */
static int32_t edge_label(struct rw_copy *copy, const struct rw_block *from, uint64_t to)
{
	int32_t label = plain_edge_label(copy, from, to);
	const struct rw_block *into =
		rw_block_in(copy->nest, rw_block_at(copy->nest->function, to));
	int32_t at = into ? (int32_t)(into - copy->nest->blocks.items) : -1;

	if (!copy->variant || !copy->variant->recorder || !from)
		return label;
	if (at >= 0 && !rw_body_has(copy->variant->body, (size_t)at))
		at = -1;
	return rw_recorder_edge(copy->variant->recorder, (size_t)(from - copy->nest->blocks.items),
				at, label);
}

static void add_site(struct rw_copy *copy, uint64_t link_addr, int32_t label)
{
	struct rw_site site = { link_addr, label };

	sn_vec_push(&copy->sites, site);
}

/* endbr64 stays in front of the jump: where control comes by an indirect branch it is needed. */
static uint64_t behind_endbr(const struct rw_nest *nest, uint64_t link_addr)
{
	size_t available;
	const uint8_t *bytes = sn_structure_bytes(nest->rewriter->structure, link_addr, &available);

	return bytes && available >= 4 && !memcmp(bytes, "\xf3\x0f\x1e\xfa", 4) ? link_addr + 4
										: link_addr;
}

static void put_insn(struct rw_copy *copy, const struct rw_insn *insn)
{
	if (copy->variant && copy->variant->recorder)
		rw_recorder_put_before(copy->variant->recorder,
				       (uint32_t)(insn - copy->nest->insns.items));
	if (copy->variant && !copy->variant->recorder)
		rw_variant_put_insn(&copy->variant->how, insn,
				    &copy->variant->body->actions[insn - copy->nest->insns.items]);
	else
		rw_put_original(copy->pieces, insn);
}

static void put_branch(struct rw_copy *copy, const struct rw_block *block,
		       const struct rw_insn *insn)
{
	int32_t label = edge_label(copy, block, insn->target_link_addr);
	const uint8_t *opcode = insn->bytes;
	const uint8_t *last = insn->bytes + insn->length;

	while (opcode < last && (*opcode == 0x2e || *opcode == 0x3e || *opcode == 0xf2))
		opcode++; /* hints */
	if (*opcode >= 0x70 && *opcode < 0x80)
		rw_put_jump(copy->pieces, *opcode, label, true);
	else if (*opcode == 0x0f && opcode[1] >= 0x80 && opcode[1] < 0x90)
		rw_put_jump(copy->pieces, (uint8_t)(opcode[1] - 0x10), label, false);
	else if (last[-2] >= 0xe0 && last[-2] <= 0xe3)
		rw_put_counted(copy->pieces, insn->bytes, insn->length, label);
	else
		copy->why = "it has a branch of an unknown form";
}

/* An indirect jump stays what it is; each block that the table names gets a jump into the copy. */
static void put_table_jump(struct rw_copy *copy, const struct rw_block *block,
			   const struct rw_insn *insn)
{
	const struct sn_function *function = copy->nest->function;
	const struct sn_block *b = &function->blocks[block->index];

	put_insn(copy, insn);
	for (uint32_t s = 0; s < b->successor_count; s++) {
		uint32_t to = function->successors[b->first_successor + s];
		uint64_t link_addr = function->blocks[to].link_addr;
		int32_t label;

		if (!rw_block_in(copy->nest, (int32_t)to)) {
			copy->why = "its jump table leads out of it";
			return;
		}
		if (link_addr == copy->nest->outer->header_link_addr) {
			copy->why = "its jump table leads to its header";
			return;
		}
		label = edge_label(copy, block, link_addr);
		link_addr = behind_endbr(copy->nest, link_addr);
		for (size_t i = 0; i < copy->sites.count; i++)
			if (copy->sites.items[i].link_addr == link_addr) {
				if (copy->sites.items[i].label != label)
					copy->why = "its jump table leads into a loop in it";
				link_addr = 0;
			}
		if (link_addr)
			add_site(copy, link_addr, label);
	}
}

/* It returns behind `last`, the last of some that follow each other; NULL: it does not return. */
static void put_call(struct rw_copy *copy, const struct rw_insn *insn, const struct rw_insn *last)
{
	int32_t back;

	rw_put_jump_out(copy->pieces, insn->link_addr);
	if (!last)
		return;
	back = rw_label_new(copy->pieces);
	rw_label_place(copy->pieces, back);
	add_site(copy, behind_endbr(copy->nest, last->link_addr + last->length), back);
}

/* Flags that are read where an edge goes. */
static bool needs_flags(const struct rw_copy *copy, uint64_t to)
{
	int32_t block = rw_block_at(copy->nest->function, to);

	return block < 0 || copy->nest->flags_in[block];
}

/* The loop whose header is there counts the arrival where it is entered, if it counts arrivals at all. */
static bool counts_arrival(const struct rw_copy *copy, struct rw_op *ops, size_t count,
			   const struct rw_block *into, bool keeps_flags)
{
	const struct rw_nest *nest = copy->nest;
	const struct sn_block *b = into ? &nest->function->blocks[into->index] : NULL;
	struct rw_op *last = &ops[count - 1]; /* the innermost is entered last */

	return !nest->beats && b && b->loop >= 0 && last->kind == RW_ENTER && !last->induction &&
	       !last->counter && last->plan_index == nest->plan_index[b->loop] &&
	       nest->function->loops[b->loop].header_link_addr == b->link_addr &&
	       rw_is_one_enough(ops, count, keeps_flags);
}

static void put_stub(struct rw_copy *copy, const struct rw_edge_stub *stub, size_t next)
{
	const struct rw_nest *nest = copy->nest;
	const struct rw_block *from =
		stub->from == UINT32_MAX ? NULL : rw_block_in(nest, (int32_t)stub->from);
	const struct rw_block *into = rw_block_in(nest, rw_block_at(nest->function, stub->to));
	struct rw_op ops[RW_COPY_OPS_MAX];
	size_t count = edge_ops(copy, from, stub->to, ops);
	bool keeps_flags = needs_flags(copy, stub->to), is_counted = false;

	/* the loop's instruction with the same stack pointer */
	copy->pieces->link_addr =
		from ? nest->insns.items[from->first_insn + from->insn_count - 1].link_addr
		     : stub->to;
	if (from && nest->insns.items[from->first_insn + from->insn_count - 1].stack_change)
		copy->pieces->link_addr = stub->to;
	rw_label_place(copy->pieces, stub->label);
	if (count) {
		ops[0].scratch = rw_free_registers(nest, rw_block_at(nest->function, stub->to));
		ops[0].has_red_zone = nest->has_red_zone;
		ops[0].counting = copy->counting;
		is_counted = counts_arrival(copy, ops, count, into, keeps_flags);
		ops[count - 1].counts_arrival = is_counted;
		rw_put_ops(copy->pieces, copy->thunks, ops, count, keeps_flags);
	}
	if (into && next < nest->blocks.count && into == &nest->blocks.items[next] && !is_counted)
		return;
	if (into)
		rw_put_jump(copy->pieces, 0,
			    (is_counted ? copy->counted_label
					: copy->block_label)[into - nest->blocks.items],
			    false);
	else
		rw_put_jump_out(copy->pieces, stub->to);
}

/* What a loop is left by is on the way: no jump leads there, nor back if the next block follows. */
static bool put_left_on_the_way(struct rw_copy *copy, int32_t label, size_t next)
{
	struct rw_edge_stub *stub = NULL;
	struct rw_op ops[RW_COPY_OPS_MAX];
	size_t count;

	for (size_t i = 0; i < copy->stubs.count; i++)
		if (copy->stubs.items[i].label == label)
			stub = &copy->stubs.items[i];
	if (copy->variant || copy->nest->beats || !stub || stub->is_put)
		return false;
	count = edge_ops(copy, rw_block_in(copy->nest, (int32_t)stub->from), stub->to, ops);
	if (ops[count - 1].kind != RW_LEAVE)
		return false;
	stub->is_put = true;
	put_stub(copy, stub, next);
	return true;
}

/* What follows a block that goes on. */
static void put_fall_through(struct rw_copy *copy, const struct rw_block *block, uint64_t to)
{
	const struct rw_nest *nest = copy->nest;
	size_t next = (size_t)(block - nest->blocks.items) + 1;
	int32_t label = edge_label(copy, block, to);

	if (label < 0) {
		copy->why = "it has a branch of an unknown form";
		return;
	}
	if (next < nest->blocks.count &&
	    nest->function->blocks[nest->blocks.items[next].index].link_addr == to &&
	    label == (copy->variant ? copy->variant->block_label : copy->block_label)[next])
		return;
	if (put_left_on_the_way(copy, label, next))
		return;
	rw_put_jump(copy->pieces, 0, label, true);
}

/* Calls with nothing between them are done one after the other: there is no room for a jump. */
static uint32_t last_call(const struct rw_copy *copy, const struct rw_block *block, uint32_t i)
{
	const struct rw_insn *insns = &copy->nest->insns.items[block->first_insn];

	while (copy->nest->beats && i + 1 < block->insn_count &&
	       (insns[i + 1].flow == SN_FLOW_CALL || insns[i + 1].flow == SN_FLOW_CALL_INDIRECT))
		i++;
	return i;
}

static void put_resume(struct rw_copy *copy, const struct rw_block *block)
{
	struct rw_op *ops = sn_arena_array(&copy->nest->arena, struct rw_op,
					   copy->nest->function->loop_count + 1u);
	size_t count = rw_beats_on_resume(copy->nest, block, ops);

	if (count)
		rw_put_ops(copy->pieces, copy->thunks, ops, count, false);
}

/* What only functions have that are copied whole: their ends. */
static void put_end(struct rw_copy *copy, const struct rw_insn *insn)
{
	struct rw_op op = { .kind = RW_BEAT_END };

	if (!copy->nest->beats) {
		copy->why = "it has a branch of an unknown form";
		return;
	}
	if (insn->flow != SN_FLOW_STOP && copy->nest->beats->body >= 0) {
		op.plan_index = (uint32_t)copy->nest->beats->body;
		rw_put_ops(copy->pieces, copy->thunks, &op, 1, false);
	}
	put_insn(copy, insn);
}

void rw_copy_put_block(struct rw_copy *copy, const struct rw_block *block)
{
	const struct rw_nest *nest = copy->nest;
	const struct sn_block *b = &nest->function->blocks[block->index];
	size_t position = (size_t)(block - nest->blocks.items);
	bool goes_on = true;
	uint32_t last;

	for (uint32_t i = 0; i < block->insn_count && !copy->why; i++) {
		const struct rw_insn *insn = &nest->insns.items[block->first_insn + i];

		copy->pieces->link_addr = insn->link_addr;
		if (copy->variant && i == rw_body_insns(copy->variant->body, position)) {
			rw_copy_put_call_of_variant(copy, block, insn);
			return;
		}
		goes_on = true;
		switch (insn->flow) {
		case SN_FLOW_CALL:
		case SN_FLOW_CALL_INDIRECT:
			last = last_call(copy, block, i);
			goes_on = !(b->flags & SN_BLOCK_NO_RETURN && last + 1 == block->insn_count);
			if (!goes_on && last == i && nest->beats)
				put_resume(copy, block);
			put_call(copy, insn, goes_on ? &insn[last - i] : NULL);
			i = last;
			break;
		case SN_FLOW_BRANCH:
			put_branch(copy, block, insn);
			break;
		case SN_FLOW_JUMP:
			rw_put_jump(copy->pieces, 0,
				    edge_label(copy, block, insn->target_link_addr),
				    insn->length == 2);
			goes_on = false;
			break;
		case SN_FLOW_JUMP_INDIRECT:
			if (b->flags & SN_BLOCK_INDIRECT)
				put_table_jump(copy, block, insn);
			else
				put_end(copy, insn);
			goes_on = false;
			break;
		case SN_FLOW_RETURN:
		case SN_FLOW_STOP:
			put_end(copy, insn);
			goes_on = false;
			break;
		case SN_FLOW_NEXT:
			put_insn(copy, insn);
			break;
		default:
			copy->why = "it has a branch of an unknown form";
			break;
		}
	}
	if (goes_on && !copy->why)
		put_fall_through(copy, block, b->link_addr + b->size_bytes);
}

/* One of some that are counted at the begin of a block. */
static void put_counted(struct rw_copy *copy, const struct rw_block *block, struct rw_op op)
{
	bool keeps_flags = copy->nest->flags_in[block->index] != 0;

	copy->pieces->link_addr = copy->nest->function->blocks[block->index].link_addr;
	op.scratch = rw_free_registers(copy->nest, (int32_t)block->index);
	op.has_red_zone = copy->nest->has_red_zone;
	op.counting = copy->counting;
	rw_put_ops(copy->pieces, copy->thunks, &op, 1, keeps_flags);
}

/* Executions of the block, or arrivals at the header of a loop that is counted so. */
static void put_count(struct rw_copy *copy, const struct rw_block *block)
{
	const struct rw_nest *nest = copy->nest;
	const struct sn_block *b = &nest->function->blocks[block->index];
	struct rw_op op = { .kind = RW_COUNT };

	if (nest->beats && nest->beats->counts_blocks)
		put_counted(copy, block, rw_block_op(nest, (size_t)(block - nest->blocks.items)));
	if (nest->beats)
		return;
	for (int32_t l = b->loop; l >= (int32_t)nest->outer->index;
	     l = nest->function->loops[l].parent) {
		if (!nest->is_selected[l] || copy->inductions[l] ||
		    nest->function->loops[l].header_link_addr != b->link_addr)
			continue;
		op.plan_index = nest->plan_index[l];
		copy->pieces->link_addr = b->link_addr;
		if (copy->counters[l])
			rw_put_counted_apart(copy->pieces, copy->counters[l]);
		else
			put_counted(copy, block, op);
	}
}

static void put_blocks(struct rw_copy *copy)
{
	const struct rw_nest *nest = copy->nest;
	uint64_t end = 0;

	for (size_t i = 0; i < nest->blocks.count && !copy->why; i++) {
		const struct rw_block *block = &nest->blocks.items[i];
		const struct sn_block *b = &nest->function->blocks[block->index];

		if (b->link_addr != end)
			rw_put_align(copy->pieces, b->link_addr);
		end = b->link_addr + b->size_bytes;
		rw_label_place(copy->pieces, copy->block_label[i]);
		put_count(copy, block);
		rw_label_place(copy->pieces, copy->counted_label[i]);
		rw_copy_put_block(copy, block);
	}
}

/* The unwinder goes on in the original, where an exception is caught or something is cleaned up. */
static void put_landings(struct rw_copy *copy)
{
	const struct rw_nest *nest = copy->nest;

	for (size_t i = 0; i < nest->blocks.count && !copy->why; i++) {
		const struct sn_block *b = &nest->function->blocks[nest->blocks.items[i].index];
		struct rw_op *ops;
		size_t count;
		int32_t label;

		if (!(b->flags & SN_BLOCK_ENTRY) || b->link_addr == nest->function->link_addr)
			continue;
		ops = sn_arena_array(&copy->nest->arena, struct rw_op,
				     nest->function->loop_count + 1u);
		count = rw_beats_on_landing(nest, &nest->blocks.items[i], ops);
		label = rw_label_new(copy->pieces);
		add_site(copy, behind_endbr(nest, b->link_addr), label);
		copy->pieces->link_addr = b->link_addr;
		rw_label_place(copy->pieces, label);
		if (count)
			rw_put_ops(copy->pieces, copy->thunks, ops, count, true);
		rw_put_jump(copy->pieces, 0, copy->block_label[i], false);
	}
}

void rw_copy_find_inductions(struct rw_copy *copy)
{
	const struct sn_function *function = copy->nest->function;

	copy->inductions = sn_arena_array(&copy->nest->arena, struct rw_induction *,
					  function->loop_count + 1u);
	for (uint32_t l = 0; l < function->loop_count; l++) {
		struct rw_induction found;

		if (copy->nest->beats || !copy->nest->is_selected[l] ||
		    !rw_induction_find(copy->nest, &function->loops[l], NULL, &copy->nest->arena,
				       &found))
			continue;
		copy->inductions[l] = sn_arena_new(&copy->nest->arena, struct rw_induction);
		*copy->inductions[l] = found;
	}
	copy->counters =
		sn_arena_array(&copy->nest->arena, struct rw_counter *, function->loop_count + 1u);
	if (copy->variants || copy->nest->beats)
		return;
	copy->counters = rw_counters_find(copy->nest, copy->inductions);
	copy->counting = rw_counters_registers(copy->nest, copy->counters);
}

const char *rw_nest_copy(struct rw_nest *nest, struct rw_pieces *pieces,
			 const struct rw_thunks *thunks, uint32_t variants,
			 struct sn_plan_loop *plan_loops, struct rw_patches *patches,
			 struct sn_text *tables)
{
	struct rw_copy copy = { .nest = nest,
				.pieces = pieces,
				.thunks = thunks,
				.variants = variants,
				.plan_loops = plan_loops,
				.tables = tables };
	uint64_t header = nest->outer->header_link_addr;

	rw_copy_find_inductions(&copy);
	for (uint32_t l = 0; l < nest->function->loop_count; l++)
		if (!nest->beats && nest->is_selected[l])
			plan_loops[nest->plan_index[l]] = (struct sn_plan_loop){
				.header_link_addr = nest->function->loops[l].header_link_addr,
				.step = copy.inductions[l] ? copy.inductions[l]->step : 0,
				.counting = copy.inductions[l] ? SN_PLAN_COUNT_INDUCTION
							       : SN_PLAN_COUNT_ARRIVALS,
				.holds_others = rw_nest_holds_others(nest, l),
				.is_apart = copy.counters[l] != NULL,
			};
	copy.block_label = sn_arena_array(&nest->arena, int32_t, nest->blocks.count + 1);
	copy.counted_label = sn_arena_array(&nest->arena, int32_t, nest->blocks.count + 1);
	for (size_t i = 0; i < nest->blocks.count; i++) {
		copy.block_label[i] = rw_label_new(pieces);
		copy.counted_label[i] = rw_label_new(pieces);
	}
	add_site(&copy, behind_endbr(nest, header), edge_label(&copy, NULL, header));
	put_blocks(&copy);
	rw_put_asides(pieces, thunks);
	if (nest->beats && !copy.why)
		put_landings(&copy);
	if (!copy.why)
		rw_copy_put_variants(&copy);
	for (size_t i = 0; i < copy.stubs.count && !copy.why; i++) {
		struct rw_edge_stub stub = copy.stubs.items[i];

		if (!stub.is_put)
			put_stub(&copy, &stub, SIZE_MAX);
	}
	rw_put_asides(pieces, thunks);
	if (!copy.why)
		copy.why = rw_sites_place(nest, &copy.sites, patches);
	sn_vec_free(&copy.stubs);
	sn_vec_free(&copy.sites);
	return copy.why;
}
