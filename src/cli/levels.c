/* Runs the program again for what a report of level 2 or 3 needs, one run after the other. */
#include "cli/levels.h"

#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/text.h"
#include "cli/analysis_options.h"
#include "cli/loop_choice.h"
#include "cli/loop_runs.h"
#include "cli/record.h"
#include "cli/same_program.h"
#include "experiment/store.h"
#include "experiment/unpack.h"
#include "profile/companions.h"
#include "record/launch_key.h"
#include "record/streams.h"
#include "record/written.h"
#include "rewrite/rewrite.h"

/* What variants may add to a run's CPU time; a run that has copies takes a little more besides. */
enum { VARIANTS_PERCENT = 20, COPIES_PERCENT = 5, VARIANTS_LEAST_PERCENT = 1 };

static const struct step {
	enum sn_companion companion;
	int level;
	const char *words;
	uint32_t variants;
	uint64_t max_bytes; /* of data; 0: no limit */
} steps[] = {
	{ SN_COMPANION_INSTANCES, 2, "instances of loops, and data in first-level cache",
	  SN_REWRITER_INNERMOST | 1u << SN_VARIANT_ORIG | 1u << SN_VARIANT_DL1, 0 },
	{ SN_COMPANION_VARIANTS, 3, "variants of loops", (1u << SN_VARIANTS) - 1, 0 },
	/* (chosen) what is replayed in seconds */
	{ SN_COMPANION_ACCESSES, 3, "addresses of loops' accesses to memory",
	  SN_REWRITER_RECORDER | SN_REWRITER_INNERMOST, 50000000 },
};
enum { STEPS = sizeof(steps) / sizeof(*steps) };

/* What a rank is told of its step: which, and what variants may add. */
static void step_option(const struct step *step, uint32_t percent, struct sn_text *out)
{
	sn_text_addf(out, "--step=%s:%u", sn_companion_names[step->companion], percent);
}

static const struct step *step_read(const char *text, uint32_t *percent)
{
	for (size_t i = 0; text && i < STEPS; i++) {
		const char *name = sn_companion_names[steps[i].companion];
		size_t length = strlen(name);

		if (strncmp(text, name, length) || text[length] != ':')
			continue;
		*percent = (uint32_t)strtoul(text + length + 1, NULL, 10);
		return *percent && *percent <= 100 ? &steps[i] : NULL;
	}
	return NULL;
}

static struct sn_loop_run run_of(const struct step *step, uint32_t percent)
{
	return (struct sn_loop_run){ .command = "analyze",
				     .variants = step->variants,
				     .max_bytes = step->max_bytes,
				     .is_one_of_nest = step->level == 3,
				     .budget_percent = percent };
}

static sn_status budget_read(const struct sn_args *args, double *times, struct sn_error *err)
{
	const char *text = sn_args_value(args, "budget");
	char *end;

	*times = 0;
	if (!text)
		return SN_OK;
	*times = strtod(text, &end);
	end += *end == 'x';
	if (*end || !(*times >= 1 && *times <= 1000))
		return sn_error_set(err, SN_ERR_USAGE,
				    "--budget takes how many times the first run all runs may take "
				    "(3x; 1 to 1000), not '%s'",
				    text);
	return SN_OK;
}

sn_status sn_cli_levels_check(const struct sn_args *args, int otherwise, int *level,
			      struct sn_error *err)
{
	static const char *const not_with[] = { "pid", "pause-signal", "duration", "delay" };
	static const char *const only_with[] = { "loops", "exclude", "budget" };
	const char *asked = sn_args_value(args, "level");
	double times;

	*level = asked ? asked[0] - '0' : otherwise;
	for (size_t i = 0; *level == 1 && i < sizeof(only_with) / sizeof(*only_with); i++)
		if (sn_args_value(args, only_with[i]))
			return sn_error_set(
				err, SN_ERR_USAGE,
				"--%s goes with --level 2 or 3: level 1 runs the program "
				"once, and all its loops are sampled",
				only_with[i]);
	for (size_t i = 0; *level > 1 && i < args->given_count; i++)
		for (size_t k = 0; k < sizeof(not_with) / sizeof(*not_with); k++)
			if (!strcmp(args->command->options[args->given[i].option].name,
				    not_with[k]))
				return sn_error_set(
					err, SN_ERR_USAGE,
					"level %d runs the whole program several times: "
					"--%s cannot be had with it",
					*level, not_with[k]);
	if (*level > 1 && sn_launch_is_rank())
		return sn_error_set(
			err, SN_ERR_USAGE,
			"level %d starts the program several times, which one rank of a "
			"launch cannot do: sonde run --level %d -- mpirun -n RANKS PROGRAM",
			*level, *level);
	if (budget_read(args, &times, err) != SN_OK)
		return SN_ERR_USAGE;
	return sn_cli_loop_choice_check(args, err);
}

/* ---- the runs ---- */

struct runs {
	const struct sn_args *args;
	const char *experiment;
	struct sn_analysis *analysis;
	struct sn_streams *streams;
	struct sn_written *shown;	    /* the run whose output is the user's */
	struct sn_text others, differences; /* runs that wrote something else, and what */
	bool is_shown;			    /* the next run's output is the user's */
	int code;			    /* of the run that was shown */
	double times;			    /* the budget; 0: none */
	int64_t first_ns, spent_ns;
	bool is_quiet;
};

/* Per cent of CPU time that variants may add, so that the run fits; 0: it does not. */
static uint32_t variants_percent(const struct runs *runs)
{
	double left = runs->times - (double)runs->spent_ns / (double)runs->first_ns;
	double percent = 100 * (left - 1) - COPIES_PERCENT;

	if (!(runs->times > 0) || percent > VARIANTS_PERCENT)
		return VARIANTS_PERCENT;
	return percent >= VARIANTS_LEAST_PERCENT ? (uint32_t)percent : 0;
}

static double times_spent(const struct runs *runs)
{
	return (double)runs->spent_ns / (double)runs->first_ns;
}

static void say_left_out(const struct runs *runs, const struct step *step)
{
	fprintf(stderr,
		"sonde: left out: %s: one more run would exceed the budget of %gx (%.1fx are "
		"used); sonde analyze --level %d --from %s -- PROGRAM adds it\n",
		step->words, runs->times, times_spent(runs), step->level, runs->experiment);
}

/* The step in each rank of the launcher. */
static sn_status step_launch(const struct runs *runs, const struct step *step, uint32_t percent,
			     const char *into, struct sn_record_result *result,
			     struct sn_error *err)
{
	struct sn_text option = { 0 };
	int64_t began = (int64_t)sn_now_ns();
	sn_status status;

	step_option(step, percent, &option);
	status = sn_cli_launch(runs->args, "analyze", option.chars, runs->experiment, into,
			       &result->exit_code, err);
	sn_text_free(&option);
	result->elapsed_ns = (int64_t)sn_now_ns() - began;
	if (status == SN_OK && sn_store_is_experiment(into))
		sn_text_add(&result->experiment_path, into);
	return status;
}

/* What a run wrote that is not shown, beside the one that is. */
static void compare_written(struct runs *runs, const struct step *step,
			    const struct sn_written *aside, const char *into)
{
	struct sn_text what = { 0 };

	if (sn_store_is_experiment(into))
		sn_written_keep(aside, into);
	if (sn_written_differ(aside, runs->shown, &what)) {
		sn_text_addf(&runs->others, "%s%s",
			     runs->others.length ? ", " : "of the further runs ",
			     sn_companion_names[step->companion]);
		if (!runs->differences.length)
			sn_text_add(&runs->differences, what.chars);
	}
	sn_text_free(&what);
}

static void say_written(const struct runs *runs)
{
	struct sn_text kept = { 0 };

	if (!runs->others.length || runs->is_quiet)
		return;
	sn_text_addf(&kept, "its folder in %s", runs->experiment);
	sn_cli_say_written(runs->others.chars, runs->differences.chars, kept.chars);
	sn_text_free(&kept);
}

/* The run of a step by itself. */
static sn_status step_record(struct runs *runs, const struct step *step, struct sn_loop_run *run,
			     const char *into, struct sn_record_result *result,
			     struct sn_error *err)
{
	struct sn_written aside;
	sn_status status;

	if (runs->is_shown)
		sn_written_begin(runs->shown, false);
	else
		sn_written_begin(&aside, true);
	run->written = runs->is_shown ? runs->shown : &aside;
	status = sn_cli_loop_run_of(runs->args, run, runs->analysis, "top:10", into, result, err);
	sn_written_end(run->written);
	run->written = NULL;
	if (!runs->is_shown) {
		compare_written(runs, step, &aside, into);
		sn_written_close(&aside);
	}
	return status;
}

/* That of a launcher: what it shows of its ranks cannot be told from what our commands say. */
static sn_status step_record_launched(struct runs *runs, const struct step *step, uint32_t percent,
				      const char *into, struct sn_record_result *result,
				      struct sn_error *err)
{
	sn_status status;

	if (!runs->is_shown)
		sn_streams_begin(runs->streams);
	status = step_launch(runs, step, percent, into, result, err);
	sn_streams_end(runs->streams);
	return status;
}

/* False: no further run is to follow. */
static bool step_run(struct runs *runs, const struct step *step)
{
	struct sn_loop_run run = run_of(step, variants_percent(runs));
	struct sn_record_result result = { .exit_code = SN_EXIT_NOT_MEASURED };
	struct sn_text into = { 0 };
	struct sn_error err;
	bool goes_on = true;
	sn_status status;

	if (!run.budget_percent) {
		say_left_out(runs, step);
		return true;
	}
	if (!runs->is_quiet)
		fprintf(stderr, "sonde: level %d: %s%s\n", step->level, step->words,
			runs->is_shown ? "" : "; what this run prints is kept, not shown");
	sn_text_addf(&into, "%s/%s", runs->experiment, sn_companion_names[step->companion]);
	sn_streams_rewind(runs->streams);
	status = sn_args_value(runs->args, "launcher")
			 ? step_record_launched(runs, step, run.budget_percent, into.chars, &result,
						&err)
			 : step_record(runs, step, &run, into.chars, &result, &err);
	if (status != SN_OK) {
		sn_error_print(&err);
		goes_on = false;
	} else {
		if (runs->is_shown)
			runs->code = result.exit_code;
		runs->is_shown = false;
		runs->spent_ns += result.elapsed_ns;
		goes_on = result.experiment_path.chars && !result.exit_signal;
		if (!goes_on)
			sn_warn("level %d: the run %s: no further one follows", step->level,
				result.exit_signal ? "was ended by a signal"
						   : "left no experiment");
	}
	sn_text_free(&result.experiment_path);
	sn_text_free(&into);
	return goes_on;
}

/* The runs that the experiment lacks. `is_first_shown`: the first of them is the user's, whose output is shown
 * and whose exit code is returned. */
static int steps_run(const struct sn_args *args, int level, const char *experiment,
		     struct sn_streams *streams, struct sn_written *shown, bool is_first_shown)
{
	struct runs runs = { .args = args,
			     .streams = streams,
			     .shown = shown,
			     .is_shown = is_first_shown,
			     .is_quiet = sn_args_flag(args, "quiet") };
	struct sn_error err;
	bool goes_on = true;
	sn_status status = budget_read(args, &runs.times, &err);

	if (status == SN_OK)
		status = sn_cli_analysis_open(experiment, NULL, &runs.analysis, &err);
	if (status == SN_OK)
		status = sn_archive_refuse(runs.analysis->experiment->path, &err);
	if (status == SN_OK && is_first_shown)
		status = sn_cli_check_same_program(runs.analysis->experiment, args->operands,
						   experiment, &err);
	if (status != SN_OK) {
		sn_error_print(&err);
		sn_analysis_free(runs.analysis);
		return SN_EXIT_NOT_MEASURED;
	}
	runs.experiment = runs.analysis->experiment->path;
	runs.first_ns = runs.spent_ns = runs.analysis->experiment->elapsed_ns;
	if (runs.first_ns <= 0)
		runs.first_ns = runs.spent_ns = 1;
	for (size_t i = 0; i < STEPS && goes_on; i++) {
		if (steps[i].level > level)
			continue;
		if (!sn_companion_exists(runs.experiment, steps[i].companion))
			goes_on = step_run(&runs, &steps[i]);
		else if (!runs.is_quiet)
			fprintf(stderr, "sonde: level %d: %s: there already, in %s/%s\n",
				steps[i].level, steps[i].words, runs.experiment,
				sn_companion_names[steps[i].companion]);
	}
	if (!runs.is_quiet)
		fprintf(stderr, "sonde: all runs took %.1f times what the first one took\n",
			times_spent(&runs));
	say_written(&runs);
	sn_text_free(&runs.others);
	sn_text_free(&runs.differences);
	sn_analysis_free(runs.analysis);
	return runs.code;
}

static bool goes_on_after(const struct sn_record_result *first, int level)
{
	if (level > 1 && first->exit_signal) {
		sn_warn("level %d: the first run was ended by a signal: no further one follows",
			level);
		return false;
	}
	return level > 1 && first->experiment_path.chars;
}

int sn_cli_levels_record(const struct sn_args *args, int level, struct sn_record_result *result)
{
	struct sn_streams streams;
	struct sn_written shown;
	struct sn_record_options first = { .standard_fds = shown.fds };
	int code;

	if (level == 1)
		return sn_cli_record(args, result);
	sn_streams_open(&streams);
	sn_streams_rewind(&streams);
	sn_written_begin(&shown, false);
	code = sn_cli_record_with(args, &first, result);
	sn_written_end(&shown);
	if (goes_on_after(result, level))
		steps_run(args, level, result->experiment_path.chars, &streams, &shown, false);
	sn_written_close(&shown);
	sn_streams_close(&streams);
	return code;
}

int sn_cli_levels_add(const struct sn_args *args, int level, const char *experiment)
{
	struct sn_streams streams;
	struct sn_written shown = { 0 };
	int code;

	sn_streams_open(&streams);
	code = steps_run(args, level, experiment, &streams, &shown, true);
	sn_written_close(&shown);
	sn_streams_close(&streams);
	return code;
}

int sn_cli_levels_step(const struct sn_args *args)
{
	const char *from = sn_args_value(args, "from"), *into = sn_args_value(args, "output");
	struct sn_record_result result = { .exit_code = SN_EXIT_NOT_MEASURED };
	struct sn_analysis *analysis = NULL;
	struct sn_loop_run run;
	struct sn_error err;
	uint32_t percent = 0;
	const struct step *step = step_read(sn_args_value(args, "step"), &percent);
	sn_status status = SN_OK;

	if (!step || !from || !into || !args->operand_count)
		status = sn_error_set(&err, SN_ERR_USAGE,
				      "--step is for the ranks that --launcher starts");
	if (status == SN_OK)
		status = sn_cli_loop_choice_check(args, &err);
	if (status == SN_OK)
		status = sn_cli_analysis_open(from, NULL, &analysis, &err);
	if (status == SN_OK)
		status =
			sn_cli_check_same_program(analysis->experiment, args->operands, from, &err);
	if (status == SN_OK) {
		run = run_of(step, percent);
		status = sn_cli_loop_run_of(args, &run, analysis, "top:10", into, &result, &err);
	}
	if (status != SN_OK)
		sn_error_print(&err);
	sn_text_free(&result.experiment_path);
	sn_analysis_free(analysis);
	return status == SN_OK ? result.exit_code : SN_EXIT_NOT_MEASURED;
}
