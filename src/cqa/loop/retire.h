/**
 * Where time shows when a loop with several paths runs. An interrupt finds the instruction that is
 * the next to retire, so samples lie behind the instruction that was waited for. So passes are put
 * through a simple core, and the time between two retirements counts for the instruction after the
 * second. (The second of a fused pair is such an instruction, as loops of nothing else show.)
 */
#ifndef SN_CQA_RETIRE_H
#define SN_CQA_RETIRE_H

#include "cqa/loop/loop.h"

enum { SN_PLACES_MAX = 96 };

/** Parts of the loop's code that samples are counted by: runs of instructions on the same paths,
 * with no jump in or out but at their ends. The first two instructions of each are a place of their
 * own. What follows a mispredicted branch comes late and its first instruction retires alone, so
 * that time shows there. */
struct sn_places {
	uint16_t *of[SN_CQA_PATHS_MAX]; /* [insn of the path] place */
	unsigned count;
	bool is_head[SN_PLACES_MAX]; /* the first two instructions behind a conditional branch */
	uint64_t first_offset[SN_PLACES_MAX], end_offset[SN_PLACES_MAX]; /* as in the blocks */
};

/** False if there are more than SN_PLACES_MAX. Belongs to the arena. */
bool sn_places_of(const struct sn_cqa_loop *loop, struct sn_arena *arena, struct sn_places *out);

/** The place of an offset; UINT16_MAX: on no path. */
unsigned sn_places_at(const struct sn_places *places, uint64_t offset);

enum { SN_ARRIVALS_MAX = 2 * SN_PLACES_MAX };

/** The ways by which passes come to heads of places: by which conditional branch, and how often in a pass. Several
 * branches may lead to one head, and only one of them may be hard to predict. */
struct sn_arrivals {
	unsigned count;
	struct {
		unsigned place;
		uint64_t branch_offset;
		double often;
	} items[SN_ARRIVALS_MAX];
};

/** Fills the arrivals, by the paths' shares; their order does not depend on these. More than SN_ARRIVALS_MAX are left
 * out. */
void sn_places_arrivals(const struct sn_cqa_loop *loop, const struct sn_places *places,
			const double shares[SN_CQA_PATHS_MAX], struct sn_arrivals *out);

struct sn_retirement {
	/* cycles that a pass of a path shows in each place, without what follows mispredictions */
	double path_cycles[SN_CQA_PATHS_MAX][SN_PLACES_MAX];
	double missed_cycles[SN_PLACES_MAX]; /* of a pass, that follow mispredictions */
	double cycles; /* of a pass, over all passes, mispredictions included */
};

/** Runs passes in random order, by the paths' shares. `missed` says by arrival how often in a pass it is a
 * misprediction. Deterministic. */
void sn_retire(const struct sn_cqa_loop *loop, const struct sn_places *places,
	       const double shares[SN_CQA_PATHS_MAX], const double missed[SN_ARRIVALS_MAX],
	       struct sn_retirement *out);

#endif
