/**
 * The caches of a machine: of the one we run on by CPUID and the kernel, of the others by
 * data/machines/caches.tsv.
 */
#ifndef SN_MACHINE_CACHES_H
#define SN_MACHINE_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum { SN_CACHES_MAX = 8 };

enum sn_cache_kind { SN_CACHE_DATA, SN_CACHE_INSTRUCTION, SN_CACHE_UNIFIED };

/** What it has of the levels before it. */
enum sn_cache_inclusion {
	SN_CACHE_INCLUSION_UNKNOWN,
	SN_CACHE_INCLUSIVE,	/* all that they hold */
	SN_CACHE_NON_INCLUSIVE, /* some of it */
	SN_CACHE_EXCLUSIVE,	/* what they evict */
};

/** Which line of a set goes. */
enum sn_cache_policy { SN_CACHE_POLICY_UNKNOWN, SN_CACHE_LRU, SN_CACHE_PLRU };

/** How far a cache reaches. */
enum sn_cache_reach {
	SN_CACHE_OF_CORE,
	SN_CACHE_OF_CLUSTER, /* of some cores */
	SN_CACHE_PIECE,	     /* one core's piece of what a socket shares */
};

struct sn_cache {
	unsigned level; /* from 1 */
	enum sn_cache_kind kind;
	uint64_t bytes;
	unsigned ways; /* 0: not known */
	unsigned line_bytes;
	unsigned threads; /* that share it, of the machine we run on; 0: not known */
	enum sn_cache_reach reach;
	enum sn_cache_inclusion inclusion;
	enum sn_cache_policy policy;
};

struct sn_caches {
	struct sn_cache items[SN_CACHES_MAX]; /* by level, data before instructions */
	unsigned count;
};

/** Of the machine we run on; count is 0 where neither the kernel nor CPUID tells. */
void sn_caches_native(struct sn_caches *out);
/** Of a machine by its name (as in --arch); SN_ERR_NOT_FOUND if the table has none. */
sn_status sn_caches_of(const char *machine, struct sn_caches *out, struct sn_error *err);

/** Adds "L1d 48 KiB 12-way, L2 2 MiB 16-way, L3 480 MiB 16-way of 2 threads; lines of 64 bytes". */
void sn_caches_describe(const struct sn_caches *caches, struct sn_text *out);

#endif
