/* The order of runs, and what is missing: a walk over blocks that asks the state for each run. */
#include "campaign/schedule.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/stats.h"

void sn_campaign_block_order(uint32_t count, enum sn_campaign_order order, uint64_t seed,
			     uint32_t block, uint32_t *out)
{
	struct sn_random random;

	for (uint32_t i = 0; i < count; i++)
		out[i] = i;
	if (order != SN_CAMPAIGN_BLOCKS)
		return;
	sn_random_seed(&random, sn_hash_u64(seed + 0x9e3779b97f4a7c15u * ((uint64_t)block + 1)));
	for (uint32_t i = count; i > 1; i--) {
		uint32_t k = (uint32_t)sn_random_below(&random, i), kept = out[i - 1];

		out[i - 1] = out[k];
		out[k] = kept;
	}
}

/* Sequential: the walk has one "block" a configuration, with its repeats as positions. */
static void extent_of(const struct sn_campaign_plan *plan, uint32_t *blocks, uint32_t *positions)
{
	uint32_t configurations = (uint32_t)plan->configurations.count;
	bool is_in_blocks = plan->order == SN_CAMPAIGN_BLOCKS;

	*blocks = is_in_blocks ? plan->repeat : configurations;
	*positions = is_in_blocks ? configurations : plan->repeat;
}

static void run_at(struct sn_campaign_cursor *cursor, const struct sn_campaign_plan *plan,
		   uint64_t seed, struct sn_campaign_next *out)
{
	uint32_t count = (uint32_t)plan->configurations.count;

	if (plan->order == SN_CAMPAIGN_SEQUENTIAL) {
		*out = (struct sn_campaign_next){ .configuration = cursor->block,
						  .block = cursor->position,
						  .position = cursor->position };
		return;
	}
	if (!cursor->order)
		cursor->order = sn_alloc_zeroed(count + 1, sizeof(*cursor->order));
	if (!cursor->has_order)
		sn_campaign_block_order(count, plan->order, seed, cursor->block, cursor->order);
	cursor->has_order = true;
	*out = (struct sn_campaign_next){ .configuration = cursor->order[cursor->position],
					  .block = cursor->block,
					  .position = cursor->position };
}

/* Whether this run is to be started now: the first round takes what never ran to its end, the second
 * what failed and may be tried again. */
static bool is_wanted(const struct sn_campaign_state *state, const struct sn_campaign_next *run,
		      const struct sn_campaign_cursor *cursor, uint32_t *attempt)
{
	const struct sn_campaign_attempt *last =
		sn_campaign_last(state, run->configuration, run->block);

	*attempt = last ? last->attempt + 1 : 1;
	if (!last || last->state == SN_RUN_CANCELLED)
		/* in the second round: one that was stopped when it was tried again */
		return !(cursor->is_second && cursor->is_dry);
	return cursor->is_second && last->state == SN_RUN_FAILED &&
	       last->failed_before < state->retry;
}

bool sn_campaign_next(struct sn_campaign_cursor *cursor, const struct sn_campaign_plan *plan,
		      const struct sn_campaign_state *state, const bool *is_left_out,
		      struct sn_campaign_next *out)
{
	uint32_t blocks, positions;

	extent_of(plan, &blocks, &positions);
	while (cursor->block < blocks) {
		if (cursor->position == positions) {
			cursor->position = 0;
			cursor->block += cursor->is_second;
			cursor->has_order &= !cursor->is_second;
			cursor->is_second = !cursor->is_second;
			continue;
		}
		run_at(cursor, plan, state->seed, out);
		if (!(is_left_out && is_left_out[out->configuration]) &&
		    is_wanted(state, out, cursor, &out->attempt))
			return true; /* and is asked again: it may fail once more */
		cursor->position++;
	}
	return false;
}

uint32_t sn_campaign_retries_needed(const struct sn_campaign_plan *plan,
				    const struct sn_campaign_state *state)
{
	uint32_t needed = state->retry;

	for (uint32_t c = 0; c < plan->configurations.count; c++)
		for (uint32_t b = 0; b < plan->repeat; b++) {
			const struct sn_campaign_attempt *last = sn_campaign_last(state, c, b);

			if (last && last->state == SN_RUN_FAILED && last->failed_before >= needed)
				needed = last->failed_before + 1;
		}
	return needed > state->retry ? needed : 0;
}

void sn_campaign_cursor_free(struct sn_campaign_cursor *cursor)
{
	free(cursor->order);
	cursor->order = NULL;
}
