/**
 * Jobs of a batch system that run a campaign's runs: their scripts, and what they report through the
 * campaign's folder, which both sides see.
 *
 *	jobs/N/script                  what was submitted; it starts `sonde campaign job FOLDER N`
 *	jobs/N/output                  what the job printed
 *	jobs/N/known                   made when the state has all runs of the job
 *	runs/NAME.job/                 made by who runs the run, or gave it up: one of both can
 *	runs/NAME.job/end              how its command ended, in one line
 *	runs/NAME.levelN.job/          the same of the level that job N adds to the run
 *
 * The runs of a job are those of the state with its number (`submission`, `level_submission`). A job that the
 * state does not know runs nothing: so one that was submitted by a campaign that was killed then does no harm.
 */
#ifndef SN_CAMPAIGN_JOBS_H
#define SN_CAMPAIGN_JOBS_H

#include "campaign/campaign.h"
#include "campaign/launch.h"
#include "campaign/queue.h"

/** What one job is to have room for: the largest of its runs. */
struct sn_job_size {
	uint32_t ranks, threads;  /* tasks, and CPUs of each */
	uint32_t nodes, per_node; /* 0: not said */
	double time_s;		  /* 0: no limit */
};

/** Makes `size` large enough for one run more. */
void sn_job_size_add(struct sn_job_size *size, const struct sn_campaign_plan *plan,
		     const struct sn_campaign_configuration *configuration);

/** Fills in a template, {ranks} {threads} {nodes} {ranks_per_node} {time} {command}; "${NAME}" is the shell's, "{{"
 * a brace. `command` is for a shell. SN_ERR_FORMAT: a sentence that begins with `name` and the line. */
sn_status sn_job_script(const char *template, size_t length, const char *name,
			const struct sn_job_size *size, const char *command, struct sn_text *out,
			struct sn_error *err);
/** The template that is meant where the user gave none. */
void sn_job_template(const struct sn_job_size *size, struct sn_text *out);
/** Reads the plan's template and fills it in for each configuration, to tell early what is wrong. Adds its bytes. */
sn_status sn_job_template_try(const struct sn_campaign_plan *plan, struct sn_text *out,
			      struct sn_error *err);

/** What is to be submitted. */
struct sn_job_wanted {
	const struct sn_campaign *campaign;
	const char *folder; /* its, absolute */
	const char *sonde;  /* path of the command */
	struct sn_job_size size;
};
/** Writes the script of a job and submits it. `*number` is that of its folder below jobs/; else as sn_queue_submit. */
sn_status sn_job_submit(const struct sn_job_wanted *wanted, uint32_t *number,
			enum sn_queue_answer *answer, const char **job, struct sn_text *reason,
			struct sn_error *err);
/** Says that the state has all runs of a job. */
sn_status sn_job_make_known(const char *folder, uint32_t submission, const char *job,
			    struct sn_error *err);
/** Whether the state has all runs of a job. */
bool sn_job_is_known(const char *folder, uint32_t submission);

/** Where the claim and the report lie of a level that job `submission` adds to the experiment at this path; in the place of the
 * experiment's path in what follows. */
const char *sn_job_level_name(struct sn_arena *arena, const char *experiment, uint32_t submission);
/** Takes a run, for good, whose experiment is at this path. False: somebody did. */
bool sn_job_claim(const char *experiment);

struct sn_job_report {
	bool is_taken, has_ended;
	enum sn_child_end end;
	int exit_status;
};
/** What is reported of a run by now. */
struct sn_job_report sn_job_look(const char *experiment);
/** The line of a report. False: it is none, or not whole. */
bool sn_job_report_read(const char *bytes, size_t length, struct sn_job_report *out);

/** Inside a job: runs its runs, one after the other. `sonde` is the path of the command itself. SN_ERR_NO_DATA: the
 * campaign knows no such job. */
sn_status sn_job_run(const char *folder, uint32_t submission, const char *sonde,
		     struct sn_error *err);

#endif
