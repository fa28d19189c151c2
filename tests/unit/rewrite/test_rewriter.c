/* What forbids a loop to run as a copy; each refused loop would break, or be counted wrong. */
#include "rewrite/rewrite.h"

#include "../code/assembled.h"
#include "wire/plan.h"

#include <string.h>

#define LOOP "1: add (%rdi,%rax,8), %rcx\nadd $1, %rax\ncmp %rsi, %rax\njne 1b\n"

ASSEMBLED("plain", "xor %eax, %eax\n" LOOP "ret");
ASSEMBLED("with_call", "push %rbx\n"
		       "mov %edi, %ebx\n"
		       "1: lea 4(%rbx), %rdi\n"
		       "nop\n"
		       "call plain\n"
		       "lea 4(%rbx), %rbx\n"
		       "sub $1, %rbx\n"
		       "jne 1b\n"
		       "pop %rbx\n"
		       "ret");
/* a list: rax is free at its header, rdx behind it; none; a part of rax is no free register */
ASSEMBLED("frees_one", "1: mov (%rdi), %rax\nmov %rax, %rdi\nadd %rax, %rcx\ntest %rdi, %rdi\n"
		       "jne 1b\nxor %edx, %edx\nret");
ASSEMBLED("frees_none", "1: mov (%rdi), %rdi\ntest %rdi, %rdi\njne 1b\ncmp %rsi, %rdi\nret");
ASSEMBLED("frees_part", "1: mov 8(%rdi), %al\nadd %rax, %rcx\nmov (%rdi), %rdi\n"
			"test %rdi, %rdi\njne 1b\ncmp %rsi, %rdi\nret");
/* rax is read in no block before it is written; in one that returns it may be what the caller needs */
ASSEMBLED("frees_later", "1: mov (%rdi), %rdi\ntest %rdi, %rdi\nje 2f\nmov (%rdi), %rax\n"
			 "add %rax, %rcx\njmp 1b\n2: xor %eax, %eax\nret");
ASSEMBLED("frees_no_more", "1: mov (%rdi), %rdi\ntest %rdi, %rdi\nje 2f\nmov (%rdi), %rax\n"
			   "add %rax, %rcx\njmp 1b\n2: cmp %esi, %ecx\nret");
/* who has data below the stack pointer: by a displacement; by a copy of the pointer; by a frame pointer */
#define LIST_LOOP "1: mov (%rdi), %rdi\ntest %rdi, %rdi\njne 1b\n"
ASSEMBLED("below", "mov %rsi, -16(%rsp)\n" LIST_LOOP "cmp -16(%rsp), %rdi\nret");
ASSEMBLED("below_by_index", "mov %rsi, (%rsp,%rdx,8)\n" LIST_LOOP "cmp (%rsp,%rdx,8), %rdi\nret");
ASSEMBLED("below_by_copy",
	  "mov %rsp, %rdx\nmov %rsi, -16(%rdx)\n" LIST_LOOP "cmp -16(%rdx), %rdi\nret");
ASSEMBLED("below_by_address",
	  "lea 8(%rsp), %rdx\nmov %rsi, -24(%rdx)\n" LIST_LOOP "cmp -24(%rdx), %rdi\nret");
ASSEMBLED("below_by_exchange",
	  "xchg %rsp, %rdx\nxchg %rdx, %rsp\n" LIST_LOOP "cmp %rsi, %rdi\nret");
ASSEMBLED("below_by_frame", "push %rbp\nmov %rsp, %rbp\nmov %rsi, -16(%rbp)\n" LIST_LOOP
			    "cmp -16(%rbp), %rdi\npop %rbp\nret");
ASSEMBLED("below_by_frame_in_part",
	  "push %rbp\nmov %rsp, %rbp\nsub $8, %rsp\n"
	  "mov %rsi, -16(%rbp)\n" LIST_LOOP "cmp -16(%rbp), %rdi\nleave\nret");
ASSEMBLED("in_frame", "push %rbp\nmov %rsp, %rbp\npush %rbx\nsub $8, %rsp\nmov %rsi, -16(%rbp)\n"
		      "call plain\n" LIST_LOOP "cmp -16(%rbp), %rdi\npop %rdx\npop %rbx\n"
		      "pop %rbp\nret");
ASSEMBLED("above", "sub $24, %rsp\nmov %rsi, 8(%rsp)\n" LIST_LOOP
		   "cmp 8(%rsp), %rdi\nlea 24(%rsp), %rsp\nret");
ASSEMBLED("above_by_address", "sub $24, %rsp\nlea 8(%rsp), %rdi\ncall plain\n" LIST_LOOP
			      "cmp %rsi, %rdi\nadd $24, %rsp\nret");
/* another function goes on in it, that may have data there */
ASSEMBLED("gone_on_in", LIST_LOOP "cmp %rsi, %rdi\nret\n"
				  ".globl gone_on_in_at\n"
				  "gone_on_in_at: mov %rdi, %rax\nret");
ASSEMBLED("goes_on_in", "mov %rsi, -16(%rsp)\njmp gone_on_in_at");
ASSEMBLED("uses_all", "1: mov (%rdi), %rdi\nadd %rax, %rcx\nadd %rdx, %rsi\nadd %r8, %r9\n"
		      "add %r10, %r11\ntest %rdi, %rdi\njne 1b\ncmp %rsi, %rdi\nret");
/* two entries */
ASSEMBLED("irreducible", "test %edi, %edi\n"
			 "je 2f\n"
			 "1: sub $1, %esi\n"
			 "2: sub $2, %esi\n"
			 "jne 1b\n"
			 "ret");
/* another function goes on behind the first instruction */
ASSEMBLED("entered", "1: inc %eax\n"
		     ".globl entered_at\n"
		     "entered_at: dec %ecx\n"
		     "dec %edx\n"
		     "jne 1b\n"
		     "ret");
ASSEMBLED("enters", "mov $1, %edx\n"
		    "jmp entered_at");
ASSEMBLED("entered_if", "1: inc %eax\n"
			".globl entered_if_at\n"
			"entered_if_at: dec %ecx\n"
			"dec %edx\n"
			"jne 1b\n"
			"ret");
ASSEMBLED("enters_if", "test %edi, %edi\n"
		       "jne entered_if_at\n"
		       "ret");
ASSEMBLED("called", "1: inc %eax\n"
		    ".globl called_at\n"
		    "called_at: dec %ecx\n"
		    "dec %edx\n"
		    "jne 1b\n"
		    "ret");
ASSEMBLED("calls", "nop\n"
		   "call called_at\n"
		   "ret");
ASSEMBLED("entered_after_abort", "1: inc %eax\n"
				 ".globl entered_after_abort_at\n"
				 "entered_after_abort_at: dec %ecx\n"
				 "dec %edx\n"
				 "jne 1b\n"
				 "ret");
ASSEMBLED("aborts", "xbegin entered_after_abort_at\n"
		    "ret");
/* a number that has the bytes of a jump there */
ASSEMBLED("named", "1: inc %eax\n"
		   ".globl named_at\n"
		   "named_at: dec %ecx\n"
		   "dec %edx\n"
		   "jne 1b\n"
		   "ret");
ASSEMBLED("names", ".byte 0x48, 0xb8, 0xe9\n"
		   ".long named_at - . - 4\n"
		   ".byte 0, 0, 0\n"
		   "ret");
ASSEMBLED("itself_calls_the_system", "1: mov $186, %eax\n"
				     "syscall\n"
				     "sub $1, %edi\n"
				     "jne 1b\n"
				     "ret");
ASSEMBLED("grows_the_stack", "push %rbp\n"
			     "mov %rsp, %rbp\n"
			     "1: sub %rax, %rsp\n"
			     "sub $1, %edi\n"
			     "jne 1b\n"
			     "leave\n"
			     "ret");
ASSEMBLED("pushes", "push %rbp\n"
		    "mov %rsp, %rbp\n"
		    "1: push %rax\n"
		    "sub $1, %edi\n"
		    "jne 1b\n"
		    "leave\n"
		    "ret");
ASSEMBLED("no_memory", "1: mulsd %xmm1, %xmm0\n"
		       "sub $1, %edi\n"
		       "jne 1b\n"
		       "ret");
ASSEMBLED("one_load", "1: mulsd (%rsi), %xmm0\n"
		      "sub $1, %edi\n"
		      "jne 1b\n"
		      "ret");
ASSEMBLED("list_by_count", "1: mov 16(%rax), %rax\n"
			   "sub $1, %edi\n"
			   "jne 1b\n"
			   "ret");
ASSEMBLED("list_of_two", "1: mov 16(%rax), %rax\n"
			 "mov 24(%rax), %rax\n"
			 "sub $1, %edi\n"
			 "jne 1b\n"
			 "ret");
/* the header's jump would lie over the call, and nothing is left for what the call returns to */
ASSEMBLED("no_room", "push %rbx\n"
		     "mov %edi, %ebx\n"
		     "1: call plain\n"
		     "dec %ebx\n"
		     "jne 1b\n"
		     "pop %rbx\n"
		     "ret");
ASSEMBLED("table_of_unknown_length", "1: movzbl (%rdi), %eax\n"
				     "inc %rdi\n"
				     "lea 9f(%rip), %rdx\n"
				     "movslq (%rdx,%rax,4), %rax\n"
				     "add %rdx, %rax\n"
				     "jmp *%rax\n"
				     "2: inc %ecx\njmp 1b\n"
				     "3: dec %ecx\njmp 1b\n"
				     "4: ret\n"
				     ".pushsection .rodata\n.p2align 2\n"
				     "9: .long 2b-9b, 3b-9b, 4b-9b\n.popsection\n");

static void check_refusal(const char *name, const char *want)
{
	struct assembled a = assembled_open(name);
	struct sn_rewriter *rewriter = sn_rewriter_new(a.image, a.structure);

	REQUIRE(a.function->loop_count == 1);
	const char *why = sn_rewriter_refusal(rewriter, &a.function->loops[0]);
	CHECK_STRING(why ? why : "", want);
	sn_rewriter_free(rewriter);
	assembled_close(&a);
}

TEST(a_plain_loop_can_be_counted)
{
	check_refusal("plain", "");
}

TEST(a_loop_with_a_call_can_be_counted)
{
	check_refusal("with_call", "");
}

TEST(a_loop_with_two_entries_cannot)
{
	check_refusal("irreducible", "it can be entered elsewhere than at its header");
}

TEST(a_loop_whose_first_bytes_another_function_enters_cannot)
{
	check_refusal("entered", "code of another function jumps to where its jump would be");
}

TEST(every_kind_of_jump_and_call_enters)
{
	static const char *const names[] = { "entered_if", "called", "entered_after_abort" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check_refusal(names[i],
			      "code of another function jumps to where its jump would be");
}

TEST(a_number_that_looks_like_a_jump_does_not)
{
	check_refusal("named", "");
}

TEST(a_loop_that_calls_the_system_itself_cannot)
{
	check_refusal("itself_calls_the_system", "it makes a system call itself");
}

TEST(a_loop_that_moves_the_stack_as_data_say_cannot)
{
	check_refusal("grows_the_stack",
		      "it moves the stack pointer by an amount that its code does not tell");
}

TEST(a_loop_that_ends_an_iteration_with_another_stack_cannot)
{
	check_refusal("pushes", "ways through it leave the stack pointer elsewhere");
}

TEST(a_loop_without_room_for_jumps_cannot)
{
	check_refusal("no_room",
		      "there is no room for the jumps around its calls or at its header");
}

TEST(a_loop_with_a_table_of_unknown_length_cannot)
{
	struct assembled a = assembled_open("table_of_unknown_length");
	struct sn_rewriter *rewriter = sn_rewriter_new(a.image, a.structure);

	for (uint32_t l = 0; l < a.function->loop_count; l++)
		CHECK(sn_rewriter_refusal(rewriter, &a.function->loops[l]) != NULL);
	sn_rewriter_free(rewriter);
	assembled_close(&a);
}

/* Of the only loop of a function; the caller frees the bytes. */
static struct sn_plan plan_of(const char *name, struct sn_text *bytes)
{
	struct assembled a = assembled_open(name);
	struct sn_rewriter *rewriter = sn_rewriter_new(a.image, a.structure);
	const struct sn_loop *loop = &a.function->loops[0];
	struct sn_plan plan;

	CHECK_INT(sn_rewriter_plan(rewriter, &loop, 1, 0, NULL, bytes), 1);
	REQUIRE(sn_plan_read(bytes->chars, bytes->length, &plan));
	CHECK_INT(plan.header->loop_count, 1);
	CHECK_INT(plan.loops[0].header_link_addr, loop->header_link_addr);
	for (uint32_t i = 0; i < plan.header->patch_count; i++) {
		size_t available;
		const uint8_t *there =
			sn_structure_bytes(a.structure, plan.patches[i].link_addr, &available);

		CHECK(!memcmp(there, plan.patches[i].expected, plan.patches[i].length));
	}
	sn_rewriter_free(rewriter);
	assembled_close(&a);
	return plan;
}

TEST(the_register_that_counts_is_found)
{
	struct sn_text bytes = { 0 };
	struct sn_plan plan = plan_of("plain", &bytes);

	CHECK_INT(plan.loops[0].counting, SN_PLAN_COUNT_INDUCTION);
	CHECK_INT(plan.loops[0].step, 1);
	CHECK_INT(plan.header->patch_count, 1);
	CHECK_INT(plan.patches[0].length, 5);
	sn_text_free(&bytes);
}

static unsigned found_in(const struct sn_plan *plan, const void *bytes, size_t length)
{
	unsigned found = 0;

	for (size_t i = 0; i + length <= plan->header->code_bytes; i++)
		found += !memcmp(plan->code + i, bytes, length);
	return found;
}

/* Counts at the entry and exit that save rax below the stack pointer; `pushed`: at those, and at the header,
 * by a push before they load the thread's places. */
static void check_saved(const char *name, unsigned saved, unsigned pushed)
{
	static const uint8_t save[] = { 0x48, 0x89, 0x44, 0x24, 0xf8 };
	static const uint8_t push[] = { 0x50, 0x64, 0x48, 0x8b, 0x04, 0x25 };
	struct sn_text bytes = { 0 };
	struct sn_plan plan = plan_of(name, &bytes);

	CHECK_INT(plan.loops[0].counting, SN_PLAN_COUNT_ARRIVALS);
	CHECK_INT(found_in(&plan, save, sizeof(save)), saved);
	CHECK_INT(found_in(&plan, push, sizeof(push)), pushed);
	sn_text_free(&bytes);
}

TEST(a_free_register_is_not_saved)
{
	check_saved("frees_one", 1, 0); /* at the exit: rdx has counted */
	check_saved("frees_none", 2, 0);
	check_saved("frees_part", 2, 0);
	check_saved("frees_later", 0, 0);
	check_saved("frees_no_more", 2, 0);
}

TEST(registers_are_pushed_where_a_function_has_data_below_the_stack_pointer)
{
	check_saved("below", 0, 3);
	check_saved("below_by_index", 0, 3);
	check_saved("below_by_copy", 0, 3);
	check_saved("below_by_address", 0, 3);
	check_saved("below_by_exchange", 0, 3);
	check_saved("below_by_frame", 0, 3);
	check_saved("below_by_frame_in_part", 0, 3);
	check_saved("gone_on_in", 0, 3);
	check_saved("in_frame", 2, 0);
	check_saved("above", 2, 0);
	check_saved("above_by_address", 2, 0);
}

TEST(iterations_are_counted_in_a_register_that_the_loop_leaves_alone)
{
	static const uint8_t save[] = { 0x4c, 0x89, 0x5c, 0x24, 0xe0 };	   /* mov [rsp-32], r11 */
	static const uint8_t zero[] = { 0x45, 0x31, 0xdb };		   /* xor r11d, r11d */
	static const uint8_t count[] = { 0x4d, 0x8d, 0x5b, 1 };		   /* lea r11, [r11+1] */
	static const uint8_t restore[] = { 0x4c, 0x8b, 0x5c, 0x24, 0xe0 }; /* mov r11, [rsp-32] */
	struct sn_text bytes = { 0 };
	struct sn_plan plan = plan_of("frees_none", &bytes);

	CHECK_INT(found_in(&plan, save, sizeof(save)), 1);
	CHECK_INT(found_in(&plan, zero, sizeof(zero)), 1);
	CHECK_INT(found_in(&plan, count, sizeof(count)), 1);
	CHECK_INT(found_in(&plan, restore, sizeof(restore)), 1);
	sn_text_free(&bytes);
	plan = plan_of("with_call", &bytes);
	CHECK_INT(found_in(&plan, count, sizeof(count)), 0);
	sn_text_free(&bytes);
}

TEST(iterations_are_counted_on_the_stack_where_the_loop_uses_all_registers)
{
	static const uint8_t count[] = { 0x48, 0xff, 0x44, 0x24, 0xe0 }; /* inc qword [rsp-32] */
	struct sn_text bytes = { 0 };
	struct sn_plan plan = plan_of("uses_all", &bytes);

	CHECK_INT(plan.loops[0].counting, SN_PLAN_COUNT_ARRIVALS);
	CHECK_INT(found_in(&plan, count, sizeof(count)), 1);
	sn_text_free(&bytes);
}

TEST(the_register_that_counts_is_not_the_one_that_is_saved)
{
	static const uint8_t save_rax[] = { 0x48, 0x89, 0x44, 0x24, 0xf8 };
	static const uint8_t keep[] = { 0x48, 0x89, 0x44, 0x24, 0xe0 }; /* mov [rsp-32], rax */
	struct sn_text bytes = { 0 };
	struct sn_plan plan = plan_of("plain", &bytes);

	CHECK_INT(found_in(&plan, save_rax, sizeof(save_rax)), 0);
	CHECK_INT(found_in(&plan, keep, sizeof(keep)), 1);
	sn_text_free(&bytes);
}

TEST(a_call_returns_to_a_patch_of_its_own)
{
	struct sn_text bytes = { 0 };
	struct sn_plan plan = plan_of("with_call", &bytes);

	CHECK_INT(plan.loops[0].counting, SN_PLAN_COUNT_ARRIVALS);
	CHECK_INT(plan.header->patch_count, 2);
	sn_text_free(&bytes);
}

TEST(a_damaged_plan_is_refused)
{
	struct sn_text bytes = { 0 };
	struct sn_plan plan = plan_of("plain", &bytes);

	for (size_t i = 0; i < bytes.length; i++) {
		bool is_id = i >= offsetof(struct sn_plan_header, id) &&
			     i < offsetof(struct sn_plan_header, id_bytes);
		bool is_call = i >= offsetof(struct sn_plan_header, calls) &&
			       i < sizeof(struct sn_plan_header);

		bytes.chars[i] ^= 0x40;
		CHECK(is_id || is_call || !sn_plan_read(bytes.chars, bytes.length, &plan));
		bytes.chars[i] ^= 0x40;
	}
	for (size_t length = 0; length < bytes.length; length++)
		CHECK(!sn_plan_read(bytes.chars, length, &plan));
	sn_text_free(&bytes);
}

static const char *const *judged(const char *name)
{
	static const char *why[SN_VARIANTS];
	struct assembled a = assembled_open(name);

	REQUIRE(a.function->loop_count == 1);
	sn_loop_variants_judge(a.structure, &a.function->loops[0], why);
	assembled_close(&a);
	return why;
}

TEST(a_loop_without_memory_has_no_variant_of_its_data)
{
	const char *const *why = judged("no_memory");

	CHECK(why[SN_VARIANT_LS] == sn_loop_without_memory);
	CHECK(why[SN_VARIANT_DL1] == sn_loop_without_memory);
	CHECK(!why[SN_VARIANT_ORIG] && !why[SN_VARIANT_FP] && !why[SN_VARIANT_FES]);
	why = judged("one_load");
	CHECK(!why[SN_VARIANT_LS] && !why[SN_VARIANT_DL1]);
}

static bool has_in_dl1(const char *name, const uint8_t *insn, size_t length)
{
	struct assembled a = assembled_open(name);
	struct sn_rewriter *rewriter = sn_rewriter_new(a.image, a.structure);
	const struct sn_loop *loop = &a.function->loops[0];
	struct sn_text bytes = { 0 };
	struct sn_plan plan;
	bool found = false;

	REQUIRE(sn_rewriter_plan(rewriter, &loop, 1, 1u << SN_VARIANT_DL1, NULL, &bytes) == 1);
	REQUIRE(sn_plan_read(bytes.chars, bytes.length, &plan));
	REQUIRE(plan.loops[0].code[SN_VARIANT_DL1]);
	for (size_t i = plan.loops[0].code[SN_VARIANT_DL1]; i + length <= plan.header->code_bytes;
	     i++)
		found |= !memcmp(plan.code + i, insn, length);
	sn_text_free(&bytes);
	sn_rewriter_free(rewriter);
	assembled_close(&a);
	return found;
}

/* An index in the address would cost a cycle on each step of the chain. */
TEST(a_list_in_cache_has_the_loops_own_load)
{
	static const uint8_t step[] = { 0x48, 0x8b, 0x40, 0x10 }; /* mov 16(%rax), %rax */

	CHECK(has_in_dl1("list_by_count", step, sizeof(step)));
	/* no line is both 16 and 24 bytes ahead of what it holds */
	CHECK(!has_in_dl1("list_of_two", step, sizeof(step)));
}
