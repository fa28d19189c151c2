/**
 * Runs that are unlike their siblings. They are named, and left out of statistics.
 */
#ifndef SN_CAMPAIGN_JUDGE_H
#define SN_CAMPAIGN_JUDGE_H

#include "campaign/state.h"

/** Marks runs that are done as suspicious, with the reason, by these rules, each against the median of
 * the done runs of the same configuration, of which it needs three: CPU time beyond twice of it; samples
 * a second of CPU time below half or above twice of it; output of the program below half or above
 * twice of it. And without siblings: over 1 % of samples lost. Reasons live in the state's arena. */
void sn_campaign_judge(struct sn_campaign_state *state);

#endif
