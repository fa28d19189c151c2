/* Counters and their overflows. */
#include <math.h>
#include <string.h>

#include "experiment/decode_parts.h"

/* One that stands for more than that is damaged: 2^53 events at most are told exactly. */
#define COUNT_MOST ((uint64_t)1 << 53)

void sn_decode_counter(struct image *image, const struct sn_record_counter *record)
{
	struct sn_experiment *e = image->decoder->experiment;
	const char *name = sn_arena_strndup(&e->arena, record->name,
					    strnlen(record->name, sizeof(record->name)));
	struct sn_event *event;

	if (record->index >= SN_COUNTERS_MAX || !name[0] || !record->period) {
		image->damaged++;
		return;
	}
	image->events[record->index] = sn_experiment_add_event(e, name, record->period) + 1;
	event = &e->events.items[image->events[record->index] - 1];
	event->hz = record->hz;
	event->flags = record->flags;
}

/* The instruction's own place in front of the callers; the one that was interrupted may be a later one. */
static uint32_t exact_stack(struct image *image, uint32_t stack,
			    const struct sn_record_count *record)
{
	struct sn_experiment *e = image->decoder->experiment;
	const struct sn_stack *interrupted = stack == SN_NONE ? NULL : &e->stacks.items[stack];
	uint32_t flags = interrupted ? interrupted->flags : 0;

	image->frames.count = 0;
	sn_decode_frame_push(image, record->pc, true, record->time_ns);
	for (uint32_t f = 1; interrupted && f < interrupted->depth; f++)
		sn_vec_push(&image->frames, interrupted->frames[f]);
	return sn_experiment_add_stack(e, image->process, image->frames.items,
				       (uint32_t)image->frames.count, flags);
}

void sn_decode_count(struct image *image, const struct owner *owner,
		     const struct sn_record_count *record)
{
	struct sn_experiment *e = image->decoder->experiment;
	bool is_long = record->header.size_bytes >= sizeof(*record);
	struct sn_event_count count = { .time_ns = bounded(record->time_ns) + image->offset_ns,
					.count = (double)record->count,
					.thread = image->first_thread + owner->thread_index,
					.cpu = record->cpu,
					.flags = record->header.flags };

	if (!sn_decode_thread_of(image, owner->thread_index) ||
	    record->counter >= SN_COUNTERS_MAX || !image->events[record->counter] ||
	    !record->count || record->count > COUNT_MOST) {
		image->damaged++;
		return;
	}
	count.event = image->events[record->counter] - 1;
	count.stack = sn_decode_stack(image, record->stack, record->time_ns);
	if (!is_long)
		count.flags &= (uint8_t) ~(SN_COUNT_ADDRESS | SN_COUNT_EXACT);
	if (count.flags & SN_COUNT_EXACT && !(count.flags & SN_COUNT_IN_KERNEL))
		count.stack = exact_stack(image, count.stack, record);
	if (count.flags & SN_COUNT_ADDRESS) {
		count.address = record->address;
		count.data_source = record->data_source;
		count.weight = record->weight;
	}
	if (record->counted_share && record->counted_share < 65535) {
		count.is_scaled = true;
		count.count = round(count.count * 65535 / record->counted_share);
	}
	sn_vec_push(&e->event_counts, count);
}
