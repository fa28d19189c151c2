/**
 * Rows in 32 bytes, by pc: what makes the second walk through a function cheap.
 *
 * Nearly every row says the same few things. The CFA is a register plus a constant (or the word
 * there). The return address stands below it. Some of the six registers that survive calls are
 * saved at small distances. Those rows are kept; the rest is decoded each time.
 */
#ifndef SN_UNWIND_CACHE_H
#define SN_UNWIND_CACHE_H

#include "unwind/unwind.h"

#define SN_UNWIND_SAVED_COUNT 6 /* rbx rbp r12 r13 r14 r15, in this order */

enum sn_unwind_short_flag {
	SN_UNWIND_SHORT_DEREF = 1,     /* the CFA is the word at register + offset */
	SN_UNWIND_SHORT_OUTERMOST = 2, /* the return address is undefined: the stack ends here */
	SN_UNWIND_SHORT_NO_RULE = 4,   /* no description: fall back */
	/* read from the code (scan.h): to be believed only if a call stands before the return
	 * address; with DEREF the offset has two halves, in units of 8 bytes: the lower finds the
	 * word, the upper is added to it */
	SN_UNWIND_SHORT_SCANNED = 8,
};

struct sn_unwind_short_row {
	uint64_t key; /* pc * 2 + (1 if it is a return address); 0: empty */
	uint32_t generation;
	int32_t cfa_offset;
	uint8_t cfa_reg;
	uint8_t flags;
	uint8_t saved;	  /* bit i: register i of the six is in memory */
	uint8_t from_rbp; /* bit i: its slot counts from this frame's rbp, not from the CFA; of a
			   * register that is not saved: its value is not known */
	int16_t slot[SN_UNWIND_SAVED_COUNT]; /* in units of 8 bytes */
};

struct sn_unwind_cache {
	uint32_t shift; /* of the hash: 64 - log2(sets) */
	uint32_t is_writing;
	uint64_t hits;
	uint64_t unused[6];
	struct sn_unwind_short_row sets[][2]; /* the newer one first */
};

static inline uint64_t sn_unwind_cache_key(uint64_t pc, bool is_return)
{
	return pc << 1 | is_return;
}

static inline struct sn_unwind_short_row *sn_unwind_cache_set(struct sn_unwind_cache *cache,
							      uint64_t key)
{
	return cache->sets[key * UINT64_C(0x9e3779b97f4a7c15) >> cache->shift];
}

/** A row must not be taken apart while a handler of the same thread writes: order for the compiler.
 */
#define SN_UNWIND_SAME_THREAD_FENCE() __asm__ volatile("" ::: "memory")

static inline void sn_unwind_short_row_copy(struct sn_unwind_short_row *to,
					    const struct sn_unwind_short_row *from)
{
	const uint64_t *source = (const void *)from;
	uint64_t *sink = (void *)to;

	for (unsigned i = 1; i < sizeof(*to) / 8; i++)
		sink[i] = source[i];
}

/**
 * Looks a row up. A handler that interrupts this may replace the row in the middle of the copy: the
 * key, read again afterwards, then differs (or the row is again what it was).
 */
static inline bool sn_unwind_cache_get(struct sn_unwind_cache *cache, uint64_t key,
				       uint32_t generation, struct sn_unwind_short_row *row)
{
	struct sn_unwind_short_row *set = sn_unwind_cache_set(cache, key);

	for (unsigned way = 0; way < 2; way++) {
		const volatile uint64_t *slot_key = &set[way].key;

		if (*slot_key != key)
			continue;
		SN_UNWIND_SAME_THREAD_FENCE();
		sn_unwind_short_row_copy(row, &set[way]);
		SN_UNWIND_SAME_THREAD_FENCE();
		if (*slot_key != key || row->generation != generation)
			continue;
		cache->hits++;
		return true;
	}
	return false;
}

/** Keeps a row, unless this interrupted another that was being kept. */
static inline void sn_unwind_cache_put(struct sn_unwind_cache *cache, uint64_t key,
				       const struct sn_unwind_short_row *row)
{
	struct sn_unwind_short_row *set = sn_unwind_cache_set(cache, key);
	volatile uint32_t *is_writing = &cache->is_writing;

	if (*is_writing)
		return;
	*is_writing = 1;
	SN_UNWIND_SAME_THREAD_FENCE();
	for (unsigned way = 2; way-- > 0;) {
		const struct sn_unwind_short_row *from = way ? &set[0] : row;
		uint64_t new_key = way ? set[0].key : key;
		volatile uint64_t *slot_key = &set[way].key;

		*slot_key = 0;
		SN_UNWIND_SAME_THREAD_FENCE();
		sn_unwind_short_row_copy(&set[way], from);
		SN_UNWIND_SAME_THREAD_FENCE();
		*slot_key = new_key;
	}
	SN_UNWIND_SAME_THREAD_FENCE();
	*is_writing = 0;
}

#endif
