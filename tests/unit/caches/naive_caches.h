/* A slow simulation that can be seen to be right, for a few lines, to compare src/caches with. */
#ifndef SN_TESTS_NAIVE_CACHES_H
#define SN_TESTS_NAIVE_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#include "caches/simulate.h"

enum { NAIVE_LINES = 160, NAIVE_CORES = 3, NAIVE_WAYS = 8, NAIVE_SETS = 8 };

/* A way of a set. Its last use stays when its line goes. */
struct naive_way {
	bool is_full;
	unsigned line;
	uint64_t bytes;
	unsigned long last_use;
};

struct naive_cache {
	struct naive_way ways[NAIVE_SETS][NAIVE_WAYS];
};

/* A list of what was met, the last first. */
struct naive_list {
	unsigned items[NAIVE_LINES], count;
};

struct naive_counts {
	uint64_t accesses, writes, misses[SN_SIM_CAUSES], read_misses, write_misses, lines, used,
		open;
};

struct naive {
	struct sn_sim_config config;
	unsigned private_count;
	unsigned long now;
	struct naive_cache levels[NAIVE_CORES][SN_SIM_LEVELS_MAX], shared, tlb[NAIVE_CORES];
	struct naive_list met[NAIVE_CORES], all_met, pages_met[NAIVE_CORES];
	char state[NAIVE_CORES][NAIVE_LINES]; /* 'M', 'E', 'S', 'I'; 0 is 'I', too */
	bool was_lost[NAIVE_CORES][NAIVE_LINES][SN_SIM_LEVELS_MAX];
	bool was_invalidated[NAIVE_CORES][NAIVE_LINES];
	uint64_t unseen[NAIVE_CORES]
		       [NAIVE_LINES]; /* bytes that others wrote since the core had it */
	uint64_t awaited[NAIVE_CORES][NAIVE_LINES];
	bool is_awaited[NAIVE_CORES][NAIVE_LINES];
	uint64_t true_transfers, false_transfers;
	struct naive_counts counts[SN_SIM_STAGES];
	uint64_t cold[SN_SIM_STAGES][NAIVE_CORES]
		     [NAIVE_SETS]; /* by set; of a shared level: core 0 */
};

void naive_access(struct naive *naive, unsigned core, uint64_t address, unsigned size,
		  bool is_write);
void naive_end(struct naive *naive);

#endif
