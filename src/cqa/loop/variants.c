/* What a loop would cost if it were cleaned or vectorized: the block is rewritten instruction by
 * instruction in the model's terms (units, uops, latency), and estimated like any other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cqa/loop/variant_parts.h"

const char *const sn_variant_names[SN_VARIANT_COUNT] = { "clean", "fp_vector", "full_vector",
							 "no_dependence", "next_bottleneck" };

static bool is_loop_control(const struct sn_cqa_block *block, size_t index)
{
	const struct sn_insn *last = &block->insns[block->count - 1];
	const struct sn_insn *insn = &block->insns[index];
	size_t setter = block->count - 1;

	if (insn == last)
		return true;
	if (!last->is_conditional)
		return false;
	/* the instruction that sets the flags of the closing branch, and the step of what it looks
	 * at */
	while (setter > 0) {
		bool writes = false;

		setter--;
		for (unsigned k = 0; k < block->insns[setter].write_count; k++)
			writes |= block->insns[setter].writes[k] >= SN_RES_FLAG;
		if (writes)
			break;
	}
	if (index == setter)
		return true;
	for (unsigned k = 0; k < block->insns[setter].read_count; k++)
		for (unsigned w = 0; w < insn->write_count; w++)
			if (insn->writes[w] < 16 &&
			    insn->writes[w] == block->insns[setter].reads[k].resource)
				return true;
	return false;
}

static bool is_fp_work(const struct sn_insn *insn)
{
	struct sn_fp_operation operation;

	return sn_fp_operation_of(insn, &operation) || insn->is_vector_move;
}

struct sn_cqa_block sn_variant_block(const struct sn_cqa_block *block, struct sn_arena *arena)
{
	struct sn_cqa_block out = *block;

	out.insns = sn_arena_array(arena, struct sn_insn, block->count + 1);
	out.count = 0;
	return out;
}

void sn_variant_set(struct sn_cqa_variant *out, double original, double cycles)
{
	out->is_applicable = true;
	out->cycles = cycles < original ? cycles : original;
	out->speedup = out->cycles > 0 ? original / out->cycles : 1;
}

static void variant_clean(const struct sn_machine *machine, struct sn_cqa_path *path,
			  struct sn_arena *arena)
{
	struct sn_cqa_block block = sn_variant_block(&path->block, arena);
	double original = path->estimate.cycles;
	bool *is_needed = sn_arena_array(arena, bool, path->block.count + 1);

	if (!path->metrics.fp_scalar && !path->metrics.fp_packed)
		return;
	sn_cqa_find_needed(&path->block, path->on_integer_recurrence, is_needed, arena);
	for (size_t i = 0; i < path->block.count; i++)
		if (is_fp_work(&path->block.insns[i]) || is_loop_control(&path->block, i) ||
		    is_needed[i])
			block.insns[block.count++] = path->block.insns[i];
	block.accesses = sn_accesses_of(&block, arena);
	sn_variant_set(&path->variants[SN_VARIANT_CLEAN], original,
		       sn_cqa_variant_cycles(machine, &block, NULL, original, arena));
}

/* "addsd", "mulps" at another width -> the packed VEX form of `bytes` with its row; NULL if none.
 */
static const struct sn_row *packed_row(const struct sn_machine *machine, const struct sn_insn *insn,
				       unsigned bytes)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	size_t length = strlen(name);
	char text[SN_FORM_TEXT_MAX];
	const char *kind = bytes == 64 ? "z" : bytes == 32 ? "y" : "x";
	bool is_sqrt = strstr(name, "sqrt") != NULL;
	sn_form form;

	if (length < 4 || length > 24 || insn->isa == ZYDIS_ISA_EXT_X87)
		return NULL;
	snprintf(text, sizeof(text), "%s%.*sp%c %s,%s%s%s", name[0] == 'v' ? "" : "v",
		 (int)(length - 2), name, name[length - 1], kind, kind, is_sqrt ? "" : ",",
		 is_sqrt ? "" : kind);
	if (!sn_form_parse(text, strlen(text), &form))
		return NULL;
	return sn_machine_row_exact(machine, form);
}

static void scale(struct sn_insn *insn, float times)
{
	for (unsigned i = 0; i < insn->set_count; i++)
		insn->sets[i].count *= times;
	insn->divider_cycles *= times;
	insn->fused_uops *= times;
	insn->issued_uops *= times;
}

void sn_variant_add_set(struct sn_insn *insn, uint32_t units, float count)
{
	if (units && count > 0 && insn->set_count < SN_ROW_SETS_MAX) {
		insn->sets[insn->set_count++] = (struct sn_unit_set){ units, count };
		insn->fused_uops += count;
		insn->issued_uops += count;
	}
}

uint32_t sn_variant_shuffle_units(const struct sn_machine *machine)
{
	sn_form form;
	const struct sn_row *row;

	if (!sn_form_parse("unpcklpd x,x", 12, &form))
		return 0;
	row = sn_machine_row_exact(machine, form);
	return row && row->set_count ? row->sets[0].units : 0;
}

/* The operation at full width; a load that it had folded in stays apart for the caller. */
static void widen_operation(const struct sn_machine *machine, struct sn_insn *insn, unsigned lanes,
			    unsigned factor)
{
	const struct sn_row *row = packed_row(machine, insn, machine->rules.vector_bytes);

	(void)lanes;
	if (!row) {
		scale(insn, (float)factor);
		return;
	}
	insn->set_count = row->set_count;
	memcpy(insn->sets, row->sets, sizeof(insn->sets));
	insn->divider_cycles = row->divider_cycles;
	insn->latency = row->latency;
	insn->fused_uops = insn->issued_uops = row->uops > 1 ? row->uops : 1;
	insn->is_512 = machine->rules.vector_bytes == 64;
	insn->operand_bytes = (uint8_t)machine->rules.vector_bytes;
}

/* Permission to reorder is permission to approximate: quotients and roots of floats become an
 * estimate of 14 bits and a Newton step where that takes less time (gcc -ffast-math, clang
 * -ffast-math). The step is four multiplications and additions, of a root five, and the test for
 * zero. */
static void approximate(const struct sn_machine *machine, struct sn_insn *insn,
			const struct sn_fp_operation *operation)
{
	bool is_root = operation->kind == SN_FP_SQRT;
	const char *text = is_root ? "vrsqrt14ps z,z" : "vrcp14ps z,z";
	const struct sn_row *estimate = NULL, *multiply = NULL;
	const float products = 4, others = 1;
	sn_form form;

	if (machine->rules.vector_bytes != 64 || operation->element_bytes != 4 ||
	    (operation->kind != SN_FP_DIV && !is_root))
		return;
	if (sn_form_parse(text, strlen(text), &form))
		estimate = sn_machine_row_exact(machine, form);
	if (sn_form_parse("vmulps z,z,z", 12, &form))
		multiply = sn_machine_row_exact(machine, form);
	if (!estimate || !multiply || !multiply->set_count || !estimate->set_count ||
	    insn->divider_cycles <= products / (float)__builtin_popcount(multiply->sets[0].units))
		return;
	insn->divider_cycles = 0;
	insn->set_count = estimate->set_count;
	memcpy(insn->sets, estimate->sets, sizeof(insn->sets));
	insn->fused_uops = insn->issued_uops = estimate->uops;
	insn->latency = estimate->latency + 3 * multiply->latency;
	sn_variant_add_set(insn, multiply->sets[0].units, products);
	sn_variant_add_set(insn, sn_variant_shuffle_units(machine),
			   others); /* as many units as a shuffle has */
}

const struct sn_access *sn_variant_access_of(const struct sn_accesses *accesses, size_t insn)
{
	for (size_t i = 0; i < accesses->count; i++)
		if (accesses->items[i].insn == insn)
			return &accesses->items[i];
	return NULL;
}

struct widening {
	const struct sn_machine *machine;
	const struct sn_accesses *accesses;
	unsigned factor; /* passes of the original in one of the variant */
	bool with_memory;
	uint32_t shuffles;
};

bool sn_variant_is_contiguous(const struct sn_accesses *accesses, const struct sn_access *access)
{
	int64_t stride = access->stride_bytes < 0 ? -access->stride_bytes : access->stride_bytes;
	int64_t bytes = access->address.bytes;
	uint64_t covered = 0;

	if (sn_stride_kind_of(access) == SN_STRIDE_UNIT)
		return true;
	if (sn_stride_kind_of(access) != SN_STRIDE_N || !bytes || stride % bytes ||
	    stride / bytes > 63)
		return false;
	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *other = &accesses->items[i];
		int64_t apart = other->address.constant - access->address.constant;

		if (other->address.base_root != access->address.base_root ||
		    other->address.index_root != access->address.index_root ||
		    other->address.scale != access->address.scale ||
		    other->address.bytes != access->address.bytes || apart % bytes)
			continue;
		apart %= stride;
		covered |= 1ULL << (uint64_t)((apart < 0 ? apart + stride : apart) / bytes);
	}
	return covered == (1ULL << (uint64_t)(stride / bytes)) - 1;
}

static bool is_same_array(const struct sn_access *a, const struct sn_access *b)
{
	return a->address.base_root == b->address.base_root &&
	       a->address.index_root == b->address.index_root &&
	       a->address.scale == b->address.scale && a->stride_bytes == b->stride_bytes;
}

/* How far an access is from the place in a vector that most accesses of its array have. Those can
 * be aligned; others then are not. */
static int64_t misalignment_bytes(const struct sn_accesses *accesses,
				  const struct sn_access *access, int64_t vector_bytes)
{
	int64_t aligned = access->address.constant;
	unsigned most = 0;

	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *one = &accesses->items[i];
		unsigned alike = 0;

		for (size_t k = 0; k < accesses->count && is_same_array(one, access); k++)
			alike += is_same_array(&accesses->items[k], one) &&
				 (accesses->items[k].address.constant - one->address.constant) %
						 vector_bytes ==
					 0;
		if (alike > most)
			aligned = one->address.constant;
		most = alike > most ? alike : most;
	}
	return access->address.constant - aligned;
}

/* Vectors that cannot be aligned lie in two lines, instead of the elements that do. */
static void charge_misalignment(const struct widening *w, struct sn_insn *insn,
				const struct sn_access *access)
{
	int64_t element = access->address.bytes, bytes = element * w->factor;
	float now, before;

	if (llabs(access->stride_bytes) != element || element < 2 || bytes > 64)
		return;
	now = sn_cqa_split_share(misalignment_bytes(w->accesses, access, bytes), bytes,
				 (unsigned)bytes);
	before = sn_cqa_split_share(access->address.constant, access->stride_bytes,
				    (unsigned)element);
	sn_cqa_charge_memory(w->machine, insn, (1 + now) / (1 + before));
}

void sn_variant_add_move(const struct sn_machine *machine, struct sn_insn *insn, unsigned bytes,
			 bool is_store, float times)
{
	static const char *const texts[][2] = { { "movss x,m32", "movss m32,x" },
						{ "movsd x,m64", "movsd m64,x" },
						{ "movups x,m128", "movups m128,x" },
						{ "vmovups y,m256", "vmovups m256,y" },
						{ "vmovups z,m512", "vmovups m512,z" } };
	unsigned width = bytes <= 4 ? 0 : bytes <= 8 ? 1 : bytes <= 16 ? 2 : bytes <= 32 ? 3 : 4;
	const char *text = texts[width][is_store];
	const struct sn_row *row = NULL;
	sn_form form;

	if (sn_form_parse(text, strlen(text), &form))
		row = sn_machine_row_exact(machine, form);
	if (!row) {
		sn_variant_add_set(insn, is_store ? machine->store_data_units : machine->load_units,
				   times);
		return;
	}
	for (unsigned i = 0; i < row->set_count && insn->set_count < SN_ROW_SETS_MAX; i++)
		insn->sets[insn->set_count++] =
			(struct sn_unit_set){ row->sets[i].units, row->sets[i].count * times };
	/* the first travels with the operation that it feeds */
	times -= insn->fused_uops > 0 && !is_store ? 1 : 0;
	insn->fused_uops += times;
	insn->issued_uops += times;
}

/* Memory of an instruction that now serves `factor` passes. */
static void widen_memory(const struct widening *w, struct sn_insn *insn, size_t index)
{
	const struct sn_access *access = sn_variant_access_of(w->accesses, index);
	unsigned element = insn->memory[0].bytes, bytes = element;
	bool is_unit = access && sn_variant_is_contiguous(w->accesses, access);
	bool is_same = access && sn_stride_kind_of(access) == SN_STRIDE_ZERO;
	float times = (float)w->factor;

	if ((w->with_memory && is_unit) || is_same)
		times = 1;
	if (w->with_memory && is_unit)
		bytes = element * w->factor;
	if (insn->memory[0].is_load)
		sn_variant_add_move(w->machine, insn, bytes, false, times);
	if (insn->memory[0].is_store)
		sn_variant_add_move(w->machine, insn, bytes, true, times);
	if (w->with_memory && is_unit)
		charge_misalignment(w, insn, access);
	/* elements are put together or taken apart one by one */
	if (times > 1)
		sn_variant_add_set(insn, w->shuffles, times - 1);
}

static void widen(const struct widening *w, struct sn_insn *insn, size_t index)
{
	struct sn_fp_operation operation;
	bool has_memory = insn->memory_count > 0 && !insn->memory[0].is_vector_index;

	if (sn_fp_operation_of(insn, &operation)) {
		widen_operation(w->machine, insn, operation.lanes, w->factor);
		if (w->with_memory)
			approximate(w->machine, insn, &operation);
		if (has_memory)
			widen_memory(w, insn, index);
	} else if (insn->is_vector_move && has_memory) {
		insn->set_count = 0;
		insn->fused_uops = insn->issued_uops = 0;
		widen_memory(w, insn, index);
	} else if (insn->category == ZYDIS_CATEGORY_CONVERT) {
		/* a packed conversion does as much work for each register */
		scale(insn, w->factor > 2 ? 2 : 1);
	}
}

/* A compiler that vectorizes for this machine makes an FMA of a product and its addition, and then
 * the sum waits for the whole of it in every step. */
static double contracted_chain(const struct sn_machine *machine, const struct sn_cqa_path *path,
			       double chain)
{
	bool is_product[SN_RES_COUNT] = { false };
	const struct sn_row *fma = NULL;
	double contracted = 0;
	sn_form form;

	if (sn_form_parse("vfmadd231pd y,y,y", 17, &form))
		fma = sn_machine_row_exact(machine, form);
	for (size_t i = 0; i < path->block.count && fma; i++) {
		const struct sn_insn *insn = &path->block.insns[i];
		struct sn_fp_operation operation = { 0 };
		bool computes = sn_fp_operation_of(insn, &operation), takes_product = false;

		for (unsigned k = 0; k < insn->read_count; k++)
			takes_product |= is_product[insn->reads[k].resource];
		if (path->chain.is_member[i] && operation.kind == SN_FP_ADD && takes_product)
			contracted += (double)fma->latency;
		else if (path->chain.is_member[i])
			return chain;
		for (unsigned k = 0; k < insn->write_count; k++)
			is_product[insn->writes[k]] = computes && operation.kind == SN_FP_MUL;
	}
	return contracted > chain ? contracted : chain;
}

static bool is_load(const struct sn_insn *insn)
{
	return insn->is_vector_move && insn->memory_count == 1 && insn->memory[0].is_load &&
	       insn->write_count == 1;
}

/* Scalar code may keep what it loaded for the next pass (b[i + 1] of this one is b[i] of that).
 * Neighbours in a register do not move on like that: vector code loads for each use. Returns by how
 * many uses there are more than loads; 0 if no pass takes a loaded value from the one before. */
static unsigned loads_anew(const struct sn_cqa_block *block)
{
	bool is_loaded[SN_RES_COUNT] = { false }, is_written[SN_RES_COUNT] = { false };
	bool is_carried = false;
	unsigned loads = 0, uses = 0;

	for (size_t i = 0; i < block->count; i++)
		if (is_load(&block->insns[i])) {
			is_loaded[block->insns[i].writes[0]] = true;
			loads++;
		}
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];

		for (unsigned k = 0; k < insn->read_count; k++) {
			unsigned from = insn->reads[k].resource;

			if (!is_loaded[from] || is_load(insn))
				continue;
			is_carried |= !is_written[from];
			/* "vmovsd a,b,b" reads b once */
			uses += !k || insn->reads[k - 1].resource != from;
		}
		for (unsigned k = 0; k < insn->write_count; k++) {
			is_written[insn->writes[k]] = true;
			if (!is_load(insn))
				is_loaded[insn->writes[k]] = false;
		}
	}
	return is_carried && uses > loads ? uses - loads : 0;
}

/* These loads are not aligned. */
static void load_anew(const struct sn_machine *machine, struct sn_cqa_block *block, unsigned times)
{
	unsigned bytes = machine->rules.vector_bytes;

	for (size_t i = 0; i < block->count && times; i++)
		if (is_load(&block->insns[i])) {
			sn_variant_add_move(machine, &block->insns[i], bytes, false,
					    (float)times * (1 + (float)bytes / 64));
			return;
		}
}

static double widened_cycles(const struct sn_machine *machine, struct sn_cqa_path *path,
			     struct sn_arena *arena, unsigned factor, bool with_memory)
{
	struct widening w = { machine, path->block.accesses, factor, with_memory,
			      sn_variant_shuffle_units(machine) };
	struct sn_cqa_block block = sn_variant_block(&path->block, arena);
	double chain = path->estimate.chain_cycles;

	for (size_t i = 0; i < path->block.count; i++) {
		block.insns[i] = path->block.insns[i];
		widen(&w, &block.insns[i], i);
	}
	block.count = path->block.count;
	if (with_memory)
		load_anew(machine, &block, loads_anew(&path->block));
	/* A sum may be kept in `factor` parts only if its order may change, which is what the full
	   variant asks for; a recurrence stays as long for each element. */
	if (with_memory && path->chain_is_reduction)
		chain = contracted_chain(machine, path, chain);
	if (path->chain_is_through_memory || path->chain_is_recurrence ||
	    (path->chain_is_reduction && !with_memory))
		chain *= factor;
	/* a recurrence beside a slower sum stays as long, too */
	chain = fmax(chain, path->recurrence_cycles * factor);
	return sn_cqa_variant_cycles(machine, &block, &chain, path->estimate.cycles * factor,
				     arena) /
	       factor;
}

/* How many passes one full-width pass covers: by the narrowest FP arithmetic. */
static unsigned widening_factor(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	unsigned narrowest = 0, element = 0;

	for (size_t i = 0; i < block->count; i++) {
		struct sn_fp_operation operation;
		unsigned bytes;

		if (!sn_fp_operation_of(&block->insns[i], &operation) ||
		    block->insns[i].isa == ZYDIS_ISA_EXT_X87)
			continue;
		bytes = operation.lanes * operation.element_bytes;
		if (!narrowest || bytes < narrowest)
			narrowest = bytes;
		if (operation.element_bytes > element)
			element = operation.element_bytes;
	}
	if (!narrowest)
		return 0;
	/* mixed precision: the wider element decides */
	if (narrowest < element)
		narrowest = element;
	return machine->rules.vector_bytes / narrowest;
}

/* A loop that makes few passes leaves lanes of its last vector idle, and a vector takes as long as
 * a pass. */
static void set_vector(struct sn_cqa_path *path, enum sn_variant variant, double cycles)
{
	double original = path->estimate.cycles;

	if (path->widening < path->widening_of_machine)
		cycles = fmax(cycles, original / path->widening);
	sn_variant_set(&path->variants[variant], original, cycles);
}

static void variants_vector(const struct sn_machine *machine, struct sn_cqa_path *path,
			    struct sn_arena *arena)
{
	unsigned factor = widening_factor(machine, &path->block);
	double original = path->estimate.cycles;

	path->widening_of_machine = factor;
	if (path->metrics.trips && path->metrics.trips < factor)
		factor = path->metrics.trips;
	path->widening = factor;
	if (!factor)
		return;
	if (factor == 1) {
		sn_variant_set(&path->variants[SN_VARIANT_FP_VECTOR], original, original);
		sn_variant_set(&path->variants[SN_VARIANT_FULL_VECTOR], original, original);
		return;
	}
	set_vector(path, SN_VARIANT_FP_VECTOR, widened_cycles(machine, path, arena, factor, false));
	set_vector(path, SN_VARIANT_FULL_VECTOR,
		   widened_cycles(machine, path, arena, factor, true));
}

static void variants_of_bounds(struct sn_cqa_path *path)
{
	const struct sn_cqa_estimate *estimate = &path->estimate;
	double without_latency = 0, next = 0;

	for (unsigned i = 0; i < SN_BOUND_COUNT; i++) {
		if (i != SN_BOUND_LATENCY && estimate->bounds[i] > without_latency)
			without_latency = estimate->bounds[i];
		if (i != estimate->bottleneck && estimate->bounds[i] > next)
			next = estimate->bounds[i];
	}
	sn_variant_set(&path->variants[SN_VARIANT_NO_DEPENDENCE], estimate->cycles,
		       without_latency);
	sn_variant_set(&path->variants[SN_VARIANT_NEXT], estimate->cycles, next);
}

void sn_cqa_variants(const struct sn_machine *machine, struct sn_cqa_path *path,
		     struct sn_arena *arena)
{
	memset(path->variants, 0, sizeof(path->variants));
	if (!path->block.count)
		return;
	variant_clean(machine, path, arena);
	variants_vector(machine, path, arena);
	variants_of_bounds(path);
	sn_cqa_variant_conversions(machine, path, arena);
	sn_cqa_variant_integers(machine, path, arena);
}

/* What a load becomes in FP: a move between registers, which takes no unit and begins a value anew. */
static void drop_memory(const struct sn_machine *machine, struct sn_insn *insn, bool is_move)
{
	sn_cqa_charge_memory(machine, insn, 0);
	insn->load_latency = 0;
	insn->memory_count = 0;
	if (is_move) {
		insn->latency = 0;
		insn->read_count = 0;
		insn->is_move_eliminated = true;
	}
}

static bool is_move(const struct sn_insn *insn)
{
	return insn->fp_kind < 0 && !insn->is_branch &&
	       (insn->is_vector_move || insn->category == ZYDIS_CATEGORY_DATAXFER);
}

double sn_cqa_arithmetic_cycles(const struct sn_cqa_loop *result)
{
	const struct sn_cqa_path *path;
	struct sn_cqa_block block;
	struct sn_arena arena = { 0 };
	double cycles = NAN;

	if (result->not_analysed || !result->path_count || !result->paths)
		return NAN;
	path = &result->paths[result->main_path];
	if (!path->block.count)
		return NAN;
	block = sn_variant_block(&path->block, &arena);
	for (size_t i = 0; i < path->block.count; i++) {
		struct sn_insn insn = path->block.insns[i];

		if (insn.memory_count && !is_loop_control(&path->block, i)) {
			/* a store that does nothing else writes no register */
			if (is_move(&insn) && !insn.write_count)
				continue;
			drop_memory(result->machine, &insn, is_move(&insn));
		}
		block.insns[block.count++] = insn;
	}
	if (block.count) {
		block.accesses = sn_accesses_of(&block, &arena);
		cycles = sn_cqa_variant_cycles(result->machine, &block, NULL, INFINITY, &arena);
	}
	sn_arena_free(&arena);
	return cycles;
}
