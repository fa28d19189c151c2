/*
 * sonde vprof, decan, trace and analyze with --launcher: each start is one of the launcher, between whose words and the
 * program stands a command of ours, so that ranks are measured on whatever host they are. Which loops are hot
 * says a start of 'sonde record', unless an experiment does; the one that measures is this command with --from.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/analysis_options.h"
#include "cli/launcher.h"
#include "cli/loop_runs.h"
#include "experiment/store.h"
#include "record/streams.h"

struct launched {
	const struct sn_args *args;
	const struct sn_loop_run *run;
	wordexp_t launcher;
	struct sn_streams streams;
	char own[PATH_MAX];
	struct sn_text first, second; /* folders */
	bool is_first_ours;
	int first_code;
};

typedef SN_VEC(char *) word_vec;

static void word_add(word_vec *words, const char *word)
{
	sn_vec_push(words, sn_strdup(word));
}

/* "--name=value", and "--name" of a flag. */
static void option_add(word_vec *words, const char *name, const char *value)
{
	struct sn_text word = { 0 };

	sn_text_addf(&word, "--%s%s%s", name, value && *value ? "=" : "", value ? value : "");
	sn_vec_push(words, sn_text_take(&word));
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

static bool record_has(const char *name)
{
	for (size_t c = 0; sn_commands[c]; c++)
		for (size_t i = 0;
		     !strcmp(sn_commands[c]->name, "record") && sn_commands[c]->options[i].name;
		     i++)
			if (!strcmp(sn_commands[c]->options[i].name, name))
				return true;
	return false;
}

/* What of the command line goes on to a command of each rank. */
static void options_pass(const struct launched *l, bool is_record, word_vec *words)
{
	static const char *const ours[] = { "launcher", "keep-text", "from", "output",
					    "quiet",	"budget",    NULL };

	for (size_t i = 0; i < l->args->given_count; i++) {
		const struct sn_given *given = &l->args->given[i];
		const char *name = l->args->command->options[given->option].name;

		if (!is_one_of(name, ours) && (!is_record || record_has(name)))
			option_add(words, name, given->value);
	}
}

/* The launcher's working directory may be another. */
static void folder_add(word_vec *words, const char *option, const char *path)
{
	char *here = getcwd(NULL, 0);
	struct sn_text whole = { 0 };

	if (*path != '/' && *path != '@' && here)
		sn_text_addf(&whole, "%s/", here);
	sn_text_add(&whole, path);
	option_add(words, option, whole.chars);
	sn_text_free(&whole);
	free(here);
}

static int await(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The keyboard's signals are for the launcher, which is in our group. */
static int start(char *const *words)
{
	struct sigaction ignored = { .sa_handler = SIG_IGN }, interrupt, quit;
	int code = SN_EXIT_NOT_MEASURED;
	struct sn_error err;
	pid_t pid;

	sigaction(SIGINT, &ignored, &interrupt);
	sigaction(SIGQUIT, &ignored, &quit);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGINT, &interrupt, NULL);
		sigaction(SIGQUIT, &quit, NULL);
		execvp(words[0], words);
		sn_error_errno(&err, "cannot run '%s'", words[0]);
		sn_error_print(&err);
		_exit(errno == ENOENT ? SN_EXIT_COMMAND_NOT_FOUND : SN_EXIT_NOT_EXECUTABLE);
	}
	if (pid > 0)
		code = await(pid);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	return code;
}

/* Starts the launcher with `command` of ours before the program, with a further option of ours (NULL: none). */
static int launch_with(const struct launched *l, const char *command, const char *more,
		       const char *from, const char *into)
{
	bool is_record = !strcmp(command, "record");
	word_vec words = { 0 };
	int code;

	for (size_t i = 0; i < l->launcher.we_wordc; i++)
		word_add(&words, l->launcher.we_wordv[i]);
	word_add(&words, l->own);
	word_add(&words, command);
	options_pass(l, is_record, &words);
	word_add(&words, "--quiet");
	if (more)
		word_add(&words, more);
	if (from)
		folder_add(&words, "from", from);
	folder_add(&words, "output", into);
	word_add(&words, "--");
	for (size_t i = 0; i < l->args->operand_count; i++)
		word_add(&words, l->args->operands[i]);
	sn_vec_push(&words, NULL);
	code = start(words.items);
	sn_vec_free_owned(&words);
	return code;
}

static int launch(const struct launched *l, const char *command, const char *from, const char *into)
{
	return launch_with(l, command, NULL, from, into);
}

static bool is_there(const char *path)
{
	return sn_store_is_experiment(path);
}

/* Which loops are hot: in l->first. An exit code if it is not known. */
static int first_find(struct launched *l)
{
	const char *from = sn_args_value(l->args, "from");
	int code;

	if (from) {
		sn_text_add(&l->first, from);
		return SN_EXIT_OK;
	}
	l->is_first_ours = true;
	sn_store_next(sn_base_name(l->args->operands[0]), &l->first);
	if (!sn_args_flag(l->args, "quiet"))
		fprintf(stderr,
			"sonde: a first run finds the loops; its standard output is not shown\n");
	sn_streams_begin(&l->streams);
	code = launch(l, "record", NULL, l->first.chars);
	l->first_code = code;
	sn_streams_end(&l->streams);
	sn_streams_rewind(&l->streams);
	return is_there(l->first.chars) ? SN_EXIT_OK : code ? code : SN_EXIT_NOT_MEASURED;
}

/* Says what the ranks will do, and whether they can. */
static sn_status foresee(const struct launched *l, int *code, struct sn_error *err)
{
	struct sn_analysis *analysis = NULL;
	struct sn_loop_run run = *l->run;
	sn_status status = sn_cli_analysis_open(l->first.chars, NULL, &analysis, err);

	run.is_first_ours = l->is_first_ours;
	run.first_code = l->first_code;
	if (status == SN_OK)
		status = sn_cli_loop_run_foresee(l->args, &run, analysis, code, err);
	sn_analysis_free(analysis);
	return status;
}

static void second_name(struct launched *l)
{
	const char *output = sn_args_value(l->args, "output");

	if (output)
		sn_text_add(&l->second, output);
	else
		sn_store_next(sn_base_name(l->args->operands[0]), &l->second);
}

static int measure(struct launched *l)
{
	int code = launch(l, l->run->command, l->first.chars, l->second.chars);

	if (is_there(l->second.chars) && !sn_args_flag(l->args, "quiet"))
		fprintf(stderr, "sonde: %s; sonde show %s %s\n", l->second.chars, l->run->view,
			l->second.chars);
	return code;
}

static int all_of_it(struct launched *l)
{
	struct sn_error err;
	int code;

	if (sn_args_flag(l->args, "keep-text")) {
		second_name(l);
		code = launch(l, "record", NULL, l->second.chars);
		if (is_there(l->second.chars))
			sn_cli_loop_run_kept(l->args, l->run, l->second.chars);
		return code;
	}
	code = first_find(l);
	if (code != SN_EXIT_OK)
		return code;
	code = SN_EXIT_NOT_MEASURED;
	if (foresee(l, &code, &err) != SN_OK) {
		sn_error_print(&err);
		if (l->is_first_ours)
			sn_store_remove(l->first.chars, NULL); /* it was for this run alone */
		return code;
	}
	second_name(l);
	return measure(l);
}

static sn_status own_path(struct launched *l, struct sn_error *err)
{
	return readlink("/proc/self/exe", l->own, sizeof(l->own) - 1) < 0
		       ? sn_error_errno(err, "cannot find this command's own file")
		       : SN_OK;
}

sn_status sn_cli_launch(const struct sn_args *args, const char *command, const char *more,
			const char *from, const char *into, int *code, struct sn_error *err)
{
	struct launched l = { .args = args };
	sn_status status =
		sn_cli_launcher_read("launcher", sn_args_value(args, "launcher"), &l.launcher, err);

	if (status != SN_OK)
		return status;
	status = own_path(&l, err);
	if (status == SN_OK)
		*code = launch_with(&l, command, more, from, into);
	wordfree(&l.launcher);
	return status;
}

int sn_cli_loop_run_launched(const struct sn_args *args, const struct sn_loop_run *run)
{
	struct launched l = { .args = args, .run = run };
	struct sn_error err;
	int code = SN_EXIT_NOT_MEASURED;
	sn_status status = sn_cli_launcher_read("launcher", sn_args_value(args, "launcher"),
						&l.launcher, &err);

	if (status != SN_OK) {
		sn_error_print(&err);
		return code;
	}
	if (own_path(&l, &err) != SN_OK) {
		sn_error_print(&err);
	} else {
		sn_streams_open(&l.streams);
		code = all_of_it(&l);
		sn_streams_close(&l.streams);
	}
	wordfree(&l.launcher);
	sn_text_free(&l.first);
	sn_text_free(&l.second);
	return code;
}
