/* The runtime's list of collectors (core/collectors.h) with the examples at its end. */
#include "runtime/core/collectors.h"

extern struct sn_collector example_reads_collector, example_breaks_collector;

struct sn_collector *const sn_collectors[] = {
	SN_COLLECTORS(SN_COLLECTOR_LISTED)	     /* every runtime's */
	SN_COLLECTOR_LISTED(example_reads_collector) /* and these */
	SN_COLLECTOR_LISTED(example_breaks_collector) NULL
};
