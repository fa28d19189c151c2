/**
 * Adding the plan's level (2 or 3) to a run that is done: further runs of the same command, into the folder of its
 * experiment. Where the campaign runs, or in a job.
 */
#ifndef SN_CAMPAIGN_LEVEL_H
#define SN_CAMPAIGN_LEVEL_H

#include "campaign/launch.h"

/* A level may take so many times what a run may. */
enum { SN_LEVEL_RUNS_MOST = 10 };

/** Starts it, into the experiment at `experiment` (absolute); what an earlier try left there is removed. What it prints lies beside
 * the experiment (.level.out, .level.err). The child waits to be let go. */
sn_status sn_campaign_level_start(const struct sn_campaign_plan *plan,
				  const struct sn_campaign_configuration *configuration,
				  const char *build_folder, const char *sonde,
				  const char *experiment, const sigset_t *signals,
				  struct sn_arena *arena, struct sn_child *out,
				  struct sn_error *err);

#endif
