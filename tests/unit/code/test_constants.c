/* What registers hold before an instruction: loaded, copied, lost by writes, calls and jumps. */
#include "code/constants.h"
#include "code/image.h"
#include "harness/tap.h"

enum { UNKNOWN = -1 };

__asm__(".text\n"
	".globl loads\n.type loads, @function\nloads:\n"
	".Lat_entry: mov $17, %eax\n"
	".Lafter_mov: mov %eax, %r8d\n"
	"lea 4(%rdi), %rdi\n"
	"xor %eax, %eax\n"
	".Lafter_xor: add $1, %eax\n"
	".Lafter_add: mov %r8d, %eax\n"
	"jz .Lafter_jump\n"
	".Lafter_copy: mov $0xca, %edi\n"
	".Lbefore_call: call *%rsi\n"
	".Lafter_call: mov $3, %eax\n"
	"syscall\n"
	".Lafter_syscall: movabs $0x100000002, %rax\n"
	".Lafter_wide: mov $5, %al\n"
	".Lafter_part: mov $7, %eax\n"
	"jmp .Lafter_jump\n"
	".Lafter_jump: ret\n"
	".size loads, .-loads\n"
	".section .rodata\n.globl offsets\noffsets:\n"
	".long .Lat_entry - loads\n"
	".long .Lafter_mov - loads\n"
	".long .Lafter_xor - loads\n"
	".long .Lafter_add - loads\n"
	".long .Lafter_copy - loads\n"
	".long .Lbefore_call - loads\n"
	".long .Lafter_call - loads\n"
	".long .Lafter_syscall - loads\n"
	".long .Lafter_wide - loads\n"
	".long .Lafter_part - loads\n"
	".long .Lafter_jump - loads\n"
	".text\n");

extern const uint32_t offsets[];
enum place {
	AT_ENTRY,
	AFTER_MOV,
	AFTER_XOR,
	AFTER_ADD,
	AFTER_COPY,
	BEFORE_CALL,
	AFTER_CALL,
	AFTER_SYSCALL,
	AFTER_WIDE,
	AFTER_PART,
	AFTER_JUMP
};

static int64_t value_at(enum place place, enum sn_gpr gpr)
{
	struct sn_structure *structure;
	struct sn_image *image;
	uint64_t value, at;
	int64_t result = UNKNOWN;

	REQUIRE(sn_image_open("/proc/self/exe", NULL, &image, NULL) == SN_OK);
	REQUIRE(sn_structure_open(image, &structure, NULL) == SN_OK);
	REQUIRE(sn_image_symbol_named(image, "loads"));
	at = sn_image_symbol_named(image, "loads")->link_addr + offsets[place];
	if (sn_constant_before(structure, at, gpr, &value))
		result = (int64_t)value;
	sn_structure_free(structure);
	sn_image_free(image);
	return result;
}

TEST(known_until_written)
{
	CHECK_INT(value_at(AT_ENTRY, SN_GPR_RAX), UNKNOWN);
	CHECK_INT(value_at(AFTER_MOV, SN_GPR_RAX), 17);
	CHECK_INT(value_at(AFTER_XOR, SN_GPR_RAX), 0);
	CHECK_INT(value_at(AFTER_ADD, SN_GPR_RAX), UNKNOWN);
	CHECK_INT(value_at(AFTER_COPY, SN_GPR_RAX), 17);
	CHECK_INT(value_at(AFTER_WIDE, SN_GPR_RAX), 0x100000002);
	CHECK_INT(value_at(AFTER_PART, SN_GPR_RAX), UNKNOWN);
}

TEST(calls_and_jumps_end_what_is_known)
{
	CHECK_INT(value_at(BEFORE_CALL, SN_GPR_RDI), 0xca);
	CHECK_INT(value_at(AFTER_CALL, SN_GPR_RDI), UNKNOWN);
	CHECK_INT(value_at(AFTER_SYSCALL, SN_GPR_RAX), UNKNOWN);
	CHECK_INT(value_at(AFTER_JUMP, SN_GPR_RAX), UNKNOWN);
}
