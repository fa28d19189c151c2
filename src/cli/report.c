/*
 * sonde report: an experiment as a page, as text or as JSON, and two sets of experiments as a page
 * of differences.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "campaign/scaling/read.h"
#include "campaign/status.h"
#include "cli/analysis_options.h"
#include "cli/command.h"
#include "cli/diff.h"
#include "cli/sets.h"
#include "experiment/unpack.h"
#include "profile/analysis.h"
#include "profile/companions.h"
#include "report/model/model.h"
#include "report/text/text.h"
#include "report/html/html.h"
#include "report/campaigns/campaign.h"
#include "report/json/json.h"
#include "report/xlsx/xlsx.h"
#include "views/compile.h"
#include "views/of_campaign.h"
#include "wire/variants.h"

static const struct sn_option report_options[] = {
	{ "output", 'o', "FILE", "write to FILE; '-' is standard output (text and json)", NULL },
	{ "format", 'f', "FORMAT", "what to write: html, text, json or xlsx",
	  "html|text|json|xlsx" },
	{ "level", 'l', "N",
	  "how deep: 1 is what sampling and the code tell; 2 and 3 have instances and variants of "
	  "loops, and end with 3 where these were not measured; unless said, all that is there",
	  "1|2|3" },
	{ "force", 0, NULL, "write a page even if it is over 64 MB", NULL },
	SN_ARCH_OPTION,
	SN_FILTER_OPTIONS,
	{ 0 },
};

static const char *const report_examples[] = {
	"sonde report",
	"Write the page of the newest experiment into its folder.",
	"sonde report sonde.app.1 -o app.html",
	"Write it to a file of its own, to be sent to somebody.",
	"sonde report sonde.app.1 sonde.app.2",
	"Write a page that compares two runs (sonde diff has more about that).",
	"sonde report sonde.app.campaign.1",
	"Write a page of a campaign: its runs, what scales, each loop in each configuration.",
	"sonde report sonde.app.campaign.1 --format xlsx -o campaign.xlsx",
	"Write its runs, scalability, laws and comparison as a workbook.",
	"sonde report --format json -o -",
	"Print everything the page says as one JSON object.",
	"sonde report --format xlsx -o app.xlsx",
	"Write a workbook for a spreadsheet program.",
	"sonde report --arch zen4",
	"Estimate what loops could gain on another processor.",
	"sonde report --level 3",
	"Only if loops were counted and their variants measured (sonde analyze).",
	NULL,
};

/** The page lies in the experiment's folder unless -o says otherwise. */
static sn_status page_path(const struct sn_args *args, const struct sn_experiment *experiment,
			   struct sn_text *path, struct sn_error *err)
{
	const char *wanted = sn_args_value(args, "output");

	if (wanted && !strcmp(wanted, "-"))
		return sn_error_set(err, SN_ERR_USAGE,
				    "report: a page goes to a file; give its name with -o");
	if (wanted)
		sn_text_add(path, wanted);
	else
		sn_archive_page_path(experiment->path, "report.html", path);
	return SN_OK;
}

static sn_status write_page(const struct sn_args *args, struct sn_analysis *analysis,
			    struct sn_error *err)
{
	static const struct sn_report_options what = { .has_details = true };
	struct sn_text path = { 0 };
	struct sn_report *report = NULL;
	struct stat file;
	sn_status status = page_path(args, analysis->experiment, &path, err);

	if (status == SN_OK)
		status = sn_report_new(analysis, &what, &report, err);
	if (status == SN_OK)
		status = sn_report_write_html(report, path.chars, sn_args_flag(args, "force"), err);
	if (status == SN_OK && stat(path.chars, &file) == 0)
		printf("%s (%.1f MB)\n", path.chars, (double)file.st_size / 1e6);
	sn_report_free(report);
	sn_text_free(&path);
	return status;
}

static sn_status write_format(struct sn_analysis *analysis, bool is_json, FILE *out,
			      struct sn_error *err)
{
	static const struct sn_report_options what = { .has_tables = true };
	struct sn_report *report = NULL;
	sn_status status = sn_report_new(analysis, &what, &report, err);

	if (status == SN_OK)
		status = is_json ? sn_report_write_json(report, out, err)
				 : sn_report_write_text(report, out, err);
	sn_report_free(report);
	return status;
}

static sn_status write_workbook(const struct sn_args *args, struct sn_analysis *analysis,
				struct sn_error *err)
{
	static const struct sn_report_options what = { .has_tables = true };
	const char *wanted = sn_args_value(args, "output");
	struct sn_report *report = NULL;
	sn_status status;

	if (!wanted)
		return sn_error_set(err, SN_ERR_USAGE,
				    "a workbook goes to a file; give its name with -o");
	status = sn_report_new(analysis, &what, &report, err);
	if (status == SN_OK)
		status = sn_report_write_xlsx(report, wanted, err);
	sn_report_free(report);
	return status;
}

/** Text and JSON go to standard output unless -o names a file. */
static sn_status write_stream(const struct sn_args *args, struct sn_analysis *analysis,
			      struct sn_error *err)
{
	const char *wanted = sn_args_value(args, "output");
	bool is_json = !strcmp(sn_args_value(args, "format"), "json");
	struct sn_file_writer writer = { 0 };
	FILE *out = stdout;
	sn_status status = SN_OK;

	if (wanted && strcmp(wanted, "-")) {
		status = sn_file_writer_open(&writer, wanted, err);
		if (status != SN_OK)
			return status;
		out = writer.out;
	}
	status = write_format(analysis, is_json, out, err);
	if (!writer.out)
		return status;
	if (status == SN_OK)
		return sn_file_writer_commit(&writer, err);
	sn_file_writer_abandon(&writer);
	return status;
}

/** Two experiments, or two lists with a colon between: the page that `sonde diff` writes. */
static int compare_run(const struct sn_args *args)
{
	const char *format = sn_args_value(args, "format");
	bool has_findings = false;
	struct sn_error err;
	sn_status status;

	if (sn_args_value(args, "arch")) {
		sn_warn("report: --arch is for one experiment: a comparison estimates nothing");
		return SN_EXIT_USAGE;
	}
	if (format && strcmp(format, "html") != 0) {
		sn_warn("report: several experiments are compared in a page; for tables and JSON: "
			"sonde diff");
		return SN_EXIT_USAGE;
	}
	status = sn_diff_write_page(args, 0, &has_findings, &err);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

/* What a page of a campaign cannot have. */
static sn_status campaign_check(const struct sn_args *args, struct sn_error *err)
{
	const char *format = sn_args_value(args, "format"), *output = sn_args_value(args, "output");

	if (format && strcmp(format, "html") != 0 && strcmp(format, "xlsx") != 0)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"report: a campaign has a page and a workbook (--format xlsx); its tables "
			"and JSON are those of sonde scalability, sonde campaign status and sonde "
			"diff");
	if (format && !strcmp(format, "xlsx") && !output)
		return sn_error_set(err, SN_ERR_USAGE,
				    "a workbook goes to a file; give its name with -o");
	if (output && !strcmp(output, "-"))
		return sn_error_set(err, SN_ERR_USAGE,
				    "report: a page goes to a file; give its name with -o");
	for (size_t i = 0; i < args->given_count; i++) {
		const char *name = args->command->options[args->given[i].option].name;

		if (strcmp(name, "format") && strcmp(name, "output") && strcmp(name, "force"))
			return sn_error_set(err, SN_ERR_USAGE,
					    "report: --%s is for one experiment; a campaign's page "
					    "shows its runs whole",
					    name);
	}
	return SN_OK;
}

static sn_status campaign_workbook(const struct sn_campaign_page *page, const char *path,
				   struct sn_error *err)
{
	struct sn_table compare;
	sn_status status = sn_cli_campaign_compare(page->read->campaign->path, &compare, err);

	if (status == SN_ERR_NO_DATA)
		return sn_report_write_campaign_xlsx(page, NULL, path, err);
	if (status != SN_OK)
		return status;
	status = sn_report_write_campaign_xlsx(page, &compare, path, err);
	sn_table_free(&compare);
	return status;
}

/* How units were compiled, where a run is done. A page leaves out what nobody need see. */
static sn_status compile_read(struct sn_campaign_page *page, bool tidies, struct sn_table *out,
			      struct sn_text *left_out, struct sn_error *err)
{
	size_t first;
	sn_status status = sn_view_of_campaign(sn_view_find("compile"), page->read->campaign->path,
					       out, &first, err);

	if (status == SN_ERR_NO_DATA)
		return SN_OK;
	if (status != SN_OK)
		return status;
	if (tidies)
		sn_compile_tidy(out, first, left_out);
	page->compile = out;
	page->compile_left_out = left_out->chars;
	return SN_OK;
}

static sn_status campaign_write(const struct sn_args *args, struct sn_scaling_campaign *read,
				struct sn_error *err)
{
	struct sn_campaign_page page = { .read = read, .version = SN_VERSION };
	const char *wanted = sn_args_value(args, "output");
	const char *format = sn_args_value(args, "format");
	bool is_workbook = format && !strcmp(format, "xlsx");
	struct sn_text path = { 0 }, left_out = { 0 };
	struct sn_table runs, compile = { 0 };
	struct stat file;
	sn_status status;

	page.lies_within = !wanted && !sn_archive_of(read->campaign->path);
	if (wanted)
		sn_text_add(&path, wanted);
	else
		sn_archive_page_path(read->campaign->path, "report.html", &path);
	status = compile_read(&page, !is_workbook, &compile, &left_out, err);
	if (status != SN_OK)
		goto out;
	sn_campaign_status(read->campaign, sn_campaign_holder(read->campaign->path) > 0, &runs);
	page.runs = &runs;
	status = is_workbook ? campaign_workbook(&page, path.chars, err)
			     : sn_report_write_campaign(&page, path.chars, err);
	if (status == SN_OK && !stat(path.chars, &file))
		printf("%s (%.1f MB)\n", path.chars, (double)file.st_size / 1e6);
	sn_table_free(&runs);
	sn_table_free(&compile);
out:
	sn_text_free(&left_out);
	sn_text_free(&path);
	return status;
}

static int campaign_run(const struct sn_args *args)
{
	struct sn_scaling_campaign read;
	struct sn_error err;
	sn_status status = campaign_check(args, &err);

	if (status == SN_OK)
		status =
			sn_scaling_campaign_open(args->operands[0], NULL, false, true, &read, &err);
	if (status != SN_OK)
		return sn_error_print(&err);
	status = campaign_write(args, &read, &err);
	sn_scaling_campaign_free(&read);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

/* Level 2 has DL1 beside the loop as it is; whatever else was timed is level 3. */
static bool has_level_3(const struct sn_analysis *analysis)
{
	const struct sn_experiment *run = sn_profile_with_variants(analysis->profile)->experiment;

	for (size_t i = 0; i < run->variants.count; i++)
		if (run->variants.items[i].variant != SN_VARIANT_ORIG &&
		    run->variants.items[i].variant != SN_VARIANT_DL1)
			return true;
	return sn_companion_exists(analysis->experiment->path, SN_COMPANION_VARIANTS);
}

/* What the level has and nothing more, or what is missing for it. */
static sn_status level_choose(const struct sn_args *args, struct sn_analysis *analysis,
			      struct sn_error *err)
{
	const char *asked = sn_args_value(args, "level");
	int level = asked ? asked[0] - '0' : 0;
	bool has_instances =
		sn_profile_with_instances(analysis->profile)->experiment->instances.count;

	if (level == 1)
		analysis->profile->companions = NULL;
	if ((level >= 2 && !has_instances) || (level == 3 && !has_level_3(analysis)))
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "'%s' has no %s of loops, which a report of level %d needs: "
				    "sonde analyze --level %d --from %s -- PROGRAM ARGS",
				    analysis->experiment->name,
				    has_instances ? "variants but DL1" : "instances", level, level,
				    sn_experiment_given_path(analysis->experiment));
	return SN_OK;
}

static int report_run(const struct sn_args *args)
{
	struct sn_analysis_arguments arguments = { 0 };
	struct sn_analysis *analysis = NULL;
	const char *format = sn_args_value(args, "format");
	struct sn_error err;
	sn_status status;

	if (args->operand_count > 1)
		return compare_run(args);
	if (args->operand_count == 1 && sn_is_campaign(args->operands[0]))
		return campaign_run(args);
	status = sn_analysis_arguments_read(args, &arguments, &err);
	arguments.options.arch = sn_args_value(args, "arch");
	if (status == SN_OK)
		status = sn_cli_analysis_open(args->operand_count ? args->operands[0] : NULL,
					      &arguments.options, &analysis, &err);
	if (status == SN_OK)
		status = level_choose(args, analysis, &err);
	if (status == SN_OK)
		status = !format || !strcmp(format, "html") ? write_page(args, analysis, &err)
			 : !strcmp(format, "xlsx")	    ? write_workbook(args, analysis, &err)
							    : write_stream(args, analysis, &err);
	sn_analysis_free(analysis);
	sn_analysis_arguments_free(&arguments);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

const struct sn_command sn_command_report = {
	.name = "report",
	.operands = "[EXPERIMENT | CAMPAIGN] | A... [:] B...",
	.summary = "Writes the report of an experiment: one page for a browser, text or JSON",
	.description =
		"Writes EXPERIMENT/report.html, one self-contained file that needs no network and "
		"no server: it can be mailed, archived and opened from disk. EXPERIMENT is a "
		"folder, an archive, @0 (the newest here, the default), @-1 (the one before).\n\n"
		"The page holds source text and the command line of the program: look at its "
		"Provenance view before you give it away.\n\n"
		"The options that choose a part of the run restrict the whole report to it; the "
		"page itself can filter too.",
	.options = report_options,
	.examples = report_examples,
	.run = report_run,
};
