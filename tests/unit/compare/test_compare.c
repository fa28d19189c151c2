#include "compare/compare.h"

#include <math.h>
#include <stdio.h>

#include "base/stats.h"
#include "harness/tap.h"

static double gaussian(struct sn_random *random)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += sn_random_unit(random);
	return sum - 6;
}

/* Ten functions of 1 s with two per cent of noise each; the first is `factor` times slower. */
static struct sn_compare_run make_run(struct sn_random *random, double factor)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
	struct sn_compare_run run = { .name = "run" };
	struct sn_compare_entry total = {
		.kind = SN_COMPARE_TOTAL, .module = "", .function = "cpu", .name = "CPU", .share = 1
	};

	for (int i = 0; i < 10; i++) {
		struct sn_compare_entry entry = {
			.kind = SN_COMPARE_FUNCTION,
			.module = "",
			.function = names[i],
			.name = names[i],
			.share = 0.1,
			.cpu_s = (i ? 1 : factor) * (1 + 0.02 * gaussian(random)),
		};

		total.cpu_s += entry.cpu_s;
		sn_vec_push(&run.entries, entry);
	}
	sn_vec_push(&run.entries, total);
	return run;
}

static size_t findings(struct sn_random *random, size_t runs, double factor, bool *found_a)
{
	struct sn_compare_run a[8], b[8];
	struct sn_comparison *c;
	size_t count;

	for (size_t r = 0; r < runs; r++) {
		a[r] = make_run(random, 1);
		b[r] = make_run(random, factor);
	}
	c = sn_compare(a, runs, b, runs, NULL);
	count = c->findings;
	*found_a = false;
	for (size_t i = 0; i < c->rows.count; i++)
		*found_a |= c->rows.items[i].entry.function[0] == 'a' &&
			    c->rows.items[i].verdict == SN_VERDICT_SLOWER;
	sn_comparison_free(c);
	for (size_t r = 0; r < runs; r++) {
		sn_compare_run_free(&a[r]);
		sn_compare_run_free(&b[r]);
	}
	return count;
}

/* 1,000 comparisons of equal runs; 4 sigma of 5 % are 2.8 %. */
TEST(false_alarms_are_as_rare_as_stated)
{
	for (size_t runs = 3; runs <= 5; runs += 2) {
		struct sn_random random;
		int alarms = 0;
		bool found;

		sn_random_seed(&random, 42 + runs);
		for (int i = 0; i < 1000; i++)
			alarms += findings(&random, runs, 1, &found) > 0;
		printf("# %zu runs a side: %d false alarms in 1000 comparisons\n", runs, alarms);
		CHECK(alarms <= 78);
	}
}

TEST(a_true_change_is_found)
{
	struct sn_random random;
	int found = 0;

	sn_random_seed(&random, 1);
	for (int i = 0; i < 200; i++) {
		bool found_a;

		findings(&random, 5, 1.12, &found_a);
		found += found_a;
	}
	printf("# a change of 12 %% under noise of 2 %% was found in %d of 200\n", found);
	CHECK(found >= 190);
}

TEST(one_run_each_says_repeat)
{
	struct sn_random random;
	struct sn_compare_run a, b;
	struct sn_comparison *c;

	sn_random_seed(&random, 1);
	a = make_run(&random, 1);
	b = make_run(&random, 3);
	c = sn_compare(&a, 1, &b, 1, NULL);
	CHECK_INT(c->findings, 0);
	CHECK(isnan(c->false_alarm_rate));
	for (size_t i = 0; i < c->rows.count; i++)
		CHECK_INT(c->rows.items[i].verdict, SN_VERDICT_REPEAT);
	sn_comparison_free(c);
	sn_compare_run_free(&a);
	sn_compare_run_free(&b);
}

static struct sn_compare_entry loop(const char *function, uint32_t first, uint32_t last,
				    uint32_t depth, double cpu_s)
{
	return (struct sn_compare_entry){ .kind = SN_COMPARE_LOOP,
					  .module = "",
					  .function = function,
					  .name = "loop",
					  .file = "x.c",
					  .line_first = first,
					  .line_last = last,
					  .depth = depth,
					  .cpu_s = cpu_s,
					  .share = 0.1 };
}

TEST(loops_whose_lines_moved_are_aligned_in_order)
{
	struct sn_compare_run a = { .name = "a" }, b = { .name = "b" };
	struct sn_comparison *c;

	sn_vec_push(&a.entries, loop("f", 10, 20, 1, 1));
	sn_vec_push(&a.entries, loop("f", 30, 40, 1, 2));
	sn_vec_push(&a.entries, loop("f", 32, 38, 2, 3));
	sn_vec_push(&a.entries, loop("g", 50, 60, 1, 4));
	/* three lines were added at the top of f; g has one loop more */
	sn_vec_push(&b.entries, loop("f", 13, 23, 1, 10));
	sn_vec_push(&b.entries, loop("f", 33, 43, 1, 20));
	sn_vec_push(&b.entries, loop("f", 35, 41, 2, 30));
	sn_vec_push(&b.entries, loop("g", 53, 63, 1, 40));
	sn_vec_push(&b.entries, loop("g", 70, 73, 1, 50));
	c = sn_compare(&a, 1, &b, 1, NULL);
	CHECK_INT(c->rows.count, 6); /* three of f, and g's three apart */
	for (size_t i = 0; i < c->rows.count; i++) {
		const struct sn_compare_row *row = &c->rows.items[i];

		if (row->entry.function[0] == 'f') {
			CHECK(row->is_moved);
			CHECK_REAL(row->b_cpu_s, 10 * row->a_cpu_s, 1e-9);
		} else {
			CHECK(!row->is_moved);
			CHECK((row->a_runs == 0) != (row->b_runs == 0));
		}
	}
	sn_comparison_free(c);
	sn_compare_run_free(&a);
	sn_compare_run_free(&b);
}

TEST(lucky_agreement_is_no_finding)
{
	/* Three runs that agree to the last digit differ from three others by less than sampling
	 * can tell. */
	struct sn_compare_run a[3] = { { .name = "a" } }, b[3] = { { .name = "b" } };
	struct sn_comparison *c;

	for (int i = 0; i < 3; i++) {
		struct sn_compare_entry entry = { .kind = SN_COMPARE_FUNCTION,
						  .module = "",
						  .function = "f",
						  .name = "f",
						  .share = 1,
						  .cpu_s = 1.000,
						  .deviation_s = 0.02 };

		sn_vec_push(&a[i].entries, entry);
		entry.cpu_s = 1.001;
		sn_vec_push(&b[i].entries, entry);
	}
	c = sn_compare(a, 3, b, 3, NULL);
	CHECK_INT(c->tested, 1);
	CHECK_INT(c->findings, 0);
	sn_comparison_free(c);
	for (int i = 0; i < 3; i++) {
		sn_compare_run_free(&a[i]);
		sn_compare_run_free(&b[i]);
	}
}
