/* sonde comm: how a program of MPI, or a compiled Pandore program, communicated, as tables, graphs or a page. */
#include <string.h>

#include "base/alloc.h"
#include "cli/command.h"
#include "base/arena.h"
#include "base/text.h"
#include "cli/lattice_experiment.h"
#include "experiment/store.h"
#include "mpi/lattice/comm.h"
#include "pandore/page/page.h"
#include "pandore/profiler/comm.h"

static enum sn_comm_value value_of(const char *name)
{
	if (name && !strcmp(name, "bytes"))
		return SN_COMM_BYTES;
	return name && !strcmp(name, "wait_s") ? SN_COMM_WAIT : SN_COMM_MESSAGES;
}

static enum sn_comm_group group_of(const char *name)
{
	if (name && (!strcmp(name, "node") || !strcmp(name, "rank")))
		return SN_COMM_NODES;
	return name && (!strcmp(name, "variable") || !strcmp(name, "function") ||
			!strcmp(name, "path"))
		       ? SN_COMM_VARIABLES
		       : SN_COMM_PARTITIONS;
}

static sn_status write_graphs(const struct sn_args *args, struct sn_comm_profile **profiles,
			      const struct sn_comm_choice *choice, bool is_svg,
			      struct sn_error *err)
{
	struct sn_comm_graph *graphs = sn_alloc_zeroed(args->operand_count, sizeof(*graphs));
	sn_status status = SN_OK;
	size_t made = 0;

	while (made < args->operand_count && status == SN_OK) {
		status = sn_comm_graph_make(profiles[made], choice, &graphs[made], err);
		made += status == SN_OK;
	}
	if (status == SN_OK && is_svg)
		sn_comm_write_svg(graphs, made, stdout);
	else if (status == SN_OK)
		sn_comm_write_dot(graphs, made, value_of(sn_args_value(args, "value")), stdout);
	for (size_t i = 0; i < made; i++)
		sn_comm_graph_free(&graphs[i]);
	sn_vec_release(graphs);
	return status;
}

/* "rows" of "here/rows.profile.json" */
static const char *short_name(struct sn_arena *arena, const char *path)
{
	const char *name = sn_base_name(path);
	size_t length = strlen(name);

	if (sn_ends_with(name, ".profile.json") && length > strlen(".profile.json"))
		length -= strlen(".profile.json");
	return sn_arena_strndup(arena, name, length);
}

static bool is_experiment(const char *path)
{
	return path[0] == '@' || sn_store_is_experiment(path);
}

/* An experiment stays open as long as its profile, which borrows its names. */
static sn_status profile_read(const struct sn_args *args, const char *path,
			      struct sn_lattice_experiment *experiment,
			      struct sn_comm_profile **out, struct sn_error *err)
{
	const char *by = sn_args_value(args, "by");
	bool by_path = by && !strcmp(by, "path");
	sn_status status;

	if (!is_experiment(path) && by_path)
		return sn_error_set(err, SN_ERR_USAGE,
				    "comm: '%s' is a profile of a Pandore program, which has no "
				    "call paths; --by path is for experiments",
				    path);
	if (!is_experiment(path))
		return sn_comm_profile_read(path, out, err);
	status = sn_lattice_experiment_read(path, experiment, err);
	if (status == SN_OK && sn_lattice_experiment_damage(experiment, err) != SN_OK)
		sn_warn("%s", err->sentence);
	return status == SN_OK ? sn_mpi_comm_profile_of(experiment->analysis->program,
							experiment->mpi, by_path, out, err)
			       : status;
}

static bool is_trace(const char *path)
{
	return sn_ends_with(path, ".jsonl");
}

/* Lattices beside the graphs: the traces among the operands. */
struct lattices {
	struct sn_execution **executions;
	struct sn_lattice_answer *answers;
	size_t count;
};

static sn_status answer_traces(const struct sn_args *args, struct lattices *out,
			       struct sn_error *err)
{
	struct sn_lattice_budget budget = { .states = 4000000, .seconds = 3 };
	sn_status status = SN_OK;

	out->executions = sn_alloc_zeroed(args->operand_count, sizeof(*out->executions));
	out->answers = sn_alloc_zeroed(args->operand_count, sizeof(*out->answers));
	for (size_t i = 0; i < args->operand_count && status == SN_OK; i++) {
		if (!is_trace(args->operands[i]))
			continue;
		status = sn_execution_read(args->operands[i], &out->executions[out->count], err);
		if (status != SN_OK) {
			sn_execution_free(out->executions[out->count]);
			break;
		}
		sn_lattice_answer_make(out->executions[out->count], &budget,
				       &out->answers[out->count]);
		out->answers[out->count++].name = args->operands[i];
	}
	return status;
}

static void free_lattices(struct lattices *lattices)
{
	for (size_t i = 0; i < lattices->count; i++) {
		sn_lattice_answer_free(&lattices->answers[i]);
		sn_execution_free(lattices->executions[i]);
	}
	sn_vec_release(lattices->answers);
	sn_vec_release(lattices->executions);
}

static sn_status write_page(const struct sn_args *args, struct sn_comm_profile **profiles,
			    size_t profile_count, const struct sn_comm_choice *choice,
			    struct sn_error *err)
{
	struct sn_arena arena = { 0 };
	const char **names = sn_alloc_zeroed(args->operand_count, sizeof(*names));
	struct sn_pandore_page page = { .profiles = profiles,
					.profile_names = names,
					.profile_count = profile_count,
					.choice = choice,
					.value = value_of(sn_args_value(args, "value")) };
	struct sn_text title = { 0 };
	struct lattices lattices = { 0 };
	sn_status status;
	size_t named = 0;

	sn_text_add(&title, "Communications of ");
	for (size_t i = 0; i < args->operand_count; i++) {
		if (is_trace(args->operands[i]))
			continue;
		names[named] = short_name(&arena, args->operands[i]);
		sn_text_addf(&title, "%s%s", named ? ", " : "", names[named]);
		named++;
	}
	page.title = title.chars;
	status = answer_traces(args, &lattices, err);
	page.answers = lattices.answers;
	page.answer_count = lattices.count;
	if (status == SN_OK)
		status = sn_pandore_page_write(&page, stdout, err);
	free_lattices(&lattices);
	sn_text_free(&title);
	sn_vec_release(names);
	sn_arena_free(&arena);
	return status;
}

/* The file's name where two runs are of one program. */
static const char *program_name(const struct sn_args *args, struct sn_comm_profile **profiles,
				size_t which)
{
	for (size_t i = 0; i < args->operand_count; i++)
		if (i != which && !strcmp(profiles[i]->program, profiles[which]->program))
			return args->operands[which];
	return profiles[which]->program;
}

static sn_status write_tables(const struct sn_args *args, struct sn_comm_profile **profiles,
			      const struct sn_comm_choice *choice, struct sn_error *err)
{
	const char *what = sn_args_value(args, "table");
	const char **names = sn_alloc_zeroed(args->operand_count, sizeof(*names));
	struct sn_table_view view = { .schema = "sonde.comm/1" };
	sn_status status = sn_args_table_view(args, &view, err);

	for (size_t i = 0; i < args->operand_count; i++)
		names[i] = program_name(args, profiles, i);
	if (status == SN_OK)
		status = sn_comm_write_tables(profiles, names, args->operand_count, choice,
					      what ? what : "arcs", &view, stdout, err);
	sn_vec_release(names);
	return status;
}

static int comm_run(const struct sn_args *args)
{
	struct sn_comm_choice choice = { .phase = sn_args_value(args, "phase"),
					 .zone = sn_args_value(args, "zone"),
					 .nodes = sn_args_value(args, "nodes"),
					 .variables = sn_args_value(args, "variables"),
					 .group = group_of(sn_args_value(args, "by")) };
	const char *format = sn_args_value(args, "format");
	struct sn_comm_profile **profiles;
	struct sn_lattice_experiment *experiments;
	struct sn_error err;
	sn_status status = SN_OK;
	bool is_page;
	size_t count = 0;

	if (!args->operand_count) {
		sn_error_set(
			&err, SN_ERR_USAGE,
			"comm: name an experiment of 'sonde record --mpi' (@0: the newest), or "
			"PROG.profile.json, which a program compiled with 'sonde pandore "
			"compile --profile' writes");
		return sn_error_print(&err);
	}
	is_page = format && !strcmp(format, "html");
	profiles = sn_alloc_zeroed(args->operand_count, sizeof(*profiles));
	experiments = sn_alloc_zeroed(args->operand_count, sizeof(*experiments));
	for (size_t i = 0; i < args->operand_count && status == SN_OK; i++) {
		if (is_trace(args->operands[i]) && is_page)
			continue;
		if (is_trace(args->operands[i]))
			status = sn_error_set(&err, SN_ERR_USAGE,
					      "comm: '%s' is a trace: 'sonde lattice' reads it, or "
					      "this command with --format html",
					      args->operands[i]);
		else
			status = profile_read(args, args->operands[i], &experiments[i],
					      &profiles[count], &err);
		count += status == SN_OK;
	}
	if (status == SN_OK && !count)
		status = sn_error_set(
			&err, SN_ERR_USAGE,
			"comm: name a profile beside the trace; 'sonde lattice --html' "
			"makes a page of traces alone");
	if (status == SN_OK)
		status = sn_comm_check_variables(profiles, count, choice.variables, &err);
	if (status == SN_OK && format && (!strcmp(format, "svg") || !strcmp(format, "dot")))
		status = write_graphs(args, profiles, &choice, !strcmp(format, "svg"), &err);
	else if (status == SN_OK && is_page)
		status = write_page(args, profiles, count, &choice, &err);
	else if (status == SN_OK)
		status = write_tables(args, profiles, &choice, &err);
	for (size_t i = 0; i < count; i++)
		sn_comm_profile_free(profiles[i]);
	for (size_t i = 0; i < args->operand_count; i++)
		sn_lattice_experiment_close(&experiments[i]);
	sn_vec_release(experiments);
	sn_vec_release(profiles);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_option comm_options[] = {
	{ "format", 'f', "FORMAT", "how to print: text, csv, json, jsonl, dot, svg or html",
	  "text|csv|json|jsonl|dot|svg|html" },
	{ "table", 'T', "TABLE",
	  "which table: arcs (default), zones, phases, nodes, lines, or programs, a row each",
	  "arcs|zones|phases|nodes|lines|programs" },
	{ "by", 'b', "GROUP",
	  "arcs between partitions (default), or added up by node or by variable; of a program of "
	  "MPI: functions of a rank, ranks, functions, call paths",
	  "partition|node|variable|rank|function|path" },
	{ "phase", 'p', "NAME", "only the traffic of this phase", NULL },
	{ "zone", 'z', "NAME", "only the traffic of this instrumentation zone", NULL },
	{ "nodes", 'n', "I,J,..", "only traffic between these nodes", NULL },
	{ "variables", 'V', "A,B,..", "only traffic between these variables", NULL },
	{ "value", 'v', "VALUE",
	  "what labels the arcs of dot and leads in html: messages, bytes or wait_s",
	  "messages|bytes|wait_s" },
	{ "sort", 's', "COLUMN", "order by this column; -COLUMN turns the order round", NULL },
	{ "cols", 'c', "A,B,..", "print these columns, in this order", NULL },
	{ "filter", 'F', "EXPRESSION",
	  "keep rows where KEY=VALUE, KEY!=VALUE, KEY~REGEX, KEY>NUMBER (5ms, 4kB, 1%), joined by and, or, ()",
	  NULL },
	{ "top", 't', "N", "print N rows at most (text: 20 unless said)", NULL },
	{ "all", 'a', NULL, "print every row", NULL },
	{ 0 }
};

static const char *const comm_examples[] = {
	"mpirun -n 4 sonde record --mpi ./program && sonde comm @0 --by rank",
	"messages, bytes and waiting time between ranks",
	"sonde comm fig1.profile.json",
	"messages, bytes and waiting time between partitions",
	"sonde comm rows.profile.json columns.profile.json blocks.profile.json -f svg > "
	"figure4.svg",
	"three distributions side by side, messages above and waiting time below",
	"sonde comm rows.profile.json columns.profile.json -f html > page.html",
	"the same as a page to group, select and compare in",
	"sonde comm fig1.profile.json --zone zone2 --by node",
	"one zone, added up by node",
	NULL
};

const struct sn_command sn_command_comm = {
	.name = "comm",
	.operands = "EXPERIMENT|PROFILE.json... [TRACE.jsonl...]",
	.summary = "Shows who sends what to whom in a program of MPI or Pandore",
	.description =
		"Prints the communication graph between array partitions that a program compiled "
		"with 'sonde pandore compile --profile' counted: messages, bytes and the time its "
		"receiver waited for each arc, broadcasts for each pair of variable and partition; "
		"and its times by phase, zone, node and source line.\n\n"
		"Of an experiment of 'sonde record --mpi': between functions of ranks, ranks "
		"(--by rank), functions (--by function) or call paths (--by path). A broadcast counts "
		"once a receiver; "
		"other collective operations are in 'sonde show mpi'.\n\n"
		"A page (--format html) may have traces (PROG.trace.jsonl), too: then it shows "
		"their lattices, and the critical path beside the messages.",
	.options = comm_options,
	.examples = comm_examples,
	.run = comm_run,
};
