/**
 * Traces: events too many to lie in memory until the end. The wire between the runtime, which writes
 * them, and the launcher, which takes them to disk while the target runs.
 *
 *   [header, SN_TRACE_HEADER_BYTES][slot 0][slot 1]...
 *
 * Named HOST.PID.SEQUENCE.trace in the data folder, beside the data file of the same name, whose
 * sequence it has. The runtime creates it, maps it MAP_SHARED and closes the descriptor. It never
 * grows beyond SN_TRACE_SLOTS slots: a slot that is full is taken to disk and used again.
 *
 * Who owns a slot is its state in the header:
 *
 *   FREE   nobody; a writer makes it OWNED by compare-and-swap (acquire)
 *   OWNED  one thread writes to it, and makes it FULL (release)
 *   FULL   the launcher's: it copies the slot to disk, then makes it FREE (release)
 *
 * A slot holds one piece: a header, then bytes that its kind defines. `committed_bytes` (release
 * store after an event's bytes) says how far it can be read, so a SIGKILL at any instruction loses
 * nothing that was committed: the launcher takes OWNED slots of processes that are gone. The number
 * of a piece is unique in its file, so one that a dying launcher had copied and not yet freed is
 * known twice by it.
 *
 * Slots below `slots_backed` have disk space. The launcher backs more when few are free. A writer
 * that finds no free slot counts what it drops by kind in `lost`, and looks again when `given_back`
 * or `slots_backed` has changed: no launcher, or a full disk, costs it one comparison an event.
 *
 * On disk the pieces of all processes of a launch follow each other in HOST.PID.trace of the
 * experiment, each as long as it was committed, rounded up to 8 bytes. The first are accounts of pid 0: room for accounts
 * of processes, should the disk be full when they end. One that tells of several processes has their sums in `lost`.
 */
#ifndef SN_WIRE_TRACE_H
#define SN_WIRE_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

#define SN_TRACE_MAGIC	     0x4543415254534eULL /* "NSTRACE" and a zero byte */
#define SN_TRACE_PIECE_MAGIC 0x45434950u	 /* "PICE" */

enum {
	SN_TRACE_VERSION = 2,
	SN_TRACE_HEADER_BYTES = 32768,
	SN_TRACE_SLOT_BYTES = 16384,
	SN_TRACE_SLOTS = 4096,	    /* 64 MB */
	SN_TRACE_SLOTS_FIRST = 256, /* backed by the runtime at start ... */
	SN_TRACE_SLOTS_FORK = 16,   /* ... and in the child of a fork */
};

/** Of a piece; the numbers are stored, so none may be renumbered. */
enum sn_trace_kind {
	SN_TRACE_ACCOUNT, /* struct sn_trace_account, written by the launcher as a process's last */
	SN_TRACE_HEAP,	  /* wire/heap.h */
	SN_TRACE_MPI,	  /* wire/mpi.h */
	SN_TRACE_MPI_COUNTS, /* likewise */
	SN_TRACE_SYNC,	     /* wire/sync.h */
	SN_TRACE_IO,	     /* wire/io.h */
	SN_TRACE_OPENMP,     /* wire/openmp.h */
	SN_TRACE_HEAP_SUMS,  /* wire/heap.h */
	SN_TRACE_KINDS,
};

enum sn_trace_slot_state { SN_TRACE_FREE, SN_TRACE_OWNED, SN_TRACE_FULL };

struct sn_trace_header {
	uint64_t magic;
	uint32_t version, header_bytes, slot_bytes, slots_max;
	int32_t pid;
	uint32_t sequence;
	_Atomic uint32_t slots_backed;
	_Atomic uint32_t hint; /* where to look for a free slot first */
	_Atomic uint64_t next_piece;
	_Atomic uint32_t given_back; /* counts slots that the launcher made free */
	_Atomic uint32_t kinds;	     /* that are traced: bits by enum sn_trace_kind */
	_Atomic uint32_t is_closed;  /* the launcher takes no more: events are counted, not kept */
	_Atomic uint64_t lost[8];    /* events dropped, by enum sn_trace_kind */
	_Atomic uint64_t ticks[8];   /* what tracing cost; one event in many was measured */
	uint64_t namespace_inode;    /* of the pid */
	_Atomic uint32_t states[SN_TRACE_SLOTS];
};

/** What begins a slot, and a piece on disk. */
struct sn_trace_piece {
	uint32_t magic;
	_Atomic uint32_t committed_bytes; /* from the piece's start */
	uint64_t number;
	int32_t pid;
	uint32_t sequence; /* of the process image, with pid: the data file's */
	uint32_t thread_index;
	uint32_t kind;	   /* enum sn_trace_kind */
	int64_t base_ns;   /* CLOCK_MONOTONIC, at ... */
	uint64_t base_tsc; /* ... this reading of the time-stamp counter */
};

/** Pieces by threads that are none of ours: before they begin, after their end, or unknown. */
#define SN_TRACE_NO_THREAD 0xffffffffu

struct sn_trace_account {
	struct sn_trace_piece piece; /* its thread_index: the header's `kinds` */
	uint64_t lost[8], ticks[8];  /* by enum sn_trace_kind */
};

_Static_assert((int)SN_TRACE_KINDS <= 8, "each kind has its counter");
_Static_assert(sizeof(struct sn_trace_header) <= SN_TRACE_HEADER_BYTES, "the header fits");
_Static_assert(sizeof(struct sn_trace_piece) == 48, "piece header");

static inline uint64_t sn_trace_slot_offset(uint32_t index)
{
	return SN_TRACE_HEADER_BYTES + (uint64_t)index * SN_TRACE_SLOT_BYTES;
}

/** Numbers in pieces are LEB128, signed ones in zigzag. Gives the end of what was put. */
static inline uint8_t *sn_trace_put(uint8_t *at, uint64_t value)
{
	while (value >= 128) {
		*at++ = (uint8_t)(value | 128);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline uint64_t sn_trace_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t sn_trace_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/** How long a piece is on disk. */
static inline uint32_t sn_trace_disk_bytes(uint32_t committed_bytes)
{
	return (committed_bytes + 7) & ~7u;
}

#endif
