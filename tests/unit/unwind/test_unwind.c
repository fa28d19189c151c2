#include "unwind/unwind.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "harness/tap.h"
#include "unit/unwind/here.h"
#include "unit/unwind/made.h"
#include "unwind/cfi.h"
#include "unwind/module.h"

/* A sanitizer's interceptor of backtrace puts a frame of its own before ours. */
static int without_interceptor(void **truth, int count, uint64_t caller_pc)
{
	if (count < 3 || (uintptr_t)truth[1] == caller_pc || (uintptr_t)truth[2] != caller_pc)
		return count;
	memmove(truth, truth + 1, (size_t)(count - 1) * sizeof(*truth));
	return count - 1;
}

/** Compares a walk from here with glibc's: all frames but the innermost, whose pcs differ. */
static __attribute__((noinline)) int compare_with_backtrace(struct sn_unwind_cache *cache)
{
	struct sn_unwind_walk_result result;
	struct sn_unwind_regs regs;
	static struct here here;
	uint64_t pcs[128];
	void *truth[128];
	int count;

	here_fill(&here);
	sn_unwind_regs_here(&regs);
	sn_unwind_walk(&here.target, &regs, cache, pcs, 128, &result);
	count = backtrace(truth, 128);
	count = without_interceptor(truth, count, pcs[1]);
	CHECK_INT(result.end, SN_UNWIND_COMPLETE);
	CHECK_INT(result.flags, 0);
	CHECK_INT(result.count, count);
	for (int i = 1; i < count && i < (int)result.count; i++)
		CHECK_INT(pcs[i], (uintptr_t)truth[i]);
	return count;
}

static __attribute__((noinline)) int descend(int depth, struct sn_unwind_cache *cache)
{
	if (depth == 0)
		return compare_with_backtrace(cache);
	int count = descend(depth - 1, cache);

	__asm__ volatile("" : "+r"(count)); /* a call, not a loop */
	return count;
}

TEST(walks_this_process_as_glibc_does)
{
	static uint8_t memory[16384] __attribute__((aligned(64)));
	struct sn_unwind_cache *cache = sn_unwind_cache_place(memory, sizeof(memory));

	REQUIRE(cache != NULL);
	descend(40, NULL);
	descend(40, cache);
	descend(40, cache);
	CHECK(sn_unwind_cache_hits(cache) > 40);
}

static int compare_bare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	compare_with_backtrace(NULL);
	return 0;
}

TEST(walks_through_a_callback_of_libc)
{
	int numbers[2] = { 2, 1 };

	qsort(numbers, 2, sizeof(int), compare_bare);
}

static void on_signal(int number)
{
	struct sn_unwind_walk_result result;
	struct sn_unwind_regs regs;
	static struct here here;
	uint64_t pcs[64];
	void *truth[64];
	int count;

	(void)number;
	here_fill(&here);
	sn_unwind_regs_here(&regs);
	sn_unwind_walk(&here.target, &regs, NULL, pcs, 64, &result);
	count = without_interceptor(truth, backtrace(truth, 64), pcs[1] - 1);
	CHECK_INT(result.end, SN_UNWIND_COMPLETE);
	CHECK_INT(result.flags, SN_UNWIND_CROSSED_SIGNAL);
	CHECK_INT(result.count, count);
	/* The trampoline and the interrupted frame, which glibc gives as they are, we one further.
	 */
	CHECK_INT(pcs[1], (uintptr_t)truth[1] + 1);
	CHECK_INT(pcs[2], (uintptr_t)truth[2] + 1);
	for (int i = 3; i < count && i < (int)result.count; i++)
		CHECK_INT(pcs[i], (uintptr_t)truth[i]);
}

TEST(crosses_a_signal_frame)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
}

TEST(finds_every_function_of_this_process_by_its_header)
{
	static struct here here;
	uint64_t functions = 0;

	here_fill(&here);
	for (uint32_t i = 0; i < here.target.module_count; i++) {
		struct sn_unwind_fde_iterator iterator = { .module = &here.modules[i] };
		struct sn_unwind_fde fde, found;

		while (sn_unwind_fde_next(&iterator, &fde)) {
			functions++;
			if (sn_unwind_fde_find(&here.modules[i], fde.start_load_addr, &found) !=
			    SN_UNWIND_FOUND)
				tap_check(false, __FILE__, __LINE__, "found");
			else if (found.fde_load_addr != fde.fde_load_addr)
				tap_check(false, __FILE__, __LINE__, "same");
		}
		CHECK_INT(iterator.corrupt_count, 0);
	}
	CHECK(functions > 3000);
}

/* ---- steps over an image made by hand ---- */

static struct made made;

/** One step from `offset` bytes into a function with this program. */
static enum sn_unwind_end step_over(const uint8_t *program, size_t count, bool is_signal,
				    uint64_t offset, struct sn_unwind_frame *frame)
{
	static uint8_t memory[4096] __attribute__((aligned(64)));
	struct sn_unwind_frame again;
	enum sn_unwind_end end, end_again;

	made_image(&made, is_signal, made_usual, sizeof(made_usual), program, count);
	*frame = again = made_frame(MADE_START + offset);
	end = sn_unwind_step(&made.target, NULL, frame);
	/* A row that was kept says the same as one that was just decoded. */
	memset(memory, 0, sizeof(memory));
	for (int round = 0; round < 2; round++) {
		again = made_frame(MADE_START + offset);
		end_again =
			sn_unwind_step(&made.target, sn_unwind_cache_place(memory, 4096), &again);
		CHECK_INT(end_again, end);
		CHECK(memcmp(&again.regs, &frame->regs, sizeof(again.regs)) == 0);
	}
	return end;
}

#define STEP(offset, frame, ...)                                                                   \
	step_over((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }),      \
		  false, (offset), (frame))

TEST(steps_to_the_caller)
{
	struct sn_unwind_frame frame;

	CHECK_INT(STEP(0, &frame, 0), SN_UNWIND_GOES_ON);
	CHECK_INT(frame.regs.value[SN_UNWIND_RIP], 0x1010);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 136);
	CHECK_INT(frame.regs.value[SN_UNWIND_RBX], 0xa3);
	CHECK(!frame.is_exact);
}

TEST(brings_saved_registers_back)
{
	struct sn_unwind_frame frame;

	/* CFA = rbp + 16; rbx rbp r12 to r15 saved below */
	CHECK_INT(
		STEP(0, &frame, 0x0c, 6, 16, 0x86, 2, 0x83, 3, 0x8c, 4, 0x8d, 5, 0x8e, 6, 0x8f, 7),
		SN_UNWIND_GOES_ON);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 176);
	CHECK_INT(frame.regs.value[SN_UNWIND_RIP], 0x1000 + 21);
	CHECK_INT(frame.regs.value[SN_UNWIND_RBP], 0x1000 + 20);
	CHECK_INT(frame.regs.value[SN_UNWIND_RBX], 0x1000 + 19);
	CHECK_INT(frame.regs.value[SN_UNWIND_R12], 0x1000 + 18);
	CHECK_INT(frame.regs.value[SN_UNWIND_R15], 0x1000 + 15);
}

TEST(realigned_frames_count_from_rbp)
{
	struct sn_unwind_frame frame;

	made.stack[0] = 0;
	/* The CFA is the word at rbp - 8 (here the stack's 19th), rbp is saved at rbp, r12 at rbp
	 * - 16. */
	made_image(&made, false, made_usual, sizeof(made_usual),
		   (const uint8_t[]){ 0x0f, 3, 0x76, 0x78, 6, 0x10, 6, 2, 0x76, 0, 0x10, 12, 2,
				      0x76, 0x70 },
		   15);
	made.stack[19] = MADE_STACK + 240;
	for (int round = 0; round < 3; round++) {
		static uint8_t memory[4096] __attribute__((aligned(64)));
		struct sn_unwind_cache *cache = round ? sn_unwind_cache_place(memory, 4096) : NULL;

		frame = made_frame(MADE_START);
		CHECK_INT(sn_unwind_step(&made.target, cache, &frame), SN_UNWIND_GOES_ON);
		CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 240);
		CHECK_INT(frame.regs.value[SN_UNWIND_RIP], 0x1000 + 29);
		CHECK_INT(frame.regs.value[SN_UNWIND_RBP], 0x1000 + 20);
		CHECK_INT(frame.regs.value[SN_UNWIND_R12], 0x1000 + 18);
	}
}

TEST(entries_of_the_plt_depend_on_the_pc)
{
	/* What linkers write: rsp + 8, and 8 more from the eleventh byte of each entry on. */
	static const uint8_t program[] = { 0x0f, 11,   0x77, 8,	   0x80, 0,   0x3f,
					   0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };
	struct sn_unwind_frame frame;

	for (unsigned offset = 0; offset < 64; offset++) {
		CHECK_INT(step_over(program, sizeof(program), false, offset, &frame),
			  SN_UNWIND_GOES_ON);
		CHECK_INT(frame.regs.value[SN_UNWIND_RSP],
			  MADE_STACK + 136 + (offset % 16 >= 11 ? 8 : 0));
	}
}

TEST(return_addresses_are_looked_up_one_before)
{
	/* From offset 16 on the CFA is 16 away; a return address of 16 still belongs to the call.
	 */
	static const uint8_t program[] = { 0x50, 0x0e, 16 };
	struct sn_unwind_frame frame;

	CHECK_INT(step_over(program, sizeof(program), false, 16, &frame), SN_UNWIND_GOES_ON);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 144);
	frame = made_frame(MADE_START + 16);
	frame.is_exact = false;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_GOES_ON);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 136);
	/* A call that is the very last instruction of a function that never returns. */
	frame = made_frame(MADE_END);
	frame.is_exact = false;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_GOES_ON);
}

TEST(signal_frames_give_an_exact_pc)
{
	/* rip and rsp from memory by expressions, as in __restore_rt: rsp + 168 and rsp + 160. */
	static const uint8_t program[] = { 0x0f, 4,    0x77, 0xa0, 0x01, 0x06, 0x10, 7,	   3,
					   0x77, 0xa0, 1,    0x10, 16,	 3,    0x77, 0xa8, 0x01 };
	struct sn_unwind_frame frame;

	made_image(&made, true, made_usual, sizeof(made_usual), program, sizeof(program));
	made.stack[36] = MADE_STACK + 8; /* the interrupted stack pointer: even further in */
	frame = made_frame(MADE_START);
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_GOES_ON);
	CHECK(frame.is_exact);
	CHECK_INT(frame.flags, SN_UNWIND_CROSSED_SIGNAL);
	CHECK_INT(frame.regs.value[SN_UNWIND_RIP], 0x1000 + 37);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 8);
}

TEST(an_undefined_return_address_ends_the_stack)
{
	struct sn_unwind_frame frame;

	CHECK_INT(STEP(0, &frame, 0x07, 16), SN_UNWIND_COMPLETE);
}

TEST(every_way_to_fail_is_told_apart)
{
	struct sn_unwind_frame frame;

	CHECK_INT(STEP(0, &frame, 0x17), SN_UNWIND_BAD_CFI);
	CHECK_INT(STEP(0, &frame, 0x08, 16), SN_UNWIND_BAD_CFI); /* it would call itself for ever */
	CHECK_INT(STEP(0, &frame, 0x0e, 0), SN_UNWIND_BAD_CFI);	 /* no way outwards */
	CHECK_INT(STEP(0, &frame, 0x0c, 3, 8), SN_UNWIND_STACK_RANGE);
	CHECK_INT(STEP(0, &frame, 0x0c, 7, 0xf0, 0x03), SN_UNWIND_STACK_RANGE);
	CHECK_INT(STEP(0, &frame, 0x0f, 3, 0x73, 0, 6), SN_UNWIND_STACK_RANGE);
	made_image(&made, false, made_usual, sizeof(made_usual), made_usual, 0);
	frame = made_frame(0x700000); /* outside all images */
	frame.regs.value[SN_UNWIND_RBP] = 0;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_NO_RULE);
	frame = made_frame(MADE_END); /* in the image, behind its only function */
	frame.regs.value[SN_UNWIND_RBP] = 0;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_NO_RULE);
	made_image(&made, false, made_usual, sizeof(made_usual), (const uint8_t[]){ 0x0c, 3, 8 },
		   3);
	frame = made_frame(MADE_START);
	frame.regs.valid &= ~(UINT32_C(1) << SN_UNWIND_RBX);
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_UNREADABLE);
}

TEST(a_full_array_is_too_deep)
{
	struct sn_unwind_walk_result result;
	struct sn_unwind_frame frame = made_frame(MADE_START);
	uint64_t pcs[4];

	made_image(&made, false, made_usual, sizeof(made_usual), made_usual, 0);
	for (unsigned i = 0; i < 64; i++)
		made.stack[i] = MADE_START + 5;
	CHECK_INT(sn_unwind_walk(&made.target, &frame.regs, NULL, pcs, 4, &result), 4);
	CHECK_INT(result.end, SN_UNWIND_TOO_DEEP);
	frame = made_frame(MADE_START);
	CHECK_INT(sn_unwind_walk(&made.target, &frame.regs, NULL, pcs, 0, &result), 0);
	CHECK_INT(result.end, SN_UNWIND_TOO_DEEP);
}

TEST(rows_of_an_older_list_of_images_are_not_used)
{
	static uint8_t memory[4096] __attribute__((aligned(64)));
	struct sn_unwind_cache *cache = sn_unwind_cache_place(memory, sizeof(memory));
	struct sn_unwind_frame frame = made_frame(MADE_START);

	made_image(&made, false, made_usual, sizeof(made_usual), (const uint8_t[]){ 0x0e, 16 }, 2);
	sn_unwind_step(&made.target, cache, &frame);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 144);
	made_image(&made, false, made_usual, sizeof(made_usual), (const uint8_t[]){ 0x0e, 24 }, 2);
	made.target.generation = 2;
	frame = made_frame(MADE_START);
	sn_unwind_step(&made.target, cache, &frame);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 152);
}

TEST(other_stacks_are_read_when_given)
{
	uint64_t other[8] = { 0, 0, 0x1234, 0 };
	struct sn_unwind_window stacks[2];
	struct sn_unwind_frame frame = made_frame(MADE_START);

	made_image(&made, false, made_usual, sizeof(made_usual), (const uint8_t[]){ 0x0c, 3, 24 },
		   3);
	stacks[0] = made.stack_window;
	stacks[1] = (struct sn_unwind_window){ 0x900000, 0x900040, (const uint8_t *)other };
	made.target.stacks = stacks;
	frame.regs.value[SN_UNWIND_RBX] = 0x900000;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_STACK_RANGE);
	made.target.stack_count = 2;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_GOES_ON);
	CHECK_INT(frame.regs.value[SN_UNWIND_RIP], 0x1234);
	CHECK_INT(frame.flags, SN_UNWIND_SWITCHED_STACK);
}

/* ---- code without rules ---- */

/** A call to `callee` ends at MADE_START + 0x80; that address is on the stack at word 16 + `word`.
 */
static struct sn_unwind_frame frame_without_rules(uint64_t pc, unsigned word, uint64_t callee)
{
	int32_t distance = (int32_t)(callee - (MADE_START + 0x80));
	struct sn_unwind_frame frame = made_frame(pc);

	made_image(&made, false, made_usual, sizeof(made_usual), made_usual, 0);
	made.module.eh_frame_hdr.end = made.module.eh_frame_hdr.start;
	made.text[0x7b] = 0xe8;
	memcpy(made.text + 0x7c, &distance, 4);
	made.stack[16 + word] = MADE_START + 0x80;
	return frame;
}

TEST(frame_pointers_lead_out_of_code_without_rules)
{
	struct sn_unwind_frame frame = frame_without_rules(0x700000, 5, MADE_START);

	made.stack[20] = MADE_STACK + 200;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_GOES_ON);
	CHECK_INT(frame.regs.value[SN_UNWIND_RIP], MADE_START + 0x80);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 176);
	CHECK_INT(frame.regs.value[SN_UNWIND_RBP], MADE_STACK + 200);
	CHECK_INT(frame.flags, SN_UNWIND_BY_FRAME_POINTER);
}

TEST(a_zero_frame_pointer_marks_the_deepest_frame)
{
	/* rbp leads to a zero and to an address that follows no call: whoever made the stack put
	 * both there */
	struct sn_unwind_frame frame = frame_without_rules(0x700000, 0, MADE_START);

	made.stack[16] = 5;
	made.stack[20] = 0;
	made.stack[21] = MADE_START + 0x21;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_COMPLETE);
	made.stack[21] = 0x21; /* what is no address of code is no caller that was planted */
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_NO_RULE);
	made.stack[20] = MADE_STACK + 200; /* and a chain that goes on was broken */
	made.stack[21] = MADE_START + 0x21;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_NO_RULE);
}

TEST(a_frame_reached_by_frame_pointers_whose_own_is_zero_is_the_first)
{
	struct sn_unwind_frame frame = frame_without_rules(0x700000, 5, MADE_START);

	made.stack[20] = 0;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_GOES_ON);
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_COMPLETE);
	frame = frame_without_rules(0x700000, 5, MADE_START);
	frame.regs.value[SN_UNWIND_RBP] = 0; /* not where the register may be any */
	made.stack[16] = 5;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_NO_RULE);
}

TEST(a_leaf_called_directly_returns_to_the_top_of_the_stack)
{
	struct sn_unwind_frame frame = frame_without_rules(MADE_START + 0x10, 0, MADE_START);

	made.stack[21] = MADE_START + 0x80; /* the frame pointer's caller is one too far */
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_GOES_ON);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 136);
	CHECK_INT(frame.flags, SN_UNWIND_BY_RETURN_GUESS);
}

TEST(before_the_frame_pointer_is_set_the_top_of_the_stack_returns)
{
	struct sn_unwind_frame frame = frame_without_rules(MADE_START + 0x20, 1, 0x500000);

	memcpy(made.text + 0x1f, "\x55\x48\x89\xe5", 4); /* pushed, not yet moved */
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_GOES_ON);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 144);
	frame = frame_without_rules(MADE_START + 0x20, 0, 0x500000);
	made.text[0x20] = 0xc3;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_GOES_ON);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], MADE_STACK + 136);
}

TEST(what_follows_no_call_is_no_return_address)
{
	struct sn_unwind_frame frame = frame_without_rules(MADE_START + 0x10, 0, MADE_START);

	made.text[0x7b] = 0x90;
	frame.regs.value[SN_UNWIND_RBP] = 0;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_NO_RULE);
}

TEST(the_entry_point_ends_the_stack)
{
	struct sn_unwind_frame frame = frame_without_rules(MADE_START + 0x10, 0, MADE_START);

	made.module.entry_load_addr = MADE_START;
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_COMPLETE);
}

TEST(signal_trampolines_are_known_by_their_bytes)
{
	struct sn_unwind_frame frame = frame_without_rules(MADE_START + 0x10, 0, MADE_START);

	memcpy(made.text + 0x10, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
	CHECK_INT(sn_unwind_step(&made.target, NULL, &frame), SN_UNWIND_GOES_ON);
	/* gregs begin 40 bytes above rsp; rip is the 17th of them, rsp the 16th, rbx the 12th. */
	CHECK_INT(frame.regs.value[SN_UNWIND_RIP], 0x1000 + 16 + 5 + 16);
	CHECK_INT(frame.regs.value[SN_UNWIND_RSP], 0x1000 + 16 + 5 + 15);
	CHECK_INT(frame.regs.value[SN_UNWIND_RBX], 0x1000 + 16 + 5 + 11);
	CHECK(frame.is_exact);
}
