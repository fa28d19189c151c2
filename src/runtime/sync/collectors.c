/* The list of collectors (core/collectors.h) of the runtime that traces locks, input and output. */
#include "runtime/core/collectors.h"

#include "runtime/io/io.h"
#include "runtime/openmp/trace.h"
#include "runtime/sync/sync.h"

struct sn_collector *const sn_collectors[] = {
	SN_COLLECTORS(SN_COLLECTOR_LISTED)     /* every runtime's */
	SN_COLLECTOR_LISTED(sn_sync_collector) /* and these */
	SN_COLLECTOR_LISTED(sn_io_collector) SN_COLLECTOR_LISTED(sn_openmp_trace_collector) NULL
};
