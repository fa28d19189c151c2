/* sonde phases: what a run goes through, and where to watch it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/analysis_options.h"
#include "cli/command.h"
#include "phases/phases.h"
#include "views/phases.h"

/* ---- options ---- */

static sn_status interval_read(const struct sn_args *args, int64_t *out, struct sn_error *err)
{
	const char *text = sn_args_value(args, "interval");
	double seconds = 0;
	sn_status status = SN_OK;

	*out = 0;
	if (!text || !strcmp(text, "auto"))
		return SN_OK;
	status = sn_args_real(args, "interval", 0, &seconds, err);
	if (status == SN_OK && !(seconds >= 1e-3 && seconds <= 1e6))
		status = sn_error_set(err, SN_ERR_USAGE,
				      "--interval takes 'auto' or seconds from 0.001 to 1e6, "
				      "not '%s'",
				      text);
	*out = status == SN_OK ? llround(seconds * 1e9) : 0;
	return status;
}

static sn_status choose_read(const struct sn_args *args, struct sn_choose_options *out,
			     struct sn_error *err)
{
	const char *k = sn_args_value(args, "k");
	long long number, most, restarts, seed;
	sn_status status = sn_args_integer(args, "k-max", 8, &most, err);

	if (status == SN_OK)
		status = sn_args_integer(args, "restarts", 20, &restarts, err);
	if (status == SN_OK)
		status = sn_args_integer(args, "seed", 1, &seed, err);
	if (status != SN_OK)
		return status;
	if (most < 1 || most > SN_KMEANS_MAX)
		return sn_error_set(err, SN_ERR_USAGE, "--k-max takes 1 to %d, not %lld",
				    SN_KMEANS_MAX, most);
	if (restarts < 1 || restarts > 10000)
		return sn_error_set(err, SN_ERR_USAGE, "--restarts takes 1 to 10000, not %lld",
				    restarts);
	if (seed < 0)
		return sn_error_set(err, SN_ERR_USAGE, "--seed takes 0 or more, not %lld", seed);
	*out = (struct sn_choose_options){ .method = SN_METHOD_SILHOUETTE,
					   .k_max = (uint32_t)most,
					   .restarts = (unsigned)restarts,
					   .seed = (uint64_t)seed };
	if (!k || !strcmp(k, "silhouette"))
		return SN_OK;
	if (!strcmp(k, "elbow")) {
		out->method = SN_METHOD_ELBOW;
		return SN_OK;
	}
	status = sn_args_integer(args, "k", 0, &number, err);
	if (status != SN_OK || number < 1 || number > SN_KMEANS_MAX)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--k takes silhouette, elbow or a number from 1 to %d, not "
				    "'%s'",
				    SN_KMEANS_MAX, k);
	out->method = SN_METHOD_FIXED;
	out->k = (uint32_t)number;
	return SN_OK;
}

static sn_status options_read(const struct sn_args *args, struct sn_phases_options *out,
			      struct sn_error *err)
{
	const char *sites = sn_args_value(args, "sites");
	sn_status status = interval_read(args, &out->interval_ns, err);

	if (status == SN_OK)
		status = choose_read(args, &out->choose, err);
	out->sites = sites && !strcmp(sites, "paper") ? SN_SITES_PAPER : SN_SITES_CONTRAST;
	return status;
}

/* ---- two runs ---- */

static sn_status against_print(const struct sn_phases *a, const char *other,
			       const struct sn_analysis_options *options,
			       struct sn_table_view *view, struct sn_error *err)
{
	struct sn_analysis *analysis = NULL;
	struct sn_phases_options options_b = a->options;
	struct sn_phases *b = NULL;
	sn_status status = sn_cli_analysis_open(other, options, &analysis, err);

	if (status == SN_OK)
		options_b.structures = analysis->structures;
	if (status == SN_OK)
		status = sn_phases_new(analysis->profile, &options_b, &b, err);
	if (status == SN_OK)
		status = sn_phases_show_pairs(a, b, view, stdout, err);
	sn_phases_free(b);
	sn_analysis_free(analysis);
	return status;
}

/* ---- files ---- */

static sn_status file_write(const char *path, const struct sn_phases *p,
			    void (*write)(const struct sn_phases *, FILE *), struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status = SN_OK;

	if (!path)
		return SN_OK;
	status = sn_file_writer_open(&writer, path, err);
	if (status != SN_OK)
		return status;
	write(p, writer.out);
	return sn_file_writer_commit(&writer, err);
}

/* ---- the command ---- */

/* Phases are few: all of them, unless so many rows were asked for. */
static sn_status found_show(const struct sn_args *args, const struct sn_phases *found,
			    struct sn_table_view *view, struct sn_error *err)
{
	if (!sn_args_value(args, "top"))
		view->top = 0;
	return sn_phases_show(found, sn_args_flag(args, "intervals"), view, stdout, err);
}

static sn_status phases(const struct sn_args *args, struct sn_error *err)
{
	struct sn_analysis_arguments arguments;
	struct sn_analysis *analysis = NULL;
	struct sn_phases_options options = { 0 };
	struct sn_phases *found = NULL;
	struct sn_table_view view = { 0 };
	sn_status status = sn_args_table_view(args, &view, err);

	if (status == SN_OK)
		status = options_read(args, &options, err);
	if (status == SN_OK && args->operand_count > 1)
		status = sn_error_set(err, SN_ERR_USAGE,
				      "phases takes one experiment; '%s' is too many",
				      args->operands[1]);
	if (status == SN_OK)
		status = sn_analysis_arguments_read(args, &arguments, err);
	if (status != SN_OK)
		return status;
	status = sn_cli_analysis_open(args->operand_count ? args->operands[0] : NULL,
				      &arguments.options, &analysis, err);
	if (status == SN_OK)
		options.structures = analysis->structures;
	if (status == SN_OK)
		status = sn_phases_new(analysis->profile, &options, &found, err);
	if (status == SN_OK)
		status = file_write(sn_args_value(args, "emit-heartbeats"), found,
				    sn_phases_write_plan, err);
	if (status == SN_OK)
		status = file_write(sn_args_value(args, "svg"), found, sn_phases_write_svg, err);
	if (status == SN_OK && sn_args_value(args, "against"))
		status = against_print(found, sn_args_value(args, "against"), &arguments.options,
				       &view, err);
	else if (status == SN_OK)
		status = found_show(args, found, &view, err);
	sn_phases_free(found);
	sn_analysis_free(analysis);
	sn_analysis_arguments_free(&arguments);
	return status;
}

static int phases_run(const struct sn_args *args)
{
	struct sn_error err;

	return phases(args, &err) == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_option phases_options[] = {
	SN_TABLE_OPTIONS,
	SN_FILTER_OPTIONS,
	{ "interval", 'i', "S",
	  "cut the run into intervals of S seconds, or 'auto' (the default): that of 0.1 to 2 s "
	  "whose sites explain most",
	  NULL },
	{ "k", 'k', "HOW", "number of clusters: silhouette (the default), elbow, or a number",
	  NULL },
	{ "k-max", 0, "N", "try 1 to N clusters (default 8)", NULL },
	{ "restarts", 0, "N", "starts of k-means for every k (default 20)", NULL },
	{ "seed", 0, "N", "seed of k-means (default 1)", NULL },
	{ "sites", 0, "HOW",
	  "how to find the sites: contrast (the default), or paper: Algorithm 1 of IncProf exactly",
	  "contrast|paper" },
	{ "emit-heartbeats", 0, "FILE", "write the sites as a heartbeat plan", NULL },
	{ "svg", 0, "FILE", "write the ribbon of phases over time as a picture", NULL },
	{ "against", 0, "EXPERIMENT", "compare with the phases of another run", NULL },
	{ "intervals", 'I', NULL, "print the phase of every interval, not the sites", NULL },
	{ 0 },
};

static const char *const phases_examples[] = {
	"sonde phases",
	"the phases of the newest experiment, and a place to instrument each",
	"sonde phases --interval 1 --k elbow --sites paper",
	"as the paper does it",
	"sonde phases --emit-heartbeats plan.json",
	"also write where heartbeats should begin and end",
	"sonde phases @0 --against @-1",
	"how long each phase took in this run and in the one before",
	"sonde phases --intervals --format csv",
	"the phase of every process in every interval",
	NULL,
};

const struct sn_command sn_command_phases = {
	.name = "phases",
	.operands = "[EXPERIMENT]",
	.summary = "Finds the phases of a run and where to watch each",
	.description =
		"Cuts the run of all processes into intervals, compares what each did (time by "
		"function and loop, in user code, in the kernel and blocked), groups those that "
		"are alike, and names for each group the function or loop that stands for it: a "
		"place for a heartbeat.\n\n"
		"Programs whose phases are shorter than an interval have one phase; the section "
		"of cyclic parts then says what their main loop calls, how often and for how long. "
		"'sonde show phases' is the same with the options of tables and filters only.",
	.options = phases_options,
	.examples = phases_examples,
	.run = phases_run,
};
