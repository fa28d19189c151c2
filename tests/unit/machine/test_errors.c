/* The model's error is data of each core, and widens what it says both ways. */
#include "machine/errors.h"

#include <math.h>

#include "harness/tap.h"
#include "machine/cores/cores.h"

TEST(every_core_has_an_error)
{
	for (const struct sn_core *const *core = sn_cores; *core; core++)
		CHECK(sn_machine_ratio_error((*core)->name) > 1 &&
		      sn_machine_ratio_error((*core)->name) < 5);
}

TEST(a_core_that_was_never_measured_is_trusted_less)
{
	CHECK(sn_machine_ratio_error("zen4") > sn_machine_ratio_error("zen5"));
	CHECK(sn_machine_ratio_error("zen4") > sn_machine_ratio_error("sapphirerapids"));
	CHECK_REAL(sn_machine_ratio_error("zen4"), sn_machine_ratio_error("haswell"), 0);
	CHECK_REAL(sn_machine_ratio_error("zen"), sn_machine_ratio_error("haswell"), 0);
}

TEST(a_speed_up_is_widened_by_it_both_ways)
{
	double error = sn_machine_ratio_error("zen5");
	struct sn_interval may = sn_machine_speedup_interval("zen5", 4, 8);

	CHECK_REAL(may.low, 4 / error, 1e-12);
	CHECK_REAL(may.high, 8 * error, 1e-12);
	may = sn_machine_speedup_interval("zen5", 1.01, 1);
	CHECK_REAL(may.low, 1, 0);
	CHECK_REAL(may.high, 1, 0);
	may = sn_machine_speedup_interval("zen5", NAN, NAN);
	CHECK(isnan(may.low) && isnan(may.high));
}
