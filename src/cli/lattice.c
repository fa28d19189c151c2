#include "cli/command.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "pandore/lattice/lattice.h"

static sn_status read_budget(const struct sn_args *args, struct sn_lattice_budget *out,
			     struct sn_error *err)
{
	long long states;
	double seconds;
	sn_status status = sn_args_integer(args, "max-states", 4000000, &states, err);

	if (status == SN_OK)
		status = sn_args_real(args, "max-seconds", 10, &seconds, err);
	if (status != SN_OK)
		return status;
	if (states < 1 || !(seconds > 0))
		return sn_error_set(err, SN_ERR_USAGE,
				    "lattice: --max-states and --max-seconds must be above 0");
	*out = (struct sn_lattice_budget){ .states = (uint64_t)states, .seconds = seconds };
	return SN_OK;
}

static sn_status print_one(const struct sn_args *args, const struct sn_lattice_answer *answer,
			   enum sn_format format)
{
	if (format == SN_FORMAT_TEXT)
		sn_lattice_write_text(answer, sn_args_flag(args, "all") ? 0 : 10, stdout);
	else if (format == SN_FORMAT_CSV)
		sn_lattice_write_csv(answer, stdout);
	else
		sn_lattice_write_json(answer, stdout);
	return SN_OK;
}

/* A faulty trace still has an answer for the part that holds together; the sentence goes first. */
static int run_one(const struct sn_args *args, const char *path, enum sn_format format,
		   const struct sn_lattice_budget *budget)
{
	struct sn_execution *execution;
	struct sn_lattice_answer answer;
	struct sn_error err, fault;
	sn_status status = sn_execution_read(path, &execution, &fault);
	int code = status == SN_OK ? SN_EXIT_OK : sn_error_print(&fault);

	if (!execution)
		return code;
	sn_lattice_answer_make(execution, budget, &answer);
	answer.name = path;
	answer.fault = status == SN_OK ? NULL : fault.sentence;
	status = print_one(args, &answer, format);
	if (status != SN_OK)
		code = sn_error_print(&err);
	sn_lattice_answer_free(&answer);
	sn_execution_free(execution);
	return code;
}

static int lattice_run(const struct sn_args *args)
{
	struct sn_lattice_budget budget;
	enum sn_format format;
	struct sn_error err;

	if (args->operand_count == 0) {
		sn_error_set(&err, SN_ERR_USAGE, "lattice: name a trace, or - for standard input");
		return sn_error_print(&err);
	}
	if (sn_format_parse(sn_args_value(args, "format"), &format, &err) != SN_OK ||
	    read_budget(args, &budget, &err) != SN_OK)
		return sn_error_print(&err);
	return run_one(args, args->operands[0], format, &budget);
}

static const struct sn_option lattice_options[] = {
	{ "format", 'f', "FORMAT", "how to print: text, csv (a row a level) or json",
	  "text|csv|json" },
	{ "all", 'a', NULL, "print every bottleneck, not the first ten", NULL },
	{ "max-states", 0, "N", "states of the exact count to hold at a time (default 4000000)",
	  NULL },
	{ "max-seconds", 0, "S", "time for the count (default 10); then windows are answered",
	  NULL },
	{ 0 }
};

static const char *const lattice_examples[] = {
	"sonde lattice trace.jsonl", "Counts the cuts of a trace and shows its bottlenecks", NULL
};

const struct sn_command sn_command_lattice = {
	.name = "lattice",
	.operands = "TRACE [TRACE...]",
	.summary = "Shows the lattice of executions of a trace: parallelism and bottlenecks",
	.description = "Reads a trace of events with their dependencies (JSON lines).",
	.options = lattice_options,
	.examples = lattice_examples,
	.run = lattice_run,
};
