/**
 * Caches of several threads, simulated access by access: docs/method/caches.md has the rules.
 *
 * Each thread has a core of its own: private levels, a TLB, a prefetcher. The last level may be one for
 * all. Cores keep their copies in step by MESI. Nothing here knows of experiments or of programs: sites
 * (instructions), objects and cores are numbers.
 */
#ifndef SN_CACHES_SIMULATE_H
#define SN_CACHES_SIMULATE_H

#include <stddef.h>

#include "base/vec.h"
#include "caches/config.h"

enum {
	SN_SIM_CORES_MAX = 256,
	SN_SIM_REUSE_BUCKETS = 116,
	SN_SIM_STRIDES = 4,
	SN_SIM_SITES_MAX = 8,
};

enum sn_sim_cause {
	SN_SIM_COLD,
	SN_SIM_CAPACITY,
	SN_SIM_CONFLICT,
	SN_SIM_COHERENCE,
	SN_SIM_CAUSES
};

/** What reached one level, or the TLB. An access that spans two lines is two. */
struct sn_sim_stage {
	uint64_t accesses, writes;
	uint64_t read_misses, write_misses;
	uint64_t misses[SN_SIM_CAUSES]; /* their sum is that of the two above */
	/* of the cold ones those of lines that could have been there: of a set the first ones, as many as it
	 * has ways */
	uint64_t open;
	/* of the accesses and of `open` those of windows that found the caches empty: see sn_sim_go_on */
	uint64_t accesses_at_start, open_at_start;
	uint64_t lines, used_bytes; /* lines that left again, and what was used of them */
	uint64_t reuse
		[SN_SIM_REUSE_BUCKETS]; /* accesses by distance in lines (pages); not the cold */
};

/** A distance between accesses of an instruction; counts may be too small by a fifth of all (Misra and Gries
 *  1982). */
struct sn_sim_stride {
	int64_t bytes;
	uint64_t count;
};

/** What one instruction of one thread did to one object. */
struct sn_sim_cell {
	uint32_t core, site, object;
	struct sn_sim_stage stages[SN_SIM_STAGES]; /* L1, L2, L3, TLB */
	struct sn_sim_stride strides[SN_SIM_STRIDES];
};

/** A line that moved between threads, as far as it is one object's: a thread fetched it that had lost it to
 *  another's write, or while it was modified in another's cache. True sharing if the fetching thread used a
 *  byte that others had written meanwhile, before it lost the line again; else false sharing. */
struct sn_sim_shared {
	uint64_t line;
	uint32_t object;
	uint64_t first_address, last_address; /* bytes for which it was fetched */
	uint64_t true_transfers, false_transfers;
	uint64_t cores[SN_SIM_CORES_MAX /
		       64]; /* a bit each: who fetched it, and who had written it */
	uint32_t sites[SN_SIM_SITES_MAX], site_count; /* of both; at most so many */
};

/** One instruction's accesses: the next one, and how far it is to the one after. */
struct sn_sim_access {
	uint32_t site;
	uint32_t size_bytes; /* 0 counts as 1 */
	uint64_t address;
	int64_t stride_bytes;
	bool is_write;
};

/** What lies at an address: a number, and the bytes from *first to *last that have the same answer. */
typedef uint32_t (*sn_sim_object_at)(void *context, uint64_t address, uint64_t *first,
				     uint64_t *last);

struct sn_sim;

/** Cores are 0 to core_count - 1, sites 0 to site_count - 1. `object_at` may be NULL: all is object 0. */
struct sn_sim *sn_sim_new(const struct sn_sim_config *config, unsigned core_count,
			  uint32_t site_count, sn_sim_object_at object_at, void *context);
void sn_sim_free(struct sn_sim *sim);

/** One access of each, in this order, and that `times` times over; addresses move on by their strides. Bytes
 *  of an access wrap around at the end of the address space. */
void sn_sim_run(struct sn_sim *sim, unsigned core, struct sn_sim_access *accesses, size_t count,
		uint64_t times);

/** Objects that a core's instructions met may lie elsewhere now: `object_at` is asked again. */
void sn_sim_objects_changed(struct sn_sim *sim, unsigned core);
/** All lines leave, and nothing was ever met: what comes next was not preceded by anything known. Counts stay. */
void sn_sim_forget(struct sn_sim *sim);
/** What comes next finds the caches as it would find them in the program; until then it is at the start. */
void sn_sim_go_on(struct sn_sim *sim);

/** What was counted; whole after sn_sim_forget. Valid until the next call on `sim`. */
const struct sn_sim_cell *sn_sim_cells(const struct sn_sim *sim, size_t *count);
const struct sn_sim_shared *sn_sim_shared(const struct sn_sim *sim, size_t *count);

void sn_sim_stage_add(struct sn_sim_stage *to, const struct sn_sim_stage *from);
static inline uint64_t sn_sim_stage_misses(const struct sn_sim_stage *stage)
{
	return stage->read_misses + stage->write_misses;
}
/** Median of the reuse distances, within an eighth; NaN: nothing was met again. */
double sn_sim_stage_median(const struct sn_sim_stage *stage);
/** The count of a stride goes up in a summary of SN_SIM_STRIDES. */
void sn_sim_stride_add(struct sn_sim_stride *strides, int64_t bytes, uint64_t count);

#endif
