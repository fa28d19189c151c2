/**
 * Blocks of the heap by place and time: which allocation a data address belongs to. Of a trace of each call
 * (SN_HEAP_TRACE) only; sums and samples do not tell where blocks lie.
 */
#ifndef SN_HEAP_BLOCKS_H
#define SN_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "experiment/experiment.h"

/** Bytes of a process, both inclusive. */
struct sn_heap_range {
	uint32_t process;
	uint64_t first, last;
};
typedef SN_VEC(struct sn_heap_range) sn_heap_ranges;

struct sn_heap_lived {
	uint32_t process;
	uint32_t stack; /* its leaf is the call; SN_NONE: none was taken */
	uint64_t address, bytes;
	int64_t begin_ns, end_ns; /* of the experiment; end_ns INT64_MAX: it was never released */
	uint64_t reach;		  /* the largest end of the blocks up to here, of its process */
};

struct sn_heap_blocks {
	SN_VEC(struct sn_heap_lived) items; /* by process, address, time */
};

/** Reads the blocks that have a byte in one of the ranges, which are sorted and joined here. None, and NULL, if the
 * heap was not traced. SN_ERR_IO: a file cannot be read. The caller frees. */
sn_status sn_heap_blocks_read(const struct sn_experiment *experiment, sn_heap_ranges *ranges,
			      struct sn_heap_blocks **out, struct sn_error *err);
void sn_heap_blocks_free(struct sn_heap_blocks *blocks);

/** The block with a byte that lives at a time; else the first that does until `until_ns`; NULL: none. A block lives from
 * the end of the call that allocated it: what that call itself did to its bytes (calloc, realloc) came before. `first` and
 * `last` become the bytes around the address that have the same answer. */
const struct sn_heap_lived *sn_heap_block_at(const struct sn_heap_blocks *blocks, uint32_t process,
					     uint64_t address, int64_t time_ns, int64_t until_ns,
					     uint64_t *first, uint64_t *last);

#endif
