/** What the files that read the heap share: pieces, their events, blocks that are alive. */
#ifndef SN_HEAP_PARTS_H
#define SN_HEAP_PARTS_H

#include <math.h>

#include "base/file.h"
#include "base/vec.h"
#include "heap/heap.h"
#include "wire/heap.h"
#include "wire/trace.h"

/* ---- events.c ---- */

struct sn_heap_event_read {
	uint8_t kind; /* enum sn_heap_event; SN_HEAP_NONE: the piece is over */
	uint64_t tsc, address, bytes;
	uint32_t path;
	uint64_t time_ns; /* of a TIME: since the piece's base */
};

/** A position in the events of a piece. */
struct sn_heap_reader {
	const uint8_t *next, *end;
	uint64_t tsc, address;
	uint32_t path;
	bool is_damaged;
};

void sn_heap_reader_open(struct sn_heap_reader *reader, const struct sn_trace_piece *piece,
			 uint32_t bytes);
/** Reads the next event. False: there is none, or it is damaged. */
bool sn_heap_reader_next(struct sn_heap_reader *reader, struct sn_heap_event_read *out);

/* ---- pieces.c ---- */

struct sn_heap_piece {
	const struct sn_trace_piece *piece;
	uint32_t bytes;
	uint32_t process;
};

/** How a process tells time: ns of the experiment = base_ns + (tsc - base_tsc) * ns_per_tick. */
struct sn_heap_clock {
	uint64_t base_tsc;
	int64_t base_ns;
	double ns_per_tick;
};

struct sn_heap_pieces {
	const struct sn_experiment *experiment;
	SN_VEC(struct sn_heap_piece) items; /* of the heap, by the time of their first event */
	struct sn_heap_clock *clocks;	    /* by process */
	SN_VEC(struct sn_file_view) views;
	uint64_t *ticks; /* by process: what tracing took */
	uint64_t lost, damaged;
};

sn_status sn_heap_pieces_open(struct sn_heap_pieces *pieces, const struct sn_experiment *experiment,
			      struct sn_error *err);
void sn_heap_pieces_close(struct sn_heap_pieces *pieces);

/** Within 1e18 ns (30 years) of 0, whatever a damaged trace says. */
static inline double sn_heap_time_ns(const struct sn_heap_clock *clock, uint64_t tsc)
{
	double ns = (double)clock->base_ns +
		    (double)(int64_t)(tsc - clock->base_tsc) * clock->ns_per_tick;

	return fmax(fmin(ns, 1e18), -1e18);
}

/* ---- live.c ---- */

struct sn_heap_block {
	uint64_t address; /* 0: an empty place */
	uint64_t bytes;
	uint32_t path;	 /* index in the heap's paths */
	uint32_t thread; /* index of the reader's own */
	bool is_owed;	 /* the release of the block before it at this address is still to come */
};

/** The blocks of one process that are alive. All zero is empty. */
struct sn_heap_live {
	struct sn_heap_block *blocks;
	size_t count, capacity;
};

struct sn_heap_block *sn_heap_live_find(const struct sn_heap_live *live, uint64_t address);
/** A place for an address that is not there. Others move: pointers to them end. */
struct sn_heap_block *sn_heap_live_add(struct sn_heap_live *live, uint64_t address);
/** Takes one out that sn_heap_live_find gave. */
void sn_heap_live_remove(struct sn_heap_live *live, struct sn_heap_block *block);
void sn_heap_live_free(struct sn_heap_live *live);

#endif
