/*
 * One source loop may become several loops of machine code: iterations peeled off to reach an
 * aligned address, the main loop over whole vectors, and the rest. There may be versions of all of
 * them for pointers that may or may not alias.
 *
 * Loops are one source loop if they were written in the same subroutine, at the same lines and at
 * the same height of a nest, and none is within another. Their roles follow from how much one pass
 * does, and from which comes after which. See docs/method/loops.md.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/structure_parts.h"

enum {
	REGISTERS = 16,
	GROUP_MAX = 64,	 /* larger ones are not told apart: all but the main one are versions */
	WALK_MAX = 4096, /* blocks looked at to find what comes after what */
	WALK_TOTAL_MAX = 50000000, /* in one function */
	ACCESSES_MAX = 64,
};

/* ---- what one pass of an innermost loop does ---- */

struct access {
	int64_t stride, displacement;
	uint16_t bytes, element_bytes;
	uint8_t base, index, scale;
	/* whose name says little of its elements: gcc takes movups for doubles */
	bool is_vector_move;
};

struct pass {
	uint16_t vector_bytes;
	uint32_t advance_bytes; /* farthest that any access moves in a pass; 0 unknown */
	uint32_t elements;   /* elements that the accesses tile the advance with; 0: they do not */
	uint32_t counted;    /* what the counter that closes the loop steps by; 0 unknown */
	uint32_t iterations; /* of the source; 0 unknown */
};

struct scanner {
	uint16_t writes[REGISTERS];
	int64_t step[REGISTERS];
	bool is_step[REGISTERS];
	struct access accesses[ACCESSES_MAX];
	unsigned access_count;
	uint16_t vector_bytes;
	uint16_t element_bytes; /* of packed arithmetic; 0: none, or of several sizes */
	bool is_mixed;
	uint32_t setters;	    /* registers that the flags now come from, a bit each */
	uint32_t closers;	    /* those that they came from at the last conditional jump */
	bool is_address[REGISTERS]; /* in an address as a pointer or with scale 1 */
	uint8_t scales[REGISTERS];  /* as an index: the largest scale */
};

/* Packed arithmetic by its name: ...PS, ...PD but for moves, shuffles and bit tricks; P... on
 * integers. */
static bool is_packed_arithmetic(const char *name)
{
	static const char *const prefixes[] = { "add",	 "sub",	   "mul",    "div",  "fmadd",
						"fmsub", "fnmadd", "fnmsub", "min",  "max",
						"sqrt",	 "rcp",	   "rsqrt",  "hadd", "dp" };
	static const char *const integer[] = { "padd", "psub", "pmul", "pmadd", "pmin",
					       "pmax", "psad", "pavg", "pabs",	"pdp" };
	size_t length;

	if (*name == 'v')
		name++;
	for (size_t i = 0; i < sizeof(integer) / sizeof(*integer); i++)
		if (!strncmp(name, integer[i], strlen(integer[i])))
			return true;
	length = strlen(name);
	if (length < 4 || name[length - 2] != 'p' ||
	    (name[length - 1] != 's' && name[length - 1] != 'd'))
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static uint16_t vector_register_bytes(ZydisRegister reg)
{
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_XMM:
		return 16;
	case ZYDIS_REGCLASS_YMM:
		return 32;
	case ZYDIS_REGCLASS_ZMM:
		return 64;
	default:
		return 0;
	}
}

static void scan_step(struct scanner *s, const ZydisDecodedInstruction *insn,
		      const ZydisDecodedOperand *o, int reg)
{
	int64_t step = 0;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_INC:
		step = 1;
		break;
	case ZYDIS_MNEMONIC_DEC:
		step = -1;
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (o[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return;
		step = insn->mnemonic == ZYDIS_MNEMONIC_ADD ? o[1].imm.value.s : -o[1].imm.value.s;
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (sn_gpr_number(o[1].mem.base) != reg || sn_gpr_number(o[1].mem.index) >= 0)
			return;
		step = o[1].mem.disp.value;
		break;
	default:
		return;
	}
	s->step[reg] = step;
	s->is_step[reg] = step > -65536 && step < 65536;
}

static bool is_vector_move(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand)
{
	const char *name = ZydisMnemonicGetString(insn->mnemonic);

	name += *name == 'v';
	return operand->size >= 128 &&
	       (strncmp(name, "mov", 3) == 0 || strncmp(name, "lddqu", 5) == 0);
}

/* Of packed arithmetic; on integers by the last letter of its name, which Zydis has not. */
static uint16_t element_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand)
{
	const char *name = ZydisMnemonicGetString(insn->mnemonic);

	if (name[*name == 'v'] == 'p')
		switch (name[strlen(name) - 1]) {
		case 'b':
			return 1;
		case 'w':
			return 2;
		case 'd':
			return 4;
		case 'q':
			return 8;
		}
	return (uint16_t)(operand->element_size / 8);
}

static void scan_element(struct scanner *s, uint16_t bytes)
{

	if (s->element_bytes && s->element_bytes != bytes)
		s->is_mixed = true;
	s->element_bytes = bytes;
}

static void scan_access(struct scanner *s, const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *operand)
{
	struct access access;

	if (operand->mem.type != ZYDIS_MEMOP_TYPE_MEM || s->access_count == ACCESSES_MAX ||
	    operand->size < 8)
		return;
	memset(&access, 0, sizeof(access));
	access.base = (uint8_t)(sn_gpr_number(operand->mem.base) + 1);
	access.index = (uint8_t)(sn_gpr_number(operand->mem.index) + 1);
	access.scale = operand->mem.scale;
	access.displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	access.bytes = (uint16_t)(operand->size / 8);
	access.element_bytes = is_packed_arithmetic(ZydisMnemonicGetString(insn->mnemonic))
				       ? element_of(insn, operand)
				       : (uint16_t)(operand->element_size / 8);
	access.is_vector_move = is_vector_move(insn, operand);
	if (access.base)
		s->is_address[access.base - 1] = true;
	if (access.index && access.scale == 1)
		s->is_address[access.index - 1] = true;
	else if (access.index && access.scale > s->scales[access.index - 1])
		s->scales[access.index - 1] = access.scale;
	s->accesses[s->access_count++] = access;
}

/* An address that is computed apart; the register's own step is none. */
static void scan_lea(struct scanner *s, const ZydisDecodedOperand *o)
{
	int base = sn_gpr_number(o[1].mem.base), index = sn_gpr_number(o[1].mem.index);

	if (base >= 0 && base != sn_gpr_number(o[0].reg.value))
		s->is_address[base] = true;
	if (index >= 0 && o[1].mem.scale == 1)
		s->is_address[index] = true;
}

/* Which registers decide whether there is another pass. */
static void scan_flags(struct scanner *s, const ZydisDecodedInstruction *insn,
		       const ZydisDecodedOperand *o)
{
	if (insn->meta.category == ZYDIS_CATEGORY_COND_BR) {
		s->closers = s->setters;
		return;
	}
	if (!insn->cpu_flags || !(insn->cpu_flags->modified & ZYDIS_CPUFLAG_ZF))
		return;
	s->setters = 0;
	for (unsigned i = 0; i < insn->operand_count_visible; i++) {
		int r = o[i].type == ZYDIS_OPERAND_TYPE_REGISTER ? sn_gpr_number(o[i].reg.value)
								 : -1;

		if (r >= 0)
			s->setters |= 1U << r;
	}
}

/* What the counter steps by, if it counts iterations: not bytes, and not passes. */
static uint32_t counted(const struct scanner *s, uint32_t advance_bytes)
{
	for (int r = 0; r < REGISTERS; r++) {
		uint32_t step = (uint32_t)llabs(s->step[r]);

		if (!(s->closers >> r & 1) || s->writes[r] != 1 || !s->is_step[r])
			continue;
		if (s->is_address[r] || step < 2 || step & (step - 1) ||
		    (!s->scales[r] && (s->vector_bytes || step == advance_bytes)))
			return 0;
		return step;
	}
	return 0;
}

static void scan_instruction(struct scanner *s, const ZydisDecodedInstruction *insn,
			     const ZydisDecodedOperand *o)
{
	bool is_packed = is_packed_arithmetic(ZydisMnemonicGetString(insn->mnemonic));

	scan_flags(s, insn, o);
	if (insn->mnemonic == ZYDIS_MNEMONIC_LEA)
		scan_lea(s, o);
	if (is_packed)
		scan_element(s, element_of(insn, &o[0]));
	for (unsigned i = 0; i < insn->operand_count; i++) {
		if (o[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			int reg = sn_gpr_number(o[i].reg.value);
			uint16_t bytes = vector_register_bytes(o[i].reg.value);

			if (reg >= 0 && o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
				s->writes[reg]++;
				if (i == 0)
					scan_step(s, insn, o, reg);
			}
			if (is_packed && bytes > s->vector_bytes)
				s->vector_bytes = bytes;
		} else if (o[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			   i < insn->operand_count_visible &&
			   insn->mnemonic != ZYDIS_MNEMONIC_LEA &&
			   insn->mnemonic != ZYDIS_MNEMONIC_NOP) {
			scan_access(s, insn, &o[i]);
			if (o[i].size >= 128 && o[i].size / 8 > s->vector_bytes)
				s->vector_bytes = (uint16_t)(o[i].size / 8);
		}
	}
}

static int64_t stride_of(const struct scanner *s, const struct access *access)
{
	int64_t stride = 0;

	for (int i = 0; i < 2; i++) {
		int reg = (i ? access->index : access->base) - 1;

		if (reg < 0 || !s->writes[reg])
			continue;
		if (s->writes[reg] != 1 || !s->is_step[reg])
			return 0; /* moves in a way we do not know */
		stride += s->step[reg] * (i ? access->scale : 1);
	}
	return stride;
}

/* Whether an access goes through the same registers as `lead`, and lies between where `lead` begins
 * in this pass and in the next. Other distances are other arrays, whose addresses the linker put
 * into the instructions. */
static bool same_stream(const struct access *access, const struct access *lead, uint32_t advance)
{
	int64_t distance = access->displacement - lead->displacement;

	return access->base == lead->base && access->index == lead->index &&
	       access->scale == lead->scale && distance >= 0 && distance < (int64_t)advance;
}

/* Do the accesses that belong to `lead` cover its advance without gap or overlap? */
static uint32_t tiles(const struct scanner *s, const struct access *lead, uint32_t advance)
{
	uint32_t covered = 0;

	for (unsigned i = 0; i < s->access_count; i++) {
		bool is_repeat = false;

		if (!same_stream(&s->accesses[i], lead, advance))
			continue;
		if (s->accesses[i].element_bytes != lead->element_bytes)
			return 0;
		for (unsigned k = 0; k < i; k++)
			is_repeat |= same_stream(&s->accesses[k], lead, advance) &&
				     s->accesses[k].displacement == s->accesses[i].displacement;
		covered += is_repeat ? 0 : s->accesses[i].bytes;
	}
	return covered == advance && lead->element_bytes && lead->element_bytes <= 8
		       ? advance / lead->element_bytes
		       : 0;
}

static struct pass scan_loop(const struct sn_structure *structure, const struct sn_loop *loop)
{
	struct scanner s = { 0 };
	struct pass pass = { 0 };
	const struct access *lead = NULL;

	for (uint32_t r = 0; r < loop->range_count; r++) {
		uint64_t at = loop->ranges[r].first_link_addr;

		while (at < loop->ranges[r].end_link_addr) {
			ZydisDecodedInstruction insn;
			ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
			size_t available;
			const uint8_t *bytes = sn_structure_bytes(structure, at, &available);

			if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(
					      sn_decoder(), bytes, available, &insn, operands)))
				break;
			scan_instruction(&s, &insn, operands);
			at += insn.length;
		}
	}
	pass.vector_bytes = s.vector_bytes;
	for (unsigned i = 0; i < s.access_count; i++)
		if (s.accesses[i].is_vector_move)
			s.accesses[i].element_bytes = s.is_mixed ? 0 : s.element_bytes;
	for (unsigned i = 0; i < s.access_count; i++) {
		int64_t stride = stride_of(&s, &s.accesses[i]);
		uint32_t distance = (uint32_t)(stride < 0 ? -stride : stride);

		if (distance > pass.advance_bytes) {
			pass.advance_bytes = distance;
			lead = &s.accesses[i];
		}
	}
	for (unsigned i = 0; lead && i < s.access_count && !pass.elements; i++) {
		int64_t stride = stride_of(&s, &s.accesses[i]);

		if ((uint32_t)(stride < 0 ? -stride : stride) == pass.advance_bytes)
			pass.elements = tiles(&s, &s.accesses[i], pass.advance_bytes);
	}
	pass.counted = counted(&s, pass.advance_bytes);
	return pass;
}

/* ---- who comes after whom ---- */

struct walker {
	const struct sn_function *function;
	SN_VEC(uint32_t) pending;
	uint32_t *seen; /* block -> number of the walk that met it last */
	uint32_t walk;
	uint64_t budget; /* blocks that may still be looked at, over all walks of the function */
};

static bool loop_contains(const struct sn_function *function, int32_t outer, int32_t inner)
{
	while (inner > outer)
		inner = function->loops[inner].parent;
	return inner == outer;
}

/* Can control go from one loop to the other without a new pass of the loop around `from`? */
static bool leads_to(struct walker *w, const struct sn_loop *from, const struct sn_loop *to)
{
	const struct sn_function *function = w->function;
	uint64_t stop =
		from->parent >= 0 ? function->loops[from->parent].header_link_addr : UINT64_MAX;
	size_t visited = 0;

	if (w->budget < function->block_count)
		return false;
	w->budget -= function->block_count;
	w->walk++;
	w->pending.count = 0;
	for (uint32_t b = 0; b < function->block_count; b++)
		if (loop_contains(function, (int32_t)from->index, function->blocks[b].loop)) {
			w->seen[b] = w->walk;
			sn_vec_push(&w->pending, b);
		}
	while (w->pending.count && visited++ < WALK_MAX) {
		const struct sn_block *block =
			&function->blocks[w->pending.items[--w->pending.count]];

		for (uint32_t e = 0; e < block->successor_count; e++) {
			uint32_t next = function->successors[block->first_successor + e];

			if (w->seen[next] == w->walk || function->blocks[next].link_addr == stop)
				continue;
			if (function->blocks[next].link_addr == to->header_link_addr)
				return true;
			w->seen[next] = w->walk;
			sn_vec_push(&w->pending, next);
		}
	}
	return false;
}

/* ---- groups ---- */

struct grouping {
	struct sn_loop *loops;
	struct pass *passes;
	uint16_t *height;
	uint32_t *by_line; /* loop indices sorted by file, height, first line */
	uint32_t count;
};

static __thread const struct grouping *sorting_here; /* qsort has no context */

static int by_place(const void *a, const void *b)
{
	const struct grouping *g = sorting_here;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct sn_loop *x = &g->loops[i], *y = &g->loops[k];

	if (x->file != y->file)
		return strcmp(x->file ? x->file : "", y->file ? y->file : "");
	if (g->height[i] != g->height[k])
		return g->height[i] < g->height[k] ? -1 : 1;
	if (x->line_first != y->line_first)
		return x->line_first < y->line_first ? -1 : 1;
	return i < k ? -1 : i > k;
}

static bool same_home(const struct sn_function *function, int32_t a, int32_t b)
{
	const struct sn_inline *x, *y;

	if (a < 0 || b < 0)
		return a == b;
	x = &function->inlines[a];
	y = &function->inlines[b];
	return x->name == y->name && x->call_file == y->call_file && x->call_line == y->call_line;
}

/* Line ranges that share at least half of the shorter one. */
static bool same_lines(const struct sn_loop *a, const struct sn_loop *b)
{
	uint32_t first = a->line_first > b->line_first ? a->line_first : b->line_first;
	uint32_t last = a->line_last < b->line_last ? a->line_last : b->line_last;
	uint32_t a_lines = a->line_last - a->line_first + 1;
	uint32_t b_lines = b->line_last - b->line_first + 1;

	return first <= last && 2 * (last - first + 1) >= (a_lines < b_lines ? a_lines : b_lines);
}

static bool same_source_loop(const struct sn_function *function, const struct sn_loop *a,
			     const struct sn_loop *b)
{
	return a->file == b->file && a->line_first && same_lines(a, b) &&
	       same_home(function, a->inline_index, b->inline_index) &&
	       !loop_contains(function, (int32_t)a->index, (int32_t)b->index) &&
	       !loop_contains(function, (int32_t)b->index, (int32_t)a->index);
}

/* More work in a pass is more main: bytes advanced, vector width, instructions, then the earlier
 * one. */
static bool is_more_main(const struct grouping *g, uint32_t a, uint32_t b)
{
	const struct pass *x = &g->passes[a], *y = &g->passes[b];

	if (x->vector_bytes != y->vector_bytes)
		return x->vector_bytes > y->vector_bytes;
	if (x->advance_bytes != y->advance_bytes)
		return x->advance_bytes > y->advance_bytes;
	if (g->loops[a].instruction_count != g->loops[b].instruction_count)
		return g->loops[a].instruction_count > g->loops[b].instruction_count;
	return a < b;
}

static bool is_before(const struct grouping *g, struct walker *w, uint32_t a, uint32_t b)
{
	return leads_to(w, &g->loops[a], &g->loops[b]) && !leads_to(w, &g->loops[b], &g->loops[a]);
}

/* The rest of a loop does less in a pass than its main part. A loop that does as much and runs
 * after it was written a second time on these lines. `mains` receives them all, `main_loop` first. */
static size_t find_mains(const struct grouping *g, struct walker *w, const uint32_t *members,
			 size_t count, uint32_t main_loop, uint32_t mains[GROUP_MAX])
{
	const struct pass *most = &g->passes[main_loop];
	size_t found = 1;

	mains[0] = main_loop;
	for (size_t i = 0; i < count && count <= GROUP_MAX && most->advance_bytes; i++) {
		const struct pass *pass = &g->passes[members[i]];

		if (members[i] != main_loop && pass->advance_bytes == most->advance_bytes &&
		    pass->vector_bytes == most->vector_bytes &&
		    (is_before(g, w, members[i], main_loop) ||
		     is_before(g, w, main_loop, members[i])))
			mains[found++] = members[i];
	}
	return found;
}

/* The main loop that a part belongs to: the last one before it, else the first one after it; else
 * the first of `mains`. */
static uint32_t owner_of(const struct grouping *g, struct walker *w, uint32_t part,
			 const uint32_t *mains, size_t count)
{
	uint32_t owner = mains[0];
	bool is_after = false, is_found = false;

	if (count == 1)
		return owner;
	for (size_t i = 0; i < count; i++) {
		bool after = is_before(g, w, mains[i], part);

		if (!after && (is_after || !is_before(g, w, part, mains[i])))
			continue;
		if (!is_found || after != is_after ||
		    (after ? is_before(g, w, owner, mains[i]) : is_before(g, w, mains[i], owner)))
			owner = mains[i];
		is_after = after;
		is_found = true;
	}
	return owner;
}

static void set_roles(struct grouping *g, struct walker *w, const uint32_t *members, size_t count)
{
	uint32_t main_loop = members[0], mains[GROUP_MAX];
	size_t main_count;

	for (size_t i = 1; i < count; i++)
		if (is_more_main(g, members[i], main_loop))
			main_loop = members[i];
	main_count = find_mains(g, w, members, count, main_loop, mains);
	for (size_t i = 0; i < main_count; i++)
		g->loops[mains[i]].group = mains[i];
	for (size_t i = 0; i < count; i++) {
		struct sn_loop *loop = &g->loops[members[i]];
		bool before, after, is_main = false;
		uint32_t owner;

		for (size_t k = 0; k < main_count; k++)
			is_main |= mains[k] == members[i];
		if (is_main)
			continue;
		owner = owner_of(g, w, members[i], mains, main_count);
		loop->group = owner;
		before = count <= GROUP_MAX && leads_to(w, loop, &g->loops[owner]);
		after = count <= GROUP_MAX && leads_to(w, &g->loops[owner], loop);
		loop->role = before && !after	? SN_LOOP_PEEL
			     : after && !before ? SN_LOOP_TAIL
						: SN_LOOP_VERSION;
	}
}

/* Source iterations in one pass: what the counter says, or where the operations were written; else
 * against the scalar loop of the same source loop. */
static void set_unroll(struct grouping *g, const uint32_t *members, size_t count)
{
	uint32_t unit = 0;

	for (size_t i = 0; i < count; i++) {
		const struct pass *pass = &g->passes[members[i]];

		if (pass->advance_bytes && (pass->iterations == 1 || pass->counted) &&
		    pass->advance_bytes % pass->iterations == 0 &&
		    (!unit || pass->advance_bytes / pass->iterations < unit))
			unit = pass->advance_bytes / pass->iterations;
	}
	for (size_t i = 0; i < count; i++) {
		const struct pass *pass = &g->passes[members[i]];
		uint32_t unroll = pass->iterations;

		if (count > 1 && unit && !pass->counted && pass->advance_bytes &&
		    pass->advance_bytes % unit == 0)
			unroll = pass->advance_bytes / unit;
		g->loops[members[i]].unroll = (uint16_t)(unroll > UINT16_MAX ? 0 : unroll);
	}
}

static void form_groups(struct grouping *g, struct walker *w)
{
	bool *is_taken = sn_alloc_zeroed((size_t)g->count + 1, sizeof(*is_taken));
	SN_VEC(uint32_t) members = { 0 };

	for (uint32_t i = 0; i < g->count; i++) {
		const struct sn_loop *first = &g->loops[g->by_line[i]];

		if (is_taken[i])
			continue;
		members.count = 0;
		sn_vec_push(&members, g->by_line[i]);
		for (uint32_t k = i + 1; first->line_first && k < g->count; k++) {
			const struct sn_loop *other = &g->loops[g->by_line[k]];

			if (other->file != first->file || other->line_first > first->line_last ||
			    g->height[g->by_line[k]] != g->height[g->by_line[i]])
				break;
			if (is_taken[k] || !same_source_loop(w->function, first, other))
				continue;
			is_taken[k] = true;
			sn_vec_push(&members, g->by_line[k]);
		}
		set_unroll(g, members.items, members.count);
		if (members.count > 1)
			set_roles(g, w, members.items, members.count);
	}
	sn_vec_free(&members);
	free(is_taken);
}

void sn_loops_group(struct sn_structure *structure, struct sn_function *function)
{
	struct grouping g = { .loops = (struct sn_loop *)function->loops,
			      .count = function->loop_count };
	struct walker w = { .function = function, .budget = WALK_TOTAL_MAX };

	if (!g.count)
		return;
	g.passes = sn_alloc_zeroed(g.count, sizeof(*g.passes));
	g.height = sn_alloc_zeroed(g.count, sizeof(*g.height));
	g.by_line = sn_alloc_zeroed(g.count, sizeof(*g.by_line));
	w.seen = sn_alloc_zeroed((size_t)function->block_count + 1, sizeof(*w.seen));
	for (uint32_t i = g.count; i-- > 0;) {
		struct sn_loop *loop = &g.loops[i];

		if (loop->is_innermost)
			g.passes[i] = scan_loop(structure, loop);
		loop->vector_bytes = g.passes[i].vector_bytes;
		g.passes[i].iterations = g.passes[i].counted;
		if (loop->is_innermost && !g.passes[i].iterations)
			g.passes[i].iterations =
				sn_loop_iterations(structure, function, loop, g.passes[i].elements,
						   g.passes[i].advance_bytes);
		loop->role = SN_LOOP_MAIN;
		loop->group = i;
		g.by_line[i] = i;
		if (loop->parent >= 0 && g.height[loop->parent] < g.height[i] + 1)
			g.height[loop->parent] = (uint16_t)(g.height[i] + 1);
	}
	sorting_here = &g;
	qsort(g.by_line, g.count, sizeof(*g.by_line), by_place);
	form_groups(&g, &w);
	sn_vec_free(&w.pending);
	free(w.seen);
	free(g.passes);
	free(g.height);
	free(g.by_line);
}
