/** What the files that read the heap share: events of pieces, blocks that are alive. */
#ifndef SN_HEAP_PARTS_H
#define SN_HEAP_PARTS_H

#include "heap/heap.h"
#include "trace/trace.h"
#include "wire/heap.h"

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
/** The last time that the events of a piece tell (sn_trace_last). */
struct sn_trace_instant sn_heap_last_instant(const struct sn_trace_item *item);

/* ---- aggregate.c ---- */

struct sn_heap_aggregate_process {
	uint32_t mode; /* enum sn_heap_mode; OFF: it wrote no sums, so it is a trace */
	uint32_t peak_number;
	uint64_t interval_bytes, unknown_frees;
	int64_t peak_ns; /* CLOCK_MONOTONIC */
	double ns_per_tick;
};

struct sn_heap_aggregate_path {
	uint32_t process, id;
	bool is_new;
	int64_t held_bytes, at_peak; /* at its process's own peak */
	struct sn_heap_sums sums;
};

struct sn_heap_aggregate {
	struct sn_heap_aggregate_process *processes;
	SN_VEC(struct sn_heap_aggregate_path) paths;
	uint64_t damaged;
};

/** Damage is counted, no error. The caller frees. */
sn_status sn_heap_aggregate_read(const struct sn_experiment *experiment,
				 struct sn_heap_aggregate *out, struct sn_error *err);
void sn_heap_aggregate_free(struct sn_heap_aggregate *aggregate);

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
