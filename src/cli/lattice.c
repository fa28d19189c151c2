/*
 * sonde lattice: what a distributed run could have done, from its traces; as text, tables,
 * pictures or a page, also while the run goes on.
 */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/lattice_experiment.h"
#include "experiment/store.h"
#include "pandore/lattice/compare.h"
#include "pandore/lattice/draw.h"
#include "pandore/lattice/follow_trace.h"
#include "pandore/lattice/instant.h"
#include "pandore/lattice/lattice.h"
#include "pandore/lattice/property.h"
#include "pandore/page/page.h"

/* What the command line named: one answer for each trace that could be read. */
struct asked {
	const struct sn_args *args;
	struct sn_table_view view;
	struct sn_lattice_budget budget;
	struct sn_property *property; /* NULL: none is asked for */
	const char *condition;
	struct sn_follow_options following;
	struct sn_mpi_points points;
	struct sn_lattice_experiment *experiments; /* empty where a trace was read */
	struct sn_execution **executions;	   /* of traces, or borrowed of experiments */
	struct sn_lattice_answer *answers;
	struct sn_error *faults;
	size_t count;
	int code; /* of the first trace that was faulty, else 0 */
};

static sn_status read_budget(const struct sn_args *args, struct sn_lattice_budget *out,
			     struct sn_error *err)
{
	long long states;
	double seconds;
	sn_status status = sn_args_integer(args, "max-states", 4000000, &states, err);

	if (status == SN_OK)
		status = sn_args_real(args, "max-seconds", 3, &seconds, err);
	if (status != SN_OK)
		return status;
	if (states < 1 || !(seconds > 0))
		return sn_error_set(err, SN_ERR_USAGE,
				    "lattice: --max-states and --max-seconds must be above 0");
	*out = (struct sn_lattice_budget){ .states = (uint64_t)states, .seconds = seconds };
	return SN_OK;
}

static sn_status read_following(struct asked *asked, struct sn_error *err)
{
	struct sn_follow_options *o = &asked->following;
	sn_status status = sn_args_real(asked->args, "every", 1, &o->every_s, err);

	if (status == SN_OK)
		status = sn_args_real(asked->args, "idle", 10, &o->idle_s, err);
	if (status == SN_OK && (!(o->every_s > 0) || o->idle_s < 0))
		status = sn_error_set(err, SN_ERR_USAGE,
				      "lattice: --every must be above 0 and --idle not below");
	if (status == SN_OK && sn_args_flag(asked->args, "follow") &&
	    asked->args->operand_count != 1)
		status = sn_error_set(err, SN_ERR_USAGE, "lattice: --follow takes one trace");
	o->out = asked->view.format == SN_FORMAT_TEXT ? stdout : stderr;
	return status;
}

/* A name with a fault in it must not look like an answer. */
static sn_status observed_check(const struct asked *asked, const char *path,
				const struct sn_execution *execution, struct sn_error *err)
{
	if (!asked->points.choices.count)
		return SN_OK;
	for (uint32_t e = 0; e < execution->event_count; e++)
		if (execution->events[e].is_observed)
			return SN_OK;
	if (!sn_args_flag(asked->args, "observe"))
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "'%s' has no labels, of which the condition speaks: set them "
				    "with sonde_sample() of sonde/control.h",
				    path);
	return sn_error_set(err, SN_ERR_NO_DATA,
			    "nothing in '%s' is what --observe names; 'sonde show mpi' lists its "
			    "calls",
			    path);
}

static sn_status source_read(struct asked *asked, const char *path, struct sn_error *err)
{
	struct sn_execution **execution = &asked->executions[asked->count];
	struct sn_lattice_experiment *experiment = &asked->experiments[asked->count];
	sn_status status;

	if (path[0] != '@' && !sn_store_is_experiment(path))
		return sn_args_flag(asked->args, "follow")
			       ? sn_follow_trace(path, &asked->following, execution, err)
			       : sn_execution_read(path, execution, err);
	status = sn_lattice_experiment_open(path, &asked->points, experiment, err);
	if (status == SN_OK)
		status = observed_check(asked, path, experiment->order.execution, err);
	if (status != SN_OK)
		return status;
	*execution = experiment->order.execution;
	return sn_lattice_experiment_damage(experiment, err);
}

/* A faulty trace still has an answer for the part that holds together; the sentence goes first. */
static void answer_trace(struct asked *asked, const char *path)
{
	struct sn_lattice_answer *answer = &asked->answers[asked->count];
	struct sn_error *fault = &asked->faults[asked->count];
	sn_status status = source_read(asked, path, fault);

	if (status != SN_OK) {
		int code = sn_error_print(fault);

		asked->code = asked->code ? asked->code : code;
	}
	if (!asked->executions[asked->count])
		return;
	if (sn_args_flag(asked->args, "no-durations"))
		asked->executions[asked->count]->has_durations = false;
	sn_lattice_answer_make(asked->executions[asked->count], &asked->budget, answer);
	answer->name = path;
	if (asked->experiments[asked->count].analysis) {
		answer->name = asked->experiments[asked->count].analysis->experiment->name;
		answer->run = sn_lattice_experiment_run(&asked->experiments[asked->count]);
	}
	answer->fault = status == SN_OK ? NULL : fault->sentence;
	asked->count++;
}

static bool any_durations(const struct asked *asked)
{
	for (size_t i = 0; i < asked->count; i++)
		if (asked->answers[i].schedule.critical_s > 0)
			return true;
	return false;
}

static sn_status print_comparison(const struct asked *asked, struct sn_error *err)
{
	struct sn_table_view view = asked->view;
	struct sn_table table;
	sn_status status;

	view.schema = "sonde.lattice-comparison/1";
	if (view.format == SN_FORMAT_TEXT && !view.columns && !any_durations(asked))
		view.columns =
			"trace,processes,events,events_per_step,mean_level_out_degree,cuts,arcs,"
			"mean_out_degree,wide_share,narrow_share,depth,synchronisations";
	sn_lattice_compare(asked->answers, asked->count, &table);
	status = sn_table_write(&table, &view, stdout, NULL, NULL, err);
	sn_table_free(&table);
	return status;
}

static sn_status print_answers(const struct asked *asked, struct sn_error *err)
{
	if (asked->args->operand_count > 1)
		return print_comparison(asked, err);
	if (asked->view.format == SN_FORMAT_TEXT)
		sn_lattice_write_text(asked->answers, sn_args_flag(asked->args, "all") ? 0 : 10,
				      stdout);
	else if (asked->view.format == SN_FORMAT_CSV)
		sn_lattice_write_csv(asked->answers, stdout);
	else
		sn_lattice_write_json(asked->answers, stdout);
	return SN_OK;
}

static sn_status write_page(const struct asked *asked, FILE *out, struct sn_error *err)
{
	struct sn_pandore_page page = { .title = "Lattices of executions",
					.answers = asked->answers,
					.answer_count = asked->count };

	if (asked->count == 1)
		page.title = "Lattice of executions";
	return sn_pandore_page_write(&page, out, err);
}

static sn_status draw(const struct asked *asked, const char *option, struct sn_error *err)
{
	const char *path = sn_args_value(asked->args, option);
	struct sn_file_writer writer;
	sn_status status;

	if (!path)
		return SN_OK;
	status = sn_file_writer_open(&writer, path, err);
	if (status != SN_OK)
		return status;
	if (!strcmp(option, "html"))
		status = write_page(asked, writer.out, err);
	else if (!strcmp(option, "svg"))
		sn_lattice_draw_svg(asked->answers, asked->count, SN_DRAW_EXACT_CUTS, writer.out);
	else
		status = sn_lattice_draw_dot(asked->answers, SN_DRAW_EXACT_CUTS, writer.out, err);
	if (status == SN_OK)
		return sn_file_writer_commit(&writer, err);
	sn_file_writer_abandon(&writer);
	return status;
}

static sn_status read_points(struct asked *asked, struct sn_error *err)
{
	const struct sn_args *args = asked->args;
	sn_status status = SN_OK;

	for (size_t i = 0; i < args->given_count && status == SN_OK; i++)
		if (!strcmp(args->command->options[args->given[i].option].name, "observe"))
			status = sn_mpi_points_add(&asked->points, args->given[i].value, err);
	for (size_t i = 0; i < args->operand_count && status == SN_OK; i++)
		if (asked->points.choices.count && args->operands[i][0] != '@' &&
		    !sn_store_is_experiment(args->operands[i]))
			status = sn_error_set(
				err, SN_ERR_USAGE,
				"lattice: --observe is for experiments; the points of the "
				"trace '%s' are those that it says are observed",
				args->operands[i]);
	return status;
}

/* The states of a condition that names labels of the program are those between labels. */
static sn_status default_points(struct asked *asked, struct sn_error *err)
{
	const char *label;

	if (asked->points.choices.count)
		return SN_OK;
	for (size_t i = 0; (label = sn_property_label(asked->property, i)); i++)
		if (!strncmp(label, "MPI_", 4))
			return SN_OK;
	return sn_mpi_points_add(&asked->points, "label=*", err);
}

static sn_status read_property(struct asked *asked, struct sn_error *err)
{
	const char *possibly = sn_args_value(asked->args, "possibly");
	const char *definitely = sn_args_value(asked->args, "definitely");
	sn_status status = SN_OK;

	if (possibly && definitely && strcmp(possibly, definitely) != 0)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"lattice: --possibly and --definitely name two conditions; ask for "
			"one at a time");
	asked->condition = possibly ? possibly : definitely;
	if (!asked->condition && sn_args_flag(asked->args, "fail-if"))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"lattice: --fail-if needs a condition (--possibly or --definitely)");
	if (!asked->condition)
		return SN_OK;
	if (sn_args_value(asked->args, "dot"))
		status = sn_error_set(err, SN_ERR_USAGE,
				      "lattice: of a condition --svg and --html draw the instant "
				      "at which it holds; --dot has none");
	if (status == SN_OK && asked->args->operand_count != 1)
		status =
			sn_error_set(err, SN_ERR_USAGE, "lattice: a condition takes one execution");
	if (status == SN_OK)
		status = sn_property_parse(asked->condition, &asked->property, err);
	return status == SN_OK ? default_points(asked, err) : status;
}

static sn_status check_usage(struct asked *asked, struct sn_error *err)
{
	const struct sn_args *args = asked->args;
	sn_status status = sn_args_table_view(args, &asked->view, err);

	if (status == SN_OK && args->operand_count == 0)
		status =
			sn_error_set(err, SN_ERR_USAGE,
				     "lattice: name an experiment of 'sonde record --mpi' (@0: the "
				     "newest), a trace (JSON lines), or - for standard input");
	if (status == SN_OK && sn_args_value(args, "dot") && args->operand_count > 1)
		status = sn_error_set(err, SN_ERR_USAGE, "lattice: --dot takes one trace, not %zu",
				      args->operand_count);
	if (status == SN_OK)
		status = read_following(asked, err);
	if (status == SN_OK)
		status = read_points(asked, err);
	if (status == SN_OK)
		status = read_property(asked, err);
	return status == SN_OK ? read_budget(args, &asked->budget, err) : status;
}

static void free_asked(struct asked *asked)
{
	for (size_t i = 0; i < asked->count; i++) {
		sn_lattice_answer_free(&asked->answers[i]);
		if (!asked->experiments[i].analysis)
			sn_execution_free(asked->executions[i]);
		sn_lattice_experiment_close(&asked->experiments[i]);
	}
	free(asked->experiments);
	sn_mpi_points_free(&asked->points);
	sn_property_free(asked->property);
	free(asked->answers);
	free(asked->executions);
	free(asked->faults);
}

static void witness_svg(const struct sn_page_condition *condition, FILE *out)
{
	struct sn_lattice_instant instant;

	sn_lattice_instant_of_witness(condition->execution, condition->property,
				      condition->answer->witness, condition->text, &instant);
	sn_lattice_draw_instant(&instant, out);
	sn_lattice_instant_free(&instant);
}

/* The instant at which it holds, as --svg and --html ask for it. */
static sn_status witness_draw(const struct asked *asked, const char *option,
			      const struct sn_page_condition *condition, struct sn_error *err)
{
	const char *path = sn_args_value(asked->args, option);
	struct sn_pandore_page page = { .title = "A condition on instants",
					.condition = condition };
	bool is_page = !strcmp(option, "html");
	struct sn_file_writer writer;
	sn_status status;

	if (!path)
		return SN_OK;
	if (!is_page && !condition->answer->witness) {
		sn_warn("'%s' is not written: no instant is known at which the condition holds",
			path);
		return SN_OK;
	}
	status = sn_file_writer_open(&writer, path, err);
	if (status != SN_OK)
		return status;
	if (is_page)
		status = sn_pandore_page_write(&page, writer.out, err);
	else
		witness_svg(condition, writer.out);
	if (status == SN_OK)
		return sn_file_writer_commit(&writer, err);
	sn_file_writer_abandon(&writer);
	return status;
}

static bool has_label(const struct sn_execution *execution, const char *label)
{
	for (uint32_t e = 0; e < execution->event_count; e++)
		if (execution->events[e].is_observed && execution->events[e].label &&
		    !strcmp(execution->events[e].label, label))
			return true;
	return false;
}

/* Not an error: it may be what a run is looked at for that nobody came there. */
static void labels_check(const struct sn_property *property, const struct sn_execution *execution)
{
	const char *label;

	for (size_t i = 0; (label = sn_property_label(property, i)); i++)
		if (!has_label(execution, label))
			sn_warn("no event has the label '%s': either no process came there, or it has "
				"another name",
				label);
}

static int property_run(struct asked *asked, const struct sn_execution *execution)
{
	enum { CUTS_MOST = 1000000 };
	const char *fail_if = sn_args_value(asked->args, "fail-if");
	enum sn_truth asked_for;
	struct sn_property_answer answer;
	struct sn_error err;
	sn_status status;

	labels_check(asked->property, execution);
	status = sn_property_judge(asked->property, execution, CUTS_MOST, &answer, &err);
	if (status != SN_OK)
		return sn_error_print(&err);
	if (asked->view.format == SN_FORMAT_TEXT)
		sn_property_write_text(asked->condition, execution, &answer, stdout);
	else
		sn_property_write_json(asked->condition, execution, &answer, stdout);
	struct sn_page_condition condition = { asked->condition, asked->property, execution,
					       &answer };

	status = witness_draw(asked, "svg", &condition, &err);
	if (status == SN_OK)
		status = witness_draw(asked, "html", &condition, &err);
	if (status != SN_OK) {
		sn_property_answer_free(&answer);
		return sn_error_print(&err);
	}
	asked_for = !fail_if			   ? SN_TRUTH_NO
		    : !strcmp(fail_if, "possibly") ? answer.possibly
						   : answer.definitely;
	sn_property_answer_free(&answer);
	return asked_for == SN_TRUTH_YES ? 1 : asked->code;
}

static int property_only(struct asked *asked)
{
	struct sn_execution **execution = &asked->executions[0];
	struct sn_error err;
	int code = 0;

	if (source_read(asked, asked->args->operands[0], &err) != SN_OK)
		asked->code = sn_error_print(&err);
	code = *execution ? property_run(asked, *execution) : asked->code;
	if (!asked->experiments[0].analysis)
		sn_execution_free(*execution);
	sn_lattice_experiment_close(&asked->experiments[0]);
	return code;
}

static int lattice_run(const struct sn_args *args)
{
	struct asked asked = { .args = args };
	struct sn_error err;
	sn_status status = check_usage(&asked, &err);

	if (status != SN_OK)
		return sn_error_print(&err);
	asked.answers = sn_alloc_zeroed(args->operand_count, sizeof(*asked.answers));
	asked.experiments = sn_alloc_zeroed(args->operand_count, sizeof(*asked.experiments));
	asked.executions = sn_alloc_zeroed(args->operand_count, sizeof(struct sn_execution *));
	asked.faults = sn_alloc_zeroed(args->operand_count, sizeof(*asked.faults));
	if (asked.property) {
		int code = property_only(&asked);

		free_asked(&asked);
		return code;
	}
	for (size_t i = 0; i < args->operand_count; i++)
		answer_trace(&asked, args->operands[i]);
	if (asked.count) {
		status = print_answers(&asked, &err);
		if (status == SN_OK)
			status = draw(&asked, "svg", &err);
		if (status == SN_OK)
			status = draw(&asked, "dot", &err);
		if (status == SN_OK)
			status = draw(&asked, "html", &err);
	}
	free_asked(&asked);
	if (status != SN_OK)
		return sn_error_print(&err);
	return asked.code;
}

static const struct sn_option lattice_options[] = {
	SN_TABLE_OPTIONS,
	{ "svg", 0, "FILE",
	  "draw the lattice, or its silhouette above 5000 cuts; of a condition, the instant at which it holds",
	  NULL },
	{ "html", 0, "FILE", "write a page: the drawing, the levels, the bottlenecks", NULL },
	{ "dot", 0, "FILE", "write the graph for Graphviz, up to 5000 cuts", NULL },
	{ "observe", 0, "WHAT",
	  "the points of an experiment: zone=NAME, line=N, function=F, kind=send,recv,.. or "
	  "label=L; may be repeated (default: all calls of MPI)",
	  NULL },
	{ "possibly", 0, "CONDITION",
	  "whether the condition can hold at some instant, as 'in(p0, \"L\") and in(p1, \"L\")'",
	  NULL },
	{ "definitely", 0, "CONDITION", "whether every run passes an instant where it holds",
	  NULL },
	{ "fail-if", 0, "WHICH", "end with 1 if that is so", "possibly|definitely" },
	{ "no-durations", 0, NULL,
	  "leave durations out: bottlenecks by cuts only, the longest first", NULL },
	{ "follow", 0, NULL, "the trace is being written: show counts as it grows, then the answer",
	  NULL },
	{ "every", 0, "S", "with --follow: a line every S seconds (default 1)", NULL },
	{ "idle", 0, "S",
	  "with --follow: end after S seconds without an event (default 10; 0: never)", NULL },
	{ "max-states", 0, "N", "states the exact count may hold at a time (default 4000000)",
	  NULL },
	{ "max-seconds", 0, "S", "CPU time for the count (default 3), then windows are answered",
	  NULL },
	{ 0 }
};

static const char *const lattice_examples[] = {
	"mpirun -n 4 sonde record --mpi ./program && sonde lattice @0",
	"Shows what a program of MPI could have done at once",
	"sonde lattice --possibly 'in(p0, \"critical\") and in(p1, \"critical\")' @0",
	"Whether two ranks could be between labels \"critical\" and their next ones at once",
	"sonde lattice trace.jsonl",
	"Counts the cuts of a trace and shows its bottlenecks",
	"sonde lattice --svg rows.svg rows.jsonl",
	"Draws it as well",
	"sonde lattice rows.jsonl columns.jsonl blocks.jsonl",
	"Compares three distributions of one program, a row each",
	"SONDE_PANDORE_LIVE=live.jsonl ./prog & sonde lattice --follow live.jsonl",
	"Watches a Pandore program while it runs",
	NULL
};

const struct sn_command sn_command_lattice = {
	.name = "lattice",
	.operands = "EXPERIMENT|TRACE...",
	.summary = "Shows how much of a distributed execution could happen at once, and what holds "
		   "it up",
	.description =
		"Reads an experiment that 'sonde record --mpi' made: its calls of MPI are the "
		"events, and messages and collective operations order them. Or reads a trace: JSON "
		"lines, one event a line in any order, with process, index and "
		"either after (the events that happened before) or clock. The lattice of "
		"executions has a cut for every instant that the execution could pass through; the "
		"arcs that leave a cut are the events possible next. Counts are exact, in integers "
		"of any size.\n\n"
		"A bottleneck is a range of levels where fewer than half of the processes can act. "
		"If the events have durations (duration_s), bottlenecks are ranked by the time "
		"they lose.\n\n"
		"With several traces, prints a table with a row each. With a budget too small to "
		"count everything, answers in windows and says so. A faulty trace ends with 5, "
		"after the answer for the part that holds together.\n\n"
		"With --follow the trace is read while it is written; the counts printed are exact "
		"for what has happened so far. It ends with a line {\"end\":true}, at the end of a "
		"pipe, after --idle seconds without news, or by Ctrl-C, and then the whole answer "
		"follows.",
	.options = lattice_options,
	.examples = lattice_examples,
	.run = lattice_run,
};
