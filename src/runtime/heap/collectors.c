/* The list of collectors (core/collector.h) of the runtime that traces the heap. */
#include "runtime/core/collector.h"

#include "runtime/calls/calls.h"
#include "runtime/clock/clock.h"
#include "runtime/heap/heap.h"
#include "runtime/openmp/regions.h"
#include "runtime/patch/patch.h"
#include "runtime/sync/waits.h"

struct sn_collector *const sn_collectors[] = {
	&sn_calls_collector,
	&sn_clock_collector,
	&sn_waits_collector,
	&sn_openmp_collector,
	&sn_patch_collector,
	&sn_heap_collector,
	NULL,
};
