/*
 * Variants of the loops of a nest, and copies that record: further copies of a loop, laid out behind that of the nest.
 */
#include "rewrite/nest_parts.h"

/* Arrivals at the header of a loop that does not tell them by a register. */
static void put_arrival(struct rw_copy *copy, const struct rw_block *block)
{
	static const uint8_t count[] = { 0x64, 0x48, 0xff, 0x04, 0x25, 0, 0, 0, 0 };

	copy->pieces->link_addr = copy->nest->insns.items[block->first_insn].link_addr;
	if (copy->nest->flags_in[block->index])
		rw_put_flags_pushed(copy->pieces);
	rw_put_field(copy->pieces, count, sizeof(count), 5, SN_PLAN_THREAD, SN_PLAN_WORD_ARRIVALS);
	if (copy->nest->flags_in[block->index])
		rw_put_flags_popped(copy->pieces);
}

static void put_variant_blocks(struct rw_copy *copy, bool counts_arrivals)
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
		rw_copy_put_block(copy, block);
	}
}

/* ---- iterations by a register ---- */

/* mov fs:[word], register; neither registers nor flags change */
static void put_word(struct rw_pieces *pieces, uint8_t reg, enum sn_plan_thread_word word)
{
	const uint8_t store[] = { 0x64, (uint8_t)(0x48 | reg >> 3 << 2),
				  0x89, (uint8_t)(0x04 | (reg & 7) << 3),
				  0x25, 0,
				  0,	0,
				  0 };

	rw_put_field(pieces, store, sizeof(store), 5, SN_PLAN_THREAD, word);
}

static void put_ahead(struct rw_pieces *pieces, bool is_ahead)
{
	const uint8_t store[] = { 0x64, 0x48, 0xc7, 0x04, 0x25, 0, 0, 0, 0, is_ahead, 0, 0, 0 };

	rw_put_field(pieces, store, sizeof(store), 5, SN_PLAN_THREAD, SN_PLAN_WORD_AHEAD);
}

/* As if it had been left at once: a handler may take it out of the loop. */
static void put_entered(struct rw_pieces *pieces, const struct rw_induction *induction)
{
	put_word(pieces, induction->reg, SN_PLAN_WORD_ENTERED);
	put_word(pieces, induction->reg, SN_PLAN_WORD_LEFT);
	put_ahead(pieces, false);
}

static void put_left(struct rw_copy *copy, const struct rw_block *from)
{
	const struct rw_induction *induction = copy->variant->induction;

	put_word(copy->pieces, induction->reg, SN_PLAN_WORD_LEFT);
	put_ahead(copy->pieces, induction->is_ahead[from - copy->nest->blocks.items]);
}

int32_t rw_copy_left_label(struct rw_copy *copy, const struct rw_block *from, uint64_t to)
{
	struct rw_edge_stub stub = { .from = from->index, .to = to };

	for (size_t i = 0; i < copy->variant->left.count; i++)
		if (copy->variant->left.items[i].from == stub.from &&
		    copy->variant->left.items[i].to == to)
			return copy->variant->left.items[i].label;
	stub.label = rw_label_new(copy->pieces);
	sn_vec_push(&copy->variant->left, stub);
	return stub.label;
}

/* To the stub that leaves the loop for the copy that counts as well. */
static void put_left_stubs(struct rw_copy *copy)
{
	const struct rw_nest *nest = copy->nest;

	for (size_t i = 0; i < copy->variant->left.count; i++) {
		struct rw_edge_stub stub = copy->variant->left.items[i];
		const struct rw_block *from = rw_block_in(nest, (int32_t)stub.from);
		int32_t label = rw_copy_edge_label(copy, from, stub.to);

		copy->pieces->link_addr =
			nest->insns.items[from->first_insn + from->insn_count - 1].link_addr;
		rw_label_place(copy->pieces, stub.label);
		put_left(copy, from);
		if (label >= 0)
			rw_put_jump(copy->pieces, 0, label, false);
		else
			rw_put_jump_out(copy->pieces, stub.to);
	}
}

/* ---- where it calls ---- */

/* A variant is over where the loop makes a call. What is the execution itself goes on with the call as the copy that counts
 * does, and returns into that one: there loops within have begun. `insn` is the first instruction that the variant lacks. */
void rw_copy_put_call_of_variant(struct rw_copy *copy, const struct rw_block *block,
				 const struct rw_insn *insn)
{
	const struct rw_nest *nest = copy->nest;
	const struct sn_loop *loop = copy->variant->body->loop;
	struct rw_op ops[RW_COPY_OPS_MAX];
	size_t count;

	if (copy->variant->exit >= 0) {
		rw_put_jump_by(copy->pieces, copy->thunks->address[SN_PLAN_CALL_AT_CALL]);
		return;
	}
	if (copy->variant->induction)
		put_left(copy, block);
	rw_put_untime(copy->pieces, copy->thunks, nest->plan_index[loop->index]);
	count = rw_copy_entered_ops(copy, (int32_t)loop->index,
				    nest->function->blocks[block->index].loop, ops);
	for (size_t i = 0; i < count; i++) {
		ops[i].has_variants = false;
		ops[i].scratch = 0;
	}
	if (count)
		rw_put_ops(copy->pieces, copy->thunks, ops, count, true);
	for (; insn->flow == SN_FLOW_NEXT; insn++) {
		copy->pieces->link_addr = insn->link_addr;
		rw_put_original(copy->pieces, insn);
	}
	copy->pieces->link_addr = insn->link_addr;
	rw_put_jump_out(copy->pieces, insn->link_addr);
	rw_put_asides(copy->pieces, copy->thunks);
}

/* ---- one variant ---- */

/* Where the variant begins, as a label + 1; 0: the loop cannot have it. */
static const char *put_variant(struct rw_copy *copy, const struct rw_body *body, unsigned code,
			       uint32_t *out)
{
	const struct rw_nest *nest = copy->nest;
	enum sn_decan_variant kind = sn_variant_of_code(code);
	bool is_itself = kind == SN_VARIANT_ORIG || kind == SN_VARIANT_PF;
	struct rw_variant_copy variant = { .body = body,
					   .exit = -1,
					   .induction = is_itself ? body->induction : NULL };
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
	} else if (variant.induction) {
		rw_label_place(copy->pieces, entry);
		put_entered(copy->pieces, variant.induction);
		rw_put_jump(copy->pieces, 0, variant.block_label[header], true);
	} else {
		entry = variant.block_label[header];
	}
	copy->variant = &variant;
	if (!why) {
		put_variant_blocks(copy, is_itself && !copy->inductions[body->loop->index] &&
						 !variant.induction);
		put_left_stubs(copy);
		why = variant.how.why ? variant.how.why : copy->why;
	}
	if (!why && kind == SN_VARIANT_PF && !variant.how.loads)
		why = "no address in it moves by a constant";
	sn_vec_free(&variant.left);
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
static const char *put_recorder(struct rw_copy *copy, const struct sn_loop *loop,
				struct sn_plan_loop *out)
{
	struct rw_nest *nest = copy->nest;
	size_t pieces = copy->pieces->items.count, labels = copy->pieces->labels.count;
	size_t stubs = copy->stubs.count;
	const struct rw_body body = { .nest = nest, .loop = loop };
	struct rw_recorder recorder;
	struct rw_variant_copy variant = { .body = &body, .exit = -1, .recorder = &recorder };
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

static void put_variants(struct rw_copy *copy, const struct sn_loop *loop)
{
	struct sn_plan_loop *out = &copy->plan_loops[copy->nest->plan_index[loop->index]];
	struct rw_induction induction;
	struct rw_body body;

	if (copy->variants & SN_REWRITER_RECORDER)
		copy->nest->why_no_recorder[loop->index] = put_recorder(copy, loop, out);
	if (copy->variants & SN_REWRITER_RECORDER || rw_body_read(copy->nest, loop, &body))
		return;
	out->guarded = guarded_of(&body);
	if (!copy->inductions[loop->index] &&
	    rw_induction_find(copy->nest, loop, &body, &copy->nest->arena, &induction)) {
		body.induction = &induction;
		out->clean_step = induction.step;
	}
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
	struct rw_copy copy = {
		.nest = nest, .pieces = &pieces, .thunks = &thunks, .plan_loops = &loop
	};
	struct rw_body body;
	const char *why_none = rw_body_read(nest, nest->outer, &body);
	uint32_t label;

	rw_put_thunks(&pieces, &thunks);
	rw_copy_find_inductions(&copy);
	copy.block_label = sn_arena_array(&nest->arena, int32_t, nest->blocks.count + 1);
	for (unsigned v = 0; v < SN_VARIANTS; v++)
		why[v] = why_none ? why_none : put_variant(&copy, &body, v, &label);
	rw_pieces_free(&pieces);
	sn_vec_free(&copy.stubs);
	return !why_none && decides_by_irregular_loads(&body);
}

bool rw_nest_holds_others(const struct rw_nest *nest, uint32_t loop)
{
	for (uint32_t l = 0; l < nest->function->loop_count; l++)
		if (l != loop && nest->is_selected[l] &&
		    rw_loop_holds(nest->function, (int32_t)loop, (int32_t)l))
			return true;
	return false;
}

static bool is_left_out(const struct rw_copy *copy, uint32_t loop)
{
	return copy->variants & SN_REWRITER_INNERMOST && rw_nest_holds_others(copy->nest, loop);
}

void rw_copy_put_variants(struct rw_copy *copy)
{
	const struct sn_function *function = copy->nest->function;

	for (uint32_t l = 0; copy->variants && l < function->loop_count; l++)
		if (copy->nest->is_selected[l] && !is_left_out(copy, l))
			put_variants(copy, &function->loops[l]);
		else if (copy->nest->is_selected[l] && copy->variants & SN_REWRITER_RECORDER)
			copy->nest->why_no_recorder[l] = "a loop within it is chosen, too";
}
