/* sonde campaign status: the runs of a campaign, and what became of them. */
#include <stdio.h>

#include "base/text.h"
#include "campaign/status.h"
#include "cli/command.h"

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
	size_t counts[SN_RUN_CANCELLED + 1];
	const char *between = ": ";

	sn_campaign_status_count(table, counts);
	fputs(sn_campaign_given_path(c), stdout);
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
	struct sn_table_view view = { .schema = "sonde.campaign/1",
				      .whole_column = "configuration,experiment,reason" };
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
	sn_campaign_status(campaign, is_held, &table);
	if (view.format == SN_FORMAT_TEXT)
		status_head(campaign, is_held, &table);
	if (!sn_args_value(args, "top"))
		view.top = 0;
	view.may_leave_out = !view.columns;
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
