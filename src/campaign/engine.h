/**
 * Runs what is missing of a campaign, one run at a time or in jobs of a batch system, until nothing is, its
 * budget is used up, or a signal stops it. It may be killed at any instruction: what it did is in the state and the experiments.
 */
#ifndef SN_CAMPAIGN_ENGINE_H
#define SN_CAMPAIGN_ENGINE_H

#include "campaign/campaign.h"

/** What the engine tells while it works. Counts are of runs, not of attempts. */
struct sn_campaign_progress {
	size_t total, done, failed;	       /* failed: with no attempt left */
	double left_s, left_spread_s;	       /* NaN: unknown */
	const struct sn_campaign_attempt *run; /* that was queued, began or ended; NULL: a build */
	const char *configuration;
	const char *reason; /* why a build failed; else NULL */
	uint32_t level;	    /* that is being added to a run that is done; 0: a run, or a build */
	bool has_ended;
};

struct sn_campaign_engine_options {
	const char *sonde; /* path of the command that records */
	double budget_s;   /* 0: as the plan says */
	int64_t retry;	   /* -1: as the campaign began */
	void (*tell)(void *context, const struct sn_campaign_progress *progress); /* NULL: silent */
	void *context;
};

enum sn_campaign_end { SN_CAMPAIGN_COMPLETE, SN_CAMPAIGN_STOPPED, SN_CAMPAIGN_OUT_OF_BUDGET };

/** Runs it, and then adds the plan's level to one run of each configuration. `*missing` gets the number of runs that
 * are not done in the end. The state is judged again.
 * SN_OK also where runs failed; else what made it impossible to go on. */
sn_status sn_campaign_run(struct sn_campaign *campaign,
			  const struct sn_campaign_engine_options *options,
			  enum sn_campaign_end *end, size_t *missing, struct sn_error *err);

/** Cancels the jobs that a campaign has in the queue of a batch system, or running there, and their runs.
 * SN_ERR_USAGE: somebody runs the campaign. */
sn_status sn_campaign_jobs_cancel(struct sn_campaign *campaign, struct sn_error *err);

/** The number of configurations with a run that is done and in statistics, but none of the plan's level. */
size_t sn_campaign_levels_missing(const struct sn_campaign *campaign);

#endif
