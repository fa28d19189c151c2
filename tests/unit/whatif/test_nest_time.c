/* CPU time of loops with those in them, without what they call. */
#include "whatif/nest_time.h"

#include <stdlib.h>

#include "harness/tap.h"
#include "profile/fixture.h"

TEST(loops_in_it_count_and_what_is_called_does_not)
{
	struct fixture f;
	struct sn_weight *time;
	uint64_t inner_ns, outer_ns;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_OUTER), 1, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_INNER), 2, 1000);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN_KERNEL_LOOP), 4, 1000);
	/* sin, called in the inner loop */
	fixture_samples(&f, 0, fixture_stack(&f, 0, 2, LIBM, SIN, APP, MAIN_INNER), 8, 1000);
	fixture_profile(&f, NULL);
	time = sn_nest_time(f.profile);
	outer_ns = time[fixture_loop(&f, "app.c:10-20")].cpu_ns;
	inner_ns = time[fixture_loop(&f, "app.c:12-15")].cpu_ns;
	CHECK_INT(outer_ns * 6, inner_ns * 7);
	CHECK_INT(time[fixture_loop(&f, "kernel.h:3-5")].samples, 4);
	CHECK_INT(time[fixture_loop(&f, "app.c:10-20")].samples, 7);
	CHECK(f.profile->loops[fixture_loop(&f, "app.c:10-20")].inclusive.samples == 15);
	free(time);
	fixture_end(&f);
}
