/*
 * Command lines of runs and builds, and the processes that they become. A child waits at a pipe before
 * its exec, so that the state knows it before it does anything; if we die it ends, too.
 */
#include "campaign/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/progress.h"
#include "campaign/values.h"

enum { GRACE_S = 5, LAST_BYTES = 4096, LAST_MOST = 200 };

/* ---- command lines ---- */

static void word_add(struct sn_command_line *line, const char *word)
{
	sn_vec_push(&line->words.items, word);
}

/* As exec wants it: NULL behind the last. */
static void words_end(struct sn_command_line *line)
{
	sn_vec_push(&line->words.items, NULL);
	line->words.items.count--;
}

/* Splits first and fills then, so that a data set with blanks stays one word. */
static sn_status words_fill(const char *text, const struct sn_campaign_fill *fill,
			    struct sn_arena *arena, struct sn_words *out, struct sn_error *err)
{
	size_t first = out->items.count;
	sn_status status = sn_words_split(text, "", arena, out, err);

	for (size_t i = first; status == SN_OK && i < out->items.count; i++) {
		struct sn_text filled = { 0 };

		if (!strcmp(out->items.items[i], "{command}"))
			continue;
		status = sn_campaign_fill(out->items.items[i], fill, &filled, err);
		out->items.items[i] = sn_arena_strdup(arena, filled.chars ? filled.chars : "");
		sn_text_free(&filled);
	}
	return status;
}

static sn_status environment_fill(const struct sn_campaign_fill *fill, struct sn_arena *arena,
				  struct sn_command_line *line, struct sn_error *err)
{
	const struct sn_campaign_configuration *c = fill->configuration;

	if (c->threads) {
		struct sn_campaign_variable threads = { "OMP_NUM_THREADS",
							sn_arena_printf(arena, "%u", c->threads) };

		sn_vec_push(&line->environment, threads);
	}
	for (size_t i = 0; i < c->environment.count; i++) {
		struct sn_campaign_variable variable = { c->environment.items[i].name, "" };
		struct sn_text filled = { 0 };
		sn_status status =
			sn_campaign_fill(c->environment.items[i].value, fill, &filled, err);

		variable.value = sn_arena_strdup(arena, filled.chars ? filled.chars : "");
		sn_text_free(&filled);
		if (status != SN_OK)
			return status;
		sn_vec_push(&line->environment, variable);
	}
	return SN_OK;
}

/* `[taskset -c PIN] [WORDS...] PROGRAM ARGUMENTS`; the words end with NULL. */
static sn_status program_add(const struct sn_campaign_fill *fill, const char *const *words,
			     struct sn_arena *arena, struct sn_command_line *line,
			     struct sn_error *err)
{
	const struct sn_campaign_configuration *c = fill->configuration;
	struct sn_text program = { 0 };
	sn_status status = SN_OK;

	if (*c->pin) {
		word_add(line, "taskset");
		word_add(line, "-c");
		status = words_fill(c->pin, fill, arena, &line->words, err);
	}
	for (; *words; words++)
		word_add(line, *words);
	if (status == SN_OK)
		status = sn_campaign_fill(c->program, fill, &program, err);
	word_add(line, sn_arena_strdup(arena, program.chars ? program.chars : ""));
	sn_text_free(&program);
	return status == SN_OK ? words_fill(c->arguments, fill, arena, &line->words, err) : status;
}

/* The launcher's own words; a known name stands for some. */
static const char *launcher_words(const struct sn_campaign_plan *plan,
				  const struct sn_campaign_configuration *c, struct sn_arena *arena)
{
	struct sn_text text = { 0 };
	const char *kept;

	if (!strcmp(plan->launcher, "local") || (!*plan->launcher && !c->ranks))
		return "{command}";
	if (!strcmp(plan->launcher, "mpirun"))
		return c->per_node ? "mpirun -n {ranks} -ppn {ranks_per_node} {command}"
				   : "mpirun -n {ranks} {command}";
	if (*plan->launcher && strcmp(plan->launcher, "srun") != 0)
		return plan->launcher;
	sn_text_add(&text, "srun -n {ranks}");
	sn_text_add(&text, c->nodes ? " -N {nodes}" : "");
	sn_text_add(&text, c->per_node ? " --ntasks-per-node={ranks_per_node}" : "");
	sn_text_add(&text, c->threads ? " -c {threads} {command}" : " {command}");
	kept = sn_arena_strdup(arena, text.chars);
	sn_text_free(&text);
	return kept;
}

/* The launcher's words, with the program and `words` before it where {command} stands. */
static sn_status launch_add(const struct sn_campaign_plan *plan,
			    const struct sn_campaign_fill *fill, const char *const *words,
			    struct sn_arena *arena, struct sn_command_line *out,
			    struct sn_error *err)
{
	struct sn_words launcher = { 0 };
	bool has_command = false;
	sn_status status = words_fill(launcher_words(plan, fill->configuration, arena), fill, arena,
				      &launcher, err);

	for (size_t i = 0; status == SN_OK && i < launcher.items.count; i++) {
		if (strcmp(launcher.items.items[i], "{command}") != 0) {
			word_add(out, launcher.items.items[i]);
			continue;
		}
		has_command = true;
		status = program_add(fill, words, arena, out, err);
	}
	sn_vec_free(&launcher.items);
	if (status == SN_OK && !has_command)
		status = sn_error_set(err, SN_ERR_USAGE,
				      "{command} is no word of its own in the "
				      "launcher");
	words_end(out);
	out->directory = fill->configuration->directory;
	return status == SN_OK ? environment_fill(fill, arena, out, err) : status;
}

sn_status sn_campaign_command(const struct sn_campaign_plan *plan,
			      const struct sn_campaign_configuration *configuration,
			      const char *build_folder, const char *sonde, const char *experiment,
			      struct sn_arena *arena, struct sn_command_line *out,
			      struct sn_error *err)
{
	const char *const words[] = { sonde, "record", "--quiet", "-o", experiment, "--", NULL };
	struct sn_campaign_fill fill = { configuration, build_folder };

	return launch_add(plan, &fill, words, arena, out, err);
}

static void option_add(struct sn_command_line *line, const char *name, const char *value)
{
	if (!value)
		return;
	word_add(line, name);
	word_add(line, value);
}

/* The launcher as one word for --launcher, so that each rank is measured on whatever host it is. NULL, and no fault: it is not all
 * before the command. */
static sn_status launcher_word(const struct sn_campaign_plan *plan,
			       const struct sn_campaign_fill *fill, struct sn_arena *arena,
			       const char **out, struct sn_error *err)
{
	struct sn_words words = { 0 };
	struct sn_text text = { 0 };
	sn_status status = words_fill(launcher_words(plan, fill->configuration, arena), fill, arena,
				      &words, err);
	size_t last = words.items.count ? words.items.count - 1 : 0;
	bool is_before = status == SN_OK && last && !strcmp(words.items.items[last], "{command}");

	for (size_t i = 0; is_before && i < last; i++) {
		sn_text_add(&text, i ? " " : "");
		sn_text_add_shell_word(&text, words.items.items[i]);
		is_before = strcmp(words.items.items[i], "{command}") != 0;
	}
	*out = is_before ? sn_arena_strdup(arena, text.chars) : NULL;
	sn_text_free(&text);
	sn_vec_free(&words.items);
	return status;
}

sn_status sn_campaign_level_command(const struct sn_campaign_plan *plan,
				    const struct sn_campaign_configuration *configuration,
				    const char *build_folder, const char *sonde,
				    const char *experiment, struct sn_arena *arena,
				    struct sn_command_line *out, struct sn_error *err)
{
	static const char *const none[] = { NULL };
	const char *const words[] = { sonde,
				      "analyze",
				      "--quiet",
				      "--level",
				      sn_arena_printf(arena, "%u", plan->level),
				      "--from",
				      experiment };
	struct sn_campaign_fill fill = { configuration, build_folder };
	const char *launcher = NULL;
	sn_status status = SN_OK;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		word_add(out, words[i]);
	option_add(out, "--loops", plan->loops);
	option_add(out, "--exclude", plan->exclude);
	if (configuration->ranks)
		status = launcher_word(plan, &fill, arena, &launcher, err);
	option_add(out, "--launcher", launcher);
	word_add(out, "--");
	if (status != SN_OK || !launcher)
		return status == SN_OK ? launch_add(plan, &fill, none, arena, out, err) : status;
	status = program_add(&fill, none, arena, out, err);
	words_end(out);
	out->directory = configuration->directory;
	return status == SN_OK ? environment_fill(&fill, arena, out, err) : status;
}

sn_status sn_campaign_build_command(const struct sn_campaign_configuration *configuration,
				    const char *build_folder, struct sn_arena *arena,
				    struct sn_command_line *out, struct sn_error *err)
{
	struct sn_campaign_fill fill = { configuration, build_folder };
	sn_status status = words_fill(configuration->build, &fill, arena, &out->words, err);

	words_end(out);
	out->directory = configuration->directory;
	return status;
}

void sn_command_line_free(struct sn_command_line *line)
{
	sn_vec_free(&line->words.items);
	sn_vec_free(&line->environment);
}

/* ---- processes ---- */

void sn_campaign_signals_block(sigset_t *signals)
{
	static const int taken[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP };

	sigemptyset(signals);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		sigaddset(signals, taken[i]);
	sigprocmask(SIG_BLOCK, signals, NULL);
}

static int file_open(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
}

/* A launch of our own is none of the job step that we may run in. */
static void launcher_forget(void)
{
	static const char *const prefixes[] = { "PMIX_", "PMI_", "OMPI_COMM_", "OMPI_UNIVERSE_",
						"PRTE_" };
	bool found = true;

	while (found) {
		found = false;
		for (char **e = environ; *e && !found; e++)
			for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
				if (sn_starts_with(*e, prefixes[i])) {
					char *name = strndup(*e, strcspn(*e, "="));

					unsetenv(name);
					free(name);
					found = true;
					break;
				}
	}
}

__attribute__((noreturn)) static void child_become(const struct sn_command_line *line,
						   const char *output, const char *errors,
						   const sigset_t *signals, int go_fd)
{
	int null_fd = open("/dev/null", O_RDONLY), output_fd = file_open(output);
	int errors_fd = strcmp(output, errors) != 0 ? file_open(errors) : output_fd;
	char go;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setsid();
	dup2(null_fd, 0);
	dup2(output_fd, 1);
	dup2(errors_fd, 2);
	if (null_fd < 0 || output_fd < 0 || errors_fd < 0 || read(go_fd, &go, 1) != 1)
		_exit(125);
	closefrom(3);
	for (size_t i = 0; i < line->environment.count; i++)
		setenv(line->environment.items[i].name, line->environment.items[i].value, 1);
	launcher_forget();
	if (chdir(line->directory)) {
		dprintf(2, "cannot enter the directory '%s': %s\n", line->directory,
			strerror(errno));
		_exit(125);
	}
	sn_file_limit_leave();
	sigprocmask(SIG_UNBLOCK, signals, NULL);
	execvp(line->words.items.items[0], (char *const *)line->words.items.items);
	dprintf(2, "cannot run '%s': %s\n", line->words.items.items[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Field 22 of /proc/PID/stat; 0: there is no such process, or it has ended. */
static uint64_t start_of(pid_t pid)
{
	char path[64], text[1024];
	FILE *in;
	size_t length;
	char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	in = fopen(path, "re");
	if (!in)
		return 0;
	length = fread(text, 1, sizeof(text) - 1, in);
	text[length] = '\0';
	fclose(in);
	at = strrchr(text, ')');
	if (at && sn_starts_with(at, ") Z"))
		return 0;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

sn_status sn_child_start(const struct sn_command_line *line, const char *output, const char *errors,
			 const sigset_t *signals, struct sn_child *out, struct sn_error *err)
{
	int go[2];

	if (pipe2(go, O_CLOEXEC))
		return sn_error_errno(err, "cannot start '%s'", line->words.items.items[0]);
	out->pid = fork();
	if (!out->pid) {
		close(go[1]);
		child_become(line, output, errors, signals, go[0]);
	}
	close(go[0]);
	out->go_fd = go[1];
	out->signals = *signals;
	if (out->pid < 0) {
		close(go[1]);
		return sn_error_errno(err, "cannot start '%s'", line->words.items.items[0]);
	}
	out->start = start_of(out->pid);
	return SN_OK;
}

void sn_child_go(struct sn_child *child, bool shall_run)
{
	if (shall_run && write(child->go_fd, "", 1) != 1)
		errno = 0; /* it is gone, which waiting for it tells */
	close(child->go_fd);
	/* it has our locks until it has ended */
	while (!shall_run && waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool has_ended(pid_t pid, int *status)
{
	int raw;

	if (waitpid(pid, &raw, WNOHANG) != pid)
		return false;
	*status = WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
	return true;
}

/* Whether it ended within the time; other signals are left for later. */
static bool wait_quietly(pid_t pid, double seconds, int *status)
{
	double until = sn_now_s() + seconds;

	while (!has_ended(pid, status)) {
		if (sn_now_s() >= until)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return true;
}

static void group_end(pid_t pid, int *status)
{
	kill(-pid, SIGTERM);
	if (!wait_quietly(pid, GRACE_S, status)) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL); /* it may not have made its group yet */
		while (!wait_quietly(pid, GRACE_S, status))
			;
	}
	kill(-pid, SIGKILL); /* what ignored the first */
}

enum sn_child_end sn_child_wait(struct sn_child *child, double timeout_s, int *status)
{
	double until = timeout_s > 0 ? sn_now_s() + timeout_s : 0;

	while (!has_ended(child->pid, status)) {
		double left = until > 0 ? until - sn_now_s() : 3600;
		struct timespec pause = { (time_t)left,
					  (long)((left - (double)(time_t)left) * 1e9) };
		int signal;

		if (left <= 0) {
			group_end(child->pid, status);
			return SN_CHILD_TIMED_OUT;
		}
		signal = sigtimedwait(&child->signals, NULL, &pause);
		if (signal > 0 && signal != SIGCHLD) {
			group_end(child->pid, status);
			return SN_CHILD_STOPPED;
		}
	}
	return SN_CHILD_ENDED;
}

void sn_orphan_end(pid_t pid, uint64_t start, const char *boot)
{
	struct sn_arena arena = { 0 };
	bool is_here = boot && *boot && !strcmp(boot, sn_boot_id(&arena)) && pid > 1 && start;

	sn_arena_free(&arena);
	if (!is_here || start_of(pid) != start)
		return;
	kill(-pid, SIGTERM);
	for (int waited_ms = 0; waited_ms < GRACE_S * 1000; waited_ms += 10) {
		if (start_of(pid) != start)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	kill(-pid, SIGKILL);
	for (int waited_ms = 0; waited_ms < GRACE_S * 1000 && start_of(pid) == start;
	     waited_ms += 10)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

/* ---- last words ---- */

static bool says_something(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)line[i] > ' ' && !strchr("-=*#.", line[i]))
			return true;
	return false;
}

/* A rule, as Open MPI draws one above and one below what it has to say. */
static bool is_rule(const char *line, size_t length)
{
	size_t dashes = 0;

	while (dashes < length && line[dashes] == '-')
		dashes++;
	return length >= 20 && dashes == length;
}

static size_t line_length(const char *line, const char *end)
{
	const char *newline = memchr(line, '\n', (size_t)(end - line));

	return newline ? (size_t)(newline - line) : (size_t)(end - line);
}

/* What launchers add behind the words of a program that failed. */
static bool is_epilogue(const char *words)
{
	return sn_starts_with(words, "Primary job ") ||
	       sn_starts_with(words, "mpirun detected that ") ||
	       sn_starts_with(words, "prterun detected that ");
}

/* The first paragraph of a box, on one line. */
static void box_add(const char *from, const char *end, struct sn_text *out)
{
	for (const char *line = from; line < end;) {
		size_t length = line_length(line, end);

		if (says_something(line, length))
			sn_text_addf(out, "%s%.*s", out->length ? " " : "", (int)length, line);
		else if (out->length)
			return;
		line += length + 1;
	}
}

/* Walks on to the last line that says something, boxes as a whole. `words` gets it. */
static void words_find(const char *bytes, const char *end, bool begins_in_box,
		       struct sn_text *words)
{
	const char *box = begins_in_box ? bytes : NULL;
	struct sn_text text = { 0 };

	for (const char *line = bytes; line < end;) {
		size_t length = line_length(line, end);

		sn_text_clear(&text);
		if (!is_rule(line, length)) {
			if (!box && says_something(line, length))
				sn_text_add_bytes(&text, line, length);
		} else if (box) {
			box_add(box, line, &text);
			box = NULL;
		} else {
			box = line + length + 1;
		}
		if (text.length && !(words->length && is_epilogue(text.chars))) {
			sn_text_clear(words);
			sn_text_add_bytes(words, text.chars, text.length);
		}
		line += length + 1;
	}
	/* one rule alone is none of a box */
	for (const char *line = box ? box : end; line < end; line += line_length(line, end) + 1)
		if (says_something(line, line_length(line, end))) {
			sn_text_clear(words);
			sn_text_add_bytes(words, line, line_length(line, end));
		}
	sn_text_free(&text);
}

void sn_last_words(const char *path, struct sn_text *out)
{
	char bytes[LAST_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	ssize_t got =
		fd >= 0 ? pread(fd, bytes, sizeof(bytes), size > LAST_BYTES ? size - LAST_BYTES : 0)
			: 0;
	const char *end = bytes + (got > 0 ? got : 0);
	struct sn_text words = { 0 };
	size_t rules = 0;

	if (fd >= 0)
		close(fd);
	for (const char *line = bytes; line < end; line += line_length(line, end) + 1)
		rules += is_rule(line, line_length(line, end));
	/* boxes are closed in the end: the first rule of an odd number closes what was cut off */
	words_find(bytes, end, size > LAST_BYTES && rules % 2, &words);
	if (words.length)
		sn_text_add_printable(out, words.chars,
				      words.length < LAST_MOST ? words.length : LAST_MOST);
	sn_text_free(&words);
}

void sn_first_error(const char *path, struct sn_text *out)
{
	struct sn_file_view file;
	const char *line, *end;

	if (sn_file_map(path, &file, NULL) != SN_OK)
		return;
	line = (const char *)file.bytes;
	end = line + file.length;
	while (line < end) {
		size_t length = line_length(line, end);

		if (memmem(line, length, "error", 5) || memmem(line, length, "Error", 5)) {
			sn_text_add_printable(out, line, length < LAST_MOST ? length : LAST_MOST);
			break;
		}
		line += length + 1;
	}
	sn_file_unmap(&file);
	if (!out->length)
		sn_last_words(path, out);
}

void sn_folder_clear(const char *path)
{
	struct sn_command_line line = { .directory = "/" };
	struct sn_child child;
	sigset_t signals;
	int status;

	/* a build may have made anything, so this is left to who knows how to remove it */
	sn_vec_push(&line.words.items, "rm");
	sn_vec_push(&line.words.items, "-rf");
	sn_vec_push(&line.words.items, "--");
	sn_vec_push(&line.words.items, path);
	sn_vec_push(&line.words.items, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	if (sn_child_start(&line, "/dev/null", "/dev/null", &signals, &child, NULL) == SN_OK) {
		sn_child_go(&child, true);
		sn_child_wait(&child, 0, &status);
	}
	sn_command_line_free(&line);
}
