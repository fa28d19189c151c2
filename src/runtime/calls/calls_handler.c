/*
 * The wrappers of calls/list.h, and how collectors are told. A short call that somebody wants to
 * know the length of costs two readings of the time-stamp counter. libc's own calls (stdio, the
 * resolver) do not pass here.
 */
#include "runtime/calls/calls.h"

#include "runtime/calls/locks.h"
#include "runtime/calls/real.h"

struct sn_calls sn_calls = { .long_ticks = UINT64_MAX };

#define CALL(group, type, name, parameters, arguments)                                             \
	SN_EXPORT type name parameters                                                             \
	{                                                                                          \
		if (!sn_calls_are_asked(group))                                                    \
			return REAL_CALL(name) arguments;                                          \
		struct sn_call call;                                                               \
		SN_CALL_BEGIN(call, group, name, SN_CALL_LIST arguments);                          \
		type result = REAL_CALL(name) arguments;                                           \
		sn_call_end(&call, result);                                                        \
		return result;                                                                     \
	}
#include "runtime/calls/list.h"
#undef CALL

/* With 64-bit offsets the headers call pread64 what the program may know as pread. */
ssize_t plain_pread(int fd, void *bytes, size_t count, off64_t offset) __asm__("pread");
ssize_t plain_pwrite(int fd, const void *bytes, size_t count, off64_t offset) __asm__("pwrite");

SN_EXPORT ssize_t plain_pread(int fd, void *bytes, size_t count, off64_t offset)
{
	return pread64(fd, bytes, count, offset);
}

SN_EXPORT ssize_t plain_pwrite(int fd, const void *bytes, size_t count, off64_t offset)
{
	return pwrite64(fd, bytes, count, offset);
}

/* ---- who is told ---- */

/* `left`: by index. Mostly there is one, to whom this jumps. */
static inline void tell(void (*const *functions)(struct sn_thread *, const struct sn_call *),
			unsigned left, const struct sn_call *call)
{
	for (; left & (left - 1); left &= left - 1)
		functions[__builtin_ctz(left)](sn_self, call);
	functions[__builtin_ctz(left)](sn_self, call);
}

__attribute__((noinline)) void sn_call_tell_before(const struct sn_call *call)
{
	tell(sn_calls.before, call->told, call);
}

__attribute__((noinline)) void sn_call_tell_after(const struct sn_call *call)
{
	unsigned left = call->told;

	if (call->ticks > sn_calls.long_ticks)
		left |= sn_calls.long_askers[call->group];
	if (left)
		tell(sn_calls.after, left, call);
}

static void note_asked(uint32_t groups)
{
	uint32_t asked = atomic_load_explicit(&sn_calls.asked, memory_order_relaxed);

	if ((asked & groups) != groups)
		atomic_fetch_or_explicit(&sn_calls.asked, groups, memory_order_relaxed);
}

void sn_calls_ask_long(const struct sn_collector *collector, uint32_t groups, uint64_t least_ns)
{
	for (uint32_t left = groups; left; left &= left - 1)
		sn_calls.long_askers[__builtin_ctz(left)] |= (uint16_t)(1u << collector->index);
	/* the counter runs at 1 GHz or more everywhere: fewer ticks are too short */
	sn_calls.long_ticks = least_ns;
	note_asked(groups);
}

void sn_calls_ask(struct sn_thread *thread, const struct sn_collector *collector, uint32_t groups,
		  bool is_asked)
{
	struct sn_calls_part *part = sn_calls_part_of(thread);
	uint16_t bit = (uint16_t)(1u << collector->index);

	/* a handler may come between, and ask for another collector */
	for (uint32_t left = groups; left; left &= left - 1) {
		_Atomic uint16_t *askers = &part->askers[__builtin_ctz(left)];
		if (is_asked)
			atomic_fetch_or_explicit(askers, bit, memory_order_relaxed);
		else
			atomic_fetch_and_explicit(askers, (uint16_t)~bit, memory_order_relaxed);
	}
	if (is_asked)
		note_asked(groups);
}

void sn_calls_ask_some(struct sn_thread *thread, const struct sn_collector *collector,
		       bool is_asked)
{
	struct sn_calls_part *part = sn_calls_part_of(thread);

	part->some_asker = is_asked ? (uint16_t)(1u << collector->index) : 0;
	for (int i = 0; is_asked && i < SN_CALL_SLOTS; i++)
		part->left[i] = 1;
}

/* ---- the collector that tells the others ---- */

static void count_cost(struct sn_thread *self, uint64_t switches)
{
	struct sn_calls_part *part = sn_calls_part_of(self);

	(void)switches;
	atomic_fetch_add_explicit(&sn_header()->timed_calls, part->count, memory_order_relaxed);
	part->count = 0;
}

struct sn_collector sn_calls_collector = {
	.name = "calls",
	.thread_bytes = sizeof(struct sn_calls_part),
	.load = sn_calls_load,
	.share = sn_locks_watch,
	.cost = count_cost,
	.trim = sn_locks_trim,
};
