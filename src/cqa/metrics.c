#include "cqa/metrics.h"

#include <math.h>
#include <string.h>

static bool ends_with(const char *name, const char *end)
{
	size_t a = strlen(name), b = strlen(end);

	return a >= b && strcmp(name + a - b, end) == 0;
}

static bool begins_with(const char *name, const char *start)
{
	return strncmp(name, start, strlen(start)) == 0;
}

/* Scalar or packed, single or double, from the last two letters. */
static bool suffix_of(const char *name, bool *is_packed, unsigned *element_bytes)
{
	static const struct {
		const char *end;
		bool is_packed;
		unsigned bytes;
	} suffixes[] = { { "ss", false, 4 }, { "sd", false, 8 }, { "ps", true, 4 },
			 { "pd", true, 8 },  { "sh", false, 2 }, { "ph", true, 2 } };

	for (unsigned i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (ends_with(name, suffixes[i].end)) {
			*is_packed = suffixes[i].is_packed;
			*element_bytes = suffixes[i].bytes;
			return true;
		}
	return false;
}

static bool is_x87_arithmetic(const char *name, int *kind)
{
	static const struct {
		const char *start;
		int kind;
	} names[] = { { "fadd", SN_FP_ADD }, { "fsub", SN_FP_ADD },   { "fmul", SN_FP_MUL },
		      { "fdiv", SN_FP_DIV }, { "fsqrt", SN_FP_SQRT }, { "fiadd", SN_FP_ADD },
		      { "fimul", SN_FP_MUL } };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (begins_with(name, names[i].start)) {
			*kind = names[i].kind;
			return true;
		}
	return false;
}

static bool kind_of_name(const char *name, int *kind)
{
	static const struct {
		const char *start;
		int kind;
	} names[] = {
		{ "add", SN_FP_ADD },	  { "sub", SN_FP_ADD },	   { "hadd", SN_FP_ADD },
		{ "hsub", SN_FP_ADD },	  { "mul", SN_FP_MUL },	   { "fmadd", SN_FP_FMA },
		{ "fmsub", SN_FP_FMA },	  { "fnmadd", SN_FP_FMA }, { "fnmsub", SN_FP_FMA },
		{ "div", SN_FP_DIV },	  { "sqrt", SN_FP_SQRT },  { "max", SN_FP_OTHER },
		{ "min", SN_FP_OTHER },	  { "rcp", SN_FP_OTHER },  { "rsqrt", SN_FP_OTHER },
		{ "round", SN_FP_OTHER }, { "dpp", SN_FP_OTHER },  { "rndscale", SN_FP_OTHER },
	};

	name += name[0] == 'v';
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (begins_with(name, names[i].start)) {
			*kind = names[i].kind;
			return true;
		}
	return false;
}

bool sn_fp_operation_of(const struct sn_insn *insn, struct sn_fp_operation *out)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	bool is_packed = false;
	unsigned bytes = 0;
	int kind;

	if (insn->isa == ZYDIS_ISA_EXT_X87) {
		if (!is_x87_arithmetic(name, &kind))
			return false;
		bytes = 10;
	} else if (!insn->is_vector || !suffix_of(name, &is_packed, &bytes) ||
		   !kind_of_name(name, &kind)) {
		return false;
	}
	out->kind = kind;
	out->element_bytes = bytes;
	out->lanes = is_packed ? insn->operand_bytes / bytes : 1;
	if (out->lanes == 0)
		out->lanes = 1;
	out->flops = kind == SN_FP_OTHER ? 0 : out->lanes * (kind == SN_FP_FMA ? 2.0 : 1.0);
	return true;
}

bool sn_is_vector_move(const struct sn_insn *insn)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));

	name += name[0] == 'v';
	if (insn->isa == ZYDIS_ISA_EXT_X87)
		return begins_with(name, "fld") || begins_with(name, "fst") ||
		       begins_with(name, "fxch");
	return insn->is_vector && (begins_with(name, "mov") || begins_with(name, "lddqu") ||
				   begins_with(name, "broadcast"));
}

enum sn_stride_kind sn_stride_kind_of(const struct sn_access *access)
{
	int64_t stride = access->stride_bytes < 0 ? -access->stride_bytes : access->stride_bytes;

	if (access->is_indirect)
		return SN_STRIDE_INDIRECT;
	if (!access->has_stride)
		return SN_STRIDE_UNKNOWN;
	if (!stride)
		return SN_STRIDE_ZERO;
	return stride == access->address.bytes ? SN_STRIDE_UNIT : SN_STRIDE_N;
}

struct tally {
	unsigned vectorizable, packed;
	double used;
};

static void tally_add(struct tally *tally, bool is_packed, double used)
{
	tally->vectorizable++;
	tally->packed += is_packed;
	tally->used += used;
}

/* Integer SIMD arithmetic and packed logic count as packed; scalar integer code is no candidate
 * here, as what it does (addresses, counters) is not what a vector would hold. */
static bool is_integer_simd(const struct sn_insn *insn)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));

	return insn->is_vector && insn->isa != ZYDIS_ISA_EXT_X87 &&
	       (name[0] == 'p' || (name[0] == 'v' && name[1] == 'p'));
}

static void count_vectorization(const struct sn_machine *machine, const struct sn_insn *insn,
				struct tally tallies[SN_CLASS_COUNT])
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	struct sn_fp_operation operation;
	double widest = machine->rules.vector_bytes, used = insn->operand_bytes;
	bool is_packed, loads = false, stores = false;
	unsigned bytes = 0;
	enum sn_insn_class class = SN_CLASS_OTHER;

	if (sn_fp_operation_of(insn, &operation)) {
		is_packed = operation.lanes > 1;
		used = operation.lanes * operation.element_bytes;
		class = operation.kind == SN_FP_ADD ? SN_CLASS_ADD_SUB
			: operation.kind == SN_FP_MUL || operation.kind == SN_FP_FMA
				? SN_CLASS_MUL
				: SN_CLASS_OTHER;
	} else if (sn_is_vector_move(insn) && insn->memory_count) {
		is_packed = insn->memory[0].bytes > 8 ||
			    (suffix_of(name, &is_packed, &bytes) && is_packed);
		used = insn->memory[0].bytes;
	} else if (is_integer_simd(insn)) {
		is_packed = true;
	} else {
		return;
	}
	for (unsigned i = 0; i < insn->memory_count; i++) {
		loads |= insn->memory[i].is_load;
		stores |= insn->memory[i].is_store;
	}
	used = used < widest ? used / widest : 1;
	tally_add(&tallies[SN_CLASS_ALL], is_packed, used);
	if (loads)
		tally_add(&tallies[SN_CLASS_LOAD], is_packed, used);
	if (stores)
		tally_add(&tallies[SN_CLASS_STORE], is_packed, used);
	if (!sn_is_vector_move(insn))
		tally_add(&tallies[class], is_packed, used);
}

static void count_operation(const struct sn_insn *insn, struct sn_cqa_metrics *out)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	struct sn_fp_operation operation;

	out->instructions++;
	out->uops += (unsigned)(insn->issued_uops + 0.5F);
	out->code_bytes += insn->length;
	out->masked += sn_form_mask_mode(insn->form) != SN_MASK_NONE;
	out->conversions += insn->category == ZYDIS_CATEGORY_CONVERT;
	out->x87 += insn->isa == ZYDIS_ISA_EXT_X87;
	out->gathers += insn->category == ZYDIS_CATEGORY_GATHER ||
			insn->category == ZYDIS_CATEGORY_AVX2GATHER;
	out->scatters += insn->category == ZYDIS_CATEGORY_SCATTER;
	out->divisions += strcmp(name, "div") == 0 || strcmp(name, "idiv") == 0;
	if (!sn_fp_operation_of(insn, &operation))
		return;
	out->flops += operation.flops;
	out->flops_add_sub += operation.kind == SN_FP_ADD ? operation.flops : 0;
	out->flops_mul += operation.kind == SN_FP_MUL ? operation.flops : 0;
	out->flops_fma += operation.kind == SN_FP_FMA ? operation.flops : 0;
	out->flops_div += operation.kind == SN_FP_DIV ? operation.flops : 0;
	out->flops_sqrt += operation.kind == SN_FP_SQRT ? operation.flops : 0;
	out->divisions += operation.kind == SN_FP_DIV || operation.kind == SN_FP_SQRT;
	if (operation.lanes > 1)
		out->fp_packed++;
	else
		out->fp_scalar++;
	if (operation.element_bytes > out->element_bytes)
		out->element_bytes = (uint8_t)operation.element_bytes;
	if (operation.lanes * operation.element_bytes > out->width_bytes)
		out->width_bytes = (uint8_t)(operation.lanes * operation.element_bytes);
}

/* Bytes of one stream that a pass has not seen before. */
static double new_bytes(const struct sn_access *access)
{
	double stride = fabs((double)access->stride_bytes);

	switch (sn_stride_kind_of(access)) {
	case SN_STRIDE_ZERO:
		return 0;
	case SN_STRIDE_UNKNOWN:
	case SN_STRIDE_INDIRECT:
		return 64;
	default:
		return stride < 64 ? stride : 64;
	}
}

static bool same_stream(const struct sn_access *a, const struct sn_access *b)
{
	int64_t apart = a->address.constant - b->address.constant;
	int64_t reach = a->stride_bytes < 0 ? -a->stride_bytes : a->stride_bytes;

	return a->address.base_root == b->address.base_root &&
	       a->address.index_root == b->address.index_root &&
	       a->address.scale == b->address.scale &&
	       /* neighbours within what one pass moves, or one line */
	       apart < (reach > 64  ? 64
			: reach > 0 ? 4096
				    : 64) &&
	       apart > -(reach > 64  ? 64
			 : reach > 0 ? 4096
				     : 64);
}

static void count_memory(const struct sn_cqa_block *block, struct sn_arena *arena,
			 struct sn_cqa_metrics *out)
{
	struct sn_accesses accesses = sn_accesses_of(block, arena);

	for (size_t i = 0; i < accesses.count; i++) {
		const struct sn_access *access = &accesses.items[i];
		const struct sn_memory_operand *operand =
			&block->insns[access->insn].memory[access->operand];
		bool is_known = false;

		out->loads += access->is_load;
		out->stores += access->is_store;
		out->bytes_loaded += access->is_load ? access->address.bytes : 0;
		out->bytes_stored += access->is_store ? access->address.bytes : 0;
		if (operand->base == SN_RES_RSP ||
		    (operand->base == 5 && sn_stride_kind_of(access) == SN_STRIDE_ZERO)) {
			out->stack_references++;
			out->stack_bytes += access->address.bytes;
		}
		out->strides[sn_stride_kind_of(access)]++;
		for (size_t k = 0; k < i && !is_known; k++)
			is_known = same_stream(&accesses.items[k], access);
		if (is_known)
			continue;
		out->bytes_from_memory += new_bytes(access);
		out->bytes_to_memory += access->is_store ? new_bytes(access) : 0;
	}
}

/* A product that is used once, by an addition, and both are no FMA. */
static unsigned count_add_then_mul(const struct sn_cqa_block *block)
{
	int by_mul[SN_RES_COUNT] = { 0 };
	unsigned pairs = 0;

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		struct sn_fp_operation operation = { 0 };
		bool computes = sn_fp_operation_of(insn, &operation);

		if (computes && operation.kind == SN_FP_ADD)
			for (unsigned k = 0; k < insn->read_count; k++)
				if (by_mul[insn->reads[k].resource]) {
					pairs++;
					break;
				}
		for (unsigned k = 0; k < insn->write_count; k++)
			by_mul[insn->writes[k]] = computes && operation.kind == SN_FP_MUL;
	}
	return pairs;
}

void sn_cqa_metrics_of(const struct sn_machine *machine, const struct sn_cqa_block *block,
		       struct sn_arena *arena, struct sn_cqa_metrics *out)
{
	struct tally tallies[SN_CLASS_COUNT] = { 0 };

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < block->count; i++) {
		count_operation(&block->insns[i], out);
		count_vectorization(machine, &block->insns[i], tallies);
	}
	for (unsigned i = 0; i < SN_CLASS_COUNT; i++) {
		double n = tallies[i].vectorizable;

		out->vector_ratio[i] = n > 0 ? tallies[i].packed / n : NAN;
		out->vector_efficiency[i] = n > 0 ? tallies[i].used / n : NAN;
	}
	count_memory(block, arena, out);
	out->add_then_mul = count_add_then_mul(block);
	out->arithmetic_intensity = out->bytes_loaded + out->bytes_stored > 0
					    ? out->flops / (out->bytes_loaded + out->bytes_stored)
					    : NAN;
}
