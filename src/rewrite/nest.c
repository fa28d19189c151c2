/*
 * The copy of a nest: its blocks in the order of their addresses, with the instructions as they are
 * but for where they point to. An edge that enters or leaves a loop that is counted goes through a
 * stub. A call is made by the original: the copy jumps to it, and where it returns to the original
 * jumps back. So do the blocks that a jump table names.
 */
#include "rewrite/recorder_parts.h"

#include <assert.h>
#include <string.h>

struct edge_stub {
	uint32_t from; /* block, UINT32_MAX: the entry of the nest */
	uint64_t to;
	int32_t label;
};

/* The variant of a loop that is being laid out. */
struct variant_copy {
	const struct rw_body *body;
	struct rw_variant how;
	int32_t *block_label; /* by the block's position */
	int32_t exit;	      /* where edges that leave lead to; -1: where the loop's lead to */
	struct rw_recorder *recorder; /* of the copy that records; NULL: it is none */
};

struct copy {
	struct rw_nest *nest;
	struct rw_pieces *pieces;
	const struct rw_thunks *thunks;
	int32_t *block_label;		  /* by the block's position */
	struct rw_induction **inductions; /* by the loop's index, NULL: arrivals are counted */
	SN_VEC(struct edge_stub) stubs;
	struct rw_sites sites;
	uint32_t variants;
	struct sn_plan_loop *plan_loops;
	struct sn_text *tables;
	struct variant_copy *variant; /* NULL: it is the nest */
	const char *why;
};

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

static bool has_variants(const struct copy *copy, int32_t loop)
{
	const struct sn_plan_loop *of = &copy->plan_loops[copy->nest->plan_index[loop]];

	return of->code[SN_VARIANT_ORIG] || of->recorder;
}

enum { OPS_MAX = 2 * SN_LOOP_DEPTH_MAX + 2 };

/* What an edge does to the loops that are counted: those that it leaves, from within, then those
 * that it enters, from without. `from` is NULL for the entry of the nest. */
static size_t edge_ops(const struct copy *copy, const struct rw_block *from, uint64_t to,
		       struct rw_op *ops)
{
	const struct rw_nest *nest = copy->nest;
	const struct sn_function *function = nest->function;
	const struct rw_block *into = rw_block_in(nest, rw_block_at(function, to));
	int32_t from_loop = from ? function->blocks[from->index].loop : -1;
	int32_t to_loop = into ? function->blocks[into->index].loop : -1;
	size_t count = 0, first;

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
				.is_ahead =
					copy->inductions[l] &&
					copy->inductions[l]->is_ahead[nest->position[from->index]],
			};
	first = count;
	for (int32_t l = to_loop; l >= (int32_t)nest->outer->index; l = function->loops[l].parent)
		if (nest->is_selected[l] && !rw_loop_holds(function, l, from_loop)) {
			memmove(&ops[first + 1], &ops[first], (count - first) * sizeof(*ops));
			ops[first] = (struct rw_op){ .kind = RW_ENTER,
						     .plan_index = nest->plan_index[l],
						     .has_variants = has_variants(copy, l),
						     .induction = copy->inductions[l] };
			count++;
		}
	return count;
}

/* The label of a block of the nest or of the stub that leads to an address; -1: just outside. */
static int32_t plain_edge_label(struct copy *copy, const struct rw_block *from, uint64_t to)
{
	const struct rw_block *into =
		rw_block_in(copy->nest, rw_block_at(copy->nest->function, to));
	struct rw_op ops[OPS_MAX];
	struct edge_stub stub = { from ? from->index : UINT32_MAX, to, 0 };

	if (copy->variant) {
		size_t position = into ? (size_t)(into - copy->nest->blocks.items) : 0;

		if (into && rw_body_has(copy->variant->body, position))
			return copy->variant->block_label[position];
		if (copy->variant->exit >= 0)
			return copy->variant->exit;
	}

	if (!edge_ops(copy, from, to, ops) && (into || !copy->nest->beats))
		return into ? copy->block_label[into - copy->nest->blocks.items] : -1;
	for (size_t i = 0; i < copy->stubs.count; i++)
		if (copy->stubs.items[i].from == stub.from && copy->stubs.items[i].to == to)
			return copy->stubs.items[i].label;
	stub.label = rw_label_new(copy->pieces);
	sn_vec_push(&copy->stubs, stub);
	return stub.label;
}

/* The same, by way of what a copy that records notes there. */
static int32_t edge_label(struct copy *copy, const struct rw_block *from, uint64_t to)
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

static void add_site(struct copy *copy, uint64_t link_addr, int32_t label)
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

static void put_insn(struct copy *copy, const struct rw_insn *insn)
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

static void put_branch(struct copy *copy, const struct rw_block *block, const struct rw_insn *insn)
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
static void put_table_jump(struct copy *copy, const struct rw_block *block,
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
static void put_call(struct copy *copy, const struct rw_insn *insn, const struct rw_insn *last)
{
	int32_t back;

	rw_put_jump_out(copy->pieces, insn->link_addr);
	if (!last)
		return;
	back = rw_label_new(copy->pieces);
	rw_label_place(copy->pieces, back);
	add_site(copy, behind_endbr(copy->nest, last->link_addr + last->length), back);
}

/* What follows a block that goes on. */
static void put_fall_through(struct copy *copy, const struct rw_block *block, uint64_t to)
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
	rw_put_jump(copy->pieces, 0, label, true);
}

/* Calls with nothing between them are done one after the other: there is no room for a jump. */
static uint32_t last_call(const struct copy *copy, const struct rw_block *block, uint32_t i)
{
	const struct rw_insn *insns = &copy->nest->insns.items[block->first_insn];

	while (copy->nest->beats && i + 1 < block->insn_count &&
	       (insns[i + 1].flow == SN_FLOW_CALL || insns[i + 1].flow == SN_FLOW_CALL_INDIRECT))
		i++;
	return i;
}

static void put_resume(struct copy *copy, const struct rw_block *block)
{
	struct rw_op *ops = sn_arena_array(&copy->nest->arena, struct rw_op,
					   copy->nest->function->loop_count + 1u);
	size_t count = rw_beats_on_resume(copy->nest, block, ops);

	if (count)
		rw_put_ops(copy->pieces, copy->thunks, ops, count, false);
}

/* What only functions have that are copied whole: their ends. */
static void put_end(struct copy *copy, const struct rw_insn *insn)
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

static void put_block(struct copy *copy, const struct rw_block *block)
{
	const struct rw_nest *nest = copy->nest;
	const struct sn_block *b = &nest->function->blocks[block->index];
	bool goes_on = true;
	uint32_t last;

	for (uint32_t i = 0; i < block->insn_count && !copy->why; i++) {
		const struct rw_insn *insn = &nest->insns.items[block->first_insn + i];

		copy->pieces->link_addr = insn->link_addr;
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
static void put_counted(struct copy *copy, const struct rw_block *block, struct rw_op op)
{
	bool keeps_flags = copy->nest->flags_in[block->index] != 0;

	copy->pieces->link_addr = copy->nest->function->blocks[block->index].link_addr;
	if (!keeps_flags)
		op.scratch = rw_free_registers(copy->nest, (int32_t)block->index);
	rw_put_ops(copy->pieces, copy->thunks, &op, 1, keeps_flags);
}

/* Executions of the block, or arrivals at the header of a loop that is counted so. */
static void put_count(struct copy *copy, const struct rw_block *block)
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
		put_counted(copy, block, op);
	}
}

static void put_blocks(struct copy *copy)
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
		put_block(copy, block);
	}
}

/* ---- variants ---- */

static void find_inductions(struct copy *copy);

/* Arrivals at the header of a loop that does not tell them by a register. */
static void put_arrival(struct copy *copy, const struct rw_block *block)
{
	static const uint8_t count[] = { 0x64, 0x48, 0xff, 0x04, 0x25, 0, 0, 0, 0 };

	copy->pieces->link_addr = copy->nest->insns.items[block->first_insn].link_addr;
	if (copy->nest->flags_in[block->index])
		rw_put_flags_pushed(copy->pieces);
	rw_put_field(copy->pieces, count, sizeof(count), 5, SN_PLAN_THREAD, SN_PLAN_WORD_ARRIVALS);
	if (copy->nest->flags_in[block->index])
		rw_put_flags_popped(copy->pieces);
}

static void put_variant_blocks(struct copy *copy, bool counts_arrivals)
{
	const struct rw_nest *nest = copy->nest;
	const struct rw_body *body = copy->variant->body;
	uint64_t end = 0;

	for (size_t i = 0; i < nest->blocks.count && !copy->why; i++) {
		const struct rw_block *block = &nest->blocks.items[i];
		const struct sn_block *b = &nest->function->blocks[block->index];

		if (!rw_body_has(body, i))
			continue;
		if (b->link_addr != end)
			rw_put_align(copy->pieces, b->link_addr);
		end = b->link_addr + b->size_bytes;
		rw_label_place(copy->pieces, copy->variant->block_label[i]);
		copy->pieces->link_addr = b->link_addr;
		if (copy->variant->recorder)
			rw_recorder_put_header(copy->variant->recorder, i, copy->block_label[i]);
		if (counts_arrivals && b->link_addr == body->loop->header_link_addr)
			put_arrival(copy, block);
		put_block(copy, block);
	}
}

/* Where the variant begins, as a label + 1; 0: the loop cannot have it. */
static const char *put_variant(struct copy *copy, const struct rw_body *body, unsigned code,
			       uint32_t *out)
{
	const struct rw_nest *nest = copy->nest;
	enum sn_decan_variant kind = sn_variant_of_code(code);
	bool is_itself = kind == SN_VARIANT_ORIG || kind == SN_VARIANT_PF;
	struct variant_copy variant = { .body = body, .exit = -1 };
	size_t pieces = copy->pieces->items.count, labels = copy->pieces->labels.count;
	size_t stubs = copy->stubs.count;
	int32_t entry = rw_label_new(copy->pieces);
	const char *why = rw_variant_begin(&variant.how, body, copy->pieces, code);
	int32_t header = nest->position[rw_block_at(nest->function, body->loop->header_link_addr)];

	variant.block_label = sn_arena_array(&copy->nest->arena, int32_t, nest->blocks.count + 1);
	for (size_t i = 0; i < nest->blocks.count; i++)
		variant.block_label[i] = rw_label_new(copy->pieces);
	copy->pieces->link_addr = body->loop->header_link_addr;
	if (!is_itself) {
		copy->pieces->map_flags = SN_PLAN_MAP_VARIANT;
		variant.exit = rw_label_new(copy->pieces);
		rw_label_place(copy->pieces, variant.exit);
		rw_put_jump_by(copy->pieces, copy->thunks->address[SN_PLAN_CALL_EXIT]);
		rw_label_place(copy->pieces, entry);
		rw_variant_put_entry(&variant.how);
		rw_put_jump(copy->pieces, 0, variant.block_label[header], true);
	} else {
		entry = variant.block_label[header];
	}
	copy->variant = &variant;
	if (!why) {
		put_variant_blocks(copy, is_itself && !copy->inductions[body->loop->index]);
		why = variant.how.why ? variant.how.why : copy->why;
	}
	if (!why && kind == SN_VARIANT_PF && !variant.how.loads)
		why = "no address in it moves by a constant";
	copy->variant = NULL;
	copy->why = NULL;
	copy->pieces->map_flags = 0;
	if (why) {
		copy->pieces->items.count = pieces;
		copy->pieces->labels.count = labels;
		copy->stubs.count = stubs;
		return why;
	}
	*out = (uint32_t)entry + 1;
	return NULL;
}

/* The copy that records, its table, and where it begins; or why there is none. */
static const char *put_recorder(struct copy *copy, const struct sn_loop *loop,
				struct sn_plan_loop *out)
{
	struct rw_nest *nest = copy->nest;
	size_t pieces = copy->pieces->items.count, labels = copy->pieces->labels.count;
	size_t stubs = copy->stubs.count;
	const struct rw_body body = { .nest = nest, .loop = loop };
	struct rw_recorder recorder;
	struct variant_copy variant = { .body = &body, .exit = -1, .recorder = &recorder };
	int32_t header = nest->position[rw_block_at(nest->function, loop->header_link_addr)];
	int32_t entry = rw_label_new(copy->pieces);
	const char *why = rw_recorder_read(&recorder, nest, loop);

	recorder.pieces = copy->pieces;
	recorder.thunks = copy->thunks;
	variant.block_label = sn_arena_array(&nest->arena, int32_t, nest->blocks.count + 1);
	for (size_t i = 0; i < nest->blocks.count; i++)
		variant.block_label[i] = rw_label_new(copy->pieces);
	copy->variant = &variant;
	if (!why) {
		copy->pieces->link_addr = loop->header_link_addr;
		rw_label_place(copy->pieces, entry);
		rw_recorder_put_entry(&recorder);
		rw_put_jump(copy->pieces, 0, variant.block_label[header], true);
		put_variant_blocks(copy, !copy->inductions[loop->index]);
		rw_recorder_put_stubs(&recorder, nest->plan_index[loop->index]);
		why = recorder.why ? recorder.why : copy->why;
	}
	copy->variant = NULL;
	copy->why = NULL;
	if (why) {
		copy->pieces->items.count = pieces;
		copy->pieces->labels.count = labels;
		copy->stubs.count = stubs;
	} else {
		out->recorder = (uint32_t)entry + 1;
		out->unit_words = (uint32_t)rw_recorder_unit_words(&recorder);
		out->table = (uint32_t)copy->tables->length;
		rw_recorder_add_table(&recorder, copy->tables);
		out->table_bytes = (uint32_t)copy->tables->length - out->table;
	}
	rw_recorder_free(&recorder);
	return why;
}

/* Where memory tells where to go on, or where in memory it is, what the loop itself or another thread
 * stores might do; a division might be by zero. */
static uint32_t guarded_of(const struct rw_body *body)
{
	uint32_t ls = 1u << SN_VARIANT_LS;
	uint32_t others = 1u << SN_VARIANT_FP | 1u << SN_VARIANT_ARITH | 1u << SN_VARIANT_DL1;
	uint32_t guarded = body->has_division ? others : 0;

	if (body->is_data_controlled)
		guarded |= ls | others | 1u << SN_VARIANT_FES;
	return body->has_data_addresses ? guarded | ls : guarded;
}

static void put_variants(struct copy *copy, const struct sn_loop *loop)
{
	struct sn_plan_loop *out = &copy->plan_loops[copy->nest->plan_index[loop->index]];
	struct rw_body body;

	if (copy->variants & SN_REWRITER_RECORDER)
		copy->nest->why_no_recorder[loop->index] = put_recorder(copy, loop, out);
	if (copy->variants & SN_REWRITER_RECORDER || rw_body_read(copy->nest, loop, &body))
		return;
	out->guarded = guarded_of(&body);
	for (unsigned v = 0; v < SN_VARIANT_CODES; v++)
		if (v == SN_VARIANT_ORIG || copy->variants & 1u << sn_variant_of_code(v))
			put_variant(copy, &body, v, &out->code[v]);
}

static bool decides_by_irregular_loads(const struct rw_body *body)
{
	for (size_t i = 0; i < body->nest->insns.count; i++) {
		const struct rw_action *a = &body->actions[i];

		if (a->memory >= 0 && a->is_load && a->is_control && !a->stride && !a->is_fixed)
			return true;
	}
	return false;
}

bool rw_nest_judge(struct rw_nest *nest, const char **why)
{
	struct rw_pieces pieces = { 0 };
	struct rw_thunks thunks;
	struct sn_plan_loop loop;
	struct copy copy = {
		.nest = nest, .pieces = &pieces, .thunks = &thunks, .plan_loops = &loop
	};
	struct rw_body body;
	const char *why_none = rw_body_read(nest, nest->outer, &body);
	uint32_t label;

	rw_put_thunks(&pieces, &thunks);
	find_inductions(&copy);
	copy.block_label = sn_arena_array(&nest->arena, int32_t, nest->blocks.count + 1);
	for (unsigned v = 0; v < SN_VARIANTS; v++)
		why[v] = why_none ? why_none : put_variant(&copy, &body, v, &label);
	rw_pieces_free(&pieces);
	sn_vec_free(&copy.stubs);
	return !why_none && decides_by_irregular_loads(&body);
}

static bool holds_others(const struct rw_nest *nest, uint32_t loop)
{
	for (uint32_t l = 0; l < nest->function->loop_count; l++)
		if (l != loop && nest->is_selected[l] &&
		    rw_loop_holds(nest->function, (int32_t)loop, (int32_t)l))
			return true;
	return false;
}

static bool is_left_out(const struct copy *copy, uint32_t loop)
{
	return copy->variants & SN_REWRITER_INNERMOST && holds_others(copy->nest, loop);
}

/* Those of the loops that are counted. Before their stubs, which lead to them. */
static void put_all_variants(struct copy *copy)
{
	const struct sn_function *function = copy->nest->function;

	for (uint32_t l = 0; copy->variants && l < function->loop_count; l++)
		if (copy->nest->is_selected[l] && !is_left_out(copy, l))
			put_variants(copy, &function->loops[l]);
		else if (copy->nest->is_selected[l] && copy->variants & SN_REWRITER_RECORDER)
			copy->nest->why_no_recorder[l] = "a loop within it is chosen, too";
}

/* Flags that are read where an edge goes. */
static bool needs_flags(const struct copy *copy, uint64_t to)
{
	int32_t block = rw_block_at(copy->nest->function, to);

	return block < 0 || copy->nest->flags_in[block];
}

static void put_stub(struct copy *copy, const struct edge_stub *stub)
{
	const struct rw_nest *nest = copy->nest;
	const struct rw_block *from =
		stub->from == UINT32_MAX ? NULL : rw_block_in(nest, (int32_t)stub->from);
	const struct rw_block *into = rw_block_in(nest, rw_block_at(nest->function, stub->to));
	struct rw_op ops[OPS_MAX];
	size_t count = edge_ops(copy, from, stub->to, ops);

	/* the loop's instruction with the same stack pointer */
	copy->pieces->link_addr =
		from ? nest->insns.items[from->first_insn + from->insn_count - 1].link_addr
		     : stub->to;
	if (from && nest->insns.items[from->first_insn + from->insn_count - 1].stack_change)
		copy->pieces->link_addr = stub->to;
	rw_label_place(copy->pieces, stub->label);
	if (count) {
		ops[0].scratch = rw_free_registers(nest, rw_block_at(nest->function, stub->to));
		rw_put_ops(copy->pieces, copy->thunks, ops, count, needs_flags(copy, stub->to));
	}
	if (into)
		rw_put_jump(copy->pieces, 0, copy->block_label[into - nest->blocks.items], false);
	else
		rw_put_jump_out(copy->pieces, stub->to);
	rw_put_asides(copy->pieces, copy->thunks);
}

/* The unwinder goes on in the original, where an exception is caught or something is cleaned up. */
static void put_landings(struct copy *copy)
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

static void find_inductions(struct copy *copy)
{
	const struct sn_function *function = copy->nest->function;

	copy->inductions = sn_arena_array(&copy->nest->arena, struct rw_induction *,
					  function->loop_count + 1u);
	for (uint32_t l = 0; l < function->loop_count; l++) {
		struct rw_induction found;

		if (copy->nest->beats || !copy->nest->is_selected[l] ||
		    !rw_induction_find(copy->nest, &function->loops[l], &copy->nest->arena, &found))
			continue;
		copy->inductions[l] = sn_arena_new(&copy->nest->arena, struct rw_induction);
		*copy->inductions[l] = found;
	}
}

const char *rw_nest_copy(struct rw_nest *nest, struct rw_pieces *pieces,
			 const struct rw_thunks *thunks, uint32_t variants,
			 struct sn_plan_loop *plan_loops, struct rw_patches *patches,
			 struct sn_text *tables)
{
	struct copy copy = { .nest = nest,
			     .pieces = pieces,
			     .thunks = thunks,
			     .variants = variants,
			     .plan_loops = plan_loops,
			     .tables = tables };
	uint64_t header = nest->outer->header_link_addr;

	find_inductions(&copy);
	for (uint32_t l = 0; l < nest->function->loop_count; l++)
		if (!nest->beats && nest->is_selected[l])
			plan_loops[nest->plan_index[l]] = (struct sn_plan_loop){
				.header_link_addr = nest->function->loops[l].header_link_addr,
				.step = copy.inductions[l] ? copy.inductions[l]->step : 0,
				.counting = copy.inductions[l] ? SN_PLAN_COUNT_INDUCTION
							       : SN_PLAN_COUNT_ARRIVALS,
				.holds_others = holds_others(nest, l),
			};
	copy.block_label = sn_arena_array(&nest->arena, int32_t, nest->blocks.count + 1);
	for (size_t i = 0; i < nest->blocks.count; i++)
		copy.block_label[i] = rw_label_new(pieces);
	add_site(&copy, behind_endbr(nest, header), edge_label(&copy, NULL, header));
	put_blocks(&copy);
	rw_put_asides(pieces, thunks);
	if (nest->beats && !copy.why)
		put_landings(&copy);
	if (!copy.why)
		put_all_variants(&copy);
	for (size_t i = 0; i < copy.stubs.count && !copy.why; i++) {
		struct edge_stub stub = copy.stubs.items[i];

		put_stub(&copy, &stub);
	}
	if (!copy.why)
		copy.why = rw_sites_place(nest, &copy.sites, patches);
	sn_vec_free(&copy.stubs);
	sn_vec_free(&copy.sites);
	return copy.why;
}
