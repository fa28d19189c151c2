/* sonde campaign status: the runs of a campaign, and what became of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/schedule.h"
#include "cli/command.h"

static const struct sn_column status_columns[] = {
	{ "configuration", "configuration", SN_CELL_TEXT, 0 },
	{ "repeat", "repeat", SN_CELL_INT, 0 },
	{ "attempt", "attempt", SN_CELL_INT, 0 },
	{ "block", "block", SN_CELL_INT, 0 },
	{ "position", "position", SN_CELL_INT, 0 },
	{ "state", "state", SN_CELL_TEXT, 0 },
	{ "exit_status", "exit", SN_CELL_INT, 0 },
	{ "experiment", "experiment", SN_CELL_TEXT, 0 },
	{ "job", NULL, SN_CELL_TEXT, 0 },
	{ "elapsed_s", "elapsed s", SN_CELL_SECONDS, 0 },
	{ "reason", "reason", SN_CELL_TEXT, 0 },
};

static void attempt_row(const struct sn_campaign *c, const struct sn_campaign_attempt *a,
			enum sn_run_state state, struct sn_table *table)
{
	sn_table_add_row(table);
	sn_table_set_text(table, 0, sn_campaign_configuration_name(c, a->configuration));
	sn_table_set_int(table, 1, (int64_t)a->block + 1);
	sn_table_set_int(table, 2, a->attempt);
	sn_table_set_int(table, 3, (int64_t)a->block + 1);
	sn_table_set_int(table, 4, (int64_t)a->position + 1);
	sn_table_set_text(table, 5, sn_run_state_name(state));
	if (a->exit_status >= 0)
		sn_table_set_int(table, 6, a->exit_status);
	sn_table_set_text(table, 7, a->experiment);
	sn_table_set_text(table, 8, a->job);
	sn_table_set_real(table, 9, a->facts.elapsed_s);
	sn_table_set_text(table, 10, a->reason);
}

/* Of a campaign that nobody runs nothing is running. */
static void attempts_fill(const struct sn_campaign *c, bool is_held, struct sn_table *table)
{
	for (size_t i = 0; i < c->state->attempts.count; i++) {
		struct sn_campaign_attempt a = c->state->attempts.items[i];
		bool is_left = a.state == SN_RUN_RUNNING && !is_held;

		if (is_left)
			a.reason = "the campaign was killed while it ran";
		attempt_row(c, &a, is_left ? SN_RUN_CANCELLED : a.state, table);
	}
}

/* The runs that would come next, in their order; of a failed build, with its words. */
static void queued_fill(struct sn_campaign *c, struct sn_table *table)
{
	uint32_t count = (uint32_t)c->plan->configurations.count;
	uint32_t *builds = sn_alloc_zeroed(count + 1, sizeof(*builds));
	struct sn_campaign_cursor cursor = { .is_dry = true };
	struct sn_campaign_next next;

	sn_campaign_builds(c->plan, builds);
	while (sn_campaign_next(&cursor, c->plan, c->state, NULL, &next)) {
		struct sn_campaign_attempt a = { .configuration = next.configuration,
						 .block = next.block,
						 .attempt = next.attempt,
						 .position = next.position,
						 .exit_status = -1,
						 .facts.elapsed_s = NAN };
		const struct sn_campaign_built *built =
			builds[next.configuration] == SN_NO_BUILD
				? NULL
				: sn_campaign_built_find(c->state, builds[next.configuration]);
		enum sn_run_state state = built && !built->is_good ? SN_RUN_FAILED
					  : c->state->is_cancelled ? SN_RUN_CANCELLED
								   : SN_RUN_QUEUED;

		a.reason = built && !built->is_good ? built->reason : NULL;
		attempt_row(c, &a, state, table);
		cursor.position++; /* as if it had begun */
	}
	sn_campaign_cursor_free(&cursor);
	free(builds);
}

static sn_status status_json(const struct sn_campaign *c, const struct sn_table *table,
			     const struct sn_table_view *view)
{
	struct sn_json json = { .out = stdout };
	sn_status status;

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.campaign/1");
	sn_json_member_string(&json, "campaign", sn_base_name(c->path));
	sn_json_member_string(&json, "plan", c->state->plan_name);
	sn_json_member_uint(&json, "seed", c->state->seed);
	sn_json_member_uint(&json, "level", c->plan->level);
	sn_json_member_string(&json, "order",
			      c->plan->order == SN_CAMPAIGN_BLOCKS ? "blocks" : "sequential");
	sn_json_key(&json, "runs");
	sn_json_array(&json);
	status = sn_table_write_rows(table, view->columns, &json);
	sn_json_close(&json);
	sn_json_close(&json);
	sn_json_finish(&json);
	return status;
}

static void status_head(const struct sn_campaign *c, bool is_held, const struct sn_table *table)
{
	size_t counts[SN_RUN_CANCELLED + 1] = { 0 };
	const char *between = ": ";

	for (size_t r = 0; r < table->row_count; r++)
		for (int s = 0; s <= SN_RUN_CANCELLED; s++)
			counts[s] += !strcmp(table->cells.items[r * table->column_count + 5].text,
					     sn_run_state_name(s));
	fputs(c->path, stdout);
	for (int s = 0; s <= SN_RUN_CANCELLED; s++)
		if (counts[s]) {
			printf("%s%zu %s", between, counts[s], sn_run_state_name(s));
			between = ", ";
		}
	printf("; seed %llu%s\n\n", (unsigned long long)c->state->seed,
	       is_held ? "; it is being run" : "");
}

static int campaign_status(const struct sn_args *args)
{
	struct sn_table_view view = { .schema = "sonde.campaign/1" };
	struct sn_campaign *campaign = NULL;
	struct sn_table table;
	struct sn_error err;
	bool is_held;
	sn_status status = sn_args_table_view(args, &view, &err);

	if (status == SN_OK)
		status = sn_campaign_open(args->operand_count ? args->operands[0] : NULL, &campaign,
					  &err);
	if (status != SN_OK)
		return sn_error_print(&err);
	is_held = sn_campaign_holder(campaign->path) > 0;
	sn_table_init(&table, status_columns, sizeof(status_columns) / sizeof(*status_columns));
	attempts_fill(campaign, is_held, &table);
	queued_fill(campaign, &table);
	if (view.format == SN_FORMAT_TEXT)
		status_head(campaign, is_held, &table);
	if (!sn_args_value(args, "top"))
		view.top = 0;
	if (view.format == SN_FORMAT_JSON && !view.filter && !view.sort && !view.top)
		status = status_json(campaign, &table, &view);
	else
		status = sn_table_write(&table, &view, stdout, NULL, NULL, &err);
	sn_table_free(&table);
	sn_campaign_free(campaign);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_option status_options[] = { SN_TABLE_OPTIONS, { 0 } };

const struct sn_command sn_command_campaign_status = {
	.name = "campaign status",
	.operands = "[CAMPAIGN]",
	.summary = "Lists the runs of a campaign: done, failed, suspicious, still to come",
	.description =
		"Without a name the newest campaign of this folder is meant. A failed attempt stays "
		"as a row of its own, with the program's last words. A run is suspicious that is "
		"unlike its siblings (twice the CPU time, half the samples a second, half or twice "
		"the output) or lost over 1 % of its samples; statistics leave it out.",
	.options = status_options,
	.examples = (const char *const[]){ "sonde campaign status --format json",
					   "for a script (schema sonde.campaign/1)", NULL },
	.run = campaign_status,
};
