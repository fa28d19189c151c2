/*
 * sonde campaign run | plan | resume | cancel | add, and sonde scale: plans of runs, started,
 * stopped and gone on with.
 */
#include "cli/campaign.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/progress.h"
#include "campaign/engine.h"
#include "campaign/jobs.h"
#include "campaign/schedule.h"
#include "campaign/values.h"
#include "cli/campaign_progress.h"
#include "cli/loop_choice.h"
#include "record/target.h"

/* ---- running ---- */

struct asked {
	const char *progress;
	bool is_quiet;
	long long seed, retry; /* -1: not said */
	double budget_s;
};

static char *own_path(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (length <= 0)
		return sn_strdup("sonde");
	path[length] = '\0';
	return sn_strdup(path);
}

/* Runs that failed for good are not tried again by resume alone. */
static void missing_tell(const struct sn_campaign *c, size_t missing, const char *path)
{
	uint32_t retries = sn_campaign_retries_needed(c->plan, c->state);
	struct sn_text retry = { 0 };

	if (retries)
		sn_text_addf(&retry, " --retry %u", retries);
	fprintf(stderr,
		"sonde: %zu run%s %s not done; 'sonde campaign status %s' says why, 'sonde campaign "
		"resume%s %s' %s\n",
		missing, missing == 1 ? "" : "s", missing == 1 ? "is" : "are", path,
		retry.chars ? retry.chars : "", path,
		retries ? "tries failed ones again" : "goes on");
	sn_text_free(&retry);
}

/* What was not said counts as one. */
static uint64_t workers_of(const struct sn_campaign_configuration *c)
{
	return (uint64_t)(c->ranks ? c->ranks : 1) * (c->threads ? c->threads : 1);
}

/* What the runs that are done can be looked at with: workers that differ scale, others differ or not. */
static const char *next_command(const struct sn_campaign *c)
{
	const struct sn_campaign_configuration *all = c->plan->configurations.items;
	size_t count = c->plan->configurations.count;

	for (size_t i = 1; i < count; i++)
		if (workers_of(&all[i]) != workers_of(&all[0]))
			return "show scalability";
	return count > 1 ? "diff" : "report";
}

static void outcome_tell(const struct sn_campaign *c, enum sn_campaign_end end, size_t missing)
{
	size_t suspicious = 0, done = 0, levels = sn_campaign_levels_missing(c);
	struct sn_text word = { 0 };

	for (size_t i = 0; i < c->state->attempts.count; i++) {
		suspicious += c->state->attempts.items[i].state == SN_RUN_SUSPICIOUS;
		done += c->state->attempts.items[i].state == SN_RUN_DONE;
	}
	sn_text_add_shell_word(&word, c->path);
	if (missing)
		missing_tell(c, missing, word.chars);
	if (levels)
		fprintf(stderr,
			"sonde: %zu configuration%s no run of level %u yet; 'sonde campaign status %s' "
			"says why, 'sonde campaign resume %s' tries again\n",
			levels, levels == 1 ? " has" : "s have", c->plan->level, word.chars,
			word.chars);
	if (suspicious)
		fprintf(stderr, "sonde: %zu run%s suspicious, and left out of statistics\n",
			suspicious, suspicious == 1 ? " is" : "s are");
	if (end == SN_CAMPAIGN_OUT_OF_BUDGET)
		fprintf(stderr, "sonde: the budget is used up (resume --budget gives another)\n");
	fprintf(stderr, "sonde: %s; sonde %s %s\n", word.chars,
		done ? next_command(c) : "campaign status", word.chars);
	sn_text_free(&word);
}

static int campaign_go(struct sn_campaign *c, const struct asked *asked)
{
	struct sn_campaign_teller teller = { .how = sn_campaign_telling_of(asked->progress,
									   asked->is_quiet) };
	char *sonde = own_path();
	struct sn_campaign_engine_options options = { .sonde = sonde,
						      .budget_s = asked->budget_s,
						      .retry = asked->retry,
						      .tell = sn_campaign_progress_tell,
						      .context = &teller };
	enum sn_campaign_end end = SN_CAMPAIGN_STOPPED;
	size_t missing = 0;
	struct sn_error err;
	sn_status status;

	signal(SIGPIPE, SIG_IGN); /* whoever read our progress may go; the runs go on */
	status = sn_campaign_run(c, &options, &end, &missing, &err);
	if (teller.is_drawn)
		fputs("\r\033[K", stderr);
	free(sonde);
	if (status != SN_OK)
		return sn_error_print(&err);
	if (!asked->is_quiet)
		outcome_tell(c, end, missing);
	return missing || sn_campaign_levels_missing(c) ? SN_EXIT_NO_DATA : SN_EXIT_OK;
}

static bool has_option(const struct sn_args *args, const char *name)
{
	for (const struct sn_option *o = args->command->options; o->name; o++)
		if (!strcmp(o->name, name))
			return true;
	return false;
}

/* `sonde run --repeat` has fewer options than the others. */
static sn_status asked_read(const struct sn_args *args, struct asked *out, struct sn_error *err)
{
	const char *budget = NULL;
	sn_status status;

	*out = (struct asked){ .is_quiet = sn_args_flag(args, "quiet"), .seed = -1, .retry = -1 };
	if (!has_option(args, "retry"))
		return SN_OK;
	status = sn_args_integer(args, "retry", -1, &out->retry, err);
	budget = sn_args_value(args, "budget");
	out->progress = sn_args_value(args, "progress");
	if (status == SN_OK && sn_args_value(args, "retry") && (out->retry < 0 || out->retry > 100))
		status = sn_error_set(err, SN_ERR_USAGE, "--retry takes 0 to 100");
	if (status == SN_OK && budget)
		status = sn_campaign_duration_parse(budget, &out->budget_s, err);
	return status;
}

static sn_status seed_read(const struct sn_args *args, struct asked *out, struct sn_error *err)
{
	uint32_t random;
	bool can_be_asked = has_option(args, "seed");
	sn_status status =
		can_be_asked ? sn_args_integer(args, "seed", -1, &out->seed, err) : SN_OK;

	if (status == SN_OK && can_be_asked && sn_args_value(args, "seed") && out->seed < 0)
		status = sn_error_set(err, SN_ERR_USAGE, "--seed takes a number from 0 on");
	if (out->seed < 0)
		out->seed = getrandom(&random, sizeof(random), 0) == sizeof(random)
				    ? random
				    : (long long)(sn_now_ns() & 0xffffffff);
	return status;
}

/* A program that is not there is so in every run. What a build makes, a name with something to fill in,
 * another PATH and the word of a launcher of one's own are not known yet. */
static bool is_known(const struct sn_campaign_plan *plan, const struct sn_campaign_configuration *c)
{
	for (size_t i = 0; i < c->environment.count; i++)
		if (!strcmp(c->environment.items[i].name, "PATH"))
			return false;
	return (!strcmp(plan->launcher, "local") || !strcmp(plan->launcher, "mpirun")) &&
	       !*c->build && !strchr(c->program, '{');
}

/* A program as the user called it: a plan of options (`here` is our folder then, else NULL) has its whole path. */
static const char *as_given(const char *program, const char *here)
{
	size_t length = here ? strlen(here) : 0;

	return length && !strncmp(program, here, length) && program[length] == '/' &&
			       strchr(program + length + 1, '/')
		       ? program + length + 1
		       : program;
}

/* Tells of the first configuration whose program is not there. An exit code if there is no program at
 * all; else 0, as the runs of the others are worth having. `here`: as in as_given. */
static int programs_tell(const struct sn_campaign_plan *plan, const char *here)
{
	struct sn_target target = { .exit_code = 0 };
	const char *found = "", *of = NULL;
	size_t missing = 0, count = plan->configurations.count;
	struct sn_error err, why;
	int code = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sn_campaign_configuration *c = &plan->configurations.items[i];

		if (!is_known(plan, c) || !strcmp(c->program, found))
			continue;
		if (sn_target_find(as_given(c->program, here), &target, missing ? &why : &err) ==
		    SN_OK) {
			found = c->program;
			continue;
		}
		of = missing++ ? of : c->name;
		code = code ? code : target.exit_code;
	}
	if (!missing)
		return 0;
	if (missing < count)
		sn_warn("%zu of %zu configurations cannot run, '%s' for one: %s", missing, count,
			of, err.sentence);
	else if (!here)
		fprintf(stderr, "sonde: configuration '%s': %s\n", of, err.sentence);
	else
		sn_error_print(&err);
	return missing < count ? 0 : code;
}

static int programs_check(const struct sn_campaign_begin *begin)
{
	struct sn_campaign_plan *plan = NULL;
	struct sn_error err;
	int code;

	if (sn_campaign_plan_read(begin->plan_bytes, begin->plan_length, begin->plan_name,
				  begin->plan_folder, &plan, &err) != SN_OK)
		return sn_error_print(&err);
	if (plan->loops && sn_cli_loop_words_check(plan->loops, &err) != SN_OK)
		code = sn_error_print(&err);
	else
		code = programs_tell(plan, strcmp(begin->plan_name, SN_PLAN_OF_OPTIONS)
						   ? NULL
						   : begin->plan_folder);
	sn_campaign_plan_free(plan);
	return code;
}

static int begin_and_go(struct sn_campaign_begin *begin, struct asked *asked)
{
	struct sn_campaign *campaign = NULL;
	struct sn_error err;
	int code = programs_check(begin);

	if (code)
		return code;

	begin->seed = (uint64_t)asked->seed;
	begin->retry = asked->retry;
	if (sn_campaign_create(begin, &campaign, &err) != SN_OK)
		return sn_error_print(&err);
	if (!asked->is_quiet)
		fprintf(stderr,
			"sonde: %s: %zu configuration%s, %u time%s each, in %s; seed %lld\n",
			campaign->path, campaign->plan->configurations.count,
			campaign->plan->configurations.count == 1 ? "" : "s",
			campaign->plan->repeat, campaign->plan->repeat == 1 ? "" : "s",
			campaign->plan->order == SN_CAMPAIGN_BLOCKS ? "shuffled blocks"
								    : "sequence",
			asked->seed);
	code = campaign_go(campaign, asked);
	sn_campaign_free(campaign);
	return code;
}

int sn_cli_campaign_of(const struct sn_campaign_wishes *wishes, const struct sn_args *args)
{
	struct sn_campaign_begin begin = { .plan_name = SN_PLAN_OF_OPTIONS,
					   .output = sn_args_value(args, "output") };
	struct asked asked = { 0 };
	struct sn_text text = { 0 };
	struct sn_error err;
	char *folder = realpath(".", NULL);
	sn_status status = asked_read(args, &asked, &err);
	int code;

	if (status == SN_OK)
		status = seed_read(args, &asked, &err);
	if (status == SN_OK)
		status = sn_campaign_plan_text(wishes, &text, &err);
	begin.plan_bytes = text.chars;
	begin.plan_length = text.length;
	begin.plan_folder = folder ? folder : "/";
	code = status == SN_OK ? begin_and_go(&begin, &asked) : sn_error_print(&err);
	sn_text_free(&text);
	free(folder);
	return code;
}

/* The folder that holds a file, absolute. */
static char *folder_of(const char *path)
{
	char *real = realpath(path, NULL), *slash = real ? strrchr(real, '/') : NULL;

	if (slash)
		slash[slash == real] = '\0';
	return real ? real : sn_strdup("/");
}

static int campaign_run(const struct sn_args *args)
{
	struct sn_campaign_begin begin = { .output = sn_args_value(args, "output") };
	struct asked asked = { 0 };
	struct sn_file_view view;
	struct sn_error err;
	sn_status status = asked_read(args, &asked, &err);
	char *folder;
	int code;

	if (status == SN_OK)
		status = seed_read(args, &asked, &err);
	if (status == SN_OK && args->operand_count != 1)
		status =
			sn_error_set(&err, SN_ERR_USAGE,
				     "give one plan: sonde campaign run PLAN ('sonde campaign plan "
				     "-- ./app' writes one)");
	if (status == SN_OK)
		status = sn_file_map(args->operands[0], &view, &err);
	if (status != SN_OK)
		return sn_error_print(&err);
	folder = folder_of(args->operands[0]);
	begin.plan_bytes = (const char *)view.bytes;
	begin.plan_length = view.length;
	begin.plan_name = args->operands[0];
	begin.plan_folder = folder;
	code = begin_and_go(&begin, &asked);
	free(folder);
	sn_file_unmap(&view);
	return code;
}

static int campaign_resume(const struct sn_args *args)
{
	struct sn_campaign *campaign = NULL;
	struct asked asked = { 0 };
	struct sn_error err;
	sn_status status = asked_read(args, &asked, &err);
	int code;

	if (status == SN_OK)
		status = sn_campaign_open(args->operand_count ? args->operands[0] : NULL, &campaign,
					  &err);
	if (status != SN_OK)
		return sn_error_print(&err);
	code = campaign_go(campaign, &asked);
	sn_campaign_free(campaign);
	return code;
}

static sn_status cancel(const char *name, struct sn_error *err)
{
	struct sn_campaign *campaign = NULL;
	struct sn_campaign_log log;
	sn_status status = sn_campaign_open(name, &campaign, err);
	pid_t holder;

	holder = status == SN_OK ? sn_campaign_holder(campaign->path) : 0;
	if (status == SN_OK && holder <= 1 && campaign->plan->jobs.is_used)
		status = sn_campaign_jobs_cancel(campaign, err);
	if (status == SN_OK)
		status = sn_campaign_log_open(campaign->path, &log, err);
	if (status == SN_OK) {
		status = sn_campaign_log_event(&log, "cancelled", NULL, NULL, err);
		sn_campaign_log_close(&log);
	}
	if (holder > 1 && kill(holder, SIGTERM))
		status = sn_error_errno(err, "cannot stop process %d, which runs '%s'", (int)holder,
					campaign->path);
	if (status == SN_OK)
		printf("%s: cancelled; 'sonde campaign resume' goes on with it\n", campaign->path);
	sn_campaign_free(campaign);
	return status;
}

static int campaign_cancel(const struct sn_args *args)
{
	struct sn_error err;

	return cancel(args->operand_count ? args->operands[0] : NULL, &err) == SN_OK
		       ? SN_EXIT_OK
		       : sn_error_print(&err);
}

static int campaign_job(const struct sn_args *args)
{
	long number = args->operand_count == 2 ? strtol(args->operands[1], NULL, 10) : 0;
	char *sonde = own_path();
	struct sn_error err;
	sn_status status;

	if (number > 0 && number < 1000000)
		status = sn_job_run(args->operands[0], (uint32_t)number, sonde, &err);
	else
		status = sn_error_set(
			&err, SN_ERR_USAGE,
			"give a campaign and the number of one of its jobs; scripts of "
			"jobs do");
	free(sonde);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static int campaign_add(const struct sn_args *args)
{
	struct sn_campaign *campaign = NULL;
	struct sn_error err;
	sn_status status = SN_OK;
	int lock = -1;

	if (args->operand_count < 2)
		status =
			sn_error_set(&err, SN_ERR_USAGE,
				     "give a campaign and experiments: sonde campaign add CAMPAIGN "
				     "EXPERIMENT...");
	if (status == SN_OK)
		status = sn_campaign_open(args->operands[0], &campaign, &err);
	if (status == SN_OK)
		status = sn_campaign_lock(campaign->path, &lock, &err);
	for (size_t i = 1; status == SN_OK && i < args->operand_count; i++)
		status = sn_campaign_add(campaign, args->operands[i],
					 sn_args_value(args, "configuration"), &err);
	if (lock >= 0)
		close(lock);
	sn_campaign_free(campaign);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

/* ---- plans from options ---- */

struct wishes_held {
	struct sn_campaign_wishes wishes;
	SN_VEC(const char *) environment;
};

static sn_status wishes_read(const struct sn_args *args, struct wishes_held *out,
			     struct sn_error *err)
{
	struct sn_campaign_wishes *w = &out->wishes;

	if (!args->operand_count)
		return sn_error_set(err, SN_ERR_USAGE,
				    "what shall be run? sonde %s -- PROGRAM ARGS",
				    args->command->name);
	for (size_t i = 0; i < args->given_count; i++)
		if (!strcmp(args->command->options[args->given[i].option].name, "env"))
			sn_vec_push(&out->environment, args->given[i].value);
	sn_vec_push(&out->environment, NULL);
	*w = (struct sn_campaign_wishes){ .name = sn_args_value(args, "name"),
					  .level = sn_args_value(args, "level"),
					  .loops = sn_args_value(args, "loops"),
					  .exclude = sn_args_value(args, "exclude"),
					  .repeat = sn_args_value(args, "repeat"),
					  .order = sn_args_value(args, "order"),
					  .launcher = sn_args_value(args, "launcher"),
					  .jobs = sn_args_value(args, "jobs"),
					  .parallel = sn_args_value(args, "parallel"),
					  .step = sn_args_value(args, "step"),
					  .template = sn_args_value(args, "template"),
					  .timeout = sn_args_value(args, "timeout"),
					  .budget = sn_args_value(args, "budget"),
					  .retry = sn_args_value(args, "retry"),
					  .helper_threads = sn_args_value(args, "helper-threads"),
					  .is_weak = sn_args_flag(args, "weak"),
					  .directory = sn_args_value(args, "directory"),
					  .build = sn_args_value(args, "build"),
					  .pin = sn_args_value(args, "pin"),
					  .threads = sn_args_value(args, "threads"),
					  .ranks = sn_args_value(args, "ranks"),
					  .dataset = sn_args_value(args, "dataset"),
					  .environment = out->environment.items,
					  .command = args->operands };
	return SN_OK;
}

static int campaign_plan(const struct sn_args *args)
{
	struct wishes_held held = { 0 };
	struct sn_campaign_plan *plan = NULL;
	struct sn_text text = { 0 };
	struct sn_error err;
	sn_status status = wishes_read(args, &held, &err);

	if (status == SN_OK)
		status = sn_campaign_plan_text(&held.wishes, &text, &err);
	/* what is printed can be run */
	if (status == SN_OK)
		status = sn_campaign_plan_read(text.chars, text.length, SN_PLAN_OF_OPTIONS, "/",
					       &plan, &err);
	if (status == SN_OK && plan->loops)
		status = sn_cli_loop_words_check(plan->loops, &err);
	if (status == SN_OK)
		fputs(text.chars, stdout);
	sn_campaign_plan_free(plan);
	sn_text_free(&text);
	sn_vec_free(&held.environment);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static int scale_run(const struct sn_args *args)
{
	struct wishes_held held = { 0 };
	struct sn_error err;
	sn_status status = wishes_read(args, &held, &err);
	int code;

	if (status == SN_OK && !held.wishes.threads && !held.wishes.ranks)
		status = sn_error_set(
			&err, SN_ERR_USAGE,
			"over what? sonde scale --threads 1,2,4 -- PROGRAM, or --ranks");
	code = status == SN_OK ? sn_cli_campaign_of(&held.wishes, args) : sn_error_print(&err);
	sn_vec_free(&held.environment);
	return code;
}

/* ---- the commands ---- */

#define RUN_OPTIONS                                                                                \
	{ "retry", 0, "N", "try a failed run again, N times at most", NULL },                      \
		{ "progress", 0, "HOW", "how to tell of runs: terminal, lines or json",            \
		  "terminal|lines|json" },                                                         \
		{ "budget", 0, "TIME", "begin no run that would end after so long: 90, 5m, 2h",    \
		  NULL },                                                                          \
	{                                                                                          \
		"quiet", 'q', NULL, "say nothing but errors", NULL                                 \
	}

#define BEGIN_OPTIONS                                                                              \
	{ "output", 'o', "FOLDER", "the campaign's folder (default: sonde.NAME.campaign.N)",       \
	  NULL },                                                                                  \
	{                                                                                          \
		"seed", 0, "N", "shuffle the blocks from this number", NULL                        \
	}

#define PLAN_OPTIONS                                                                                         \
	{ "threads", 0, "A,B,..", "run with each of these numbers of threads (OMP_NUM_THREADS)",             \
	  NULL },                                                                                            \
		{ "ranks", 0, "A,B,..", "run with each of these numbers of MPI ranks", NULL },               \
		{ "dataset", 0, "A,B,..", "run with each; {dataset} in the arguments", NULL },               \
		{ "repeat", 'r', "N", "run each so often (default 5)", NULL },                               \
		{ "level", 0, "N",                                                                           \
		  "2: of each configuration, one run with instances of its hot loops, too; 3: and variants", \
		  "1|2|3" },                                                                                 \
		SN_LOOP_CHOICE_OPTIONS("top:10"),                                                            \
		{ "weak", 0, NULL, "weak scaling: the work grows with the workers", NULL },                  \
		{ "launcher", 0, "COMMAND",                                                                  \
		  "local, mpirun, srun, 'sbatch [OPTIONS]', or a command with {command} in it",              \
		  NULL },                                                                                    \
		{ "jobs", 0, "OF", "with sbatch: one job for each run, each block, or all",                  \
		  "run|block|all" },                                                                         \
		{ "parallel", 0, "N", "with sbatch: so many jobs may run at once (default 1)",               \
		  NULL },                                                                                    \
		{ "step", 0, "COMMAND",                                                                      \
		  "with sbatch: what starts a run in its job (default: srun where ranks are set)",           \
		  NULL },                                                                                    \
		{ "template", 0, "FILE", "with sbatch: a script of yours with {command} in it",              \
		  NULL },                                                                                    \
		{ "helper-threads", 0, "N",                                                                  \
		  "so many threads of a rank may work besides those of --threads", NULL },                   \
		{ "order", 0, "ORDER", "blocks (shuffled, the default) or sequential",                       \
		  "blocks|sequential" },                                                                     \
		{ "timeout", 0, "TIME", "a run that takes longer has failed: 90, 5m, 2h", NULL },            \
		{ "build", 0, "COMMAND", "run this before; {build} is the folder that it fills",             \
		  NULL },                                                                                    \
		{ "directory", 0, "FOLDER", "run in this folder", NULL },                                    \
		{ "pin", 0, "CPUS", "run on these CPUs (taskset -c)", NULL },                                \
		{ "env", 0, "NAME=VALUE", "set in the environment; may be repeated", NULL },                 \
	{                                                                                                    \
		"name", 0, "NAME", "of the campaign's folder", NULL                                          \
	}

static const struct sn_option run_options[] = { BEGIN_OPTIONS, RUN_OPTIONS, { 0 } };
static const struct sn_option resume_options[] = { RUN_OPTIONS, { 0 } };
static const struct sn_option plan_options[] = {
	PLAN_OPTIONS,
	{ "retry", 0, "N", "try a failed run again, N times at most", NULL },
	{ "budget", 0, "TIME", "begin no run that would end after so long: 90, 5m, 2h", NULL },
	{ 0 },
};
static const struct sn_option scale_options[] = { PLAN_OPTIONS, BEGIN_OPTIONS, RUN_OPTIONS, { 0 } };
static const struct sn_option no_options[] = { { 0 } };
static const struct sn_option add_options[] = {
	{ "configuration", 0, "NAME", "they are runs of it (default: by their ranks and threads)",
	  NULL },
	{ 0 },
};

const struct sn_command sn_command_campaign_run = {
	.name = "campaign run",
	.operands = "PLAN",
	.summary = "Runs what a plan says, again and again, in shuffled blocks",
	.description =
		"A plan is commented INI: programs, arguments, data sets, ranks, threads, builds, "
		"and lists of values to multiply ('sonde campaign plan -- ./app' writes one). "
		"Nothing runs because a plan lies in a folder, only if it is named.\n\n"
		"In each block every configuration runs once, in an order that is shuffled from the "
		"seed, which is printed. So what the machine does meanwhile meets all alike. "
		"Programs have no input; their output is kept beside their experiments.\n\n"
		"Ranks and threads are verified from the experiment: a run with others has failed. "
		"After Ctrl-C, a kill or a reboot 'sonde campaign resume' runs exactly what is "
		"missing.\n\n"
		"The exit status is 0 if every run is done, 3 if some are missing.",
	.options = run_options,
	.examples = (const char *const[]){ "sonde campaign run nightly.ini --seed 7",
					   "run a plan, in the order that seed 7 gives", NULL },
	.run = campaign_run,
};

const struct sn_command sn_command_campaign_plan = {
	.name = "campaign plan",
	.operands = "-- PROGRAM [ARGS...]",
	.summary = "Writes the plan that options mean, and runs nothing",
	.description = "What is printed is a plan for 'sonde campaign run'.",
	.options = plan_options,
	.examples =
		(const char *const[]){
			"sonde campaign plan --threads 1,2,4 --repeat 8 -- ./app -n 2000 > scale.ini",
			"a plan to be read and changed first", NULL },
	.stops_at_operand = true,
	.run = campaign_plan,
};

const struct sn_command sn_command_campaign_resume = {
	.name = "campaign resume",
	.operands = "[CAMPAIGN]",
	.summary = "Runs what is missing of a campaign",
	.description =
		"After a kill, a reboot, Ctrl-C or 'sonde campaign cancel'. What is done is not run "
		"again; a run that ended while nobody looked is taken from its experiment. Failed "
		"runs are tried again only where --retry leaves a try; failed builds always.",
	.options = resume_options,
	.examples =
		(const char *const[]){ "sonde campaign resume", "the newest campaign here", NULL },
	.run = campaign_resume,
};

const struct sn_command sn_command_campaign_cancel = {
	.name = "campaign cancel",
	.operands = "[CAMPAIGN]",
	.summary = "Stops a campaign",
	.description =
		"The run in progress is ended, and jobs of sbatch are cancelled, also those of a "
		"campaign that was killed. What is done stays, and 'sonde campaign resume' goes "
		"on.",
	.options = no_options,
	.examples = (const char *const[]){ "sonde campaign cancel sonde.app.campaign.1",
					   "stop this one", NULL },
	.run = campaign_cancel,
};

const struct sn_command sn_command_campaign_job = {
	.name = "campaign job",
	.operands = "CAMPAIGN N",
	.summary = "Runs the runs of job N of a campaign; for scripts of jobs",
	.description =
		"With launcher = sbatch a campaign writes scripts and submits them; this stands in "
		"them where a template has {command}. It runs, one after the other, the runs that the "
		"job was submitted for, and reports their ends through the campaign's folder. A run "
		"that was given up, or that the job has run before, is passed over.",
	.options = no_options,
	.examples = (const char *const[]){ "sonde campaign job /scratch/sonde.app.campaign.1 3",
					   "what the script of the third job does", NULL },
	.run = campaign_job,
};

const struct sn_command sn_command_campaign_add = {
	.name = "campaign add",
	.operands = "CAMPAIGN EXPERIMENT...",
	.summary = "Adds experiments that were made by hand to a campaign",
	.description = "They stay where they are. Their configuration is named after their ranks "
		       "and threads unless --configuration names one.",
	.options = add_options,
	.examples = (const char *const[]){ "sonde campaign add sonde.app.campaign.1 sonde.app.3",
					   "one run more", NULL },
	.run = campaign_add,
};

const struct sn_command sn_command_scale = {
	.name = "scale",
	.operands = "-- PROGRAM [ARGS...]",
	.summary = "Runs a program over numbers of threads and ranks, for its scalability",
	.description =
		"A short form of 'sonde campaign run': every number of threads with every number of "
		"ranks, each --repeat times in shuffled blocks. 'sonde show scalability' then says "
		"what scales and what does not. {threads} and {ranks} in the arguments are filled "
		"in; OMP_NUM_THREADS is set. With --ranks the launcher is mpirun unless another is "
		"named.",
	.options = scale_options,
	.examples =
		(const char *const[]){ "sonde scale --threads 1,2,4 --repeat 5 -- ./app",
				       "fifteen runs",
				       "sonde scale --ranks 1,2,4 --weak -- ./app -n {ranks}000",
				       "weak scaling: the size grows with the ranks", NULL },
	.stops_at_operand = true,
	.run = scale_run,
};
