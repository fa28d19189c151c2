/* sonde search: which performance properties hold, where, and what they cost. */
#include <stdio.h>
#include <string.h>

#include "cli/analysis_options.h"
#include "cli/command.h"
#include "experiment/store.h"
#include "cli/properties.h"
#include "search/engine/search.h"
#include "search/evidence/sources.h"

struct asked {
	struct sn_search_options options;
	const char *experiment, *format;
	double check; /* a severity; NaN-free: above 1 means not given */
};

static sn_status share_read(const struct sn_args *args, const char *name, double otherwise,
			    double *out, struct sn_error *err)
{
	sn_status status = sn_args_real(args, name, otherwise, out, err);

	if (status == SN_OK && sn_args_value(args, name) && !(*out >= 0 && *out <= 1))
		status = sn_error_set(err, SN_ERR_USAGE, "--%s takes a share from 0 to 1, not '%s'",
				      name, sn_args_value(args, name));
	return status;
}

/* 'show properties E' names its run as the other views do. */
static sn_status operands_check(const struct sn_args *args, struct sn_error *err)
{
	const char *operand = args->operand_count ? args->operands[0] : NULL;

	if (!operand ||
	    (args->operand_count == 1 && (operand[0] == '@' || sn_store_is_experiment(operand))))
		return SN_OK;
	return sn_error_set(err, SN_ERR_UNSUPPORTED,
			    "search: this version searches recorded runs; record '%s' first (sonde "
			    "record), then sonde search --experiment @0",
			    operand);
}

static sn_status asked_read(const struct sn_args *args, struct asked *out, struct sn_error *err)
{
	sn_status status = share_read(args, "threshold", 0.05, &out->options.threshold, err);

	if (status == SN_OK)
		status = share_read(args, "check", 2, &out->check, err);
	out->options.strategy = sn_args_value(args, "strategy");
	out->options.start = sn_args_value(args, "start");
	out->experiment = sn_args_value(args, "experiment");
	out->format = sn_args_value(args, "format");
	if (status == SN_OK && !out->experiment)
		out->experiment = args->operand_count ? args->operands[0] : "@0";
	return status == SN_OK ? operands_check(args, err) : status;
}

static void result_print(const struct sn_search *search, const char *format)
{
	if (format && !strcmp(format, "json"))
		sn_search_write_json(search, stdout);
	else if (format && !strcmp(format, "xml"))
		sn_search_write_xml(search, stdout);
	else
		sn_search_write_text(search, stdout);
}

/* Locators are no losses. */
static bool reaches(const struct sn_search *search, double severity)
{
	for (size_t i = 0; i < search->findings.count; i++)
		if (!search->findings.items[i].is_left_out &&
		    search->findings.items[i].severity >= severity &&
		    !sn_search_is_locator(sn_finding_property(search, &search->findings.items[i])))
			return true;
	return false;
}

static sn_status run_search(struct sn_analysis *analysis, const struct sn_library *library,
			    const struct asked *asked, bool *reached, struct sn_error *err)
{
	struct sn_recorded *recorded = sn_recorded_new(analysis->profile, analysis->structures,
						       sn_analysis_machine(analysis));
	struct sn_search *search = NULL;
	sn_status status;

	for (const struct sn_source *const *source = sn_sources; *source; source++)
		(*source)->collect(recorded);
	status = sn_search_run(recorded, library, &asked->options, &search, err);
	if (status == SN_OK) {
		result_print(search, asked->format);
		*reached = reaches(search, asked->check);
	}
	sn_search_free(search);
	sn_recorded_free(recorded);
	return status;
}

static sn_status search(const struct sn_args *args, bool *reached, struct sn_error *err)
{
	struct sn_analysis_arguments arguments;
	struct sn_analysis *analysis = NULL;
	struct sn_library *library = NULL;
	size_t errors;
	struct asked asked = { 0 };
	sn_status status = asked_read(args, &asked, err);

	if (status == SN_OK)
		status = sn_analysis_arguments_read(args, &arguments, err);
	if (status != SN_OK)
		return status;
	arguments.options.arch = sn_args_value(args, "arch");
	status = sn_library_of_args(args, &library, &errors, err);
	if (status == SN_OK)
		status = sn_cli_analysis_open(asked.experiment, &arguments.options, &analysis, err);
	if (status == SN_OK)
		status = run_search(analysis, library, &asked, reached, err);
	sn_analysis_free(analysis);
	sn_library_free(library);
	sn_analysis_arguments_free(&arguments);
	return status;
}

static int search_run(const struct sn_args *args)
{
	struct sn_error err;
	bool reached = false;

	if (search(args, &reached, &err) != SN_OK)
		return sn_error_print(&err);
	return reached ? SN_EXIT_FINDING : SN_EXIT_OK;
}

static const struct sn_option search_options[] = {
	{ "experiment", 'e', "NAME",
	  "the recorded run: a folder, @0 (the newest, the default), @-1", NULL },
	{ "strategy", 's', "NAME",
	  "what is looked at next: time (the default), property, data, mpi, or a file ./NAME.so",
	  NULL },
	{ "start", 0, "PROPERTY", "where the strategies property and data begin", NULL },
	{ "properties", 'P', "FILE", "a file of properties, or a folder of *.prop; may be repeated",
	  NULL },
	{ "threshold", 't', "SHARE", "report severities above this (default 0.05)", NULL },
	{ "check", 0, "SHARE", "exit with 1 if a severity reaches this", NULL },
	{ "format", 'f', "FORMAT", "how to print: text, json or xml", "text|json|xml" },
	SN_FILTER_OPTIONS,
	SN_ARCH_OPTION,
	{ 0 },
};

static const char *const search_examples[] = {
	"sonde search --experiment @0",
	"what costs the newest run most, and where",
	"sonde search -e sonde.app.3 --strategy mpi",
	"waits in MPI by place and kind",
	"sonde search -P ours.prop --check 0.2",
	"with properties of one's own; fails if any severity is 0.2 or more",
	NULL,
};

const struct sn_command sn_command_search = {
	.name = "search",
	.operands = "[EXPERIMENT]",
	.summary = "Searches a run for performance properties",
	.description =
		"Evaluates performance properties ('sonde properties list') step by step, as the "
		"strategy proposes them: where time goes, what costs it there, in which threads "
		"and ranks. Each finding has a severity: lane-seconds lost over the wall time of "
		"the run times its lanes (threads at work).\n\n"
		"A property that no source of the run can measure is named with what it needs; it "
		"is never taken for false. Findings that a more special one explains are 'refined' "
		"in JSON and left out of the text.\n\n"
		"Recorded runs are searched, the newest unless one is named; a program is to be "
		"recorded first. 'sonde show properties' is the same.",
	.options = search_options,
	.examples = search_examples,
	.run = search_run,
};
