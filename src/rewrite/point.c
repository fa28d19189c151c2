/*
 * Arrivals at one instruction. A jump of five bytes takes the place of the instructions there, which are done in the code that counts. So
 * nobody may arrive in the middle of these bytes: neither the function's own jumps, nor another function's, nor a return.
 */
#include <string.h>

#include "rewrite/rewrite_parts.h"

enum { JUMP_BYTES = 5 };

struct point {
	struct rw_nest nest; /* of which only the instructions are used */
	uint64_t site, end;  /* link addresses: the bytes of the jump */
	bool goes_on;	     /* behind them */
};

/* Below the red zone; the flags stay. A handler that arrives between the load and the store is not counted. */
static void put_count(struct rw_pieces *pieces)
{
	static const uint8_t load[] = { 0x64, 0x48, 0x8b, 0x0c, 0x25, 0, 0, 0, 0 };
	static const uint8_t store[] = { 0x64, 0x48, 0x89, 0x0c, 0x25, 0, 0, 0, 0 };

	RW_PUT(pieces, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea rsp, [rsp-128] */
	pieces->below = 128;
	RW_PUT(pieces, 0x51); /* push rcx */
	pieces->below = 136;
	rw_put_field(pieces, load, sizeof(load), 5, SN_PLAN_THREAD, SN_PLAN_WORD_VISITS);
	RW_PUT(pieces, 0x48, 0x8d, 0x49, 0x01); /* lea rcx, [rcx+1] */
	rw_put_field(pieces, store, sizeof(store), 5, SN_PLAN_THREAD, SN_PLAN_WORD_VISITS);
	RW_PUT(pieces, 0x59); /* pop rcx */
	pieces->below = 128;
	RW_PUT(pieces, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea rsp, [rsp+128] */
	pieces->below = 0;
}

static bool is_jcc(const struct rw_insn *insn)
{
	return (insn->bytes[0] & 0xf0) == 0x70 ||
	       (insn->bytes[0] == 0x0f && (insn->bytes[1] & 0xf0) == 0x80);
}

/* A call takes all of the jump's bytes that are left, so nothing returns among them. */
static const char *check_call(const struct point *point, const struct rw_insn *insn)
{
	bool is_inside = insn->target_link_addr > point->site &&
			 insn->target_link_addr < point->site + JUMP_BYTES;

	return insn->length < JUMP_BYTES || is_inside ? "it has a call that cannot be moved" : NULL;
}

static const char *check_insn(const struct point *point, const struct rw_insn *insn)
{
	switch (insn->flow) {
	case SN_FLOW_NEXT:
	case SN_FLOW_JUMP:
	case SN_FLOW_RETURN:
		return NULL;
	case SN_FLOW_BRANCH:
		return is_jcc(insn) ? NULL : "it has a jump that cannot be moved";
	case SN_FLOW_CALL:
		return check_call(point, insn);
	default:
		return "it has an indirect call or jump";
	}
}

/* Behind the last instruction there may be bytes that only fill up. */
static const char *read_padding(struct point *point)
{
	const struct sn_structure *structure = point->nest.rewriter->structure;

	while (point->end - point->site < JUMP_BYTES) {
		struct sn_instruction insn;
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(structure, point->end, &available);
		const struct sn_function *other = sn_structure_function_at(structure, point->end);

		if (!bytes || (other && other != point->nest.function) ||
		    !sn_instruction_decode(bytes, available, point->end, &insn) || !insn.is_padding)
			return "there is no room for a jump";
		point->end += insn.length;
	}
	return NULL;
}

static const char *read_site(struct point *point)
{
	point->end = point->site;
	point->goes_on = true;
	while (point->goes_on && point->end - point->site < JUMP_BYTES) {
		unsigned length = 0;
		const char *why = rw_insn_read(&point->nest, point->end, &length);
		const struct rw_insn *insn;

		if (why)
			return why;
		insn = &sn_vec_last(&point->nest.insns);
		/* an indirect jump may have to land on it */
		if (insn->is_endbr && point->end == point->site) {
			point->nest.insns.count = 0;
			point->site = point->end += length;
			continue;
		}
		if ((why = check_insn(point, insn)))
			return why;
		point->goes_on = insn->flow == SN_FLOW_NEXT || insn->flow == SN_FLOW_BRANCH;
		point->end += length;
	}
	return read_padding(point);
}

/* A block behind a branch of the site has no other way to it. */
static bool is_only_behind(const struct point *point, uint32_t block)
{
	const struct sn_function *function = point->nest.function;
	uint64_t begin = function->blocks[block].link_addr;

	if (function->blocks[block].flags & SN_BLOCK_ENTRY)
		return false;
	for (uint32_t b = 0; b < function->block_count; b++) {
		const struct sn_block *from = &function->blocks[b];

		for (uint32_t s = 0;
		     from->link_addr + from->size_bytes != begin && s < from->successor_count; s++)
			if (function->successors[from->first_successor + s] == block)
				return false;
	}
	for (size_t i = 0; i < point->nest.insns.count; i++)
		if (point->nest.insns.items[i].target_link_addr == begin)
			return false;
	return true;
}

static const char *check_entries(const struct point *point)
{
	const struct sn_function *function = point->nest.function;
	bool is_inside = false;

	for (uint32_t b = 0; b < function->block_count; b++) {
		const struct sn_block *block = &function->blocks[b];

		if (block->link_addr > point->site && block->link_addr < point->end &&
		    !is_only_behind(point, b))
			return "there are jumps to where its jump would be";
		if (block->flags & SN_BLOCK_INDIRECT && !(block->flags & SN_BLOCK_PROVED))
			return "the length of a jump table of its function is not proved";
		is_inside |= point->site >= block->link_addr &&
			     point->site < block->link_addr + block->size_bytes;
	}
	if (!is_inside)
		return "nothing known leads to it";
	if (rw_is_entered(&point->nest.rewriter->entered, point->site + 1, point->end))
		return "code of another function jumps to where its jump would be";
	return NULL;
}

/* It returns to where it would: who unwinds, or looks at who called, finds the original. */
static void put_call(struct rw_pieces *pieces, const struct rw_insn *insn)
{
	static const uint8_t lea[] = { 0x48, 0x8d, 0x05, 0, 0, 0, 0 };

	RW_PUT(pieces, 0x50); /* push rax */
	pieces->below = 8;
	/* lea rax, [what it returns to]; from the end of the field */
	rw_put_field(pieces, lea, sizeof(lea), 3, SN_PLAN_PC,
		     (int64_t)(insn->link_addr + insn->length) - 4);
	RW_PUT(pieces, 0x48, 0x87, 0x04, 0x24); /* xchg [rsp], rax */
	rw_put_jump_out(pieces, insn->target_link_addr);
	pieces->below = 0;
}

static void put_insn(struct rw_pieces *pieces, const struct rw_insn *insn)
{
	pieces->link_addr = insn->link_addr;
	if (insn->flow == SN_FLOW_JUMP) {
		rw_put_jump_out(pieces, insn->target_link_addr);
	} else if (insn->flow == SN_FLOW_BRANCH) {
		uint8_t condition = insn->bytes[0] == 0x0f ? insn->bytes[1] - 0x10 : insn->bytes[0];
		int32_t on = rw_label_new(pieces);

		/* over a jump out, if the opposite holds */
		rw_put_jump(pieces, condition ^ 1, on, true);
		rw_put_jump_out(pieces, insn->target_link_addr);
		rw_label_place(pieces, on);
	} else if (insn->flow == SN_FLOW_CALL) {
		put_call(pieces, insn);
	} else {
		rw_put_original(pieces, insn);
	}
}

/* `tells`: the runtime is called, else the arrival is counted. */
static void put_point(struct rw_plan *plan, const struct point *point, bool tells)
{
	struct rw_pieces *pieces = &plan->pieces;
	struct rw_patch patch = { .patch = { .link_addr = point->site, .length = JUMP_BYTES },
				  .label = rw_label_new(pieces) };
	size_t available;

	memcpy(patch.patch.expected,
	       sn_structure_bytes(point->nest.rewriter->structure, point->site, &available),
	       JUMP_BYTES);
	sn_vec_push(&plan->patches.patches, patch);
	rw_label_place(pieces, patch.label);
	pieces->link_addr = point->site;
	if (tells)
		rw_put_told(pieces, &plan->thunks, (uint32_t)plan->patches.patches.count - 1);
	else
		put_count(pieces);
	for (size_t i = 0; i < point->nest.insns.count; i++)
		put_insn(pieces, &point->nest.insns.items[i]);
	pieces->link_addr = point->end;
	if (point->goes_on)
		rw_put_jump_out(pieces, point->end);
	else
		RW_PUT(pieces, 0xcc); /* a label needs a piece */
}

static const char *add_point(struct rw_plan *plan, struct sn_rewriter *rewriter,
			     const struct sn_function *function, uint64_t link_addr, bool tells)
{
	struct point point = { .nest = { .rewriter = rewriter, .function = function },
			       .site = link_addr };
	const char *why = rw_function_refusal(function);

	if (!why)
		why = read_site(&point);
	if (!why)
		why = check_entries(&point);
	if (!why)
		put_point(plan, &point, tells);
	sn_vec_free(&point.nest.insns);
	return why;
}

const char *sn_rewriter_point(struct sn_rewriter *rewriter, const struct sn_function *function,
			      uint64_t link_addr, struct sn_text *out)
{
	struct rw_plan plan;
	const char *why;

	rw_plan_begin(&plan);
	why = add_point(&plan, rewriter, function, link_addr, false);
	if (!why)
		rw_plan_write(&plan, rewriter, out);
	rw_plan_end(&plan);
	return why;
}

static bool meets_another(const struct rw_plan *plan)
{
	const struct rw_patch *last = &sn_vec_last(&plan->patches.patches);

	for (size_t i = 0; i + 1 < plan->patches.patches.count; i++) {
		uint64_t other = plan->patches.patches.items[i].patch.link_addr;

		if (other < last->patch.link_addr + JUMP_BYTES &&
		    last->patch.link_addr < other + JUMP_BYTES)
			return true;
	}
	return false;
}

const char *sn_rewriter_told_points(struct sn_rewriter *rewriter, const uint64_t *link_addrs,
				    size_t count, struct sn_text *out)
{
	static const uint64_t mark = 1;
	struct rw_plan plan;
	const char *why = NULL;

	rw_plan_begin(&plan);
	for (size_t i = 0; i < count && !why; i++) {
		const struct sn_function *function =
			sn_structure_function_at(rewriter->structure, link_addrs[i]);

		if (!function) {
			why = "no function of the file is there";
			break;
		}
		sn_function_prepare(rewriter->structure, function, SN_PREPARE_CODE);
		why = add_point(&plan, rewriter, function, link_addrs[i], true);
		if (!why && meets_another(&plan))
			why = "two of its places are too near each other";
	}
	sn_text_add_bytes(&plan.tables, (const char *)&mark, sizeof(mark));
	if (!why)
		rw_plan_write(&plan, rewriter, out);
	rw_plan_end(&plan);
	return why;
}
