/*
 * sonde heartbeat import, report, compare and judge: the history of a job's heartbeats. The work
 * is done in src/heartbeat.
 */
#include "cli/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "heartbeat/history.h"
#include "heartbeat/page.h"

static sn_status open_history(const struct sn_args *args, bool is_writer, struct sn_history **out,
			      struct sn_error *err)
{
	const char *path = sn_args_value(args, "db");

	if (!path)
		return sn_error_set(err, SN_ERR_USAGE,
				    "heartbeat: name the history with --db FILE");
	return sn_history_open(path, is_writer, out, err);
}

static int import_run(const struct sn_args *args)
{
	struct sn_history_import counts = { 0 };
	struct sn_history *history = NULL;
	struct sn_error err = { 0 };
	sn_status status =
		args->operand_count
			? open_history(args, true, &history, &err)
			: sn_error_set(&err, SN_ERR_USAGE,
				       "heartbeat import: name a folder of heartbeat files");

	for (size_t i = 0; status == SN_OK && i < args->operand_count; i++)
		status = sn_history_import(history, args->operands[i], &counts, &err);
	sn_history_close(history);
	if (status != SN_OK)
		return sn_error_print(&err);
	printf("%llu row%s of %llu file%s", (unsigned long long)counts.row_count,
	       counts.row_count == 1 ? "" : "s", (unsigned long long)counts.file_count,
	       counts.file_count == 1 ? "" : "s");
	if (counts.unchanged_count)
		printf("; %llu file%s not changed since the last import",
		       (unsigned long long)counts.unchanged_count,
		       counts.unchanged_count == 1 ? " has" : "s have");
	putchar('\n');
	if (counts.cut_count)
		sn_warn("heartbeat: earlier rows of %llu processes are lost by rotation "
			"(SONDE_HEARTBEAT_MAX_SIZE); their runs have no period",
			(unsigned long long)counts.cut_count);
	if (!counts.file_count && !counts.unchanged_count)
		return SN_EXIT_NO_DATA;
	return counts.bad_line_count || counts.orphan_count ? SN_EXIT_BAD_INPUT : SN_EXIT_OK;
}

/* The run that the operand numbers; the newest without one. */
static sn_status open_run(const struct sn_args *args, struct sn_history **history, int64_t *run,
			  struct sn_error *err)
{
	const char *word = args->operand_count ? args->operands[0] : "0";
	char *end;
	long long number = strtoll(word, &end, 10);
	sn_status status;

	if (*end || number < 0 || args->operand_count > 1)
		return sn_error_set(err, SN_ERR_USAGE,
				    "heartbeat: name one run by its number, not '%s'", word);
	status = open_history(args, false, history, err);
	return status == SN_OK ? sn_history_find_run(*history, number, run, err) : status;
}

static sn_status read_alarm_rate(const struct sn_args *args, double *out, struct sn_error *err)
{
	sn_status status = sn_args_real(args, "false-alarms", 0.01, out, err);

	if (status == SN_OK && !(*out >= 0.001 && *out <= 0.5))
		return sn_error_set(err, SN_ERR_USAGE,
				    "heartbeat: --false-alarms must be between 0.001 and 0.5");
	return status;
}

/* What a page or a picture is asked to show; the file's ending says which. */
static sn_status read_page_options(const struct sn_args *args, struct sn_page_options *out,
				   struct sn_error *err)
{
	const char *path = sn_args_value(args, "output"), *by = sn_args_value(args, "by");
	sn_status status = read_alarm_rate(args, &out->alarm_rate, err);

	if (status == SN_OK)
		status = sn_run_group_parse(sn_args_value(args, "group"), &out->group, err);
	if (status == SN_OK && !sn_ends_with(path, ".html") && !sn_ends_with(path, ".svg"))
		return sn_error_set(err, SN_ERR_USAGE,
				    "heartbeat report: '%s' must end in .html (a page) or .svg (a "
				    "picture)",
				    path);
	out->kind = sn_ends_with(path, ".svg") ? SN_PAGE_SVG : SN_PAGE_HTML;
	out->by = !by ? SN_PAGE_BY_ANY : *by == 'r' ? SN_PAGE_BY_RANK : SN_PAGE_BY_THREAD;
	return status;
}

static int page_run(const struct sn_args *args)
{
	const char *path = sn_args_value(args, "output");
	struct sn_page_options options = { 0 };
	struct sn_file_writer writer = { 0 };
	struct sn_history *history = NULL;
	struct sn_error err = { 0 };
	int64_t run = 0;
	sn_status status = read_page_options(args, &options, &err);

	if (status == SN_OK)
		status = open_run(args, &history, &run, &err);
	if (status == SN_OK)
		status = sn_file_writer_open(&writer, path, &err);
	if (status == SN_OK) {
		status = sn_history_write_page(history, run, &options, writer.out, &err);
		if (status == SN_OK)
			status = sn_file_writer_commit(&writer, &err);
		else
			sn_file_writer_abandon(&writer);
	}
	if (status == SN_OK)
		printf("%s\n", path);
	sn_history_close(history);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static void tell_cut(uint64_t count)
{
	if (count)
		sn_warn("heartbeat: earlier rows of %llu processes of this run are lost by "
			"rotation (SONDE_HEARTBEAT_MAX_SIZE), so it has no period and nothing is "
			"told missing",
			(unsigned long long)count);
}

static int report_run(const struct sn_args *args)
{
	struct sn_history *history = NULL;
	struct sn_table_view view = { 0 };
	struct sn_table table;
	struct sn_error err = { 0 };
	uint64_t cut_count = 0;
	int64_t run = 0;
	sn_status status;

	if (sn_args_value(args, "output"))
		return page_run(args);
	status = sn_args_table_view(args, &view, &err);
	if (status == SN_OK)
		status = open_run(args, &history, &run, &err);
	sn_table_init(&table, sn_history_report_columns, sn_history_report_column_count);
	if (status == SN_OK)
		status = sn_history_report(history, run, &table, &err);
	if (status == SN_OK)
		status = sn_history_count_cut(history, run, &cut_count, &err);
	view.schema = "sonde.heartbeat-report/1";
	if (status == SN_OK)
		status = sn_table_write(&table, &view, stdout, NULL, NULL, &err);
	if (status == SN_OK)
		tell_cut(cut_count);
	sn_table_free(&table);
	sn_history_close(history);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_column judge_columns[] = {
	{ "heartbeat", "Heartbeat", SN_CELL_TEXT, 0 },
	{ "metric", "Metric", SN_CELL_TEXT, 0 },
	{ "value_s", "This run", SN_CELL_DURATION, 0 },
	{ "median_s", "Median", SN_CELL_DURATION, 0 },
	{ "ratio", "Ratio", SN_CELL_REAL, 3 },
	{ "noise_ratio", "Noise", SN_CELL_REAL, 3 },
	{ "limit_ratio", "Limit", SN_CELL_REAL, 3 },
	{ "score", "Score", SN_CELL_REAL, 1 },
	{ "runs", "Runs", SN_CELL_INT, 0 },
	{ "verdict", "Verdict", SN_CELL_TEXT, 0 },
	{ "same_as", "Beats with", SN_CELL_TEXT, 0 },
};

static void fill_judgement(struct sn_table *table, const struct sn_judgement *judgement)
{
	for (size_t i = 0; i < judgement->rows.count; i++) {
		const struct sn_judge_row *row = &judgement->rows.items[i];

		sn_table_add_row(table);
		sn_table_set_text(table, 0, row->heartbeat);
		sn_table_set_text(table, 1,
				  row->metric == SN_JUDGE_DURATION ? "duration" : "period");
		sn_table_set_real(table, 2, row->value_s);
		sn_table_set_real(table, 3, row->median_s);
		sn_table_set_real(table, 4, row->ratio);
		sn_table_set_real(table, 5, row->noise_ratio);
		sn_table_set_real(table, 6, row->limit_ratio);
		sn_table_set_real(table, 7, row->score);
		sn_table_set_int(table, 8, (int64_t)row->runs);
		sn_table_set_text(table, 9, row->verdict);
		sn_table_set_text(table, 10, row->same_as);
	}
}

struct judged {
	const struct sn_judgement *judgement;
	double alarm_rate;
};

static void write_facts(struct sn_json *json, void *context)
{
	const struct judged *judged = context;

	sn_json_member_uint(json, "history_runs", judged->judgement->run_count);
	sn_json_member_uint(json, "tests", judged->judgement->tests);
	if (judged->judgement->tests)
		sn_json_member_double(json, "false_alarm_rate", judged->alarm_rate);
	sn_json_member_uint(json, "processes_with_lost_rows", judged->judgement->cut_count);
	sn_json_member_uint(json, "findings", judged->judgement->finding_count);
	sn_json_member_string(json, "verdict", judged->judgement->verdict);
}

static void tell_verdict(const struct sn_judgement *judgement)
{
	const struct sn_judge_row *reason = judgement->reason;

	printf("the run: %s", judgement->verdict);
	if (reason && isnan(reason->value_s))
		printf(" (%s)", reason->heartbeat);
	else if (reason)
		printf(" (%s: %s %.3g times the median)", reason->heartbeat,
		       reason->metric == SN_JUDGE_DURATION ? "duration" : "period", reason->ratio);
	else if (!strcmp(judgement->verdict, "repeat"))
		printf(": fewer than %d runs to compare with", SN_JUDGE_RUNS_MIN);
	putchar('\n');
}

static void tell_rate(const struct sn_judgement *judgement, double alarm_rate)
{
	printf("against %llu runs of the history", (unsigned long long)judgement->run_count);
	if (judgement->tests)
		printf("; for log-normal noise, a run like them would have a finding with chance "
		       "%g at most",
		       alarm_rate);
	putchar('\n');
}

static sn_status print_judgement(const struct sn_judgement *judgement, double alarm_rate,
				 struct sn_table_view *view, struct sn_error *err)
{
	struct judged judged = { judgement, alarm_rate };
	struct sn_table table;
	sn_status status;

	view->schema = "sonde.heartbeat-judgement/1";
	sn_table_init(&table, judge_columns, sizeof(judge_columns) / sizeof(*judge_columns));
	fill_judgement(&table, judgement);
	status = sn_table_write(&table, view, stdout, write_facts, &judged, err);
	if (status == SN_OK && view->format == SN_FORMAT_TEXT) {
		tell_rate(judgement, alarm_rate);
		tell_verdict(judgement);
	}
	if (status == SN_OK)
		tell_cut(judgement->cut_count);
	sn_table_free(&table);
	return status;
}

static int judge(const struct sn_args *args, bool has_verdict)
{
	struct sn_history *history = NULL;
	struct sn_judgement judgement = { 0 };
	struct sn_table_view view = { 0 };
	struct sn_error err = { 0 };
	double alarm_rate = 0.01;
	unsigned group = SN_GROUP_DEFAULT;
	int64_t run = 0;
	sn_status status = sn_args_table_view(args, &view, &err);
	int code = SN_EXIT_OK;

	if (status == SN_OK)
		status = read_alarm_rate(args, &alarm_rate, &err);
	if (status == SN_OK)
		status = sn_run_group_parse(sn_args_value(args, "group"), &group, &err);
	if (status == SN_OK)
		status = open_run(args, &history, &run, &err);
	if (status == SN_OK)
		status = sn_history_judge(history, run, group, alarm_rate, &judgement, &err);
	if (status == SN_OK)
		status = print_judgement(&judgement, alarm_rate, &view, &err);
	if (status == SN_OK && has_verdict && judgement.run_count < SN_JUDGE_RUNS_MIN) {
		sn_warn("heartbeat judge: %llu earlier runs of this application and configuration; "
			"a judgement takes %d",
			(unsigned long long)judgement.run_count, SN_JUDGE_RUNS_MIN);
		code = SN_EXIT_NO_DATA;
	} else if (has_verdict && judgement.finding_count) {
		code = SN_EXIT_FINDING;
	}
	sn_judgement_free(&judgement);
	sn_history_close(history);
	return status == SN_OK ? code : sn_error_print(&err);
}

static int judge_run(const struct sn_args *args)
{
	return judge(args, true);
}

static int compare_run(const struct sn_args *args)
{
	return judge(args, false);
}

#define DB_OPTION                                                                                  \
	{                                                                                          \
		"db", 'd', "FILE", "the history, an SQLite file", NULL                             \
	}
static const struct sn_option import_options[] = { DB_OPTION, { NULL, 0, NULL, NULL, NULL } };
#define GROUP_OPTION                                                                               \
	{                                                                                          \
		"group", 'g', "KEYS",                                                              \
			"what runs must have in common: program, and those of arguments, ranks, "  \
			"threads that are named (default: all of them)",                           \
			NULL                                                                       \
	}
#define ALARMS_OPTION                                                                              \
	{                                                                                          \
		"false-alarms", 'r', "RATE",                                                       \
			"chance of a finding in a run like the others (default 0.01)", NULL        \
	}

static const struct sn_option report_options[] = {
	DB_OPTION,
	{ "output", 'o', "FILE", "write plots: a page (.html) or a picture (.svg)", NULL },
	{ "by", 'b', "WHAT",
	  "a line for each rank or thread in plots (default: threads of a single process, else "
	  "ranks)",
	  "rank|thread" },
	GROUP_OPTION,
	ALARMS_OPTION,
	SN_TABLE_OPTIONS,
	{ NULL, 0, NULL, NULL, NULL },
};
static const struct sn_option judge_options[] = {
	DB_OPTION, GROUP_OPTION, ALARMS_OPTION, SN_TABLE_OPTIONS, { NULL, 0, NULL, NULL, NULL },
};

static const char *const import_examples[] = { "sonde heartbeat import sonde-heartbeat --db app.db",
					       "add the runs of this folder to the history", NULL };
static const char *const report_examples[] = {
	"sonde heartbeat report --db app.db --filter heartbeat=solve",
	"solve over time, newest run", "sonde heartbeat report --db app.db -o run.html",
	"its plots, as a page that needs nothing else", NULL
};
static const char *const compare_examples[] = { "sonde heartbeat compare --db app.db",
						"the newest run against those before it", NULL };
static const char *const judge_examples[] = { "sonde heartbeat judge --db app.db || notify",
					      "is the newest job running badly?", NULL };

const struct sn_command sn_command_heartbeat_import = {
	.name = "heartbeat import",
	.operands = "FOLDER...",
	.summary = "Adds heartbeat files to a history",
	.description = "Reads heartbeat.*.jsonl of the folders into an SQLite file. Files may be "
		       "imported again when they have grown. Lines that cannot be read are told, "
		       "and everything else is kept; the exit code is 5 then.",
	.options = import_options,
	.examples = import_examples,
	.run = import_run,
};

const struct sn_command sn_command_heartbeat_report = {
	.name = "heartbeat report",
	.operands = "[RUN]",
	.summary = "Shows rates and durations of a run's heartbeats over time",
	.description =
		"One row for each interval, heartbeat, rank and thread of a run (by number; "
		"the newest without one).\n\nWith -o, plots in one file that loads nothing: for "
		"each heartbeat its rate and mean duration over time, how durations are spread, "
		"and this run beside those before it, with the limit of heartbeat judge.",
	.options = report_options,
	.examples = report_examples,
	.run = report_run,
};

const struct sn_command sn_command_heartbeat_compare = {
	.name = "heartbeat compare",
	.operands = "[RUN]",
	.summary = "Compares a run's heartbeats with the history",
	.description = "The table of heartbeat judge, without its exit code.",
	.options = judge_options,
	.examples = compare_examples,
	.run = compare_run,
};

const struct sn_command sn_command_heartbeat_judge = {
	.name = "heartbeat judge",
	.operands = "[RUN]",
	.summary = "Judges whether a job is running well or badly",
	.description =
		"Compares each heartbeat's mean duration, and the time that passes per beat, with "
		"the runs before it of the same program, arguments, ranks and threads, by median "
		"and median deviation of the logarithms.\n\nThe exit code is 1 if something is "
		"slower than the stated false-alarm rate allows or missing, 3 with fewer than 8 "
		"runs to compare with.",
	.options = judge_options,
	.examples = judge_examples,
	.run = judge_run,
};
