/**
 * Calls of libc's functions, told to the collectors that asked. One wrapper interposes each function,
 * whoever wants it. A collector asks by group, in one of three ways:
 *
 *   sn_calls_ask       every call of one thread: before_call, then after_call
 *   sn_calls_ask_some  some calls of one thread: the same, each time after so many of that function
 *   sn_calls_ask_long  calls that took longer than a threshold, of all threads: after_call
 *
 * Where nobody asked, a wrapper is a test and a jump.
 */
#ifndef SN_RUNTIME_CALLS_CALLS_H
#define SN_RUNTIME_CALLS_CALLS_H

#include "runtime/calls/real.h"
#include "runtime/core/collector.h"

/** What may block has its enum sn_wait_kind for its group; other groups follow those. */
enum {
	SN_CALL_PLAIN = SN_WAIT_KINDS, /* does not block, and no other group has it */
	SN_CALL_GROUPS = 16,
	SN_CALL_WORDS = 7,
	SN_CALL_SLOTS = 8,	  /* in which functions are counted */
	SN_BETWEEN_LONG = 500000, /* ticks, 0.1 to 0.3 ms: it may have lost its CPU meanwhile */
};

/** Times are by the time-stamp counter. `begin` tells the calls of a thread apart. */
struct sn_call {
	uint64_t begin;	      /* 0: nobody asked */
	uint64_t ticks;	      /* how long it took; set for after_call */
	const void *function; /* libc's */
	uint8_t group;
	uint16_t told; /* who was told before it, by index of collectors */
	/* set for collectors that were told before it: which function (enum sn_call_name), the
	 * wrapper's frame, whose return address is the program's, and the words as passed */
	uint16_t which;
	const uint64_t *frame;
	long words[SN_CALL_WORDS];
	long result; /* for after_call */
};

/** What is asked for in the whole process. What each call reads lies in one line of the cache. */
struct sn_calls {
	_Atomic uint32_t asked; /* groups that somebody wants */
	uint32_t part_offset;	/* of struct sn_calls_part in a thread's block */
	uint64_t long_ticks;
	uint16_t long_askers[SN_CALL_GROUPS]; /* collectors by index */
	/* their before_call and after_call */
	void (*before[SN_COLLECTORS_MAX])(struct sn_thread *, const struct sn_call *);
	void (*after[SN_COLLECTORS_MAX])(struct sn_thread *, const struct sn_call *);
} __attribute__((aligned(64)));
extern struct sn_calls sn_calls;

/** Of a thread. Times are by the time-stamp counter. */
struct sn_calls_part {
	uint64_t count; /* timed, since they were last added to the header's */
	/* of those that may block */
	uint64_t in_call;	 /* `begin` of the call now; 0: none */
	uint64_t last_end;	 /* of the last call */
	uint64_t between;	 /* from the end of one call to the begin of the next, summed up */
	uint64_t long_count;	 /* of those times, over SN_BETWEEN_LONG */
	uint64_t blocking_count; /* calls */
	uint32_t left[SN_CALL_SLOTS];		 /* calls until one is told, by function */
	uint16_t some_asker;			 /* the collector that is told of it, as a bit */
	_Atomic uint16_t askers[SN_CALL_GROUPS]; /* collectors by index */
};
extern struct sn_collector sn_calls_collector;

static inline struct sn_calls_part *sn_calls_part_of(struct sn_thread *thread)
{
	return sn_thread_part(thread, &sn_calls_collector);
}

/** Functions that share one are counted together. */
static inline unsigned sn_call_slot(const void *function)
{
	return ((uintptr_t)function >> 4) % SN_CALL_SLOTS;
}

/** `groups`: bits 1 << group. One threshold serves all who ask. At install. */
void sn_calls_ask_long(const struct sn_collector *collector, uint32_t groups, uint64_t least_ns);
/** From now on, or no more. Only by the thread itself, or before it begins. */
void sn_calls_ask(struct sn_thread *thread, const struct sn_collector *collector, uint32_t groups,
		  bool is_asked);
/** Of those that may block, and that somebody asked for: the next call of each function, then those
 *  that sn_calls_skip says. One collector may ask so. By the thread itself, or before it begins. */
void sn_calls_ask_some(struct sn_thread *thread, const struct sn_collector *collector,
		       bool is_asked);
/** The next call of `function` to be told is the `count`-th from now. */
static inline void sn_calls_skip(struct sn_thread *thread, const void *function, uint32_t count)
{
	sn_calls_part_of(thread)->left[sn_call_slot(function)] = count;
}

/* ---- for wrappers ---- */

static inline bool sn_calls_are_asked(unsigned group)
{
	return atomic_load_explicit(&sn_calls.asked, memory_order_relaxed) >> group & 1;
}

static inline void sn_calls_add_between(struct sn_calls_part *part, uint64_t ticks)
{
	part->between += ticks;
	if (ticks > SN_BETWEEN_LONG)
		part->long_count++;
}

/** Notes when the call begins, if anybody asked. True: somebody is to be told now. */
static inline __attribute__((always_inline)) bool
sn_call_begin(struct sn_call *call, unsigned group, const void *function)
{
	struct sn_thread *self;

	call->begin = 0;
	if (!sn_calls_are_asked(group))
		return false;
	self = sn_self_in_call();
	if (!self || !sn_is_active())
		return false;
	struct sn_calls_part *part = (void *)((uint8_t *)self + sn_calls.part_offset);
	part->count++;
	call->function = function;
	call->group = (uint8_t)group;
	call->told = atomic_load_explicit(&part->askers[group], memory_order_relaxed);
	if (group < SN_WAIT_KINDS && --part->left[sn_call_slot(function)] == 0)
		call->told |= part->some_asker;
	call->begin = __builtin_ia32_rdtsc();
	if (group < SN_WAIT_KINDS) {
		if (!part->in_call) /* else in a signal's handler, within a call */
			sn_calls_add_between(part, call->begin - part->last_end);
		part->in_call = call->begin;
		part->blocking_count++;
	}
	return call->told != 0;
}

void sn_call_tell_before(const struct sn_call *call);
void sn_call_tell_after(const struct sn_call *call);

static inline __attribute__((always_inline)) void sn_call_end(struct sn_call *call, long result)
{
	if (!call->begin || !sn_self || !sn_is_active())
		return;
	struct sn_calls_part *part = (void *)((uint8_t *)sn_self + sn_calls.part_offset);
	uint64_t end = __builtin_ia32_rdtsc(), ticks = end - call->begin;
	if (call->group < SN_WAIT_KINDS) {
		part->last_end = end;
		part->in_call = 0;
	}
	if (ticks > sn_calls.long_ticks || call->told) {
		call->ticks = ticks;
		call->result = result;
		sn_call_tell_after(call);
	}
}

/** Every function that collectors are told of. */
#define SN_CALL_NAMED(name)			       SN_CALL_NAME_##name,
#define CALL(group, type, name, parameters, arguments) SN_CALL_NAMED(name)
enum sn_call_name {
	SN_CALLS_BY_HAND(SN_CALL_NAMED)
#include "runtime/calls/list.h"
		SN_CALL_NAMES
};
#undef CALL

/* Any argument as a word: they are integers, pointers, and unions of pointers. */
#define SN_CALL_WORD(argument)                                                                     \
	({                                                                                         \
		__typeof__(argument) word_from = (argument);                                       \
		long word_to = 0;                                                                  \
		__builtin_memcpy(&word_to, &word_from, sizeof word_from);                          \
		word_to;                                                                           \
	})
#define SN_CALL_WORDS_0()
#define SN_CALL_WORDS_1(a)				      SN_CALL_WORD(a)
#define SN_CALL_WORDS_2(a, ...)				      SN_CALL_WORD(a), SN_CALL_WORDS_1(__VA_ARGS__)
#define SN_CALL_WORDS_3(a, ...)				      SN_CALL_WORD(a), SN_CALL_WORDS_2(__VA_ARGS__)
#define SN_CALL_WORDS_4(a, ...)				      SN_CALL_WORD(a), SN_CALL_WORDS_3(__VA_ARGS__)
#define SN_CALL_WORDS_5(a, ...)				      SN_CALL_WORD(a), SN_CALL_WORDS_4(__VA_ARGS__)
#define SN_CALL_WORDS_6(a, ...)				      SN_CALL_WORD(a), SN_CALL_WORDS_5(__VA_ARGS__)
#define SN_CALL_WORDS_7(a, ...)				      SN_CALL_WORD(a), SN_CALL_WORDS_6(__VA_ARGS__)
#define SN_CALL_COUNT(_0, _1, _2, _3, _4, _5, _6, _7, n, ...) n
#define SN_CALL_PICK(n)					      SN_CALL_WORDS_##n
#define SN_CALL_PICKED(n)				      SN_CALL_PICK(n)
#define SN_CALL_ALL_WORDS(...)                                                                     \
	SN_CALL_PICKED(SN_CALL_COUNT(0 __VA_OPT__(, ) __VA_ARGS__, 7, 6, 5, 4, 3, 2, 1, 0))        \
	(__VA_ARGS__)
#define SN_CALL_LIST(...) __VA_ARGS__

/** SN_CALL_BEGIN(call, SN_WAIT_IO, read, fd, bytes, count): with the arguments, for who wants them. */
#define SN_CALL_BEGIN(call, group, name, ...)                                                      \
	if (__builtin_expect(sn_call_begin(&call, group, (const void *)sn_calls_real.real_##name), \
			     0)) {                                                                 \
		const long words_of_call[] = { SN_CALL_ALL_WORDS(__VA_ARGS__) };                   \
		__builtin_memcpy(call.words, words_of_call, sizeof words_of_call);                 \
		call.which = SN_CALL_NAME_##name;                                                  \
		call.frame = __builtin_frame_address(0);                                           \
		sn_call_tell_before(&call);                                                        \
	}                                                                                          \
	(void)0

/* calls/setup_calls.c */
void sn_calls_load(void);

#endif
