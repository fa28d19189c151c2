/**
 * The collectors, in the order in which core asks them. This is the only list: libraries that have
 * one more (heap/collectors.c, tests/collector) append to it.
 */
#ifndef SN_RUNTIME_CORE_COLLECTORS_H
#define SN_RUNTIME_CORE_COLLECTORS_H

#include "runtime/core/collector.h"

/* X(name of a struct sn_collector). The first tells the others of calls; then CPU time, counters, calls that
 * blocked, parallel regions, instances of loops, calls of MPI, and who switches them for an agent. */
#define SN_COLLECTORS(X)                                                                           \
	X(sn_calls_collector)                                                                      \
	X(sn_clock_collector)                                                                      \
	X(sn_counters_collector)                                                                   \
	X(sn_waits_collector)                                                                      \
	X(sn_openmp_collector)                                                                     \
	X(sn_patch_collector)                                                                      \
	X(sn_mpi_collector)                                                                        \
	X(sn_monitor_collector)

#define SN_COLLECTOR_DECLARED(name) extern struct sn_collector name;
#define SN_COLLECTOR_LISTED(name)   &name,

SN_COLLECTORS(SN_COLLECTOR_DECLARED)

#endif
