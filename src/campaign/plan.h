/**
 * A campaign's plan: what shall run, read from commented INI (docs/manual/campaigns.md).
 *
 *	[campaign]                 name level repeat order launcher timeout budget retry scaling
 *	                           jobs parallel step template loops exclude
 *	[default]                  program arguments directory dataset build ranks threads nodes
 *	                           ranks_per_node pin environment.NAME
 *	[configuration "NAME"]     the same keys, over those of [default]
 *	[sweep]                    the same keys with lists of values: every configuration with each
 *
 * A plan that was read has its configurations multiplied out, each with all of its values. Nothing is
 * run by reading one.
 */
#ifndef SN_CAMPAIGN_PLAN_H
#define SN_CAMPAIGN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"

enum {
	SN_CAMPAIGN_RUNS_MAX = 100000, /* of a plan: more are a mistake in a sweep */
	SN_CAMPAIGN_WORKERS_MAX = 1 << 24,
};

struct sn_campaign_variable {
	const char *name, *value;
};

/** One point of a plan. Texts have their placeholders still; none is NULL but where said. */
struct sn_campaign_configuration {
	const char *name;	  /* unique in the plan; "default" where nothing else tells it */
	const char *program;	  /* never "" */
	const char *arguments;	  /* words as in sh; "" */
	const char *directory;	  /* absolute */
	const char *dataset;	  /* "" : none */
	const char *build;	  /* words as in sh; "": nothing is built */
	const char *pin;	  /* "": not; else what taskset -c takes */
	uint32_t ranks, threads;  /* 0: as the program has it */
	uint32_t nodes, per_node; /* 0: not said */
	struct {
		const struct sn_campaign_variable *items;
		size_t count;
	} environment; /* what the plan sets */
};

/** Which runs share a job of a batch system. */
enum sn_campaign_jobs_of { SN_JOB_OF_RUN, SN_JOB_OF_BLOCK, SN_JOB_OF_ALL };

/** Runs in jobs of a batch system (jobs.h): launcher = sbatch. */
struct sn_campaign_jobs {
	bool is_used;
	const char *options; /* of sbatch, words as in sh; "" */
	enum sn_campaign_jobs_of each;
	uint32_t parallel;    /* jobs that may run at the same time */
	const char *template; /* absolute path; NULL: ours */
};

enum sn_campaign_order { SN_CAMPAIGN_BLOCKS, SN_CAMPAIGN_SEQUENTIAL };

struct sn_campaign_plan {
	struct sn_arena arena;
	const char *name; /* of the campaign's folder */
	uint32_t level, repeat, retry;
	uint32_t helper_threads; /* that may work in a rank besides those asked for */
	enum sn_campaign_order order;
	const char *loops, *exclude; /* as sonde analyze takes them; NULL: not said */
	bool is_weak;		     /* scaling = weak: the work grows with the workers */
	const char *
		launcher; /* of a run, in its job where there are jobs: "local", "mpirun", "srun", or a command with
	                         {command}; "": srun where ranks are set, else local */
	struct sn_campaign_jobs jobs;
	double timeout_s, budget_s; /* 0: none */
	SN_VEC(struct sn_campaign_configuration) configurations;
};

/** The name of a plan that options were made into: what is wrong in it is an option's, and has no line. */
#define SN_PLAN_OF_OPTIONS "(options)"

/** Reads a plan of `length` bytes. `name` is for messages, `folder` (absolute) is what its relative
 * paths are below. SN_ERR_FORMAT with one sentence that names the line. On success the caller frees. */
sn_status sn_campaign_plan_read(const char *bytes, size_t length, const char *name,
				const char *folder, struct sn_campaign_plan **out,
				struct sn_error *err);
void sn_campaign_plan_free(struct sn_campaign_plan *plan);

#endif
