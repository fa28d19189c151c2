/**
 * What the parts of the engine share: runs here (engine.c), runs in jobs of a batch system
 * (engine_jobs.c), builds (engine_builds.c). For these files only.
 */
#ifndef SN_CAMPAIGN_ENGINE_PARTS_H
#define SN_CAMPAIGN_ENGINE_PARTS_H

#include <signal.h>

#include "campaign/engine.h"
#include "campaign/launch.h"
#include "campaign/schedule.h"

/** Durations of a configuration's runs, from which the time left is foretold. */
struct sn_engine_pace {
	double sum_s, squares;
	uint32_t count;
};

struct sn_engine {
	struct sn_campaign *campaign;
	const struct sn_campaign_engine_options *options;
	struct sn_campaign_log log;
	char *folder; /* absolute */
	const char *boot;
	sigset_t signals;
	bool *is_left_out; /* by configuration: its build failed */
	uint32_t *builds;  /* by configuration */
	struct sn_engine_pace *paces;
	double began_s, used_s;
	bool is_stopped;
};

static inline const struct sn_campaign_plan *sn_engine_plan(const struct sn_engine *e)
{
	return e->campaign->plan;
}

static inline struct sn_campaign_state *sn_engine_state(const struct sn_engine *e)
{
	return e->campaign->state;
}

/** Paths are in the state's arena. */
const char *sn_engine_path(struct sn_engine *e, const char *relative);
/** NULL: nothing is built. */
const char *sn_engine_build_folder(struct sn_engine *e, uint32_t configuration);
/** A name that is not there yet, relative; raises the run's attempt where a lost one left something. */
const char *sn_engine_experiment_name(struct sn_engine *e, struct sn_campaign_next *run);

/** Tells that a build failed, and why. */
void sn_engine_tell_unbuilt(struct sn_engine *e, uint32_t configuration, const char *reason);
/** Tells that a run was queued, began or ended, by its state, or (NULL) that a build begins. */
void sn_engine_tell(struct sn_engine *e, const struct sn_campaign_attempt *run,
		    uint32_t configuration, bool has_ended);
/** Notes how long a run took. */
void sn_engine_pace_add(struct sn_engine *e, const struct sn_campaign_attempt *a, double took_s);
/** Whether the time used before, and now, and by so many runs more of the configuration is in the budget. */
bool sn_engine_has_budget(const struct sn_engine *e, uint32_t configuration, double runs);

/** Failed, with the sentence and the last words beside the experiment at `path` ("": none). */
void sn_engine_fail(struct sn_campaign_attempt *a, struct sn_arena *arena, const char *path,
		    const char *sentence);
/** What the experiment says of a run whose command ended with `exit_status`: done or failed, and its facts. */
void sn_engine_judge(struct sn_engine *e, struct sn_campaign_attempt *a, int exit_status);
/** Whether the experiment of a run that nobody saw the end of is whole and ended well. */
bool sn_engine_is_whole(struct sn_engine *e, const struct sn_campaign_attempt *a);
/** Writes the end of a run to the state. An experiment that is not there is forgotten. */
sn_status sn_engine_end(struct sn_engine *e, struct sn_campaign_attempt *a, struct sn_error *err);

/** The run that the plan's level is to be added to; NULL: none is, or one has it. */
struct sn_campaign_attempt *sn_engine_level_wanted(struct sn_engine *e, uint32_t configuration);
/** How adding it ended: the level, or why it is missing. */
void sn_engine_level_judge(struct sn_engine *e, struct sn_campaign_attempt *a,
			   enum sn_child_end end, int code);
/** Tells that it begins or ended. */
void sn_engine_level_tell(struct sn_engine *e, const struct sn_campaign_attempt *a, bool has_ended);

/** Makes what is not built yet, and says which configurations are left out. */
sn_status sn_engine_builds(struct sn_engine *e, struct sn_error *err);

/** Runs what is missing in jobs of a batch system, and waits for them; those that were submitted before, too. */
sn_status sn_engine_jobs(struct sn_engine *e, enum sn_campaign_end *end, struct sn_error *err);
/** Adds the plan's level in jobs, to a run of each configuration that lacks it, and waits for them. `*end` is changed if not
 * all had their turn. */
sn_status sn_engine_job_levels(struct sn_engine *e, enum sn_campaign_end *end,
			       struct sn_error *err);
/** Cancels those that were submitted and are not over. */
sn_status sn_engine_job_levels_cancel(struct sn_engine *e, struct sn_error *err);
/** Cancels all jobs of runs that were submitted and are not over; their runs are cancelled. */
sn_status sn_engine_jobs_cancel(struct sn_engine *e, struct sn_error *err);

#endif
