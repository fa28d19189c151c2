/* Lines that one thread wrote and another used, whenever that was. */
#include "caches/handed.h"

#include "wire/accesses.h"

/* What is known of a line: its first user + 1, and these. */
static const uint64_t is_written = 1ull << 63, has_many = 1ull << 62;

static void line_use(struct sn_handed *handed, const struct sn_access_window *window,
		     uint64_t address, bool is_write)
{
	bool is_new;
	uint64_t *known = sn_map_put(&handed->users, address / handed->line_bytes, &is_new);
	uint64_t before = is_new ? (uint64_t)window->thread + 1 : *known, now = before;

	if (is_write)
		now |= is_written;
	if ((uint32_t)before != window->thread + 1)
		now |= has_many;
	*known = now;
	if (now != before && (now & is_written) && (now & has_many))
		sn_vec_push(&handed->lines, (struct sn_handed_line){ address, window->begin_ns });
}

/* From the first byte to the last one. */
static void range_use(struct sn_handed *handed, const struct sn_access_window *window,
		      uint64_t first, uint64_t last, bool is_write)
{
	line_use(handed, window, first, is_write);
	for (uint64_t line = first / handed->line_bytes + 1; line <= last / handed->line_bytes;
	     line++)
		line_use(handed, window, line * handed->line_bytes, is_write);
}

void sn_handed_add(struct sn_handed *handed, const struct sn_access_window *window)
{
	for (uint32_t r = 0; r < window->record_count; r++) {
		const struct sn_access_record *record = &window->records[r];
		bool is_write = (record->kind & SN_ACCESS_WRITE) != 0;
		int64_t stride = record->stride_bytes;
		uint64_t far = (uint64_t)stride * (record->count - 1),
			 size = record->size_bytes ? record->size_bytes - 1 : 0,
			 low = record->address + (stride < 0 ? far : 0),
			 high = record->address + (stride < 0 ? 0 : far) + size;
		bool is_close = stride > -(int64_t)handed->line_bytes &&
				stride < (int64_t)handed->line_bytes && low <= high;

		if (is_close) {
			range_use(handed, window, low, high, is_write);
			continue;
		}
		for (uint64_t i = 0; i < record->count; i++) {
			uint64_t address = record->address + (uint64_t)stride * i;

			if (address + size >= address)
				range_use(handed, window, address, address + size, is_write);
		}
	}
}

void sn_handed_free(struct sn_handed *handed)
{
	sn_map_free(&handed->users);
	sn_vec_free(&handed->lines);
}
