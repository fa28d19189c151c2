/* Gains of loops add up once: of loops in each other one stands for all. */
#include "whatif/measured.h"

#include <math.h>
#include <string.h>

#include "harness/tap.h"

enum { LOOPS = 5 };

/* Loop 1 is in 0, 2 in 1; 3 and 4 stand alone. */
struct given {
	struct sn_program_loop loops[LOOPS];
	struct sn_program program;
	struct sn_variants rows[LOOPS + 1];
	struct sn_variants_list list;
	struct sn_measured_curve curve;
};

static void begin(struct given *g)
{
	static const uint32_t parents[LOOPS] = { SN_NONE, 0, 1, SN_NONE, SN_NONE };

	memset(g, 0, sizeof(*g));
	for (uint32_t i = 0; i < LOOPS; i++)
		g->loops[i].parent = parents[i];
	g->program.loops.items = g->loops;
	g->program.loops.count = LOOPS;
	g->list.items = g->rows;
}

static void measure(struct given *g, uint32_t loop, double coverage, double speedup, double low,
		    double high)
{
	struct sn_variants *row = &g->rows[g->list.count++];

	row->loop = loop;
	row->exponent = -1;
	row->coverage = coverage;
	for (int v = 0; v < SN_VARIANTS; v++)
		row->figures[v] =
			(struct sn_variant_figure){ .state = SN_VARIANT_NOT_THERE, .speedup = NAN };
	row->figures[SN_VARIANT_ORIG].instance_cycles = 10000;
	row->figures[SN_VARIANT_DL1] = (struct sn_variant_figure){ .state = SN_VARIANT_MEASURED,
								   .speedup = speedup,
								   .speedup_range = { low, high } };
}

static void find(struct given *g);

/* As little as on the loop's page. */
TEST(a_gain_of_short_instances_is_in_no_curve)
{
	struct given g;

	begin(&g);
	measure(&g, 3, 0.5, 2, 1.9, 2.1);
	find(&g);
	CHECK_INT(g.curve.loops.count, 1);
	sn_measured_curve_free(&g.curve);
	g.rows[0].figures[SN_VARIANT_ORIG].instance_cycles = 249;
	find(&g);
	CHECK_INT(g.curve.loops.count, 0);
	sn_measured_curve_free(&g.curve);
}

static void find(struct given *g)
{
	sn_measured_curve_find(&g->program, &g->list, SN_VARIANT_DL1, &g->curve);
}

TEST(gains_add_up_most_first)
{
	struct given g;

	begin(&g);
	measure(&g, 3, 0.2, 2, 2, 2);
	measure(&g, 4, 0.6, 3, 2, 6);
	find(&g);
	REQUIRE(g.curve.loops.count == 2 && g.curve.count == 2);
	CHECK_INT(g.curve.loops.items[0].variants->loop, 4);
	CHECK_REAL(g.curve.loops.items[0].saved, 0.4, 1e-12);
	CHECK_REAL(g.curve.loops.items[0].cumulative, 1 / 0.6, 1e-12);
	CHECK_INT(g.curve.loops.items[1].rank, 2);
	CHECK_REAL(g.curve.speedup, 2, 1e-12);
	/* 0.6 of 2 saves 0.3, of 6 it saves 0.5; the other is exact */
	CHECK_REAL(g.curve.range.low, 1 / 0.6, 1e-12);
	CHECK_REAL(g.curve.range.high, 1 / 0.4, 1e-12);
	CHECK_REAL(g.curve.measured_share, 0.8, 1e-12);
	/* the first brings 0.667 of 1 */
	CHECK_INT(g.curve.loops_for_80_percent, 2);
	sn_measured_curve_free(&g.curve);
}

TEST(errors_of_loops_add_in_squares)
{
	struct given g;

	begin(&g);
	/* each saves 0.2, from 0.17 and from 0.16 */
	measure(&g, 3, 0.4, 2, 0.4 / 0.23, 2);
	measure(&g, 4, 0.4, 2, 0.4 / 0.24, 2);
	find(&g);
	CHECK_REAL(g.curve.speedup, 1 / 0.6, 1e-12);
	CHECK_REAL(g.curve.range.low, 1 / 0.65, 1e-12);
	CHECK_REAL(g.curve.range.high, 1 / 0.6, 1e-12);
	sn_measured_curve_free(&g.curve);
}

TEST(of_a_nest_the_loop_that_saves_most_stands_for_all)
{
	struct given g;

	begin(&g);
	measure(&g, 0, 0.8, 1.25, 1.25, 1.25); /* 0.16 */
	measure(&g, 1, 0.7, 2, 2, 2);	       /* 0.35 */
	measure(&g, 2, 0.6, 1.5, 1.5, 1.5);    /* 0.20 */
	measure(&g, 3, 0.1, 2, 2, 2);	       /* 0.05 */
	find(&g);
	REQUIRE(g.curve.loops.count == 4);
	CHECK_INT(g.curve.count, 2);
	CHECK_INT(g.curve.loops.items[0].variants->loop, 1);
	CHECK_INT(g.curve.loops.items[1].variants->loop, 3);
	CHECK_REAL(g.curve.speedup, 1 / 0.6, 1e-12);
	for (size_t i = 2; i < 4; i++) {
		CHECK_INT(g.curve.loops.items[i].rank, 0);
		CHECK_INT(g.curve.loops.items[i].counted_with, 1);
		CHECK(isnan(g.curve.loops.items[i].cumulative));
	}
	/* the nest's time counts once */
	CHECK_REAL(g.curve.measured_share, 0.9, 1e-12);
	sn_measured_curve_free(&g.curve);
}

TEST(what_would_lose_is_left_as_it_is)
{
	struct given g;

	begin(&g);
	measure(&g, 3, 0.5, 0.8, 0.7, 0.9);
	find(&g);
	CHECK_INT(g.curve.count, 0);
	CHECK_INT(g.curve.loops.items[0].rank, 0);
	CHECK(g.curve.loops.items[0].saved < 0);
	CHECK(g.curve.loops.items[0].counted_with == SN_NONE);
	CHECK_REAL(g.curve.speedup, 1, 0);
	CHECK_INT(g.curve.loops_for_80_percent, 0);
	sn_measured_curve_free(&g.curve);
}

TEST(buckets_and_what_was_not_timed_are_no_loops)
{
	struct given g;

	begin(&g);
	measure(&g, 3, 0.5, 2, 2, 2);
	measure(&g, 3, 0.5, 4, 4, 4);
	g.rows[1].exponent = 3;
	measure(&g, 4, 0.2, NAN, NAN, NAN);
	find(&g);
	CHECK_INT(g.curve.loops.count, 1);
	CHECK_REAL(g.curve.measured_share, 0.5, 1e-12);
	sn_measured_curve_free(&g.curve);
	sn_measured_curve_find(&g.program, &g.list, SN_VARIANT_LS, &g.curve);
	CHECK_INT(g.curve.loops.count, 0);
	CHECK(isnan(g.curve.speedup));
	sn_measured_curve_free(&g.curve);
}

TEST(without_samples_in_them_nothing_is_known_of_the_program)
{
	struct given g;

	begin(&g);
	measure(&g, 3, 0, 2, 2, 2);
	find(&g);
	CHECK_INT(g.curve.loops.count, 1);
	CHECK(isnan(g.curve.speedup));
	CHECK_INT(g.curve.loops_for_80_percent, 0);
	sn_measured_curve_free(&g.curve);
}
