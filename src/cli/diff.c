/* sonde diff A B: what changed between two sets of runs, beyond noise. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/analysis_options.h"
#include "cli/command.h"
#include "cli/diff.h"
#include "cli/sets.h"
#include "compare/compare.h"
#include "compare/paths.h"
#include "experiment/unpack.h"
#include "report/html/compare.h"

enum {
	V_KIND,
	V_NAME,
	V_FUNCTION,
	V_MODULE,
	V_FILE,
	V_FIRST,
	V_LAST,
	V_A,
	V_B,
	V_DIFFERENCE,
	V_LOW,
	V_HIGH,
	V_RATIO,
	V_A_SHARE,
	V_B_SHARE,
	V_P,
	V_VERDICT,
	V_A_RUNS,
	V_B_RUNS,
	V_MOVED,
};

static const struct sn_column diff_columns[] = {
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "name", "name", SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "module", NULL, SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line_first", NULL, SN_CELL_INT, 0 },
	{ "line_last", NULL, SN_CELL_INT, 0 },
	{ "a_cpu_s", "A s", SN_CELL_SECONDS, 0 },
	{ "b_cpu_s", "B s", SN_CELL_SECONDS, 0 },
	{ "difference_s", "B - A s", SN_CELL_REAL, 3 },
	{ "difference_low_s", "from", SN_CELL_REAL, 3 },
	{ "difference_high_s", "to", SN_CELL_REAL, 3 },
	{ "ratio", "B / A", SN_CELL_REAL, 3 },
	{ "a_share", NULL, SN_CELL_SHARE, 0 },
	{ "b_share", NULL, SN_CELL_SHARE, 0 },
	{ "p_value", NULL, SN_CELL_REAL, 4 },
	{ "verdict", "verdict", SN_CELL_TEXT, 0 },
	{ "a_runs", NULL, SN_CELL_INT, 0 },
	{ "b_runs", NULL, SN_CELL_INT, 0 },
	{ "moved", NULL, SN_CELL_BOOL, 0 },
};

/* ---- the runs ---- */

struct sides {
	const char *const *names[2];
	size_t counts[2];
	struct sn_compare_run *runs[2];
	struct sn_compare_paths *paths; /* filled too, if not NULL */
	struct sn_text last;		/* path of the last experiment read */
};

static sn_status sides_read(const struct sn_args *args, struct sides *sides, struct sn_error *err)
{
	char **operands = args->operands;
	size_t colon = 0, count = args->operand_count;

	while (colon < count && strcmp(operands[colon], ":") != 0)
		colon++;
	if (colon == count && count == 2)
		colon = 1;
	else if (colon == count)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"diff takes two experiments, or two lists with a colon between: "
			"sonde diff A1 A2 A3 : B1 B2 B3");
	sides->names[0] = (const char *const *)operands;
	sides->counts[0] = colon;
	colon += !strcmp(operands[colon], ":");
	sides->names[1] = (const char *const *)operands + colon;
	sides->counts[1] = count - colon;
	if (!sides->counts[0] || !sides->counts[1])
		return sn_error_set(err, SN_ERR_USAGE,
				    "diff needs an experiment on each side of the colon");
	return SN_OK;
}

static sn_status run_read(const char *name, const struct sn_analysis_options *options,
			  struct sides *sides, int side, struct sn_compare_run *run,
			  struct sn_error *err)
{
	struct sn_analysis *analysis;
	sn_status status = sn_cli_analysis_open(name, options, &analysis, err);

	if (status != SN_OK)
		return status;
	sn_compare_run_fill(run, analysis->profile);
	if (sides->paths)
		sn_compare_paths_add(sides->paths, analysis->profile, side);
	sn_text_clear(&sides->last);
	sn_text_add(&sides->last, analysis->experiment->path);
	sn_analysis_free(analysis);
	return SN_OK;
}

static sn_status runs_read(struct sides *sides, const struct sn_analysis_options *options,
			   struct sn_error *err)
{
	for (int side = 0; side < 2; side++) {
		sides->runs[side] =
			sn_alloc_zeroed(sides->counts[side], sizeof(struct sn_compare_run));
		for (size_t i = 0; i < sides->counts[side]; i++) {
			sn_status status = run_read(sides->names[side][i], options, sides, side,
						    &sides->runs[side][i], err);

			if (status != SN_OK)
				return status;
		}
	}
	return SN_OK;
}

static void sides_free(struct sides *sides)
{
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; sides->runs[side] && i < sides->counts[side]; i++)
			sn_compare_run_free(&sides->runs[side][i]);
		free(sides->runs[side]);
	}
	sn_text_free(&sides->last);
}

/* ---- output ---- */

static void row_add(struct sn_table *table, const struct sn_compare_row *row)
{
	static const char *const kinds[] = { "total", "function", "loop" };
	const struct sn_compare_entry *e = &row->entry;

	sn_table_add_row(table);
	sn_table_set_text(table, V_KIND, kinds[e->kind]);
	sn_table_set_text(table, V_NAME, e->name);
	if (e->kind != SN_COMPARE_TOTAL) {
		sn_table_set_text(table, V_FUNCTION, e->function);
		sn_table_set_text(table, V_MODULE, e->module[0] ? e->module : "[program]");
	}
	sn_table_set_text(table, V_FILE, e->file);
	if (e->line_first)
		sn_table_set_int(table, V_FIRST, e->line_first);
	if (e->line_last)
		sn_table_set_int(table, V_LAST, e->line_last);
	sn_table_set_real(table, V_A, row->a_cpu_s);
	sn_table_set_real(table, V_B, row->b_cpu_s);
	sn_table_set_real(table, V_DIFFERENCE, row->difference_s);
	sn_table_set_real(table, V_LOW, row->difference_interval.low);
	sn_table_set_real(table, V_HIGH, row->difference_interval.high);
	sn_table_set_real(table, V_RATIO, row->a_cpu_s > 0 ? row->b_cpu_s / row->a_cpu_s : NAN);
	sn_table_set_real(table, V_A_SHARE, row->a_share);
	sn_table_set_real(table, V_B_SHARE, row->b_share);
	sn_table_set_real(table, V_P, row->p);
	sn_table_set_text(table, V_VERDICT, sn_verdict_name(row->verdict));
	sn_table_set_int(table, V_A_RUNS, row->a_runs);
	sn_table_set_int(table, V_B_RUNS, row->b_runs);
	sn_table_set_int(table, V_MOVED, row->is_moved);
}

static void names_write(struct sn_json *json, const char *key, const struct sides *sides, int side)
{
	sn_json_key(json, key);
	sn_json_array(json);
	for (size_t i = 0; i < sides->counts[side]; i++)
		sn_json_string(json, sides->runs[side][i].name);
	sn_json_close(json);
}

struct extra {
	const struct sides *sides;
	const struct sn_comparison *comparison;
};

static void extra_write(struct sn_json *json, void *context)
{
	const struct extra *extra = context;

	names_write(json, "a", extra->sides, 0);
	names_write(json, "b", extra->sides, 1);
	sn_json_member_string(json, "verdict", sn_comparison_verdict(extra->comparison));
	sn_json_key(json, "warnings");
	sn_json_array(json);
	for (size_t i = 0; i < extra->comparison->warnings.count; i++)
		sn_json_string(json, extra->comparison->warnings.items[i]);
	sn_json_close(json);
	sn_json_member_bool(json, "paired", extra->comparison->is_paired);
	sn_json_member_double(json, "false_alarm_rate", extra->comparison->false_alarm_rate);
	sn_json_member_uint(json, "tested", extra->comparison->tested);
	sn_json_member_uint(json, "findings", extra->comparison->findings);
	sn_json_member_uint(json, "drifted", extra->comparison->drifted);
}

/* Called same, though their own intervals leave out no difference. */
static size_t unsure_count(const struct sn_comparison *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->rows.count; i++) {
		const struct sn_compare_row *row = &c->rows.items[i];

		count += row->verdict == SN_VERDICT_SAME &&
			 (row->difference_interval.low > 0 || row->difference_interval.high < 0);
	}
	return count;
}

static void head_print(const struct sides *sides, const struct sn_comparison *c)
{
	for (int side = 0; side < 2; side++) {
		printf("%c: ", "AB"[side]);
		for (size_t i = 0; i < sides->counts[side]; i++)
			printf("%s%s", i ? ", " : "", sides->runs[side][i].name);
		putchar('\n');
	}
	if (isnan(c->false_alarm_rate))
		printf("repeat: %zu and %zu runs cannot tell a change from noise; with %d or more "
		       "a side each row gets a verdict\n",
		       c->a_count, c->b_count, SN_COMPARE_RUNS_MIN);
	else if (c->findings)
		printf("%zu of %zu rows differ beyond noise (of equal runs %.0f %% of comparisons "
		       "report any)\n",
		       c->findings, c->tested, 100 * c->false_alarm_rate);
	else if (!c->drifted)
		printf("no difference beyond noise in %zu rows (5 comparisons of equal runs in "
		       "%.0f report one)\n",
		       c->tested, 5 / c->false_alarm_rate);
	if (c->drifted)
		printf("drift: %zu of %zu rows differ, but by no more than the machine may have "
		       "done between the sets\n",
		       c->drifted, c->tested);
	if (unsure_count(c))
		printf("not sure: %zu called same have an interval without 0, but too few runs to "
		       "tell it from noise among %zu rows: repeat more\n",
		       unsure_count(c), c->tested);
	for (size_t i = 0; i < c->warnings.count; i++)
		printf("warning: %s\n", c->warnings.items[i]);
	putchar('\n');
}

static sn_status comparison_print(const struct sn_args *args, const struct sides *sides,
				  const struct sn_comparison *c, struct sn_table_view *view,
				  struct sn_error *err)
{
	struct extra extra = { sides, c };
	struct sn_table table;
	bool only_findings = !sn_args_flag(args, "all") && c->findings + c->drifted &&
			     view->format == SN_FORMAT_TEXT && !view->filter;
	sn_status status;

	view->schema = "sonde.diff/2";
	if (view->columns && !strcmp(view->columns, "all"))
		view->columns =
			"kind,name,function,module,file,line_first,line_last,a_cpu_s,b_cpu_s,"
			"difference_s,difference_low_s,difference_high_s,ratio,a_share,b_share,"
			"p_value,verdict,a_runs,b_runs,moved";
	sn_table_init(&table, diff_columns, sizeof(diff_columns) / sizeof(*diff_columns));
	for (size_t i = 0; i < c->rows.count; i++) {
		const struct sn_compare_row *row = &c->rows.items[i];

		if (!only_findings || row->entry.kind == SN_COMPARE_TOTAL ||
		    row->verdict == SN_VERDICT_SLOWER || row->verdict == SN_VERDICT_FASTER ||
		    row->verdict == SN_VERDICT_DRIFT)
			row_add(&table, row);
	}
	if (view->format == SN_FORMAT_TEXT)
		head_print(sides, c);
	status = sn_table_write(&table, view, stdout, extra_write, &extra, err);
	sn_table_free(&table);
	return status;
}

/* ---- as a page ---- */

static sn_status page_write(const struct sn_args *args, const struct sides *sides,
			    const struct sn_comparison *comparison, struct sn_error *err)
{
	struct sn_compare_page page = { .comparison = comparison,
					.paths = sides->paths,
					.version = SN_VERSION };
	const char *wanted = sn_args_value(args, "output");
	struct sn_text path = { 0 };
	struct stat file;
	sn_status status;

	for (int side = 0; side < 2; side++)
		page.sides[side] =
			(struct sn_compare_side){ sides->runs[side], sides->counts[side] };
	if (wanted)
		sn_text_add(&path, wanted);
	else
		sn_archive_page_path(sides->last.chars, "compare.html", &path);
	status = wanted && !strcmp(wanted, "-")
			 ? sn_error_set(err, SN_ERR_USAGE,
					"a page goes to a file; give its name with -o")
			 : sn_report_write_compare(&page, path.chars, sn_args_flag(args, "force"),
						   err);
	if (status == SN_OK && stat(path.chars, &file) == 0)
		printf("%s (%.1f MB)\n", path.chars, (double)file.st_size / 1e6);
	sn_text_free(&path);
	return status;
}

enum { SMALLEST_PATH = 5000 }; /* a path below this part of the time is not drawn */

sn_status sn_diff_write_page(const struct sn_args *args, double false_alarm_rate,
			     bool *has_findings, struct sn_error *err)
{
	struct sn_compare_options options = { .false_alarm_rate = false_alarm_rate };
	struct sn_compare_paths paths = { 0 };
	struct sides sides = { .paths = &paths };
	struct sn_analysis_arguments arguments = { 0 };
	sn_status status = sides_read(args, &sides, err);

	if (status == SN_OK)
		status = sn_analysis_arguments_read(args, &arguments, err);
	if (status == SN_OK)
		status = runs_read(&sides, &arguments.options, err);
	if (status == SN_OK) {
		struct sn_comparison *comparison = sn_compare(
			sides.runs[0], sides.counts[0], sides.runs[1], sides.counts[1], &options);

		sn_compare_paths_finish(&paths, 1.0 / SMALLEST_PATH);
		status = page_write(args, &sides, comparison, err);
		*has_findings = comparison->findings > 0;
		sn_comparison_free(comparison);
	}
	sn_analysis_arguments_free(&arguments);
	sn_compare_paths_free(&paths);
	sides_free(&sides);
	return status;
}

static sn_status diff(const struct sn_args *args, struct sides *sides, bool *has_findings,
		      struct sn_error *err)
{
	struct sn_analysis_arguments arguments;
	struct sn_compare_options options = { 0 };
	struct sn_comparison *comparison;
	struct sn_table_view view = { 0 };
	const char *format = sn_args_value(args, "format");
	bool is_page = format && !strcmp(format, "html");
	sn_status status = is_page ? SN_OK : sn_args_table_view(args, &view, err);

	if (status == SN_OK)
		status = sn_args_real(args, "false-alarms", 0.05, &options.false_alarm_rate, err);
	if (status == SN_OK && !(options.false_alarm_rate > 0 && options.false_alarm_rate < 1))
		status = sn_error_set(err, SN_ERR_USAGE,
				      "--false-alarms takes a rate between 0 and 1");
	if (status == SN_OK && is_page)
		return sn_diff_write_page(args, options.false_alarm_rate, has_findings, err);
	if (status == SN_OK && (sn_args_value(args, "output") || sn_args_flag(args, "force")))
		status = sn_error_set(
			err, SN_ERR_USAGE,
			"-o and --force are for --format html; a table goes to standard "
			"output");
	if (status == SN_OK)
		status = sides_read(args, sides, err);
	if (status == SN_OK)
		status = sn_analysis_arguments_read(args, &arguments, err);
	if (status != SN_OK)
		return status;
	status = runs_read(sides, &arguments.options, err);
	if (status == SN_OK) {
		comparison = sn_compare(sides->runs[0], sides->counts[0], sides->runs[1],
					sides->counts[1], &options);
		status = comparison_print(args, sides, comparison, &view, err);
		*has_findings = comparison->findings > 0;
		sn_comparison_free(comparison);
	}
	sn_analysis_arguments_free(&arguments);
	return status;
}

static int diff_run(const struct sn_args *args)
{
	struct sides sides = { 0 };
	bool has_findings = false;
	struct sn_error err;
	sn_status status;

	if (sn_cli_are_sets(args))
		return sn_cli_diff_sets(args);
	if (sn_args_flag(args, "self") || sn_args_value(args, "reference")) {
		sn_error_set(
			&err, SN_ERR_USAGE,
			"--self takes a campaign, --reference a campaign or three sets or more");
		return sn_error_print(&err);
	}
	status = diff(args, &sides, &has_findings, &err);

	sides_free(&sides);
	if (status != SN_OK)
		return sn_error_print(&err);
	return has_findings ? SN_EXIT_FINDING : SN_EXIT_OK;
}

static const struct sn_option diff_options[] = {
	SN_TABLE_OPTIONS_WITH("how to print: text, csv, json or jsonl, or html: a page",
			      "text|csv|json|jsonl|html"),
	{ "output", 'o', "FILE", "write the page to FILE (compare.html in the last experiment)",
	  NULL },
	{ "force", 0, NULL, "write a page even if it is over 64 MB", NULL },
	SN_FILTER_OPTIONS,
	{ "reference", 0, "NAME", "the set that all others are compared with (default: the first)",
	  NULL },
	{ "self", 0, NULL, "compare equal runs of a campaign with each other: is the rate held?",
	  NULL },
	{ "false-alarms", 0, "RATE",
	  "part of comparisons of equal runs that may report any difference (default 0.05)", NULL },
	{ 0 },
};

static const char *const diff_examples[] = {
	"sonde diff @-1 @0",
	"the newest experiment against the one before: differences, but no verdict",
	"sonde diff old.1 old.2 old.3 : new.1 new.2 new.3",
	"three runs a side: each difference with its interval and a verdict",
	"sonde diff --format html old.1 old.2 old.3 : new.1 new.2 new.3",
	"a page: tables side by side, and a flame graph of the differences",
	"sonde diff sonde.app.campaign.1",
	"the configurations of a campaign against each other",
	"sonde diff --format json a.1 a.2 a.3 : b.1 b.2 b.3",
	"for a script; the exit status is 1 if anything differs beyond noise",
	NULL,
};

const struct sn_command sn_command_diff = {
	.name = "diff",
	.operands = "A... [:] B... [: C...] | CAMPAIGN",
	.summary = "Says what changed between two sets of runs, beyond noise",
	.description =
		"Functions and source loops of both sides are aligned by module, name and source "
		"lines (loops whose lines moved: by their order in the function), and their "
		"exclusive CPU times compared. The program itself may be called differently on "
		"both sides.\n\n"
		"With three runs or more a side, every row above half a per cent of the time gets "
		"a verdict by Welch's test, corrected for their number by Holm's method: of "
		"comparisons of runs that do not differ, at most the part given by --false-alarms "
		"reports any difference. With fewer runs no verdict is given: repeat. A row that "
		"differs by no more than the machine changed between the sets (a trend, waiting "
		"for a CPU, the load of others) is called drift and is no finding: record A and B "
		"in turns.\n\n"
		"With more sets (colons between), or with a campaign, whose configurations are the "
		"sets, every row has a line a set, against the first one or --reference; the rate of "
		"false alarms is that of all of it. Runs of one campaign are compared block by block, "
		"also where they are named by their paths.\n\n"
		"The exit status is 1 if a difference was found, 0 if none was or none could be "
		"stated.",
	.options = diff_options,
	.examples = diff_examples,
	.run = diff_run,
};
