/**
 * Times calls that may block, and records those that did for long enough (settings.wait_min_ns).
 */
#ifndef SN_RUNTIME_SYNC_WAITS_H
#define SN_RUNTIME_SYNC_WAITS_H

#include "runtime/core/runtime.h"

enum sn_wait_is { /* enum sn_wait_kind of experiment.h */
		  SN_WAIT_IS_LOCK,
		  SN_WAIT_IS_CONDITION,
		  SN_WAIT_IS_IO,
		  SN_WAIT_IS_POLL,
		  SN_WAIT_IS_SLEEP,
		  SN_WAIT_IS_CHILD,
		  SN_WAIT_IS_OTHER,
};

/* The counter runs at 1 GHz or more everywhere: fewer ticks than the threshold's ns are too short.
 */

static inline uint64_t sn_wait_begin(void)
{
	if (!sn_self || !sn_is_active() || !sn_config.settings.wait_min_ns)
		return 0;
	return __builtin_ia32_rdtsc();
}

/** The slow half: turns ticks into ns, and records or counts. */
void sn_wait_long(uint64_t ticks, enum sn_wait_is kind, void *function);

static inline void sn_wait_end(uint64_t begin, enum sn_wait_is kind, void *function)
{
	if (!begin)
		return;
	uint64_t ticks = __builtin_ia32_rdtsc() - begin;
	if (ticks > sn_config.settings.wait_min_ns)
		sn_wait_long(ticks, kind, function);
}

#endif
