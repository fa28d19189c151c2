/* Launchers of a program and of the agents of its hosts, as words. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include "base/alloc.h"
#include "base/spelling.h"
#include "experiment/store.h"
#include "record/target.h"
#include "search/link/uplink.h"
#include "search/online/hosts_parts.h"

static bool is_shell(const char *word)
{
	static const char *const shells[] = { "ssh", "rsh", "oarsh" };

	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
		if (!strcmp(sn_base_name(word), shells[i]))
			return true;
	return false;
}

static const char *template_of(const char *kind)
{
	return !strcmp(kind, "ssh")    ? "ssh {host}"
	       : !strcmp(kind, "srun") ? "srun --overlap --nodes=1 --ntasks=1 --nodelist={host}"
				       : kind;
}

/* A launcher of this program, of the agents, or a recording: what all of them are told. */
static void words_add(const struct sn_hosts *h, const char *role, sn_strings *words)
{
	char own[4096];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[length > 0 ? length : 0] = '\0';
	sn_vec_push(words, sn_strdup(own));
	sn_vec_push(words, sn_strdup("search"));
	sn_vec_push(words, sn_strdup("--join"));
	sn_vec_push(words, sn_strdup(h->path));
	sn_vec_push(words, sn_strdup("--agents"));
	sn_vec_push(words, sn_strdup(role));
	sn_vec_push(words, sn_strdup("--phase"));
	sn_vec_push(words, sn_strdup(h->options->phase));
	for (const char *const *word = h->options->passed; word && *word; word++)
		sn_vec_push(words, sn_strdup(*word));
}

/* A shell's words may have no braces, so the host is put in first; its name has nothing that a shell minds. */
static char *with_host(const char *word, const char *host)
{
	struct sn_text text = { 0 };

	for (const char *at; (at = strstr(word, "{host}")); word = at + strlen("{host}")) {
		sn_text_add_bytes(&text, word, (size_t)(at - word));
		sn_text_add(&text, host);
	}
	sn_text_add(&text, word);
	return sn_text_take(&text);
}

/* ssh gives its words to a shell there. */
static void words_quote(sn_strings *words, size_t first)
{
	for (size_t i = first; i < words->count; i++) {
		struct sn_text text = { 0 };

		sn_text_add_shell_word(&text, words->items[i]);
		free(words->items[i]);
		words->items[i] = sn_text_take(&text);
	}
}

/* A shell of another host begins in another folder, and may have another PATH. A program that is not found here is
 * the launcher's to find. */
static char *program_there(const char *word)
{
	struct sn_target target;
	struct sn_error err;
	char *path =
		sn_target_find(word, &target, &err) == SN_OK ? realpath(target.path, NULL) : NULL;

	return path ? path : sn_strdup(word);
}

void sn_hosts_agent_launch(struct sn_hosts *h, const char *host)
{
	sn_strings words = { 0 };
	struct sn_text name = { 0 };
	char *line = with_host(template_of(h->options->agents), host);
	wordexp_t given = { 0 };
	size_t first;
	pid_t pid;

	if (wordexp(line, &given, WRDE_NOCMD | WRDE_UNDEF)) {
		free(line);
		return; /* it was tried before */
	}
	for (size_t i = 0; i < given.we_wordc; i++)
		sn_vec_push(&words, sn_strdup(given.we_wordv[i]));
	wordfree(&given);
	free(line);
	first = words.count;
	sn_text_addf(&name, "SONDE_NODE=%s", host);
	sn_vec_push(&words, sn_strdup("env"));
	sn_vec_push(&words, sn_text_take(&name));
	words_add(h, "alone", &words);
	sn_vec_push(&words, program_there(h->options->program));
	if (is_shell(words.items[0]))
		words_quote(&words, first);
	sn_vec_push(&words, NULL);
	pid = fork();
	if (!pid) {
		setpgid(0, 0); /* Ctrl-C is the program's */
		execvp(words.items[0], words.items);
		sn_warn("search: the agent of %s cannot be started by '%s': %s", host,
			words.items[0], strerror(errno));
		_exit(127);
	}
	words.count--;
	sn_vec_free_owned(&words);
	if (pid > 0)
		sn_vec_push(&h->launchers, pid);
}

static sn_status program_check(const char *agents, const char *word, struct sn_error *err)
{
	static const char *const kinds[] = { "auto", "local", "ssh", "srun" };
	struct sn_target target;
	struct sn_error why;
	const char *near = NULL;

	if (sn_target_find(word, &target, &why) == SN_OK || !target.exit_code)
		return SN_OK;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(agents, word) && sn_spelling_is_near(agents, kinds[i]))
			near = kinds[i];
	if (near)
		return sn_error_set(err, SN_ERR_USAGE, "--agents '%s': %s; did you mean '%s'?",
				    agents, why.sentence, near);
	return sn_error_set(err, SN_ERR_USAGE, "--agents '%s': %s", agents, why.sentence);
}

sn_status sn_hosts_agents_check(const char *agents, struct sn_error *err)
{
	char *line;
	wordexp_t words;
	int failed;
	sn_status status;

	if (!strcmp(agents, "auto") || !strcmp(agents, "local"))
		return SN_OK;
	line = with_host(template_of(agents), "host");
	failed = wordexp(line, &words, WRDE_NOCMD | WRDE_UNDEF);
	free(line);
	if (failed || !words.we_wordc)
		status = sn_error_set(err, SN_ERR_USAGE,
				      "--agents takes auto, local, ssh, srun or the words of a "
				      "launcher, such as 'ssh {host}', not '%s'",
				      agents);
	else
		status = program_check(agents, words.we_wordv[0], err);
	if (!failed)
		wordfree(&words);
	return status;
}

bool sn_hosts_has_launcher(const struct sn_hosts *h)
{
	return strcmp(h->options->agents, "auto") && strcmp(h->options->agents, "local");
}

/* ---- the program ---- */

/* The launcher's words, what takes part in the search of the folder in `role`, and the program's. */
static pid_t launch(const struct sn_online_options *options, const char *folder, const char *role)
{
	const struct sn_hosts of = { .options = options, .path = (char *)(uintptr_t)folder };
	sn_strings words = { 0 };
	char *const *given = options->record.arguments;
	pid_t pid;

	for (; *given && *given != options->program; given++)
		sn_vec_push(&words, sn_strdup(*given));
	words_add(&of, role, &words);
	for (; *given; given++)
		sn_vec_push(&words, sn_strdup(*given));
	sn_vec_push(&words, NULL);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (options->output_fd != STDOUT_FILENO)
			dup2(options->output_fd, STDOUT_FILENO);
		execvp(words.items[0], words.items);
		sn_warn("search: cannot run '%s': %s", words.items[0], strerror(errno));
		_exit(errno == ENOENT ? SN_EXIT_COMMAND_NOT_FOUND : SN_EXIT_NOT_EXECUTABLE);
	}
	words.count--;
	sn_vec_free_owned(&words);
	return pid;
}

sn_status sn_hosts_program_start(struct sn_hosts *h, struct sn_error *err)
{
	h->child =
		launch(h->options, h->path, sn_hosts_has_launcher(h) ? "wait" : h->options->agents);
	return h->child > 0 ? SN_OK : sn_error_errno(err, "search: the program cannot be started");
}

bool sn_hosts_are_elsewhere(const struct sn_online_options *options)
{
	return options->agents && strcmp(options->agents, "local") != 0 &&
	       options->record.arguments[0] != options->program;
}

sn_status sn_hosts_record(const struct sn_online_options *options, struct sn_text *path,
			  int *exit_code, struct sn_error *err)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sn_text key = { 0 }, made = { 0 };
	sigset_t enders;
	bool is_joined;
	char *folder = NULL;
	int status_there = 0;
	pid_t pid = -1;
	sn_status status;

	sn_text_addf(&key, "search:%d.%lld", (int)getpid(), (long long)sn_agent_now_ns());
	status = sn_store_create(options->record.output, options->program, key.chars, &made,
				 &is_joined, err);
	if (status == SN_OK && !(folder = realpath(made.chars, NULL)))
		status = sn_error_errno(err, "search: no folder");
	if (status == SN_OK && (pid = launch(options, folder, SN_JOIN_RECORD)) < 0)
		status = sn_error_errno(err, "search: the program cannot be started");
	if (pid > 0) {
		sigemptyset(&enders);
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			sigaddset(&enders, all[i]);
		sigprocmask(SIG_BLOCK, &enders, NULL);
		while (waitpid(pid, &status_there, 0) < 0 && errno == EINTR)
			;
		*exit_code = WIFEXITED(status_there) ? WEXITSTATUS(status_there)
						     : 128 + WTERMSIG(status_there);
		sn_text_add(path, made.chars);
	}
	free(folder);
	sn_text_free(&made);
	sn_text_free(&key);
	return status;
}
