/* The list of collectors (core/collectors.h) of the runtime that traces the heap: one more. */
#include "runtime/core/collectors.h"

#include "runtime/heap/heap.h"

struct sn_collector *const sn_collectors[] = {
	SN_COLLECTORS(SN_COLLECTOR_LISTED)     /* every runtime's */
	SN_COLLECTOR_LISTED(sn_heap_collector) /* and this one */
	NULL
};
