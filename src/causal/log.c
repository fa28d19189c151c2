/* causal.tsv: lines of fields between tabs, of which the first says what the line is. */
#include "causal/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "causal/carry.h"

enum { FIELDS_MAX = 16 };

static const char first_line[] = "sonde.causal-log\t1";

struct sn_causal_log *sn_causal_log_new(void)
{
	struct sn_causal_log *log = sn_alloc_zeroed(1, sizeof(*log));

	log->kind = log->name = log->refused = "";
	log->overhead_share = NAN;
	return log;
}

void sn_causal_log_free(struct sn_causal_log *log)
{
	if (!log)
		return;
	sn_vec_free(&log->candidates);
	sn_vec_free(&log->runs);
	sn_vec_free(&log->trials);
	sn_arena_free(&log->arena);
	free(log);
}

/* ---- reading ---- */

struct line {
	char *fields[FIELDS_MAX];
	size_t count;
	bool is_bad;
};

/* Tabs, newlines and backslashes of names are escaped. */
static void unescape(char *field)
{
	char *to = field;

	for (const char *from = field; *from; from++) {
		if (from[0] == '\\' && from[1]) {
			from++;
			*to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

static const char *text_at(struct line *line, size_t i)
{
	return i < line->count ? line->fields[i] : (line->is_bad = true, "");
}

static uint64_t whole_at(struct line *line, size_t i, uint64_t most)
{
	const char *text = text_at(line, i);
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value > most)
		line->is_bad = true;
	return line->is_bad ? 0 : value;
}

static double real_at(struct line *line, size_t i, double low, double high)
{
	const char *text = text_at(line, i);
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= low && value <= high))
		line->is_bad = true;
	return value;
}

#define NS_MOST ((uint64_t)1 << 62)

static void read_candidate(struct sn_causal_log *log, struct line *line)
{
	struct sn_causal_candidate candidate = {
		.kind = text_at(line, 1),
		.id = text_at(line, 2),
		.name = text_at(line, 3),
		.function = text_at(line, 4),
		.file = text_at(line, 5),
		.line_first = (uint32_t)whole_at(line, 6, UINT32_MAX),
		.line_last = (uint32_t)whole_at(line, 7, UINT32_MAX),
		.cpu_share = !strcmp(text_at(line, 8), "-") ? NAN : real_at(line, 8, 0, 1),
	};

	if (log->candidates.count == SN_CAUSAL_CANDIDATES_MAX)
		line->is_bad = true;
	if (!line->is_bad)
		sn_vec_push(&log->candidates, candidate);
}

static void read_run(struct sn_causal_log *log, struct line *line)
{
	struct sn_causal_run run = {
		.elapsed_ns = (int64_t)whole_at(line, 1, NS_MOST),
		.asked_ns = (int64_t)whole_at(line, 2, NS_MOST),
		.slept_ns = (int64_t)whole_at(line, 3, NS_MOST),
		.excess_ns = (int64_t)real_at(line, 4, -1e18, 1e18),
		.pauses = whole_at(line, 5, NS_MOST),
		.credits = whole_at(line, 6, NS_MOST),
		.processes = whole_at(line, 7, NS_MOST),
		.sealed = whole_at(line, 8, NS_MOST),
		.timed_waits = whole_at(line, 9, NS_MOST),
	};

	if (line->count > 10) { /* logs of before have none */
		run.ran_ns = (int64_t)whole_at(line, 10, NS_MOST);
		run.queued_ns = (int64_t)whole_at(line, 11, NS_MOST);
	}
	run.is_cut = run.elapsed_ns == 0; /* as one is written that a later command found cut */
	if (!line->is_bad)
		sn_vec_push(&log->runs, run);
}

static void read_trial(struct sn_causal_log *log, struct line *line)
{
	struct sn_causal_trial trial = {
		.run = (uint32_t)whole_at(line, 1, UINT32_MAX),
		.block = (uint32_t)whole_at(line, 2, UINT32_MAX),
		.candidate = (int32_t)real_at(line, 3, SN_CAUSAL_BASELINE,
					      (double)log->candidates.count - 1),
		.speedup = real_at(line, 4, 0, 1),
		.step_ns = real_at(line, 5, 0, 1e18),
		.visits = whole_at(line, 6, NS_MOST),
		.time_ns = (int64_t)whole_at(line, 7, NS_MOST),
		.virtual_ns = (int64_t)real_at(line, 8, -1e18, 1e18),
		.samples = whole_at(line, 9, NS_MOST),
		.hits = whole_at(line, 10, NS_MOST),
		.hit_ns = (int64_t)whole_at(line, 11, NS_MOST),
		.due_ns = (int64_t)whole_at(line, 12, NS_MOST),
		.settle_ns = SN_CAUSAL_SETTLE_LEAST_NS,
	};

	if (line->count > 13) /* logs of before have none */
		trial.settle_ns = (int64_t)whole_at(line, 13, NS_MOST);

	if (!line->is_bad)
		sn_vec_push(&log->trials, trial);
}

static void read_line(struct sn_causal_log *log, struct line *line)
{
	const char *what = line->fields[0];

	if (!strcmp(what, "progress")) {
		log->kind = text_at(line, 1);
		log->name = text_at(line, 2);
	} else if (!strcmp(what, "program")) {
		log->threads = (uint32_t)whole_at(line, 1, UINT32_MAX);
		log->seed = whole_at(line, 2, UINT64_MAX);
		if (strcmp(text_at(line, 3), "-") != 0)
			log->overhead_share = real_at(line, 3, 0, 1e6);
	} else if (!strcmp(what, "refused")) {
		log->refused = text_at(line, 1);
	} else if (!strcmp(what, "candidate")) {
		read_candidate(log, line);
	} else if (!strcmp(what, "run")) {
		read_run(log, line);
	} else if (!strcmp(what, "trial")) {
		read_trial(log, line);
	} /* a later version may have more */
}

static void split(char *text, struct line *line)
{
	*line = (struct line){ 0 };
	for (char *next = text; next && line->count < FIELDS_MAX;) {
		line->fields[line->count++] = strsep(&next, "\t");
		unescape(line->fields[line->count - 1]);
	}
}

/* The command was killed while the last run went on: its experiments are there, what it counted is not. */
static void add_run_that_was_cut(struct sn_causal_log *log)
{
	struct sn_causal_run unknown = { .is_cut = true };

	for (size_t i = 0; i < log->trials.count; i++)
		if (log->trials.items[i].run == log->runs.count) {
			sn_vec_push(&log->runs, unknown);
			return;
		}
}

sn_status sn_causal_log_parse(const char *bytes, size_t length, const char *name,
			      struct sn_causal_log **out, struct sn_error *err)
{
	struct sn_causal_log *log = sn_causal_log_new();
	char *text = sn_arena_strndup(&log->arena, bytes, length), *next = text;
	unsigned number = 0;
	bool is_ours = false;

	/* records are added one by one: who was ended in the middle of one left no end of line */
	if (next && strchr(next, '\n'))
		strrchr(next, '\n')[1] = '\0';
	while (next && *next) {
		char *at = strsep(&next, "\n");
		struct line line;

		number++;
		is_ours |= number == 1 && !strcmp(at, first_line);
		if (!is_ours)
			break;
		split(at, &line);
		if (number > 1)
			read_line(log, &line);
		if (line.is_bad) {
			sn_causal_log_free(log);
			return sn_error_set(err, SN_ERR_FORMAT,
					    "line %u of '%s' is damaged; 'sonde causal' on the "
					    "program makes it anew",
					    number, name);
		}
	}
	if (!is_ours) {
		sn_causal_log_free(log);
		return sn_error_set(err, SN_ERR_FORMAT,
				    "'%s' is no log of causal experiments, or one of a newer sonde",
				    name);
	}
	add_run_that_was_cut(log);
	*out = log;
	return SN_OK;
}

static char *path_in(const char *experiment_path)
{
	struct sn_text path = { 0 };

	sn_text_addf(&path, "%s/%s", experiment_path, SN_CAUSAL_LOG_NAME);
	return sn_text_take(&path);
}

bool sn_causal_trial_is_cut(const struct sn_causal_log *log, const struct sn_causal_trial *trial)
{
	return trial->run < log->runs.count && log->runs.items[trial->run].is_cut;
}

double sn_causal_queued_share(const struct sn_causal_log *log)
{
	double queued_ns = 0, ran_ns = 0;

	for (size_t i = 0; i < log->runs.count; i++) {
		queued_ns += (double)log->runs.items[i].queued_ns;
		ran_ns += (double)log->runs.items[i].ran_ns;
	}
	return ran_ns > 0 ? queued_ns / (queued_ns + ran_ns) : NAN;
}

bool sn_causal_log_exists(const char *experiment_path)
{
	char *path = path_in(experiment_path);
	struct stat about;
	bool exists = stat(path, &about) == 0;

	free(path);
	return exists;
}

sn_status sn_causal_log_open(const char *experiment_path, struct sn_causal_log **out,
			     struct sn_error *err)
{
	char *path = path_in(experiment_path);
	struct sn_file_view view = { 0 };
	sn_status status;

	if (!sn_causal_log_exists(experiment_path)) {
		free(path);
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "'%s' has no causal experiments: sonde causal -- PROGRAM makes "
				    "them",
				    experiment_path);
	}
	status = sn_file_map(path, &view, err);
	if (status == SN_OK)
		status = sn_causal_log_parse((const char *)view.bytes, view.length, path, out, err);
	sn_file_unmap(&view);
	free(path);
	return status;
}

/* ---- writing ---- */

static void put_text(FILE *out, const char *text)
{
	fputc('\t', out);
	for (; *text; text++)
		if (*text == '\t')
			fputs("\\t", out);
		else if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\')
			fputs("\\\\", out);
		else
			fputc(*text, out);
}

static void put_real(FILE *out, double value)
{
	struct sn_text text = { 0 };

	sn_text_add_double(&text, value);
	fprintf(out, "\t%s", text.chars);
	sn_text_free(&text);
}

static void put_head(FILE *out, const struct sn_causal_log *log)
{
	fprintf(out, "%s\nprogress", first_line);
	put_text(out, log->kind);
	put_text(out, log->name);
	fprintf(out, "\nprogram\t%u\t%llu", log->threads, (unsigned long long)log->seed);
	if (isnan(log->overhead_share))
		fputs("\t-", out);
	else
		put_real(out, log->overhead_share);
	fputc('\n', out);
}

static void put_candidate(FILE *out, const struct sn_causal_candidate *c)
{
	fputs("candidate", out);
	put_text(out, c->kind);
	put_text(out, c->id);
	put_text(out, c->name);
	put_text(out, c->function);
	put_text(out, c->file);
	fprintf(out, "\t%u\t%u", c->line_first, c->line_last);
	if (isnan(c->cpu_share))
		fputs("\t-", out);
	else
		put_real(out, c->cpu_share);
	fputc('\n', out);
}

static void put_run(FILE *out, const struct sn_causal_run *r)
{
	fprintf(out, "run\t%lld\t%lld\t%lld\t%lld\t%llu\t%llu\t%llu\t%llu\t%llu\t%lld\t%lld\n",
		(long long)r->elapsed_ns, (long long)r->asked_ns, (long long)r->slept_ns,
		(long long)r->excess_ns, (unsigned long long)r->pauses,
		(unsigned long long)r->credits, (unsigned long long)r->processes,
		(unsigned long long)r->sealed, (unsigned long long)r->timed_waits,
		(long long)r->ran_ns, (long long)r->queued_ns);
}

static void put_trial(FILE *out, const struct sn_causal_trial *t)
{
	fprintf(out, "trial\t%u\t%u\t%d", t->run, t->block, t->candidate);
	put_real(out, t->speedup);
	put_real(out, t->step_ns);
	fprintf(out, "\t%llu\t%lld\t%lld\t%llu\t%llu\t%lld\t%lld\t%lld\n",
		(unsigned long long)t->visits, (long long)t->time_ns, (long long)t->virtual_ns,
		(unsigned long long)t->samples, (unsigned long long)t->hits, (long long)t->hit_ns,
		(long long)t->due_ns, (long long)t->settle_ns);
}

sn_status sn_causal_log_append_trial(const struct sn_causal_log *log, const char *experiment_path,
				     struct sn_error *err)
{
	char *path = path_in(experiment_path), *line = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&line, &length);
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	sn_status status = SN_OK;

	if (memory) {
		put_trial(memory, &log->trials.items[log->trials.count - 1]);
		fclose(memory);
	}
	if (!memory || fd < 0 || write(fd, line, length) != (ssize_t)length)
		status = sn_error_errno(err, "cannot write '%s'", path);
	if (fd >= 0)
		close(fd);
	free(line);
	free(path);
	return status;
}

sn_status sn_causal_log_write(const struct sn_causal_log *log, const char *experiment_path,
			      struct sn_error *err)
{
	char *path = path_in(experiment_path);
	struct sn_file_writer writer;
	sn_status status = sn_file_writer_open(&writer, path, err);

	free(path);
	if (status != SN_OK)
		return status;
	put_head(writer.out, log);
	if (*log->refused) {
		fputs("refused", writer.out);
		put_text(writer.out, log->refused);
		fputc('\n', writer.out);
	}
	for (size_t i = 0; i < log->candidates.count; i++)
		put_candidate(writer.out, &log->candidates.items[i]);
	for (size_t i = 0; i < log->runs.count; i++)
		put_run(writer.out, &log->runs.items[i]);
	for (size_t i = 0; i < log->trials.count; i++)
		put_trial(writer.out, &log->trials.items[i]);
	return sn_file_writer_commit(&writer, err);
}
