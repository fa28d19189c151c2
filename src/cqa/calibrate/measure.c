/*
 * Encodes copies of one instruction form with registers of its own for each copy (throughput) or
 * with the result of one as the source of the next (latency), and times them as a loop.
 */
#include "cqa/calibrate/measure.h"

#include <math.h>
#include <string.h>

#include "cqa/core/cqa.h"

/* (chosen) Copies of a form in a loop. */
enum { INSTANCES_THROUGHPUT = 24, INSTANCES_CHAIN = 4 };

#define EQUAL_CYCLES 0.01 /* (rounding) */
/* (chosen) A loop that the buffer does not deliver takes a third longer at least. */
#define DELIVERED 1.15

/* Registers that the loop may write; rsi holds the address, r14 and vectors 13-15 are sources, r15
 * counts. */
static const ZydisRegister base = ZYDIS_REGISTER_RSI;
static const ZydisRegister general64[] = {
	ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9,
	ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R11, ZYDIS_REGISTER_R12, ZYDIS_REGISTER_R13,
	ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RDX,
};

static ZydisRegister general_of_size(ZydisRegister wide, enum sn_form_kind kind)
{
	static const ZydisRegisterClass classes[] = { ZYDIS_REGCLASS_GPR8, ZYDIS_REGCLASS_GPR16,
						      ZYDIS_REGCLASS_GPR32, ZYDIS_REGCLASS_GPR64 };
	ZyanU8 id = (ZyanU8)ZydisRegisterGetId(wide);

	/* 8-bit registers are numbered with ah..bh in between */
	if (kind == SN_KIND_R8 && id >= 4)
		id = (ZyanU8)(id + 4);
	return ZydisRegisterEncode(classes[kind - SN_KIND_R8], id);
}

static ZydisRegister pick_register(enum sn_form_kind kind, unsigned position, unsigned instance,
				   bool is_chain)
{
	static const ZydisRegister vector_first[] = { ZYDIS_REGISTER_XMM0, ZYDIS_REGISTER_YMM0,
						      ZYDIS_REGISTER_ZMM0 };
	bool is_target = position == 0 || (is_chain && position == 1);
	unsigned number = is_chain ? 0 : instance;

	switch (kind) {
	case SN_KIND_R8:
	case SN_KIND_R16:
	case SN_KIND_R32:
	case SN_KIND_R64:
		return general_of_size(is_target ? general64[number % 12] : ZYDIS_REGISTER_R14,
				       kind);
	case SN_KIND_X:
	case SN_KIND_Y:
	case SN_KIND_Z:
		return vector_first[kind - SN_KIND_X] +
		       (is_target ? (int)(number % 12) : 12 + (int)position);
	case SN_KIND_MM:
		return ZYDIS_REGISTER_MM0 + (is_target ? (int)(number % 6) : 6);
	case SN_KIND_K:
		return ZYDIS_REGISTER_K1 + (is_target ? (int)(number % 5) : 5);
	case SN_KIND_ST:
		return position == 0 ? ZYDIS_REGISTER_ST0 : ZYDIS_REGISTER_ST1;
	default:
		return ZYDIS_REGISTER_NONE;
	}
}

static bool fill_operand(enum sn_form_kind kind, unsigned position, unsigned instance,
			 bool is_chain, ZydisEncoderOperand *out)
{
	memset(out, 0, sizeof(*out));
	if (kind == SN_KIND_IMM) {
		out->type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
		out->imm.u = 3;
		return true;
	}
	if (kind >= SN_KIND_M8 && kind <= SN_KIND_M512) {
		out->type = ZYDIS_OPERAND_TYPE_MEMORY;
		out->mem.base = base;
		out->mem.size = (ZyanU16)sn_kind_bytes(kind);
		return true;
	}
	if (kind >= SN_KIND_VX && kind <= SN_KIND_VZ) {
		out->type = ZYDIS_OPERAND_TYPE_MEMORY;
		out->mem.base = base;
		out->mem.index = (kind == SN_KIND_VX   ? ZYDIS_REGISTER_XMM15
				  : kind == SN_KIND_VY ? ZYDIS_REGISTER_YMM15
						       : ZYDIS_REGISTER_ZMM15);
		out->mem.scale = 1;
		out->mem.size = 4;
		return true;
	}
	out->type = ZYDIS_OPERAND_TYPE_REGISTER;
	out->reg.value = pick_register(kind, position, instance, is_chain);
	return out->reg.value != ZYDIS_REGISTER_NONE;
}

/* One instance, checked to decode to the form that was asked for. */
static size_t encode_instance(sn_form form, unsigned instance, bool is_chain, uint8_t *bytes)
{
	ZydisEncoderRequest request;
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	bool has_mask = sn_form_mask_mode(form) != SN_MASK_NONE;
	unsigned count = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	/* The mask stands second; forms that only EVEX has want k0 there. Element sizes of gathers
	   and the fourth register are not in the form: try. */
	for (unsigned attempt = 0; attempt < 8; attempt++) {
		ZyanUSize length = ZYDIS_MAX_INSTRUCTION_LENGTH;
		bool with_mask_operand = has_mask || (attempt & 1);

		memset(&request, 0, sizeof(request));
		request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
		request.mnemonic = sn_form_mnemonic(form);
		request.evex.zeroing_mask = sn_form_mask_mode(form) == SN_MASK_ZERO;
		count = 0;
		for (unsigned i = 0; i < SN_FORM_OPERANDS_MAX; i++) {
			enum sn_form_kind kind = sn_form_operand(form, i);

			if (i == 1 && with_mask_operand) {
				memset(&request.operands[count], 0, sizeof(request.operands[0]));
				request.operands[count].type = ZYDIS_OPERAND_TYPE_REGISTER;
				request.operands[count++].reg.value =
					has_mask ? ZYDIS_REGISTER_K7 : ZYDIS_REGISTER_K0;
			}
			if (kind == SN_KIND_NONE || count >= ZYDIS_ENCODER_MAX_OPERANDS)
				break;
			if (!fill_operand(kind, i, instance, is_chain, &request.operands[count]))
				return 0;
			if (kind >= SN_KIND_VX && kind <= SN_KIND_VZ && (attempt & 2))
				request.operands[count].mem.size = 8;
			if (i == 3 && (attempt & 4))
				request.operands[count].reg.is4 =
					request.operands[count].type == ZYDIS_OPERAND_TYPE_REGISTER;
			count++;
		}
		request.operand_count = (ZyanU8)count;
		if (ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&request, bytes, &length)) &&
		    ZYAN_SUCCESS(
			    ZydisDecoderDecodeFull(&decoder, bytes, length, &insn, operands)) &&
		    sn_form_of(&insn, operands) == form)
			return length;
	}
	return 0;
}

/* A chain needs the result's class among the sources. */
static bool can_chain(sn_form form)
{
	enum sn_form_kind target = sn_form_operand(form, 0);

	if (target == SN_KIND_NONE || target == SN_KIND_IMM || target >= SN_KIND_M8)
		return false;
	for (unsigned i = 1; i < SN_FORM_OPERANDS_MAX; i++)
		if (sn_kind_is_memory(sn_form_operand(form, i)))
			return false;
	return sn_form_operand(form, 1) == target || sn_form_operand(form, 1) == SN_KIND_IMM ||
	       sn_form_operand(form, 1) == SN_KIND_NONE || sn_form_operand(form, 2) == target;
}

static size_t encode(sn_form form, bool is_chain, uint8_t *bytes, size_t room, unsigned *instances)
{
	uint8_t one[ZYDIS_MAX_INSTRUCTION_LENGTH];
	size_t used = 0;
	int32_t back;

	*instances = is_chain ? INSTANCES_CHAIN : INSTANCES_THROUGHPUT;
	for (unsigned i = 0; i < *instances; i++) {
		size_t length = encode_instance(form, i, is_chain, one);

		if (!length || used + length + 9 > room)
			return 0;
		memcpy(bytes + used, one, length);
		used += length;
	}
	memcpy(bytes + used, "\x49\xff\xcf\x0f\x85", 5); /* dec r15; jnz */
	used += 5;
	back = -(int32_t)(used + 4);
	memcpy(bytes + used, &back, 4);
	return used + 4;
}

static double measure_loop(const struct sn_machine *machine, sn_form form, bool is_chain,
			   unsigned passes, struct sn_error *err)
{
	uint8_t bytes[512];
	struct sn_timing_request request;
	struct sn_timing_result result = { 0 };
	unsigned instances;
	size_t length = encode(form, is_chain, bytes, sizeof(bytes), &instances);

	if (!length) {
		sn_error_set(err, SN_ERR_UNSUPPORTED, "no instance of the form can be encoded");
		return NAN;
	}
	if (sn_trip_plan(machine, bytes, length, false, &request, err))
		return NAN;
	request.trips_long = 400;
	request.trips_short = 200;
	request.registers_long[15] = 400;
	request.registers_short[15] = 200;
	request.repetitions = 20;
	for (unsigned pass = 0; pass < passes; pass++) {
		double cycles;

		if (sn_timing_run(&request, &cycles, err))
			return NAN;
		sn_timing_result_add(&result, cycles);
	}
	return result.cycles / instances;
}

/* Does the model, too, see each instance wait for the one before? */
static bool is_known_chain(const struct sn_machine *machine, sn_form form)
{
	const struct sn_row *row = sn_machine_row_exact(machine, form);
	struct sn_cqa_estimate estimate;
	struct sn_error unused = { 0 };
	uint8_t bytes[512];
	unsigned instances;
	size_t length = encode(form, true, bytes, sizeof(bytes), &instances);

	if (!row || !length || sn_cqa_bytes(machine, bytes, length, false, &estimate, &unused))
		return false;
	return estimate.chain_cycles > 0 &&
	       fabs(estimate.chain_cycles - instances * (double)row->latency) < EQUAL_CYCLES;
}

sn_status sn_measure_form(const struct sn_machine *machine, sn_form form, unsigned passes,
			  struct sn_measured *out, struct sn_error *err)
{
	out->latency_cycles = NAN;
	out->is_chain = false;
	out->throughput_cycles = measure_loop(machine, form, false, passes, err);
	if (isnan(out->throughput_cycles))
		return SN_ERR_UNSUPPORTED;
	if (can_chain(form)) {
		out->latency_cycles = measure_loop(machine, form, true, passes, err);
		out->is_chain = is_known_chain(machine, form);
	}
	return SN_OK;
}

/* `count` no-operations, two moves with a length-changing prefix, dec r15, jnz: cycles a pass over
 * those at the renamer's width. */
static sn_status buffer_ratio(const struct sn_machine *machine, unsigned count, double *ratio,
			      struct sn_error *err)
{
	static const uint8_t tail[] = { 0x66, 0xb8, 0x34, 0x12, 0x66, 0xb8,
					0x34, 0x12, 0x49, 0xff, 0xcf, 0x75 };
	struct sn_timing_request request;
	struct sn_timing_result result = { 0 };
	uint8_t bytes[64];
	size_t length = count;
	sn_status status;

	memset(bytes, 0x90, count);
	memcpy(bytes + length, tail, sizeof(tail));
	length += sizeof(tail) + 1;
	bytes[length - 1] = (uint8_t)(0x100 - length);
	status = sn_trip_plan(machine, bytes, length, false, &request, err);
	for (unsigned pass = 0; pass < 5 && !status; pass++) {
		double cycles;

		status = sn_timing_run(&request, &cycles, err);
		if (!status)
			sn_timing_result_add(&result, cycles);
	}
	*ratio = result.cycles / ((count + 3.0) / machine->rules.issue_width);
	return status;
}

sn_status sn_measure_loop_buffer(const struct sn_machine *machine, bool *is_on,
				 struct sn_error *err)
{
	double few, many, odd = 0;
	sn_status status = buffer_ratio(machine, 10, &few, err);

	if (!status)
		status = buffer_ratio(machine, 17, &many, err);
	/* an op cache that is wider than the renamer hides the buffer from these two; but where it
	 * delivers whole cycles only, one operation more than its width takes two */
	if (!status && machine->rules.op_cache_whole_cycles)
		status = buffer_ratio(machine, machine->rules.op_cache_width - 2, &odd, err);
	if (!status)
		*is_on = few < DELIVERED && many < DELIVERED && odd < DELIVERED;
	return status;
}
