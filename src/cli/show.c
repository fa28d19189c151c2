/* sonde show VIEW: one table, or the summary, or one loop. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "caches/config.h"
#include "campaign/campaign.h"
#include "cli/analysis_options.h"
#include "cli/command.h"
#include "cli/help.h"
#include "experiment/store.h"
#include "profile/event_profile.h"
#include "views/empty.h"
#include "views/of_campaign.h"
#include "views/view.h"

/* Filters that nothing passes would leave a page without a figure and without a word; a table says
 * it itself. */
static void warn_nothing(const struct sn_profile *p)
{
	struct sn_text reason = { 0 };

	if (p->is_filtered && sn_view_has_no_time(p)) {
		sn_view_add_why_no_samples(p, &reason);
		sn_warn("%s", reason.chars);
	}
	sn_text_free(&reason);
}

static bool operand_is_experiment(const char *operand)
{
	return operand[0] == '@' || sn_store_is_experiment(operand);
}

struct asked {
	const struct sn_view *view;
	const char *subject, *experiment; /* NULL: none, the newest */
};

static sn_status view_unknown(const char *name, struct sn_error *err)
{
	struct sn_text names = { 0 };

	for (const struct sn_view *const *view = sn_views; *view; view++)
		sn_text_addf(&names, " %s", (*view)->name);
	if (strchr(name, '/'))
		sn_error_set(err, SN_ERR_USAGE,
			     "'%s' is no experiment: give the folder that 'sonde record' made "
			     "('sonde list FOLDER' finds them)",
			     name);
	else
		sn_error_set(err, SN_ERR_USAGE,
			     "'%s' is neither an experiment nor a view; the views are:%s", name,
			     names.chars);
	sn_text_free(&names);
	return SN_ERR_USAGE;
}

/* Either order is clear. */
static void subject_tell_apart(struct asked *asked)
{
	const char *subject = asked->subject;

	if (!subject || !asked->experiment || !operand_is_experiment(subject) ||
	    operand_is_experiment(asked->experiment))
		return;
	asked->subject = asked->experiment;
	asked->experiment = subject;
}

/* [VIEW] [SUBJECT] [EXPERIMENT]; an experiment alone is shown by its summary. */
static sn_status operands_read(const struct sn_args *args, struct asked *out, struct sn_error *err)
{
	bool names_view = args->operand_count && !operand_is_experiment(args->operands[0]);
	const char *name = names_view ? args->operands[0] : "summary";
	size_t at = names_view;

	*out = (struct asked){ .view = sn_view_find(name) };
	if (!out->view)
		return view_unknown(name, err);
	if (out->view->command)
		return SN_OK; /* the operands are the command's */
	if (out->view->subject && at < args->operand_count &&
	    (at + 1 < args->operand_count || !operand_is_experiment(args->operands[at])))
		out->subject = args->operands[at++];
	if (at < args->operand_count)
		out->experiment = args->operands[at++];
	subject_tell_apart(out);
	if (at < args->operand_count)
		return sn_error_set(err, SN_ERR_USAGE,
				    "'show %s' takes no more than %zu operands; '%s' is too many",
				    name, at - 1, args->operands[at]);
	if (out->view->subject_missing && !out->subject)
		return sn_error_set(err, SN_ERR_USAGE, "'show %s' needs %s", name,
				    out->view->subject_missing);
	return SN_OK;
}

/* --metric: the view counts an event. */
static sn_status event_take(const struct sn_args *args, const struct sn_analysis *analysis,
			    struct sn_view_input *input, struct sn_event_profile **out,
			    struct sn_error *err)
{
	const char *name = sn_args_value(args, "metric");
	uint32_t number;
	sn_status status;

	if (!name || !strcmp(name, "cpu"))
		return SN_OK;
	if (input->time == SN_TIME_WALL)
		return sn_error_set(err, SN_ERR_USAGE, "--metric and --wall exclude each other");
	status = sn_event_find(analysis->experiment, name, &number, err);
	if (status == SN_OK)
		status = sn_event_profile_new(analysis->program, &analysis->profile->filter, number,
					      out, err);
	if (status != SN_OK)
		return status;
	input->profile = (*out)->profile;
	input->event = &analysis->experiment->events.items[number];
	return SN_OK;
}

/* --caches, --policy, --prefetch; whether there is --by. */
static sn_status caches_read(const struct sn_args *args, const struct sn_view *view,
			     struct sn_sim_config *out, struct sn_error *err)
{
	static const char *const names[] = { "caches", "policy", "prefetch" };
	sn_status (*const parse[])(const char *, struct sn_sim_config *,
				   struct sn_error *) = { sn_sim_config_parse, sn_sim_policy_parse,
							  sn_sim_prefetch_parse };
	sn_status status = SN_OK;

	sn_sim_config_native(out);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && status == SN_OK; i++) {
		const char *value = sn_args_value(args, names[i]);

		if (value && !(view->needs & SN_VIEW_NEEDS_WINDOWS))
			return sn_error_set(err, SN_ERR_USAGE,
					    "--%s goes with caches and sharing, not with '%s'",
					    names[i], view->name);
		if (value)
			status = parse[i](value, out, err);
	}
	if (status == SN_OK && sn_args_value(args, "by") && !view->takes_by)
		status = sn_error_set(
			err, SN_ERR_USAGE,
			"--by goes with caches, instances, variants, counts and memory, not with '%s'",
			view->name);
	return status;
}

static sn_status analysis_show(const struct sn_args *args, const struct asked *asked,
			       struct sn_analysis *analysis, struct sn_table_view *how,
			       struct sn_error *err)
{
	struct sn_event_profile *event = NULL;
	struct sn_sim_config caches;
	struct sn_view_input input = {
		.profile = analysis->profile,
		.time = sn_args_flag(args, "wall") ? SN_TIME_WALL : SN_TIME_CPU,
		.structures = analysis->structures,
		.machine = sn_analysis_machine(analysis),
		.subject = asked->subject,
		.all_paths = sn_args_flag(args, "all"),
		.by_call_line = sn_args_flag(args, "call-lines"),
		.with_callers = sn_args_flag(args, "paths"),
		.with_runtime_loops = sn_args_flag(args, "runtime-loops"),
		.is_utf8 = sn_locale_is_utf8(),
		.caches = &caches,
		.by = sn_args_value(args, "by"),
	};
	sn_status status;

	status = caches_read(args, asked->view, &caches, err);
	if (status == SN_OK)
		status = event_take(args, analysis, &input, &event, err);
	if (status != SN_OK)
		return status;
	how->experiment = analysis->experiment->name;
	if (asked->view->is_listing && !sn_args_value(args, "top"))
		how->top = 0;
	if (asked->view->needs & SN_VIEW_NEEDS_MACHINE && input.machine->warning[0])
		sn_warn("%s", input.machine->warning);
	status = sn_view_show(asked->view, &input, how, stdout, err);
	if (status == SN_OK && asked->view->show && asked->view->needs & SN_VIEW_NEEDS_TIME)
		warn_nothing(analysis->profile);
	sn_event_profile_free(event);
	return status;
}

static sn_status view_show(const struct sn_args *args, const struct asked *asked,
			   struct sn_error *err)
{
	struct sn_analysis_arguments arguments;
	struct sn_analysis *analysis = NULL;
	struct sn_table_view how = { 0 };
	sn_status status = sn_args_table_view(args, &how, err);

	if (status == SN_OK)
		status = sn_analysis_arguments_read(args, &arguments, err);
	if (status != SN_OK)
		return status;
	arguments.filter.without_idle =
		sn_args_flag(args, "wall") && !arguments.filter.tid_count && !asked->view->has_idle;
	arguments.options.arch = sn_args_value(args, "arch");
	arguments.options.sums_suffice =
		asked->view->sums_suffice && !sn_args_value(args, "metric");
	if (asked->view->takes_campaign && asked->experiment && sn_is_campaign(asked->experiment)) {
		status = sn_view_show_campaign(asked->view, asked->experiment, &arguments.options,
					       &how, stdout, err);
		sn_analysis_arguments_free(&arguments);
		return status;
	}
	status = sn_cli_analysis_open(asked->experiment, &arguments.options, &analysis, err);
	if (status == SN_OK)
		status = analysis_show(args, asked, analysis, &how, err);
	sn_analysis_free(analysis);
	sn_analysis_arguments_free(&arguments);
	return status;
}

/* The same options and the operands after the view, parsed by the other command's table. */
static int command_run(const struct sn_command *command, const struct sn_args *args)
{
	struct sn_text *words = sn_alloc_zeroed(args->given_count + 1, sizeof(*words));
	sn_strings argv = { 0 };
	struct sn_args theirs;
	struct sn_error err;
	int code;

	for (size_t i = 0; i < args->given_count; i++) {
		const struct sn_option *option = &args->command->options[args->given[i].option];

		sn_text_addf(&words[i], "--%s", option->name);
		if (option->metavar)
			sn_text_addf(&words[i], "=%s", args->given[i].value);
		sn_vec_push(&argv, words[i].chars);
	}
	for (size_t i = 1; i < args->operand_count; i++)
		sn_vec_push(&argv, args->operands[i]);
	if (sn_args_parse(command, (int)argv.count, argv.items, &theirs, &err) == SN_OK) {
		code = command->run(&theirs);
		sn_args_free(&theirs);
	} else {
		code = sn_error_print(&err);
	}
	for (size_t i = 0; i < args->given_count; i++)
		sn_text_free(&words[i]);
	free(words);
	sn_vec_free(&argv);
	return code;
}

static int show_run(const struct sn_args *args)
{
	struct asked asked;
	struct sn_error err;
	sn_status status = operands_read(args, &asked, &err);

	if (status == SN_OK && asked.view->command)
		return command_run(sn_command_find(asked.view->command), args);
	if (status == SN_OK)
		status = view_show(args, &asked, &err);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

/* What the first operand can be. */
static bool view_at(size_t index, struct sn_word *out)
{
	const struct sn_view *view = sn_views[index];

	if (!view)
		return false;
	*out = (struct sn_word){ view->name, view->subject, view->title, view->columns,
				 view->column_count };
	return true;
}

static const struct sn_option show_options[] = {
	SN_TABLE_OPTIONS,
	SN_FILTER_OPTIONS,
	{ "metric", 'M', "EVENT",
	  "count an event of record -e in place of CPU time: page-faults ...", NULL },
	{ "wall", 'w', NULL, "count blocked time too: where the program is slow, not only busy",
	  NULL },
	{ "reference", 0, "NAME",
	  "scalability: the configuration to set others against, or fastest", NULL },
	{ "weak", 0, NULL, "scalability: the work grew with the workers", NULL },
	{ "by", 0, "WHAT",
	  "a row for each object (unless said), loop or thread (caches), bucket, thread or instance "
	  "(instances), loop or bucket (variants), page or line (memory)",
	  NULL },
	{ "caches", 0, "SIZES",
	  "caches, sharing: what is simulated, as L1=48k/12,L2=2m/16,L3=36m/12,TLB=1536/12,line=64,"
	  "page=4k (size/ways); this machine's unless said",
	  NULL },
	{ "policy", 0, "NAME", "caches, sharing: which line leaves a set (lru unless said)",
	  "lru|plru" },
	{ "prefetch", 0, "NAME", "caches, sharing: the prefetcher (none unless said)",
	  "none|stride" },
	{ "paths", 0, NULL, "heap, leaks, peak: each site with its callers below it", NULL },
	{ "call-lines", 0, NULL, "trees: keep calls from different lines apart", NULL },
	{ "runtime-loops", 0, NULL, "list the loops of OpenMP and MPI runtimes too", NULL },
	SN_ARCH_OPTION,
	{ 0 },
};

static const char *const show_examples[] = {
	"sonde show functions",
	"the hottest functions of the newest experiment",
	"sonde show loop '#1'",
	"the hottest loop: facts, source and machine code with heat, callers",
	"sonde show whatif",
	"what the program would gain if its loops were cleaned or vectorized",
	"sonde show calls solve sonde.app.3",
	"callers and callees of solve, in that experiment",
	"sonde show tree --wall --time 2-4",
	"where wall time went between seconds 2 and 4",
	"sonde show loops --format csv --filter 'innermost=1,exclusive_share>0.01'",
	"innermost loops above one per cent, for a script",
	NULL,
};

const struct sn_command sn_command_show = {
	.name = "show",
	.operands = "[VIEW] [SUBJECT] [EXPERIMENT]",
	.summary = "Prints one table of an experiment",
	.description =
		"VIEW is one of those below; without it the summary is printed.\n\n"
		"EXPERIMENT is a folder, @0 for the newest in this folder (the default) or @-1 for "
		"the one before; 'global' and 'compile' take a campaign, too. LOOP is an id, a unique prefix of one, FILE:LINE, or #N for the "
		"N-th row of 'show loops'.\n\n"
		"VARIANT is clean, fp_vector, full_vector, no_dependence or next_bottleneck: what "
		"loops are ordered by.\n\n"
		"The options --time, --thread, --process, --module and --function choose samples "
		"before anything is summed, so all shares are of what they let through. --filter "
		"chooses rows afterwards. --cols all shows every column a view has; it takes keys "
		"and headings, and 'sonde explain COLUMN' says what either means.",
	.options = show_options,
	.words_are = "Views",
	.word_at = view_at,
	.examples = show_examples,
	.run = show_run,
};
