/* Preparing a function looks at each of its instructions a few times, however many loops it has. */
#include <Zydis/Zydis.h>

#include "code/image.h"
#include "code/structure.h"
#include "harness/tap.h"

enum { LOOPS = 400, LOOP_INSTRUCTIONS = 8, LOOKS_MOST = 12 };

/* Vector loops one after another, as in hand-written codecs. */
#define LOOPS_IN_ASSEMBLER(LOC)                                                                    \
	"sonde_row = 1000\n.rept 400\n" LOC "xor %eax, %eax\n"                                     \
	"1: movups (%rdi,%rax), %xmm0\n"                                                           \
	"movups (%rsi,%rax), %xmm1\n"                                                              \
	"mulps %xmm1, %xmm0\n"                                                                     \
	"movups %xmm0, (%rdi,%rax)\n"                                                              \
	"add $16, %rax\n"                                                                          \
	"cmp $4096, %rax\n"                                                                        \
	"jne 1b\n"                                                                                 \
	".endr\n"
#define LOC_EACH "sonde_row = sonde_row + 10\n.loc 1 sonde_row 5\n"

__asm__(".text\n.globl loops_without_lines\n.type loops_without_lines, @function\n"
	"loops_without_lines:\n" LOOPS_IN_ASSEMBLER(
		"") "ret\n"
		    ".size loops_without_lines, .-loops_without_lines\n");

/* In a function, as a row needs a file that the compiler has named before. */
void loops_with_lines(void);
__attribute__((naked, used)) void loops_with_lines(void)
{
	__asm__(LOOPS_IN_ASSEMBLER(LOC_EACH) "ret\n");
}

static unsigned long decoded;

ZyanStatus __real_ZydisDecoderDecodeFull(const ZydisDecoder *decoder, const void *buffer,
					 ZyanUSize length, ZydisDecodedInstruction *instruction,
					 ZydisDecodedOperand *operands);
ZyanStatus __wrap_ZydisDecoderDecodeFull(const ZydisDecoder *decoder, const void *buffer,
					 ZyanUSize length, ZydisDecodedInstruction *instruction,
					 ZydisDecodedOperand *operands);
ZyanStatus __wrap_ZydisDecoderDecodeFull(const ZydisDecoder *decoder, const void *buffer,
					 ZyanUSize length, ZydisDecodedInstruction *instruction,
					 ZydisDecodedOperand *operands)
{
	decoded++;
	return __real_ZydisDecoderDecodeFull(decoder, buffer, length, instruction, operands);
}

static unsigned long decoded_for(const char *name)
{
	struct sn_structure *structure;
	struct sn_image *image;
	const struct sn_function *function;
	uint64_t link_addr;

	REQUIRE(sn_image_open("/proc/self/exe", NULL, &image, NULL) == SN_OK);
	REQUIRE(sn_structure_open(image, &structure, NULL) == SN_OK);
	REQUIRE(sn_image_symbol_named(image, name));
	link_addr = sn_image_symbol_named(image, name)->link_addr;
	decoded = 0;
	sn_structure_prepare(structure, &link_addr, 1, SN_PREPARE_ALL);
	function = sn_structure_function_at(structure, link_addr);
	CHECK(function && function->loop_count == LOOPS);
	sn_structure_free(structure);
	sn_image_free(image);
	return decoded;
}

TEST(loops_without_lines_are_not_sought_elsewhere)
{
	CHECK(decoded_for("loops_without_lines") <
	      (unsigned long)LOOPS * LOOP_INSTRUCTIONS * LOOKS_MOST);
}

TEST(only_blocks_of_a_loops_lines_are_looked_at_for_its_rest)
{
	unsigned long looks = decoded_for("loops_with_lines");

	CHECK(looks >= (unsigned long)LOOPS * LOOP_INSTRUCTIONS / 2);
	CHECK(looks < (unsigned long)LOOPS * LOOP_INSTRUCTIONS * LOOKS_MOST);
}
