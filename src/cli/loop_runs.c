/*
 * Runs a program with loops as copies: a first run says which loops are hot, unless an experiment does; the
 * second one has the copies.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "cli/analysis_options.h"
#include "cli/loop_choice.h"
#include "cli/loop_runs.h"
#include "cli/record.h"
#include "cli/same_program.h"
#include "experiment/store.h"
#include "profile/analysis.h"
#include "record/launch_key.h"
#include "record/streams.h"
#include "record/target.h"
#include "rewrite/rewrite.h"
#include "whatif/plans.h"
#include "whatif/untouched.h"
#include "wire/plan.h"

static const char *noun_of(const struct sn_loop_run *run)
{
	return run->of_functions ? "function" : "loop";
}

void sn_cli_say_written(const char *runs, const char *what, const char *kept)
{
	fprintf(stderr,
		"sonde: note: %s wrote other %s than the run that is shown; it is kept in %s. That is so where a "
		"program prints times, addresses or random numbers\n",
		runs, what, kept);
}

/* The experiment that says which loops are hot: the one of --from, or that of a run of its own, whose output is aside. */
static int find_first(const struct sn_args *args, struct sn_loop_run *run, struct sn_text *path,
		      struct sn_written *aside)
{
	const struct sn_record_options first = { .is_first_of_several = true,
						 .standard_fds = aside->fds };
	const char *from = sn_args_value(args, "from");
	struct sn_record_result result;
	struct sn_streams streams;
	int code;

	if (from) {
		sn_text_add(path, from);
		return SN_EXIT_OK;
	}
	if (!sn_args_flag(args, "quiet"))
		fprintf(stderr,
			"sonde: a first run finds the %ss; what it prints is kept, not shown\n",
			noun_of(run));
	sn_streams_open(&streams);
	sn_streams_rewind(&streams);
	sn_written_begin(aside, true);
	code = sn_cli_record_with(args, &first, &result);
	sn_written_end(aside);
	sn_streams_rewind(&streams);
	sn_streams_close(&streams);
	if (result.experiment_path.chars) {
		sn_text_add(path, result.experiment_path.chars);
		sn_written_keep(aside, path->chars);
	} else {
		sn_written_show(aside); /* it is the only one */
	}
	sn_text_free(&result.experiment_path);
	run->first_code = code;
	return path->chars ? SN_EXIT_OK : code;
}

#define LOOPS_UNLESS_SAID "top:50"

static const char *verb_of(const struct sn_loop_run *run)
{
	return run->verb ? run->verb : "counted";
}

static const char *label_of(const struct sn_analysis *analysis, const struct sn_loop_run *run,
			    const struct sn_loop_refusal *refusal)
{
	const struct sn_program *program = analysis->program;

	if (refusal->loop == SN_NONE)
		return refusal->label;
	return run->of_functions ? program->functions.items[refusal->loop].name
				 : program->loops.items[refusal->loop].code->label;
}

static void say_refusals(const struct sn_analysis *analysis, const struct sn_loop_run *run,
			 const struct sn_loop_plans *plans)
{
	enum { SHOWN = 5 };

	for (size_t i = 0; i < plans->refusals.count && i < SHOWN; i++) {
		const struct sn_loop_refusal *refusal = &plans->refusals.items[i];

		fprintf(stderr, "sonde: %s is not %s: %s\n", label_of(analysis, run, refusal),
			verb_of(run), refusal->why);
	}
	if (plans->refusals.count > SHOWN)
		fprintf(stderr, "sonde: nor are %zu others%s\n", plans->refusals.count - SHOWN,
			run->of_functions ? " that samples met"
					  : " ('sonde structure -l rewritable' says why)");
}

/* Nothing is known of a program that failed, and the way that it ended is why. */
static sn_status refuse_ended(const struct sn_loop_run *run, int *code, struct sn_error *err)
{
	enum { SIGNALLED = 128 };
	int signal = run->first_code - SIGNALLED;

	*code = run->first_code;
	if (signal > 0 && sigabbrev_np(signal))
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "the program was ended by SIG%s (%s) in the first run, before "
				    "a sample lay in a loop that is wanted",
				    sigabbrev_np(signal), strsignal(signal));
	return sn_error_set(err, SN_ERR_NO_DATA,
			    "the program ended with status %d in the first run, and no sample of "
			    "it lies in a loop that is wanted: let it work longer, or name loops "
			    "with --loops",
			    run->first_code);
}

/* `*code` gets the exit code for who has no plans. */
static sn_status make_plans(const struct sn_args *args, const struct sn_loop_run *run,
			    const struct sn_analysis *analysis, const char *unless_said,
			    struct sn_loop_plans *plans, int *code, struct sn_error *err)
{
	struct sn_loop_choice choice = { 0 };
	struct sn_target target;
	sn_status status = run->of_functions ? SN_OK
					     : sn_cli_loop_choice(args, analysis->profile,
								  unless_said, &choice, err);

	*code = SN_EXIT_NOT_MEASURED;
	if (status != SN_OK)
		return status;
	if (run->is_one_of_nest && !(choice.is_all && run->variants & SN_REWRITER_INNERMOST)) {
		sn_loop_choice_keep_one_of_nest(analysis->profile, &choice);
		choice.is_all = false;
	}
	if (sn_target_find(args->operands[0], &target, NULL) == SN_OK)
		choice.program = target.path;
	if (run->of_functions)
		sn_function_plans_make(analysis->profile, plans);
	else
		sn_loop_plans_make(analysis->profile, &choice, run->variants, plans);
	sn_loop_choice_free(&choice);
	if (plans->loops)
		return SN_OK;
	if (plans->refusals.count)
		status = sn_error_set(err, SN_ERR_NO_DATA, "no %s can be %s; %s: %s", noun_of(run),
				      verb_of(run),
				      label_of(analysis, run, &plans->refusals.items[0]),
				      plans->refusals.items[0].why);
	else if (run->of_functions)
		status = sn_error_set(err, SN_ERR_NO_DATA,
				      "the program's file has no function that can be counted");
	else if (run->is_first_ours && run->first_code)
		status = refuse_ended(run, code, err);
	else if (run->is_first_ours)
		status = sn_error_set(
			err, SN_ERR_NO_DATA,
			"no sample of the first run lies in a loop that is wanted: let the "
			"program work longer, or name loops with --loops");
	else
		status = sn_error_set(err, SN_ERR_NO_DATA,
				      "no sample of '%s' lies in a loop that is wanted: let the "
				      "program work longer, or name loops with --loops",
				      sn_experiment_given_path(analysis->experiment));
	sn_loop_plans_free(plans);
	return status;
}

/* What the user should know of the run before he looks at its tables. */
static void say_outcome(const struct sn_loop_run *run, const struct sn_loop_plans *plans,
			const struct sn_record_result *result)
{
	const char *path = result->experiment_path.chars;

	if (!path)
		return;
	if (!result->copied_loops)
		fprintf(stderr,
			"sonde: none of these %ss was %s: 'sonde show summary %s' says why\n",
			noun_of(run), verb_of(run), path);
	else if (result->copied_loops < plans->entries && run->of_functions)
		fprintf(stderr,
			"sonde: not all of these functions were counted: 'sonde show summary %s' says why\n",
			path);
	else if (result->copied_loops < plans->entries)
		fprintf(stderr,
			"sonde: %u of these %zu loops were %s in one process; for the others see "
			"'sonde show summary %s'\n",
			result->copied_loops, plans->loops, verb_of(run), path);
	if (result->have_accesses_ended)
		fprintf(stderr,
			"sonde: the space for data was used up (--max-size MB; 1000 unless said): accesses "
			"were recorded until then, since then instances are only counted\n");
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What the loops took before, for who compares the copies with them. */
static void keep_untouched(const struct sn_profile *first, double counter_hz,
			   const struct sn_record_result *result)
{
	struct sn_error err;

	if (result->experiment_path.chars &&
	    sn_untouched_write(first, counter_hz, result->experiment_path.chars, &err) != SN_OK)
		sn_error_print(&err);
}

static void run_counted(const struct sn_args *args, const struct sn_loop_run *run,
			const struct sn_loop_plans *plans, const char *into,
			struct sn_record_result *result)
{
	struct sn_record_options what = { .every = run->every,
					  .budget_percent = run->budget_percent,
					  .variant_threads = run->threads,
					  .has_accesses = run->variants & SN_REWRITER_RECORDER,
					  .without_heap = run->without_heap,
					  .max_bytes = run->max_bytes,
					  .standard_fds = run->written ? run->written->fds : NULL,
					  .output = into };
	struct sn_record_plan *files = sn_alloc_zeroed(plans->modules.count + 1, sizeof(*files));

	for (size_t i = 0; i < plans->modules.count; i++)
		files[i] = (struct sn_record_plan){ plans->modules.items[i].id,
						    plans->modules.items[i].bytes.chars,
						    plans->modules.items[i].bytes.length };
	what.plans = files;
	what.plan_count = plans->modules.count;
	sn_cli_record_with(args, &what, result);
	free(files);
}

static void say_plans(const struct sn_analysis *analysis, const struct sn_loop_run *run,
		      const struct sn_loop_plans *plans)
{
	bool is_one = plans->loops == 1;

	fprintf(stderr, "sonde: %zu %s%s %s, with %.0f %% of CPU time%s\n", plans->loops,
		noun_of(run), is_one ? " is" : "s are", verb_of(run), 100 * plans->covered_share,
		run->of_functions ? "; the C library, the loader and runtimes run as they are"
				  : "");
	say_refusals(analysis, run, plans);
	if (plans->left_out)
		fprintf(stderr, "sonde: %zu %s%s%s left out: a process has room for %d%s\n",
			plans->left_out, noun_of(run), plans->left_out == 1 ? "" : "s",
			run->of_functions      ? plans->left_out == 1 ? " is" : " are"
			: plans->left_out == 1 ? " that no sample met is"
					       : " that no sample met are",
			SN_PLAN_LOOPS_MAX, run->of_functions ? " pieces of functions" : "");
}

sn_status sn_cli_loop_run_foresee(const struct sn_args *args, const struct sn_loop_run *run,
				  const struct sn_analysis *analysis, int *code,
				  struct sn_error *err)
{
	struct sn_loop_plans plans = { 0 };
	sn_status status = make_plans(args, run, analysis, LOOPS_UNLESS_SAID, &plans, code, err);

	if (status == SN_OK && !sn_args_flag(args, "quiet"))
		say_plans(analysis, run, &plans);
	if (status == SN_OK)
		sn_loop_plans_free(&plans);
	return status;
}

/* A program that is not found is refused by who runs it. */
static sn_status check_program(const struct sn_args *args, struct sn_error *err)
{
	struct sn_target target;

	return sn_target_find(args->operands[0], &target, NULL) == SN_OK
		       ? sn_target_check_insertable(&target, err)
		       : SN_OK;
}

sn_status sn_cli_loop_run_of(const struct sn_args *args, const struct sn_loop_run *run,
			     const struct sn_analysis *analysis, const char *unless_said,
			     const char *into, struct sn_record_result *result,
			     struct sn_error *err)
{
	struct sn_loop_plans plans = { 0 };
	uint64_t begin;
	double begin_s;
	sn_status status = check_program(args, err);

	if (status == SN_OK)
		status = make_plans(args, run, analysis, unless_said, &plans, &result->exit_code,
				    err);

	if (status != SN_OK)
		return status;
	if (!sn_args_flag(args, "quiet"))
		say_plans(analysis, run, &plans);
	begin_s = seconds_now();
	begin = __builtin_ia32_rdtsc();
	run_counted(args, run, &plans, into, result);
	if (!(run->variants & SN_REWRITER_RECORDER) && !run->of_functions)
		keep_untouched(analysis->profile,
			       (double)(__builtin_ia32_rdtsc() - begin) / (seconds_now() - begin_s),
			       result);
	if (!sn_args_flag(args, "quiet"))
		say_outcome(run, &plans, result);
	sn_loop_plans_free(&plans);
	return SN_OK;
}

/* What can be said before anything has run. */
static sn_status check(const struct sn_args *args, const struct sn_loop_run *run,
		       struct sn_error *err)
{
	if (!args->operand_count)
		return sn_error_set(err, SN_ERR_USAGE,
				    "what shall be run? sonde %s -- PROGRAM ARGS", run->command);
	if (sn_launch_is_rank() && sn_args_value(args, "launcher"))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"this is one rank of a launch already, and launches none: leave "
			"--launcher away");
	if (sn_launch_is_rank() && !sn_args_value(args, "from") && !sn_args_flag(args, "keep-text"))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"one rank of a launch cannot run the program once more to find its loops: "
			"name an experiment that has them (mpirun -n RANKS sonde record PROGRAM, "
			"then mpirun -n RANKS sonde %s --from EXPERIMENT -- PROGRAM)",
			run->command);
	if (!sn_args_flag(args, "keep-text") && check_program(args, err) != SN_OK)
		return err->status;
	return run->of_functions ? SN_OK : sn_cli_loop_choice_check(args, err);
}

void sn_cli_loop_run_kept(const struct sn_args *args, const struct sn_loop_run *run,
			  const char *path)
{
	if (sn_args_flag(args, "quiet"))
		return;
	fprintf(stderr,
		"sonde: with --keep-text nothing was written into the program's code: there are no %s. "
		"%s have their CPU time: sonde show %ss %s\n",
		run->needs_copies, run->of_functions ? "Functions" : "Loops", noun_of(run), path);
}

/* As it is, sampled. */
static int run_kept(const struct sn_args *args, const struct sn_loop_run *run)
{
	struct sn_record_result result;
	int code = sn_cli_record(args, &result);

	if (result.experiment_path.length)
		sn_cli_loop_run_kept(args, run, result.experiment_path.chars);
	sn_text_free(&result.experiment_path);
	return code;
}

/* Whether both runs wrote the same. */
static void compare_written(const struct sn_args *args, const struct sn_written *first,
			    const struct sn_written *shown, const char *folder)
{
	struct sn_text what = { 0 }, kept = { 0 };

	if (sn_written_differ(first, shown, &what) && !sn_args_flag(args, "quiet")) {
		sn_text_addf(&kept, "%s/", folder);
		sn_cli_say_written("the first run", what.chars, kept.chars);
	}
	sn_text_free(&what);
	sn_text_free(&kept);
}

/* The run that is the user's, whose output is shown. */
static sn_status run_shown(const struct sn_args *args, struct sn_loop_run *run,
			   const struct sn_analysis *analysis, const struct sn_written *first,
			   struct sn_record_result *result, struct sn_error *err)
{
	struct sn_written shown;
	sn_status status;

	sn_written_begin(&shown, false);
	run->written = &shown;
	status = sn_cli_loop_run_of(args, run, analysis, LOOPS_UNLESS_SAID, NULL, result, err);
	run->written = NULL;
	sn_written_end(&shown);
	if (status == SN_OK && run->is_first_ours)
		compare_written(args, first, &shown, analysis->experiment->path);
	else if (run->is_first_ours)
		sn_written_show(first);
	sn_written_close(&shown);
	return status;
}

int sn_cli_loop_run(const struct sn_args *args, const struct sn_loop_run *run)
{
	struct sn_record_result result = { .exit_code = SN_EXIT_NOT_MEASURED };
	struct sn_written aside = { 0 };
	struct sn_loop_run mine = *run;
	struct sn_analysis *analysis = NULL;
	struct sn_text first = { 0 };
	struct sn_error err;
	sn_status status = check(args, run, &err);
	int code = SN_EXIT_OK;

	if (status == SN_OK && sn_args_value(args, "launcher"))
		return sn_cli_loop_run_launched(args, run);
	if (status == SN_OK && sn_args_flag(args, "keep-text"))
		return run_kept(args, run);
	if (status == SN_OK)
		code = find_first(args, &mine, &first, &aside);
	if (status == SN_OK && !first.chars) {
		sn_written_close(&aside);
		return code;
	}
	if (status == SN_OK)
		status = sn_cli_analysis_open(first.chars, NULL, &analysis, &err);
	mine.is_first_ours = !sn_args_value(args, "from");
	if (status == SN_OK && !mine.is_first_ours)
		status = sn_cli_check_same_program(analysis->experiment, args->operands,
						   first.chars, &err);
	if (status == SN_OK)
		status = run_shown(args, &mine, analysis, &aside, &result, &err);
	if (result.experiment_path.chars && !sn_args_flag(args, "quiet"))
		fprintf(stderr, "sonde: %s; sonde show %s %s\n", result.experiment_path.chars,
			run->view, result.experiment_path.chars);
	if (status != SN_OK)
		sn_error_print(&err);
	sn_text_free(&result.experiment_path);
	sn_analysis_free(analysis);
	if (status != SN_OK && mine.is_first_ours && first.chars)
		sn_store_remove(first.chars, NULL); /* it was for this run alone */
	sn_text_free(&first);
	sn_written_close(&aside);
	return result.exit_code;
}

sn_status sn_cli_every(const struct sn_args *args, uint32_t *every, struct sn_error *err)
{
	long long value;
	sn_status status = sn_args_integer(args, "every", 0, &value, err);

	if (status == SN_OK && sn_args_value(args, "every") && (value < 1 || value > UINT32_MAX))
		status = sn_error_set(err, SN_ERR_USAGE, "--every takes a number from 1 on");
	if (status == SN_OK)
		*every = (uint32_t)value;
	return status;
}

sn_status sn_cli_budget(const struct sn_args *args, uint32_t otherwise, uint32_t most,
			uint32_t *percent, struct sn_error *err)
{
	long long value;
	sn_status status = sn_args_integer(args, "budget", otherwise, &value, err);

	if (status == SN_OK && (value < 1 || value > most))
		status = sn_error_set(err, SN_ERR_USAGE,
				      "--budget takes percent of CPU time, from 1 to %u", most);
	if (status == SN_OK)
		*percent = (uint32_t)value;
	return status;
}
