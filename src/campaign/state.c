/*
 * The state file: JSON lines, appended and never changed. What was read is checked against the header's
 * numbers, as a line may come from a damaged disk.
 */
#include "campaign/state.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "experiment/unpack.h"

#define HEADER_SCHEMA "sonde.campaign-state/1"

static const char *const state_names[] = { "queued", "running",	   "done",
					   "failed", "suspicious", "cancelled" };

const char *sn_run_state_name(enum sn_run_state state)
{
	return state_names[state];
}

/* ---- reading ---- */

static const char *text_of(struct sn_campaign_state *s, const json_t *root, const char *key)
{
	const char *chars = json_string_value(json_object_get(root, key));

	return chars ? sn_arena_strdup(&s->arena, chars) : NULL;
}

static int64_t whole_of(const json_t *root, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(root, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static double real_of(const json_t *root, const char *key)
{
	const json_t *value = json_object_get(root, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* False: it is not there, or not between 0 and what is less than `bound`. */
static bool number_of(const json_t *root, const char *key, int64_t bound, uint32_t *out)
{
	int64_t value = whole_of(root, key, -1);

	*out = (uint32_t)value;
	return value >= 0 && value < bound;
}

static int64_t known_or(int64_t value)
{
	return value < 0 ? -1 : value;
}

static void facts_read(const json_t *root, struct sn_run_facts *facts)
{
	facts->elapsed_s = real_of(root, "elapsed_s");
	facts->cpu_s = real_of(root, "cpu_s");
	facts->samples = known_or(whole_of(root, "samples", -1));
	facts->lost = known_or(whole_of(root, "lost", -1));
	facts->output_bytes = known_or(whole_of(root, "output_bytes", -1));
	facts->ranks = (int32_t)whole_of(root, "ranks", -1);
	facts->threads_least = (int32_t)whole_of(root, "threads_least", -1);
	facts->threads_most = (int32_t)whole_of(root, "threads_most", -1);
}

enum { BLOCKS_MAX = 1000000, ATTEMPTS_MAX = 1000000 };

static uint64_t run_key(uint32_t configuration, uint32_t block)
{
	return (uint64_t)configuration << 32 | block;
}

struct sn_campaign_attempt *sn_campaign_state_last(struct sn_campaign_state *s,
						   uint32_t configuration, uint32_t block)
{
	const uint64_t *last = sn_map_get(&s->last, run_key(configuration, block));

	return last ? &s->attempts.items[*last] : NULL;
}

const struct sn_campaign_attempt *sn_campaign_last(const struct sn_campaign_state *s,
						   uint32_t configuration, uint32_t block)
{
	const uint64_t *last = sn_map_get(&s->last, run_key(configuration, block));

	return last ? &s->attempts.items[*last] : NULL;
}

void sn_campaign_state_begin(struct sn_campaign_state *s, const struct sn_campaign_attempt *attempt)
{
	const struct sn_campaign_attempt *before =
		sn_campaign_last(s, attempt->configuration, attempt->block);
	struct sn_campaign_attempt fresh = *attempt;

	fresh.failed_before = before ? before->failed_before + (before->state == SN_RUN_FAILED) : 0;
	*sn_map_put(&s->last, run_key(fresh.configuration, fresh.block), NULL) = s->attempts.count;
	sn_vec_push(&s->attempts, fresh);
}

/* An experiment lies below the campaign's folder, or where its absolute path says (added by hand). */
static bool is_path(const char *path)
{
	return !path || (*path && strlen(path) < 4096);
}

static bool attempt_identify(struct sn_campaign_state *s, const json_t *root,
			     struct sn_campaign_attempt *out)
{
	return number_of(root, "configuration",
			 (int64_t)s->configurations + (int64_t)s->added.count,
			 &out->configuration) &&
	       number_of(root, "block", BLOCKS_MAX, &out->block) &&
	       number_of(root, "attempt", ATTEMPTS_MAX, &out->attempt) && out->attempt;
}

static bool begin_read(struct sn_campaign_state *s, const json_t *root)
{
	struct sn_campaign_attempt fresh = { .state = SN_RUN_RUNNING, .exit_status = -1 };
	const struct sn_campaign_attempt *before;

	if (!attempt_identify(s, root, &fresh) ||
	    !number_of(root, "position", BLOCKS_MAX, &fresh.position))
		return false;
	before = sn_campaign_last(s, fresh.configuration, fresh.block);
	if (before && before->attempt >= fresh.attempt)
		return false;
	fresh.experiment = text_of(s, root, "experiment");
	fresh.job = text_of(s, root, "job");
	number_of(root, "submission", ATTEMPTS_MAX, &fresh.submission);
	if (whole_of(root, "submission", 0) <= 0 || !fresh.job)
		fresh.submission = 0;
	/* of a job it is not known yet whether it runs: its folder tells */
	if (fresh.submission)
		fresh.state = SN_RUN_QUEUED;
	fresh.boot = text_of(s, root, "boot");
	fresh.pid = (int32_t)whole_of(root, "pid", -1);
	fresh.pid_start = (uint64_t)whole_of(root, "pid_start", 0);
	facts_read(NULL, &fresh.facts);
	if (!is_path(fresh.experiment))
		return false;
	sn_campaign_state_begin(s, &fresh);
	return true;
}

static bool end_read(struct sn_campaign_state *s, const json_t *root)
{
	struct sn_campaign_attempt wanted = { 0 }, *a;
	const char *state = json_string_value(json_object_get(root, "state"));

	if (!state || !attempt_identify(s, root, &wanted))
		return false;
	a = sn_campaign_state_last(s, wanted.configuration, wanted.block);
	if (!a || a->attempt != wanted.attempt)
		return false;
	if (!strcmp(state, "done"))
		a->state = SN_RUN_DONE;
	else if (!strcmp(state, "failed"))
		a->state = SN_RUN_FAILED;
	else if (!strcmp(state, "cancelled"))
		a->state = SN_RUN_CANCELLED;
	else
		return false;
	a->exit_status = (int32_t)whole_of(root, "exit_status", -1);
	a->reason = text_of(s, root, "reason");
	a->experiment = text_of(s, root, "experiment");
	a->level = a->state == SN_RUN_DONE;
	facts_read(root, &a->facts);
	return is_path(a->experiment);
}

static bool level_read(struct sn_campaign_state *s, const json_t *root)
{
	struct sn_campaign_attempt wanted = { 0 }, *a;

	if (!attempt_identify(s, root, &wanted) || !number_of(root, "level", 4, &wanted.level))
		return false;
	a = sn_campaign_state_last(s, wanted.configuration, wanted.block);
	if (!a || a->attempt != wanted.attempt || a->state != SN_RUN_DONE || !wanted.level)
		return false;
	a->level = wanted.level;
	a->level_reason = text_of(s, root, "reason");
	a->level_submission = 0;
	return true;
}

static bool level_begin_read(struct sn_campaign_state *s, const json_t *root)
{
	struct sn_campaign_attempt wanted = { 0 }, *a;

	if (!attempt_identify(s, root, &wanted) ||
	    !number_of(root, "submission", INT32_MAX, &wanted.level_submission))
		return false;
	a = sn_campaign_state_last(s, wanted.configuration, wanted.block);
	if (!a || a->attempt != wanted.attempt || a->state != SN_RUN_DONE)
		return false;
	a->level_submission = wanted.level_submission;
	a->level_job = text_of(s, root, "job");
	return true;
}

static bool built_read(struct sn_campaign_state *s, const json_t *root)
{
	struct sn_campaign_built fresh;

	if (!number_of(root, "build", s->configurations, &fresh.build))
		return false;
	fresh.is_good = json_is_true(json_object_get(root, "is_good"));
	fresh.reason = text_of(s, root, "reason");
	for (size_t i = 0; i < s->builds.count; i++)
		if (s->builds.items[i].build == fresh.build) {
			s->builds.items[i] = fresh;
			return true;
		}
	sn_vec_push(&s->builds, fresh);
	return true;
}

static bool added_read(struct sn_campaign_state *s, const json_t *root)
{
	struct sn_campaign_added fresh = { .name = text_of(s, root, "name"),
					   .program = text_of(s, root, "program") };

	if (!fresh.name || s->added.count >= BLOCKS_MAX ||
	    !number_of(root, "ranks", INT32_MAX, &fresh.ranks) ||
	    !number_of(root, "threads", INT32_MAX, &fresh.threads))
		return false;
	sn_vec_push(&s->added, fresh);
	return true;
}

static bool event_read(struct sn_campaign_state *s, const json_t *root)
{
	const char *event = json_string_value(json_object_get(root, "event"));

	if (!event)
		return false;
	if (!strcmp(event, "begin"))
		return begin_read(s, root);
	if (!strcmp(event, "end"))
		return end_read(s, root);
	if (!strcmp(event, "level"))
		return level_read(s, root);
	if (!strcmp(event, "level_begin"))
		return level_begin_read(s, root);
	if (!strcmp(event, "built"))
		return built_read(s, root);
	if (!strcmp(event, "added"))
		return added_read(s, root);
	if (!strcmp(event, "cancelled") || !strcmp(event, "resumed")) {
		s->is_cancelled = !strcmp(event, "cancelled");
		return true;
	}
	return false;
}

static sn_status header_read(struct sn_campaign_state *s, const json_t *root, const char *name,
			     struct sn_error *err)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));

	if (schema && sn_starts_with(schema, "sonde.campaign-state/") &&
	    strcmp(schema, HEADER_SCHEMA))
		return sn_error_set(
			err, SN_ERR_FORMAT,
			"'%s' was written by another version of sonde (%s); read it with "
			"that one",
			name, schema);
	s->id = text_of(s, root, "id");
	s->plan_name = text_of(s, root, "plan");
	s->plan_folder = text_of(s, root, "plan_folder");
	s->seed = (uint64_t)whole_of(root, "seed", 0);
	if (schema && s->id && s->plan_name && s->plan_folder &&
	    number_of(root, "configurations", BLOCKS_MAX, &s->configurations) &&
	    number_of(root, "repeat", BLOCKS_MAX, &s->repeat) &&
	    number_of(root, "retry", ATTEMPTS_MAX, &s->retry))
		return SN_OK;
	return sn_error_set(
		err, SN_ERR_FORMAT,
		"'%s' does not begin with the header of a campaign; the file is damaged", name);
}

sn_status sn_campaign_state_open_memory(const void *bytes, size_t length, const char *name,
					struct sn_campaign_state **out, struct sn_error *err)
{
	struct sn_campaign_state *s = sn_alloc_zeroed(1, sizeof(*s));
	const char *at = bytes, *end = at + length;
	bool has_header = false;
	sn_status status = SN_OK;

	while (status == SN_OK && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((newline ? newline : end) - at);
		json_t *root = size ? json_loadb(at, size, JSON_REJECT_DUPLICATES, NULL) : NULL;

		if (!has_header)
			status = header_read(s, root, name, err);
		else if (size)
			s->damaged += !root || !event_read(s, root);
		has_header = true;
		json_decref(root);
		at += size + (newline != NULL);
	}
	if (status == SN_OK && !has_header)
		status = sn_error_set(
			err, SN_ERR_FORMAT,
			"'%s' is empty: the campaign did not begin; remove its folder", name);
	if (status == SN_OK) {
		*out = s;
		s = NULL;
	}
	sn_campaign_state_free(s);
	return status;
}

sn_status sn_campaign_state_read(const char *folder, struct sn_campaign_state **out,
				 struct sn_error *err)
{
	struct sn_text path = { 0 };
	struct sn_file_view view = { 0 };
	sn_status status;

	sn_text_addf(&path, "%s/state.jsonl", folder);
	if (access(path.chars, F_OK) && errno == ENOENT)
		status = sn_error_set(err, SN_ERR_FORMAT,
				      "'%s' is no campaign: it has no state.jsonl; give the folder "
				      "that 'sonde campaign run' made",
				      folder);
	else
		status = sn_file_map(path.chars, &view, err);
	if (status == SN_OK) {
		status = sn_campaign_state_open_memory(view.bytes, view.length, path.chars, out,
						       err);
		sn_file_unmap(&view);
	}
	sn_text_free(&path);
	return status;
}

void sn_campaign_state_free(struct sn_campaign_state *state)
{
	if (!state)
		return;
	sn_vec_free(&state->attempts);
	sn_vec_free(&state->builds);
	sn_vec_free(&state->added);
	sn_map_free(&state->last);
	sn_arena_free(&state->arena);
	free(state);
}

/* ---- writing ---- */

sn_status sn_campaign_log_open(const char *folder, struct sn_campaign_log *out,
			       struct sn_error *err)
{
	struct sn_text path = { 0 };
	struct stat st;
	char last = '\n';

	sn_text_addf(&path, "%s/state.jsonl", folder);
	*out = (struct sn_campaign_log){ .path = sn_text_take(&path), .fd = -1 };
	if (sn_archive_refuse(folder, err) != SN_OK) {
		free((char *)out->path);
		return SN_ERR_USAGE;
	}
	out->fd = open(out->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (out->fd < 0) {
		sn_error_errno(err, "cannot write '%s'", out->path);
		free((char *)out->path);
		return err->status;
	}
	if (!fstat(out->fd, &st) && st.st_size > 0 && pread(out->fd, &last, 1, st.st_size - 1) == 1)
		out->needs_newline = last != '\n';
	return SN_OK;
}

void sn_campaign_log_close(struct sn_campaign_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	free((char *)log->path);
	*log = (struct sn_campaign_log){ .fd = -1 };
}

/* A file that was removed can be written to, and so can one whose folder has another name now. */
static sn_status place_check(const struct sn_campaign_log *log, struct sn_error *err)
{
	struct stat own, there;

	if (fstat(log->fd, &own) ||
	    (!stat(log->path, &there) && own.st_ino == there.st_ino && own.st_dev == there.st_dev))
		return SN_OK;
	return sn_error_set(err, SN_ERR_IO, "'%s' was moved or removed while the campaign ran",
			    log->path);
}

/* One write a line: a reader never sees two events mixed, and a torn one is the last. */
static sn_status line_write(struct sn_campaign_log *log, const char *chars, size_t length,
			    struct sn_error *err)
{
	struct sn_text line = { 0 };
	sn_status status = SN_OK;
	ssize_t written;

	if (place_check(log, err) != SN_OK)
		return SN_ERR_IO; /* nothing is noted: what ran is found again where the folder is */
	if (log->needs_newline)
		sn_text_add_char(&line, '\n');
	sn_text_add_bytes(&line, chars, length);
	do
		written = write(log->fd, line.chars, line.length);
	while (written < 0 && errno == EINTR);
	log->needs_newline = written > 0 && (size_t)written != line.length;
	if (written >= 0 && (size_t)written != line.length)
		errno = ENOSPC;
	if (written != (ssize_t)line.length || (fdatasync(log->fd) && errno != EINVAL))
		status = sn_error_errno(err, "cannot write to '%s'", log->path);
	sn_text_free(&line);
	return status;
}

struct event {
	const char *event;
	void (*write)(struct sn_json *json, const void *context);
	const void *context;
};

static sn_status object_write(struct sn_campaign_log *log, const struct event *event,
			      struct sn_error *err)
{
	char *chars = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&chars, &length);
	struct sn_json json = { .out = memory };
	sn_status status;

	if (!memory)
		sn_out_of_memory(0);
	sn_json_object(&json);
	if (event->event)
		sn_json_member_string(&json, "event", event->event);
	if (event->write)
		event->write(&json, event->context);
	sn_json_close(&json);
	sn_json_finish(&json);
	fclose(memory);
	status = line_write(log, chars, length, err);
	free(chars);
	return status;
}

sn_status sn_campaign_log_event(struct sn_campaign_log *log, const char *event,
				void (*write)(struct sn_json *json, const void *context),
				const void *context, struct sn_error *err)
{
	struct event e = { event, write, context };

	return object_write(log, &e, err);
}

static void header_members(struct sn_json *json, const void *context)
{
	const struct sn_campaign_state *s = context;

	sn_json_member_string(json, "schema", HEADER_SCHEMA);
	sn_json_member_string(json, "id", s->id);
	sn_json_member_string(json, "plan", s->plan_name);
	sn_json_member_string(json, "plan_folder", s->plan_folder);
	sn_json_member_uint(json, "seed", s->seed);
	sn_json_member_uint(json, "configurations", s->configurations);
	sn_json_member_uint(json, "repeat", s->repeat);
	sn_json_member_uint(json, "retry", s->retry);
}

sn_status sn_campaign_log_header(struct sn_campaign_log *log, const struct sn_campaign_state *state,
				 struct sn_error *err)
{
	struct event e = { NULL, header_members, state };

	return object_write(log, &e, err);
}

static void identity_members(struct sn_json *json, const struct sn_campaign_attempt *a)
{
	sn_json_member_uint(json, "configuration", a->configuration);
	sn_json_member_uint(json, "block", a->block);
	sn_json_member_uint(json, "attempt", a->attempt);
}

static void begin_members(struct sn_json *json, const void *context)
{
	const struct sn_campaign_attempt *a = context;

	identity_members(json, a);
	sn_json_member_uint(json, "position", a->position);
	sn_json_member_string(json, "experiment", a->experiment);
	sn_json_member_string(json, "job", a->job);
	if (a->submission)
		sn_json_member_uint(json, "submission", a->submission);
	sn_json_member_int(json, "pid", a->pid);
	sn_json_member_uint(json, "pid_start", a->pid_start);
	sn_json_member_string(json, "boot", a->boot);
}

sn_status sn_campaign_log_begin(struct sn_campaign_log *log,
				const struct sn_campaign_attempt *attempt, struct sn_error *err)
{
	struct event e = { "begin", begin_members, attempt };

	return object_write(log, &e, err);
}

static void count_member(struct sn_json *json, const char *key, int64_t value)
{
	if (value < 0)
		sn_json_member_null(json, key);
	else
		sn_json_member_int(json, key, value);
}

static void end_members(struct sn_json *json, const void *context)
{
	const struct sn_campaign_attempt *a = context;

	identity_members(json, a);
	sn_json_member_string(json, "state", sn_run_state_name(a->state));
	count_member(json, "exit_status", a->exit_status);
	sn_json_member_string(json, "experiment", a->experiment);
	sn_json_member_string(json, "reason", a->reason);
	sn_json_member_double(json, "elapsed_s", a->facts.elapsed_s);
	sn_json_member_double(json, "cpu_s", a->facts.cpu_s);
	count_member(json, "samples", a->facts.samples);
	count_member(json, "lost", a->facts.lost);
	count_member(json, "output_bytes", a->facts.output_bytes);
	count_member(json, "ranks", a->facts.ranks);
	count_member(json, "threads_least", a->facts.threads_least);
	count_member(json, "threads_most", a->facts.threads_most);
}

sn_status sn_campaign_log_end(struct sn_campaign_log *log,
			      const struct sn_campaign_attempt *attempt, struct sn_error *err)
{
	struct event e = { "end", end_members, attempt };

	return object_write(log, &e, err);
}

static void level_members(struct sn_json *json, const void *context)
{
	const struct sn_campaign_attempt *a = context;

	identity_members(json, a);
	sn_json_member_uint(json, "level", a->level);
	sn_json_member_string(json, "reason", a->level_reason);
}

sn_status sn_campaign_log_level(struct sn_campaign_log *log,
				const struct sn_campaign_attempt *attempt, struct sn_error *err)
{
	struct event e = { "level", level_members, attempt };

	return object_write(log, &e, err);
}

static void level_begin_members(struct sn_json *json, const void *context)
{
	const struct sn_campaign_attempt *a = context;

	identity_members(json, a);
	sn_json_member_string(json, "job", a->level_job);
	sn_json_member_uint(json, "submission", a->level_submission);
}

sn_status sn_campaign_log_level_begin(struct sn_campaign_log *log,
				      const struct sn_campaign_attempt *attempt,
				      struct sn_error *err)
{
	struct event e = { "level_begin", level_begin_members, attempt };

	return object_write(log, &e, err);
}

static void built_members(struct sn_json *json, const void *context)
{
	const struct sn_campaign_built *b = context;

	sn_json_member_uint(json, "build", b->build);
	sn_json_member_bool(json, "is_good", b->is_good);
	sn_json_member_string(json, "reason", b->reason);
}

sn_status sn_campaign_log_built(struct sn_campaign_log *log, const struct sn_campaign_built *built,
				struct sn_error *err)
{
	struct event e = { "built", built_members, built };

	return object_write(log, &e, err);
}

static void added_members(struct sn_json *json, const void *context)
{
	const struct sn_campaign_added *a = context;

	sn_json_member_string(json, "name", a->name);
	sn_json_member_uint(json, "ranks", a->ranks);
	sn_json_member_uint(json, "threads", a->threads);
	if (a->program)
		sn_json_member_string(json, "program", a->program);
}

sn_status sn_campaign_log_added(struct sn_campaign_log *log, const struct sn_campaign_added *added,
				struct sn_error *err)
{
	struct event e = { "added", added_members, added };

	return object_write(log, &e, err);
}
