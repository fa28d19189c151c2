/* Where code can be inserted that counts arrivals, and what forbids it: nobody may arrive in the middle of the jump. */
#include <string.h>

#include "../code/assembled.h"
#include "harness/tap.h"
#include "rewrite/rewrite.h"
#include "wire/plan.h"

ASSEMBLED("straight", "push %rbx\nmov %edi, %ebx\nlea 4(%rbx), %rax\npop %rbx\nret");
ASSEMBLED("marked", "endbr64\npush %rbx\nmov %edi, %ebx\nlea 4(%rbx), %rax\npop %rbx\nret");
ASSEMBLED("looked_up", "mov straight(%rip), %eax\nret");
ASSEMBLED("leaves", "leave\nret\n.fill 8, 1, 0x90");
ASSEMBLED("decides", "test %edi, %edi\nje 1f\nmov %edi, %eax\nret\n1: xor %eax, %eax\nret");
ASSEMBLED("loops", "xor %eax, %eax\n1: add $1, %eax\ncmp %edi, %eax\njne 1b\nret");
ASSEMBLED("calls_first", "call straight\nret");
ASSEMBLED("calls_a_register", "call *%rax\nret");
ASSEMBLED("calls_its_middle", "nop\n1: call 1b\nret");
ASSEMBLED("jumps", ".byte 0xe9\n.long straight - . - 4");
ASSEMBLED("is_entered",
	  "nop\n.globl is_entered_at\nis_entered_at: mov %edi, %eax\nmov %edi, %ecx\nret");
ASSEMBLED("enters_it", "mov $1, %edx\njmp is_entered_at");
/* a short je, whatever the assembler makes of it */
ASSEMBLED("over_nothing", "test %edi, %edi\n.byte 0x74, 0\nmov %edi, %eax\nret");
ASSEMBLED("tight", "ret");
ASSEMBLED("behind_tight", "ret");

/* NULL: it can be counted, and `out` has the plan. */
static const char *point_of(const char *name, unsigned at, struct sn_text *out)
{
	struct assembled a = assembled_open(name);
	struct sn_rewriter *rewriter = sn_rewriter_new(a.image, a.structure);
	const char *why = sn_rewriter_point(rewriter, a.function, a.function->link_addr + at, out);

	sn_rewriter_free(rewriter);
	assembled_close(&a);
	return why;
}

static void check_refusal(const char *name, unsigned at, const char *want)
{
	struct sn_text out = { 0 };
	const char *why = point_of(name, at, &out);

	CHECK_STRING(why ? why : "", want);
	CHECK((out.length == 0) == (why != NULL));
	sn_text_free(&out);
}

/* The patch of the plan lies so far behind the function's begin. */
static void check_patch(const char *name, unsigned at, unsigned site)
{
	struct assembled a = assembled_open(name);
	uint64_t begin = a.function->link_addr;
	struct sn_text out = { 0 };
	struct sn_plan plan;
	size_t available;

	CHECK(!point_of(name, at, &out));
	REQUIRE(sn_plan_read(out.chars, out.length, &plan));
	CHECK(plan.header->loop_count == 0 && plan.header->patch_count == 1);
	CHECK(plan.patches[0].link_addr == begin + site && plan.patches[0].length == 5);
	CHECK(!memcmp(plan.patches[0].expected,
		      sn_structure_bytes(a.structure, begin + site, &available), 5));
	/* the count is of the thread's word */
	CHECK(plan.relocations[0].kind == SN_PLAN_THREAD &&
	      plan.relocations[0].addend == SN_PLAN_WORD_VISITS);
	sn_text_free(&out);
	assembled_close(&a);
}

TEST(code_at_an_entry_can_be_counted)
{
	check_patch("straight", 0, 0);
	check_patch("straight", 1, 1);
}

TEST(a_mark_for_indirect_jumps_stays)
{
	check_patch("marked", 0, 4);
}

TEST(addresses_and_jumps_are_moved)
{
	check_patch("looked_up", 0, 0);
	check_patch("decides", 0, 0);
	check_patch("jumps", 0, 0);
}

TEST(padding_behind_the_end_is_room)
{
	check_patch("leaves", 0, 0);
}

TEST(where_a_jump_arrives_in_between_there_is_no_room)
{
	check_refusal("loops", 0, "there are jumps to where its jump would be");
	check_patch("loops", 2, 2); /* the header itself */
	check_refusal("is_entered", 0, "code of another function jumps to where its jump would be");
}

TEST(a_branch_to_the_middle_forbids_it)
{
	check_refusal("over_nothing", 0, "there are jumps to where its jump would be");
}

TEST(direct_calls_are_moved)
{
	check_patch("calls_first", 0, 0);
	check_refusal("calls_a_register", 0, "it has an indirect call or jump");
	check_refusal("calls_its_middle", 0, "it has a call that cannot be moved");
}

TEST(another_function_is_no_room)
{
	check_refusal("tight", 0, "there is no room for a jump");
}
