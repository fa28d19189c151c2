/* sonde heartbeat top: reads the options; heartbeat/top.h does the work. */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heartbeat/top.h"

static sn_status read_options(const struct sn_args *args, struct sn_top *top, struct sn_error *err)
{
	const char *by = sn_args_value(args, "by");
	sn_status status = sn_args_table_view(args, &top->view, err);

	if (status == SN_OK)
		status = sn_args_real(args, "window", 10, &top->window_s, err);
	if (status == SN_OK)
		status = sn_args_real(args, "interval", 1, &top->pause_s, err);
	if (status == SN_OK && !(top->window_s >= 0.01 && top->window_s <= 86400 &&
				 top->pause_s >= 0.05 && top->pause_s <= 3600))
		return sn_error_set(err, SN_ERR_USAGE,
				    "heartbeat top: --window must be between 0.01 and 86400 s, "
				    "--interval between 0.05 and 3600 s");
	if (status == SN_OK && args->operand_count > 1)
		return sn_error_set(err, SN_ERR_USAGE,
				    "heartbeat top takes one folder; '%s' is too many",
				    args->operands[1]);
	top->by = by && !strcmp(by, "rank")	? SN_LIVE_BY_RANK
		  : by && !strcmp(by, "thread") ? SN_LIVE_BY_THREAD
						: SN_LIVE_BY_HEARTBEAT;
	return status;
}

static const char *folder_of(const struct sn_args *args)
{
	const char *given = getenv("SONDE_HEARTBEAT_DIR");

	if (args->operand_count)
		return args->operands[0];
	return given && *given ? given : "sonde-heartbeat";
}

static int top_run(const struct sn_args *args)
{
	struct sn_top top = { 0 };
	struct sn_error err = { 0 };
	sn_status status = read_options(args, &top, &err);
	bool is_live = isatty(STDOUT_FILENO) && !sn_args_flag(args, "once");

	if (status == SN_OK) {
		top.live = sn_live_new(folder_of(args), (int64_t)(top.window_s * 1e9));
		status = sn_live_poll(top.live, sn_top_now_ns(), &err);
	}
	if (status == SN_OK && top.view.format == SN_FORMAT_TEXT && is_live)
		status = sn_top_watch(&top, &err);
	else if (status == SN_OK && !sn_live_facts(top.live).process_count)
		status = sn_error_set(&err, SN_ERR_NO_DATA,
				      "heartbeat top: no heartbeats in '%s'; name the folder, or "
				      "set SONDE_HEARTBEAT_DIR as for the job",
				      folder_of(args));
	else if (status == SN_OK)
		status = sn_top_print(&top, sn_top_now_ns(), stdout, &err);
	sn_live_free(top.live);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_option top_options[] = {
	{ "by", 'b', "WHAT", "a row for each heartbeat, rank or thread", "heartbeat|rank|thread" },
	{ "window", 'w', "SECONDS", "figures of the last SECONDS (default 10)", NULL },
	{ "interval", 'i', "SECONDS", "look again after SECONDS (default 1)", NULL },
	{ "once", '1', NULL, "print once and end, also on a terminal", NULL },
	SN_TABLE_OPTIONS,
	{ NULL, 0, NULL, NULL, NULL },
};

static const char *const top_examples[] = {
	"sonde heartbeat top",
	"watch the job that writes into ./sonde-heartbeat",
	"sonde heartbeat top /scratch/beats --by rank --sort mean_s | head",
	"the ranks in which a beat takes longest, once",
	NULL,
};

const struct sn_command sn_command_heartbeat_top = {
	.name = "heartbeat top",
	.operands = "[FOLDER]",
	.summary = "Watches a running job through its heartbeat files",
	.description =
		"Shows the rate, mean and longest duration of each heartbeat over the last "
		"seconds, how many beats are open, the slowest rank and by how much it is slower "
		"than the mean of all, and the rate over the last 20 intervals. FOLDER is where "
		"the job writes; SONDE_HEARTBEAT_DIR or ./sonde-heartbeat without it. Only "
		"processes that run are shown; if none does, those that wrote last.\n\nOn a "
		"terminal the view is renewed every second: h, r and t show heartbeats, ranks and "
		"threads, q ends. Into a pipe, with --once, or in another format than text it "
		"prints once.",
	.options = top_options,
	.examples = top_examples,
	.run = top_run,
};
