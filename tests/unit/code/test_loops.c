/* Natural loops of functions written for it: nests, latches, exits, several entries. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "code/assembled.h"

ASSEMBLED("straight", "mov $1, %eax\nret");
ASSEMBLED("one_block", "1: dec %edi\n"
		       "jne 1b\n"
		       "ret");
ASSEMBLED("nest", "1: mov $8, %ecx\n"
		  "2: mov $8, %edx\n"
		  "3: dec %edx\n"
		  "jne 3b\n"
		  "dec %ecx\n"
		  "jne 2b\n"
		  "dec %edi\n"
		  "jne 1b\n"
		  "ret");
/* `continue` and the loop's end both go back to the header. */
ASSEMBLED("two_latches", "1: dec %edi\n"
			 "je 3f\n"
			 "test $1, %edi\n"
			 "je 1b\n"
			 "inc %eax\n"
			 "jmp 1b\n"
			 "3: ret");
/* A `break` besides the condition. */
ASSEMBLED("two_exits", "1: dec %edi\n"
		       "je 2f\n"
		       "cmp %esi, %edi\n"
		       "jne 1b\n"
		       "2: ret");
/* Entered at either of two blocks that go to each other. */
ASSEMBLED("irreducible", "test %edi, %edi\n"
			 "je 2f\n"
			 "1: dec %esi\n"
			 "je 3f\n"
			 "2: dec %edi\n"
			 "jne 1b\n"
			 "3: ret");
ASSEMBLED("siblings", "1: dec %edi\n"
		      "jne 1b\n"
		      "2: dec %esi\n"
		      "jne 2b\n"
		      "ret");

TEST(straight_code_has_no_loop)
{
	check_loops("straight", "");
}

TEST(a_block_may_be_a_loop)
{
	check_loops("one_block", "0 in -1: depth 1, blocks 1, instructions 2, latches 1, exits 1,"
				 " innermost\n");
}

TEST(parents_come_before_children)
{
	check_loops("nest", "0 in -1: depth 1, blocks 5, instructions 8, latches 1, exits 1\n"
			    "1 in 0: depth 2, blocks 3, instructions 5, latches 1, exits 1\n"
			    "2 in 1: depth 3, blocks 1, instructions 2, latches 1, exits 1,"
			    " innermost\n");
}

TEST(each_jump_back_is_a_latch)
{
	check_loops("two_latches", "0 in -1: depth 1, blocks 3, instructions 6, latches 2, exits 1,"
				   " innermost\n");
}

TEST(each_edge_that_leaves_is_an_exit)
{
	check_loops("two_exits", "0 in -1: depth 1, blocks 2, instructions 4, latches 1, exits 2,"
				 " innermost\n");
}

TEST(a_loop_of_two_entries_is_irreducible)
{
	check_loops("irreducible", "0 in -1: depth 1, blocks 2, instructions 4, latches 1, exits 2,"
				   " innermost, irreducible\n");
}

TEST(loops_after_each_other_are_siblings)
{
	check_loops("siblings", "0 in -1: depth 1, blocks 1, instructions 2, latches 1, exits 1,"
				" innermost\n"
				"1 in -1: depth 1, blocks 1, instructions 2, latches 1, exits 1,"
				" innermost\n");
}

TEST(an_id_tells_the_function_and_the_header)
{
	struct assembled a = assembled_open("nest");
	char id[200];

	REQUIRE(a.function->loop_count == 3);
	for (uint32_t l = 0; l < 3; l++) {
		const struct sn_loop *loop = &a.function->loops[l];

		snprintf(id, sizeof(id), "%s:%" PRIx64, sn_function_id(a.structure, a.function),
			 loop->header_link_addr - a.function->link_addr);
		CHECK_STRING(loop->id, id);
	}
	assembled_close(&a);
}
