/* sonde record: reads the options of recording and starts it. 'sonde run' shares them. */
#include "cli/record.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>

#include "base/alloc.h"
#include "base/spelling.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/dry_run.h"
#include "code/debuginfod.h"
#include "machine/machine.h"
#include "machine/roofs.h"
#include "record/launch_key.h"
#include "views/summary/deaths.h"
#include "wire/settings.h"

extern const struct sn_command sn_command_record;

static sn_status rate_parse(const char *clock, double *rate_hz, struct sn_error *err)
{
	static const struct {
		const char *name;
		double rate_hz;
	} names[] = { { "auto", 1000 }, { "hi", 1000 }, { "on", 100 }, { "lo", 10 }, { "off", 0 } };
	char *end;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(clock, names[i].name)) {
			*rate_hz = names[i].rate_hz;
			return SN_OK;
		}
	}
	*rate_hz = strtod(clock, &end);
	if (*end || !(*rate_hz >= 0.1 && *rate_hz <= 20000))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--clock takes auto, hi, on, lo, off or a rate of 0.1 to 20000 per "
			"second, not '%s'",
			clock);
	return SN_OK;
}

static sn_status follow_check(const char *follow, struct sn_error *err)
{
	static const char *const names[] = { "all", "fork", "exec", "none" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(follow, names[i]))
			return SN_OK;
	if (follow[0] == '=' && follow[1] && !strchr(follow, ';'))
		return SN_OK;
	return sn_error_set(
		err, SN_ERR_USAGE,
		"--follow takes all, fork, exec, none or =REGEX (without ';'), not '%s'", follow);
}

/* ---- what is traced ---- */

/* Fewer bytes would be a trace, more no sample of what fits a machine. */
static const uint64_t interval_least = 1024, interval_most = 1 << 30, interval_default = 1 << 19;

/* "64k", "2M", "100000" */
static bool interval_read(const char *words, uint64_t *out)
{
	char *end;
	double value = strtod(words, &end);
	double unit = *end == 'k' || *end == 'K' ? 1024
		      : *end == 'M'		 ? 1 << 20
		      : *end == 'G'		 ? 1 << 30
						 : 1;

	end += unit != 1;
	if (end == words || *end || !(value * unit >= (double)interval_least) ||
	    !(value * unit <= (double)interval_most))
		return false;
	*out = (uint64_t)(value * unit);
	return true;
}

static sn_status heap_set(struct sn_record_options *o, const char *mode, struct sn_error *err)
{
	bool is_known = true;

	o->heap_interval_bytes = interval_default;
	if (!mode[0] || !strcmp(mode, "trace"))
		o->heap = SN_HEAP_TRACE;
	else if (!strcmp(mode, "aggregate"))
		o->heap = SN_HEAP_AGGREGATE;
	else if (!strncmp(mode, "sample", 6) && (!mode[6] || mode[6] == ':'))
		o->heap = SN_HEAP_SAMPLE;
	else
		is_known = false;
	if (is_known && o->heap == SN_HEAP_SAMPLE && mode[6])
		is_known = interval_read(mode + 7, &o->heap_interval_bytes);
	if (!is_known)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--heap takes trace, aggregate, sample or sample:BYTES (1k to "
				    "1G), not '%s'",
				    mode);
	return SN_OK;
}

static sn_status sync_set(struct sn_record_options *o, const char *least, struct sn_error *err)
{
	char *end;

	o->has_sync = true;
	o->sync_is_calibrated = !strcmp(least, "on");
	o->sync_min_us = 0;
	if (!least[0] || !strcmp(least, "all") || o->sync_is_calibrated)
		return SN_OK;
	o->sync_min_us = strtod(least, &end);
	if (*end || !(o->sync_min_us >= 0 && o->sync_min_us <= 1e9))
		return sn_error_set(err, SN_ERR_USAGE,
				    "--sync takes all, on, or the least wait in us (0 to 1e9), not "
				    "'%s'",
				    least);
	return SN_OK;
}

static sn_status mpi_set(struct sn_record_options *o, const char *mode, struct sn_error *err)
{
	(void)mode, (void)err;
	o->mpi = true;
	return SN_OK;
}

static sn_status io_set(struct sn_record_options *o, const char *mode, struct sn_error *err)
{
	o->has_io = true;
	o->io_is_sampled = !strcmp(mode, "sample");
	if (mode[0] && strcmp(mode, "trace") != 0 && !o->io_is_sampled)
		return sn_error_set(err, SN_ERR_USAGE, "--io takes trace or sample, not '%s'",
				    mode);
	return SN_OK;
}

static sn_status openmp_set(struct sn_record_options *o, const char *mode, struct sn_error *err)
{
	(void)mode, (void)err;
	o->has_openmp = true;
	return SN_OK;
}

static sn_status faults_set(struct sn_record_options *o, const char *mode, struct sn_error *err)
{
	(void)mode, (void)err;
	o->has_faults = true;
	return SN_OK;
}

static sn_status nothing_set(struct sn_record_options *o, const char *mode, struct sn_error *err)
{
	(void)o, (void)mode, (void)err;
	return SN_OK;
}

/* What --collect knows: its word, and how it is asked for. Those that trace have an option of the same
 * name, which may have a value. */
static const struct collected {
	const char *name;
	bool is_traced;
	sn_status (*set)(struct sn_record_options *o, const char *mode, struct sn_error *err);
} collected[] = {
	{ "clock", false, nothing_set }, /* always there; --clock off leaves it out */
	{ "waits", false, nothing_set }, { "heap", true, heap_set }, { "sync", true, sync_set },
	{ "io", true, io_set },		 { "mpi", true, mpi_set },   { "openmp", true, openmp_set },
	{ "faults", false, faults_set },
};
enum { COLLECTED_COUNT = sizeof(collected) / sizeof(*collected) };

static sn_status collected_unknown(const char *word, struct sn_error *err)
{
	struct sn_text names = { 0 };
	const char *near = NULL;
	sn_status status;

	for (size_t i = 0; i < COLLECTED_COUNT; i++) {
		sn_text_addf(&names, "%s, ", collected[i].name);
		if (!near && sn_spelling_is_near(word, collected[i].name))
			near = collected[i].name;
	}
	status = near ? sn_error_set(err, SN_ERR_USAGE,
				     "--collect knows no '%s'; did you mean '%s'?", word, near)
		      : sn_error_set(err, SN_ERR_USAGE, "--collect takes %sor all, not '%s'",
				     names.chars, word);
	sn_text_free(&names);
	return status;
}

/* `*is_traced` is set if a library in the program does it. */
static sn_status collected_set(struct sn_record_options *o, const char *word, bool *is_traced,
			       struct sn_error *err)
{
	bool is_all = !strcmp(word, "all"), is_known = is_all;
	sn_status status = SN_OK;

	o->has_all |= is_all;
	for (size_t i = 0; i < COLLECTED_COUNT && status == SN_OK; i++) {
		if (!is_all && strcmp(word, collected[i].name) != 0)
			continue;
		is_known = true;
		*is_traced |= collected[i].is_traced;
		status = collected[i].set(o, "", err);
	}
	return is_known ? status : collected_unknown(word, err);
}

static sn_status collect_read(const struct sn_args *args, struct sn_record_options *o,
			      struct sn_error *err)
{
	const char *list = sn_args_value(args, "collect"), *traced = NULL;
	char *words = list ? sn_strdup(list) : NULL, *rest = words, *word;
	bool is_traced = false;
	sn_status status = SN_OK;

	while (status == SN_OK && (word = strsep(&rest, ","))) {
		status = collected_set(o, word, &is_traced, err);
		traced = is_traced ? "collect" : NULL;
	}
	free(words);
	/* after the list: an option of its own may say more */
	for (size_t i = 0; i < COLLECTED_COUNT && status == SN_OK; i++) {
		const char *value =
			collected[i].is_traced ? sn_args_value(args, collected[i].name) : NULL;
		if (!value && !(collected[i].is_traced && sn_args_flag(args, collected[i].name)))
			continue;
		traced = collected[i].name;
		status = collected[i].set(o, value ? value : "", err);
	}
	if (status == SN_OK && traced && o->pid)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--%s traces a program from its start: it cannot be had with "
				    "--pid",
				    traced);
	return status;
}

/* -e, if it is given, and page faults of both kinds, with their addresses. */
static sn_status faults_read(const char *list, const char *fallback, struct sn_record_options *o,
			     struct sn_error *err)
{
	struct sn_text events = { 0 };
	sn_status status;

	sn_text_add(&events, list ? list : "");
	for (int i = 0; i < 2; i++) {
		static const char *const names[] = { "minor-faults", "major-faults" };

		if (!list || !strstr(list, names[i])) /* else as it was asked for */
			sn_text_addf(&events, "%s+%s", events.length ? "," : "", names[i]);
	}
	status = sn_counters_read(events.chars, &o->counters, err);
	sn_text_free(&events);
	/* of --collect all nobody asked for them by name */
	if (status != SN_ERR_UNSUPPORTED || (!fallback && !(o->has_all && !list)))
		return status;
	o->counters.count = 0;
	o->without_counters = fallback != NULL;
	sn_warn("%s; page faults are not sampled", err->sentence);
	return SN_OK;
}

static sn_status counters_read(const struct sn_args *args, struct sn_record_options *o,
			       struct sn_error *err)
{
	const char *list = sn_args_value(args, "event"),
		   *fallback = sn_args_value(args, "fallback");
	sn_status status;

	if (o->has_faults)
		return faults_read(list, fallback, o, err);
	if (!list)
		return fallback
			       ? sn_error_set(
					 err, SN_ERR_USAGE,
					 "--fallback says what to do without an event of -e: there is none")
			       : SN_OK;
	status = sn_counters_read(list, &o->counters, err);
	if (status != SN_ERR_UNSUPPORTED || !fallback)
		return status;
	o->counters.count = 0;
	o->without_counters = true;
	sn_warn("%s; --fallback clock: CPU time alone is sampled", err->sentence);
	return SN_OK;
}

/* `text` is a signal's name or number; with `rest`, a comma may follow, and *rest is what is behind it. */
static sn_status signal_parse(const char *option, const char *text, int *number, const char **rest,
			      struct sn_error *err)
{
	const char *comma = text && rest ? strchr(text, ',') : NULL;
	char word[32], *name = word, *end;

	*number = 0;
	if (rest)
		*rest = comma ? comma + 1 : NULL;
	if (!text)
		return SN_OK;
	snprintf(word, sizeof(word), "%.*s", comma ? (int)(comma - text) : (int)sizeof(word) - 1,
		 text);
	*number = (int)strtol(name, &end, 10);
	if (*name && !*end && *number > 0 && *number < SIGRTMAX)
		return SN_OK;
	if (!strncasecmp(name, "SIG", 3))
		name += 3;
	for (*number = 1; *number < SIGRTMIN; ++*number) {
		const char *known = sigabbrev_np(*number);

		if (known && !strcasecmp(known, name))
			return SN_OK;
	}
	return sn_error_set(err, SN_ERR_USAGE, "--%s: there is no signal '%s'", option, text);
}

static sn_status signals_read(const struct sn_args *args, struct sn_record_options *o,
			      struct sn_error *err)
{
	const char *rest;
	sn_status status = signal_parse("pause-signal", sn_args_value(args, "pause-signal"),
					&o->pause_signal, &rest, err);

	if (status == SN_OK && rest && strcmp(rest, "r") != 0)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--pause-signal takes SIGNAL or SIGNAL,r, not '%s'",
				    sn_args_value(args, "pause-signal"));
	if (status == SN_OK)
		status = signal_parse("packet-signal", sn_args_value(args, "packet-signal"),
				      &o->packet_signal, NULL, err);
	if (status == SN_OK && o->pause_signal && o->pause_signal == o->packet_signal)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--pause-signal and --packet-signal are one signal: choose two");
	o->starts_paused = o->pause_signal && !rest;
	return status;
}

/* --kernel and what goes with it: the rest would trace or sample a program of its own. */
static sn_status kernel_options_read(const struct sn_args *args, struct sn_record_options *o,
				     struct sn_error *err)
{
	static const char *const others[] = { "collect", "heap",  "mpi",    "sync",	    "io",
					      "openmp",	 "event", "follow", "packet-signal" };
	const char *pid = sn_args_value(args, "pid");

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		for (size_t g = 0; g < args->given_count; g++)
			if (!strcmp(args->command->options[args->given[g].option].name, others[i]))
				return sn_error_set(err, SN_ERR_USAGE,
						    "--%s is of a program; --kernel measures the "
						    "kernel alone",
						    others[i]);
	if (sn_launch_is_rank())
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--kernel measures this machine, not the ranks of a launch: leave the "
			"launcher away");
	if (pid && strcmp(pid, "ALL") != 0)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--kernel takes all CPUs, with --pid ALL user code too, not "
				    "process '%s'",
				    pid);
	o->kernel_with_user = pid != NULL;
	o->pid = args->operand_count ? 0 : -1;
	return SN_OK;
}

static sn_status options_read(const struct sn_args *args, struct sn_record_options *o,
			      struct sn_error *err)
{
	const char *follow = sn_args_value(args, "follow"), *pid = sn_args_value(args, "pid");
	char *end;
	double max_mb;
	sn_status status;

	o->kernel = args->command == &sn_command_record && sn_args_flag(args, "kernel");
	if (o->kernel) {
		status = kernel_options_read(args, o, err);
		if (status != SN_OK)
			return status;
		pid = NULL;
	} else if (pid && !strcmp(pid, "ALL")) {
		return sn_error_set(err, SN_ERR_USAGE, "--pid ALL goes with --kernel");
	}
	if (pid && args->operand_count)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--pid takes a process that runs already: leave '%s' away",
				    args->operands[0]);
	if (pid && ((o->pid = (pid_t)strtol(pid, &end, 10)) <= 0 || *end))
		return sn_error_set(err, SN_ERR_USAGE,
				    "--pid takes the number of a process, not '%s'", pid);
	if (!pid && !args->operand_count && !o->kernel)
		return sn_error_set(err, SN_ERR_USAGE,
				    "what shall be run? sonde %s -- PROGRAM ARGS",
				    args->command->name);
	o->arguments = args->operands;
	o->output = sn_args_value(args, "output");
	o->label = sn_args_value(args, "label");
	o->clock = sn_args_value(args, "clock") ? sn_args_value(args, "clock") : "hi";
	o->follow = follow ? follow : "all";
	o->without_source = sn_args_flag(args, "no-source");
	status = collect_read(args, o, err);
	if (status == SN_OK)
		status = counters_read(args, o, err);
	if (status == SN_OK)
		status = rate_parse(o->clock, &o->rate_hz, err);
	o->is_rate_auto = !strcmp(o->clock, "auto");
	if (status == SN_OK && o->kernel && !(o->rate_hz > 0))
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--kernel is a clock profile: --clock off leaves nothing of it");
	if (status == SN_OK)
		status = follow_check(o->follow, err);
	if (status == SN_OK)
		status = sn_args_real(args, "delay", 0, &o->delay_s, err);
	if (status == SN_OK)
		status = sn_args_real(args, "duration", 0, &o->duration_s, err);
	if (status == SN_OK)
		status = sn_args_real(args, "max-size", (double)o->max_bytes / 1e6, &max_mb, err);
	if (status == SN_OK)
		status = sn_args_real(args, "packets", 1, &o->packets_s, err);
	if (status == SN_OK && !(o->packets_s >= 0.01 && o->packets_s <= 86400))
		return sn_error_set(err, SN_ERR_USAGE, "--packets takes 0.01 to 86400 seconds");
	if (status == SN_OK)
		status = signals_read(args, o, err);
	if (status != SN_OK)
		return status;
	if (o->delay_s < 0 || o->duration_s < 0 || max_mb < 0)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--delay, --duration and --max-size are not negative");
	o->max_bytes = (uint64_t)(max_mb * 1e6);
	return SN_OK;
}

int sn_cli_record(const struct sn_args *args, struct sn_record_result *result)
{
	static const struct sn_record_options plain;

	return sn_cli_record_with(args, &plain, result);
}

/* What this machine does at most goes along, if it was measured: the experiment may be read elsewhere. */
static void roofs_keep(const char *experiment)
{
	char *path = sn_roofs_path(), host[256];
	struct sn_text own = { 0 };
	struct sn_roofs roofs;
	struct sn_error err;

	sn_machine_host_model(host, sizeof(host));
	sn_text_addf(&own, "%s/roofs.tsv", experiment);
	if (!sn_roofs_read(path, &roofs, &err) && strcmp(roofs.host, host) == 0 &&
	    sn_roofs_write(&roofs, own.chars, &err))
		sn_error_print(&err);
	sn_roofs_free(&roofs);
	sn_text_free(&own);
	free(path);
}

/* A run in the folder of another one: that one has the traces and the sources. */
static void further_set(const struct sn_record_options *what, struct sn_record_options *o)
{
	o->output = what->output;
	o->without_source = true;
	o->heap = SN_HEAP_OFF;
	o->mpi = o->has_sync = o->has_io = o->has_openmp = false;
}

int sn_cli_record_with(const struct sn_args *args, const struct sn_record_options *what,
		       struct sn_record_result *result)
{
	struct sn_record_options options = *what;
	SN_VEC(const char *) folders = { 0 };
	struct sn_error err;

	*result = (struct sn_record_result){ .exit_code = SN_EXIT_NOT_MEASURED };
	if (options_read(args, &options, &err) != SN_OK) {
		sn_error_print(&err);
		return SN_EXIT_NOT_MEASURED;
	}
	if (what->is_first_of_several)
		options.output = NULL;
	if (what->scratch)
		options.output = what->scratch;
	options.is_scratch = what->scratch != NULL;
	if (what->output)
		further_set(what, &options);
	/* blocks have names only if it is known who allocated them */
	if (what->has_accesses && !what->without_heap && options.heap == SN_HEAP_OFF)
		options.heap = SN_HEAP_TRACE;
	for (size_t i = 0; i < args->given_count; i++)
		if (!strcmp(args->command->options[args->given[i].option].name, "debug-folder"))
			sn_vec_push(&folders, args->given[i].value);
	if (folders.count)
		sn_vec_push(&folders, "/usr/lib/debug");
	options.debug_folders = folders.items;
	options.debug_folder_count = folders.count;
	options.ask_debuginfod = sn_args_flag(args, "debuginfod");
	if (options.ask_debuginfod && sn_debuginfod_ready(&err) != SN_OK) {
		sn_error_print(&err);
		options.ask_debuginfod = false;
	}
	if (sn_record_run(&options, result, &err) != SN_OK) {
		sn_text_free(&result->experiment_path);
		sn_error_print(&err);
	} else if (!what->scratch) {
		sn_record_extracts(result->experiment_path.chars, &options);
		roofs_keep(result->experiment_path.chars);
		sn_cli_reduce_at_end(result->experiment_path.chars);
		sn_record_cost_add(result->experiment_path.chars);
	}
	sn_vec_free(&folders);
	return result->exit_code;
}

/* A shell tells of a signal that ended its own child, but that is us, and we end by exit. */
static void signal_tell(const struct sn_args *args, const struct sn_record_result *result)
{
	struct sn_text signal = { 0 };

	if (!result->exit_signal || sn_args_flag(args, "quiet"))
		return;
	sn_signal_describe(result->exit_signal, false, &signal);
	sn_warn("'%s' was ended by %s", args->operands[0], signal.chars);
	sn_text_free(&signal);
}

/* A launcher of MPI tells ranks that a signal killed from those that end with 128 + n, and kills the others and ends itself
 * accordingly. So a rank's record ends as the rank did. No core of ours: the rank has left its own. */
void sn_cli_end_as_rank(const struct sn_record_result *result)
{
	sigset_t all;

	if (!result->exit_signal || result->rank < 0)
		return;
	fflush(NULL);
	prctl(PR_SET_DUMPABLE, 0);
	signal(result->exit_signal, SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	raise(result->exit_signal);
}

static int record_dry(const struct sn_args *args)
{
	struct sn_record_options options = { 0 };
	struct sn_error err;

	if (options_read(args, &options, &err) == SN_OK)
		return sn_cli_dry_run(&options, stdout);
	sn_error_print(&err);
	return SN_EXIT_NOT_MEASURED;
}

static int record_run(const struct sn_args *args)
{
	struct sn_record_result result;
	int code;

	if (sn_args_flag(args, "dry-run"))
		return record_dry(args);
	code = sn_cli_record(args, &result);
	signal_tell(args, &result);
	if (result.experiment_path.chars && !sn_args_flag(args, "quiet") && result.rank <= 0) {
		struct sn_text word = { 0 };

		sn_text_add_shell_word(&word, result.experiment_path.chars);
		fprintf(stderr, "sonde: %s, %.1f MB of data; sonde show summary %s\n", word.chars,
			(double)result.data_bytes * 1e-6, word.chars);
		sn_text_free(&word);
	}
	sn_text_free(&result.experiment_path);
	sn_cli_end_as_rank(&result);
	return code;
}

static const struct sn_option record_options[] = {
	SN_RECORD_OPTIONS,
	{ "kernel", 0, NULL,
	  "sample the kernel on all CPUs in place of a program, while PROGRAM runs or for --duration; "
	  "with --pid ALL, user code too; for root",
	  NULL },
	{ "dry-run", 0, NULL,
	  "say what would be measured, by what and at what cost, and do not run", NULL },
	{ 0 }
};

const struct sn_command sn_command_record = {
	.name = "record",
	.operands = "-- PROGRAM [ARGS...]",
	.summary = "Runs a program and records where its time goes",
	.description =
		"The program is found as a shell finds it and runs as without sonde: its input, "
		"output, exit status, signals, open files and environment are its own. What is "
		"recorded is an experiment, a folder sonde.NAME.N that is never overwritten.\n\n"
		"Under mpirun and srun write it inside: mpirun -n 64 sonde record ./app. All ranks "
		"record into one experiment.\n\n"
		"Interrupting it (Ctrl-C, a batch system's SIGTERM) interrupts the program and "
		"leaves a whole experiment.\n\n"
		"With --kernel the kernel is sampled on all CPUs (root): its functions with their "
		"callers, by task; the program is what loads it, and may be left out with "
		"--duration or Ctrl-C.\n\n"
		"Static programs, and with --pid processes that run already, are sampled from "
		"outside through the kernel; what that cannot give is said in the summary.",
	.options = record_options,
	.examples =
		(const char *const[]){
			"sonde record ./app -n 2000", "record every sample it can",
			"sonde record --clock on -o before ./app",
			"100 samples a second into the folder 'before'",
			"mpirun -n 64 sonde record ./app", "one experiment of 64 ranks",
			"sonde record --pid 4711 --duration 10",
			"ten seconds of a process that runs already",
			"sonde record --kernel --pid ALL --duration 10",
			"ten seconds of the kernel and of all tasks, on all CPUs", NULL },
	.stops_at_operand = true,
	.run = record_run,
};
