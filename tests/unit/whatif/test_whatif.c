/* Shares, ranks and doubts of loops; the figures of their code are those of src/cqa. */
#include "whatif/whatif.h"

#include <math.h>
#include <string.h>

#include "harness/tap.h"
#include "profile/fixture.h"

TEST(doubts_are_named_in_order)
{
	char text[SN_DOUBTS_TEXT];

	CHECK_STRING(sn_doubts_print(0, text), "");
	CHECK_STRING(sn_doubts_print(SN_DOUBT_FEW_SAMPLES, text), "few samples");
	CHECK_STRING(sn_doubts_print(SN_DOUBT_CALLS | SN_DOUBT_FEW_SAMPLES, text),
		     "few samples, calls");
	CHECK(strlen(sn_doubts_print((1U << SN_DOUBTS) - 1, text)) < SN_DOUBTS_TEXT - 1);
}

static struct sn_whatif *make(struct fixture *f, struct sn_structures **structures, size_t most)
{
	const struct sn_machine *machine;
	struct sn_error err = { 0 };

	fixture_begin(f);
	fixture_samples(f, 0, fixture_stack(f, 0, 1, APP, MAIN_KERNEL_LOOP), 30, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 1, APP, LEAF_MAIN_LOOP), 10, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 1, LIBM, SIN), 60, 1000);
	fixture_profile(f, NULL);
	REQUIRE(sn_machine_find("zen4", &machine, &err) == SN_OK);
	*structures = sn_structures_new(f->experiment);
	return sn_whatif_new(machine, f->profile, *structures, most);
}

TEST(loops_come_hottest_first_with_their_share_of_the_run)
{
	struct sn_structures *structures;
	struct fixture f;
	struct sn_whatif *w = make(&f, &structures, SN_WHATIF_LOOPS_MAX);

	REQUIRE(w->loops.count == 2 && w->left_out == 0);
	CHECK_INT(w->loops.items[0].loop, fixture_loop(&f, "kernel.h:3-5"));
	CHECK_INT(w->loops.items[1].loop, fixture_loop(&f, "leaf.c:5-9"));
	CHECK_REAL(w->loops.items[0].share, 0.3, 1e-9);
	CHECK_REAL(w->loops.items[1].share, 0.1, 1e-9);
	CHECK(w->loops.items[0].share_low < 0.3 && w->loops.items[0].share_high > 0.3);
	CHECK_INT(w->loops.items[0].samples, 30);
	CHECK(w->loops.items[0].rank < w->loops.items[1].rank);
	sn_whatif_free(w);
	sn_structures_free(structures);
	fixture_end(&f);
}

/* The programs of the fixture are not there: nothing is promised of their loops. */
TEST(a_loop_without_its_code_promises_nothing)
{
	struct sn_structures *structures;
	struct fixture f;
	struct sn_whatif *w = make(&f, &structures, SN_WHATIF_LOOPS_MAX);

	CHECK(w->loops.items[0].doubts & SN_DOUBT_NOT_ANALYSED);
	CHECK(!(w->loops.items[0].doubts & SN_DOUBT_FEW_SAMPLES));
	CHECK(w->loops.items[1].doubts & SN_DOUBT_FEW_SAMPLES);
	CHECK_REAL(w->analysed_share, 0, 0);
	for (unsigned v = 0; v < SN_VARIANT_COUNT; v++)
		CHECK(isnan(w->variants[v].speedup));
	sn_whatif_free(w);
	sn_structures_free(structures);
	fixture_end(&f);
}

TEST(loops_beyond_the_limit_are_counted)
{
	struct sn_structures *structures;
	struct fixture f;
	struct sn_whatif *w = make(&f, &structures, 1);

	CHECK_INT(w->loops.count, 1);
	CHECK_INT(w->left_out, 1);
	sn_whatif_free(w);
	sn_structures_free(structures);
	fixture_end(&f);
}
