/* Markers of last accesses, in the order of time. */
#include "caches/reuse.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

enum {
	FIRST_WORDS = 64,
	/* Nearer than so many words, markers are counted one by one. */
	NEAR_WORDS = 8,
};

static void sums_add(struct sn_reuse *reuse, uint32_t word, uint32_t by)
{
	for (uint32_t i = word + 1; i <= reuse->word_count; i += i & -i)
		reuse->sums[i] += by;
}

/* Markers in the words before this one. */
static uint32_t sums_before(const struct sn_reuse *reuse, uint32_t word)
{
	uint32_t sum = 0;

	for (uint32_t i = word; i; i -= i & -i)
		sum += reuse->sums[i];
	return sum;
}

/* All markers, moved together, in room for twice as many. */
static void compact(struct sn_reuse *reuse)
{
	uint32_t words = reuse->word_count ? reuse->word_count : FIRST_WORDS;
	struct sn_reuse fresh = { .last = reuse->last, .last_room = reuse->last_room };

	while (words / 2 * 64 < reuse->live + 64)
		words *= 2;
	fresh.word_count = words;
	fresh.marks = sn_alloc_zeroed(words, sizeof(*fresh.marks));
	fresh.sums = sn_alloc_zeroed(words + 1, sizeof(*fresh.sums));
	fresh.thing_at = sn_alloc_zeroed((size_t)words * 64, sizeof(*fresh.thing_at));
	for (uint32_t w = 0; w < reuse->word_count; w++)
		for (uint64_t marks = reuse->marks[w]; marks; marks &= marks - 1) {
			uint32_t thing = reuse->thing_at[w * 64 + (uint32_t)__builtin_ctzll(marks)];

			fresh.thing_at[fresh.now] = thing;
			fresh.marks[fresh.now / 64] |= 1ull << fresh.now % 64;
			fresh.last[thing] = ++fresh.now;
		}
	fresh.live = fresh.now;
	for (uint32_t w = 0; w < words; w++) {
		uint32_t i = w + 1, parent = i + (i & -i);

		fresh.sums[i] += (uint32_t)__builtin_popcountll(fresh.marks[w]);
		if (parent <= words)
			fresh.sums[parent] += fresh.sums[i];
	}
	free(reuse->marks);
	free(reuse->sums);
	free(reuse->thing_at);
	*reuse = fresh;
}

static void thing_make_room(struct sn_reuse *reuse, uint32_t thing)
{
	size_t old_room = reuse->last_room;

	reuse->last = sn_vec_grow(reuse->last, &reuse->last_room, (size_t)thing + 1,
				  sizeof(*reuse->last));
	memset(reuse->last + old_room, 0, (reuse->last_room - old_room) * sizeof(*reuse->last));
}

/* Markers behind this time. */
static uint32_t count_behind(const struct sn_reuse *reuse, uint32_t time)
{
	uint32_t word = time / 64, last_word = (reuse->now - 1) / 64;
	uint64_t behind = reuse->marks[word] & ~(~0ull >> (63 - time % 64));
	uint32_t count = (uint32_t)__builtin_popcountll(behind);

	if (last_word - word > NEAR_WORDS)
		return count + reuse->live - sums_before(reuse, word + 1);
	for (uint32_t w = word + 1; w <= last_word; w++)
		count += (uint32_t)__builtin_popcountll(reuse->marks[w]);
	return count;
}

uint32_t sn_reuse_touch(struct sn_reuse *reuse, uint32_t thing)
{
	uint32_t distance = SN_REUSE_NEW, old_word = SN_REUSE_NEW, word;

	if (thing >= reuse->last_room)
		thing_make_room(reuse, thing);
	if (reuse->last[thing] && reuse->last[thing] == reuse->now)
		return 0;
	if (reuse->now == reuse->word_count * 64)
		compact(reuse);
	if (reuse->last[thing]) {
		uint32_t time = reuse->last[thing] - 1;

		distance = count_behind(reuse, time);
		old_word = time / 64;
		reuse->marks[old_word] &= ~(1ull << time % 64);
		reuse->live--;
	}
	word = reuse->now / 64;
	if (word != old_word) {
		sums_add(reuse, word, 1);
		if (old_word != SN_REUSE_NEW)
			sums_add(reuse, old_word, (uint32_t)-1);
	}
	reuse->marks[word] |= 1ull << reuse->now % 64;
	reuse->thing_at[reuse->now] = thing;
	reuse->last[thing] = ++reuse->now;
	reuse->live++;
	return distance;
}

void sn_reuse_clear(struct sn_reuse *reuse)
{
	if (reuse->last)
		memset(reuse->last, 0, reuse->last_room * sizeof(*reuse->last));
	if (reuse->word_count) {
		memset(reuse->marks, 0, reuse->word_count * sizeof(*reuse->marks));
		memset(reuse->sums, 0, (reuse->word_count + 1) * sizeof(*reuse->sums));
	}
	reuse->now = reuse->live = 0;
}

void sn_reuse_free(struct sn_reuse *reuse)
{
	free(reuse->last);
	free(reuse->thing_at);
	free(reuse->marks);
	free(reuse->sums);
	*reuse = (struct sn_reuse){ 0 };
}
