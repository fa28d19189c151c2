#include "heartbeat/history_parts.h"

#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/text.h"

struct importer {
	struct sn_history *history;
	sqlite3_stmt *run, *find_run, *process, *find_process, *beat;
	struct sn_history_import *counts;
	struct sn_map by_pid; /* in this file: the process whose header came last */
	int64_t process_id;   /* of the last header; 0: none yet */
	uint64_t bad_lines, first_bad, line;
};

static void bind_text(sqlite3_stmt *statement, int place, const char *chars)
{
	sqlite3_bind_text(statement, place, chars, -1, SQLITE_TRANSIENT);
}

/* A whole number that is not negative, or -1. */
static int64_t whole(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
									: -1;
}

static void bind_whole(sqlite3_stmt *statement, int place, int64_t value)
{
	if (value < 0)
		sqlite3_bind_null(statement, place);
	else
		sqlite3_bind_int64(statement, place, value);
}

static bool step_done(sqlite3_stmt *statement)
{
	bool is_done = sqlite3_step(statement) == SQLITE_DONE;

	sqlite3_reset(statement);
	return is_done;
}

static bool step_id(sqlite3_stmt *statement, int64_t *out)
{
	bool has_row = sqlite3_step(statement) == SQLITE_ROW;

	if (has_row)
		*out = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return has_row;
}

/* Returns false if the database refused; a header that lacks something is a bad line. */
static bool add_header(struct importer *in, const json_t *header, bool *is_bad)
{
	const char *host = json_string_value(json_object_get(header, "host"));
	const char *program = json_string_value(json_object_get(header, "program"));
	const char *job = json_string_value(json_object_get(header, "job_id"));
	int64_t pid = whole(header, "pid"), begin = whole(header, "start_monotonic_ns");
	int64_t start = whole(header, "start_realtime_ns"), run_id = 0;
	char *arguments = json_dumps(json_object_get(header, "arguments"), JSON_COMPACT);
	struct sn_text key = { 0 };
	bool is_ok = true;

	*is_bad = !host || !program || !arguments || pid < 0 || begin < 0 || start < 0;
	if (!*is_bad) {
		if (job)
			sn_text_addf(&key, "%s\n%s\n%s", job, program, arguments);
		else
			sn_text_addf(&key, "\n%s\n%lld\n%lld", host, (long long)pid,
				     (long long)begin);
		bind_text(in->run, 1, key.chars);
		bind_text(in->run, 2, job);
		bind_text(in->run, 3, program);
		bind_text(in->run, 4, arguments);
		bind_whole(in->run, 5, whole(header, "ranks"));
		bind_whole(in->run, 6, start);
		bind_text(in->find_run, 1, key.chars);
		is_ok = step_done(in->run) && step_id(in->find_run, &run_id);
		bind_whole(in->process, 1, run_id);
		bind_text(in->process, 2, host);
		bind_whole(in->process, 3, pid);
		bind_whole(in->process, 4, whole(header, "rank"));
		bind_whole(in->process, 5, begin);
		bind_text(in->find_process, 1, host);
		bind_whole(in->find_process, 2, pid);
		bind_whole(in->find_process, 3, begin);
		is_ok = is_ok && step_done(in->process) &&
			step_id(in->find_process, &in->process_id);
		if (is_ok)
			*sn_map_put(&in->by_pid, (uint64_t)pid, NULL) = (uint64_t)in->process_id;
	}
	sn_text_free(&key);
	free(arguments);
	return is_ok;
}

static int64_t nanoseconds(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);
	double seconds = json_is_number(value) ? json_number_value(value) : -1;

	return seconds >= 0 && seconds < 9e9 ? (int64_t)(seconds * 1e9 + 0.5) : -1;
}

static int64_t timed_beats(const json_t *row)
{
	const json_t *histogram = json_object_get(row, "histogram"), *bucket;
	int64_t sum = 0;
	size_t i;

	if (!json_is_array(histogram))
		return -1;
	json_array_foreach((json_t *)(uintptr_t)histogram, i,
			   bucket) if (!json_is_integer(bucket) || json_integer_value(bucket) < 0 ||
				       __builtin_add_overflow(sum, json_integer_value(bucket),
							      &sum)) return -1;
	return sum;
}

static bool add_row(struct importer *in, const json_t *row, bool *is_bad)
{
	static const char *const keys[] = { "count", NULL,	"sum_ns", "min_ns", "max_ns",
					    "open",  "open_ns", "work",	  "misuse", "dropped" };
	const char *name = json_string_value(json_object_get(row, "heartbeat"));
	int64_t pid = whole(row, "pid"), thread = whole(row, "thread");
	int64_t t = nanoseconds(row, "t_s"), interval = nanoseconds(row, "interval_s");
	uint64_t *of_pid = pid >= 0 ? sn_map_get(&in->by_pid, (uint64_t)pid) : NULL;
	int64_t process = pid < 0 ? in->process_id : of_pid ? (int64_t)*of_pid : 0;

	*is_bad = !name || t < 0 || interval < 0 || !process;
	for (int i = 0; i < 10; i++) {
		int64_t value = keys[i] ? whole(row, keys[i]) : timed_beats(row);

		*is_bad |= value < 0;
		bind_whole(in->beat, 7 + i, value);
	}
	if (*is_bad)
		return true;
	sqlite3_bind_int64(in->beat, 1, process);
	bind_text(in->beat, 2, name);
	sqlite3_bind_int64(in->beat, 3, thread < 0 ? 0 : thread);
	sqlite3_bind_int64(in->beat, 4, t);
	sqlite3_bind_int64(in->beat, 5, interval);
	bind_whole(in->beat, 6, whole(row, "threads"));
	in->counts->row_count++;
	return step_done(in->beat);
}

static bool add_line(struct importer *in, const char *chars, size_t length)
{
	json_t *value = json_loadb(chars, length, JSON_ALLOW_NUL, NULL);
	const char *schema = json_string_value(json_object_get(value, "schema"));
	bool is_bad = false, is_ok = true;

	in->line++;
	if (schema && !strcmp(schema, "sonde.heartbeat-header/1"))
		is_ok = add_header(in, value, &is_bad);
	else if (schema && !strcmp(schema, "sonde.heartbeat/1"))
		is_ok = add_row(in, value, &is_bad);
	else
		is_bad = true;
	if (is_bad && !in->bad_lines++)
		in->first_bad = in->line;
	json_decref(value);
	return is_ok;
}

static sn_status add_file(struct importer *in, const char *path, struct sn_error *err)
{
	struct sn_file_view view;
	const char *next, *end;
	sn_status status = sn_file_map(path, &view, err);

	if (status != SN_OK)
		return status;
	next = (const char *)view.bytes;
	end = next ? next + view.length : next;
	in->bad_lines = in->line = 0;
	in->process_id = 0;
	sn_map_free(&in->by_pid);
	while (next < end && status == SN_OK) {
		const char *newline = memchr(next, '\n', (size_t)(end - next));
		const char *stop = newline ? newline : end;

		if (stop > next && !add_line(in, next, (size_t)(stop - next)))
			status = sn_history_fail(in->history, err);
		next = stop + 1;
	}
	if (in->bad_lines)
		sn_warn("heartbeat: %llu lines of '%s' could not be read (the first is line %llu); "
			"the others were imported",
			(unsigned long long)in->bad_lines, path, (unsigned long long)in->first_bad);
	in->counts->file_count++;
	in->counts->bad_line_count += in->bad_lines;
	sn_file_unmap(&view);
	return status;
}

static sn_status prepare_all(struct importer *in, struct sn_error *err)
{
	struct sn_history *h = in->history;
	sn_status status =
		sn_history_prepare(h,
				   "INSERT INTO run(key, job, program, arguments, ranks, start_ns)"
				   " VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
				   " ON CONFLICT(key) DO UPDATE SET start_ns = min(start_ns, ?6)",
				   &in->run, err);

	if (status == SN_OK)
		status = sn_history_prepare(h, "SELECT id FROM run WHERE key = ?", &in->find_run,
					    err);
	if (status == SN_OK)
		status = sn_history_prepare(
			h,
			"INSERT OR IGNORE INTO process(run, host, pid, rank, start_monotonic_ns)"
			" VALUES(?, ?, ?, ?, ?)",
			&in->process, err);
	if (status == SN_OK)
		status = sn_history_prepare(h,
					    "SELECT id FROM process WHERE host = ? AND pid = ?"
					    " AND start_monotonic_ns = ?",
					    &in->find_process, err);
	if (status == SN_OK)
		status = sn_history_prepare(
			h, "INSERT OR REPLACE INTO beat VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
			&in->beat, err);
	return status;
}

/* Runs without a summary, and those that grew, are summed anew. */
static const char summarize_sql[] =
	"CREATE TEMP TABLE sums AS SELECT p.run AS run, p.id AS process,"
	" count(DISTINCT b.thread) + 0 AS distinct_threads, max(b.threads) AS told_threads,"
	" max(b.t_ns) AS last_ns FROM process p JOIN beat b ON b.process = p.id GROUP BY p.id;"
	"UPDATE run SET"
	" threads = (SELECT max(max(distinct_threads, coalesce(told_threads, 0)))"
	"  FROM sums WHERE sums.run = run.id),"
	" elapsed_ns = (SELECT max(last_ns) FROM sums WHERE sums.run = run.id);"
	"DROP TABLE sums; DELETE FROM summary;"
	"INSERT INTO summary SELECT p.run, b.heartbeat, sum(b.count), sum(b.timed), sum(b.sum_ns)"
	" FROM process p JOIN beat b ON b.process = p.id GROUP BY p.run, b.heartbeat;";

static bool is_ours(const char *name)
{
	return sn_starts_with(name, "heartbeat.") && sn_ends_with(name, ".jsonl");
}

static sn_status add_folder(struct importer *in, const char *folder, struct sn_error *err)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);
	sn_status status = SN_OK;

	if (count < 0)
		return sn_error_errno(err, "heartbeat: cannot read the folder '%s'", folder);
	for (int i = 0; i < count; i++) {
		if (status == SN_OK && is_ours(entries[i]->d_name)) {
			struct sn_text path = { 0 };

			sn_text_addf(&path, "%s/%s", folder, entries[i]->d_name);
			status = add_file(in, path.chars, err);
			sn_text_free(&path);
		}
		free(entries[i]);
	}
	free(entries);
	return status;
}

sn_status sn_history_import(struct sn_history *history, const char *folder,
			    struct sn_history_import *counts, struct sn_error *err)
{
	struct importer in = { .history = history, .counts = counts };
	sn_status status = sn_history_execute(history, "BEGIN IMMEDIATE", err);

	if (status != SN_OK)
		return status;
	status = prepare_all(&in, err);
	if (status == SN_OK)
		status = add_folder(&in, folder, err);
	if (status == SN_OK)
		status = sn_history_execute(history, summarize_sql, err);
	sqlite3_finalize(in.run);
	sqlite3_finalize(in.find_run);
	sqlite3_finalize(in.process);
	sqlite3_finalize(in.find_process);
	sqlite3_finalize(in.beat);
	sn_map_free(&in.by_pid);
	if (status == SN_OK)
		return sn_history_execute(history, "COMMIT", err);
	sqlite3_exec(history->db, "ROLLBACK", NULL, NULL, NULL);
	return status;
}
