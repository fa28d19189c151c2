/* The collectors, in the order in which core asks them. A new one is added here, and nowhere else in
 * core. */
#include "runtime/core/collector.h"

#include "runtime/calls/calls.h"
#include "runtime/clock/clock.h"
#include "runtime/openmp/regions.h"
#include "runtime/patch/patch.h"
#include "runtime/sync/waits.h"

struct sn_collector *const sn_collectors[] = {
	&sn_calls_collector,  /* tells the others of calls */
	&sn_clock_collector,  /* CPU time */
	&sn_waits_collector,  /* calls that blocked */
	&sn_openmp_collector, /* parallel regions */
	&sn_patch_collector,  /* instances of loops */
	NULL,
};
