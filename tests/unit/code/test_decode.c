#include <Zydis/Zydis.h>
#include <stdio.h>

#include "code/decode.h"
#include "code/image.h"
#include "harness/tap.h"
#include "unwind/insn.h"

static struct sn_instruction decode(const char *bytes, size_t length)
{
	struct sn_instruction insn = { 0 };

	sn_instruction_decode((const uint8_t *)bytes, length, 0x1000, &insn);
	return insn;
}

TEST(flow_of_each_kind)
{
	static const struct {
		const char *bytes;
		uint8_t length, flow;
		uint64_t target;
	} cases[] = {
		{ "\x48\x01\xc8", 3, SN_FLOW_NEXT, 0 },			     /* add rax, rcx */
		{ "\x74\x10", 2, SN_FLOW_BRANCH, 0x1012 },		     /* jz */
		{ "\x0f\x85\x00\xff\xff\xff", 6, SN_FLOW_BRANCH, 0xf06 },    /* jnz */
		{ "\xe3\xfe", 2, SN_FLOW_BRANCH, 0x1000 },		     /* jrcxz */
		{ "\xe2\xfc", 2, SN_FLOW_BRANCH, 0xffe },		     /* loop */
		{ "\xeb\xfe", 2, SN_FLOW_JUMP, 0x1000 },		     /* jmp */
		{ "\xff\xe0", 2, SN_FLOW_JUMP_INDIRECT, 0 },		     /* jmp rax */
		{ "\x3e\xff\xe0", 3, SN_FLOW_JUMP_INDIRECT, 0 },	     /* notrack jmp rax */
		{ "\xe8\x00\x00\x00\x00", 5, SN_FLOW_CALL, 0x1005 },	     /* call */
		{ "\xff\x15\x00\x00\x00\x00", 6, SN_FLOW_CALL_INDIRECT, 0 }, /* call [rip] */
		{ "\xc3", 1, SN_FLOW_RETURN, 0 },
		{ "\xf2\xc3", 2, SN_FLOW_RETURN, 0 }, /* bnd ret */
		{ "\x0f\x0b", 2, SN_FLOW_STOP, 0 },
		{ "\xf4", 1, SN_FLOW_STOP, 0 },
		{ "\x0f\x05", 2, SN_FLOW_NEXT, 0 },	    /* syscall comes back */
		{ "\xf3\x0f\x1e\xfa", 4, SN_FLOW_NEXT, 0 }, /* endbr64 */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_instruction insn = decode(cases[i].bytes, cases[i].length);

		CHECK_INT(insn.length, cases[i].length);
		CHECK_INT(insn.flow, cases[i].flow);
		CHECK_INT(insn.target_link_addr, cases[i].target);
	}
}

TEST(cut_or_bad_bytes_are_no_instruction)
{
	struct sn_instruction insn;

	CHECK_INT(sn_instruction_decode((const uint8_t *)"\xe8\x00", 2, 0, &insn), 0);
	CHECK_INT(sn_instruction_decode((const uint8_t *)"\x06", 1, 0, &insn), 0);
	CHECK_INT(sn_instruction_decode((const uint8_t *)"", 0, 0, &insn), 0);
}

TEST(nops_are_padding)
{
	CHECK(decode("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10).is_padding);
	CHECK(decode("\x66\x90", 2).is_padding);
	CHECK(decode("\xcc", 1).is_padding);
	CHECK(!decode("\xf3\x90", 2).is_padding); /* pause */
}

static const char *name_of(void *context, uint64_t link_addr, uint64_t *offset)
{
	*offset = link_addr - 0x1000;
	return link_addr >= 0x1000 ? context : NULL;
}

TEST(text_names_branch_targets)
{
	struct sn_text text = { 0 };
	char kernel[] = "kernel";

	CHECK_INT(sn_instruction_format(&text, SN_SYNTAX_INTEL, (const uint8_t *)"\x74\x10", 2,
					0x1000, name_of, kernel),
		  2);
	CHECK_STRING(text.chars, "jz <kernel+0x12>");
	sn_text_clear(&text);
	sn_instruction_format(&text, SN_SYNTAX_ATT, (const uint8_t *)"\x48\x8b\x04\xc8", 4, 0, NULL,
			      NULL);
	CHECK_STRING(text.chars, "mov (%rax,%rcx,8), %rax");
	sn_text_clear(&text);
	CHECK_INT(sn_instruction_format(&text, SN_SYNTAX_INTEL, (const uint8_t *)"\x06", 1, 0, NULL,
					NULL),
		  0);
	CHECK_STRING(text.chars, "(bad)");
	sn_text_free(&text);
}

/* The decoder of handlers and that of tools, over all code of the C library and of this program. */
static unsigned long disagreements(const char *path)
{
	static const uint8_t flows[] = {
		[SN_FLOW_NEXT] = SN_UNWIND_FLOW_NEXT,
		[SN_FLOW_BRANCH] = SN_UNWIND_FLOW_BRANCH,
		[SN_FLOW_JUMP] = SN_UNWIND_FLOW_JUMP,
		[SN_FLOW_JUMP_INDIRECT] = SN_UNWIND_FLOW_STOP,
		[SN_FLOW_CALL] = SN_UNWIND_FLOW_CALL,
		[SN_FLOW_CALL_INDIRECT] = SN_UNWIND_FLOW_CALL,
		[SN_FLOW_RETURN] = SN_UNWIND_FLOW_RETURN,
		[SN_FLOW_STOP] = SN_UNWIND_FLOW_STOP,
	};
	struct sn_image *image;
	const struct sn_symbol *symbols;
	size_t count;
	unsigned long wrong = 0;

	if (sn_image_open(path, NULL, &image, NULL) != SN_OK)
		return 0;
	symbols = sn_image_symbols(image, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t at = symbols[i].link_addr, end = at + symbols[i].size_bytes;
		struct sn_instruction insn;
		struct sn_unwind_insn own;
		size_t available;
		const uint8_t *bytes = sn_image_bytes(image, at, &available);

		if (symbols[i].kind == SN_SYMBOL_GAP) /* there may be constants in it */
			continue;
		for (; at < end && sn_instruction_decode(bytes, available, at, &insn);
		     at += insn.length, bytes += insn.length, available -= insn.length) {
			bool is_equal = sn_unwind_insn_decode(bytes, available, &own) &&
					own.length == insn.length &&
					sn_unwind_insn_flow(&own) == flows[insn.flow];

			if (is_equal && insn.target_link_addr)
				is_equal = insn.target_link_addr ==
					   at + own.length + (uint64_t)own.immediate;
			wrong += !is_equal;
			CHECK_INT(sn_unwind_insn_decode(bytes, insn.length - 1u, &own), false);
		}
	}
	sn_image_free(image);
	return wrong;
}

TEST(both_decoders_agree)
{
	CHECK_INT(disagreements("/proc/self/exe"), 0);
	CHECK_INT(disagreements("/lib/x86_64-linux-gnu/libc.so.6"), 0);
}

/* By the decoder of operands, hidden ones (of the stack, of string instructions) among them. */
static bool accesses_memory(const uint8_t *bytes, size_t available)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, available, &decoded, operands)))
		return true;
	for (unsigned i = 0; i < decoded.operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operands[i].mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
		    decoded.mnemonic != ZYDIS_MNEMONIC_NOP)
			return true;
	return false;
}

TEST(what_may_fault_is_known)
{
	struct sn_image *image;
	const struct sn_symbol *symbols;
	size_t count, missed = 0, none = 0, doubted = 0;

	REQUIRE(sn_image_open("/lib/x86_64-linux-gnu/libm.so.6", NULL, &image, NULL) == SN_OK);
	symbols = sn_image_symbols(image, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t at = symbols[i].link_addr, end = at + symbols[i].size_bytes;
		struct sn_unwind_insn insn;
		size_t available;
		const uint8_t *bytes = sn_image_bytes(image, at, &available);

		if (symbols[i].kind == SN_SYMBOL_GAP)
			continue;
		for (; at < end && sn_unwind_insn_decode(bytes, available, &insn);
		     at += insn.length, bytes += insn.length, available -= insn.length) {
			bool accesses = accesses_memory(bytes, available);

			missed += accesses && !sn_unwind_insn_may_access(&insn);
			none += !accesses;
			doubted += !accesses && sn_unwind_insn_may_access(&insn);
		}
	}
	CHECK_INT(missed, 0);
	CHECK(none > 10000 && doubted < none / 100);
	printf("# of %zu without memory %zu are doubted\n", none, doubted);
	sn_image_free(image);
}
