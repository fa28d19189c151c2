/**
 * What caches are simulated: levels, lines, TLB, policy, prefetcher; from a text as `--caches` has it, or of
 * the machine we run on.
 */
#ifndef SN_CACHES_CONFIG_H
#define SN_CACHES_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "machine/caches.h"

enum { SN_SIM_LEVELS_MAX = 3, SN_SIM_TLB = SN_SIM_LEVELS_MAX, SN_SIM_STAGES };

struct sn_sim_shape {
	uint64_t sets;
	unsigned ways;
};

struct sn_sim_config {
	struct sn_sim_shape levels[SN_SIM_LEVELS_MAX]; /* L1 first */
	unsigned level_count;			       /* at least 1 */
	bool last_is_shared; /* the last level is one for all threads; all others each thread has */
	unsigned line_bytes; /* a power of two, 8 to 4096 */
	struct sn_sim_shape tlb;
	uint64_t page_bytes; /* a power of two, a line at least */
	bool is_plru;	     /* tree-PLRU; else LRU */
	bool has_prefetcher; /* by stride, one for each instruction of a thread */
};

/** The machine's data caches; where it does not tell, those of Skylake's server cores. L3 is shared. The TLB
 *  is that of Skylake's second level: 1536 entries of 12 ways, pages of 4 KiB. LRU, no prefetcher. */
void sn_sim_config_native(struct sn_sim_config *out);

/**
 * Reads "L1=48k/12,L2=2m/16,L3=36m/12,TLB=1536/12,line=64,page=4k". Where it names a level, the levels are those
 * that it names, from L1 on; what else it leaves out stays as in `*config`. L3 is shared by all threads and
 * others are not; a last level says "/shared" or "/private" otherwise. On error (SN_ERR_USAGE) `*config` stays.
 */
sn_status sn_sim_config_parse(const char *text, struct sn_sim_config *config, struct sn_error *err);
/** "lru" or "plru"; "none" or "stride". */
sn_status sn_sim_policy_parse(const char *text, struct sn_sim_config *config, struct sn_error *err);
sn_status sn_sim_prefetch_parse(const char *text, struct sn_sim_config *config,
				struct sn_error *err);

/** Adds "L1 32 KiB 8-way, L2 1 MiB 16-way, L3 ... shared; lines of 64 bytes; LRU; no prefetcher". */
void sn_sim_config_describe(const struct sn_sim_config *config, struct sn_text *out);

#endif
