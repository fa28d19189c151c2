/* Instances of a loop that two threads counted, of the fixture's program. */
#include "profile/instances.h"

#include <math.h>

#include "fixture.h"
#include "harness/tap.h"

static void add_bucket(struct fixture *f, uint32_t thread, uint32_t stack, int exponent,
		       uint64_t timed, const struct sn_loop_timing *timings, uint32_t count)
{
	struct sn_loop_bucket bucket = { .thread = thread,
					 .stack = stack,
					 .exponent = exponent,
					 .timed = timed,
					 .timings = timings,
					 .timing_count = count };

	for (uint32_t i = 0; i < count; i++) {
		bucket.iterations += timings[i].iterations * timed / count;
		bucket.cycles += timings[i].cycles * timed / count;
	}
	sn_vec_push(&f->experiment->buckets, bucket);
}

static void add_instances(struct fixture *f, uint32_t thread, uint32_t stack, uint64_t instances)
{
	struct sn_loop_instances counted = { .thread = thread,
					     .stack = stack,
					     .instances = instances,
					     .has_iterations = true,
					     .iterations = 10 * instances };

	sn_vec_push(&f->experiment->instances, counted);
}

/* One loop of the fixture's program, in one thread. */
static uint32_t begin_loop(struct fixture *f, uint64_t instances)
{
	uint32_t stack;

	fixture_begin(f);
	stack = fixture_stack(f, 0, 1, APP, LEAF_MAIN_LOOP);
	fixture_samples(f, 0, stack, 100, 1000);
	add_instances(f, 0, stack, instances);
	return stack;
}

TEST(instances_within_another_are_not_its_iterations)
{
	static const struct sn_loop_timing outermost[] = { { 0, 3000, 30000, true } };
	struct sn_instances_list list;
	struct fixture f;
	uint32_t stack = begin_loop(&f, 1000);

	add_bucket(&f, 0, stack, 3, 1, outermost, 1);
	fixture_profile(&f, NULL);
	sn_instances_find(f.profile, &list);
	REQUIRE(list.count == 1);
	CHECK(list.items[0].all.holds_others);
	CHECK(!sn_instances_have_iterations(&list.items[0].all));
	CHECK_REAL(list.items[0].all.cycles_median, 10.0, 1e-9);
	sn_instances_free(&list);
	fixture_end(&f);
}

/* Few of the timed ones are kept; the shortest and the longest may not be among them. */
TEST(fewest_and_most_iterations_are_of_all_that_were_timed)
{
	static const struct sn_loop_timing kept[] = { { 0, 10, 100, false },
						      { 8, 12, 120, false } };
	struct sn_instances_list list;
	struct fixture f;
	uint32_t stack = begin_loop(&f, 1000);

	add_bucket(&f, 0, stack, 3, 500, kept, 2);
	sn_vec_last(&f.experiment->buckets).iterations_min = 1;
	sn_vec_last(&f.experiment->buckets).iterations_max = 5000;
	add_bucket(&f, 1, stack, 3, 2, kept, 2);
	fixture_profile(&f, NULL);
	sn_instances_find(f.profile, &list);
	REQUIRE(list.count == 1);
	CHECK_INT(list.items[0].all.iterations_min, 1);
	CHECK_INT(list.items[0].all.iterations_median, 10);
	CHECK_INT(list.items[0].all.iterations_max, 5000);
	sn_instances_free(&list);
	fixture_end(&f);
}

/* What no record of them has is of those that were kept. */
TEST(older_experiments_have_the_range_of_what_was_kept)
{
	static const struct sn_loop_timing kept[] = { { 0, 10, 100, false },
						      { 8, 12, 120, false } };
	struct sn_instances_list list;
	struct fixture f;
	uint32_t stack = begin_loop(&f, 1000);

	add_bucket(&f, 0, stack, 3, 500, kept, 2);
	fixture_profile(&f, NULL);
	sn_instances_find(f.profile, &list);
	REQUIRE(list.count == 1);
	CHECK_INT(list.items[0].all.iterations_min, 10);
	CHECK_INT(list.items[0].all.iterations_max, 12);
	sn_instances_free(&list);
	fixture_end(&f);
}

TEST(what_is_shorter_than_a_reading_of_the_counter_has_no_median)
{
	static const struct sn_loop_timing nothing[] = { { 0, 8, 0, false }, { 2, 8, 0, false } };
	static const struct sn_loop_timing little[] = { { 1, 8, 32, false } };
	struct sn_instances_list list;
	struct fixture f;
	uint32_t stack = begin_loop(&f, 3);

	add_bucket(&f, 0, stack, -5, 2, nothing, 2);
	add_bucket(&f, 0, stack, 2, 1, little, 1);
	fixture_profile(&f, NULL);
	sn_instances_find(f.profile, &list);
	REQUIRE(list.count == 1);
	CHECK(list.items[0].all.is_too_short && isnan(list.items[0].all.cycles_median));
	CHECK(isnan(list.items[0].all.cycles_min));
	REQUIRE(list.items[0].bucket_count == 2);
	CHECK(!list.items[0].buckets[1].is_too_short);
	CHECK_REAL(list.items[0].buckets[1].cycles_median, 4.0, 1e-9);
	sn_instances_free(&list);
	fixture_end(&f);
}

TEST(an_instance_that_was_interrupted_has_no_share)
{
	/* 999 of 80 cycles, and one with a slice of another thread in it */
	static const struct sn_loop_timing usual[] = { { 0, 10, 80, false } };
	static const struct sn_loop_timing long_one[] = { { 7, 10, 4000000, false } };
	struct sn_instances_list list;
	const struct sn_instances *loop;
	struct fixture f;
	uint32_t stack = begin_loop(&f, 1000);

	add_bucket(&f, 0, stack, 3, 999, usual, 1);
	add_bucket(&f, 0, stack, 18, 1, long_one, 1);
	fixture_profile(&f, NULL);
	sn_instances_find(f.profile, &list);
	REQUIRE(list.count == 1 && list.items[0].bucket_count == 2);
	loop = &list.items[0];
	CHECK(!loop->buckets[0].is_apart && loop->buckets[1].is_apart);
	CHECK_INT(loop->all.share_cycles, 999 * 80);
	CHECK_INT(loop->buckets[0].share_cycles, 999 * 80);
	CHECK_INT(loop->all.timed_cycles, 999 * 80 + 4000000);
	sn_instances_free(&list);
	fixture_end(&f);
}

TEST(threads_add_up_and_buckets_stay_apart)
{
	/* 90 instances of 2 cycles an iteration, and 10 of 40 */
	static const struct sn_loop_timing slow[] = { { 7, 10, 400, false } };
	static const struct sn_loop_timing fast[] = { { 0, 10, 20, false },
						      { 5, 10, 22, false },
						      { 9, 20, 40, false } };
	struct sn_instances_list list;
	const struct sn_instances *loop;
	struct fixture f;
	uint32_t second, stack;

	fixture_begin(&f);
	second = fixture_add_thread(&f, 0, 101, "second");
	stack = fixture_stack(&f, 0, 1, LIBGOMP, BARRIER);
	fixture_samples(&f, 0, stack, 10, 1000);
	stack = fixture_stack(&f, 0, 1, APP, LEAF_MAIN_LOOP);
	fixture_samples(&f, 0, stack, 100, 1000);
	add_instances(&f, 0, stack, 90);
	add_instances(&f, second, stack, 10);
	add_bucket(&f, 0, stack, 1, 90, fast, 3);
	add_bucket(&f, second, stack, 5, 10, slow, 1);
	fixture_profile(&f, NULL);
	sn_instances_find(f.profile, &list);
	REQUIRE(list.count == 1);
	loop = &list.items[0];
	CHECK_INT(loop->instances, 100);
	CHECK_INT(loop->iterations, 1000);
	CHECK(loop->has_iterations && !loop->open);
	REQUIRE(loop->bucket_count == 2);
	CHECK(loop->buckets[0].exponent == 1 && loop->buckets[1].exponent == 5);
	CHECK_INT(loop->all.timed, 100);
	CHECK_INT(loop->all.kept_count, 4);
	/* the one slow timing stands for ten instances, each fast one for thirty */
	CHECK_REAL(loop->all.cycles_min, 2.0, 1e-9);
	CHECK_REAL(loop->all.cycles_median, 2.0, 1e-9);
	CHECK_REAL(loop->buckets[1].cycles_median, 40.0, 1e-9);
	CHECK_REAL(loop->buckets[0].stability, 0.0, 1e-9);
	CHECK(loop->buckets[0].iterations_min == 10 && loop->buckets[0].iterations_max == 20);
	CHECK(isnan(loop->buckets[1].cycles_deviation) || loop->buckets[1].cycles_deviation == 0);
	sn_instances_free(&list);
	fixture_end(&f);
}
