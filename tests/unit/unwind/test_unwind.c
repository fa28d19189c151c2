#include "unwind/unwind.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include "harness/tap.h"
#include "unit/unwind/here.h"
#include "unwind/cfi.h"
#include "unwind/module.h"

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
	count = backtrace(truth, 64);
	CHECK_INT(result.end, SN_UNWIND_COMPLETE);
	CHECK_INT(result.flags, SN_UNWIND_CROSSED_SIGNAL);
	CHECK_INT(result.count, count);
	/* From the interrupted frame on, which glibc counts as exact and we as one further. */
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
