/*
 * The sample mode: of the bytes that are allocated one in `interval_bytes` is drawn at random, and the block
 * that it lies in is an event, as in a trace; its release, too. All other calls cost a subtraction, or a look
 * at one counter.
 */
#include "runtime/heap/heap.h"

#include "runtime/core/pages.h"
#include "runtime/core/sys.h"

enum {
	BUCKETS = 1 << 17, /* of the blocks that were met and are alive */
	IN_BUCKET = 8,	   /* a cache line */
	FILTER = 1 << 16,
	CALL_TICKS = 12, /* what a call that is not met costs, with its block's release */
};

struct sn_heap_sample {
	_Atomic uint16_t filter[FILTER]; /* blocks with this hash */
	_Atomic uint64_t blocks[BUCKETS][IN_BUCKET];
};

/* ---- which bytes ---- */

/* Of each thread, whether or not it is one of ours. */
struct countdown {
	int64_t left_bytes; /* until the byte that is met */
	uint64_t random;    /* 0: not begun */
	uint64_t calls;	    /* since the last one that was met */
};
static __thread struct countdown countdown __attribute__((tls_model("initial-exec")));

static uint64_t random_next(struct countdown *c)
{
	uint64_t x = c->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	c->random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* -log2(value / 2^64) in units of 2^-24, by squaring. `value` is not 0. */
static uint64_t minus_log2(uint64_t value)
{
	uint64_t zeros = (uint64_t)__builtin_clzll(value), fraction = 0;
	unsigned __int128 mantissa = value << zeros; /* of 2^63: 1 to 2 */

	for (unsigned bit = 0; bit < 24; bit++) {
		mantissa = mantissa * mantissa >> 63;
		fraction = fraction << 1 | (uint64_t)(mantissa >> 64);
		mantissa >>= (unsigned)(mantissa >> 64);
	}
	return ((zeros + 1) << 24) - fraction;
}

/* Bytes to the next one that is met: exponential. */
static int64_t draw(struct countdown *c)
{
	static const uint64_t ln2 = 11629080; /* of 2^24 */
	uint64_t units = minus_log2(random_next(c) | 1) * ln2 >> 24;

	return (int64_t)((unsigned __int128)units * sn_heap_state->interval_bytes >> 24);
}

/* Whether one of the bytes is met, of which the first are before the countdown's end. */
static __attribute__((noinline)) bool meets_late(struct countdown *c, uint64_t bytes)
{
	if (!c->random) {
		c->random =
			(__builtin_ia32_rdtsc() ^ (uint64_t)(uintptr_t)c) * 0x9e3779b97f4a7c15ULL |
			1;
		c->left_bytes = draw(c) - (int64_t)bytes;
		if (c->left_bytes >= 0)
			return false;
	}
	c->left_bytes = draw(c);
	uint64_t ticks = c->calls * CALL_TICKS;
	c->calls = 0;
	atomic_fetch_add_explicit(&sn_trace_header()->ticks[SN_TRACE_HEAP], ticks,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&sn_header()->trace_ticks, ticks, memory_order_relaxed);
	return true;
}

bool sn_heap_sample_meets(uint64_t bytes)
{
	struct countdown *c = &countdown;

	bytes = bytes < INT64_MAX / 4 ? bytes : INT64_MAX / 4;
	c->calls++;
	c->left_bytes -= (int64_t)bytes;
	return __builtin_expect(c->left_bytes < 0, 0) && meets_late(c, bytes);
}

/* ---- blocks that were met ---- */

static uint64_t hash_of(const void *block)
{
	return ((uint64_t)(uintptr_t)block >> 3) * 0x9e3779b97f4a7c15ULL;
}

static _Atomic uint16_t *filter_of(uint64_t hash)
{
	return &sn_heap_state->sample->filter[hash >> 48];
}

static _Atomic uint64_t *bucket_of(uint64_t hash)
{
	return sn_heap_state->sample->blocks[hash >> 31 & (BUCKETS - 1)];
}

/* Puts `to` in the place of `from`. */
static bool exchange(uint64_t hash, uint64_t from, uint64_t to)
{
	_Atomic uint64_t *bucket = bucket_of(hash);

	for (unsigned i = 0; i < IN_BUCKET; i++) {
		uint64_t there = from;
		if (atomic_compare_exchange_strong_explicit(
			    &bucket[i], &there, to, memory_order_acq_rel, memory_order_relaxed))
			return true;
	}
	return false;
}

bool sn_heap_sample_keep(const void *block)
{
	uint64_t hash = hash_of(block);

	atomic_fetch_add_explicit(filter_of(hash), 1, memory_order_relaxed);
	if (exchange(hash, 0, (uint64_t)(uintptr_t)block))
		return true;
	atomic_fetch_sub_explicit(filter_of(hash), 1, memory_order_relaxed);
	sn_trace_lose(SN_TRACE_HEAP);
	return false;
}

bool sn_heap_sample_knows(const void *block)
{
	uint64_t hash = hash_of(block);
	_Atomic uint64_t *bucket;

	if (__builtin_expect(!atomic_load_explicit(filter_of(hash), memory_order_relaxed), 1))
		return false;
	bucket = bucket_of(hash);
	for (unsigned i = 0; i < IN_BUCKET; i++)
		if (atomic_load_explicit(&bucket[i], memory_order_relaxed) ==
		    (uint64_t)(uintptr_t)block)
			return true;
	return false;
}

bool sn_heap_sample_take_out(const void *block)
{
	uint64_t hash = hash_of(block);

	if (!exchange(hash, (uint64_t)(uintptr_t)block, 0))
		return false;
	atomic_fetch_sub_explicit(filter_of(hash), 1, memory_order_relaxed);
	return true;
}

bool sn_heap_sample_open(void)
{
	sn_heap_state->sample = sn_pages_wiped_in_children(sizeof(struct sn_heap_sample));
	return sn_heap_state->sample != NULL;
}
