/*
 * Counts the instructions of a block by kind, element type and extension, and its memory accesses
 * by stride. Kinds are read from mnemonics, whose last letters tell width and type.
 */
#include "base/text.h"
#include "cqa/block/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
		if (sn_ends_with(name, suffixes[i].end)) {
			*is_packed = suffixes[i].is_packed;
			*element_bytes = suffixes[i].bytes;
			return true;
		}
	return false;
}

bool sn_name_is_packed(const char *name)
{
	bool is_packed = false;
	unsigned bytes;

	return suffix_of(name, &is_packed, &bytes) && is_packed;
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
		if (sn_starts_with(name, names[i].start)) {
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
		{ "min", SN_FP_OTHER },	  { "rcp", SN_FP_RCP },	   { "rsqrt", SN_FP_RSQRT },
		{ "round", SN_FP_OTHER }, { "dpp", SN_FP_OTHER },  { "rndscale", SN_FP_OTHER },
	};

	name += name[0] == 'v';
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (sn_starts_with(name, names[i].start)) {
			*kind = names[i].kind;
			return true;
		}
	return false;
}

static bool is_move_name(const struct sn_insn *insn, const char *name)
{
	name += name[0] == 'v';
	if (insn->isa == ZYDIS_ISA_EXT_X87)
		return sn_starts_with(name, "fld") || sn_starts_with(name, "fst") ||
		       sn_starts_with(name, "fxch");
	return insn->is_vector && (sn_starts_with(name, "mov") || sn_starts_with(name, "lddqu") ||
				   sn_starts_with(name, "broadcast"));
}

void sn_insn_read_name(struct sn_insn *insn)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	bool is_fp, is_packed = false;
	unsigned bytes = 10;
	int kind;

	if (insn->isa == ZYDIS_ISA_EXT_X87)
		is_fp = is_x87_arithmetic(name, &kind);
	else
		is_fp = insn->is_vector && suffix_of(name, &is_packed, &bytes) &&
			kind_of_name(name, &kind);
	insn->fp_kind = is_fp ? (int8_t)kind : -1;
	insn->fp_element_bytes = is_fp ? (uint8_t)bytes : 0;
	insn->fp_is_packed = is_fp && is_packed;
	insn->is_vector_move = is_move_name(insn, name);
}

bool sn_fp_operation_of(const struct sn_insn *insn, struct sn_fp_operation *out)
{
	memset(out, 0, sizeof(*out));
	if (insn->fp_kind < 0)
		return false;
	out->kind = (unsigned)insn->fp_kind;
	out->element_bytes = insn->fp_element_bytes;
	out->lanes = insn->fp_is_packed ? insn->operand_bytes / insn->fp_element_bytes : 1;
	if (out->lanes == 0)
		out->lanes = 1;
	if (out->kind < SN_FP_RCP)
		out->flops = out->lanes * (out->kind == SN_FP_FMA ? 2.0 : 1.0);
	return true;
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
	return stride == access->address.bytes || access->is_covered ? SN_STRIDE_UNIT : SN_STRIDE_N;
}

const char *const sn_isa_names[SN_ISA_BITS] = { "x87", "MMX",  "SSE", "AVX",	"AVX2",
						"FMA", "F16C", "BMI", "crypto", "AVX512" };
const char *const sn_element_names[SN_ELEMENT_BITS] = { "f16", "f32", "f64", "f80",
							"i8",  "i16", "i32", "i64" };

static unsigned isa_of(const struct sn_insn *insn)
{
	switch (insn->isa) {
	case ZYDIS_ISA_EXT_X87:
		return SN_ISA_X87;
	case ZYDIS_ISA_EXT_MMX:
	case ZYDIS_ISA_EXT_AMD3DNOW:
		return SN_ISA_MMX;
	case ZYDIS_ISA_EXT_SSE:
	case ZYDIS_ISA_EXT_SSE2:
	case ZYDIS_ISA_EXT_SSE3:
	case ZYDIS_ISA_EXT_SSSE3:
	case ZYDIS_ISA_EXT_SSE4:
	case ZYDIS_ISA_EXT_SSE4A:
		return SN_ISA_SSE;
	case ZYDIS_ISA_EXT_AVX:
		return SN_ISA_AVX;
	case ZYDIS_ISA_EXT_AVX2:
	case ZYDIS_ISA_EXT_AVX2GATHER:
		return SN_ISA_AVX2;
	case ZYDIS_ISA_EXT_FMA:
	case ZYDIS_ISA_EXT_FMA4:
		return SN_ISA_FMA;
	case ZYDIS_ISA_EXT_F16C:
		return SN_ISA_F16C;
	case ZYDIS_ISA_EXT_BMI1:
	case ZYDIS_ISA_EXT_BMI2:
	case ZYDIS_ISA_EXT_LZCNT:
		return SN_ISA_BMI;
	case ZYDIS_ISA_EXT_AES:
	case ZYDIS_ISA_EXT_AVXAES:
	case ZYDIS_ISA_EXT_VAES:
	case ZYDIS_ISA_EXT_SHA:
	case ZYDIS_ISA_EXT_PCLMULQDQ:
	case ZYDIS_ISA_EXT_VPCLMULQDQ:
		return SN_ISA_CRYPTO;
	case ZYDIS_ISA_EXT_AVX512EVEX:
	case ZYDIS_ISA_EXT_AVX512VEX:
		return SN_ISA_AVX512;
	default:
		return 0;
	}
}

/* FP arithmetic says its type; integer vectors by their elements. */
static unsigned element_of(const struct sn_insn *insn)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	struct sn_fp_operation operation;
	unsigned bytes = insn->element_bytes;

	if (sn_fp_operation_of(insn, &operation))
		return operation.element_bytes == 2   ? SN_ELEMENT_F16
		       : operation.element_bytes == 4 ? SN_ELEMENT_F32
		       : operation.element_bytes == 8 ? SN_ELEMENT_F64
						      : SN_ELEMENT_F80;
	name += name[0] == 'v';
	if (!insn->is_vector || insn->is_constant || name[0] != 'p' ||
	    insn->isa == ZYDIS_ISA_EXT_X87)
		return 0;
	return bytes == 1   ? SN_ELEMENT_I8
	       : bytes == 2 ? SN_ELEMENT_I16
	       : bytes == 4 ? SN_ELEMENT_I32
	       : bytes == 8 ? SN_ELEMENT_I64
			    : 0;
}

/* What no loop that should be fast has: string operations, atomics, system instructions. */
static bool is_special(const struct sn_insn *insn)
{
	switch (insn->category) {
	case ZYDIS_CATEGORY_STRINGOP:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_SEMAPHORE:
	case ZYDIS_CATEGORY_SERIALIZE:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_RDRAND:
	case ZYDIS_CATEGORY_RDSEED:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_MISC:
		return sn_form_mnemonic(insn->form) != ZYDIS_MNEMONIC_LEA;
	default:
		return (insn->form >> 44 & 1) != 0;
	}
}

static void count_operation(const struct sn_insn *insn, struct sn_cqa_metrics *out)
{
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));
	struct sn_fp_operation operation;

	out->instructions++;
	out->isas |= isa_of(insn);
	out->elements |= element_of(insn);
	out->specials += is_special(insn);
	out->prefetches += insn->category == ZYDIS_CATEGORY_PREFETCH;
	out->uops += (unsigned)(insn->issued_uops + 0.5F);
	out->code_bytes += insn->length;
	out->masked += sn_form_mask_mode(insn->form) != SN_MASK_NONE;
	/* cdq and its like only extend a sign */
	out->conversions += insn->category == ZYDIS_CATEGORY_CONVERT && insn->is_vector;
	out->x87 += insn->isa == ZYDIS_ISA_EXT_X87;
	out->gathers += insn->category == ZYDIS_CATEGORY_GATHER ||
			insn->category == ZYDIS_CATEGORY_AVX2GATHER;
	out->scatters += insn->category == ZYDIS_CATEGORY_SCATTER;
	out->integer_divisions += strcmp(name, "div") == 0 || strcmp(name, "idiv") == 0;
	out->divisions += strcmp(name, "div") == 0 || strcmp(name, "idiv") == 0;
	if (insn->issued_uops > (float)out->longest_uops) {
		out->longest_uops = (unsigned)(insn->issued_uops + 0.5F);
		out->longest_name = name;
	}
	if (!sn_fp_operation_of(insn, &operation))
		return;
	out->flops += operation.flops;
	out->flops_add_sub += operation.kind == SN_FP_ADD ? operation.flops : 0;
	out->flops_mul += operation.kind == SN_FP_MUL ? operation.flops : 0;
	out->flops_fma += operation.kind == SN_FP_FMA ? operation.flops : 0;
	out->flops_div += operation.kind == SN_FP_DIV ? operation.flops : 0;
	out->flops_sqrt += operation.kind == SN_FP_SQRT ? operation.flops : 0;
	out->rcps += operation.kind == SN_FP_RCP ? operation.lanes : 0;
	out->rsqrts += operation.kind == SN_FP_RSQRT ? operation.lanes : 0;
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

static void count_memory(const struct sn_cqa_block *block, const struct sn_streams *streams,
			 struct sn_cqa_metrics *out)
{
	const struct sn_accesses *accesses = streams->accesses;

	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *access = &accesses->items[i];
		const struct sn_memory_operand *operand =
			&block->insns[access->insn].memory[access->operand];

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
		out->register_steps +=
			sn_stride_kind_of(access) == SN_STRIDE_UNKNOWN && !access->is_irregular;
	}
	for (size_t i = 0; i < streams->count; i++) {
		const struct sn_stream *stream = &streams->items[i];

		if (stream->is_past_caches) {
			out->bytes_past_caches += stream->new_bytes;
			continue;
		}
		out->bytes_from_memory += stream->new_bytes;
		out->bytes_to_memory += stream->is_written ? stream->new_bytes : 0;
	}
}

static bool reads_any(const struct sn_insn *insn, const bool *marked)
{
	for (unsigned k = 0; k < insn->read_count; k++)
		if (marked[insn->reads[k].resource])
			return true;
	return false;
}

/* Products that feed an addition, and sums that feed a product; FMAs are neither, and x87 has none.
 */
static void count_pairs(const struct sn_cqa_block *block, struct sn_cqa_metrics *out)
{
	bool by_mul[SN_RES_COUNT] = { false }, by_add[SN_RES_COUNT] = { false };

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		struct sn_fp_operation operation = { 0 };
		bool computes =
			insn->isa != ZYDIS_ISA_EXT_X87 && sn_fp_operation_of(insn, &operation);
		bool is_add = computes && operation.kind == SN_FP_ADD;
		bool is_mul = computes && operation.kind == SN_FP_MUL;

		out->add_then_mul += is_add && reads_any(insn, by_mul);
		out->sum_times += is_mul && reads_any(insn, by_add);
		for (unsigned k = 0; k < insn->write_count; k++) {
			by_mul[insn->writes[k]] = is_mul;
			by_add[insn->writes[k]] = is_add;
		}
	}
}

/* A single field that is further apart is taken for a column. So are places further apart than
 * those of one structure: the rows that an unrolled loop goes through. */
enum { STRUCTURE_BYTES_MAX = 128, APART_BYTES_MAX = 256 }; /* (chosen) */

/* Places of a thing that is stepped over as a whole and not all used: an array of structures. */
static void count_fields(const struct sn_accesses *accesses, struct sn_cqa_metrics *out)
{
	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *a = &accesses->items[i];
		bool is_near = llabs(a->stride_bytes) <= STRUCTURE_BYTES_MAX, has_sibling = false;

		if (a->is_indirect || sn_stride_kind_of(a) != SN_STRIDE_N)
			continue;
		for (size_t k = 0; k < accesses->count && !has_sibling; k++) {
			const struct sn_access *b = &accesses->items[k];
			int64_t apart = llabs(a->address.constant - b->address.constant);

			has_sibling = k != i && b->has_stride &&
				      b->stride_bytes == a->stride_bytes &&
				      b->address.base_root == a->address.base_root &&
				      b->address.index_root == a->address.index_root && apart &&
				      apart < llabs(a->stride_bytes) && apart < APART_BYTES_MAX;
		}
		out->fields += has_sibling || is_near;
		out->lone_fields += !has_sibling && is_near;
	}
}

static bool is_same_place(const struct sn_address *a, const struct sn_address *b)
{
	return a->base_root == b->base_root && a->index_root == b->index_root &&
	       a->scale == b->scale && a->constant == b->constant;
}

/* The later instruction takes what was computed from the result of the first. */
static bool feeds(const struct sn_cqa_block *block, uint32_t first, uint32_t later)
{
	bool is_fed[SN_RES_COUNT] = { false };

	for (uint32_t i = first; i < later; i++) {
		const struct sn_insn *insn = &block->insns[i];
		bool takes = i == first || reads_any(insn, is_fed);

		for (unsigned k = 0; k < insn->write_count; k++)
			is_fed[insn->writes[k]] = takes;
	}
	return reads_any(&block->insns[later], is_fed);
}

/* Elements that loaded data choose, updated: two passes may mean the same. */
static void count_conflicts(const struct sn_cqa_block *block, const struct sn_accesses *accesses,
			    struct sn_cqa_metrics *out)
{
	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *a = &accesses->items[i];
		bool is_updated = a->is_store;

		if (!a->is_looked_up || !a->is_load)
			continue;
		out->conflicts += is_updated;
		for (size_t k = i + 1; k < accesses->count && !is_updated; k++) {
			const struct sn_access *b = &accesses->items[k];

			is_updated = b->is_store && !b->is_load &&
				     is_same_place(&a->address, &b->address) &&
				     feeds(block, a->insn, b->insn);
			out->conflicts += 2 * is_updated;
		}
	}
}

/* The closing compare against a constant. */
static void count_trips(const struct sn_cqa_block *block, const struct sn_accesses *accesses,
			struct sn_cqa_metrics *out)
{
	const struct sn_insn *compare = block->count > 1 ? &block->insns[block->count - 2] : NULL;

	if (!compare || !block->insns[block->count - 1].is_conditional ||
	    sn_form_mnemonic(compare->form) != ZYDIS_MNEMONIC_CMP || !compare->has_immediate ||
	    compare->memory_count)
		return;
	for (unsigned k = 0; k < compare->read_count; k++) {
		uint8_t resource = compare->reads[k].resource;
		int64_t step;

		if (resource >= SN_RES_VECTOR || !accesses->steps[resource].is_induction)
			continue;
		step = accesses->steps[resource].step_bytes;
		if (step > 0 && compare->immediate > 0 && compare->immediate / step < 1000000)
			out->trips = (unsigned)((compare->immediate + step - 1) / step);
	}
}

void sn_cqa_metrics_of(const struct sn_machine *machine, const struct sn_cqa_block *block,
		       const struct sn_streams *streams, struct sn_arena *arena,
		       struct sn_cqa_metrics *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < block->count; i++)
		count_operation(&block->insns[i], out);
	out->bytes_prefetched = (double)SN_LINE_BYTES * out->prefetches;
	sn_vectorization_of(machine, block, arena, out);
	count_memory(block, streams, out);
	count_fields(streams->accesses, out);
	count_conflicts(block, streams->accesses, out);
	count_trips(block, streams->accesses, out);
	count_pairs(block, out);
	out->arithmetic_intensity = out->bytes_loaded + out->bytes_stored > 0
					    ? out->flops / (out->bytes_loaded + out->bytes_stored)
					    : NAN;
}
