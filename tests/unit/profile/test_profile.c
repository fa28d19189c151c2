#include "profile/profile.h"

#include <string.h>

#include "base/stats.h"
#include "harness/tap.h"
#include "profile/calls.h"
#include "profile/fixture.h"
#include "profile/tree.h"

static uint64_t exclusive_ms(const struct fixture *f, const char *name)
{
	return f->profile->functions[fixture_function(f, name)].exclusive.cpu_ns / 1000000;
}

static uint64_t inclusive_ms(const struct fixture *f, const char *name)
{
	return f->profile->functions[fixture_function(f, name)].inclusive.cpu_ns / 1000000;
}

TEST(exclusive_and_inclusive_of_plain_calls)
{
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, APP, LEAF, APP, MAIN), 300, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN), 100, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 3, LIBM, SIN, APP, LEAF, APP, MAIN), 200, 1000);
	fixture_profile(&f, NULL);
	CHECK_INT(exclusive_ms(&f, "leaf"), 300);
	CHECK_INT(inclusive_ms(&f, "leaf"), 500);
	CHECK_INT(exclusive_ms(&f, "main"), 100);
	CHECK_INT(inclusive_ms(&f, "main"), 600);
	CHECK_INT(exclusive_ms(&f, "sin"), 200);
	CHECK_INT(f.profile->total.cpu_ns, 600000000);
	CHECK_INT(f.profile->total.samples, 600);
	CHECK_INT(f.profile->categories[SN_CATEGORY_MATHS].exclusive.cpu_ns, 200000000);
	CHECK_INT(f.profile->modules[LIBM].exclusive.cpu_ns, 200000000);
	CHECK_INT(f.profile->modules[APP].inclusive.cpu_ns, 600000000);
	fixture_end(&f);
}

TEST(recursion_is_counted_once)
{
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0,
			fixture_stack(&f, 0, 5, LIBM, SIN, APP, FIB, APP, FIB, APP, FIB, APP, MAIN),
			50, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 3, APP, FIB, APP, FIB, APP, MAIN), 20, 1000);
	fixture_profile(&f, NULL);
	CHECK_INT(inclusive_ms(&f, "fib"), 70);
	CHECK_INT(exclusive_ms(&f, "fib"), 20);
	fixture_end(&f);
}

TEST(attributed_times_sum_under_recursion)
{
	struct sn_calls calls;
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0,
			fixture_stack(&f, 0, 5, LIBM, SIN, APP, FIB, APP, FIB, APP, FIB, APP, MAIN),
			50, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 3, APP, FIB, APP, FIB, APP, LEAF), 20, 1000);
	fixture_profile(&f, NULL);
	sn_calls_find(f.profile, fixture_function(&f, "fib"), SN_TIME_CPU, &calls);
	CHECK_INT(calls.callers.count, 2);
	CHECK_INT(calls.callers.items[0].function, fixture_function(&f, "main"));
	CHECK_INT(calls.callers.items[0].attributed.cpu_ns, 50000000);
	CHECK_INT(f.program->lines.items[calls.callers.items[0].line].line, 9);
	CHECK_INT(calls.callers.items[1].attributed.cpu_ns, 20000000);
	CHECK_INT(calls.callees.count, 1);
	CHECK_INT(calls.callees.items[0].function, fixture_function(&f, "sin"));
	CHECK_INT(calls.callees.items[0].attributed.cpu_ns, 50000000);
	sn_calls_free(&calls);
	fixture_end(&f);
}

TEST(an_inlined_function_is_one_with_its_own_body)
{
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_KERNEL), 30, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_KERNEL_LOOP), 40, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, APP, KERNEL, APP, FIB), 5, 1000);
	fixture_profile(&f, NULL);
	CHECK_INT(exclusive_ms(&f, "kernel"), 75);
	CHECK_INT(inclusive_ms(&f, "kernel"), 75);
	CHECK_INT(exclusive_ms(&f, "main"), 0);
	CHECK_INT(inclusive_ms(&f, "main"), 70);
	CHECK_INT(f.program->functions.items[fixture_function(&f, "kernel")].link_addr, 0x1800);
	CHECK_STRING(f.program->functions.items[fixture_function(&f, "kernel")].file,
		     "/src/kernel.h");
	fixture_end(&f);
}

TEST(loops_by_leaf_address_and_by_path)
{
	const struct sn_metrics *outer, *inner, *kernel;
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_OUTER), 10, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_INNER), 20, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_KERNEL), 40, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_KERNEL_LOOP), 80, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, LIBM, SIN, APP, MAIN_INNER), 160, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN), 320, 1000);
	fixture_profile(&f, NULL);
	outer = &f.profile->loops[fixture_loop(&f, "app.c:10-20")];
	inner = &f.profile->loops[fixture_loop(&f, "app.c:12-15")];
	kernel = &f.profile->loops[fixture_loop(&f, "kernel.h:3-5")];
	CHECK_INT(outer->exclusive.cpu_ns, 10000000);
	CHECK_INT(outer->inclusive.cpu_ns, 310000000);
	CHECK_INT(inner->exclusive.cpu_ns, 60000000); /* inlined code included */
	CHECK_INT(inner->inclusive.cpu_ns, 300000000);
	CHECK_INT(kernel->exclusive.cpu_ns, 80000000);
	CHECK_INT(f.profile->loops_ns, 150000000);
	CHECK_INT(f.profile->innermost_loops_ns, 80000000);
	/* the loop of the inlined function belongs to that function */
	CHECK_INT(f.program->loops.items[fixture_loop(&f, "kernel.h:3-5")].function,
		  fixture_function(&f, "kernel"));
	CHECK_INT(f.program->loops.items[fixture_loop(&f, "kernel.h:3-5")].parent,
		  fixture_loop(&f, "app.c:12-15"));
	fixture_end(&f);
}

TEST(peel_main_and_tail_are_one_source_loop)
{
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, LEAF_MAIN_LOOP), 10, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, LEAF_TAIL_LOOP), 20, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_KERNEL_LOOP), 20, 1000);
	fixture_profile(&f, NULL);
	CHECK_INT(f.program->loops.items[fixture_loop(&f, "leaf.c:5-9")].source_loop,
		  f.program->loops.items[fixture_loop(&f, "leaf.c:6-8")].source_loop);
	CHECK(f.program->loops.items[fixture_loop(&f, "leaf.c:5-9")].source_loop !=
	      f.program->loops.items[fixture_loop(&f, "kernel.h:3-5")].source_loop);
	fixture_end(&f);
}

TEST(spinning_is_no_hot_loop)
{
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, LIBGOMP, BARRIER_SPIN, APP, LEAF), 90, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, LEAF_MAIN_LOOP), 10, 1000);
	fixture_profile(&f, NULL);
	CHECK_INT(f.profile->loops_ns, 10000000);
	CHECK_INT(f.profile->spin_ns[SN_CATEGORY_OPENMP], 90000000);
	CHECK_INT(f.profile->categories[SN_CATEGORY_OPENMP].exclusive.cpu_ns, 90000000);
	CHECK(f.profile->is_runtime_loop[fixture_loop(&f, "GOMP_barrier+0x10")]);
	fixture_end(&f);
}

TEST(kernel_time_goes_to_io_or_to_system)
{
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, LIBC, WRITE, APP, MAIN), 10, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, LEAF), 10, 1000);
	for (size_t i = 0; i < 20; i += 2)
		f.experiment->samples.items[i].flags |= SN_SAMPLE_SYSTEM;
	fixture_profile(&f, NULL);
	CHECK_INT(f.profile->total.system_ns, 10000000);
	CHECK_INT(f.profile->categories[SN_CATEGORY_IO].exclusive.cpu_ns, 10000000);
	CHECK_INT(f.profile->categories[SN_CATEGORY_OS].exclusive.cpu_ns, 5000000);
	CHECK_INT(f.profile->categories[SN_CATEGORY_PROGRAM].exclusive.cpu_ns, 5000000);
	fixture_end(&f);
}

static void push_remainder(struct fixture *f, uint32_t thread, uint64_t cpu_ns, uint16_t flags)
{
	struct sn_sample sample = { .time_ns = 9000000000,
				    .cpu_ns = cpu_ns,
				    .thread = thread,
				    .stack = SN_NONE,
				    .flags = flags | SN_SAMPLE_REMAINDER };

	sn_vec_push(&f->experiment->samples, sample);
}

TEST(what_is_left_at_exit_goes_where_the_thread_was_seen)
{
	struct fixture f;

	fixture_begin(&f);
	fixture_add_thread(&f, 0, 101, "short");
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, LEAF), 3, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, FIB), 1, 1000);
	push_remainder(&f, 0, 800000, 0);
	push_remainder(&f, 0, 5000, SN_SAMPLE_SYSTEM); /* the kernel's own: at no function */
	push_remainder(&f, 1, 70000, 0);	       /* never seen: time without a stack */
	fixture_profile(&f, NULL);
	CHECK_INT(f.profile->functions[fixture_function(&f, "leaf")].exclusive.cpu_ns, 3600000);
	CHECK_INT(f.profile->functions[fixture_function(&f, "fib")].exclusive.cpu_ns, 1200000);
	CHECK_INT(f.profile->functions[fixture_function(&f, "[no stack]")].exclusive.cpu_ns, 75000);
	CHECK_INT(f.profile->total.cpu_ns, 4875000);
	CHECK_INT(f.profile->total.samples, 4);
	CHECK_INT(f.profile->threads[1].cpu_ns, 70000);
	fixture_end(&f);
}

TEST(filters_by_time_thread_process_module_and_function)
{
	uint32_t other_process, leaf, sin;
	struct sn_filter filter = { 0 };
	struct fixture f;
	int32_t tid = 201;

	fixture_begin(&f);
	other_process = fixture_add_process(&f, 200);
	fixture_add_thread(&f, other_process, 201, "worker");
	leaf = fixture_stack(&f, 0, 2, APP, LEAF, APP, MAIN);
	sin = fixture_stack(&f, 1, 3, LIBM, SIN, APP, LEAF, APP, MAIN);
	fixture_samples(&f, 0, leaf, 100, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, FIB), 50, 1000);
	fixture_samples(&f, 1, sin, 7, 1000);

	filter.from_ns = 50000000;
	filter.to_ns = 120000000;
	fixture_profile(&f, &filter);
	CHECK_INT(exclusive_ms(&f, "leaf"), 51); /* [50, 120) ms: stamps 50 to 100 */
	CHECK_INT(exclusive_ms(&f, "fib"), 19);
	CHECK_INT(f.profile->total.cpu_ns, 70000000);

	filter = (struct sn_filter){ .processes = &other_process, .process_count = 1 };
	fixture_profile(&f, &filter);
	CHECK_INT(f.profile->total.cpu_ns, 7000000);
	filter = (struct sn_filter){ .tids = &tid, .tid_count = 1 };
	fixture_profile(&f, &filter);
	CHECK_INT(f.profile->total.cpu_ns, 7000000);
	filter = (struct sn_filter){ .module = "libm" };
	fixture_profile(&f, &filter);
	CHECK_INT(f.profile->total.cpu_ns, 7000000);
	filter = (struct sn_filter){ .function = "leaf" };
	fixture_profile(&f, &filter);
	CHECK_INT(f.profile->total.cpu_ns, 107000000);
	filter = (struct sn_filter){ .function = "^f[ij]b$" };
	fixture_profile(&f, &filter);
	CHECK_INT(f.profile->total.cpu_ns, 50000000);
	fixture_end(&f);
}

TEST(a_filter_that_names_nothing_is_refused)
{
	struct sn_filter filter = { .function = "nowhere" };
	struct sn_profile *profile;
	struct sn_error err;
	struct fixture f;
	uint32_t nine = 9;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN), 1, 1000);
	fixture_profile(&f, NULL);
	CHECK_INT(sn_profile_new(f.program, &filter, &profile, &err), SN_ERR_NOT_FOUND);
	filter.function = "a(";
	CHECK_INT(sn_profile_new(f.program, &filter, &profile, &err), SN_ERR_USAGE);
	filter = (struct sn_filter){ .processes = &nine, .process_count = 1 };
	CHECK_INT(sn_profile_new(f.program, &filter, &profile, &err), SN_ERR_NOT_FOUND);
	fixture_end(&f);
}

TEST(top_down_tree)
{
	struct sn_tree_options options = { .kind = SN_TREE_CALLEES };
	const struct sn_tree_node *n;
	struct sn_tree *tree;
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, LIBM, SIN, APP, MAIN_KERNEL_LOOP), 30, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN), 10, 1000);
	fixture_profile(&f, NULL);
	tree = sn_tree_new(f.profile, &options);
	/* main > app.c:10-20 > app.c:12-15 > kernel > kernel.h:3-5 > sin */
	REQUIRE(tree->nodes.count == 7);
	n = &tree->nodes.items[tree->nodes.items[0].first_child];
	CHECK_INT(n->index, fixture_function(&f, "main"));
	CHECK_INT(n->exclusive.cpu_ns, 10000000);
	CHECK_INT(n->inclusive.cpu_ns, 40000000);
	n = &tree->nodes.items[n->first_child];
	CHECK_INT(n->kind, SN_STEP_LOOP);
	CHECK_INT(n->index, fixture_loop(&f, "app.c:10-20"));
	n = &tree->nodes.items[n->first_child];
	CHECK_INT(n->index, fixture_loop(&f, "app.c:12-15"));
	n = &tree->nodes.items[n->first_child];
	CHECK_INT(n->index, fixture_function(&f, "kernel"));
	n = &tree->nodes.items[n->first_child];
	CHECK_INT(n->index, fixture_loop(&f, "kernel.h:3-5"));
	n = &tree->nodes.items[n->first_child];
	CHECK_INT(n->index, fixture_function(&f, "sin"));
	CHECK_INT(n->inclusive.cpu_ns, 30000000);
	CHECK_INT(n->depth, 6);
	sn_tree_free(tree);
	fixture_end(&f);
}

TEST(bottom_up_tree)
{
	struct sn_tree_options options = { .kind = SN_TREE_CALLERS };
	const struct sn_tree_node *n;
	struct sn_tree *tree;
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 3, LIBM, SIN, APP, LEAF, APP, MAIN), 30, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, LIBM, SIN, APP, MAIN), 10, 1000);
	fixture_profile(&f, NULL);
	tree = sn_tree_new(f.profile, &options);
	n = &tree->nodes.items[tree->nodes.items[0].first_child];
	CHECK_INT(n->index, fixture_function(&f, "sin"));
	CHECK_INT(n->inclusive.cpu_ns, 40000000);
	n = &tree->nodes.items[n->first_child];
	CHECK_INT(n->index, fixture_function(&f, "leaf")); /* the larger first */
	CHECK_INT(n->inclusive.cpu_ns, 30000000);
	CHECK_INT(tree->nodes.items[n->next_sibling].inclusive.cpu_ns, 10000000);
	sn_tree_free(tree);
	fixture_end(&f);
}

TEST(calls_from_two_lines_can_be_kept_apart)
{
	struct sn_tree_options options = { .kind = SN_TREE_CALLEES, .without_loops = true };
	struct sn_tree *tree;
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, LIBM, SIN, APP, MAIN_OUTER), 30, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, LIBM, SIN, APP, MAIN_INNER), 30, 1000);
	fixture_profile(&f, NULL);
	tree = sn_tree_new(f.profile, &options);
	CHECK_INT(tree->nodes.count, 3);
	sn_tree_free(tree);
	options.by_call_line = true;
	tree = sn_tree_new(f.profile, &options);
	CHECK_INT(tree->nodes.count, 4);
	sn_tree_free(tree);
	fixture_end(&f);
}

TEST(waits_count_in_wall_time_only)
{
	const struct sn_metrics *main_metrics;
	struct fixture f;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN), 10, 1000);
	fixture_wait(&f, 0, fixture_stack(&f, 0, 2, LIBC, WRITE, APP, MAIN), 10000, 90000,
		     SN_WAIT_IO);
	fixture_profile(&f, NULL);
	main_metrics = &f.profile->functions[fixture_function(&f, "main")];
	CHECK_INT(sn_weight_time(&main_metrics->inclusive, SN_TIME_CPU), 10000000);
	CHECK_INT(sn_weight_time(&main_metrics->inclusive, SN_TIME_WALL), 100000000);
	CHECK_INT(f.profile->total.waits, 1);
	fixture_profile(&f, &(struct sn_filter){ .from_ns = 50000000, .to_ns = 60000000 });
	CHECK_INT(f.profile->total.wait_ns, 10000000);
	fixture_end(&f);
}

/* 10 s elapsed: 4 s of CPU time, all of it in a read of 4 s; 5 s of sleep, 1 s waiting for a CPU.
 */
TEST(waits_are_no_longer_than_the_thread_was_blocked)
{
	uint32_t read, sleep;
	struct fixture f;

	fixture_begin(&f);
	read = fixture_stack(&f, 0, 2, LIBC, WRITE, APP, MAIN);
	sleep = fixture_stack(&f, 0, 2, LIBC, WRITE, APP, MAIN_OUTER);
	fixture_samples(&f, 0, read, 4000, 1000);
	fixture_wait(&f, 0, read, 0, 4000000, SN_WAIT_IO);
	fixture_wait(&f, 0, sleep, 4000000, 5000000, SN_WAIT_SLEEP);
	f.experiment->threads.items[0].account =
		(struct sn_time_account){ 10000000000, 4000000000, 0, 1000000000, 5000000000 };
	fixture_profile(&f, NULL);
	CHECK(f.profile->stacks[read].wait_ns < 1000000);
	CHECK(f.profile->threads[0].wait_ns <= 5000000000);
	CHECK(f.profile->threads[0].wait_ns > 4999999000);
	/* half of the CPU time was seen: the call waited for a CPU as well, the sleep did not */
	for (size_t i = 2000; i < f.experiment->samples.count; i++)
		f.experiment->samples.items[i].cpu_ns = 0;
	fixture_profile(&f, NULL);
	CHECK(f.profile->stacks[read].wait_ns < 1000000);
	CHECK(f.profile->stacks[sleep].wait_ns > 4999000000);
	/* more than samples explain: the rest is taken from all in proportion */
	f.experiment->threads.items[0].account.blocked_ns = 2000000000;
	fixture_profile(&f, NULL);
	CHECK(f.profile->threads[0].wait_ns <= 2000000000);
	CHECK(f.profile->threads[0].wait_ns > 1999999000);
	/* what waiting for a CPU took is not known: what is left of elapsed time is the bound */
	f.experiment->threads.items[0].account.blocked_ns = -1;
	fixture_profile(&f, NULL);
	CHECK(f.profile->threads[0].wait_ns <= 6000000000);
	CHECK(f.profile->threads[0].wait_ns > 5999999000);
	/* no account at all: as traced */
	f.experiment->threads.items[0].account.elapsed_ns = -1;
	fixture_profile(&f, NULL);
	CHECK_INT(f.profile->threads[0].wait_ns, 9000000000);
	fixture_end(&f);
}

/* A busy machine: each of ten reads uses 10 ms of its CPU and waits, the last for 5 s. A sample that
 * came late lies in the begin of the sleep. */
TEST(a_sleep_keeps_its_length_however_long_the_thread_waited_for_a_cpu)
{
	struct fixture f;
	uint32_t read, sleep;
	int64_t at_us = 0;

	fixture_begin(&f);
	read = fixture_stack(&f, 0, 2, LIBC, WRITE, APP, MAIN);
	sleep = fixture_stack(&f, 0, 2, LIBC, WRITE, APP, MAIN_OUTER);
	for (int i = 0; i < 10; i++) {
		int64_t lasts_us = i == 9 ? 5000000 : 12000 + 30000 * i;

		fixture_wait(&f, 0, read, at_us, (uint64_t)lasts_us, SN_WAIT_IO);
		fixture_samples(&f, 0, read, 1, 10000);
		at_us += lasts_us;
		f.experiment->samples.items[i].time_ns = (at_us - 500) * 1000;
	}
	fixture_wait(&f, 0, sleep, at_us, 300000, SN_WAIT_SLEEP);
	fixture_samples(&f, 0, read, 1, 1100); /* 0.6 ms after the begin of the sleep */
	f.experiment->threads.items[0].account =
		(struct sn_time_account){ 6758000000, 100000000, 0, 6358000000, 300000000 };
	fixture_profile(&f, NULL);
	CHECK(f.profile->stacks[sleep].wait_ns > 290000000);
	CHECK(f.profile->threads[0].wait_ns <= 300000000);
	fixture_end(&f);
}

/* Reads that stood in the queue, of which no sample saw anything, and a lock that was waited for: the sleep gives last. */
TEST(a_sleep_gives_after_all_other_waits)
{
	struct fixture f;
	uint32_t read, sleep;

	fixture_begin(&f);
	read = fixture_stack(&f, 0, 2, LIBC, WRITE, APP, MAIN);
	sleep = fixture_stack(&f, 0, 2, LIBC, WRITE, APP, MAIN_OUTER);
	fixture_wait(&f, 0, read, 0, 600000, SN_WAIT_IO);
	fixture_wait(&f, 0, read, 600000, 200000, SN_WAIT_LOCK);
	fixture_wait(&f, 0, sleep, 800000, 300000, SN_WAIT_SLEEP);
	f.experiment->threads.items[0].account =
		(struct sn_time_account){ 1100000000, 10000000, 0, 690000000, 400000000 };
	fixture_profile(&f, NULL);
	CHECK_INT(f.profile->stacks[sleep].wait_ns, 300000000);
	CHECK_INT(f.profile->stacks[read].wait_ns, 100000000);
	f.experiment->threads.items[0].account.blocked_ns = 120000000;
	fixture_profile(&f, NULL);
	CHECK_INT(f.profile->stacks[sleep].wait_ns, 120000000);
	CHECK_INT(f.profile->stacks[read].wait_ns, 0);
	/* one sample behind a read claims all that it used, a small part of its length */
	fixture_samples(&f, 0, read, 1, 9000);
	f.experiment->samples.items[0].time_ns = 601000000;
	f.experiment->threads.items[0].account.blocked_ns = 500000000;
	fixture_profile(&f, NULL);
	CHECK_INT(f.profile->threads[0].wait_ns, 500000000);
	CHECK_INT(f.profile->stacks[sleep].wait_ns, 300000000);
	CHECK_INT(f.profile->stacks[read].wait_ns, 200000000);
	fixture_end(&f);
}

TEST(blocked_time_of_idle_threads_is_left_out_if_asked)
{
	uint32_t stack;
	struct fixture f;

	fixture_begin(&f);
	fixture_add_thread(&f, 0, 101, "progress");
	stack = fixture_stack(&f, 0, 2, LIBC, WRITE, APP, MAIN);
	fixture_samples(&f, 0, stack, 1000, 1000);
	fixture_wait(&f, 0, stack, 1000000, 500000, SN_WAIT_IO);
	fixture_wait(&f, 1, stack, 0, 9000000, SN_WAIT_POLL);
	fixture_profile(&f, &(struct sn_filter){ .without_idle = true });
	CHECK_INT(f.profile->total.wait_ns, 500000000);
	CHECK_INT(f.profile->total.cpu_ns, 1000000000);
	CHECK(!f.profile->is_filtered);
	fixture_profile(&f, NULL);
	CHECK_INT(f.profile->total.wait_ns, 9500000000);
	fixture_end(&f);
}

TEST(spread_over_threads)
{
	const struct sn_spread *spread;
	struct fixture f;

	fixture_begin(&f);
	fixture_add_thread(&f, 0, 101, "w");
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, LEAF), 10, 1000);
	fixture_samples(&f, 1, fixture_stack(&f, 0, 1, APP, LEAF), 30, 1000);
	fixture_profile(&f, NULL);
	spread = &f.profile->functions[fixture_function(&f, "leaf")].spread;
	CHECK_INT(spread->threads, 2);
	CHECK_INT(spread->max_thread, 1);
	CHECK_REAL(spread->deviation, 14.142135 / 20, 1e-6); /* of 10 and 30 ms */
	fixture_end(&f);
}

static uint64_t sum_exclusive(const struct sn_metrics *metrics, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += metrics[i].exclusive.cpu_ns;
	return sum;
}

/* Every stretch of the fixture, some nothing, in stacks of random depth. */
static void random_samples(struct fixture *f, struct sn_random *random)
{
	static const int addrs[][2] = {
		{ APP, MAIN },
		{ APP, MAIN_OUTER },
		{ APP, MAIN_INNER },
		{ APP, MAIN_KERNEL },
		{ APP, MAIN_KERNEL_LOOP },
		{ APP, KERNEL_LOOP },
		{ APP, FIB },
		{ APP, LEAF_MAIN_LOOP },
		{ APP, LEAF_TAIL_LOOP },
		{ LIBM, SIN },
		{ LIBC, MALLOC },
		{ LIBC, UNNAMED },
		{ LIBGOMP, BARRIER_SPIN },
		{ 77, 0x5000 },
	};

	for (int i = 0; i < 2000; i++) {
		struct sn_frame frames[12];
		uint32_t depth = (uint32_t)sn_random_below(random, 12);
		struct sn_sample sample = { .time_ns = i * 1000000,
					    .cpu_ns = sn_random_below(random, 3000000),
					    .thread = (uint32_t)sn_random_below(random, 3),
					    .flags = (uint16_t)sn_random_below(random, 8) };

		for (uint32_t k = 0; k < depth; k++) {
			const int *at = addrs[sn_random_below(random, 14)];

			frames[k] = (struct sn_frame){ (uint32_t)at[0], (uint64_t)at[1] + (k > 0) };
		}
		sample.stack = sn_random_below(random, 20)
				       ? sn_experiment_add_stack(f->experiment, 0, frames, depth, 0)
				       : SN_NONE;
		sn_vec_push(&f->experiment->samples, sample);
	}
}

TEST(exclusive_times_sum_to_the_total_whatever_the_stacks)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sn_random random;
		struct sn_profile *p;
		struct fixture f;
		uint64_t sum = 0, threads = 0;

		sn_random_seed(&random, seed);
		fixture_begin(&f);
		fixture_add_thread(&f, 0, 101, "a");
		fixture_add_thread(&f, 0, 102, "b");
		random_samples(&f, &random);
		for (size_t i = 0; i < f.experiment->samples.count; i++)
			sum += f.experiment->samples.items[i].cpu_ns;
		fixture_profile(&f, NULL);
		p = f.profile;
		for (int t = 0; t < 3; t++)
			threads += p->threads[t].cpu_ns;
		CHECK_INT(p->total.cpu_ns, sum);
		CHECK_INT(sum_exclusive(p->functions, f.program->functions.count), sum);
		CHECK_INT(sum_exclusive(p->lines, f.program->lines.count), sum);
		CHECK_INT(sum_exclusive(p->modules, f.experiment->modules.count + 1), sum);
		CHECK_INT(sum_exclusive(p->categories, SN_CATEGORIES), sum);
		CHECK_INT(threads, sum);
		for (size_t i = 0; i < f.program->functions.count; i++) {
			const struct sn_metrics *m = &p->functions[i];
			double share = (double)m->exclusive.cpu_ns / (double)sum;

			CHECK(m->exclusive.cpu_ns <= m->inclusive.cpu_ns);
			CHECK(m->inclusive.cpu_ns <= sum);
			CHECK(m->exclusive_share.low <= share && share <= m->exclusive_share.high);
		}
		fixture_end(&f);
	}
}

TEST(an_empty_experiment_has_an_empty_profile)
{
	struct fixture f;
	struct sn_tree *tree;

	fixture_begin(&f);
	fixture_profile(&f, NULL);
	CHECK_INT(f.profile->total.cpu_ns, 0);
	tree = sn_tree_new(f.profile, &(struct sn_tree_options){ 0 });
	CHECK_INT(tree->nodes.count, 1);
	sn_tree_free(tree);
	fixture_end(&f);
}
