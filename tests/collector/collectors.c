/* The runtime's list of collectors with the example at its end: core/collectors.c and one line. */
#include "runtime/core/collector.h"

#include "runtime/calls/calls.h"
#include "runtime/clock/clock.h"
#include "runtime/openmp/regions.h"
#include "runtime/sync/waits.h"

extern struct sn_collector example_reads_collector;

struct sn_collector *const sn_collectors[] = {
	&sn_calls_collector,  &sn_clock_collector,	&sn_waits_collector,
	&sn_openmp_collector, &example_reads_collector, NULL,
};
