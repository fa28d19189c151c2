/* What variants say decides the verdict, and narrows what the static model may promise. */
#include "whatif/evidence.h"

#include <math.h>
#include <string.h>

#include "harness/tap.h"

struct given {
	struct sn_cqa_loop quality;
	struct sn_advice advice[3];
	sn_advice_list list;
	struct sn_variants variants;
	struct sn_instances instances;
	struct sn_loop_known known;
	struct sn_loop_evidence out;
};

/* A loop of half the time, vectorizing promises 1 to 4 times its speed, a division 1 to 3. */
static void begin(struct given *g)
{
	memset(g, 0, sizeof(*g));
	g->quality.bottleneck = SN_BOUND_DIVIDER;
	g->advice[0] = (struct sn_advice){
		SN_ADVICE_GAIN, "vectorize", "Use vectors.", "scalar", 4, 1, 0
	};
	g->advice[1] =
		(struct sn_advice){ SN_ADVICE_GAIN, "division", "Multiply.", "divides", 3, 1, 0 };
	g->advice[2] =
		(struct sn_advice){ SN_ADVICE_HINT, "target", "Say which.", "old", NAN, NAN, 0 };
	g->list.items = g->advice;
	g->list.count = 3;
	for (int v = 0; v < SN_VARIANTS; v++)
		g->variants.figures[v] = (struct sn_variant_figure){ .state = SN_VARIANT_NOT_THERE,
								     .cycles = NAN,
								     .speedup = NAN };
	g->known = (struct sn_loop_known){ .quality = &g->quality,
					   .advice = &g->list,
					   .exclusive_share = 0.5,
					   .inclusive_share = 0.5 };
}

static void measure(struct given *g, enum sn_decan_variant v, double speedup, double low,
		    double high)
{
	g->known.variants = &g->variants;
	g->variants.figures[v] = (struct sn_variant_figure){ .state = SN_VARIANT_MEASURED,
							     .samples = 100,
							     .cycles = 10 / speedup,
							     .instance_cycles = 10000,
							     .speedup = speedup,
							     .speedup_range = { low, high } };
}

static const struct sn_loop_advice *advice_on(const struct given *g, const char *subject)
{
	for (size_t i = 0; i < g->out.advice.count; i++)
		if (!strcmp(g->out.advice.items[i].subject, subject))
			return &g->out.advice.items[i];
	return NULL;
}

static bool is_near(double value, double want)
{
	return fabs(value - want) < 1e-9;
}

/* All that is measured, beside ORIG's 1 cycle an iteration. */
static void judge_one(struct given *g, enum sn_decan_variant v, double speedup, double low,
		      double high)
{
	begin(g);
	measure(g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(g, v, speedup, low, high);
	sn_loop_evidence_judge(&g->known, &g->out);
}

TEST(without_variants_the_static_model_is_believed_little)
{
	struct given g;

	begin(&g);
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(g.out.trust == SN_EVIDENCE_LOW && strstr(g.out.verdict, "the divider"));
	CHECK(is_near(advice_on(&g, "vectorize")->range.low, 1));
	CHECK(is_near(advice_on(&g, "vectorize")->range.high, 4));
	CHECK(is_near(advice_on(&g, "vectorize")->program_range.high, 1.6));
	CHECK(isnan(advice_on(&g, "target")->program_speedup));
	CHECK(!g.out.disagreement);
	sn_loop_evidence_free(&g.out);
}

/* Instances tell how long an iteration takes; without variants nothing tells why. */
TEST(instances_that_take_long_beside_the_model_are_told)
{
	struct given g;

	begin(&g);
	g.quality.cycles = 4.5;
	g.instances.has_iterations = true;
	g.instances.all.cycles_median = 18;
	g.known.instances = &g.instances;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(g.out.disagreement && strstr(g.out.disagreement, "18.0 cycles, 4.0 times the 4.50"));
	CHECK(g.out.trust == SN_EVIDENCE_LOW);
	sn_loop_evidence_free(&g.out);
	g.instances.all.cycles_median = 8;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(!g.out.disagreement);
	sn_loop_evidence_free(&g.out);
	g.instances.all.cycles_median = NAN;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(!g.out.disagreement);
	sn_loop_evidence_free(&g.out);
}

TEST(the_level_of_the_data_is_named_where_it_is_known)
{
	struct given g;

	begin(&g);
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_DL1, 4, 2, 6);
	g.variants.class = SN_CLASS_DATA;
	g.variants.level = "RAM";
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(strstr(g.out.verdict, "waits for data from RAM: "));
	sn_loop_evidence_free(&g.out);
	g.variants.is_latency_bound = true;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(strstr(g.out.verdict, "waits for data from RAM, one load after the other: "));
	sn_loop_evidence_free(&g.out);
}

TEST(waiting_for_data_stays_whatever_the_code_does)
{
	struct given g;
	const struct sn_loop_advice *vectors;

	begin(&g);
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_DL1, 4, 2, 6);
	g.variants.class = SN_CLASS_DATA;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(g.out.trust == SN_EVIDENCE_HIGH &&
	      strstr(g.out.verdict, "waits for data from beyond first-level cache: "));
	CHECK_STRING(g.out.kind, "memory_bound");
	vectors = advice_on(&g, "vectorize");
	/* half of the time waits at least, and the other half becomes an eighth */
	CHECK(is_near(vectors->range.high, 1.6));
	CHECK(vectors->range.low <= vectors->range.high && vectors->against);
	CHECK(g.out.disagreement != NULL);
	/* nothing is sure; bringing the data nearer may bring the most: as much as DL1, and its own error */
	CHECK_STRING(g.out.advice.items[0].subject, "locality");
	CHECK(is_near(g.out.advice.items[0].range.low, 1));
	CHECK(is_near(g.out.advice.items[0].range.high, 6 * 1.1));
	sn_loop_evidence_free(&g.out);
}

TEST(data_in_cache_leave_the_models_own_error)
{
	struct given g;

	judge_one(&g, SN_VARIANT_DL1, 1.01, 0.97, 1.05);
	CHECK(g.out.trust == SN_EVIDENCE_MEDIUM && strstr(g.out.verdict, "would not help"));
	CHECK(is_near(advice_on(&g, "vectorize")->range.high, 4.8));
	CHECK(!advice_on(&g, "locality"));
	sn_loop_evidence_free(&g.out);
}

/* 16 new bytes a pass of 1 cycle, for which L2 asks 0.4 cycles, L3 0.8 and RAM 2. */
static double sure_of_vectors(uint64_t iterations)
{
	struct given g;
	struct sn_instances instances = { .all = { .iterations_median = iterations,
						   .kept_count = 1 } };
	struct sn_cqa_path path = { .metrics.bytes_from_memory = 16,
				    .moved_cycles = { 0, 0.4, 0.8, 2 } };
	double low;

	begin(&g);
	g.quality.paths = &path;
	g.quality.cycles = 1;
	g.known.instances = iterations ? &instances : NULL;
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_DL1, 1.01, 0.97, 1.05);
	sn_loop_evidence_judge(&g.known, &g.out);
	low = advice_on(&g, "vectorize")->range.low;
	sn_loop_evidence_free(&g.out);
	return low;
}

TEST(neighbours_bring_no_more_than_data_in_cache)
{
	struct given g;

	begin(&g);
	g.advice[0] = (struct sn_advice){
		SN_ADVICE_HINT, "strides", "Interchange.", "a column", 1, 1, 6
	};
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(is_near(advice_on(&g, "strides")->range.low, 1));
	CHECK(is_near(advice_on(&g, "strides")->range.high, 6));
	sn_loop_evidence_free(&g.out);
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_DL1, 1.5, 1.4, 2);
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(is_near(advice_on(&g, "strides")->range.low, 1));
	CHECK(is_near(advice_on(&g, "strides")->range.high, 2.2));
	CHECK(strstr(advice_on(&g, "strides")->against, "neighbours bring no more"));
	sn_loop_evidence_free(&g.out);
}

TEST(what_the_model_cannot_tell_widens_the_range_upwards_only)
{
	struct given g;

	begin(&g);
	g.advice[0].most_speedup = 16;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(is_near(advice_on(&g, "vectorize")->speedup, 4));
	CHECK(is_near(advice_on(&g, "vectorize")->range.low, 1));
	CHECK(is_near(advice_on(&g, "vectorize")->range.high, 16));
	CHECK(is_near(advice_on(&g, "division")->range.high, 3));
	sn_loop_evidence_free(&g.out);
}

TEST(a_faster_loop_may_wait_for_data_where_this_one_does_not)
{
	CHECK(is_near(sure_of_vectors(1500), 4 / 1.2));	    /* 24 kB */
	CHECK(is_near(sure_of_vectors(10000), 2.5 / 1.2));  /* 160 kB */
	CHECK(is_near(sure_of_vectors(20000), 1.25 / 1.2)); /* 320 kB */
	CHECK(is_near(sure_of_vectors(2000000), 1));
	CHECK(is_near(sure_of_vectors(0), 1));
}

TEST(vectors_of_a_line_may_lie_in_two)
{
	struct given g;
	struct sn_cqa_path path = { .metrics = { .loads = 2, .stores = 1 } };
	struct sn_machine machine = { .rules.vector_bytes = 64 };

	begin(&g);
	g.quality.paths = &path;
	g.quality.cycles = 1;
	g.quality.machine = &machine;
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_DL1, 1.01, 0.97, 1.05);
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(is_near(advice_on(&g, "vectorize")->range.low, 4 / 1.2 / 2));
	CHECK(strstr(advice_on(&g, "vectorize")->against, "aligned to 64 bytes") != NULL);
	sn_loop_evidence_free(&g.out);
	/* LS loads what it stores: free arithmetic bounds the division by half as much again */
	measure(&g, SN_VARIANT_LS, 1.2, 1.1, 1.3);
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(is_near(advice_on(&g, "division")->range.high, 1.3 * 1.1 * 1.5));
	sn_loop_evidence_free(&g.out);
}

TEST(a_list_that_is_far_away_waits_for_memory)
{
	struct given g;
	struct sn_cqa_path path = { .loads_on_chain = 1 };

	begin(&g);
	g.quality.paths = &path;
	g.quality.cycles = 4;
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	g.variants.figures[SN_VARIANT_ORIG].cycles = 100;
	g.variants.keeps_loads = true;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK_STRING(g.out.kind, "memory_bound");
	CHECK(strstr(g.out.verdict, "100 cycles an iteration") != NULL);
	/* nearer nodes come first: at best an iteration takes the model's 4 cycles */
	CHECK_STRING(g.out.advice.items[0].subject, "locality");
	CHECK(is_near(g.out.advice.items[0].range.low, 1));
	CHECK(is_near(g.out.advice.items[0].range.high, 25 * 1.1));
	CHECK(is_near(g.out.advice.items[0].program_range.high, 1 / (1 - 0.5 * (1 - 1 / 27.5))));
	sn_loop_evidence_free(&g.out);
	/* in cache it is not told */
	g.variants.figures[SN_VARIANT_ORIG].cycles = 5;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK_STRING(g.out.kind, "estimated");
	CHECK(strstr(g.out.verdict, "the loads that decide where it goes on") != NULL);
	sn_loop_evidence_free(&g.out);
}

TEST(of_a_chain_that_is_no_sum_nothing_is_sure)
{
	struct given g;

	begin(&g);
	g.advice[1].subject = "dependence";
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_DL1, 1.01, 0.97, 1.05);
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(is_near(advice_on(&g, "dependence")->range.low, 1));
	CHECK(is_near(advice_on(&g, "dependence")->range.high, 3.6));
	sn_loop_evidence_free(&g.out);
}

TEST(free_arithmetic_bounds_what_saves_arithmetic)
{
	struct given g;

	judge_one(&g, SN_VARIANT_LS, 1.2, 1.1, 1.3);
	CHECK(is_near(advice_on(&g, "division")->range.high, 1.3 * 1.1));
	CHECK(advice_on(&g, "division")->against != NULL);
	CHECK(is_near(advice_on(&g, "vectorize")->range.high, 4));
	sn_loop_evidence_free(&g.out);
}

TEST(short_instances_tell_no_more_here_than_of_variants)
{
	struct given g;

	begin(&g);
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_DL1, 2, 1.9, 2.1);
	g.variants.figures[SN_VARIANT_ORIG].instance_cycles = 156;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK_STRING(g.out.kind, "estimated");
	CHECK(g.out.trust == SN_EVIDENCE_LOW &&
	      strstr(g.out.verdict, "an instance takes 156 cycles"));
	CHECK(!strstr(g.out.verdict, "waits for data"));
	CHECK(!advice_on(&g, "locality") && !g.out.disagreement);
	CHECK(is_near(advice_on(&g, "vectorize")->range.high, 4));
	sn_loop_evidence_free(&g.out);
}

TEST(a_withheld_class_is_told_with_its_reason)
{
	struct given g;

	begin(&g);
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_DL1, 2, 1.9, 2.1);
	g.variants.withheld = "ORIG is not the loop";
	g.variants.figures[SN_VARIANT_DL1].state = SN_VARIANT_WITHHELD;
	g.variants.figures[SN_VARIANT_DL1].speedup = NAN;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK_STRING(g.out.kind, "estimated");
	CHECK(strstr(g.out.verdict, "ORIG is not the loop") != NULL);
	CHECK(!advice_on(&g, "locality") && !g.out.disagreement);
	sn_loop_evidence_free(&g.out);
}

/* 'show variants' has that gain, and so does the summary. */
TEST(a_gain_that_is_not_withheld_is_told_without_a_class)
{
	struct given g;

	begin(&g);
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_DL1, 10, 6.3, 16);
	g.variants.withheld = "ORIG is not the loop";
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK_STRING(g.out.kind, "memory_bound");
	CHECK(strstr(g.out.verdict, "10.00 times as fast") != NULL);
	CHECK(g.out.trust == SN_EVIDENCE_MEDIUM);
	sn_loop_evidence_free(&g.out);
	/* nor is a class beside it sure */
	g.variants.class = SN_CLASS_DATA;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK_STRING(g.out.kind, "memory_bound");
	CHECK(g.out.trust == SN_EVIDENCE_MEDIUM);
	sn_loop_evidence_free(&g.out);
}

TEST(a_chain_that_costs_nothing_is_no_advice)
{
	struct given g;
	const struct sn_loop_advice *chain;

	begin(&g);
	g.advice[1].subject = "dependence";
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_LS, 1.03, 1.02, 1.04);
	measure(&g, SN_VARIANT_ARITH, 1.04, 1.03, 1.05);
	measure(&g, SN_VARIANT_DL1, 1.04, 1.03, 1.05);
	g.variants.class = SN_CLASS_FRONT_END;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(strstr(g.out.verdict, "mispredicted") && !strstr(g.out.verdict, "Balanced"));
	chain = advice_on(&g, "dependence");
	REQUIRE(chain != NULL);
	CHECK(is_near(chain->range.high, 1.04 * 1.1) && is_near(chain->range.low, 1) &&
	      is_near(chain->speedup, 1.03));
	CHECK(strstr(chain->against, "with arithmetic free") != NULL);
	sn_loop_evidence_free(&g.out);
	/* where it costs, several chains may gain more than the loop without it */
	measure(&g, SN_VARIANT_LS, 1.5, 1.4, 1.6);
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(is_near(advice_on(&g, "dependence")->range.high, 3 * 1.2));
	sn_loop_evidence_free(&g.out);
}

TEST(few_iterations_speak_against_vectors)
{
	struct given g;

	begin(&g);
	g.instances.all.kept_count = 31;
	g.instances.all.iterations_median = 5;
	g.known.instances = &g.instances;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(strstr(advice_on(&g, "vectorize")->against, "5 iterations"));
	CHECK(!advice_on(&g, "division")->against);
	sn_loop_evidence_free(&g.out);
}

TEST(nothing_known_is_said)
{
	struct given g;

	begin(&g);
	g.known.quality = NULL;
	g.known.advice = NULL;
	sn_loop_evidence_judge(&g.known, &g.out);
	CHECK(g.out.trust == SN_EVIDENCE_NONE && !g.out.advice.count);
	CHECK_STRING(g.out.kind, "unknown");
	CHECK(strstr(g.out.verdict, "not measured"));
	sn_loop_evidence_free(&g.out);
}

/* All that concludes from a variant has the same doubt. */
TEST(a_variant_that_found_warm_caches_promises_nothing)
{
	struct given g;

	begin(&g);
	measure(&g, SN_VARIANT_DL1, 4, 3.8, 4.2);
	measure(&g, SN_VARIANT_FP, 4, 3.8, 4.2);
	CHECK(is_near(sn_variant_range(&g.variants, SN_VARIANT_DL1).low, 3.8));
	CHECK(is_near(sn_variant_range(&g.variants, SN_VARIANT_DL1).high, 4.2 * 1.1));
	CHECK(is_near(sn_variant_range(&g.variants, SN_VARIANT_FP).high, 4.2));
	g.variants.figures[SN_VARIANT_FP].state = SN_VARIANT_WARMED;
	CHECK(is_near(sn_variant_range(&g.variants, SN_VARIANT_FP).low, 1));
}

TEST(measured_waiting_is_left_of_a_speed_up_by_the_model)
{
	struct given g;

	begin(&g);
	measure(&g, SN_VARIANT_ORIG, 1, 1, 1);
	measure(&g, SN_VARIANT_DL1, 5, 4, 6);
	/* a quarter of the time is the loop's own: a twice as good one saves half of that */
	CHECK(is_near(sn_variants_beside_waiting(&g.variants, 2), 1 / 0.875));
	measure(&g, SN_VARIANT_DL1, 1.02, 0.99, 1.05);
	CHECK(is_near(sn_variants_beside_waiting(&g.variants, 2), 2));
}
