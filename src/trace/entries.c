/* The time of a piece that holds entries. */
#include "trace/entries.h"

const struct sn_entry_time *sn_entries_time(const struct sn_trace_item *item)
{
	const struct sn_entry_time *first = (const void *)(item->piece + 1);

	return item->bytes >= sizeof(*item->piece) + sizeof(*first) && first->type == SN_ENTRY_TIME
		       ? first
		       : NULL;
}

struct sn_trace_instant sn_entries_last_instant(const struct sn_trace_item *item)
{
	const struct sn_entry_time *time = sn_entries_time(item);

	return time ? (struct sn_trace_instant){ time->tsc, (int64_t)time->ns }
		    : (struct sn_trace_instant){ item->piece->base_tsc, item->piece->base_ns };
}
