/**
 * Windows on memory, and a bounds-checked read position in one.
 *
 * Everything the unwinder reads, it reads through one of these two: no other pointer is followed.
 * That makes the same code safe inside a signal handler, over a copy of another process's stack,
 * and over a file made to hurt. Nothing here calls anything.
 */
#ifndef SN_UNWIND_BYTES_H
#define SN_UNWIND_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The load addresses [start, end) of a process, whose bytes can be read at `bytes` here.
 *
 * Inside the target `bytes` is `(const uint8_t *)start`; offline it points into a mapped file or a
 * copied stack. {0} is the empty window. The window borrows the bytes.
 */
struct sn_unwind_window {
	uint64_t start, end;
	const uint8_t *bytes;
};

/** The window on this very process's own memory. */
static inline struct sn_unwind_window sn_unwind_window_here(uint64_t start, uint64_t end)
{
	return (struct sn_unwind_window){ start, end, (const uint8_t *)(uintptr_t)start };
}

/** Whether all of [addr, addr + length) lies in the window. */
static inline bool sn_unwind_window_holds(const struct sn_unwind_window *window, uint64_t addr,
					  uint64_t length)
{
	uint64_t size = window->end - window->start;

	return length <= size && addr - window->start <= size - length;
}

/** The bytes of `addr`, which must lie in the window. */
static inline const uint8_t *sn_unwind_window_at(const struct sn_unwind_window *window,
						 uint64_t addr)
{
	return window->bytes + (addr - window->start);
}

/* Sanitized builds: frames of instrumented functions hold poisoned gaps, which an unwinder may
 * read. Not inlined there, since an inlined function is instrumented as its caller is. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* as gcc says it */
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SN_UNWIND_LOADS __attribute__((noinline, unused, no_sanitize("address")))
#else
#define SN_UNWIND_LOADS inline
#endif

/** The eight bytes at `at`, aligned or not. */
static SN_UNWIND_LOADS uint64_t sn_unwind_load_word(const uint8_t *at)
{
	uint64_t value;

	__builtin_memcpy(&value, at, sizeof(value));
	return value;
}

/**
 * A read position over untrusted bytes. The first failure sticks: later reads return zero, so a
 * parser may read a whole record and look at `failed` once.
 */
struct sn_unwind_bytes {
	const uint8_t *next, *end;
	bool failed;
};

/** A read position at `addr`, to the window's end; failed if `addr` lies outside. */
static inline struct sn_unwind_bytes sn_unwind_bytes_at(const struct sn_unwind_window *window,
							uint64_t addr)
{
	if (!window->bytes || !sn_unwind_window_holds(window, addr, 0))
		return (struct sn_unwind_bytes){ window->bytes, window->bytes, true };
	return (struct sn_unwind_bytes){ sn_unwind_window_at(window, addr),
					 window->bytes + (window->end - window->start), false };
}

static inline uint64_t sn_unwind_bytes_left(const struct sn_unwind_bytes *cur)
{
	return (uint64_t)(cur->end - cur->next);
}

/** Steps over `count` bytes and returns where they began, or NULL (and fails) if they are not
 * there. */
static inline const uint8_t *sn_unwind_bytes_skip(struct sn_unwind_bytes *cur, uint64_t count)
{
	const uint8_t *begin = cur->next;

	if (cur->failed || count > sn_unwind_bytes_left(cur)) {
		cur->failed = true;
		return NULL;
	}
	cur->next += count;
	return begin;
}

/** A little-endian number of `width` bytes (1, 2, 4 or 8), unsigned. */
static inline uint64_t sn_unwind_bytes_uint(struct sn_unwind_bytes *cur, unsigned width)
{
	const uint8_t *at = sn_unwind_bytes_skip(cur, width);
	uint64_t value = 0;

	for (unsigned i = 0; at && i < width; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

/** As sn_unwind_bytes_uint, sign-extended. */
static inline int64_t sn_unwind_bytes_int(struct sn_unwind_bytes *cur, unsigned width)
{
	unsigned unused_bits = (64 - 8 * width) & 63;

	return (int64_t)(sn_unwind_bytes_uint(cur, width) << unused_bits) >> unused_bits;
}

/** LEB128 (DWARF 5, section 7.6): more than ten bytes fail; bits above the 64th are dropped. */
static inline uint64_t sn_unwind_bytes_leb(struct sn_unwind_bytes *cur, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (unsigned i = 0; i < 10; i++) {
		const uint8_t *at = sn_unwind_bytes_skip(cur, 1);

		if (!at)
			return 0;
		if (shift < 64)
			value |= (uint64_t)(*at & 0x7f) << shift;
		shift += 7;
		if (*at & 0x80)
			continue;
		if (is_signed && shift < 64 && (*at & 0x40))
			value |= ~UINT64_C(0) << shift;
		return value;
	}
	cur->failed = true;
	return 0;
}

static inline uint64_t sn_unwind_bytes_uleb(struct sn_unwind_bytes *cur)
{
	return sn_unwind_bytes_leb(cur, false);
}

static inline int64_t sn_unwind_bytes_sleb(struct sn_unwind_bytes *cur)
{
	return (int64_t)sn_unwind_bytes_leb(cur, true);
}

#endif
