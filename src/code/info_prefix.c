/* Which of the addresses the sets of .debug_aranges cover, and where the last unit that is needed ends. */
#include "code/info_prefix.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cursor.h"

struct search {
	const uint64_t *link_addrs;
	size_t count, found_count;
	bool *is_found;
	uint64_t last_needed, next_behind; /* units; the latter of those behind the first */
};

static size_t first_from(const struct search *s, uint64_t link_addr)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->link_addrs[middle] < link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool range_covers(struct search *s, uint64_t first, uint64_t length)
{
	bool covers = false;

	for (size_t i = first_from(s, first); i < s->count && s->link_addrs[i] - first < length;
	     i++) {
		s->found_count += !s->is_found[i];
		s->is_found[i] = covers = true;
	}
	return covers;
}

/* One unit's ranges. Sets *unit to where it is in .debug_info. */
static bool set_covers(struct search *s, struct sn_cursor *cur, uint64_t *unit)
{
	enum { HEADER_BYTES = 12, TUPLE_BYTES = 16 };
	uint32_t length = sn_cursor_u32(cur);
	const uint8_t *bytes = sn_cursor_bytes(cur, length);
	struct sn_cursor set = sn_cursor_over(bytes, bytes ? length : 0);
	bool covers = false;

	if (sn_cursor_u16(&set) != 2)
		sn_cursor_fail(cur);
	*unit = sn_cursor_u32(&set);
	if (sn_cursor_u8(&set) != 8 || sn_cursor_u8(&set) != 0)
		sn_cursor_fail(cur);
	if (cur->status == SN_OK) /* tuples lie at multiples of their size from the set's start */
		sn_cursor_skip(&set, TUPLE_BYTES - HEADER_BYTES % TUPLE_BYTES);
	while (cur->status == SN_OK && sn_cursor_left(&set) >= TUPLE_BYTES) {
		uint64_t first = sn_cursor_u64(&set), count = sn_cursor_u64(&set);

		covers |= first && range_covers(s, first, count);
	}
	return covers;
}

size_t sn_info_prefix(const uint8_t *aranges, size_t length, const uint64_t *link_addrs,
		      size_t count)
{
	struct search s = { .link_addrs = link_addrs,
			    .count = count,
			    .is_found = sn_alloc_zeroed(count + 1, sizeof(bool)) };

	for (int pass = 0; pass < 2; pass++) {
		struct sn_cursor cur = sn_cursor_over(aranges, length);

		while (sn_cursor_left(&cur) && cur.status == SN_OK) {
			uint64_t unit;
			bool covers = set_covers(&s, &cur, &unit);

			if (!pass && covers && unit > s.last_needed)
				s.last_needed = unit;
			if (pass && unit > s.last_needed &&
			    (!s.next_behind || unit < s.next_behind))
				s.next_behind = unit;
		}
		if (cur.status != SN_OK)
			s.found_count = 0;
	}
	free(s.is_found);
	return count && s.found_count == count ? s.next_behind : 0;
}
