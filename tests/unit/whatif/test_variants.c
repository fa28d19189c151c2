/* What bounds a loop, by what its variants took. */
#include "whatif/untouched.h"
#include "whatif/variants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

TEST(data_in_cache_tell_where_loads_alone_do_not)
{
	struct sn_variants v = begin();

	took(&v, SN_VARIANT_LS, 9.9, 3);
	took(&v, SN_VARIANT_FP, 3, 0.1);
	took(&v, SN_VARIANT_DL1, 4, 0.1);
	v.figures[SN_VARIANT_DL1].speedup_range = (struct sn_interval){ 2.3, 2.7 };
	CHECK(sn_loop_class_of(&v) == SN_CLASS_DATA);
	v.figures[SN_VARIANT_DL1].speedup_range = (struct sn_interval){ 1.0, 2.7 };
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
	v.figures[SN_VARIANT_DL1].speedup_range = (struct sn_interval){ 2.3, 2.7 };
	took(&v, SN_VARIANT_FP, 9.8, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
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
	/* branches that are mispredicted: whatever is left out, it takes as long */
	took(&v, SN_VARIANT_FP, 9.9, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_FRONT_END);
	/* unless each variant has the loads that decide where it goes on: they may be what it waits for */
	v.keeps_loads = true;
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
	took(&v, SN_VARIANT_FES, 4, 0.1);
	took(&v, SN_VARIANT_LS, 4, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
	took(&v, SN_VARIANT_FES, 10, 0.1);
	v.keeps_loads = false;
	/* arithmetic alone that takes as long explains it without */
	took(&v, SN_VARIANT_LS, 4, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_COMPUTE);
	took(&v, SN_VARIANT_LS, 9.9, 0.1);
	took(&v, SN_VARIANT_FES, 4, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_BOTH);
}

TEST(what_found_warm_caches_tells_nothing_of_loads_that_it_keeps)
{
	struct sn_variants v = begin();

	took(&v, SN_VARIANT_LS, 9.9, 0.1);
	took(&v, SN_VARIANT_FP, 3, 0.1);
	v.keeps_loads = true;
	CHECK(sn_loop_class_of(&v) == SN_CLASS_DATA);
	v.figures[SN_VARIANT_FP].state = SN_VARIANT_WARMED;
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
	v.keeps_loads = false;
	CHECK(sn_loop_class_of(&v) == SN_CLASS_DATA);
	CHECK(sn_variant_is_doubtful(&v.figures[SN_VARIANT_FP]) &&
	      !sn_variant_is_doubtful(&v.figures[SN_VARIANT_LS]));
	CHECK_STRING(sn_variant_state_name(&v.figures[SN_VARIANT_FP]), "warm");
}

/* A walk of a list by a count: there is no FP and no ARITH, and FES is the loop without its load. */
TEST(without_arithmetic_what_is_left_without_loads_tells)
{
	struct sn_variants v = begin();

	took(&v, SN_VARIANT_LS, 10, 0.1);
	took(&v, SN_VARIANT_FES, 3, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
	v.has_no_arithmetic = true;
	CHECK(sn_loop_class_of(&v) == SN_CLASS_DATA);
	/* LS is the loop itself: if it is faster, that is noise */
	took(&v, SN_VARIANT_LS, 5, 0.1);
	took(&v, SN_VARIANT_FES, 10, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
	took(&v, SN_VARIANT_LS, 10, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_FRONT_END);
	v.keeps_loads = true;
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
}

/* while (p) p = p->next: every variant has the load. */
TEST(a_list_that_decides_where_it_goes_on_is_bound_by_its_loads)
{
	struct sn_cqa_path path = { .loads_on_chain = 1 };
	struct sn_cqa_loop quality = { .paths = &path,
				       .path_count = 1,
				       .cycles = 4,
				       .bottleneck = SN_BOUND_LATENCY,
				       .level_cycles = { 4, 14, 50, 350 } };
	struct sn_variants v = begin();

	v.frequency_impact = NAN;
	v.keeps_loads = true;
	took(&v, SN_VARIANT_ORIG, 50, 1);
	took(&v, SN_VARIANT_LS, 50, 1);
	sn_variants_set_level(&quality, &v);
	CHECK(v.class == SN_CLASS_DATA && v.has_latency && v.is_latency_bound);
	REQUIRE(v.level != NULL);
	CHECK_STRING(v.level, "L3");
	CHECK(!sn_variants_are_sure(&v));
	/* nearer */
	v.class = SN_CLASS_UNKNOWN;
	took(&v, SN_VARIANT_ORIG, 4, 0.1);
	took(&v, SN_VARIANT_LS, 4, 0.1);
	sn_variants_set_level(&quality, &v);
	REQUIRE(v.level != NULL);
	CHECK_STRING(v.level, "L1");
	/* mispredicted branches may take it where it has several ways */
	v.class = SN_CLASS_UNKNOWN;
	quality.path_count = 2;
	sn_variants_set_level(&quality, &v);
	CHECK(v.class == SN_CLASS_UNKNOWN);
	quality.path_count = 1;
	/* or a chain that no load is part of */
	path.loads_on_chain = 0;
	sn_variants_set_level(&quality, &v);
	CHECK(v.class == SN_CLASS_UNKNOWN);
}

TEST(data_in_cache_make_no_loop_slower)
{
	struct sn_variants v = begin();
	struct sn_variant_figure *dl1 = &v.figures[SN_VARIANT_DL1];

	took(&v, SN_VARIANT_DL1, 11.9, 0.1);
	dl1->speedup = 0.841;
	dl1->speedup_range = dl1->program_range = (struct sn_interval){ 0.837, 0.845 };
	sn_variants_doubt_dl1(&v);
	CHECK(dl1->state == SN_VARIANT_WEAK && dl1->speedup_range.high == 1);
	CHECK(dl1->program_range.high == 1 && dl1->speedup_range.low == 0.837);
	dl1->state = SN_VARIANT_MEASURED;
	dl1->speedup_range = (struct sn_interval){ 0.97, 0.99 };
	sn_variants_doubt_dl1(&v);
	CHECK(dl1->state == SN_VARIANT_MEASURED && dl1->speedup_range.high == 1);
	dl1->speedup_range = (struct sn_interval){ 0.97, 1.02 };
	sn_variants_doubt_dl1(&v);
	CHECK(dl1->speedup_range.high == 1.02);
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

/* A triad: L3 and RAM of the model are 1.14 and 2.4 times L1. */
TEST(a_level_without_room_for_the_data_is_none)
{
	static const double cycles[] = { 1.5, 1.5, 1.71, 3.6 };

	/* by the cycles alone in L3, as DL1 was slow on a busy machine */
	CHECK_INT(sn_variants_level(cycles, (struct sn_interval){ 1.2, 1.5 }, 2), 2);
	CHECK_INT(sn_variants_level(cycles, (struct sn_interval){ 1.2, 1.5 }, 3), 3);
	/* and between two of them */
	CHECK_INT(sn_variants_level(cycles, (struct sn_interval){ 1.6, 1.7 }, 1), -1);
	CHECK_INT(sn_variants_level(cycles, (struct sn_interval){ 1.6, 1.7 }, 3), 3);
	CHECK_INT(sn_variants_level(cycles, (struct sn_interval){ 3.1, 4 }, 1), 3);
	CHECK_INT(sn_variants_level(cycles, (struct sn_interval){ 1.05, 4 }, 3), -1);
}

TEST(without_memory_nothing_is_bound_by_data)
{
	struct sn_variants v = begin();

	v.has_no_memory = true;
	took(&v, SN_VARIANT_FP, 10, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_UNKNOWN);
	took(&v, SN_VARIANT_FES, 4, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_COMPUTE);
	/* figures of copies that left out nothing */
	took(&v, SN_VARIANT_LS, 10, 0.1);
	took(&v, SN_VARIANT_DL1, 5, 0.1);
	v.figures[SN_VARIANT_DL1].speedup_range = (struct sn_interval){ 1.9, 2.1 };
	CHECK(sn_loop_class_of(&v) == SN_CLASS_COMPUTE);
	took(&v, SN_VARIANT_FES, 10, 0.1);
	CHECK(sn_loop_class_of(&v) == SN_CLASS_FRONT_END);
}

TEST(a_copy_that_is_not_the_loop_tells_no_gain)
{
	struct sn_arena arena = { 0 };
	struct sn_variants v = begin();
	struct sn_variant_figure *dl1 = &v.figures[SN_VARIANT_DL1];

	took(&v, SN_VARIANT_DL1, 4, 0.1);
	dl1->speedup = 2.5;
	dl1->speedup_range = (struct sn_interval){ 2.3, 2.7 };
	v.class = SN_CLASS_DATA;
	/* 10 cycles for 8.5 are 18 % more, but 100 samples leave 20 % open */
	sn_variants_refer(&v, 8.5, 100, &arena);
	CHECK(!v.withheld && v.class == SN_CLASS_DATA && dl1->speedup == 2.5);
	CHECK(fabs(v.copy_bias - 10 / 8.5) < 1e-9);
	sn_variants_refer(&v, 8.5, 10000, &arena);
	REQUIRE(v.withheld != NULL);
	CHECK(strstr(v.withheld, "1.18 times") != NULL);
	CHECK(v.class == SN_CLASS_UNKNOWN && isnan(dl1->speedup) && isnan(dl1->program_speedup));
	CHECK(isnan(dl1->speedup_range.low) && dl1->cycles == 4);
	CHECK(dl1->state == SN_VARIANT_WITHHELD && dl1->reason == v.withheld);
	/* what is not there has its own reason */
	CHECK(v.figures[SN_VARIANT_LS].state == SN_VARIANT_NOT_THERE);
	sn_arena_free(&arena);
}

TEST(a_gain_beyond_what_the_copy_explains_stays)
{
	struct sn_arena arena = { 0 };
	struct sn_variants v = begin();
	struct sn_variant_figure *dl1 = &v.figures[SN_VARIANT_DL1], *ls = &v.figures[SN_VARIANT_LS];

	v.coverage = 0.5;
	took(&v, SN_VARIANT_DL1, 1, 0.01);
	dl1->speedup = 10;
	dl1->speedup_range = (struct sn_interval){ 9, 11 };
	took(&v, SN_VARIANT_LS, 8, 0.1);
	ls->speedup = 1.25;
	ls->speedup_range = (struct sn_interval){ 1.2, 1.3 };
	v.class = SN_CLASS_DATA;
	/* 10 cycles for 6.25: 1.6 times the loop */
	sn_variants_refer(&v, 6.25, 10000, &arena);
	REQUIRE(v.withheld != NULL);
	CHECK(v.class == SN_CLASS_DATA && dl1->state == SN_VARIANT_MEASURED && dl1->speedup == 10);
	CHECK(fabs(dl1->speedup_range.low - 9 / 1.6) < 1e-9);
	CHECK(fabs(dl1->speedup_range.high - 11 * 1.6) < 1e-9);
	CHECK(fabs(dl1->program_range.low - 1 / (0.5 + 0.5 / (9 / 1.6))) < 1e-9);
	CHECK(ls->state == SN_VARIANT_WITHHELD && isnan(ls->speedup));
	/* the same for all who conclude from it */
	CHECK(sn_variant_counts(&v, SN_VARIANT_DL1) && !sn_variant_counts(&v, SN_VARIANT_LS));
	CHECK(!sn_variants_are_sure(&v));
	sn_arena_free(&arena);
}

/* ORIG's own timings leave as much open. */
TEST(what_orig_leaves_open_is_no_difference)
{
	struct sn_arena arena = { 0 };
	struct sn_variants v = begin();

	took(&v, SN_VARIANT_ORIG, 10, 2.2);
	sn_variants_refer(&v, 12.6, 10000, &arena);
	CHECK(!v.withheld);
	sn_variants_refer(&v, 14, 10000, &arena);
	CHECK(v.withheld != NULL);
	sn_arena_free(&arena);
}

TEST(a_copy_may_be_too_fast_as_well)
{
	struct sn_arena arena = { 0 };
	struct sn_variants v = begin();

	sn_variants_refer(&v, 10.9, 10000, &arena);
	CHECK(!v.withheld);
	sn_variants_refer(&v, 12, 10000, &arena);
	CHECK(v.withheld && strstr(v.withheld, "0.83 times"));
	sn_arena_free(&arena);
}

static sn_status read_back(const char *folder, const char *text, size_t length,
			   struct sn_untouched *out)
{
	char path[128];
	struct sn_error err;
	FILE *file;

	snprintf(path, sizeof(path), "%s/untouched.tsv", folder);
	file = fopen(path, "w");
	REQUIRE(file && fwrite(text, 1, length, file) == length && !fclose(file));
	return sn_untouched_read(folder, out, &err);
}

TEST(what_loops_took_before_is_read_back_and_damage_is_told)
{
	static const char text[] = "counter_hz\t2500000000\nloop\tuser_ns\tsamples\n"
				   "ab:1:2\t300\t4\nab:1:9\t18446744073709551615\t1\n";
	char folder[] = "/tmp/sonde-untouched-XXXXXX", path[64];
	struct sn_untouched read;
	struct sn_error err;

	REQUIRE(mkdtemp(folder));
	CHECK(sn_untouched_read(folder, &read, &err) == SN_ERR_NOT_FOUND);
	sn_untouched_free(&read);
	REQUIRE(read_back(folder, text, sizeof(text) - 1, &read) == SN_OK);
	CHECK_INT(read.loops.count, 2);
	CHECK(read.counter_hz == 2.5e9);
	CHECK_INT(sn_untouched_find(&read, "ab:1:2")->user_ns, 300);
	CHECK_INT(sn_untouched_find(&read, "ab:1:2")->samples, 4);
	CHECK(!sn_untouched_find(&read, "ab:1:"));
	sn_untouched_free(&read);
	for (size_t cut = 0; cut < sizeof(text) - 1; cut++) {
		bool is_whole_lines = cut && text[cut - 1] == '\n' && cut > 40;

		CHECK((read_back(folder, text, cut, &read) == SN_OK) == is_whole_lines);
		sn_untouched_free(&read);
	}
	CHECK(read_back(folder, "counter_hz\t-1\nloop\tuser_ns\tsamples\n", 36, &read) ==
	      SN_ERR_FORMAT);
	sn_untouched_free(&read);
	snprintf(path, sizeof(path), "%s/untouched.tsv", folder);
	remove(path);
	remove(folder);
}
