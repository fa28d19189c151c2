#include "experiment/experiment.h"
#include "harness/tap.h"

TEST(equal_stacks_have_one_number)
{
	struct sn_experiment *e = sn_experiment_new("x");
	struct sn_frame frames[40];
	uint32_t first;

	for (uint32_t i = 0; i < 40; i++)
		frames[i] = (struct sn_frame){ i % 3, 0x1000 + i };
	first = sn_experiment_add_stack(e, 0, frames, 40, SN_STACK_COMPLETE);
	for (uint32_t depth = 1; depth < 40; depth++)
		CHECK_INT(sn_experiment_add_stack(e, 0, frames, depth, SN_STACK_COMPLETE), depth);
	for (uint64_t i = 0; i < 5000; i++) {
		struct sn_frame one = { 0, i };

		sn_experiment_add_stack(e, 0, &one, 1, 0);
	}
	CHECK_INT(sn_experiment_add_stack(e, 0, frames, 40, SN_STACK_COMPLETE), first);
	CHECK(sn_experiment_add_stack(e, 1, frames, 40, SN_STACK_COMPLETE) != first);
	CHECK_INT(e->stacks.items[first].depth, 40);
	CHECK_INT(e->stacks.items[first].frames[39].link_addr, 0x1000 + 39);
	sn_experiment_free(e);
}

TEST(samples_are_sorted_by_thread_and_time)
{
	struct sn_experiment *e = sn_experiment_new("x");

	for (int i = 0; i < 100; i++) {
		struct sn_sample s = { .time_ns = (i * 37) % 100, .thread = (uint32_t)i % 3 };

		sn_vec_push(&e->samples, s);
	}
	sn_experiment_sort(e);
	for (size_t i = 1; i < e->samples.count; i++) {
		const struct sn_sample *a = &e->samples.items[i - 1], *b = a + 1;

		REQUIRE(a->thread < b->thread ||
			(a->thread == b->thread && a->time_ns <= b->time_ns));
	}
	sn_experiment_free(e);
}
