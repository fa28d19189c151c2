/* Events from the bytes of a piece, which may be those of a damaged file. */
#include "heap/parts.h"

void sn_heap_reader_open(struct sn_heap_reader *reader, const struct sn_trace_piece *piece,
			 uint32_t bytes)
{
	*reader = (struct sn_heap_reader){ .next = (const uint8_t *)(piece + 1),
					   .end = (const uint8_t *)piece + bytes,
					   .tsc = piece->base_tsc };
}

static bool number_read(struct sn_heap_reader *reader, uint64_t *out)
{
	if (sn_trace_number(&reader->next, reader->end, out))
		return true;
	reader->is_damaged = true;
	return false;
}

static bool allocation_read(struct sn_heap_reader *reader, uint8_t tag,
			    struct sn_heap_event_read *out)
{
	uint64_t path = reader->path;

	if (!number_read(reader, &out->bytes) ||
	    (!(tag & SN_HEAP_SAME_PATH) && !number_read(reader, &path)))
		return false;
	reader->path = out->path = (uint32_t)path;
	return true;
}

bool sn_heap_reader_next(struct sn_heap_reader *reader, struct sn_heap_event_read *out)
{
	uint64_t ticks, difference;
	uint8_t tag;

	out->kind = SN_HEAP_NONE;
	if (reader->next >= reader->end)
		return false;
	tag = *reader->next++;
	if ((tag & SN_HEAP_KIND_MASK) == SN_HEAP_NONE ||
	    (tag & SN_HEAP_KIND_MASK) >= SN_HEAP_EVENTS) {
		reader->is_damaged = true;
		reader->next = reader->end;
		return false;
	}
	if (!number_read(reader, &ticks))
		return false;
	out->tsc = reader->tsc += ticks;
	if ((tag & SN_HEAP_KIND_MASK) == SN_HEAP_TIME) {
		if (!number_read(reader, &out->time_ns))
			return false;
	} else {
		if (!number_read(reader, &difference))
			return false;
		reader->address += (uint64_t)sn_trace_unzigzag(difference)
				   << (tag & SN_HEAP_UNALIGNED ? 0 : 4);
		out->address = reader->address;
		if ((tag & SN_HEAP_KIND_MASK) != SN_HEAP_FREE && !allocation_read(reader, tag, out))
			return false;
	}
	out->kind = tag & SN_HEAP_KIND_MASK;
	return true;
}

struct sn_trace_instant sn_heap_last_instant(const struct sn_trace_item *item)
{
	const struct sn_trace_piece *piece = item->piece;
	struct sn_trace_instant last = { piece->base_tsc, piece->base_ns };
	struct sn_heap_reader reader;
	struct sn_heap_event_read event;

	sn_heap_reader_open(&reader, piece, item->bytes);
	while (sn_heap_reader_next(&reader, &event))
		if (event.kind == SN_HEAP_TIME)
			last = (struct sn_trace_instant){
				event.tsc, (int64_t)((uint64_t)piece->base_ns + event.time_ns)
			};
	return last;
}
