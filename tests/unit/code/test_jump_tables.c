/* Indirect jumps: tables are found however the compiler arranged the steps, and their bound. */
#include "code/assembled.h"

#define CASES "1: ret\n2: inc %eax\nret\n3: dec %eax\nret\n4: neg %eax\nret"
#define RELATIVE_TABLE                                                                             \
	".pushsection .rodata\n.p2align 2\n5: .long 1b-5b, 2b-5b, 3b-5b, 4b-5b\n.popsection\n"

/* As gcc and clang write a switch in position-independent code. */
ASSEMBLED("relative", "cmp $3, %edi\n"
		      "ja 1f\n"
		      "mov %edi, %edi\n"
		      "lea 5f(%rip), %rdx\n"
		      "movslq (%rdx,%rdi,4), %rax\n"
		      "add %rdx, %rax\n"
		      "jmp *%rax\n" CASES "\n" RELATIVE_TABLE);
/* The bound is a mask: there is no default. */
ASSEMBLED("masked", "and $3, %edi\n"
		    "lea 5f(%rip), %rdx\n"
		    "movslq (%rdx,%rdi,4), %rax\n"
		    "add %rdx, %rax\n"
		    "jmp *%rax\n" CASES "\n" RELATIVE_TABLE);
/* Without optimization the index lives on the stack, and is compared there. */
ASSEMBLED("spilled", "push %rbp\n"
		     "mov %rsp, %rbp\n"
		     "mov %edi, -4(%rbp)\n"
		     "cmpl $2, -4(%rbp)\n"
		     "ja 1f\n"
		     "mov -4(%rbp), %eax\n"
		     "lea 0(,%rax,4), %rdx\n"
		     "lea 5f(%rip), %rax\n"
		     "mov (%rdx,%rax), %eax\n"
		     "cltq\n"
		     "lea 5f(%rip), %rdx\n"
		     "add %rdx, %rax\n"
		     "jmp *%rax\n" CASES "\n" RELATIVE_TABLE);
/* The index is made smaller by the first case's number before it is compared. */
ASSEMBLED("from_ten", "lea -10(%rdi), %eax\n"
		      "cmp $3, %eax\n"
		      "ja 1f\n"
		      "lea 5f(%rip), %rdx\n"
		      "movslq (%rdx,%rax,4), %rax\n"
		      "add %rdx, %rax\n"
		      "jmp *%rax\n" CASES "\n" RELATIVE_TABLE);
/* A second way to the jump goes past the comparison. */
ASSEMBLED("passed_by", "test %esi, %esi\n"
		       "jne 6f\n"
		       "cmp $3, %edi\n"
		       "ja 1f\n"
		       "6: mov %edi, %edi\n"
		       "lea 5f(%rip), %rdx\n"
		       "movslq (%rdx,%rdi,4), %rax\n"
		       "add %rdx, %rax\n"
		       "jmp *%rax\n" CASES "\n" RELATIVE_TABLE);
/* A pointer that the caller gave is no table. */
ASSEMBLED("no_table", "cmp $3, %edi\n"
		      "ja 1f\n"
		      "jmp *(%rsi,%rdi,8)\n"
		      "1: ret");

TEST(a_relative_table_has_as_many_targets_as_its_bound)
{
	check_blocks("relative", "0: 2 -> 1 2 entry\n"
				 "1: 5 -> 2 3 4 5 indirect proved\n"
				 "2: 1 -> returns\n"
				 "3: 2 -> returns\n"
				 "4: 2 -> returns\n"
				 "5: 2 -> returns\n");
}

TEST(a_mask_is_a_bound)
{
	check_blocks("masked", "0: 5 -> 1 2 3 4 entry indirect proved\n"
			       "1: 1 -> returns\n"
			       "2: 2 -> returns\n"
			       "3: 2 -> returns\n"
			       "4: 2 -> returns\n");
}

TEST(an_index_on_the_stack_is_followed)
{
	check_blocks("spilled", "0: 5 -> 1 2 entry\n"
				"1: 8 -> 2 3 4 indirect proved\n"
				"2: 1 -> returns\n"
				"3: 2 -> returns\n"
				"4: 2 -> returns\n"
				"5: 2 -> returns speculative\n");
}

TEST(an_index_may_begin_at_any_number)
{
	check_blocks("from_ten", "0: 3 -> 1 2 entry\n"
				 "1: 4 -> 2 3 4 5 indirect proved\n"
				 "2: 1 -> returns\n"
				 "3: 2 -> returns\n"
				 "4: 2 -> returns\n"
				 "5: 2 -> returns\n");
}

TEST(a_bound_that_one_way_goes_past_proves_nothing)
{
	struct assembled a = assembled_open("passed_by");

	for (uint32_t b = 0; b < a.function->block_count; b++)
		CHECK(!(a.function->blocks[b].flags & SN_BLOCK_PROVED));
	assembled_close(&a);
}

TEST(a_table_of_the_caller_is_not_guessed)
{
	check_blocks("no_table", "0: 2 -> 1 2 entry\n"
				 "1: 1 -> leaves\n"
				 "2: 1 -> returns\n");
}
