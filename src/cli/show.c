/* sonde show VIEW: one table, or the summary, or one loop. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/analysis_options.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/show_loop.h"
#include "cli/show_whatif.h"
#include "experiment/store.h"
#include "views/summary/summary.h"
#include "views/view.h"

/* Views whose order is their sense: neither sorted nor cut to twenty rows unless asked. */
static bool view_is_listing(const struct sn_view *view)
{
	static const char *const names[] = { "tree", "callers", "calls",      "source",
					     "asm",  "env",	"categories", NULL };

	for (const char *const *name = names; *name; name++)
		if (!strcmp(view->name, *name))
			return true;
	return false;
}

/* Of the views of code and call paths, wall time is of threads at work: helpers that mostly sleep
 * would be most of it. The views of what ran have all threads. */
static bool view_leaves_out_idle(const struct sn_view *view)
{
	static const char *const names[] = { "threads", "processes", "cpus", "waits",
					     "env",	"samples",   NULL };

	for (const char *const *name = names; view && *name; name++)
		if (!strcmp(view->name, *name))
			return false;
	return view != NULL;
}

/* Filters that nothing passes would leave a table without rows and without a word. */
static void warn_nothing(const struct sn_profile *p)
{
	const struct sn_weight *total = &p->total;
	double elapsed_s = (double)p->experiment->elapsed_ns / 1e9;

	if (!p->is_filtered || total->cpu_ns || total->samples || total->waits)
		return;
	if (p->filter.from_ns > 0 && p->filter.from_ns >= p->experiment->elapsed_ns)
		sn_warn("nothing is left: the range of --time begins at %.3f s, and the run ended "
			"after %.3f s",
			(double)p->filter.from_ns / 1e9, elapsed_s);
	else
		sn_warn("nothing is left: no sample and no wait of the run, which took %.3f s, "
			"passes the filters (--time, --thread, --process, --module, --function)",
			elapsed_s);
}

static bool view_takes_subject(const char *name)
{
	return !strcmp(name, "loop") || !strcmp(name, "calls") || !strcmp(name, "source") ||
	       !strcmp(name, "asm") || !strcmp(name, "whatif");
}

static bool operand_is_experiment(const char *operand)
{
	return operand[0] == '@' || sn_store_is_experiment(operand);
}

/* [VIEW] [SUBJECT] [EXPERIMENT]; an experiment alone is shown by its summary. */
static sn_status operands_read(const struct sn_args *args, const char **shown, const char **subject,
			       const char **experiment, struct sn_error *err)
{
	bool names_view = args->operand_count && !operand_is_experiment(args->operands[0]);
	const char *view = names_view ? args->operands[0] : "summary";
	size_t at = names_view;

	*shown = view;
	*subject = *experiment = NULL;
	if (view_takes_subject(view) && at < args->operand_count &&
	    (at + 1 < args->operand_count || !operand_is_experiment(args->operands[at])))
		*subject = args->operands[at++];
	if (at < args->operand_count)
		*experiment = args->operands[at++];
	if (*subject && *experiment && operand_is_experiment(*subject) &&
	    !operand_is_experiment(*experiment)) {
		const char *swapped = *subject; /* either order is clear */

		*subject = *experiment;
		*experiment = swapped;
	}
	if (at < args->operand_count)
		return sn_error_set(err, SN_ERR_USAGE,
				    "'show %s' takes no more than %zu operands; '%s' is too many",
				    view, at - 1, args->operands[at]);
	if (!strcmp(view, "loop") && !*subject)
		return sn_error_set(err, SN_ERR_USAGE,
				    "'show loop' needs a loop: an id, FILE:LINE or #RANK from "
				    "'sonde show loops'");
	return SN_OK;
}

static char *all_columns(const struct sn_view *view)
{
	struct sn_text text = { 0 };

	for (size_t c = 0; c < view->column_count; c++)
		sn_text_addf(&text, "%s%s", c ? "," : "", view->columns[c].key);
	return sn_text_take(&text);
}

/* What is shown unless --cols says otherwise. */
static char *default_columns(const struct sn_view *view, enum sn_format format,
			     enum sn_time_kind time)
{
	const char *columns = time == SN_TIME_WALL && view->wall_columns ? view->wall_columns
									 : view->text_columns;

	if (format != SN_FORMAT_TEXT)
		return sn_view_data_columns(view, time);
	return columns ? sn_strndup(columns, strlen(columns)) : NULL;
}

struct filter_members {
	const struct sn_profile *profile;
};

/* Threads whose blocked time was left out. */
static size_t idle_count(const struct sn_profile *p)
{
	size_t count = 0;

	for (size_t t = 0; p->filter.without_idle && t < p->experiment->threads.count; t++)
		count += p->thread_passes[t] && !p->is_at_work[t];
	return count;
}

static void put_idle(const struct sn_profile *p)
{
	size_t count = idle_count(p);

	if (count)
		printf("%zu idle thread%s left out: --thread TID,... brings %s "
		       "('sonde show threads --all' lists them)\n",
		       count, count == 1 ? " is" : "s are", count == 1 ? "it" : "them");
}

/* The denominator and the filters travel with the rows. */
static void filter_members_write(struct sn_json *json, void *context)
{
	const struct sn_profile *p = ((const struct filter_members *)context)->profile;
	const struct sn_filter *f = &p->filter;

	sn_json_member_double(json, "sampled_cpu_s", (double)p->total.cpu_ns / 1e9);
	if (f->without_idle)
		sn_json_member_uint(json, "threads_idle", idle_count(p));
	if (!p->is_filtered)
		return;
	sn_json_key(json, "filter");
	sn_json_object(json);
	if (f->from_ns || f->to_ns) {
		sn_json_member_double(json, "t0_s", (double)f->from_ns / 1e9);
		sn_json_key(json, "t1_s");
		if (f->to_ns)
			sn_json_double(json, (double)f->to_ns / 1e9);
		else
			sn_json_null(json);
	}
	if (f->process_count) {
		sn_json_key(json, "processes");
		sn_json_array(json);
		for (size_t i = 0; i < f->process_count; i++)
			sn_json_uint(json, f->processes[i]);
		sn_json_close(json);
	}
	if (f->tid_count) {
		sn_json_key(json, "threads");
		sn_json_array(json);
		for (size_t i = 0; i < f->tid_count; i++)
			sn_json_int(json, f->tids[i]);
		sn_json_close(json);
	}
	if (f->module)
		sn_json_member_string(json, "module", f->module);
	if (f->function)
		sn_json_member_string(json, "function", f->function);
	sn_json_close(json);
}

/* Ten million samples as CSV or JSON lines are written piece by piece. */
static sn_status samples_stream(const struct sn_view *view, const struct sn_view_input *input,
				struct sn_table_view *how, struct sn_error *err)
{
	enum { ROWS_AT_ONCE = 100000 };
	struct sn_view_input piece = *input;
	size_t cursor = 0, count = input->profile->experiment->samples.count;
	sn_status status = SN_OK;

	piece.cursor = &cursor;
	piece.row_limit = ROWS_AT_ONCE;
	do {
		struct sn_table table;

		sn_table_init(&table, view->columns, view->column_count);
		status = view->fill(&piece, &table, err);
		if (status == SN_OK)
			status = sn_table_write(&table, how, stdout, NULL, NULL, err);
		sn_table_free(&table);
		how->without_header = true;
	} while (status == SN_OK && cursor < count);
	return status;
}

static sn_status table_show(const struct sn_args *args, const struct sn_view *view,
			    struct sn_view_input *input, struct sn_table_view *how,
			    struct sn_error *err)
{
	struct filter_members members = { input->profile };
	char *columns = NULL, *sort = how->sort ? sn_view_columns_of(view, how->sort) : NULL;
	struct sn_table table;
	sn_status status;

	if (sort)
		how->sort = sort;
	if (how->columns && !strcmp(how->columns, "all"))
		how->columns = columns = all_columns(view);
	else if (how->columns)
		how->columns = columns = sn_view_columns_of(view, how->columns);
	else
		how->columns = columns = default_columns(view, how->format, input->time);
	if (!how->sort)
		how->sort = input->time == SN_TIME_WALL && view->wall_columns && view->sort &&
					    !strcmp(view->sort, "exclusive_cpu_s")
				    ? "exclusive_wall_s"
				    : view->sort;
	if (view_is_listing(view) && !sn_args_value(args, "top"))
		how->top = 0;
	if (!how->sort && !how->filter)
		input->row_limit = how->top;
	how->schema = view->schema;
	how->share_column = view->share_column;
	if (!strcmp(view->name, "samples") && !how->sort && !how->top &&
	    (how->format == SN_FORMAT_CSV || how->format == SN_FORMAT_JSONL)) {
		status = samples_stream(view, input, how, err);
		free(columns);
		free(sort);
		return status;
	}
	sn_table_init(&table, view->columns, view->column_count);
	status = view->fill(input, &table, err);
	if (status == SN_OK)
		status = sn_table_write(&table, how, stdout, filter_members_write, &members, err);
	if (status == SN_OK && !table.row_count && view->why_empty && !input->profile->is_filtered)
		sn_warn("%s", view->why_empty(input->profile));
	if (status == SN_OK && how->format == SN_FORMAT_TEXT)
		put_idle(input->profile);
	sn_table_free(&table);
	free(columns);
	free(sort);
	return status;
}

static sn_status summary_show(struct sn_analysis *analysis, const struct sn_table_view *how,
			      struct sn_error *err)
{
	struct sn_summary *summary;

	if (how->format == SN_FORMAT_CSV)
		return sn_error_set(err, SN_ERR_USAGE,
				    "the summary is one object: --format text or json");
	summary = sn_summary_of(analysis);
	if (how->format == SN_FORMAT_TEXT)
		sn_summary_print(summary, stdout, sn_locale_is_utf8(), sn_terminal_width());
	else
		sn_summary_write(summary, stdout);
	sn_summary_free(summary);
	return SN_OK;
}

static const struct sn_machine *machine_of(struct sn_analysis *analysis)
{
	const struct sn_machine_choice *choice = sn_analysis_machine(analysis);

	if (choice->warning[0])
		sn_warn("%s", choice->warning);
	return choice->machine;
}

static sn_status whatif_show(struct sn_analysis *analysis, const struct sn_view_input *input,
			     struct sn_table_view *how, struct sn_error *err)
{
	const struct sn_machine *machine = machine_of(analysis);

	if (machine)
		return sn_show_whatif(input, machine, how, err);
	*err = sn_analysis_machine(analysis)->absence;
	return err->status;
}

static sn_status view_unknown(const char *name, struct sn_error *err)
{
	struct sn_text names = { 0 };

	sn_text_add(&names, "summary loop whatif");
	for (const struct sn_view *const *view = sn_views; *view; view++)
		sn_text_addf(&names, " %s", (*view)->name);
	sn_error_set(err, SN_ERR_USAGE, "there is no view '%s'; the views are: %s", name,
		     names.chars);
	sn_text_free(&names);
	return SN_ERR_USAGE;
}

static sn_status view_show(const struct sn_args *args, const char *name, const char *subject,
			   const char *experiment, struct sn_error *err)
{
	const struct sn_view *view = sn_view_find(name);
	bool is_summary = !strcmp(name, "summary"), is_loop = !strcmp(name, "loop");
	bool is_whatif = !strcmp(name, "whatif");
	struct sn_analysis_arguments arguments;
	struct sn_analysis *analysis = NULL;
	struct sn_view_input input = { 0 };
	struct sn_table_view how = { 0 };
	sn_status status;

	if (!view && !is_summary && !is_loop && !is_whatif)
		return view_unknown(name, err);
	status = sn_args_table_view(args, &how, err);
	if (status == SN_OK)
		status = sn_analysis_arguments_read(args, &arguments, err);
	if (status != SN_OK)
		return status;
	arguments.filter.without_idle = sn_args_flag(args, "wall") && !arguments.filter.tid_count &&
					view_leaves_out_idle(view);
	arguments.options.arch = sn_args_value(args, "arch");
	status = sn_analysis_open(experiment, &arguments.options, &analysis, err);
	if (status == SN_OK) {
		how.experiment = analysis->experiment->name;
		input = (struct sn_view_input){
			.profile = analysis->profile,
			.time = sn_args_flag(args, "wall") ? SN_TIME_WALL : SN_TIME_CPU,
			.structures = analysis->structures,
			.subject = subject,
			.all_paths = sn_args_flag(args, "all"),
			.by_call_line = sn_args_flag(args, "call-lines"),
			.with_runtime_loops = sn_args_flag(args, "runtime-loops"),
			.is_utf8 = sn_locale_is_utf8(),
		};
		status = is_summary  ? summary_show(analysis, &how, err)
			 : is_loop   ? sn_show_loop(&input, machine_of(analysis), &how, stdout, err)
			 : is_whatif ? whatif_show(analysis, &input, &how, err)
				     : table_show(args, view, &input, &how, err);
	}
	if (status == SN_OK && (!view || strcmp(view->name, "env") != 0))
		warn_nothing(analysis->profile);
	sn_analysis_free(analysis);
	sn_analysis_arguments_free(&arguments);
	return status;
}

/* Analyses with a command of their own show their tables here too: 'show phases' is 'phases'. */
static const struct sn_command *command_behind(const char *view)
{
	static const char *const names[] = { "phases", "comm",	 "properties", "heap", "leaks",
					     "locks",  "openmp", "mpi",	       NULL };

	for (const char *const *name = names; *name; name++)
		if (!strcmp(*name, view))
			return sn_command_find(view);
	return NULL;
}

/* The same options and the operands after the view, parsed by the other command's table. */
static int command_run(const struct sn_command *command, const struct sn_args *args)
{
	struct sn_text *words = sn_alloc_zeroed(args->given_count + 1, sizeof(*words));
	SN_VEC(char *) argv = { 0 };
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
	const struct sn_command *other =
		args->operand_count ? command_behind(args->operands[0]) : NULL;
	const char *view, *subject, *experiment;
	struct sn_error err;
	sn_status status;

	if (other)
		return command_run(other, args);
	status = operands_read(args, &view, &subject, &experiment, &err);
	if (status == SN_OK)
		status = view_show(args, view, subject, experiment, &err);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_option show_options[] = {
	SN_TABLE_OPTIONS,
	SN_FILTER_OPTIONS,
	{ "wall", 'w', NULL, "count blocked time too: where the program is slow, not only busy",
	  NULL },
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
		"VIEW is one of summary, functions, loops, loop LOOP, whatif [VARIANT], calls "
		"[FUNCTION], tree, "
		"callers, lines, source [FILE|FUNCTION|LOOP], asm [FUNCTION|LOOP], threads, "
		"processes, cpus, modules, categories, waits, system, env and samples; without it "
		"the "
		"summary is printed.\n\n"
		"EXPERIMENT is a folder, @0 for the newest in this folder (the default) or @-1 for "
		"the one before. LOOP is an id, a unique prefix of one, FILE:LINE, or #N for the "
		"N-th row of 'show loops'.\n\n"
		"VARIANT is clean, fp_vector, full_vector, no_dependence or next_bottleneck: what "
		"loops are ordered by.\n\n"
		"The options --time, --thread, --process, --module and --function choose samples "
		"before anything is summed, so all shares are of what they let through. --filter "
		"chooses rows afterwards. --cols all shows every column a view has; it takes keys "
		"and headings, and 'sonde explain COLUMN' says what either means.",
	.options = show_options,
	.examples = show_examples,
	.run = show_run,
};
