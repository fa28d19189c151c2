/* What bounds a loop, by what its variants took. */
#include "whatif/variants.h"

#include <math.h>

#include "harness/tap.h"

/* A loop of 10 cycles an iteration, 10,000 an instance, of which nothing else was measured. */
static struct sn_variants begin(void)
{
	struct sn_variants v = { .exponent = -1 };

	for (int i = 0; i < SN_VARIANTS; i++)
		v.figures[i] = (struct sn_variant_figure){
			.state = SN_VARIANT_NOT_THERE, .cycles = NAN, .low = NAN, .high = NAN
		};
	v.figures[SN_VARIANT_ORIG] = (struct sn_variant_figure){ .state = SN_VARIANT_MEASURED,
								 .samples = 100,
								 .cycles = 10,
								 .low = 9.8,
								 .high = 10.2,
								 .instance_cycles = 10000 };
	return v;
}

static void took(struct sn_variants *v, enum sn_decan_variant which, double cycles, double width)
{
	v->figures[which] = (struct sn_variant_figure){ .state = SN_VARIANT_MEASURED,
							.samples = 100,
							.cycles = cycles,
							.low = cycles - width,
							.high = cycles + width,
							.instance_cycles = cycles * 1000 };
}

TEST(what_takes_as_long_as_the_loop_bounds_it)
{
	struct sn_variants v = begin();

	took(&v, SN_VARIANT_LS, 9.9, 0.1);
	took(&v, SN_VARIANT_FP, 3, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_DATA);
	took(&v, SN_VARIANT_FP, 9.8, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_BOTH);
	took(&v, SN_VARIANT_LS, 4, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_COMPUTE);
	took(&v, SN_VARIANT_FP, 5, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_NEITHER);
}

TEST(arithmetic_is_of_integers_where_there_is_no_other)
{
	struct sn_variants v = begin();

	took(&v, SN_VARIANT_LS, 3, 0.1);
	took(&v, SN_VARIANT_ARITH, 9.9, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_COMPUTE);
}

TEST(instructions_without_effect_tell_only_beside_faster_arithmetic)
{
	struct sn_variants v = begin();

	/* all that could be made is FES: every instruction may have been kept for control */
	took(&v, SN_VARIANT_FES, 10, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
	took(&v, SN_VARIANT_LS, 9.9, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
	took(&v, SN_VARIANT_FP, 4, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_FRONT_END);
	/* arithmetic that takes as long explains it without */
	took(&v, SN_VARIANT_FP, 9.9, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_BOTH);
}

TEST(noise_and_short_instances_decide_nothing)
{
	struct sn_variants v = begin();

	took(&v, SN_VARIANT_LS, 9.9, 0.1);
	took(&v, SN_VARIANT_FP, 8.5, 3);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
	took(&v, SN_VARIANT_FP, 3, 0.1);
	v.figures[SN_VARIANT_ORIG].instance_cycles = 249;
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
}
