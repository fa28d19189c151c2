/* Spans of time. They are few: as many as a search has steps. */
#include "base/span.h"

#include <stdlib.h>

static int spans_compare(const void *left, const void *right)
{
	const struct sn_span *a = left, *b = right;

	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

size_t sn_spans_settle(struct sn_span *items, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(items, count, sizeof(*items), spans_compare);
	for (size_t i = 0; i < count; i++) {
		if (!kept || items[i].from_ns > items[kept - 1].to_ns)
			items[kept++] = items[i];
		else if (items[i].to_ns > items[kept - 1].to_ns)
			items[kept - 1].to_ns = items[i].to_ns;
	}
	return kept;
}

bool sn_spans_have(const struct sn_spans *spans, int64_t time_ns)
{
	for (size_t i = 0; i < spans->count; i++)
		if (time_ns >= spans->items[i].from_ns && time_ns < spans->items[i].to_ns)
			return true;
	return !spans->count;
}

int64_t sn_spans_overlap_ns(const struct sn_spans *spans, int64_t from_ns, int64_t to_ns)
{
	int64_t sum = 0;

	if (!spans->count)
		return to_ns > from_ns ? to_ns - from_ns : 0;
	for (size_t i = 0; i < spans->count; i++) {
		int64_t from =
			from_ns > spans->items[i].from_ns ? from_ns : spans->items[i].from_ns;
		int64_t to = to_ns < spans->items[i].to_ns ? to_ns : spans->items[i].to_ns;

		sum += to > from ? to - from : 0;
	}
	return sum;
}
