/* sonde search: which performance properties hold, where, and what they cost. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wordexp.h>

#include "base/alloc.h"
#include "base/file.h"
#include "caches/config.h"
#include "cli/analysis_options.h"
#include "cli/command.h"
#include "cli/launcher.h"
#include "experiment/store.h"
#include "record/target.h"
#include "cli/properties.h"
#include "cli/search.h"
#include "profile/data_objects.h"
#include "search/engine/search.h"
#include "search/evidence/sources.h"
#include "search/online/copies.h"
#include "search/online/further.h"
#include "search/online/online.h"
#include "search/simulate/simulate.h"

enum { RESTARTS = 6 };

struct asked {
	struct sn_sim_config caches;
	bool has_caches;
	struct sn_search_options options;
	const char *experiment, *format, *arch;
	double check; /* a severity; infinite: not given */
	/* of a program that is run */
	bool is_online;
	long long restarts, steps;
	double budget;
	enum sn_suspend suspend;
	double max_time_s;
	wordexp_t launch; /* we_wordc 0: none */
	char **words;	  /* the launcher's, then the program's */
};

sn_status sn_search_share_read(const struct sn_args *args, const char *name, double otherwise,
			       double *out, struct sn_error *err)
{
	sn_status status = sn_args_real(args, name, otherwise, out, err);

	if (status == SN_OK && sn_args_value(args, name) && !(*out >= 0 && *out <= 1))
		status = sn_error_set(err, SN_ERR_USAGE, "--%s takes a share from 0 to 1, not '%s'",
				      name, sn_args_value(args, name));
	return status;
}

sn_status sn_search_fanout_read(const struct sn_args *args, uint32_t *out, struct sn_error *err)
{
	long long fanout;
	sn_status status = sn_args_integer(args, "fanout", SN_FANOUT, &fanout, err);

	if (status == SN_OK && (fanout < 2 || fanout > SN_FANOUT_MOST))
		status = sn_error_set(err, SN_ERR_USAGE,
				      "--fanout takes a number from 2 to %d, not '%s'",
				      SN_FANOUT_MOST, sn_args_value(args, "fanout"));
	*out = (uint32_t)fanout;
	return status;
}

enum sn_severity sn_search_severity_read(const struct sn_args *args)
{
	const char *word = sn_args_value(args, "severity");

	return word && !strcmp(word, "rate") ? SN_SEVERITY_RATE : SN_SEVERITY_LOST;
}

double sn_search_threshold(const struct sn_args *args)
{
	return sn_search_severity_read(args) == SN_SEVERITY_RATE ? 0.02 : 0.05;
}

/* Options that only make sense of a program that is run. */
static const char *const running[] = { "launch",  "restarts", "max-time", "output", "phase",
				       "suspend", "agents",   "fanout",	  "hosts",  "join" };
enum { RUNNING = sizeof(running) / sizeof(*running) };

static bool is_to_run(const struct sn_args *args)
{
	for (size_t i = 0; i < RUNNING; i++)
		if (sn_args_value(args, running[i]))
			return true;
	return false;
}

static bool is_program(const char *operand)
{
	struct sn_target target;
	struct sn_error err;

	return sn_target_find(operand, &target, &err) == SN_OK;
}

/* A word can be both: `work`, which is on the PATH, and the folder that an earlier search of it has left. It is
 * the program where an option says that one is run. */
static bool is_experiment(const struct sn_args *args, const char *operand)
{
	return operand[0] == '@' ||
	       (sn_store_is_experiment(operand) && !(is_to_run(args) && is_program(operand)));
}

/* What only makes sense of one of both. */
static sn_status operands_check(const struct sn_args *args, const struct asked *asked,
				struct sn_error *err)
{
	static const char *const recorded[] = { "experiment", "time",	"thread",
						"process",    "module", "function" };

	if (!asked->is_online && args->operand_count > 1)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"search takes one experiment, or a program with its words; what "
			"is '%s'?",
			args->operands[1]);
	for (size_t i = 0; asked->is_online && i < sizeof(recorded) / sizeof(*recorded); i++)
		if (sn_args_value(args, recorded[i]))
			return sn_error_set(
				err, SN_ERR_USAGE,
				"--%s is for runs that were recorded: leave it away, or '%s'",
				recorded[i], args->operands[0]);
	for (size_t i = 0; !asked->is_online && i < RUNNING; i++)
		if (sn_args_value(args, running[i]))
			return sn_error_set(
				err, SN_ERR_USAGE,
				"--%s is for a program that is run: sonde search --%s %s "
				"./app",
				running[i], running[i], sn_args_value(args, running[i]));
	return SN_OK;
}

static sn_status count_read(const struct sn_args *args, const char *name, long long otherwise,
			    long long least, long long *out, struct sn_error *err)
{
	sn_status status = sn_args_integer(args, name, otherwise, out, err);

	if (status == SN_OK && sn_args_value(args, name) && (*out < least || *out > INT_MAX))
		status = sn_error_set(err, SN_ERR_USAGE,
				      "--%s takes a number from %lld on, not '%s'", name, least,
				      sn_args_value(args, name));
	return status;
}

static sn_status launch_read(const struct sn_args *args, struct asked *out, struct sn_error *err)
{
	const char *launch = sn_args_value(args, "launch");

	if (launch && sn_cli_launcher_read("launch", launch, &out->launch, err) != SN_OK)
		return SN_ERR_USAGE;
	out->words = sn_alloc_zeroed(out->launch.we_wordc + args->operand_count + 1,
				     sizeof(*out->words));
	for (size_t i = 0; i < out->launch.we_wordc; i++)
		out->words[i] = out->launch.we_wordv[i];
	for (size_t i = 0; i < args->operand_count; i++)
		out->words[out->launch.we_wordc + i] = args->operands[i];
	return SN_OK;
}

static enum sn_suspend suspend_of(const char *word)
{
	return !word || !strcmp(word, "brief") ? SN_SUSPEND_BRIEF
	       : !strcmp(word, "always")       ? SN_SUSPEND_ALWAYS
					       : SN_SUSPEND_NEVER;
}

static void asked_free(struct asked *asked)
{
	if (asked->launch.we_wordc)
		wordfree(&asked->launch);
	free(asked->words);
}

static sn_status asked_read(const struct sn_args *args, struct asked *out, struct sn_error *err)
{
	sn_status status = sn_search_share_read(args, "threshold", sn_search_threshold(args),
						&out->options.threshold, err);

	if (status == SN_OK)
		status = sn_search_share_read(args, "check", INFINITY, &out->check, err);
	if (status == SN_OK)
		status = sn_search_share_read(args, "budget", 0.05, &out->budget, err);
	if (status == SN_OK)
		status = count_read(args, "restarts", RESTARTS, 0, &out->restarts, err);
	if (status == SN_OK)
		status = count_read(args, "steps", 0, 1, &out->steps, err);
	if (status == SN_OK)
		status = sn_args_real(args, "max-time", 0, &out->max_time_s, err);
	if (status == SN_OK && !(out->max_time_s >= 0))
		status = sn_error_set(err, SN_ERR_USAGE, "--max-time is not negative");
	out->has_caches = sn_args_value(args, "caches") != NULL;
	sn_sim_config_native(&out->caches);
	if (status == SN_OK && out->has_caches)
		status = sn_sim_config_parse(sn_args_value(args, "caches"), &out->caches, err);
	out->suspend = suspend_of(sn_args_value(args, "suspend"));
	out->options.strategy = sn_args_value(args, "strategy");
	out->options.start = sn_args_value(args, "start");
	out->options.severity = sn_search_severity_read(args);
	out->options.steps_most = (uint32_t)out->steps;
	out->options.mode = "experiment";
	out->options.has_agents = sn_args_value(args, "agents") != NULL;
	out->options.first.executions = 1;
	out->experiment = sn_args_value(args, "experiment");
	out->format = sn_args_value(args, "format");
	out->arch = sn_args_value(args, "arch");
	out->is_online = args->operand_count && !is_experiment(args, args->operands[0]);
	if (!out->experiment)
		out->experiment = args->operand_count ? args->operands[0] : "@0";
	if (status == SN_OK)
		status = operands_check(args, out, err);
	return status == SN_OK ? launch_read(args, out, err) : status;
}

static bool is_for_people(const char *format)
{
	return !format || !strcmp(format, "text");
}

static void result_print(const struct sn_search *search, const char *format, FILE *out)
{
	if (is_for_people(format))
		sn_search_write_text(search, out);
	else if (!strcmp(format, "json"))
		sn_search_write_json(search, out);
	else if (!strcmp(format, "csv"))
		sn_search_write_csv(search, out);
	else
		sn_search_write_xml(search, out);
}

/* Locators are no losses. */
static bool reaches(const struct sn_search *search, double severity)
{
	for (size_t i = 0; i < search->findings.count; i++)
		if (!search->findings.items[i].is_left_out &&
		    search->findings.items[i].severity >= severity &&
		    !sn_search_is_locator(sn_finding_property(search, &search->findings.items[i])))
			return true;
	return false;
}

/* What it found stays with the run, for `sonde show searched` and the page; an archive, or a folder that may not be
 * written, stays as it is. */
static void result_keep(const struct sn_search *search, const char *experiment_path)
{
	struct sn_text path = { 0 };
	struct sn_file_writer writer;
	struct sn_error err;

	sn_text_addf(&path, "%s/search.tsv", experiment_path);
	if (!access(experiment_path, W_OK) &&
	    sn_file_writer_open(&writer, path.chars, &err) == SN_OK) {
		sn_search_write_rows(search, writer.out);
		sn_file_writer_commit(&writer, &err);
	}
	sn_text_free(&path);
}

/* What a search has left that ran the program: executions of a phase, and more that was measured, are better than what the
 * recorded run gives. Why it stays, as a sentence; NULL: it does not. */
static const char *why_kept(const struct sn_search *search, const char *experiment_path)
{
	struct sn_text path = { 0 };
	size_t unmeasured = SIZE_MAX;
	bool has_executions;
	FILE *in;

	sn_text_addf(&path, "%s/search.tsv", experiment_path);
	in = fopen(path.chars, "r");
	if (in) {
		unmeasured = sn_search_rows_unmeasured(in);
		fclose(in);
	}
	sn_text_clear(&path);
	sn_text_addf(&path, "%s/search.spool", experiment_path);
	has_executions = !access(path.chars, F_OK);
	sn_text_free(&path);
	if (unmeasured == SIZE_MAX)
		return NULL;
	return has_executions				   ? "it measured executions of a phase"
	       : unmeasured < search->not_measurable.count ? "more was measurable there"
							   : NULL;
}

static void recorded_result_keep(const struct sn_search *search, const char *experiment_path,
				 bool is_quiet)
{
	const char *why = why_kept(search, experiment_path);

	if (!why)
		result_keep(search, experiment_path);
	else if (!is_quiet)
		fprintf(stderr,
			"sonde: 'show searched' and the page keep what the search found that ran the "
			"program: %s\n",
			why);
}

int sn_search_answer(const struct sn_search *search, const char *format, double check)
{
	result_print(search, format, stdout);
	return reaches(search, check) ? SN_EXIT_FINDING : SN_EXIT_OK;
}

/* Values stay those of the run; names of its variables are lost. */
static void replaced_warn(const struct sn_experiment *e)
{
	struct sn_data_objects *data = sn_data_objects_new(e);
	const char *name = NULL;

	for (uint32_t p = 0; p < e->processes.count && !name; p++)
		name = sn_data_program_replaced(data, p);
	if (name)
		sn_warn("'%s' has changed since the run: its variables have no names here", name);
	sn_data_objects_free(data);
}

static sn_status run_search(struct sn_analysis *analysis, const struct sn_library *library,
			    const struct asked *asked, bool is_quiet, bool *reached,
			    struct sn_error *err)
{
	const struct sn_analysis_options options = { .arch = asked->arch };
	struct sn_search_options search_options = asked->options;
	struct sn_recorded *recorded = sn_recorded_new(analysis->profile, analysis->structures,
						       sn_analysis_machine(analysis));
	struct sn_search *search = NULL;
	sn_status status;

	recorded->caches = &asked->caches;
	if (!is_quiet)
		replaced_warn(analysis->experiment);
	for (const struct sn_source *const *source = sn_sources; *source; source++)
		(*source)->collect(recorded);
	if (!analysis->profile->is_filtered)
		search_options.first.executions += (uint32_t)__builtin_popcount(
			sn_further_join(recorded, analysis, &options, asked->budget, is_quiet));
	search_options.barren = sn_copies_barren(analysis, recorded, search_options.threshold);
	status = sn_search_run(recorded, library, &search_options, &search, err);
	if (status == SN_OK) {
		search->phase.executions = search_options.first.executions;
		result_print(search, asked->format, stdout);
		*reached = reaches(search, asked->check);
		if (!analysis->profile->is_filtered)
			recorded_result_keep(search, analysis->experiment->path, is_quiet);
	}
	sn_search_free(search);
	sn_recorded_free(recorded);
	return status;
}

static void both_tell(const char *operand)
{
	if (sn_store_is_experiment(operand) && is_program(operand))
		fprintf(stderr,
			"sonde: '%s' is a recorded run here, which is searched, and a program, too: an option "
			"such as --restarts %d before it, or its path, runs that\n",
			operand, RESTARTS);
}

static sn_status recorded_search(const struct sn_args *args, const struct asked *asked,
				 const struct sn_library *library, bool *reached,
				 struct sn_error *err)
{
	struct sn_analysis_arguments arguments;
	struct sn_analysis *analysis = NULL;
	sn_status status = sn_analysis_arguments_read(args, &arguments, err);

	if (status != SN_OK)
		return status;
	if (args->operand_count && !sn_args_flag(args, "quiet"))
		both_tell(args->operands[0]);
	arguments.options.arch = sn_args_value(args, "arch");
	status = sn_cli_analysis_open(asked->experiment, &arguments.options, &analysis, err);
	if (status == SN_OK)
		status = run_search(analysis, library, asked, sn_args_flag(args, "quiet"), reached,
				    err);
	sn_analysis_free(analysis);
	sn_analysis_arguments_free(&arguments);
	return status;
}

/* ---- hosts ---- */

typedef SN_VEC(const char *) word_vec;

/* A path is the same one for whoever starts in another folder. */
static const char *passed_value(const char *value, bool is_path)
{
	char *whole = is_path && strchr(value, '/') ? realpath(value, NULL) : NULL;

	if (!whole && is_path && !access(value, F_OK))
		whole = realpath(value, NULL);
	return whole ? whole : value;
}

/* What hosts need to search as the front does. The texts live as long as the process. */
static void passed_list(const struct sn_args *args, word_vec *out)
{
	static const char *const passed[] = { "strategy", "start",  "properties", "threshold",
					      "severity", "steps",  "arch",	  "suspend",
					      "max-time", "fanout", "budget" };

	for (size_t i = 0; i < args->given_count; i++) {
		const char *name = args->command->options[args->given[i].option].name;
		struct sn_text option = { 0 };

		for (size_t k = 0; k < sizeof(passed) / sizeof(*passed); k++) {
			if (strcmp(name, passed[k]))
				continue;
			sn_text_addf(&option, "--%s=%s", name,
				     passed_value(args->given[i].value,
						  !strcmp(name, "properties") ||
							  !strcmp(name, "strategy")));
			sn_vec_push(out, sn_text_take(&option));
		}
	}
	sn_vec_push(out, NULL);
}

/* The phase has to be known before agents are there, and so has who starts them. */
static sn_status agents_check(const struct sn_args *args, struct sn_error *err)
{
	static const char *const of_hosts[] = { "fanout", "hosts" };
	const char *agents = sn_args_value(args, "agents"), *phase = sn_args_value(args, "phase");

	if (!agents && sn_args_value(args, "join"))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--join needs --agents auto, local, wait, alone or result: what it is to be there");
	for (size_t i = 0; !agents && i < sizeof(of_hosts) / sizeof(*of_hosts); i++)
		if (sn_args_value(args, of_hosts[i]))
			return sn_error_set(err, SN_ERR_USAGE,
					    "--%s is for a search with an agent on each host: it "
					    "needs --agents",
					    of_hosts[i]);
	if (!phase && sn_args_value(args, "suspend"))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--suspend needs --phase: without a phase the program is never stopped");
	if (!agents)
		return SN_OK;
	if (!phase)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--agents needs --phase: without a phase no agent is needed");
	return sn_args_value(args, "join") ? SN_OK : sn_hosts_agents_check(agents, err);
}

/* The result of a search whose front was killed. */
static sn_status again(const struct sn_online_options *options, const char *folder,
		       const struct asked *asked, bool *reached, struct sn_error *err)
{
	struct sn_online online = { 0 };
	sn_status status = sn_online_again(options, folder, &online, err);

	if (status == SN_OK) {
		result_print(online.search, asked->format, stdout);
		*reached = reaches(online.search, asked->check);
		result_keep(online.search, online.path.chars);
	}
	sn_online_free(&online);
	return status;
}

/* The program's standard output is its own, with the answer for people on standard error. Where a
 * document is asked for, that is standard output, and the program's goes to standard error. */
static sn_status program_search(const struct sn_args *args, const struct asked *asked,
				const struct sn_library *library, bool *reached, int *code,
				struct sn_error *err)
{
	const bool is_document = !is_for_people(asked->format);
	const char *join = sn_args_value(args, "join");
	word_vec passed = { 0 };
	struct sn_online_options options = {
		.record = { .arguments = asked->words,
			    .output = sn_args_value(args, "output"),
			    .named_after = args->operands[0], /* and not after a launcher */
			    .clock = "hi",
			    .rate_hz = 1000,
			    .packets_s = 0.25, /* what grows in seconds is seen */
			    .follow = "all" },
		.analysis = { .arch = sn_args_value(args, "arch") },
		.library = library,
		.caches = &asked->caches,
		.search = asked->options,
		.phase = sn_args_value(args, "phase"),
		.program = args->operands[0],
		.suspend = asked->suspend,
		.restarts = (uint32_t)asked->restarts,
		/* who has a phase measured while the program runs may not have the time for more */
		.phase_restarts = sn_args_value(args, "restarts") ? (uint32_t)asked->restarts : 0,
		.max_time_s = asked->max_time_s,
		.budget = asked->budget,
		.output_fd = is_document ? STDERR_FILENO : STDOUT_FILENO,
		.is_quiet = sn_args_flag(args, "quiet"),
		.agents = sn_args_value(args, "agents"),
		.hosts = sn_args_value(args, "hosts"),
	};
	const struct sn_machine *machine;
	struct sn_online online = { .exit_code = SN_EXIT_USAGE };
	sn_status status = agents_check(args, err);

	if (status == SN_OK)
		status = sn_search_fanout_read(args, &options.fanout, err);
	if (status == SN_OK && join && !strcmp(options.agents, "result"))
		return again(&options, join, asked, reached, err);
	if (status == SN_OK && join) {
		*code = sn_online_join(&options, join);
		return SN_OK;
	}
	passed_list(args, &passed);
	options.passed = passed.items;
	if (status == SN_OK && options.analysis.arch) /* before the program runs, not after it */
		status = sn_machine_find(options.analysis.arch, &machine, err);
	if (status == SN_OK)
		status = sn_online_run(&options, &online, err);

	if (status == SN_OK) {
		if (!is_document)
			fputc('\n', stderr);
		result_print(online.search, asked->format, is_document ? stdout : stderr);
		*reached = reaches(online.search, asked->check);
		if (online.path.length || online.analysis)
			result_keep(online.search, online.path.length
							   ? online.path.chars
							   : online.analysis->experiment->path);
	} else if (!online.has_run && online.exit_code >= SN_EXIT_NOT_MEASURED) {
		*code = online.exit_code; /* it did not run */
	}
	sn_online_free(&online);
	sn_vec_free(&passed);
	return status;
}

static bool has_file(const char *folder, const char *name)
{
	struct sn_text path = { 0 };
	bool is_there;

	sn_text_addf(&path, "%s/%s", folder, name);
	is_there = !access(path.chars, F_OK);
	sn_text_free(&path);
	return is_there;
}

/* Why there is nothing in an experiment that --resume could go on with. */
static sn_status resume_refuse(const char *folder, struct sn_error *err)
{
	if (has_file(folder, "search.words"))
		return sn_error_set(
			err, SN_ERR_FORMAT,
			"search: '%s/search.words' is damaged, so that nobody knows what was searched: "
			"'sonde search -e %s' searches what was recorded",
			folder, folder);
	if (!has_file(folder, "search.tsv"))
		return sn_error_set(
			err, SN_ERR_FORMAT,
			"search: '%s' is of no search that could be gone on with: 'sonde search -e %s' "
			"searches it as it was recorded",
			folder, folder);
	return sn_error_set(
		err, SN_ERR_NO_DATA,
		"search: '%s' is of a search without --phase, which measures in starts of "
		"their own: 'sonde search -e %s' searches those that are there",
		folder, folder);
}

/* The folder has what is to be searched, and how. */
static sn_status resume(const struct sn_args *args, int *code, struct sn_error *err)
{
	struct sn_simulated simulated = { 0 };
	const char *folder = sn_args_value(args, "resume");
	double check = INFINITY;
	sn_status status = sn_search_share_read(args, "check", INFINITY, &check, err);

	if (status == SN_OK && args->operand_count)
		status = sn_error_set(err, SN_ERR_USAGE, "--resume takes no operand; what is '%s'?",
				      args->operands[0]);
	if (status == SN_OK && sn_store_is_experiment(folder))
		status = resume_refuse(folder, err);
	if (status == SN_OK)
		status = sn_simulate_resume(folder, sn_args_flag(args, "quiet"), &simulated, err);
	if (status == SN_OK)
		*code = sn_search_answer(simulated.search, sn_args_value(args, "format"), check);
	sn_simulated_free(&simulated);
	return status;
}

/* Of a search with agents: the same command as it was, for the result alone. */
static sn_status again_execute(const struct sn_args *args, const char *folder,
			       const sn_strings *words, struct sn_error *err)
{
	static const char *const kept[] = { "format", "check" };
	word_vec all = { 0 };
	char own[PATH_MAX] = "";

	if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
		return sn_error_errno(err, "search: cannot start again");
	sn_vec_push(&all, own);
	sn_vec_push(&all, "search");
	for (size_t i = 0; i + 1 < words->count; i++)
		sn_vec_push(&all, words->items[i]);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (sn_args_value(args, kept[i])) {
			struct sn_text option = { 0 };

			sn_text_addf(&option, "--%s=%s", kept[i], sn_args_value(args, kept[i]));
			sn_vec_push(&all, sn_text_take(&option));
		}
	if (sn_args_flag(args, "quiet"))
		sn_vec_push(&all, "--quiet");
	sn_vec_push(&all, "--agents");
	sn_vec_push(&all, "result");
	sn_vec_push(&all, "--join");
	sn_vec_push(&all, folder);
	sn_vec_push(&all, words->items[words->count - 1]);
	sn_vec_push(&all, NULL);
	execv(own, (char *const *)all.items);
	return sn_error_errno(err, "search: cannot start again");
}

static int resume_run(const struct sn_args *args)
{
	struct sn_error err;
	int code = SN_EXIT_OK;
	char folder[PATH_MAX];
	sn_strings words = { 0 };
	bool had_hosts = !args->operand_count && realpath(sn_args_value(args, "resume"), folder) &&
			 sn_online_words_read(folder, &words) && words.count;
	sn_status status =
		had_hosts ? again_execute(args, folder, &words, &err) : resume(args, &code, &err);

	sn_vec_free_owned(&words);
	return status == SN_OK ? code : sn_error_print(&err);
}

static int search_run(const struct sn_args *args)
{
	struct asked asked = { 0 };
	struct sn_library *library = NULL;
	bool reached = false;
	size_t errors;
	struct sn_error err;
	int code = -1;
	sn_status status;

	if (sn_args_value(args, "resume"))
		return resume_run(args);
	status = asked_read(args, &asked, &err);
	if (status == SN_OK)
		status = sn_library_of_args(args, &library, &errors, &err);
	if (status == SN_OK)
		status = asked.is_online
				 ? program_search(args, &asked, library, &reached, &code, &err)
				 : recorded_search(args, &asked, library, &reached, &err);
	sn_library_free(library);
	asked_free(&asked);
	if (status != SN_OK) {
		int own = sn_error_print(&err);

		return code < 0 ? own : code;
	}
	if (code >= 0)
		return code; /* of a program that was run for another search */
	return reached ? SN_EXIT_FINDING : SN_EXIT_OK;
}

static const struct sn_option search_options[] = {
	{ "experiment", 'e', "NAME",
	  "the recorded run: a folder, @0 (the newest, the default), @-1", NULL },
	{ "strategy", 's', "NAME",
	  "what is looked at next: time (the default), property, data, mpi, or a file ./NAME.so",
	  NULL },
	{ "start", 0, "PROPERTY", "where the strategies property and data begin", NULL },
	{ "properties", 'P', "FILE", "a file of properties, or a folder of *.prop; may be repeated",
	  NULL },
	{ "threshold", 't', "SHARE",
	  "report severities above this (default 0.05; with --severity rate 0.02)", NULL },
	SN_SEVERITY_OPTION,
	{ "check", 0, "SHARE", "exit with 1 if a severity reaches this", NULL },
	{ "format", 'f', "FORMAT",
	  "how to print: text, csv (the rows of show searched), json or xml", "text|csv|json|xml" },
	{ "launch", 0, "COMMAND", "start the program by this, such as 'mpirun -n 4'", NULL },
	{ "phase", 0, "PHASE",
	  "what the program does again and again: a heartbeat's name, a function, FILE:LINE, or auto: "
	  "what a first start shows to repeat",
	  NULL },
	{ "agents", 0, "HOW",
	  "an agent on each host of a program with --phase: auto (started with the program), local (this "
	  "host alone listens), ssh, srun, or the words of a launcher, such as 'ssh {host}'",
	  NULL },
	SN_FANOUT_OPTION,
	{ "hosts", 0, "FILE",
	  "the hosts that are to take part, a line each as in a hostfile of mpirun: the first step "
	  "waits for them, and those that do not come are named",
	  NULL },
	{ "join", 0, "FOLDER",
	  "take part in the search of FOLDER, which --agents starts on each host: with --agents auto, "
	  "local or wait run the program for it, with alone be the host's agent, with result print what "
	  "is left of it",
	  NULL },
	{ "suspend", 0, "WHEN",
	  "stop the program at the end of what a step measures: brief (50 ms, the default), always "
	  "(until the next step is known) or never",
	  "brief|always|never" },
	{ "restarts", 0, "N",
	  "start the program N times more at most (6 unless said; with --phase 0)", NULL },
	{ "budget", 0, "SHARE",
	  "refuse values of a further start, or of a trace, whose source took more than this share of the CPU "
	  "time; with --phase take fewer samples where these did (0.05 unless said)",
	  NULL },
	{ "caches", 0, "SIZES",
	  "what traces of loops are replayed through, as L1=48k/12,L2=2m/16,L3=36m/12,TLB=1536/12,line=64,"
	  "page=4k (size/ways); this machine's unless said",
	  NULL },
	{ "steps", 0, "N", "end the search after N steps", NULL },
	{ "max-time", 0, "SECONDS", "no further start of the program after so long", NULL },
	{ "output", 'o', "FOLDER", "name of the experiment that a program leaves", NULL },
	{ "resume", 0, "FOLDER",
	  "of a search with --phase whose command has died: print what its agents have measured; of "
	  "simulated hosts go on",
	  NULL },
	{ "quiet", 'q', NULL, "say nothing but errors and the result", NULL },
	SN_FILTER_OPTIONS,
	SN_ARCH_OPTION,
	{ 0 },
};

static const char *const search_examples[] = {
	"sonde search ./app -n 2000",
	"runs the program, again for what a step lacks, and says what costs most",
	"sonde search --experiment @0",
	"what costs the newest run most, and where",
	"sonde search -e sonde.app.3 --strategy mpi",
	"waits in MPI by place and kind",
	"sonde search -P ours.prop --check 0.2",
	"with properties of one's own; fails if any severity is 0.2 or more",
	"sonde search --phase auto ./app",
	"runs the program twice: to find what repeats, and to measure executions of it",
	"sonde search --launch 'mpirun -n 64' --agents auto --phase timestep ./app",
	"with an agent on each host of the program",
	NULL,
};

const struct sn_command sn_command_search = {
	.name = "search",
	.operands = "[EXPERIMENT | PROGRAM [ARGS...]]",
	.summary = "Searches a program or a recorded run for performance properties",
	.description =
		"Evaluates performance properties ('sonde properties list') step by step, as the "
		"strategy proposes them: where time goes, what costs it there, in which threads "
		"and ranks. Each finding has a severity: lane-seconds lost over the wall time of "
		"the run times its lanes (threads at work).\n\n"
		"A property that no source of the run can measure is named with what it needs; it "
		"is never taken for false. Findings that a more special one explains are 'refined' "
		"in JSON and left out of the text.\n\n"
		"A program is started once for what costs little (samples, waits), and once more for "
		"each source that candidates lack: a trace of hot loops, variants of them, a trace of the heap, of MPI, of OpenMP or of locks, or counts of input and output. Each start is "
		"announced, and reads the same input. The last one's standard output is the "
		"program's, and the answer goes to standard error; with --format json or xml the "
		"document is standard output, and the program's goes to standard error. What the "
		"first start left is an experiment like any other.\n\n"
		"A file of --properties with errors disables only itself: the errors are printed with "
		"their lines, the result names the file (bad_files in JSON), and the exit status is "
		"that of the search; 'sonde properties check' exits with 5.\n\n"
		"Without a program the newest recorded run is searched, or the one that is named, with the "
		"values of the starts that an earlier search of it has left. What a search found that ran "
		"the program stays where it could measure more. "
		"'sonde show properties' is the same.",
	.options = search_options,
	.examples = search_examples,
	.stops_at_operand = true,
	.goes_on_after = is_experiment,
	.run = search_run,
};
