/**
 * Times calls that may block, and records those that did for long enough (settings.wait_min_ns).
 */
#ifndef SN_RUNTIME_SYNC_WAITS_H
#define SN_RUNTIME_SYNC_WAITS_H

#include "runtime/core/runtime.h"

/* The counter runs at 1 GHz or more everywhere: fewer ticks than the threshold's ns are too short.
 *
 * A kind of wait that was long the last time (in this thread) is written with its stack before it
 * begins, so that a process killed meanwhile shows where it stood; the stack costs the same then as
 * afterwards. */

/** Writes the wait as open. */
void sn_wait_open(struct sn_thread *self, uint64_t begin, enum sn_wait_kind kind, void *function);

static inline uint64_t sn_wait_begin(enum sn_wait_kind kind, void *function)
{
	struct sn_thread *self = sn_self_in_call();

	if (!self || !sn_is_active() || !sn_config.settings.wait_min_ns)
		return 0;
	self->timed_calls++;
	uint64_t begin = __builtin_ia32_rdtsc();
	if (__builtin_expect(self->call_gap != 0, 0))
		sn_call_begin(self, begin, function);
	if (self->long_kinds >> kind & 1)
		sn_wait_open(self, begin, kind, function);
	return begin;
}

/** The slow half: turns ticks into ns, and records or counts. */
void sn_wait_long(uint64_t begin, uint64_t ticks, enum sn_wait_kind kind, void *function);
/** It was short after all. */
void sn_wait_void(struct sn_thread *self, enum sn_wait_kind kind);

static inline void sn_wait_end(uint64_t begin, enum sn_wait_kind kind, void *function)
{
	struct sn_thread *self = sn_self;

	if (!begin || !self || !sn_is_active())
		return;
	uint64_t ticks = __builtin_ia32_rdtsc() - begin;
	if (__builtin_expect(self->in_call == begin, 0))
		sn_call_end(self, function);
	if (ticks > sn_config.settings.wait_min_ns)
		sn_wait_long(begin, ticks, kind, function);
	else if (self->open_wait && self->open_begin == begin)
		sn_wait_void(self, kind);
}

#endif
