/** A campaign with the figures of all runs that are done: opened once, for a table or a page. */
#ifndef SN_CAMPAIGN_SCALING_READ_H
#define SN_CAMPAIGN_SCALING_READ_H

#include "campaign/campaign.h"
#include "campaign/scaling/scaling.h"

struct sn_scaling_campaign {
	struct sn_campaign *campaign;
	struct sn_scaling_configuration *configurations; /* as many as the campaign has */
	struct sn_scaling_member *members;
	struct sn_compare_run *runs; /* as many, to be compared; NULL: not asked for */
	size_t member_count;
	struct sn_scaling *scaling; /* NULL: no run is done */
	struct sn_error none;	    /* why not */
};

/** Opens a campaign and reads its runs that are done. `with_runs`: also as sn_compare takes them. `reference` may be NULL (sn_scaling_options).
 * A campaign without such a run is no failure. Errors: those of sn_campaign_open and
 * sn_experiment_open, SN_ERR_USAGE for an unknown reference. Free it unless it failed. */
sn_status sn_scaling_campaign_open(const char *name, const char *reference, bool is_weak,
				   bool with_runs, struct sn_scaling_campaign *out,
				   struct sn_error *err);
void sn_scaling_campaign_free(struct sn_scaling_campaign *campaign);

#endif
