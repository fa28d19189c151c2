#include "code/decode.h"
#include "harness/tap.h"

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
