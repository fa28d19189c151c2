/* Whether there is a gain worth a table, and which advice comes first. */
#include "whatif/sentence.h"

#include <math.h>
#include <string.h>

#include "harness/tap.h"
#include "profile/fixture.h"

enum { LOOPS = 3 };

/* Loops of a known program with one piece of advice each, hottest first. */
struct table {
	struct fixture fixture;
	struct sn_whatif_loop loops[LOOPS];
	struct sn_advice advice[LOOPS];
	struct sn_whatif whatif;
};

static void set_advice(struct table *t, size_t i, const char *label, double share, double sure,
		       double most)
{
	t->advice[i] = (struct sn_advice){ .confidence = SN_ADVICE_HINT,
					   .subject = "vectorize",
					   .sentence = "Use vectors.",
					   .sure_speedup = sure,
					   .speedup = most };
	t->loops[i].loop = fixture_loop(&t->fixture, label);
	t->loops[i].rank = i + 1;
	t->loops[i].user_share = share;
	t->loops[i].advice.items = &t->advice[i];
	t->loops[i].advice.count = 1;
}

static void begin(struct table *t)
{
	memset(t, 0, sizeof(*t));
	fixture_begin(&t->fixture);
	fixture_samples(&t->fixture, 0, fixture_stack(&t->fixture, 0, 1, APP, MAIN_KERNEL_LOOP), 9,
			1000);
	fixture_samples(&t->fixture, 0, fixture_stack(&t->fixture, 0, 1, APP, LEAF_MAIN_LOOP), 9,
			1000);
	fixture_profile(&t->fixture, NULL);
	t->whatif.profile = t->fixture.profile;
	t->whatif.loops.items = t->loops;
	t->whatif.loops.count = LOOPS;
	set_advice(t, 0, "kernel.h:3-5", 0.5, 1.0, 2.0);
	set_advice(t, 1, "leaf.c:5-9", 0.4, 1.5, 1.6);
	set_advice(t, 2, "app.c:12-15", 0.1, 1.0, 1.0);
	t->loops[2].advice.count = 0;
}

static void check_judged_hint(const struct table *t, const struct sn_judged *judged,
			      const char *want)
{
	struct sn_text text = { 0 };
	const struct sn_whatif_loop *loop = sn_whatif_hint(&t->whatif, judged, &text);

	CHECK((loop != NULL) == (want != NULL));
	CHECK_STRING(text.chars ? text.chars : "", want ? want : "");
	sn_text_free(&text);
}

static void check_hint(const struct table *t, const char *want)
{
	check_judged_hint(t, NULL, want);
}

TEST(less_than_five_per_cent_is_no_promise)
{
	struct sn_whatif whatif = { 0 };

	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++)
		whatif.variants[v].speedup = NAN;
	CHECK(!sn_whatif_promises(&whatif));
	whatif.variants[SN_VARIANT_CLEAN].speedup = 1.049;
	CHECK(!sn_whatif_promises(&whatif));
	whatif.variants[SN_VARIANT_NEXT].speedup = 1.05;
	CHECK(sn_whatif_promises(&whatif));
}

/* The first loop may gain more; the second is sure to gain: 1 / (0.6 + 0.4 / 1.5). */
TEST(what_is_sure_to_gain_most_comes_first)
{
	struct table t;

	begin(&t);
	check_hint(&t, "leaf.c:5-9 (loop #2): Use vectors. "
		       "By the model 1.50 to 1.60x for the loop, "
		       "1.15 to 1.18x for the program.");
	fixture_end(&t.fixture);
}

TEST(of_equals_the_one_that_may_gain_most_comes_first)
{
	struct table t;

	begin(&t);
	t.advice[1].sure_speedup = 1.0;
	check_hint(&t, "kernel.h:3-5 (loop #1): Use vectors. "
		       "By the model 1.00 to 2.00x for the loop, "
		       "1.00 to 1.33x for the program.");
	fixture_end(&t.fixture);
}

TEST(a_doubtful_loop_gives_no_hint)
{
	struct table t;

	begin(&t);
	t.loops[1].doubts = SN_DOUBT_FEW_SAMPLES;
	t.loops[0].doubts = SN_DOUBT_CALLS; /* which is said, and no reason to be silent */
	check_hint(&t, "kernel.h:3-5 (loop #1): Use vectors. "
		       "By the model 1.00 to 2.00x for the loop, "
		       "1.00 to 1.33x for the program, with doubts.");
	t.loops[0].doubts = SN_DOUBT_MANY_PATHS;
	check_hint(&t, NULL);
	fixture_end(&t.fixture);
}

TEST(a_cold_loop_gives_no_hint)
{
	struct table t;

	begin(&t);
	t.loops[0].user_share = t.loops[1].user_share = 0.019;
	check_hint(&t, NULL);
	fixture_end(&t.fixture);
}

TEST(a_dependence_that_far_data_hide_gives_no_hint)
{
	struct table t;

	begin(&t);
	t.advice[0].subject = "dependence";
	t.loops[1].advice.count = 0;
	check_hint(&t, NULL);
	t.advice[0].sure_speedup = 1.2;
	check_hint(&t, "kernel.h:3-5 (loop #1): Use vectors. "
		       "By the model 1.20 to 2.00x for the loop, "
		       "1.09 to 1.33x for the program.");
	fixture_end(&t.fixture);
}

TEST(advice_that_brings_only_names_gives_no_hint)
{
	struct table t;

	begin(&t);
	for (size_t i = 0; i < LOOPS; i++)
		t.advice[i].subject = "debug lines";
	check_hint(&t, NULL);
	fixture_end(&t.fixture);
}

/* What was measured of a loop is in place of what the model says of it. */
TEST(measured_evidence_gives_the_hint)
{
	struct sn_loop_advice nearer = { .grade = "measured",
					 .subject = "locality",
					 .sentence = "Bring it nearer.",
					 .range = { 1, 4 },
					 .program_range = { 1, 1.6 } };
	struct sn_judged_loop one = { 0 };
	struct sn_judged judged = { 0 };
	struct table t;

	begin(&t);
	t.loops[1].advice.count = 0;
	one.number = t.loops[0].loop;
	one.loop = &t.loops[0];
	judged.loops.items = &one;
	judged.loops.count = 1;
	check_judged_hint(&t, &judged, NULL);
	one.evidence.advice.items = &nearer;
	one.evidence.advice.count = 1;
	check_judged_hint(
		&t, &judged,
		"kernel.h:3-5 (loop #1): Bring it nearer. As measured 1.00 to 4.00x for the "
		"loop, 1.00 to 1.60x for the program.");
	fixture_end(&t.fixture);
}

/* A remark on a loop that is not the hottest is worth nothing without a figure for it. */
TEST(advice_without_a_gain_is_for_the_hottest_loop_alone)
{
	struct table t;

	begin(&t);
	t.advice[0].sure_speedup = t.advice[0].speedup = NAN;
	t.advice[1] = t.advice[0];
	check_hint(&t, "kernel.h:3-5 (loop #1): Use vectors.");
	t.loops[0].advice.count = 0;
	check_hint(&t, NULL);
	t.advice[1].sure_speedup = 1;
	t.advice[1].speedup = 1.1; /* 1 / (0.6 + 0.4 / 1.1): less than 1.05 for the program */
	check_hint(&t, NULL);
	fixture_end(&t.fixture);
}
