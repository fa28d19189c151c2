/*
 * Two Zydis decoders: a minimal one that tells length and kind of an instruction, for reading
 * whole programs, and a full one for operands and text. Addresses in text are shown by name where
 * there is one.
 */
#include "code/decode.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static ZydisDecoder full_decoder, minimal_decoder;
static pthread_once_t decoders_once = PTHREAD_ONCE_INIT;

static void decoders_init(void)
{
	ZydisDecoderInit(&full_decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	minimal_decoder = full_decoder;
	ZydisDecoderEnableMode(&minimal_decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
}

int sn_gpr_number(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
		       ? (int)(whole - ZYDIS_REGISTER_RAX)
		       : -1;
}

const ZydisDecoder *sn_decoder(void)
{
	pthread_once(&decoders_once, decoders_init);
	return &full_decoder;
}

/* The fast one, without operands. */
static const ZydisDecoder *fast_decoder(void)
{
	pthread_once(&decoders_once, decoders_init);
	return &minimal_decoder;
}

static bool is_relative(const ZydisDecodedInstruction *insn)
{
	return insn->attributes & ZYDIS_ATTRIB_IS_RELATIVE && insn->raw.imm[0].is_relative;
}

static enum sn_flow flow_of(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_JB:
	case ZYDIS_MNEMONIC_JBE:
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JL:
	case ZYDIS_MNEMONIC_JLE:
	case ZYDIS_MNEMONIC_JNB:
	case ZYDIS_MNEMONIC_JNBE:
	case ZYDIS_MNEMONIC_JNL:
	case ZYDIS_MNEMONIC_JNLE:
	case ZYDIS_MNEMONIC_JNO:
	case ZYDIS_MNEMONIC_JNP:
	case ZYDIS_MNEMONIC_JNS:
	case ZYDIS_MNEMONIC_JNZ:
	case ZYDIS_MNEMONIC_JO:
	case ZYDIS_MNEMONIC_JP:
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_JS:
	case ZYDIS_MNEMONIC_JZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_XBEGIN:
		return SN_FLOW_BRANCH;
	case ZYDIS_MNEMONIC_JMP:
		return is_relative(insn) ? SN_FLOW_JUMP : SN_FLOW_JUMP_INDIRECT;
	case ZYDIS_MNEMONIC_CALL:
		return is_relative(insn) ? SN_FLOW_CALL : SN_FLOW_CALL_INDIRECT;
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
		return SN_FLOW_RETURN;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
		return SN_FLOW_STOP;
	default:
		return SN_FLOW_NEXT;
	}
}

/* xchg ax,ax is decoded as nop, lea 0(rsi),rsi and the like are left to be code. */
static bool is_padding(const ZydisDecodedInstruction *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_NOP || insn->mnemonic == ZYDIS_MNEMONIC_INT3;
}

unsigned sn_instruction_decode(const uint8_t *bytes, size_t available, uint64_t link_addr,
			       struct sn_instruction *out)
{
	ZydisDecodedInstruction insn;
	ZydisDecoderContext context;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(fast_decoder(), &context, bytes, available,
							&insn)))
		return 0;
	out->length = insn.length;
	out->mnemonic = (uint16_t)insn.mnemonic;
	out->flow = (uint8_t)flow_of(&insn);
	out->is_padding = is_padding(&insn);
	out->target_link_addr = 0;
	if (out->flow != SN_FLOW_NEXT && is_relative(&insn))
		out->target_link_addr = link_addr + insn.length + (uint64_t)insn.raw.imm[0].value.s;
	return insn.length;
}

struct formatting {
	const char *(*name_of)(void *context, uint64_t link_addr, uint64_t *offset);
	void *context;
};

static ZydisFormatterFunc default_print_address;

/* Absolute addresses (branch targets, rip-relative operands) by name where there is one. */
static ZyanStatus print_address(const ZydisFormatter *formatter, ZydisFormatterBuffer *buffer,
				ZydisFormatterContext *context)
{
	const struct formatting *formatting = context->user_data;
	ZyanU64 addr;
	uint64_t offset = 0;
	const char *name;
	ZyanStringView view;
	ZyanString *string;
	char text[160];

	if (!formatting || !formatting->name_of ||
	    !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(context->instruction, context->operand,
						   context->runtime_address, &addr)))
		return default_print_address(formatter, buffer, context);
	name = formatting->name_of(formatting->context, addr, &offset);
	if (!name)
		return default_print_address(formatter, buffer, context);
	ZYAN_CHECK(ZydisFormatterBufferAppend(buffer, ZYDIS_TOKEN_SYMBOL));
	ZYAN_CHECK(ZydisFormatterBufferGetString(buffer, &string));
	/* the buffer is small and names are hostile: cut, never fail */
	if (offset)
		snprintf(text, sizeof(text), "<%.120s+0x%" PRIx64 ">", name, offset);
	else
		snprintf(text, sizeof(text), "<%.120s>", name);
	ZyanStringViewInsideBuffer(&view, text);
	return ZyanStringAppend(string, &view);
}

static ZydisFormatter formatters[2];
static pthread_once_t formatters_once = PTHREAD_ONCE_INIT;

static void formatters_init(void)
{
	static const ZydisFormatterStyle styles[] = {
		[SN_SYNTAX_INTEL] = ZYDIS_FORMATTER_STYLE_INTEL,
		[SN_SYNTAX_ATT] = ZYDIS_FORMATTER_STYLE_ATT,
	};

	for (int i = 0; i < 2; i++) {
		const void *callback = (const void *)&print_address;

		ZydisFormatterInit(&formatters[i], styles[i]);
		ZydisFormatterSetProperty(&formatters[i], ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, 0);
		ZydisFormatterSetHook(&formatters[i], ZYDIS_FORMATTER_FUNC_PRINT_ADDRESS_ABS,
				      &callback);
		memcpy(&default_print_address, &callback, sizeof(callback));
	}
}

unsigned sn_instruction_format(struct sn_text *out, enum sn_syntax syntax, const uint8_t *bytes,
			       size_t available, uint64_t link_addr,
			       const char *(*name_of)(void *context, uint64_t link_addr,
						      uint64_t *offset),
			       void *context)
{
	struct formatting formatting = { name_of, context };
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	char text[512];

	pthread_once(&formatters_once, formatters_init);
	if (!ZYAN_SUCCESS(
		    ZydisDecoderDecodeFull(sn_decoder(), bytes, available, &insn, operands)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatters[syntax], &insn, operands,
							  insn.operand_count_visible, text,
							  sizeof(text), link_addr, &formatting))) {
		sn_text_add(out, "(bad)");
		return 0;
	}
	sn_text_add(out, text);
	return insn.length;
}
