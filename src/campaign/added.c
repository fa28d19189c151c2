/*
 * Experiments that were made by hand, as runs of a campaign. One of another program is in no configuration
 * with the campaign's own runs, and in a series of its own: nothing is known of how it scales against them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/facts.h"
#include "experiment/store.h"
#include "experiment/unpack.h"

static uint32_t configuration_named(const struct sn_campaign *c, const char *name)
{
	for (uint32_t i = 0; i < sn_campaign_configuration_count(c); i++)
		if (!strcmp(sn_campaign_configuration_name(c, i), name))
			return i;
	return sn_campaign_configuration_count(c);
}

static uint32_t free_block(const struct sn_campaign *c, uint32_t configuration)
{
	uint32_t block = 0;

	while (sn_campaign_last(c->state, configuration, block))
		block++;
	return block;
}

/* What is added, and what its experiment says. */
struct adding {
	struct sn_campaign_attempt attempt;
	const char *program;
	const char *configuration;
};

/* A path that stays right when both are moved together is not asked for: it is absolute. */
static sn_status attempt_of(struct sn_campaign *c, const char *experiment, struct adding *out,
			    struct sn_error *err)
{
	struct sn_campaign_attempt *a = &out->attempt;
	struct sn_experiment *e;
	sn_status status = sn_experiment_open(experiment, &e, err);
	char *path;

	if (status != SN_OK)
		return status;
	*a = (struct sn_campaign_attempt){
		.attempt = 1, .exit_status = e->exit_status, .pid = -1, .facts = sn_run_facts_of(e)
	};
	path = realpath(e->path, NULL);
	a->experiment = sn_arena_strdup(&c->state->arena, path ? path : e->path);
	a->state = sn_run_has_ended(e) && e->exit_status == 0 ? SN_RUN_DONE : SN_RUN_FAILED;
	if (a->state == SN_RUN_FAILED)
		a->reason = sn_arena_printf(&c->state->arena, "exit status %d", e->exit_status);
	out->program = sn_arena_strdup(&c->state->arena, sn_run_program(e));
	free(path);
	sn_experiment_free(e);
	return SN_OK;
}

/* Of the first run of this configuration (SN_NO_BUILD: of any of the plan) that is done and there; NULL:
 * there is none. */
static const char *program_of_runs(struct sn_campaign *c, uint32_t configuration)
{
	const char *program = NULL;

	for (size_t i = 0; i < c->state->attempts.count && !program; i++) {
		const struct sn_campaign_attempt *a = &c->state->attempts.items[i];
		struct sn_text path = { 0 };
		struct sn_experiment *e;

		if (a->state != SN_RUN_DONE || !sn_campaign_has_experiment(c, a) ||
		    (configuration == SN_NO_BUILD ? a->configuration >= c->state->configurations
						  : a->configuration != configuration))
			continue;
		sn_campaign_experiment_path(c, a, &path);
		if (sn_experiment_open(path.chars, &e, NULL) == SN_OK) {
			program = sn_arena_strdup(&c->state->arena, sn_run_program(e));
			sn_experiment_free(e);
		}
		sn_text_free(&path);
	}
	return program;
}

static bool is_another(const char *program, const char *than)
{
	return than && *than && *program && strcmp(program, than) != 0;
}

/* Ranks are in the name only where some are: a run without any is one of 'threads=N'. */
static const char *name_of(struct sn_campaign *c, const struct sn_run_facts *facts,
			   const char *program)
{
	bool has_ranks = facts->ranks > 1;

	for (size_t i = 0; i < c->plan->configurations.count; i++)
		has_ranks |= c->plan->configurations.items[i].ranks > 0;
	if (!has_ranks)
		return sn_arena_printf(&c->state->arena, "%s%sthreads=%d", program,
				       *program ? " " : "", facts->threads_least);
	return sn_arena_printf(&c->state->arena, "%s%sranks=%d threads=%d", program,
			       *program ? " " : "", facts->ranks, facts->threads_least);
}

static sn_status is_free(const struct sn_campaign *c, const struct adding *adding,
			 const char *experiment, struct sn_error *err)
{
	for (size_t i = 0; i < c->state->attempts.count; i++)
		if (c->state->attempts.items[i].experiment &&
		    !strcmp(c->state->attempts.items[i].experiment, adding->attempt.experiment))
			return sn_error_set(err, SN_ERR_USAGE, "'%s' is in the campaign already",
					    experiment);
	return SN_OK;
}

/* Finds the configuration, or makes one, with a warning of another program. */
static sn_status configuration_find(struct sn_campaign *c, struct sn_campaign_log *log,
				    struct adding *adding, const char *experiment,
				    struct sn_error *err)
{
	struct sn_campaign_attempt *a = &adding->attempt;
	const char *theirs = program_of_runs(c, SN_NO_BUILD);
	bool is_other = is_another(adding->program, theirs);
	struct sn_campaign_added added;
	const char *of_runs;
	sn_status status;

	if (!adding->configuration)
		adding->configuration = name_of(c, &a->facts, is_other ? adding->program : "");
	a->configuration = configuration_named(c, adding->configuration);
	if (a->configuration < sn_campaign_configuration_count(c)) {
		of_runs = program_of_runs(c, a->configuration);
		if (!is_another(adding->program, of_runs))
			return SN_OK;
		return sn_error_set(
			err, SN_ERR_USAGE,
			"'%s' ran %s, and the runs of '%s' ran %s: their mean would tell of neither; "
			"'--configuration NAME' makes a configuration of its own",
			experiment, adding->program, adding->configuration, of_runs);
	}
	if (is_other)
		sn_warn("'%s' ran %s, and the campaign's own runs ran %s: '%s' is in a series of its "
			"own",
			experiment, adding->program, theirs, adding->configuration);
	added = (struct sn_campaign_added){ adding->configuration, (uint32_t)a->facts.ranks,
					    (uint32_t)a->facts.threads_least,
					    is_other ? adding->program : NULL };
	status = sn_campaign_log_added(log, &added, err);
	if (status == SN_OK)
		sn_vec_push(&c->state->added, added);
	return status;
}

static sn_status attempt_log(struct sn_campaign *c, struct sn_campaign_log *log,
			     struct sn_campaign_attempt *a, struct sn_error *err)
{
	sn_status status;

	a->block = free_block(c, a->configuration);
	if (a->configuration < c->state->configurations && a->block < c->state->repeat)
		a->block = c->state->repeat;
	while (sn_campaign_last(c->state, a->configuration, a->block))
		a->block++;
	status = sn_campaign_log_begin(log, a, err);
	if (status == SN_OK)
		status = sn_campaign_log_end(log, a, err);
	if (status == SN_OK)
		sn_campaign_state_begin(c->state, a);
	return status;
}

sn_status sn_campaign_add(struct sn_campaign *c, const char *experiment, const char *configuration,
			  struct sn_error *err)
{
	struct adding adding = { .configuration = configuration };
	struct sn_campaign_log log;
	sn_status status = attempt_of(c, experiment, &adding, err);

	if (status == SN_OK && sn_is_archive(experiment))
		status = sn_error_set(
			err, SN_ERR_USAGE,
			"'%s' is an archive, and a campaign keeps the paths of folders; "
			"unpack it first: tar --zstd -xf %s",
			experiment, experiment);
	if (status == SN_OK)
		status = is_free(c, &adding, experiment, err);
	if (status == SN_OK)
		status = sn_campaign_log_open(c->path, &log, err);
	if (status != SN_OK)
		return status;
	status = configuration_find(c, &log, &adding, experiment, err);
	if (status == SN_OK)
		status = attempt_log(c, &log, &adding.attempt, err);
	sn_campaign_log_close(&log);
	return status;
}
