#include "experiment/moments.h"
#include "harness/tap.h"

static struct sn_experiment *made(void)
{
	struct sn_experiment *e = sn_experiment_new("x");

	for (uint32_t thread = 1; thread <= 3; thread += 2)
		for (int64_t ns = 10; ns <= 30; ns += 10) {
			sn_vec_push(&e->samples,
				    (struct sn_sample){ .thread = thread, .time_ns = ns });
			sn_vec_push(&e->waits, (struct sn_wait){ .thread = thread,
								 .time_ns = ns,
								 .duration_ns = 5 });
		}
	return e;
}

TEST(a_moment_is_where_it_would_be)
{
	struct sn_experiment *e = made();

	CHECK(sn_samples_from(e, 1, 10) == 0 && sn_samples_from(e, 1, 11) == 1);
	CHECK(sn_samples_from(e, 1, 31) == 3 && sn_samples_from(e, 2, 0) == 3);
	CHECK(sn_samples_from(e, 3, INT64_MIN) == 3 && sn_samples_from(e, 4, INT64_MIN) == 6);
	CHECK(sn_waits_from(e, 1, 20) == 1 && sn_waits_from(e, 3, 21) == 5);
	sn_experiment_free(e);
}

TEST(a_call_that_lasts_is_met)
{
	struct sn_experiment *e = made();

	CHECK(sn_waits_ending_from(e, 1, 14) == 0 && sn_waits_ending_from(e, 1, 15) == 1);
	CHECK(sn_waits_ending_from(e, 3, 12) == 3 && sn_waits_ending_from(e, 2, 12) == 3);
	CHECK(sn_waits_ending_from(e, 3, 9) == 3);
	sn_experiment_free(e);
}
