/**
 * A campaign: a plan and the experiments it launched, in a folder `sonde.NAME.campaign.N`.
 */
#ifndef SN_CAMPAIGN_CAMPAIGN_H
#define SN_CAMPAIGN_CAMPAIGN_H

#include "campaign/plan.h"
#include "campaign/state.h"

struct sn_campaign {
	char *path;
	struct sn_campaign_plan *plan;
	struct sn_campaign_state *state; /* judged (judge.h) */
};

/** What `sn_campaign_create` is given. */
struct sn_campaign_begin {
	const char *plan_bytes;
	size_t plan_length;
	const char *plan_name;	 /* for people */
	const char *plan_folder; /* absolute: what relative paths are below */
	const char *output;	 /* the campaign's folder; NULL: sonde.NAME.campaign.N here */
	uint64_t seed;
	int64_t retry; /* -1: as the plan says */
};

/** Reads the plan and makes the campaign's folder with it and the header of the state. Nothing runs
 * yet. SN_ERR_USAGE: the folder is there already. */
sn_status sn_campaign_create(const struct sn_campaign_begin *begin, struct sn_campaign **out,
			     struct sn_error *err);
/** Opens a campaign: a folder, or an archive of one (experiment/unpack.h). `name` NULL: the newest here.
 * Nothing is changed. */
sn_status sn_campaign_open(const char *name, struct sn_campaign **out, struct sn_error *err);
void sn_campaign_free(struct sn_campaign *campaign);

/** What a user calls it: the path of its folder, or of the archive that it came from. */
const char *sn_campaign_given_path(const struct sn_campaign *campaign);

/** Whether the folder is a campaign, or the file an archive of one. */
bool sn_is_campaign(const char *path);

/** The name of a configuration of the plan, or of one that was added. */
const char *sn_campaign_configuration_name(const struct sn_campaign *campaign, uint32_t number);
/** Its ranks and threads as they were set (0: not). */
void sn_campaign_configuration_size(const struct sn_campaign *campaign, uint32_t number,
				    uint32_t *ranks, uint32_t *threads);
/** How many there are, added ones with them. */
uint32_t sn_campaign_configuration_count(const struct sn_campaign *campaign);
/** By configuration, the name of its series: configurations that differ in ranks, threads, nodes and pins
 * only. Equal names are one pointer. `out` has room for all; texts live as long as the campaign. */
void sn_campaign_series(const struct sn_campaign *campaign, const char **out);
/** The path of an attempt's experiment. */
void sn_campaign_experiment_path(const struct sn_campaign *campaign,
				 const struct sn_campaign_attempt *attempt, struct sn_text *out);
/** Whether an attempt's experiment is there: somebody may have moved or removed it since. */
bool sn_campaign_has_experiment(const struct sn_campaign *campaign,
				const struct sn_campaign_attempt *attempt);
/** Whether an attempt is done and in statistics. A warning tells of one whose experiment is gone. */
bool sn_campaign_can_be_read(const struct sn_campaign *campaign,
			     const struct sn_campaign_attempt *attempt);
/** Adds an experiment that was made by hand, as a run of the configuration of this name; NULL: by its ranks and threads.
 * One of another program than the campaign's own runs has a series of its own, which a warning tells; in a
 * configuration with runs of another program it is SN_ERR_USAGE. */
sn_status sn_campaign_add(struct sn_campaign *campaign, const char *experiment,
			  const char *configuration, struct sn_error *err);

enum { SN_NO_BUILD = 0xffffffffu };
/** By configuration, the first one whose build is this one's, too: its number is the build's.
 * SN_NO_BUILD: nothing is built. */
void sn_campaign_builds(const struct sn_campaign_plan *plan, uint32_t *out);
/** What is known of a build, or NULL. */
const struct sn_campaign_built *sn_campaign_built_find(const struct sn_campaign_state *state,
						       uint32_t build);

/** One holder at a time. SN_ERR_USAGE says who holds it. -1 in `*fd` on failure; close it in the end. */
sn_status sn_campaign_lock(const char *folder, int *fd, struct sn_error *err);
/** The process that holds the lock; 0: none. */
pid_t sn_campaign_holder(const char *folder);

#endif
