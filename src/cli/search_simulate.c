/* sonde search simulate: a search over simulated hosts, with real agents and the faults of a file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/properties.h"
#include "cli/search.h"
#include "search/simulate/simulate.h"

static sn_status steps_read(const struct sn_args *args, uint32_t *out, struct sn_error *err)
{
	long long steps;
	sn_status status = sn_args_integer(args, "steps", 0, &steps, err);

	if (status == SN_OK && sn_args_value(args, "steps") && (steps < 1 || steps > UINT32_MAX))
		status = sn_error_set(err, SN_ERR_USAGE,
				      "--steps takes a number from 1 on, not '%s'",
				      sn_args_value(args, "steps"));
	*out = (uint32_t)steps;
	return status;
}

static sn_status options_read(const struct sn_args *args, struct sn_simulate_options *out,
			      double *check, struct sn_error *err)
{
	sn_status status = sn_search_share_read(args, "threshold", sn_search_threshold(args),
						&out->search.threshold, err);

	if (status == SN_OK)
		status = sn_search_share_read(args, "check", INFINITY, check, err);
	if (status == SN_OK)
		status = sn_search_fanout_read(args, &out->fanout, err);
	if (status == SN_OK)
		status = steps_read(args, &out->search.steps_most, err);
	if (status == SN_OK && args->operand_count != 1)
		status = sn_error_set(err, SN_ERR_USAGE,
				      "'search simulate' takes one scenario (sonde.scenario/1)");
	out->scenario = args->operand_count ? args->operands[0] : NULL;
	out->output = sn_args_value(args, "output");
	out->search.strategy = sn_args_value(args, "strategy");
	out->search.start = sn_args_value(args, "start");
	out->search.severity = sn_search_severity_read(args);
	out->is_quiet = sn_args_flag(args, "quiet");
	return status;
}

static int simulate_run(const struct sn_args *args)
{
	struct sn_simulate_options options = { 0 };
	struct sn_simulated simulated = { 0 };
	struct sn_error err;
	double check = INFINITY;
	size_t errors;
	int code;
	sn_status status = options_read(args, &options, &check, &err);

	if (status == SN_OK)
		status = sn_library_of_args(args, &options.library, &errors, &err);
	if (status == SN_OK)
		status = sn_simulate_run(&options, &simulated, &err);
	code = status == SN_OK
		       ? sn_search_answer(simulated.search, sn_args_value(args, "format"), check)
		       : sn_error_print(&err);
	sn_simulated_free(&simulated);
	return code;
}

static const struct sn_option simulate_options[] = {
	{ "properties", 'P', "FILE", "a file of properties, or a folder of *.prop; may be repeated",
	  NULL },
	SN_FANOUT_OPTION,
	{ "strategy", 's', "NAME",
	  "what is looked at next: time (the default), property, data, mpi, or a file ./NAME.so",
	  NULL },
	{ "start", 0, "PROPERTY", "where the strategies property and data begin", NULL },
	{ "threshold", 't', "SHARE",
	  "report severities above this (default 0.05; with --severity rate 0.02)", NULL },
	{ "steps", 0, "N", "end the search after N steps", NULL },
	SN_SEVERITY_OPTION,
	{ "check", 0, "SHARE", "exit with 1 if a severity reaches this", NULL },
	{ "format", 'f', "FORMAT", "how to print: text, json or xml", "text|json|xml" },
	{ "output", 'o', "FOLDER", "name of the folder with journal and spools", NULL },
	{ "quiet", 'q', NULL, "say nothing but errors and the result", NULL },
	{ 0 },
};

const struct sn_command sn_command_search_simulate = {
	.name = "search simulate",
	.operands = "SCENARIO",
	.summary = "Searches simulated hosts with real agents",
	.description =
		"Starts a front, inner agents and an agent for each host of a scenario "
		"(sonde.scenario/1), as processes of this host. They talk over ZeroMQ with CURVE. "
		"Each host's agent searches the values that the file gives it, phase by phase. "
		"The scenario may have agents killed, frozen or cut off; the properties "
		"that come out are the same.\n\n"
		"The folder (-o) keeps what another front needs: if this command is killed, "
		"'sonde search --resume FOLDER' goes on and prints the result.",
	.options = simulate_options,
	.examples = (const char *const[]){ "sonde search simulate --format json eight.json",
					   "the result as sonde.search/1",
					   "sonde search simulate --fanout 4 -o run eight.json",
					   "two inner agents for eight hosts; the folder is run",
					   "sonde search --resume run --format json",
					   "goes on where a front has died", NULL },
	.run = simulate_run,
};
