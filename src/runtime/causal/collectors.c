/* The list of collectors (core/collectors.h) of the runtime for causal experiments: one more. */
#include "runtime/core/collectors.h"

#include "runtime/causal/causal.h"

struct sn_collector *const sn_collectors[] = {
	SN_COLLECTORS(SN_COLLECTOR_LISTED)	 /* every runtime's */
	SN_COLLECTOR_LISTED(sn_causal_collector) /* and this one */
	NULL
};
