/* Basic blocks of functions written for it: where they end, where they go, what they are. */
#include "code/assembled.h"

ASSEMBLED("diamond", "test %edi, %edi\n"
		     "je 1f\n"
		     "mov $1, %eax\n"
		     "jmp 2f\n"
		     "1: xor %eax, %eax\n"
		     "inc %eax\n"
		     "2: ret");
ASSEMBLED("calls_on", "call diamond\n"
		      "call diamond\n"
		      "ret");
ASSEMBLED("stops", "test %edi, %edi\n"
		   "je 1f\n"
		   "ud2\n"
		   "1: hlt");
ASSEMBLED("tail_call", "test %edi, %edi\n"
		       "je diamond\n"
		       "jmp calls_on");
ASSEMBLED("goes_anywhere", "test %edi, %edi\n"
			   "je 1f\n"
			   "jmp *%rsi\n"
			   "1: ret");
/* The second half is entered by nobody that can be seen. */
ASSEMBLED("has_a_gap", "mov $1, %eax\n"
		       "ret\n"
		       "mov $2, %eax\n"
		       "ret");
ASSEMBLED("is_padded", "ret\n"
		       ".p2align 5\n"
		       "int3\n"
		       "int3");
/* A jump into the middle of what another path decodes as one instruction. */
ASSEMBLED("overlaps", "test %edi, %edi\n"
		      "je 1f+2\n"
		      "1: .byte 0x66, 0xb8, 0x31, 0xc0\n" /* mov $0xc031, %ax; xor %eax, %eax */
		      "ret");

TEST(blocks_end_where_paths_meet_or_part)
{
	check_blocks("diamond", "0: 2 -> 1 2 entry\n"
				"1: 2 -> 3\n"
				"2: 2 -> 3\n"
				"3: 1 -> returns\n");
}

TEST(a_call_that_returns_ends_no_block)
{
	check_blocks("calls_on", "0: 3 -> entry calls returns\n");
}

TEST(what_stops_has_no_successor)
{
	check_blocks("stops", "0: 2 -> 1 2 entry\n"
			      "1: 1 -> no-return\n"
			      "2: 1 -> no-return\n");
}

TEST(a_jump_to_another_function_leaves)
{
	check_blocks("tail_call", "0: 2 -> 1 entry leaves\n"
				  "1: 1 -> leaves\n");
}

TEST(a_jump_through_a_pointer_leaves)
{
	check_blocks("goes_anywhere", "0: 2 -> 1 2 entry\n"
				      "1: 1 -> leaves\n"
				      "2: 1 -> returns\n");
}

TEST(code_that_no_jump_reaches_is_speculative)
{
	check_blocks("has_a_gap", "0: 2 -> entry returns\n"
				  "1: 2 -> returns speculative\n");
}

TEST(padding_is_no_code)
{
	check_blocks("is_padded", "0: 1 -> entry returns\n");
}

TEST(instructions_may_overlap)
{
	check_blocks("overlaps", "0: 2 -> 1 2 entry\n"
				 "1: 1 -> 3\n"
				 "2: 1 -> 3\n"
				 "3: 1 -> returns\n");
}
