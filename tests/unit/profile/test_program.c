/* Loops of a program: the code's own, found by it and by id. */
#include "profile/program.h"

#include "harness/tap.h"
#include "profile/fixture.h"

static const struct sn_program_loop *loop_at(const struct fixture *f, const char *label)
{
	return &f->program->loops.items[fixture_loop(f, label)];
}

static void nest_sampled(struct fixture *f)
{
	fixture_begin(f);
	fixture_samples(f, 0, fixture_stack(f, 0, 1, APP, MAIN_KERNEL_LOOP), 3, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 1, APP, MAIN_INNER), 2, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 1, LIBGOMP, BARRIER_SPIN), 1, 1000);
	fixture_profile(f, NULL);
}

TEST(a_loop_is_found_by_its_code_and_by_its_id)
{
	struct fixture f;

	nest_sampled(&f);
	CHECK_INT(f.program->loops.count, 4);
	for (uint32_t l = 0; l < f.program->loops.count; l++) {
		const struct sn_loop *code = f.program->loops.items[l].code;

		CHECK_INT(sn_program_loop_of(f.program, code), l);
		CHECK_INT(sn_program_loop_with_id(f.program, code->id), l);
	}
	fixture_end(&f);
}

TEST(a_loop_that_no_sample_met_is_no_loop_of_the_program)
{
	static const struct sn_loop other = { .id = "aa:1000:10" };
	struct fixture f;

	nest_sampled(&f);
	CHECK_INT(sn_program_loop_of(f.program, &other), SN_NONE);
	CHECK_INT(sn_program_loop_with_id(f.program, "aa:3000:20"), SN_NONE);
	CHECK_INT(sn_program_loop_with_id(f.program, "aa:1000"), SN_NONE); /* the whole id */
	CHECK_INT(sn_program_loop_with_id(f.program, ""), SN_NONE);
	fixture_end(&f);
}

TEST(parents_are_those_of_the_code)
{
	struct fixture f;
	const struct sn_program_loop *kernel, *inner, *outer;

	nest_sampled(&f);
	kernel = loop_at(&f, "kernel.h:3-5");
	inner = &f.program->loops.items[kernel->parent];
	outer = &f.program->loops.items[inner->parent];
	CHECK(inner->code == &kernel->code->function->loops[kernel->code->parent]);
	CHECK(outer->code == &inner->code->function->loops[inner->code->parent]);
	CHECK_INT(outer->parent, SN_NONE);
	CHECK_INT(loop_at(&f, "GOMP_barrier+0x10")->parent, SN_NONE);
	fixture_end(&f);
}

TEST(a_loop_without_lines_is_a_source_loop_by_where_it_is)
{
	struct fixture f;

	nest_sampled(&f);
	CHECK_INT(f.program->source_loop_count, 4);
	for (uint32_t l = 0; l < f.program->loops.count; l++)
		CHECK(f.program->loops.items[l].source_loop < f.program->source_loop_count);
	fixture_end(&f);
}
