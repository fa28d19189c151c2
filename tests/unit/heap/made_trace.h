/** Traces made event by event, as the runtime would write them. */
#ifndef MADE_TRACE_H
#define MADE_TRACE_H

#include <string.h>

#include "wire/heap.h"
#include "wire/trace.h"

struct made_piece {
	union {
		struct sn_trace_piece piece;
		uint8_t bytes[SN_TRACE_SLOT_BYTES];
	};
	uint8_t *end;
	uint64_t tsc, address;
	uint32_t path;
};

static inline void made_begin(struct made_piece *made, uint64_t number, uint32_t thread,
			      uint64_t tsc)
{
	memset(made, 0, sizeof(*made));
	made->piece = (struct sn_trace_piece){ .magic = SN_TRACE_PIECE_MAGIC,
					       .number = number,
					       .pid = 7,
					       .thread_index = thread,
					       .kind = SN_TRACE_HEAP,
					       .base_ns = (int64_t)tsc,
					       .base_tsc = tsc };
	made->end = made->bytes + sizeof(made->piece);
	made->piece.committed_bytes = sizeof(made->piece);
	made->tsc = tsc;
}

/* A piece of sums, with its head. */
static inline struct sn_heap_head *made_sums_begin(struct made_piece *made, uint64_t number,
						   uint32_t mode)
{
	struct sn_heap_head *head;

	made_begin(made, number, SN_TRACE_NO_THREAD, 1000000);
	made->piece.kind = SN_TRACE_HEAP_SUMS;
	made->piece.committed_bytes =
		sizeof(made->piece) + (SN_HEAP_ENTRIES + 1) * SN_HEAP_ENTRY_BYTES;
	head = (struct sn_heap_head *)(&made->piece + 1);
	head->mode = mode;
	return head;
}

static inline struct sn_heap_entry *made_entry(struct made_piece *made, unsigned place)
{
	return (struct sn_heap_entry *)(&made->piece + 1) + 1 + place;
}

/* `kind` FREE needs neither bytes nor path. */
static inline void made_event(struct made_piece *made, uint8_t kind, uint64_t tsc, uint64_t address,
			      uint64_t bytes, uint32_t path)
{
	uint8_t flag;
	uint64_t difference = sn_heap_difference(address, made->address, &flag);
	bool is_same = kind != SN_HEAP_FREE && path == made->path;

	*made->end++ = (uint8_t)(kind | flag | (is_same ? SN_HEAP_SAME_PATH : 0));
	made->end = sn_trace_put(made->end, tsc - made->tsc);
	made->end = sn_trace_put(made->end, difference);
	made->tsc = tsc;
	made->address = address;
	if (kind != SN_HEAP_FREE) {
		made->end = sn_trace_put(made->end, bytes);
		if (!is_same)
			made->end = sn_trace_put(made->end, path);
		made->path = path;
	}
	made->piece.committed_bytes = (uint32_t)(made->end - made->bytes);
}

#endif
