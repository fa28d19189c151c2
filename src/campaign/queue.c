/* Slurm's commands, and what they say. They get no signal that is for us: a submission is not cut off. */
#include "campaign/queue.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "campaign/launch.h"

/* Slurm's commands wait for a controller that does not answer, some for a minute. */
enum { ANSWER_S = 120 };

/* ---- commands ---- */

/* What a command printed. */
struct said {
	int output, errors; /* files in memory; -1: there are none */
};

static void said_free(struct said *said)
{
	if (said->output >= 0)
		close(said->output);
	if (said->errors >= 0)
		close(said->errors);
}

/* Runs a command. The exit status; -1: it did not end. */
static int tool_run(const struct sn_words *words, const char *directory, struct said *said)
{
	struct sn_command_line line = { .directory = directory };
	char output[64], errors[64];
	struct sn_child child;
	sigset_t signals, before;
	int status = -1;

	*said = (struct said){ memfd_create("output", MFD_CLOEXEC),
			       memfd_create("errors", MFD_CLOEXEC) };
	snprintf(output, sizeof(output), "/proc/self/fd/%d", said->output);
	snprintf(errors, sizeof(errors), "/proc/self/fd/%d", said->errors);
	for (size_t i = 0; i < words->items.count; i++)
		sn_vec_push(&line.words.items, words->items.items[i]);
	sn_vec_push(&line.words.items, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &before); /* else nothing wakes who waits for it */
	if (sn_child_start(&line, output, errors, &signals, &child, NULL) == SN_OK) {
		sn_child_go(&child, true);
		if (sn_child_wait(&child, ANSWER_S, &status) != SN_CHILD_ENDED)
			status = -1;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	sn_command_line_free(&line);
	return status;
}

static void answer_read(const struct said *said, struct sn_text *out)
{
	char bytes[4096];
	ssize_t got;

	for (off_t at = 0; (got = pread(said->output, bytes, sizeof(bytes), at)) > 0; at += got)
		sn_text_add_bytes(out, bytes, (size_t)got);
}

static void words_read(const struct said *said, struct sn_text *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", said->errors);
	sn_last_words(path, out);
}

static void words_of(const char *const *from, struct sn_words *out)
{
	for (; *from; from++)
		sn_vec_push(&out->items, *from);
}

/* ---- the queue ---- */

static enum sn_queue_state state_of(const char *word, size_t length)
{
	static const struct {
		const char *word;
		enum sn_queue_state state;
	} known[] = {
		{ "PENDING", SN_QUEUE_WAITS },	     { "REQUEUED", SN_QUEUE_WAITS },
		{ "REQUEUE_HOLD", SN_QUEUE_WAITS },  { "REQUEUE_FED", SN_QUEUE_WAITS },
		{ "SPECIAL_EXIT", SN_QUEUE_WAITS },  { "RESV_DEL_HOLD", SN_QUEUE_WAITS },
		{ "CONFIGURING", SN_QUEUE_WAITS },   { "TIMEOUT", SN_QUEUE_TIMED_OUT },
		{ "DEADLINE", SN_QUEUE_TIMED_OUT },  { "CANCELLED", SN_QUEUE_CANCELLED },
		{ "REVOKED", SN_QUEUE_CANCELLED },   { "NODE_FAIL", SN_QUEUE_LOST },
		{ "BOOT_FAIL", SN_QUEUE_LOST },	     { "PREEMPTED", SN_QUEUE_LOST },
		{ "COMPLETED", SN_QUEUE_ENDED },     { "FAILED", SN_QUEUE_ENDED },
		{ "OUT_OF_MEMORY", SN_QUEUE_ENDED },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i].word) == length && !memcmp(known[i].word, word, length))
			return known[i].state;
	return SN_QUEUE_RUNS; /* completing, suspended, staging out ... it is not over */
}

static void row_read(const char *line, size_t length, struct sn_arena *arena,
		     struct sn_queue_rows *out)
{
	const char *field[3], *at = line, *end = line + length;
	struct sn_queue_row row;

	for (int i = 0; i < 3; i++) {
		field[i] = memchr(at, '|', (size_t)(end - at));
		if (!field[i])
			return;
		at = field[i] + 1;
	}
	row.job = sn_arena_printf(arena, "%.*s", (int)(field[0] - line), line);
	row.reason = sn_arena_printf(arena, "%.*s", (int)(field[2] - field[1] - 1), field[1] + 1);
	row.script = sn_arena_printf(arena, "%.*s", (int)(end - at), at);
	row.state = state_of(field[0] + 1, (size_t)(field[1] - field[0] - 1));
	if (*row.job && *row.script)
		sn_vec_push(&out->items, row);
}

void sn_queue_read(const char *bytes, size_t length, struct sn_arena *arena,
		   struct sn_queue_rows *out)
{
	for (const char *at = bytes, *end = bytes + length; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((newline ? newline : end) - at);

		if (size < 65536)
			row_read(at, size, arena, out);
		at += size + 1;
	}
}

const struct sn_queue_row *sn_queue_find(const struct sn_queue_rows *rows, const char *script)
{
	const struct sn_queue_row *found = NULL;

	/* one script may have been taken twice: what still lives counts */
	for (size_t i = 0; i < rows->items.count; i++) {
		const struct sn_queue_row *row = &rows->items.items[i];

		if (!strcmp(row->script, script) &&
		    (!found || row->state == SN_QUEUE_WAITS || row->state == SN_QUEUE_RUNS))
			found = row;
	}
	return found;
}

bool sn_queue_ask(struct sn_arena *arena, struct sn_queue_rows *out, struct sn_text *words)
{
	static const char *const asked[] = { "squeue",	     "--noheader",	     "--me",
					     "--states=all", "--format=%i|%T|%r|%o", NULL };
	struct sn_words line = { 0 };
	struct said said;
	struct sn_text answer = { 0 };
	int status;

	words_of(asked, &line);
	status = tool_run(&line, "/", &said);
	sn_vec_free(&line.items);
	if (!status) {
		answer_read(&said, &answer);
		sn_queue_read(answer.chars, answer.length, arena, out);
	} else {
		words_read(&said, words);
	}
	said_free(&said);
	sn_text_free(&answer);
	return !status;
}

/* What passes by itself: the controller is being started, or has too much to do. */
static bool will_pass(const char *words)
{
	static const char *const signs[] = { "ontact slurm controller",
					     "imed out",
					     "onnection refused",
					     "emporarily",
					     "try again",
					     "lurm backup controller",
					     "onnect failure" };

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (strstr(words, signs[i]))
			return true;
	return false;
}

/* "123" or, with clusters, "123;name": digits, which is all that scancel is given. */
static const char *job_of(const struct sn_text *answer, struct sn_arena *arena)
{
	const char *last = answer->chars ? answer->chars : "";
	size_t length;

	/* a site's wrapper may say more before it */
	for (const char *at = strchr(last, '\n'); at && at[1]; at = strchr(at + 1, '\n'))
		last = at + 1;
	length = strspn(last, "0123456789");
	return length && length < 20 && strchr(";\n", last[length])
		       ? sn_arena_printf(arena, "%.*s", (int)length, last)
		       : NULL;
}

sn_status sn_queue_submit(const struct sn_words *words, const char *script, const char *directory,
			  struct sn_arena *arena, enum sn_queue_answer *answer, const char **job,
			  struct sn_text *reason, struct sn_error *err)
{
	struct sn_words line = { 0 };
	struct said said;
	struct sn_text printed = { 0 };
	int status;

	for (size_t i = 0; i < words->items.count; i++)
		sn_vec_push(&line.items, words->items.items[i]);
	sn_vec_push(&line.items, script);
	status = tool_run(&line, directory, &said);
	sn_vec_free(&line.items);
	*job = NULL;
	words_read(&said, reason);
	answer_read(&said, &printed);
	said_free(&said);
	if (!status)
		*job = job_of(&printed, arena);
	sn_text_free(&printed);
	if (status == 127)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "there is no sbatch here: jobs are submitted where Slurm's "
				    "commands are");
	*answer = *job							      ? SN_QUEUE_TAKEN
		  : status < 0 || (reason->chars && will_pass(reason->chars)) ? SN_QUEUE_SILENT
									      : SN_QUEUE_REFUSED;
	if (!*job && !reason->length)
		sn_text_addf(reason,
			     status ? "it ended with exit status %d" : "it told no number of a job",
			     status);
	return SN_OK;
}

bool sn_queue_cancel(const char *job, struct sn_text *words)
{
	const char *const asked[] = { "scancel", job, NULL };
	struct sn_words line = { 0 };
	struct said said;
	int status;

	words_of(asked, &line);
	status = tool_run(&line, "/", &said);
	sn_vec_free(&line.items);
	sn_text_clear(words);
	if (status)
		words_read(&said, words);
	said_free(&said);
	/* it is over, which was wanted */
	return !status ||
	       (words->chars && (strstr(words->chars, "nvalid job id") ||
				 strstr(words->chars, "already completing or completed")));
}

enum sn_queue_state sn_queue_end_in(const char *bytes, size_t length)
{
	static const struct {
		const char *sign;
		enum sn_queue_state state;
	} known[] = { { "DUE TO TIME LIMIT", SN_QUEUE_TIMED_OUT },
		      { "DUE TO NODE FAILURE", SN_QUEUE_LOST },
		      { "DUE TO PREEMPTION", SN_QUEUE_LOST },
		      { "CANCELLED AT", SN_QUEUE_CANCELLED } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (memmem(bytes, length, known[i].sign, strlen(known[i].sign)))
			return known[i].state;
	return SN_QUEUE_GONE;
}
