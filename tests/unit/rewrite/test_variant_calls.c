/* Variants of loops that call functions: which can be made, and that they hold neither the call nor what only follows it. */
#include "rewrite/rewrite.h"

#include "../code/assembled.h"
#include "wire/plan.h"

#include <string.h>

ASSEMBLED("is_called", "nop\nret");
ASSEMBLED("in_each", "push %rbx\n"
		     "mov %edi, %ebx\n"
		     "1: mulsd (%rsi), %xmm0\n"
		     "call is_called\n"
		     "lea 4(%rbx), %rbx\n"
		     "sub $5, %rbx\n"
		     "jne 1b\n"
		     "pop %rbx\n"
		     "ret");
/* one of two ways calls, and both meet behind */
#define RARE(before, behind)                                                                       \
	"push %rbx\n"                                                                              \
	"push %rbp\n"                                                                              \
	"mov %rdi, %rbx\n"                                                                         \
	"mov %rsi, %rbp\n"                                                                         \
	"1: mulsd (%rbp), %xmm0\n"                                                                 \
	"test $1023, %ebx\n"                                                                       \
	"jne 2f\n" before "call is_called\n" behind "2: add $8, %rbp\n"                            \
	"sub $1, %rbx\n"                                                                           \
	"jne 1b\n"                                                                                 \
	"pop %rbp\n"                                                                               \
	"pop %rbx\n"                                                                               \
	"ret"
ASSEMBLED("on_one_way", RARE("mov %rbx, %rdi\n", "mov $0x5eed, %eax\n"));
/* what no variant may have stands behind the call alone */
ASSEMBLED("atomic_behind", RARE("mov %rbx, %rdi\n", "lock incl (%rdi)\nmovaps %xmm0, %xmm1\n"));
ASSEMBLED("atomic_before", RARE("lock incl (%rdi)\n", "movaps %xmm0, %xmm1\n"));
ASSEMBLED("with_pushes", RARE("push %rdi\npush %rsi\n", "add $16, %rsp\nmovaps %xmm0, %xmm1\n"));
/* what decides next is stored right before the call, and nowhere else */
ASSEMBLED("stores_before", RARE("movl $3, (%rbp)\n", "movaps %xmm0, %xmm1\n"));
/* a loop in it calls each time, but it may have no iteration */
ASSEMBLED("in_a_loop_in_it", "push %rbx\n"
			     "push %rbp\n"
			     "mov %rdi, %rbx\n"
			     "1: mulsd (%rsi), %xmm0\n"
			     "mov %rbx, %rbp\n"
			     "and $3, %rbp\n"
			     "je 3f\n"
			     "2: movaps %xmm0, %xmm1\n"
			     "call is_called\n"
			     "movaps %xmm0, %xmm1\n"
			     "sub $1, %rbp\n"
			     "jne 2b\n"
			     "3: sub $1, %rbx\n"
			     "jne 1b\n"
			     "pop %rbp\n"
			     "pop %rbx\n"
			     "ret");

/* rbx and rbp move by another step on the way without a call */
ASSEMBLED("steps_on_two_ways", "push %rbx\n"
			       "push %rbp\n"
			       "mov %rdi, %rbx\n"
			       "mov %rsi, %rbp\n"
			       "1: mulsd (%rbp), %xmm0\n"
			       "test $1023, %ebx\n"
			       "jne 2f\n"
			       "call is_called\n"
			       "mov %rbp, %rdi\n"
			       "jmp 3f\n"
			       "2: test $1, %ebx\n"
			       "je 3f\n"
			       "add $8, %rbp\n"
			       "sub $1, %rbx\n"
			       "3: sub $1, %rbx\n"
			       "add $8, %rbp\n"
			       "test %rbx, %rbx\n"
			       "jg 1b\n"
			       "pop %rbp\n"
			       "pop %rbx\n"
			       "ret");
ASSEMBLED("without_a_call", "1: mulsd (%rsi), %xmm0\n"
			    "sub $1, %rdi\n"
			    "jne 1b\n"
			    "ret");

static void judge(const char *name, uint32_t loop, const char **why)
{
	struct assembled a = assembled_open(name);

	REQUIRE(a.function->loop_count > loop);
	sn_loop_variants_judge(a.structure, &a.function->loops[loop], why);
	assembled_close(&a);
}

static void check_all(const char *name, uint32_t loop, const char *want)
{
	const char *why[SN_VARIANTS];

	judge(name, loop, why);
	for (int v = 0; v < SN_VARIANTS; v++)
		CHECK_STRING(why[v] ? why[v] : "", want);
}

static void check_has(const char *name, uint32_t loop)
{
	const char *why[SN_VARIANTS];

	judge(name, loop, why);
	CHECK(!why[SN_VARIANT_ORIG] && !why[SN_VARIANT_LS] && !why[SN_VARIANT_FP] &&
	      !why[SN_VARIANT_DL1] && !why[SN_VARIANT_FES]);
}

TEST(a_loop_that_calls_in_each_iteration_has_no_variants)
{
	check_all("in_each", 0, "it calls functions in each iteration");
}

TEST(a_loop_that_calls_on_one_way_has_variants)
{
	check_has("on_one_way", 0);
}

TEST(what_stands_behind_the_call_forbids_nothing)
{
	check_has("atomic_behind", 0);
	check_all("atomic_before", 0, "it has atomic operations");
}

TEST(arguments_on_the_stack_are_part_of_the_call)
{
	check_has("with_pushes", 0);
}

TEST(nothing_is_decided_between_a_store_before_the_call_and_the_call)
{
	check_has("stores_before", 0);
}

TEST(a_loop_in_it_that_calls_may_have_no_iteration)
{
	check_has("in_a_loop_in_it", 0);
	check_all("in_a_loop_in_it", 1, "it calls functions in each iteration");
}

/* The plan of a function's outermost loop with all variants; the caller frees the bytes. */
static struct sn_plan plan_of(const char *name, struct sn_text *bytes)
{
	struct assembled a = assembled_open(name);
	struct sn_rewriter *rewriter = sn_rewriter_new(a.image, a.structure);
	const struct sn_loop *loop = &a.function->loops[0];
	uint32_t all = (1u << SN_VARIANTS) - 1;
	struct sn_plan plan;

	CHECK_INT(sn_rewriter_plan(rewriter, &loop, 1, all, NULL, bytes), 1);
	REQUIRE(sn_plan_read(bytes->chars, bytes->length, &plan));
	sn_rewriter_free(rewriter);
	assembled_close(&a);
	return plan;
}

static uint64_t address_of(const char *name, const uint8_t *bytes, size_t length)
{
	struct assembled a = assembled_open(name);
	uint64_t found = 0;

	for (uint64_t at = a.function->link_addr;
	     at + length <= a.function->link_addr + a.function->size_bytes && !found; at++) {
		size_t available;

		if (!memcmp(sn_structure_bytes(a.structure, at, &available), bytes, length))
			found = at;
	}
	REQUIRE(found);
	assembled_close(&a);
	return found;
}

/* Copies of the instruction; `in_place`: in variants that run in the loop's place. */
static unsigned copies_of(const struct sn_plan *plan, uint64_t link_addr, const uint8_t *bytes,
			  size_t length, bool in_place)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < plan->header->map_count; i++) {
		const struct sn_plan_map *map = &plan->map[i];

		found += map->link_addr == link_addr &&
			 !(map->flags & SN_PLAN_MAP_VARIANT) == !in_place &&
			 !memcmp(plan->code + map->offset, bytes, length);
	}
	return found;
}

TEST(no_variant_has_the_call_or_what_is_behind_it)
{
	static const uint8_t header[] = { 0xf2, 0x0f, 0x59, 0x45, 0x00 }; /* mulsd (%rbp), %xmm0 */
	static const uint8_t behind[] = { 0xb8, 0xed, 0x5e, 0x00, 0x00 }; /* mov $0x5eed, %eax */
	struct sn_text bytes = { 0 };
	struct sn_plan plan = plan_of("on_one_way", &bytes);
	uint64_t at = address_of("on_one_way", header, sizeof(header));
	uint64_t last = address_of("on_one_way", behind, sizeof(behind));
	unsigned jumps = 0;

	/* the copy that counts, ORIG, PF's distances */
	CHECK_INT(copies_of(&plan, at, header, sizeof(header), false), 2 + SN_VARIANT_DISTANCES);
	CHECK_INT(copies_of(&plan, last, behind, sizeof(behind), false), 1);
	CHECK_INT(copies_of(&plan, last, behind, sizeof(behind), true), 0);
	for (uint32_t i = 0; i < plan.header->relocation_count; i++) {
		const struct sn_plan_relocation *relocation = &plan.relocations[i];
		const struct sn_plan_map *map = sn_plan_find(&plan, relocation->offset);
		/* a jump's field is of the 4 bytes in front of what follows; the call has 5 bytes */
		bool is_to_call = relocation->kind == SN_PLAN_PC &&
				  relocation->addend + 4 == (int64_t)last - 5;

		jumps += is_to_call;
		CHECK(!is_to_call || !(map->flags & SN_PLAN_MAP_VARIANT));
	}
	CHECK_INT(jumps, 2 + SN_VARIANT_DISTANCES);
	sn_text_free(&bytes);
}

static bool counts_arrivals(const struct sn_plan *plan)
{
	for (uint32_t i = 0; i < plan->header->relocation_count; i++)
		if (plan->relocations[i].kind == SN_PLAN_THREAD &&
		    plan->relocations[i].addend == SN_PLAN_WORD_ARRIVALS)
			return true;
	return false;
}

static void check_clean_step(const char *name, int64_t step, bool counts)
{
	struct sn_text bytes = { 0 };
	struct sn_plan plan = plan_of(name, &bytes);

	CHECK_INT(plan.loops[0].clean_step, step);
	CHECK(counts_arrivals(&plan) == counts);
	sn_text_free(&bytes);
}

TEST(a_register_tells_the_iterations_of_orig_until_it_calls)
{
	check_clean_step("on_one_way", -1, false);
	check_clean_step("in_a_loop_in_it", 0, true);
	check_clean_step("steps_on_two_ways", 0, true);
	/* the copy that counts has one itself */
	check_clean_step("without_a_call", 0, false);
}

TEST(no_variant_lays_arguments_on_the_stack)
{
	static const uint8_t push[] = { 0x57, 0x56 }; /* push %rdi, %rsi */
	struct sn_text bytes = { 0 };
	struct sn_plan plan = plan_of("with_pushes", &bytes);
	uint64_t at = address_of("with_pushes", push, sizeof(push));

	CHECK_INT(copies_of(&plan, at, push, 1, true), 0);
	CHECK_INT(copies_of(&plan, at, push, 1, false), 2 + SN_VARIANT_DISTANCES);
	sn_text_free(&bytes);
}
