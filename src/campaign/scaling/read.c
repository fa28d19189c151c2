/* Opens a campaign and profiles its runs, one after the other: what stays of each is small. */
#include "campaign/scaling/read.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/text.h"
#include "profile/analysis.h"

/* `run` NULL: not asked for. */
static sn_status member_read(const struct sn_campaign *c, const struct sn_campaign_attempt *a,
			     struct sn_scaling_member *out, struct sn_compare_run *run,
			     struct sn_error *err)
{
	struct sn_analysis *analysis;
	struct sn_text path = { 0 };
	uint32_t ranks, threads;
	sn_status status;

	sn_campaign_experiment_path(c, a, &path);
	status = sn_analysis_open(path.chars, NULL, &analysis, err);
	sn_text_free(&path);
	if (status != SN_OK)
		return status;
	sn_campaign_configuration_size(c, a->configuration, &ranks, &threads);
	if (!ranks)
		ranks = a->facts.ranks > 0 ? (uint32_t)a->facts.ranks : 1;
	if (!threads)
		threads = a->facts.threads_least > 0 ? (uint32_t)a->facts.threads_least : 1;
	out->configuration = a->configuration;
	out->block = a->block;
	sn_scaling_run_fill(&out->run, analysis->profile, analysis->structures, ranks, threads);
	if (run)
		sn_compare_run_fill(run, analysis->profile);
	sn_analysis_free(analysis);
	return SN_OK;
}

static sn_status members_read(struct sn_scaling_campaign *s, bool with_runs, struct sn_error *err)
{
	const struct sn_campaign_state *state = s->campaign->state;
	struct sn_progress progress;
	sn_status status = SN_OK;

	s->members = sn_alloc_zeroed(state->attempts.count + 1, sizeof(*s->members));
	if (with_runs)
		s->runs = sn_alloc_zeroed(state->attempts.count + 1, sizeof(*s->runs));
	sn_progress_begin(&progress, "reading runs", state->attempts.count);
	for (size_t i = 0; status == SN_OK && i < state->attempts.count; i++) {
		sn_progress_update(&progress, i);
		if (!sn_campaign_can_be_read(s->campaign, &state->attempts.items[i]))
			continue;
		status = member_read(s->campaign, &state->attempts.items[i],
				     &s->members[s->member_count],
				     s->runs ? &s->runs[s->member_count] : NULL, err);
		s->member_count += status == SN_OK;
	}
	sn_progress_end(&progress);
	return status;
}

static void configurations_take(struct sn_scaling_campaign *s)
{
	uint32_t count = sn_campaign_configuration_count(s->campaign);
	const char **series = sn_alloc_zeroed(count + 1, sizeof(*series));

	s->configurations = sn_alloc_zeroed(count + 1, sizeof(*s->configurations));
	sn_campaign_series(s->campaign, series);
	for (uint32_t i = 0; i < count; i++) {
		struct sn_scaling_configuration *c = &s->configurations[i];

		c->name = sn_campaign_configuration_name(s->campaign, i);
		c->series = series[i];
		sn_campaign_configuration_size(s->campaign, i, &c->ranks, &c->threads);
	}
	free(series);
}

void sn_scaling_campaign_free(struct sn_scaling_campaign *s)
{
	for (size_t m = 0; m < s->member_count; m++)
		sn_scaling_run_free(&s->members[m].run);
	for (size_t m = 0; s->runs && m < s->member_count; m++)
		sn_compare_run_free(&s->runs[m]);
	free(s->runs);
	free(s->members);
	free(s->configurations);
	sn_scaling_free(s->scaling);
	sn_campaign_free(s->campaign);
	*s = (struct sn_scaling_campaign){ 0 };
}

sn_status sn_scaling_campaign_open(const char *name, const char *reference, bool is_weak,
				   bool with_runs, struct sn_scaling_campaign *out,
				   struct sn_error *err)
{
	struct sn_scaling_options options = { .reference = reference };
	sn_status status;

	*out = (struct sn_scaling_campaign){ 0 };
	status = sn_campaign_open(name, &out->campaign, err);
	if (status == SN_OK)
		status = members_read(out, with_runs, err);
	if (status == SN_OK) {
		configurations_take(out);
		options.is_weak = is_weak || out->campaign->plan->is_weak;
		options.is_in_blocks = out->campaign->plan->order == SN_CAMPAIGN_BLOCKS;
		status = sn_scaling_new(out->members, out->member_count, out->configurations,
					sn_campaign_configuration_count(out->campaign), &options,
					&out->scaling, &out->none);
		/* runs that failed are worth telling, too */
		if (status == SN_ERR_NO_DATA)
			status = SN_OK;
		else if (status != SN_OK && err)
			*err = out->none;
	}
	if (status != SN_OK)
		sn_scaling_campaign_free(out);
	return status;
}
