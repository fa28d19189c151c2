/* Where heartbeats can be inserted, what forbids it, and what the code calls on which way. */
#include <string.h>

#include "../code/assembled.h"
#include "harness/tap.h"
#include "rewrite/rewrite.h"
#include "wire/plan.h"

ASSEMBLED("one_end", "push %rbx\nmov %edi, %ebx\nlea 4(%rbx), %rax\npop %rbx\nret");
ASSEMBLED("two_ends", "test %edi, %edi\nje 1f\nmov $5, %eax\nret\n1: mov $7, %eax\nret");
ASSEMBLED("goes_over", "test %edi, %edi\nje one_end\nmov %edi, %eax\njmp two_ends");
ASSEMBLED("goes_anywhere", "mov %rdi, %rax\nadd $1, %rsi\njmp *%rax");
ASSEMBLED("follow",
	  "sub $8, %rsp\ncall one_end\ncall two_ends\nadd $8, %rsp\nret\n.fill 8, 1, 0x90");
ASSEMBLED("bottom", "xor %eax, %eax\n1: add $1, %eax\ncmp %edi, %eax\njne 1b\nret");
ASSEMBLED("top",
	  "xor %eax, %eax\n1: cmp %edi, %eax\nje 2f\nadd $1, %eax\nadd %eax, %esi\njmp 1b\n2: ret");
ASSEMBLED("two_exits",
	  "xor %eax, %eax\n1: add $1, %eax\ncmp %esi, %eax\nje 2f\nadd $2, %ecx\ncmp %edi, %eax\n"
	  "jne 1b\nadd $1, %eax\n2: mov %ecx, %eax\nret");
ASSEMBLED("pushes",
	  "xor %eax, %eax\n1: push %rax\nadd $1, %eax\ncmp %edi, %eax\njne 1b\nleave\nret");
ASSEMBLED("aligns",
	  "xor %eax, %eax\n1: and $-32, %rsp\nadd $1, %eax\ncmp %edi, %eax\njne 1b\nleave\nret");
ASSEMBLED("irreducible", "test %edi, %edi\nje 2f\n1: sub $1, %esi\n2: sub $2, %esi\njne 1b\nret");
ASSEMBLED("calls_itself", "test %edi, %edi\nje 1f\ncall 1f\nadd $7, %eax\n1: add $5, %eax\nret");
ASSEMBLED("small", "ret");
ASSEMBLED("behind_small", "ret");
ASSEMBLED("has_entry",
	  "nop\n.globl has_entry_at\nhas_entry_at: mov %edi, %eax\nmov %edi, %ecx\nret");
ASSEMBLED("enters_it", "mov $1, %edx\njmp has_entry_at");

struct made {
	struct assembled a;
	struct sn_text bytes;
	const char *why[2];
	size_t count;
	struct sn_plan plan;
};

/* `what`: 'b' the body, 'l' the first loop, one after the other. */
static struct made make(const char *name, const char *what)
{
	struct made made = { .a = assembled_open(name) };
	struct sn_rewriter *rewriter = sn_rewriter_new(made.a.image, made.a.structure);
	struct sn_inserted_beat beats[2];
	size_t count = strlen(what);

	for (size_t i = 0; i < count; i++) {
		if (what[i] == 'l')
			REQUIRE(made.a.function->loop_count > 0);
		beats[i] =
			(struct sn_inserted_beat){ made.a.function,
						   what[i] == 'l' ? made.a.function->loops : NULL,
						   what[i] == 'l' ? "an iteration" : "a call", 4 };
	}
	made.count = sn_rewriter_beats(rewriter, beats, count, made.why, &made.bytes);
	sn_rewriter_free(rewriter);
	if (made.count)
		REQUIRE(sn_plan_read(made.bytes.chars, made.bytes.length, &made.plan));
	return made;
}

static void drop(struct made *made)
{
	sn_text_free(&made->bytes);
	assembled_close(&made->a);
}

/* Calls of the runtime in the code: "mov edi, INDEX" with a relocation. */
static unsigned calls_of(const struct made *made, uint32_t index)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < made->plan.header->relocation_count; i++)
		count += made->plan.relocations[i].kind == SN_PLAN_INDEX &&
			 made->plan.relocations[i].addend == (int64_t)index;
	return count;
}

static void check_calls(const char *name, const char *what, unsigned first, unsigned second)
{
	struct made made = make(name, what);

	CHECK_STRING(made.why[0] ? made.why[0] : "", "");
	CHECK_STRING(made.why[1] ? made.why[1] : "", "");
	REQUIRE(made.count == strlen(what));
	CHECK_INT(calls_of(&made, 0), first);
	CHECK_INT(calls_of(&made, 1), second);
	CHECK(made.plan.loops[0].counting == SN_PLAN_COUNT_BEATS && made.plan.loops[0].step == 4);
	drop(&made);
}

static void check_refusal(const char *name, const char *what, const char *why)
{
	struct made made = make(name, what);

	CHECK_INT(made.count, 0);
	CHECK_STRING(made.why[0] ? made.why[0] : "", why);
	CHECK(made.bytes.length == 0);
	drop(&made);
}

TEST(a_call_ends_at_each_return)
{
	check_calls("one_end", "b", 2, 0);
	check_calls("two_ends", "b", 3, 0);
}

TEST(and_where_it_goes_over_to_another_function)
{
	check_calls("goes_over", "b", 3, 0);
	check_calls("goes_anywhere", "b", 2, 0);
}

TEST(an_iteration_begins_ends_and_goes_over)
{
	check_calls("bottom", "l", 3, 0); /* begin, next, end */
	check_calls("top", "l", 2, 0);	  /* behind the test, and back to it */
	/* without lines what comes first and may leave is taken for the test */
	check_calls("two_exits", "l", 3, 0);
}

TEST(both_in_one_function)
{
	check_calls("bottom", "bl", 2, 3);
}

TEST(names_are_in_the_plan)
{
	struct made made = make("bottom", "bl");

	REQUIRE(made.count == 2);
	CHECK_STRING((const char *)made.plan.tables + made.plan.loops[0].table, "a call");
	CHECK_STRING((const char *)made.plan.tables + made.plan.loops[1].table, "an iteration");
	CHECK(made.plan.loops[1].header_link_addr == made.a.function->loops->header_link_addr);
	drop(&made);
}

TEST(calls_that_follow_each_other_are_one_way_out)
{
	struct made made = make("follow", "b");

	CHECK_STRING(made.why[0] ? made.why[0] : "", "");
	REQUIRE(made.count == 1);
	/* the entry, and behind the second call, which has two bytes there or five near */
	CHECK(made.plan.header->patch_count >= 2);
	for (uint32_t i = 0; i < made.plan.header->patch_count; i++)
		CHECK(made.plan.patches[i].link_addr != made.a.function->link_addr + 9);
	drop(&made);
}

TEST(a_place_has_one_heartbeat)
{
	struct made made = make("one_end", "bb");

	CHECK_INT(made.count, 1);
	CHECK(!made.why[0]);
	CHECK_STRING(made.why[1] ? made.why[1] : "", "another heartbeat is at the same place");
	drop(&made);
}

TEST(a_beat_must_be_known_again)
{
	check_refusal("pushes", "l", "ways through it leave the stack pointer elsewhere");
	check_refusal("aligns", "l",
		      "it moves the stack pointer by an amount that its code does not tell");
	/* a call's is that of its return address */
	check_calls("aligns", "b", 2, 0);
}

TEST(it_must_not_call_its_own_middle)
{
	check_refusal("calls_itself", "b", "it calls code in its function's middle");
}

TEST(a_loop_with_two_entries_has_none_but_its_function_has)
{
	struct made made = make("irreducible", "bl");

	CHECK_INT(made.count, 1);
	CHECK(!made.why[0]);
	CHECK_STRING(made.why[1] ? made.why[1] : "",
		     "it can be entered elsewhere than at its header");
	drop(&made);
}

TEST(there_must_be_room)
{
	check_refusal("small", "b",
		      "there is no room for the jumps around its calls or at its header");
}

TEST(nobody_else_may_come_into_it)
{
	check_refusal("has_entry", "b", "code of another function jumps into it");
}
