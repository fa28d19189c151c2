#include <stdlib.h>

#include "harness/tap.h"
#include "heap/parts.h"

enum { ADDRESSES = 500, STEPS = 200000 };

/* Against an array with a place for every address. */
TEST(blocks_are_there_until_they_are_taken_out)
{
	struct sn_heap_live live = { 0 };
	uint64_t there[ADDRESSES] = { 0 }, state = 1, count = 0;

	for (uint64_t step = 1; step <= STEPS; step++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		size_t i = (size_t)(state >> 33) % ADDRESSES;
		uint64_t address = 0x7f0000000000 + i * 16;
		struct sn_heap_block *block = sn_heap_live_find(&live, address);

		REQUIRE((block != NULL) == (there[i] != 0));
		if (block) {
			REQUIRE(block->address == address && block->bytes == there[i]);
			sn_heap_live_remove(&live, block);
			there[i] = 0;
			count--;
		} else {
			sn_heap_live_add(&live, address)->bytes = there[i] = step;
			count++;
		}
		REQUIRE(live.count == count);
	}
	CHECK(live.capacity <= 4 * ADDRESSES);
	sn_heap_live_free(&live);
	CHECK(!sn_heap_live_find(&live, 0x10));
}
