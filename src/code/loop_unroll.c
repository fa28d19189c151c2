/*
 * Source iterations in one pass of a loop, from evidence, else unknown. An unrolled loop has each
 * operation of the source as often as it has copies; several fields of one element are operations
 * of their own, at places of their own. See docs/method/loops.md.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/structure_parts.h"

enum {
	PLACES_MAX = 256,
	ORDER_MAX = 1024,
	LINES_BESIDE = 3, /* a vector operation has but one of the lines that it stands for */
};

/* Where an operation was written. */
struct place {
	const struct sn_line *line;
	char kind; /* what operation: a letter of its name, 0: a store */
	uint32_t inside,
		outside; /* operations (lanes) there in the loop, and scalar ones elsewhere */
};

struct census {
	struct place places[PLACES_MAX];
	unsigned count;
	uint8_t order[ORDER_MAX]; /* places of the operations in the loop, in order */
	unsigned order_count;
	bool is_complete; /* every operation has a line and a column, and a place here */
};

static bool same_place(const struct sn_function *function, const struct sn_line *a,
		       const struct sn_line *b)
{
	const struct sn_inline *x, *y;

	if (a->file != b->file || a->line != b->line || a->column != b->column)
		return false;
	if (a->inline_index < 0 || b->inline_index < 0)
		return a->inline_index == b->inline_index;
	x = &function->inlines[a->inline_index];
	y = &function->inlines[b->inline_index];
	return x->name == y->name && x->call_file == y->call_file && x->call_line == y->call_line &&
	       x->call_column == y->call_column;
}

static struct place *place_of(struct census *census, const struct sn_function *function,
			      uint64_t link_addr, char kind)
{
	const struct sn_line *line = sn_function_line_at(function, link_addr);

	if (!line || !line->line || !line->column) {
		census->is_complete = false;
		return NULL;
	}
	for (unsigned i = 0; i < census->count; i++)
		if (census->places[i].kind == kind &&
		    same_place(function, census->places[i].line, line))
			return &census->places[i];
	if (census->count == PLACES_MAX) {
		census->is_complete = false;
		return NULL;
	}
	census->places[census->count] = (struct place){ .line = line, .kind = kind };
	return &census->places[census->count++];
}

static bool begins_with_any(const char *name, const char *const *starts)
{
	for (; *starts; starts++)
		if (!strncmp(name, *starts, strlen(*starts)))
			return true;
	return false;
}

/* Floating-point operations and conversions: how many an instruction does; 0 if it is none. */
static unsigned fp_lanes(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	static const char *const starts[] = { "add",   "sub",	 "mul",	   "div", "fmadd",
					      "fmsub", "fnmadd", "fnmsub", "min", "max",
					      "sqrt",  "cvt",	 NULL };
	const char *name = ZydisMnemonicGetString(insn->mnemonic);
	unsigned lanes = 1, bits = 0, element = 0;
	size_t length;

	name += *name == 'v';
	length = strlen(name);
	if (!begins_with_any(name, starts) || length < 5)
		return 0;
	for (unsigned i = 0; i < insn->operand_count_visible && i < 3; i++)
		if (operands[i].element_size > element &&
		    (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY ||
		     operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER) &&
		    ZydisRegisterGetClass(operands[i].reg.value) != ZYDIS_REGCLASS_MASK) {
			element = operands[i].element_size;
			bits = operands[i].size;
		}
	if (!strncmp(name, "cvt", 3))
		return strstr(name, "ss") || strstr(name, "sd") || strstr(name, "si") ? 1
		       : element && bits >= element ? bits / element
						    : 0;
	if (name[length - 1] != 's' && name[length - 1] != 'd')
		return 0;
	if (name[length - 2] == 'p')
		lanes = element ? bits / element : 0;
	else if (name[length - 2] != 's')
		return 0;
	return lanes;
}

static bool stores(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	return insn->operand_count_visible && operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
}

typedef void (*visit)(void *context, uint64_t link_addr, const ZydisDecodedInstruction *insn,
		      const ZydisDecodedOperand *operands);

static void each_instruction(const struct sn_structure *structure, uint64_t at, uint64_t end,
			     visit call, void *context)
{
	while (at < end) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		size_t available;
		const uint8_t *bytes = sn_structure_bytes(structure, at, &available);

		if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), bytes, available,
								   &insn, operands)))
			return;
		call(context, at, &insn, operands);
		at += insn.length;
	}
}

static bool is_inside_loop(const struct sn_loop *loop, uint64_t link_addr)
{
	for (uint32_t r = 0; r < loop->range_count; r++)
		if (link_addr >= loop->ranges[r].first_link_addr &&
		    link_addr < loop->ranges[r].end_link_addr)
			return true;
	return false;
}

struct counting {
	const struct sn_function *function;
	const struct sn_loop *loop;
	struct census fp, stored, loaded;
	uint32_t element_bytes; /* 0 unknown */
	bool is_inside, is_packed, has_shuffles;
	bool has_pairs; /* the rest moves more than an element at once */
};

static bool is_row_of(const struct sn_line *row, const struct sn_loop *loop)
{
	return row->file == loop->file && row->line + LINES_BESIDE >= loop->line_first &&
	       row->line <= loop->line_last + LINES_BESIDE;
}

static bool is_of_lines(const struct sn_function *function, const struct sn_loop *loop,
			uint64_t link_addr)
{
	const struct sn_line *line = sn_function_line_at(function, link_addr);

	return line && is_row_of(line, loop);
}

static void add(struct counting *c, struct census *census, uint64_t link_addr, char kind,
		unsigned n)
{
	struct place *place = place_of(census, c->function, link_addr, kind);

	if (!place)
		return;
	*(c->is_inside ? &place->inside : &place->outside) += n;
	if (c->is_inside && census->order_count < ORDER_MAX)
		census->order[census->order_count++] = (uint8_t)(place - census->places);
}

/* FMAs with their many names are one kind, and so are additions and subtractions. */
static char kind_of(const ZydisDecodedInstruction *insn)
{
	const char *name = ZydisMnemonicGetString(insn->mnemonic);

	name += *name == 'v';
	return (char)(name[0] == 'f'			 ? 'f'
		      : name[0] == 'm'			 ? name[1]
		      : name[0] == 's' && name[1] == 'u' ? 'a'
							 : name[0]);
}

static void count_one(void *context, uint64_t link_addr, const ZydisDecodedInstruction *insn,
		      const ZydisDecodedOperand *operands)
{
	static const char *const shuffles[] = { "unpck",  "punpck",  "shuf",   "pshuf",	  "perm",
						"pack",	  "vpermt2", "insert", "extract", "pblend",
						"blend",  "movhl",   "movlh",  "movdd",	  "movsh",
						"movsl",  "perm2",   "pinsr",  "pextr",	  "hadd",
						"palign", NULL };
	struct counting *c = context;
	const char *name = ZydisMnemonicGetString(insn->mnemonic);
	unsigned lanes;

	if (!c->is_inside &&
	    (is_inside_loop(c->loop, link_addr) || !is_of_lines(c->function, c->loop, link_addr)))
		return;
	lanes = fp_lanes(insn, operands);
	if (c->is_inside) {
		name += *name == 'v';
		name += *name == 'p' && !strncmp(name + 1, "erm", 3);
		c->has_shuffles |= begins_with_any(name, shuffles);
		c->is_packed |= lanes > 1;
	}
	if (lanes && (c->is_inside || lanes == 1))
		add(c, &c->fp, link_addr, kind_of(insn), lanes);
	for (unsigned i = 0; i < insn->operand_count_visible; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			add(c, &c->loaded, link_addr, 0, 1);
	if (stores(insn, operands) && !c->is_inside)
		c->has_pairs |= operands[0].size / 8 != c->element_bytes;
	if (stores(insn, operands))
		add(c, &c->stored, link_addr, 0, 1);
}

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Copies of what was written once: what all counts have in common, if it is what compilers unroll
 * by. Two at one place may be two operations of one statement or macro, as debug information has
 * not the column of each. Copies follow each other; gcc's sums in order have the operations of one
 * place at two, unequally. */
static uint32_t copies(const struct census *census)
{
	uint32_t common = 0;
	bool is_even = true;

	for (unsigned i = 0; i < census->count; i++)
		common = greatest_divisor(census->places[i].inside, common);
	for (unsigned i = 0; i < census->count; i++)
		is_even &= census->places[i].inside == common;
	if (common == 1)
		return 1;
	if ((common != 4 && common != 8) || !census->is_complete || census->order_count % common ||
	    census->order_count == ORDER_MAX)
		return 0;
	if (is_even && common >= 4)
		return common;
	for (unsigned i = census->order_count / common; i < census->order_count; i++)
		if (census->order[i] != census->order[i - census->order_count / common])
			return 0;
	return common;
}

/* Whether the loop's lines go on in the block: few do, and only those are worth decoding. */
static bool has_rows_of(const struct sn_function *function, const struct sn_loop *loop,
			const struct sn_block *block)
{
	const struct sn_line *row = sn_function_line_at(function, block->link_addr);
	const struct sn_line *end = function->lines + function->line_count;

	for (row = row ? row : function->lines;
	     row < end && row->link_addr < block->link_addr + block->size_bytes; row++)
		if (is_row_of(row, loop))
			return true;
	return false;
}

static void count_outside(const struct sn_structure *structure, struct counting *c)
{
	c->is_inside = false;
	for (uint32_t b = 0; b < c->function->block_count; b++) {
		const struct sn_block *block = &c->function->blocks[b];

		if (has_rows_of(c->function, c->loop, block))
			each_instruction(structure, block->link_addr,
					 block->link_addr + block->size_bytes, count_one, c);
	}
}

/* Operations at a place, equally often everywhere and by a power of two; else 0. */
static uint32_t even_copies(const struct census *census, uint32_t elements)
{
	uint32_t got = census->count ? census->places[0].inside : 0;

	for (unsigned i = 0; i < census->count; i++)
		if (census->places[i].inside != got)
			return 0;
	return census->is_complete && got && !(got & (got - 1)) && elements % got == 0 ? got : 0;
}

/* Vectors leave a rest, which is scalar. Where one vector operation does those of several fields,
 * the rest has operations at places where the loop has none. */
static uint32_t vector_iterations(const struct census *census, uint32_t elements)
{
	for (unsigned i = 0; i < census->count; i++)
		if (!census->places[i].outside)
			return 0;
	return even_copies(census, elements);
}

/* What is outside of the loop can only take an answer away: without one it is not looked at. */
static bool may_have_answer(const struct counting *c, const struct census *work, uint32_t elements)
{
	unsigned inside = 0;

	if (work == &c->fp)
		return c->is_packed && even_copies(work, elements);
	for (unsigned i = 0; i < work->count; i++)
		inside += work->places[i].inside != 0;
	return inside == 1 && elements && !c->has_shuffles && !c->has_pairs;
}

/* Without floating point: one place that is stored to or loaded from, in the loop and in the rest.
 */
static uint32_t plain_iterations(const struct census *census, uint32_t elements)
{
	unsigned inside = 0, outside = 0;

	for (unsigned i = 0; i < census->count; i++) {
		inside += census->places[i].inside != 0;
		outside += census->places[i].outside != 0;
	}
	return inside == 1 && outside == 1 ? elements : 0;
}

uint32_t sn_loop_iterations(const struct sn_structure *structure,
			    const struct sn_function *function, const struct sn_loop *loop,
			    uint32_t elements, uint32_t advance_bytes)
{
	struct counting *c = sn_alloc_zeroed(1, sizeof(*c));
	const struct census *work;
	bool is_vector;
	uint32_t got;

	c->function = function;
	c->loop = loop;
	c->element_bytes = elements ? advance_bytes / elements : 0;
	c->is_inside = c->fp.is_complete = c->stored.is_complete = c->loaded.is_complete = true;
	for (uint32_t r = 0; r < loop->range_count; r++)
		each_instruction(structure, loop->ranges[r].first_link_addr,
				 loop->ranges[r].end_link_addr, count_one, c);
	is_vector = loop->vector_bytes || c->is_packed;
	work = c->fp.count ? &c->fp : c->stored.count ? &c->stored : &c->loaded;
	got = copies(work);
	if (got > 1 && (work == &c->loaded || (elements && elements % got)))
		got = 0;
	if (is_vector && (got != 1 || !c->is_packed || c->has_shuffles)) {
		if (may_have_answer(c, work, elements))
			count_outside(structure, c);
		got = work != &c->fp ? plain_iterations(
					       work, c->has_shuffles || c->has_pairs ? 0 : elements)
		      : c->is_packed ? vector_iterations(work, elements)
				     : 0;
	}
	free(c);
	return got;
}
