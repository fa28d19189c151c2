/* Progress of campaigns: one line on a terminal, lines, or JSON. */
#include "cli/campaign_progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"

static void left_add(const struct sn_campaign_progress *p, struct sn_text *out)
{
	if (isnan(p->left_s) || !(p->left_s > 0))
		return;
	sn_text_add(out, ", ");
	sn_text_add_duration(out, p->left_s);
	if (p->left_spread_s > 0) {
		sn_text_add(out, " +- ");
		sn_text_add_duration(out, p->left_spread_s);
	}
	sn_text_add(out, " left");
}

static void run_add(const struct sn_campaign_progress *p, struct sn_text *out)
{
	sn_text_add_printable(out, p->configuration, strlen(p->configuration));
	if (!p->run) {
		sn_text_addf(out, ": %s", p->has_ended ? p->reason : "build");
		return;
	}
	sn_text_addf(out, ", repeat %u", p->run->block + 1);
	if (p->level) {
		sn_text_addf(out, ", level %u", p->level);
		if (p->has_ended && p->run->level < p->level)
			sn_text_addf(out, " is missing (%s)", p->run->level_reason);
		else if (p->has_ended)
			sn_text_add(out, ": added");
		return;
	}
	if (p->run->attempt > 1)
		sn_text_addf(out, ", attempt %u", p->run->attempt);
	if (p->run->state == SN_RUN_QUEUED)
		sn_text_addf(out, ": queued as job %s", p->run->job);
	if (!p->has_ended)
		return;
	sn_text_addf(out, ": %s", sn_run_state_name(p->run->state));
	if (p->run->facts.elapsed_s > 0) {
		sn_text_add(out, " in ");
		sn_text_add_duration(out, p->run->facts.elapsed_s);
	}
	if (p->run->reason)
		sn_text_addf(out, " (%s)", p->run->reason);
}

static void json_tell(const struct sn_campaign_progress *p)
{
	struct sn_json json = { .out = stderr };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.campaign-progress/1");
	sn_json_member_string(&json, "event",
			      !p->run && p->has_ended			    ? "build-failed"
			      : !p->run					    ? "build"
			      : p->has_ended				    ? "end"
			      : p->run->state == SN_RUN_QUEUED && !p->level ? "queued"
									    : "begin");
	sn_json_member_string(&json, "configuration", p->configuration);
	if (p->run) {
		sn_json_member_uint(&json, "repeat", p->run->block + 1);
		sn_json_member_uint(&json, "attempt", p->run->attempt);
		sn_json_member_string(&json, "state", sn_run_state_name(p->run->state));
		sn_json_member_string(&json, "reason",
				      p->level ? p->run->level_reason : p->run->reason);
		if (p->run->job)
			sn_json_member_string(&json, "job", p->run->job);
	}
	if (p->reason)
		sn_json_member_string(&json, "reason", p->reason);
	if (p->level)
		sn_json_member_uint(&json, "level", p->level);
	sn_json_member_uint(&json, "done", p->done);
	sn_json_member_uint(&json, "failed", p->failed);
	sn_json_member_uint(&json, "total", p->total);
	sn_json_member_double(&json, "left_s", p->left_s > 0 ? p->left_s : NAN);
	sn_json_close(&json);
	sn_json_finish(&json);
}

static void line_tell(struct sn_campaign_teller *teller, const struct sn_campaign_progress *p)
{
	struct sn_text line = { 0 };
	bool stays = p->has_ended && (teller->how == TELL_LINES || !p->run ||
				      p->run->state != SN_RUN_DONE || p->run->level < p->level);

	if (teller->how == TELL_LINES && !p->has_ended && p->run)
		return;
	sn_text_addf(&line, "[%zu/%zu", p->done, p->total);
	if (p->failed)
		sn_text_addf(&line, ", %zu failed", p->failed);
	left_add(p, &line);
	sn_text_add(&line, "] ");
	run_add(p, &line);
	if (teller->how == TELL_TERMINAL) {
		fprintf(stderr, "\r\033[K%s%s", line.chars, stays ? "\n" : "");
		teller->is_drawn = !stays;
	} else {
		fprintf(stderr, "%s\n", line.chars);
	}
	sn_text_free(&line);
}

void sn_campaign_progress_tell(void *context, const struct sn_campaign_progress *p)
{
	struct sn_campaign_teller *teller = context;

	if (teller->how == TELL_JSON)
		json_tell(p);
	else if (teller->how != TELL_NOTHING)
		line_tell(teller, p);
	fflush(stderr);
}

enum sn_campaign_telling sn_campaign_telling_of(const char *asked, bool is_quiet)
{
	if (is_quiet)
		return TELL_NOTHING;
	if (asked && !strcmp(asked, "json"))
		return TELL_JSON;
	if (asked && !strcmp(asked, "lines"))
		return TELL_LINES;
	return isatty(2) ? TELL_TERMINAL : TELL_LINES;
}
