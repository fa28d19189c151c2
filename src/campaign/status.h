/** The runs of a campaign, those that are still to come with them, and what became of each. */
#ifndef SN_CAMPAIGN_STATUS_H
#define SN_CAMPAIGN_STATUS_H

#include "base/table.h"
#include "campaign/campaign.h"

enum sn_campaign_status_column {
	SN_STATUS_CONFIGURATION,
	SN_STATUS_REPEAT,
	SN_STATUS_ATTEMPT,
	SN_STATUS_BLOCK,
	SN_STATUS_POSITION,
	SN_STATUS_STATE,
	SN_STATUS_EXIT,
	SN_STATUS_EXPERIMENT,
	SN_STATUS_JOB,
	SN_STATUS_ELAPSED,
	SN_STATUS_LEVEL,
	SN_STATUS_REASON,
	SN_STATUS_COLUMNS,
};

/** A table of sonde.campaign/1. `is_held`: somebody runs the campaign. The caller frees it. */
void sn_campaign_status(struct sn_campaign *campaign, bool is_held, struct sn_table *out);
/** How many of its rows are in each state: `counts` has SN_RUN_CANCELLED + 1. */
void sn_campaign_status_count(const struct sn_table *status, size_t *counts);

#endif
