#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/stats.h"
#include "harness/tap.h"

enum { ITEMS = 3000, ROUNDS = 60 };

struct item {
	uint32_t rank, place;
	uint64_t key;
};

static int by_rank(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_all(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key ? 1 : -1) : by_rank(a, b);
}

static int by_key_and_place(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key ? 1 : -1)
				: (x->place > y->place) - (x->place < y->place);
}

/* Keys of one byte, of a few, of all eight; many equal or none; ranks that differ. */
static void items_make(struct item *items, size_t count, unsigned round, struct sn_random *random)
{
	static const uint64_t masks[] = { 0x3, 0xff00, 0xffffff, 0x7000000000000001, UINT64_MAX };

	for (size_t i = 0; i < count; i++) {
		uint64_t high = sn_random_below(random, UINT32_MAX);

		items[i].key =
			(high << 32 | sn_random_below(random, UINT32_MAX)) & masks[round % 5];
		items[i].rank = (uint32_t)i ^ 0x155; /* differ */
		items[i].place = (uint32_t)i;
	}
}

TEST(as_qsort_with_the_whole_order)
{
	static struct item items[ITEMS], want[ITEMS];
	struct sn_random random;

	sn_random_seed(&random, 5);
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t count = round < 10 ? round : sn_random_below(&random, ITEMS);

		items_make(items, count, round, &random);
		memcpy(want, items, sizeof(want));
		qsort(want, count, sizeof(*want), by_all);
		sn_sort_items(items, count, sizeof(*items), offsetof(struct item, key), by_rank);
		CHECK(!memcmp(items, want, count * sizeof(*items)));
		sn_sort_items(items, count, sizeof(*items), offsetof(struct item, key), by_rank);
		CHECK(!memcmp(items, want, count * sizeof(*items)));
	}
}

TEST(without_an_order_equal_keys_stay_as_they_were)
{
	static struct item items[ITEMS], want[ITEMS];
	struct sn_random random;

	sn_random_seed(&random, 6);
	for (unsigned round = 0; round < ROUNDS; round++) {
		items_make(items, ITEMS, round, &random);
		memcpy(want, items, sizeof(want));
		qsort(want, ITEMS, sizeof(*want), by_key_and_place);
		sn_sort_items(items, ITEMS, sizeof(*items), offsetof(struct item, key), NULL);
		CHECK(!memcmp(items, want, sizeof(items)));
	}
}
