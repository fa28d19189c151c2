/* Drift of the machine between two sets of runs, told from a change of the program; what is one
 * hypothesis and one function; warnings. All runs are made up. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "compare/compare.h"
#include "harness/tap.h"

enum { RUNS_MAX = 8, FUNCTIONS = 4 };

static double gaussian(struct sn_random *random)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += sn_random_unit(random);
	return sum - 6;
}

static struct sn_compare_run new_run(double start_s)
{
	return (struct sn_compare_run){ .name = "run",
					.started_realtime_ns =
						1000000000 + (int64_t)(start_s * 1e9),
					.waited_s = NAN,
					.others_share = NAN };
}

static void add(struct sn_compare_run *run, enum sn_compare_kind kind, const char *function,
		double cpu_s)
{
	struct sn_compare_entry entry = { .kind = kind,
					  .module = "",
					  .function = function,
					  .name = function,
					  .share = kind == SN_COMPARE_TOTAL ? 1 : 1.0 / FUNCTIONS,
					  .cpu_s = cpu_s };

	if (kind == SN_COMPARE_LOOP)
		entry.line_first = entry.line_last = entry.depth = 1;
	sn_vec_push(&run->entries, entry);
}

/* Functions of 1 s each, a total, and elapsed time that is the total and what was waited. */
static struct sn_compare_run make_run(struct sn_random *random, double start_s, double factor,
				      double noise, double waited_s)
{
	static const char *const names[FUNCTIONS] = { "a", "b", "c", "d" };
	struct sn_compare_run run = new_run(start_s);
	double total = 0;

	for (int i = 0; i < FUNCTIONS; i++) {
		double cpu_s = factor * (1 + noise * gaussian(random));

		add(&run, SN_COMPARE_FUNCTION, names[i], cpu_s);
		total += cpu_s;
	}
	add(&run, SN_COMPARE_TOTAL, "cpu", total);
	add(&run, SN_COMPARE_TOTAL, "elapsed", total + waited_s);
	run.waited_s = waited_s;
	return run;
}

struct sets {
	struct sn_compare_run a[RUNS_MAX], b[RUNS_MAX];
	size_t count;
};

static struct sn_comparison *compare(struct sets *s)
{
	return sn_compare(s->a, s->count, s->b, s->count, NULL);
}

static void sets_free(struct sets *s)
{
	for (size_t r = 0; r < s->count; r++) {
		sn_compare_run_free(&s->a[r]);
		sn_compare_run_free(&s->b[r]);
	}
}

/* The verdict of the whole; '?' if a row has one that does not go with it. */
static char verdict(struct sets *s)
{
	struct sn_comparison *c = compare(s);
	const char *name = sn_comparison_verdict(c);
	size_t drifted = 0, found = 0;
	char kind = name[0] == 's' ? 's' : name[1] == 'r' ? 'd' : 'f';

	for (size_t i = 0; i < c->rows.count; i++) {
		drifted += c->rows.items[i].verdict == SN_VERDICT_DRIFT;
		found += c->rows.items[i].verdict == SN_VERDICT_SLOWER ||
			 c->rows.items[i].verdict == SN_VERDICT_FASTER;
	}
	if (drifted != c->drifted || found != c->findings ||
	    (drifted > 0) != (c->warnings.count > 0))
		kind = '?';
	sn_comparison_free(c);
	return kind;
}

/* All 0: equal runs on a quiet machine. */
struct how {
	size_t runs;
	bool in_turns;
	double change;		   /* of the program, in B: 0.1 is a tenth more */
	double per_run;		   /* of the machine, from run to run */
	double waited_a, waited_b; /* means */
	bool has_others;
	double others_a, others_b; /* means */
	double load_change;	   /* of the times in B, by load */
	uint64_t identity_a, identity_b;
	double set_back_s; /* so far the clock is set back before each run of B */
	bool has_boot;	   /* runs know when they began since boot */
	bool has_campaign; /* and their place in a campaign */
};

/* Of 300 comparisons how many say same, drift and found. */
static void tally(const struct how *how, int *same, int *drift, int *found)
{
	struct sn_random random;

	*same = *drift = *found = 0;
	sn_random_seed(&random, 7 + how->runs);
	for (int i = 0; i < 300; i++) {
		struct sets s = { .count = how->runs };
		char kind;

		for (size_t r = 0; r < 2 * how->runs; r++) {
			bool is_b = how->in_turns ? r % 2 : r >= how->runs;
			size_t at = how->in_turns ? r / 2 : r % how->runs;
			double factor = (is_b ? (1 + how->change) * (1 + how->load_change) : 1) *
					(1 + how->per_run * (double)r);
			double waited = (is_b ? how->waited_b : how->waited_a) *
					(1 + 0.1 * gaussian(&random));
			struct sn_compare_run run =
				make_run(&random, (double)r, factor, 0.01, waited);

			run.others_share =
				(is_b ? how->others_b : how->others_a) + 0.01 * gaussian(&random);
			run.identity = is_b ? how->identity_b : how->identity_a;
			run.started_realtime_ns -= (int64_t)(is_b ? how->set_back_s * 1e9 : 0);
			if (how->has_boot) {
				run.boot = "b";
				run.started_monotonic_ns = (int64_t)(1e9 * (double)(r + 1));
			}
			/* two of a set in some blocks: no pairs, so drift is asked for */
			if (how->has_campaign) {
				run.campaign = "c";
				run.is_in_blocks = true;
				run.block = (uint32_t)r / 2;
				run.position = (uint32_t)r % 2;
			}
			*(is_b ? &s.b[at] : &s.a[at]) = run;
		}
		kind = verdict(&s);
		REQUIRE(kind != '?');
		*same += kind == 's';
		*drift += kind == 'd';
		*found += kind == 'f';
		sets_free(&s);
	}
	printf("# %zu runs a side: %d same, %d drift, %d found\n", how->runs, *same, *drift,
	       *found);
}

TEST(a_change_on_a_quiet_machine_is_found_one_set_after_the_other)
{
	int same, drift, found;

	tally(&(struct how){ .runs = 5 }, &same, &drift, &found);
	CHECK(found <= 30); /* 5 % and four deviations */
	tally(&(struct how){ .runs = 5, .change = 0.1 }, &same, &drift, &found);
	CHECK(found >= 280);
}

TEST(a_machine_that_gets_slower_from_run_to_run_is_drift)
{
	int same, drift, found;

	tally(&(struct how){ .runs = 5, .per_run = 0.02 }, &same, &drift, &found);
	CHECK(found <= 30 && drift >= 200);
	/* in turns the trend is in both sets: what differs does so nonetheless */
	tally(&(struct how){ .runs = 5, .per_run = 0.005, .in_turns = true }, &same, &drift,
	      &found);
	CHECK(found <= 30);
	tally(&(struct how){ .runs = 5, .per_run = 0.005, .in_turns = true, .change = 0.1 }, &same,
	      &drift, &found);
	CHECK(found >= 280);
}

/* A clock that was set back by an hour between the sets makes their trend run the other way. */
TEST(a_clock_that_was_set_back_hides_no_drift)
{
	struct how how = { .runs = 5, .per_run = 0.04, .set_back_s = 3600 };
	int same, drift, found;

	how.has_boot = true;
	tally(&how, &same, &drift, &found);
	CHECK(found <= 30 && drift >= 200);
	how.has_boot = false;
	how.has_campaign = true;
	tally(&how, &same, &drift, &found);
	CHECK(found <= 30 && drift >= 200);
}

TEST(waiting_for_a_cpu_that_others_had_is_no_difference_of_elapsed_time)
{
	int same, drift, found;

	tally(&(struct how){ .runs = 5, .waited_a = 0.5, .waited_b = 3 }, &same, &drift, &found);
	CHECK(found <= 30 && drift >= 260);
	tally(&(struct how){ .runs = 5, .waited_a = 0.5, .waited_b = 3, .change = 0.5 }, &same,
	      &drift, &found);
	CHECK(found >= 280);
}

TEST(what_load_can_explain_is_drift_and_more_is_not)
{
	struct how how = { .runs = 4 };
	int same, drift, found;

	how.others_a = 0.05;
	how.others_b = 0.5;
	how.load_change = 0.3;
	how.has_others = true;
	tally(&how, &same, &drift, &found);
	CHECK(found == 0 && drift >= 290);
	how.change = 2;
	tally(&how, &same, &drift, &found);
	CHECK(found >= 290);
	/* neighbours may have changed what they do, as far as half of what they have; not in turns
	 */
	how = (struct how){ .runs = 4, .change = 0.2, .has_others = true };
	how.others_a = how.others_b = 0.5;
	tally(&how, &same, &drift, &found);
	CHECK(found == 0 && drift >= 250);
	how.change = 0.3;
	tally(&how, &same, &drift, &found);
	CHECK(found >= 280);
	how.change = 0.2;
	how.in_turns = true;
	tally(&how, &same, &drift, &found);
	CHECK(found >= 280);
}

TEST(one_program_in_one_environment_does_not_differ_by_itself)
{
	struct how how = { .runs = 5, .change = 0.06, .identity_a = 1, .identity_b = 1 };
	int same, drift, found;

	tally(&how, &same, &drift, &found);
	CHECK(found == 0 && drift >= 280);
	how.identity_b = 2;
	tally(&how, &same, &drift, &found);
	CHECK(found >= 250);
	how.identity_b = 1;
	how.in_turns = true;
	tally(&how, &same, &drift, &found);
	CHECK(found >= 250);
	how.in_turns = false;
	how.change = 0.5; /* another input, maybe */
	tally(&how, &same, &drift, &found);
	CHECK(found >= 290);
}

static const struct sn_compare_row *row_of(const struct sn_comparison *c, enum sn_compare_kind kind,
					   const char *function)
{
	for (size_t i = 0; i < c->rows.count; i++)
		if (c->rows.items[i].entry.kind == kind &&
		    !strcmp(c->rows.items[i].entry.function, function))
			return &c->rows.items[i];
	return NULL;
}

TEST(a_function_and_its_only_loop_are_one_hypothesis)
{
	struct sets s = { .count = 3 };
	struct sn_random random;
	struct sn_comparison *c;

	sn_random_seed(&random, 3);
	for (size_t r = 0; r < 6; r++) {
		struct sn_compare_run *run = r < 3 ? &s.a[r] : &s.b[r - 3];
		double noise = 1 + 0.001 * gaussian(&random), factor = r < 3 ? 1 : 2;

		*run = new_run((double)r);
		add(run, SN_COMPARE_FUNCTION, "f", factor * noise);
		add(run, SN_COMPARE_LOOP, "f", 0.95 * factor * noise);
		add(run, SN_COMPARE_FUNCTION, "g", noise); /* half of it is outside of its loop */
		add(run, SN_COMPARE_LOOP, "g", 0.5 * noise);
	}
	c = compare(&s);
	CHECK_INT(c->rows.count, 4);
	CHECK_INT(c->tested, 3);
	CHECK_INT(c->findings, 1);
	REQUIRE(row_of(c, SN_COMPARE_LOOP, "f") && row_of(c, SN_COMPARE_LOOP, "g"));
	CHECK_INT(row_of(c, SN_COMPARE_FUNCTION, "f")->verdict, SN_VERDICT_SLOWER);
	CHECK_INT(row_of(c, SN_COMPARE_LOOP, "f")->verdict, SN_VERDICT_SLOWER);
	CHECK(row_of(c, SN_COMPARE_LOOP, "f")->is_only_loop);
	CHECK(!row_of(c, SN_COMPARE_LOOP, "g")->is_only_loop);
	sn_comparison_free(c);
	sets_free(&s);
}

TEST(an_experiment_that_is_there_twice_is_told)
{
	struct sn_compare_run a[2] = { new_run(0), new_run(1) }, b[2] = { new_run(0), new_run(2) };
	struct sn_comparison *c;

	a[0].path = b[0].path = "/x/r1";
	a[1].path = "/x/r2";
	b[1].path = "/x/r3";
	c = sn_compare(a, 2, b, 2, NULL);
	REQUIRE(c->warnings.count == 1);
	CHECK(strstr(c->warnings.items[0], "on both sides"));
	sn_comparison_free(c);
	a[1].path = "/x/r1";
	c = sn_compare(a, 2, b + 1, 1, NULL);
	REQUIRE(c->warnings.count == 1);
	CHECK(strstr(c->warnings.items[0], "twice"));
	sn_comparison_free(c);
}

TEST(two_programs_are_told)
{
	struct sn_compare_run a = new_run(0), b = new_run(1);
	struct sn_comparison *c;

	a.program = "/bin/sort";
	b.program = "wc";
	add(&a, SN_COMPARE_FUNCTION, "compare", 3);
	add(&a, SN_COMPARE_FUNCTION, "memcpy", 1);
	add(&b, SN_COMPARE_FUNCTION, "count", 2);
	add(&b, SN_COMPARE_FUNCTION, "memcpy", 1);
	c = sn_compare(&a, 1, &b, 1, NULL);
	REQUIRE(c->warnings.count == 1);
	CHECK(strstr(c->warnings.items[0], "sort") && strstr(c->warnings.items[0], "wc") &&
	      strstr(c->warnings.items[0], "25 %"));
	sn_comparison_free(c);
	c = sn_compare(&a, 1, &a, 1, NULL);
	CHECK_INT(c->warnings.count, 0);
	sn_comparison_free(c);
	sn_compare_run_free(&a);
	sn_compare_run_free(&b);
}
