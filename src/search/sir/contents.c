/* Decodes a function once, and notes its direct calls and the static variables that it names. */
#include "search/sir/contents.h"

#include <stdlib.h>
#include <string.h>

#include "code/decode.h"

/* ---- calls ---- */

static const struct {
	const char *name; /* a star at the end: any rest */
	const char *type;
} call_types[] = {
	{ "GOMP_parallel*", "parallelRegion" },
	{ "__kmpc_fork_call", "parallelRegion" },
	{ "GOMP_barrier", "parallelBarrier" },
	{ "__kmpc_barrier", "parallelBarrier" },
	{ "GOMP_critical_start", "parallelCriticalSection" },
	{ "GOMP_critical_name_start", "parallelCriticalSection" },
	{ "__kmpc_critical*", "parallelCriticalSection" },
	{ "GOMP_atomic_start", "parallelAtomic" },
	{ "GOMP_single_*", "parallelSingle" },
	{ "__kmpc_single", "parallelSingle" },
	{ "__kmpc_master", "parallelMaster" },
	{ "GOMP_ordered_start", "parallelOrdered" },
	{ "__kmpc_ordered", "parallelOrdered" },
	{ "GOMP_loop_*start", "workshareLoop" },
	{ "__kmpc_for_static_init*", "workshareLoop" },
	{ "__kmpc_dispatch_init*", "workshareLoop" },
	{ "GOMP_sections_start", "workshareSections" },
	{ "GOMP_task", "parallelTask" },
	{ "GOMP_taskloop*", "parallelTask" },
	{ "__kmpc_omp_task", "parallelTask" },
	{ "__kmpc_omp_task_with_deps", "parallelTask" },
	{ "GOMP_taskwait", "taskWait" },
	{ "__kmpc_omp_taskwait", "taskWait" },
	{ "fopen*", "io" },
	{ "fclose", "io" },
	{ "fread", "io" },
	{ "fwrite", "io" },
	{ "fprintf", "io" },
	{ "fscanf", "io" },
	{ "printf", "io" },
	{ "puts", "io" },
	{ "open", "io" },
	{ "open64", "io" },
	{ "read", "io" },
	{ "write", "io" },
	{ "pread*", "io" },
	{ "pwrite*", "io" },
	{ "_gfortran_st_*", "io" },
	{ "MPI_File_*", "io" },
};

static bool name_is(const char *pattern, const char *name, size_t length)
{
	const char *star = strchr(pattern, '*');
	size_t before = star ? (size_t)(star - pattern) : strlen(pattern);
	size_t after = star ? strlen(star + 1) : 0;

	if (star ? length < before + after : length != before)
		return false;
	return !memcmp(pattern, name, before) &&
	       !memcmp(pattern + before + (star ? 1 : 0), name + length - after, after);
}

const char *sn_sir_type_of_call(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(call_types) / sizeof(*call_types); i++)
		if (name_is(call_types[i].name, name, length))
			return call_types[i].type;
	return "call";
}

/* An operand at a constant distance from a register. */
struct distance {
	int32_t loop;
	int64_t bytes;
};

struct reading {
	const struct sn_structure *structure;
	const struct sn_function *function;
	const struct sn_variables *variables;
	struct sn_sir_contents *out;
	SN_VEC(struct sn_sir_touch) taken; /* of which an address is taken, by the loop around */
	SN_VEC(int64_t) shifts;		   /* by which `lea` moves a register on */
	SN_VEC(uint64_t) bases;		   /* those addresses */
	SN_VEC(struct distance) distances;
};

static void call_note(struct reading *r, const struct sn_instruction *insn, uint64_t link_addr,
		      int32_t loop)
{
	const struct sn_function *to =
		sn_structure_function_at(r->structure, insn->target_link_addr);
	const struct sn_line *line = sn_function_line_at(r->function, link_addr);
	struct sn_sir_call call = { .loop = loop };

	if (!to || to == r->function || to->link_addr != insn->target_link_addr ||
	    (to->kind != SN_FUNCTION_SYMBOL && to->kind != SN_FUNCTION_PLT))
		return;
	if (line) {
		call.file = line->file;
		call.line = line->line;
	}
	call.name = to->linkage_name;
	call.name_length = (uint32_t)strcspn(call.name, "@");
	call.type = sn_sir_type_of_call(call.name, call.name_length);
	for (size_t i = 0; i < r->out->calls.count; i++) {
		const struct sn_sir_call *old = &r->out->calls.items[i];

		if (old->loop == loop && old->line == call.line && old->name == call.name)
			return;
	}
	sn_vec_push(&r->out->calls, call);
}

/* ---- variables ---- */

#define touch_add(list, touch)                                                                     \
	do {                                                                                       \
		bool is_known = false;                                                             \
		for (size_t n = 0; n < (list)->count && !is_known; n++)                            \
			is_known = (list)->items[n].loop == (touch).loop &&                        \
				   (list)->items[n].variable == (touch).variable;                  \
		if (!is_known)                                                                     \
			sn_vec_push(list, touch);                                                  \
	} while (0)

static void address_note(struct reading *r, uint64_t link_addr, int32_t loop, bool is_taken)
{
	const struct sn_variable *v =
		r->variables ? sn_variables_at(r->variables, link_addr) : NULL;
	struct sn_sir_touch touch = { .loop = loop };

	if (!v)
		return;
	touch.variable = (uint32_t)(v - r->variables->items.items);
	if (is_taken)
		sn_vec_push(&r->bases, link_addr);
	if (is_taken)
		touch_add(&r->taken, touch);
	else
		touch_add(&r->out->touches, touch);
}

/* A shorter one stays within what the register points at; more than so many are not combined. */
enum { LEAST_DISTANCE = 4096, LEAST_SHIFT = 64, DISTANCES_MOST = 2000, BASES_MOST = 64 };
/* mmap_min_addr of most systems: below it nothing is mapped. */
enum { SMALLEST_ADDRESS = 0x10000 };

static void distance_note(struct reading *r, const ZydisDecodedInstruction *insn,
			  const ZydisDecodedOperand *o, int32_t loop)
{
	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.base == ZYDIS_REGISTER_RIP ||
	    o->mem.base == ZYDIS_REGISTER_NONE || o->mem.base == ZYDIS_REGISTER_RSP)
		return;
	if (insn->mnemonic == ZYDIS_MNEMONIC_LEA && o->mem.disp.value >= LEAST_SHIFT)
		sn_vec_push(&r->shifts, o->mem.disp.value);
	else if (loop >= 0 && o->mem.disp.value >= LEAST_DISTANCE)
		sn_vec_push(&r->distances, (struct distance){ loop, o->mem.disp.value });
}

/* Operands at constant addresses; of a move of a constant, that. */
static void operands_note(struct reading *r, const uint8_t *bytes, size_t length,
			  uint64_t link_addr, int32_t loop)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(sn_decoder(), bytes, length, &insn, operands)))
		return;
	for (unsigned i = 0; i < insn.operand_count_visible; i++) {
		const ZydisDecodedOperand *o = &operands[i];
		ZyanU64 address;

		bool in_memory = o->type == ZYDIS_OPERAND_TYPE_MEMORY;
		bool displaced = in_memory && o->mem.disp.has_displacement;

		if (displaced && o->mem.base == ZYDIS_REGISTER_RIP &&
		    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&insn, o, link_addr, &address)))
			address_note(r, address, loop, insn.mnemonic == ZYDIS_MNEMONIC_LEA);
		else if ((displaced && o->mem.base == ZYDIS_REGISTER_NONE) ||
			 (in_memory && o->mem.disp.value > SMALLEST_ADDRESS))
			address_note(r, (uint64_t)o->mem.disp.value, loop, false);
		else if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			 insn.mnemonic == ZYDIS_MNEMONIC_MOV && o->imm.value.u > SMALLEST_ADDRESS)
			address_note(r, o->imm.value.u, loop, true);
		distance_note(r, &insn, o, loop);
	}
}

/* A base may have been moved on before it is used. */
static void bases_shift(struct reading *r)
{
	size_t count = r->bases.count;

	for (size_t b = 0; b < count; b++)
		for (size_t i = 0; i < r->shifts.count && r->bases.count < BASES_MOST; i++)
			sn_vec_push(&r->bases, r->bases.items[b] + (uint64_t)r->shifts.items[i]);
}

/* Members of one block are reached from its beginning. */
static void distances_note(struct reading *r)
{
	bases_shift(r);
	for (size_t i = 0; i < r->distances.count && i < DISTANCES_MOST; i++)
		for (size_t b = 0; b < r->bases.count && b < BASES_MOST; b++)
			address_note(r, r->bases.items[b] + (uint64_t)r->distances.items[i].bytes,
				     r->distances.items[i].loop, false);
}

/* ---- loops ---- */

static int touches_compare(const void *left, const void *right)
{
	const struct sn_sir_touch *a = left, *b = right;

	if (a->loop != b->loop)
		return a->loop < b->loop ? -1 : 1;
	return (a->variable > b->variable) - (a->variable < b->variable);
}

/* Outer loops touch what inner ones do; all inside code that takes an address may. */
static void touches_spread(struct reading *r)
{
	const struct sn_loop *loops = r->function->loops;
	size_t direct = r->out->touches.count;

	for (size_t i = 0; i < direct; i++) {
		struct sn_sir_touch touch = r->out->touches.items[i];

		while (touch.loop >= 0) {
			touch.loop = loops[touch.loop].parent;
			touch_add(&r->out->touches, touch);
		}
	}
	for (size_t i = 0; i < r->taken.count; i++) {
		struct sn_sir_touch touch = r->taken.items[i];
		int32_t outer = touch.loop;

		touch_add(&r->out->touches, touch);
		for (uint32_t l = 0; l < r->function->loop_count; l++) {
			int32_t at = (int32_t)l;

			while (at >= 0 && at != outer)
				at = loops[at].parent;
			touch.loop = (int32_t)l;
			if (at == outer)
				touch_add(&r->out->touches, touch);
		}
	}
	if (r->out->touches.count)
		qsort(r->out->touches.items, r->out->touches.count, sizeof(*r->out->touches.items),
		      touches_compare);
}

static void block_read(struct reading *r, const struct sn_block *block)
{
	size_t available, done = 0;
	const uint8_t *bytes = sn_structure_bytes(r->structure, block->link_addr, &available);

	if (available > block->size_bytes)
		available = block->size_bytes;
	while (bytes && done < available) {
		struct sn_instruction insn;
		uint64_t link_addr = block->link_addr + done;
		unsigned length =
			sn_instruction_decode(bytes + done, available - done, link_addr, &insn);

		if (!length)
			return;
		if (insn.flow == SN_FLOW_CALL || insn.flow == SN_FLOW_JUMP) /* a tail call */
			call_note(r, &insn, link_addr, block->loop);
		else
			operands_note(r, bytes + done, length, link_addr, block->loop);
		done += length;
	}
}

void sn_sir_contents_read(const struct sn_structure *structure, const struct sn_function *function,
			  const struct sn_variables *variables, struct sn_sir_contents *out)
{
	struct reading r = {
		.structure = structure, .function = function, .variables = variables, .out = out
	};

	*out = (struct sn_sir_contents){ 0 };
	for (uint32_t b = 0; b < function->block_count; b++)
		block_read(&r, &function->blocks[b]);
	distances_note(&r);
	touches_spread(&r);
	sn_vec_free(&r.taken);
	sn_vec_free(&r.bases);
	sn_vec_free(&r.shifts);
	sn_vec_free(&r.distances);
}

void sn_sir_contents_free(struct sn_sir_contents *contents)
{
	sn_vec_free(&contents->calls);
	sn_vec_free(&contents->touches);
}
