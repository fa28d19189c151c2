/*
 * Runs debuginfod-find and reads the path that it prints. The command handles the network, the
 * cache and the time-outs, so none of that is here.
 */
#include "code/debuginfod.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char command[] = "debuginfod-find";

/* Runs the command with its errors unheard; `*pid` is to be waited for. NULL: it cannot be run. */
static FILE *ask(char *const *words, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int ends[2], failed;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	failed = posix_spawnp(pid, command, &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (failed) {
		close(ends[0]);
		return NULL;
	}
	return fdopen(ends[0], "r");
}

/* The first line of what the command says; NULL unless it succeeds. */
static char *answer_of(char *const *words)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	pid_t pid;
	int status = -1;
	FILE *answer = ask(words, &pid);

	if (!answer)
		return NULL;
	length = getline(&line, &capacity, answer);
	fclose(answer);
	waitpid(pid, &status, 0);
	if (length > 0 && line[length - 1] == '\n')
		line[--length] = '\0';
	if (status || length <= 0) {
		free(line);
		return NULL;
	}
	return line;
}

sn_status sn_debuginfod_ready(struct sn_error *err)
{
	char *words[] = { (char *)command, "--version", NULL };
	const char *urls = getenv("DEBUGINFOD_URLS");
	char *version;

	if (!urls || !*urls)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "--debuginfod: DEBUGINFOD_URLS names no server; set it, as in "
				    "DEBUGINFOD_URLS=https://debuginfod.debian.net");
	version = answer_of(words);
	if (!version)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "--debuginfod: there is no command %s; install the package "
				    "debuginfod",
				    command);
	free(version);
	return SN_OK;
}

char *sn_debuginfod_find(const char *build_id)
{
	char *words[] = { (char *)command, "debuginfo", (char *)build_id, NULL };

	return answer_of(words);
}
