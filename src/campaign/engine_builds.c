/* Builds of a campaign: each runs once, before all runs, into a folder of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "campaign/engine_parts.h"
#include "campaign/launch.h"

static const char *build_reason(struct sn_engine *e, const char *log, int status,
				enum sn_child_end end)
{
	struct sn_text words = { 0 }, reason = { 0 };
	const char *kept, *named = log, *root = sn_engine_path(e, "");

	if (end == SN_CHILD_TIMED_OUT)
		sn_text_addf(&reason, "the build took longer than %.6g s",
			     sn_engine_plan(e)->timeout_s);
	else
		sn_text_addf(&reason, "the build failed with exit status %d", status);
	sn_first_error(log, &words);
	if (words.length)
		sn_text_addf(&reason, ": %s", words.chars);
	if (sn_starts_with(log, root))
		named += strlen(root);
	sn_text_addf(&reason, " (%s)", named);
	kept = sn_arena_strdup(&sn_engine_state(e)->arena, reason.chars);
	sn_text_free(&words);
	sn_text_free(&reason);
	return kept;
}

static sn_status build_run(struct sn_engine *e, uint32_t build, struct sn_campaign_built *out,
			   struct sn_error *err)
{
	const struct sn_campaign_configuration *c = &sn_engine_plan(e)->configurations.items[build];
	const char *folder = sn_engine_build_folder(e, build);
	const char *log = sn_arena_printf(&sn_engine_state(e)->arena, "%s/build.log", folder);
	struct sn_command_line line = { 0 };
	struct sn_child child;
	enum sn_child_end end = SN_CHILD_ENDED;
	int code = 0;
	sn_status status;

	sn_folder_clear(folder);
	status = sn_make_folders(folder, err);
	if (status == SN_OK)
		status = sn_campaign_build_command(c, folder, &sn_engine_state(e)->arena, &line,
						   err);
	if (status == SN_OK)
		status = sn_child_start(&line, log, log, &e->signals, &child, err);
	if (status == SN_OK) {
		sn_child_go(&child, true);
		end = sn_child_wait(&child, sn_engine_plan(e)->timeout_s, &code);
	}
	sn_command_line_free(&line);
	*out = (struct sn_campaign_built){ build, end == SN_CHILD_ENDED && !code, NULL };
	if (!out->is_good)
		out->reason = build_reason(e, log, code, end);
	e->is_stopped |= end == SN_CHILD_STOPPED;
	return status;
}

static void built_note(struct sn_engine *e, const struct sn_campaign_built *built)
{
	struct sn_campaign_state *s = sn_engine_state(e);

	for (size_t i = 0; i < s->builds.count; i++)
		if (s->builds.items[i].build == built->build) {
			s->builds.items[i] = *built;
			return;
		}
	sn_vec_push(&s->builds, *built);
}

sn_status sn_engine_builds(struct sn_engine *e, struct sn_error *err)
{
	uint32_t count = (uint32_t)sn_engine_plan(e)->configurations.count;
	sn_status status = SN_OK;

	for (uint32_t c = 0; status == SN_OK && !e->is_stopped && c < count; c++) {
		uint32_t build = e->builds[c];
		const struct sn_campaign_built *known =
			build == SN_NO_BUILD ? NULL
					     : sn_campaign_built_find(sn_engine_state(e), build);
		struct sn_campaign_built fresh;

		if (build == SN_NO_BUILD)
			continue;
		if (build == c && !(known && known->is_good)) {
			sn_engine_tell(e, NULL, c, false);
			status = build_run(e, build, &fresh, err);
			if (status == SN_OK && !e->is_stopped) {
				status = sn_campaign_log_built(&e->log, &fresh, err);
				built_note(e, &fresh);
				if (status == SN_OK && !fresh.is_good)
					sn_engine_tell_unbuilt(e, c, fresh.reason);
			}
			known = sn_campaign_built_find(sn_engine_state(e), build);
		}
		e->is_left_out[c] = !(known && known->is_good);
	}
	return status;
}
