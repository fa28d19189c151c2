/**
 * Which run comes next. In blocks, every configuration runs once before any runs again, in an order
 * that is shuffled anew for each block, so that what the machine does meanwhile meets all alike.
 */
#ifndef SN_CAMPAIGN_SCHEDULE_H
#define SN_CAMPAIGN_SCHEDULE_H

#include "campaign/plan.h"
#include "campaign/state.h"

/** The numbers of the configurations in the order in which block `block` runs them: the same for the
 * same seed, on every machine (Fisher and Yates 1938, by Durstenfeld 1964). */
void sn_campaign_block_order(uint32_t count, enum sn_campaign_order order, uint64_t seed,
			     uint32_t block, uint32_t *out);

struct sn_campaign_next {
	uint32_t configuration, block, attempt, position;
};

/** Walks over the runs of a plan. Zero-initialised it stands at the first; free it in the end. What
 * lies behind it is never asked again. */
struct sn_campaign_cursor {
	uint32_t block, position;
	bool is_second; /* failed runs of the block are tried again after all others */
	bool has_order;
	bool is_dry; /* set by who only looks and moves `position` on: finds each run once */
	uint32_t *order;
};
/** Finds the next run to start, by what the state says of those before. `is_left_out` (may be NULL),
 * by configuration: not to be run. False: nothing is left. */
bool sn_campaign_next(struct sn_campaign_cursor *cursor, const struct sn_campaign_plan *plan,
		      const struct sn_campaign_state *state, const bool *is_left_out,
		      struct sn_campaign_next *out);
/** The least number of retries with which every failed run is tried again; 0: those that failed are, or none has. */
uint32_t sn_campaign_retries_needed(const struct sn_campaign_plan *plan,
				    const struct sn_campaign_state *state);
void sn_campaign_cursor_free(struct sn_campaign_cursor *cursor);

#endif
