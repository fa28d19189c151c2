#include "caches/reuse.h"

#include <string.h>

#include "base/stats.h"
#include "harness/tap.h"

/* The last met first. */
static uint32_t list[5000], count;

static uint32_t list_touch(uint32_t thing)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i] == thing) {
			memmove(list + 1, list, i * sizeof(*list));
			list[0] = thing;
			return i;
		}
	memmove(list + 1, list, count++ * sizeof(*list));
	list[0] = thing;
	return SN_REUSE_NEW;
}

TEST(distances_are_those_of_a_list)
{
	struct sn_reuse reuse = { 0 };
	struct sn_random random;
	bool is_same = true;

	sn_random_seed(&random, 3);
	for (int round = 0; round < 3; round++) {
		count = 0;
		for (int i = 0; i < tap_trials(60000); i++) {
			uint64_t near = sn_random_below(&random, 3) ? 40 : 3000;
			uint32_t thing = (uint32_t)sn_random_below(&random, near);

			is_same &= sn_reuse_touch(&reuse, thing) == list_touch(thing);
		}
		sn_reuse_clear(&reuse);
	}
	CHECK(is_same);
	sn_reuse_free(&reuse);
}
