/* Adds up the rows of all threads: those of the interval at hand, and those since the start. */
#include "runtime/heartbeat/publishers/sums.h"

#include <stdlib.h>
#include <string.h>

static struct beat_sum *sum_of(struct beat_sums *sums, uint32_t index)
{
	if (index >= sums->count) {
		uint32_t count = index + 16 + index / 2;
		struct beat_sum *grown = realloc(sums->items, count * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + sums->count, 0, (count - sums->count) * sizeof(*grown));
		sums->items = grown;
		sums->count = count;
	}
	return &sums->items[index];
}

static void add(struct sonde_heartbeat_row *sum, const struct sonde_heartbeat_row *row)
{
	if (row->timed) {
		sum->min_ns = sum->timed && sum->min_ns < row->min_ns ? sum->min_ns : row->min_ns;
		sum->max_ns = sum->timed && sum->max_ns > row->max_ns ? sum->max_ns : row->max_ns;
	}
	sum->every = row->every;
	sum->threads += row->threads;
	sum->count += row->count;
	sum->timed += row->timed;
	sum->sum_ns += row->sum_ns;
	for (unsigned i = 0; i < 32; i++)
		sum->histogram[i] += row->histogram[i];
	sum->open += row->open;
	sum->open_ns += row->open_ns;
	sum->work += row->work;
	sum->misuse += row->misuse;
	sum->dropped += row->dropped;
}

void beat_sums_add(struct beat_sums *sums, const struct sonde_heartbeat_row *row)
{
	struct beat_sum *sum = sum_of(sums, row->index);

	if (!sum)
		return;
	sum->name = row->name;
	sum->name_length = row->name_length;
	sum->is_touched = true;
	add(&sum->last, row);
}

void beat_sums_settle(struct beat_sums *sums)
{
	for (uint32_t i = 0; i < sums->count; i++) {
		struct beat_sum *sum = &sums->items[i];

		sum->total.open = sum->total.open_ns = 0;
		add(&sum->total, &sum->last);
		sum->total.threads = sum->last.threads;
		memset(&sum->last, 0, sizeof(sum->last));
		sum->is_touched = false;
	}
}

void beat_sums_free(struct beat_sums *sums)
{
	free(sums->items);
	*sums = (struct beat_sums){ 0 };
}
