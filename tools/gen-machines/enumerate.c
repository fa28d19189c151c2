/* Prints every instruction form that Zydis can encode, once: the form's text, a tab, the bytes of
 * one instance in hex. A development tool; see generate.py beside it. */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "machine/form.h"

enum pick {
	P_R8,
	P_R16,
	P_R32,
	P_R64,
	P_X,
	P_Y,
	P_Z,
	P_MM,
	P_K,
	P_ST,
	P_IMM,
	P_M8,
	P_M16,
	P_M32,
	P_M64,
	P_M80,
	P_M128,
	P_M256,
	P_M512,
	P_VX32,
	P_VX64,
	P_VY32,
	P_VY64,
	P_VZ32,
	P_VZ64,
	P_COUNT
};

static const ZydisRegister first_register[] = {
	[P_R8] = ZYDIS_REGISTER_CL,   [P_R16] = ZYDIS_REGISTER_CX, [P_R32] = ZYDIS_REGISTER_ECX,
	[P_R64] = ZYDIS_REGISTER_RCX, [P_X] = ZYDIS_REGISTER_XMM1, [P_Y] = ZYDIS_REGISTER_YMM1,
	[P_Z] = ZYDIS_REGISTER_ZMM1,  [P_MM] = ZYDIS_REGISTER_MM1, [P_K] = ZYDIS_REGISTER_K1,
	[P_ST] = ZYDIS_REGISTER_ST0,
};
static const unsigned short memory_bytes[P_COUNT] = {
	[P_M8] = 1,    [P_M16] = 2,   [P_M32] = 4,   [P_M64] = 8,  [P_M80] = 10,
	[P_M128] = 16, [P_M256] = 32, [P_M512] = 64, [P_VX32] = 4, [P_VX64] = 8,
	[P_VY32] = 4,  [P_VY64] = 8,  [P_VZ32] = 4,  [P_VZ64] = 8,
};

static struct sn_map seen;
static ZydisDecoder decoder;

static ZydisEncoderOperand operand_of(enum pick pick, unsigned position)
{
	ZydisEncoderOperand out;

	memset(&out, 0, sizeof(out));
	if (pick <= P_ST) {
		out.type = ZYDIS_OPERAND_TYPE_REGISTER;
		out.reg.value = (ZydisRegister)(first_register[pick] + (int)position);
		out.reg.is4 = 0;
	} else if (pick == P_IMM) {
		out.type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
		out.imm.u = 3;
	} else {
		out.type = ZYDIS_OPERAND_TYPE_MEMORY;
		out.mem.base = ZYDIS_REGISTER_RSI;
		out.mem.size = memory_bytes[pick];
		if (pick >= P_VX32) {
			static const ZydisRegister index[] = { ZYDIS_REGISTER_XMM5,
							       ZYDIS_REGISTER_YMM5,
							       ZYDIS_REGISTER_ZMM5 };
			out.mem.index = index[(pick - P_VX32) / 2];
			out.mem.scale = 1;
		}
	}
	return out;
}

static void emit(const uint8_t *bytes, size_t length)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	char text[SN_FORM_TEXT_MAX];
	bool is_new;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, length, &insn, operands)))
		return;
	sn_map_put(&seen, sn_form_of(&insn, operands), &is_new);
	if (!is_new)
		return;
	printf("%s\t", sn_form_print(sn_form_of(&insn, operands), text));
	for (size_t i = 0; i < length; i++)
		printf("%02x", bytes[i]);
	putchar('\n');
}

static void encode(ZydisMnemonic mnemonic, const ZydisEncoderOperand *operands, unsigned count,
		   bool zeroing, ZydisInstructionAttributes prefixes)
{
	ZydisEncoderRequest request;
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	ZyanUSize length = sizeof(bytes);

	memset(&request, 0, sizeof(request));
	request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
	request.mnemonic = mnemonic;
	request.prefixes = prefixes;
	request.allowed_encodings = (ZydisEncodableEncoding)(ZYDIS_ENCODABLE_ENCODING_LEGACY |
							     ZYDIS_ENCODABLE_ENCODING_VEX |
							     ZYDIS_ENCODABLE_ENCODING_EVEX);
	request.operand_count = (ZyanU8)count;
	request.evex.zeroing_mask = zeroing;
	memcpy(request.operands, operands, count * sizeof(*operands));
	if (ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&request, bytes, &length)))
		emit(bytes, length);
}

static void encode_variants(ZydisMnemonic mnemonic, ZydisEncoderOperand *operands, unsigned count)
{
	encode(mnemonic, operands, count, false, 0);
	if (count && operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		encode(mnemonic, operands, count, false, ZYDIS_ATTRIB_HAS_LOCK);
	if (count >= 3 && operands[count - 1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		operands[count - 1].reg.is4 = 1;
		encode(mnemonic, operands, count, false, 0);
		operands[count - 1].reg.is4 = 0;
	}
}

/* Operands without a mask: all kinds for up to three, vector shapes for four. */
static void walk_plain(ZydisMnemonic mnemonic, ZydisEncoderOperand *operands, unsigned depth,
		       unsigned count)
{
	if (depth == count) {
		encode_variants(mnemonic, operands, count);
		return;
	}
	for (unsigned pick = 0; pick < P_COUNT; pick++) {
		bool is_vector = pick == P_X || pick == P_Y;

		if (count == 4 && depth < 2 && !is_vector && pick != P_R32 && pick != P_R64)
			continue;
		if (count == 4 && depth == 3 && !is_vector && pick != P_IMM && pick < P_M128)
			continue;
		operands[depth] = operand_of((enum pick)pick, depth);
		walk_plain(mnemonic, operands, depth + 1, count);
	}
}

/* EVEX: the mask stands second. */
static void walk_masked(ZydisMnemonic mnemonic, ZydisEncoderOperand *operands, unsigned depth,
			unsigned count)
{
	if (depth == count) {
		operands[1] = operand_of(P_K, 0);
		operands[1].reg.value = ZYDIS_REGISTER_K0;
		encode(mnemonic, operands, count, false, 0);
		operands[1].reg.value = ZYDIS_REGISTER_K7;
		encode(mnemonic, operands, count, false, 0);
		encode(mnemonic, operands, count, true, 0);
		return;
	}
	if (depth == 1) {
		walk_masked(mnemonic, operands, 2, count);
		return;
	}
	for (unsigned pick = 0; pick < P_COUNT; pick++) {
		bool is_first_vector = pick >= P_X && pick <= P_Z;

		if (pick == P_R8 || pick == P_R16 || pick == P_MM || pick == P_ST || pick == P_M80)
			continue;
		if (depth == 2 && count >= 4 && !is_first_vector && pick != P_K && pick < P_M8)
			continue;
		if (count == 5 && depth == 4 && pick != P_IMM)
			continue;
		operands[depth] = operand_of((enum pick)pick, depth == 0 ? 0 : depth - 1);
		walk_masked(mnemonic, operands, depth + 1, count);
	}
}

/* Forms that the encoder's operand kinds do not reach: address shapes, rep prefixes, x87 pairs. */
static void extras(void)
{
	static const char *const hex[] = {
		"488d4e08",   "488d0c0e", "488d4c0e08", "488d0e",	"488d0d00000000",
		"8d4e08",     "8d0c0e",	  "8d4c0e08",	"8d0e",		"668d0e",
		"668d4c0e08", "668d0c0e", "f3a4",	"f3a5",		"f348a5",
		"f3aa",	      "f3ab",	  "f348ab",	"f3a6",		"f3ae",
		"90",	      "6690",	  "0f1f00",	"0f1f4000",	"660f1f440000",
		"c3",	      "c9",	  "7400",	"0f8400000000", "eb00",
		"e900000000", "ffe1",	  "e800000000", "ffd1",		"ff16",
		"ff26",	      "e300",	  "e200",	"d8c1",		"d8c9",
		"d8e1",	      "d8e9",	  "d8f1",	"d8f9",		"dcc1",
		"dcc9",	      "dee9",	  "dec1",	"dec9",		"def9",
		"d9c1",	      "d9c9",	  "ddd9",	"dbe9",		"dff1",
		"d2c3",	      "d3c3",	  "66d3c3",	"48d3c3",	"d2cb",
		"d3cb",	      "66d3cb",	  "48d3cb",	"d2d3",		"d3d3",
		"66d3d3",     "48d3d3",	  "d2db",	"d3db",		"66d3db",
		"48d3db",     "d2e3",	  "d3e3",	"66d3e3",	"48d3e3",
		"d2eb",	      "d3eb",	  "66d3eb",	"48d3eb",	"d2fb",
		"d3fb",	      "66d3fb",	  "48d3fb",	"0fa5d3",	"480fa5d3",
		"0fadd3",     "480fadd3", "d326",	"d32e",		"d33e",
		"48d326",     "48d32e",	  "48d33e",	"660f3815ca",	"660f3814ca",
		"660f3810ca", "d1e3",	  "48d1e3",	"d1eb",		"48d1eb",
		"d1fb",	      "48d1fb",	  NULL,
	};

	for (unsigned i = 0; hex[i]; i++) {
		uint8_t bytes[16];
		size_t length = strlen(hex[i]) / 2;

		for (size_t j = 0; j < length; j++) {
			unsigned value;

			sscanf(hex[i] + 2 * j, "%2x", &value);
			bytes[j] = (uint8_t)value;
		}
		emit(bytes, length);
	}
}

int main(void)
{
	ZydisEncoderOperand operands[ZYDIS_ENCODER_MAX_OPERANDS];

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	extras();
	for (int m = 1; m <= ZYDIS_MNEMONIC_MAX_VALUE; m++) {
		const char *name = ZydisMnemonicGetString((ZydisMnemonic)m);
		bool is_vector = name[0] == 'v' || name[0] == 'k';

		for (unsigned count = 0; count <= 4; count++)
			walk_plain((ZydisMnemonic)m, operands, 0, count);
		if (is_vector)
			for (unsigned count = 2; count <= 5; count++)
				walk_masked((ZydisMnemonic)m, operands, 0, count);
	}
	return 0;
}
