/*
 * Brings heartbeat files into the history. Rows have keys, so a file that has grown is read again
 * without counting anything twice; afterwards only runs that changed are summed anew.
 */
#include "heartbeat/history_parts.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/map.h"
#include "base/text.h"
#include "heartbeat/reader.h"

struct importer {
	struct sn_history *history;
	sqlite3_stmt *process, *find_process, *touch, *part, *beat, *seen, *see;
	struct sn_history_import *counts;
	struct sn_map by_pid; /* in this file: the process whose header came last */
	int64_t process_id;   /* of the last header; 0: none yet */
};

static void bind_text(sqlite3_stmt *statement, int place, const char *chars)
{
	sqlite3_bind_text(statement, place, chars, -1, SQLITE_TRANSIENT);
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

static void bind_process(sqlite3_stmt *statement, const struct sn_beat_header *header)
{
	bind_text(statement, 1, header->host);
	bind_whole(statement, 2, header->pid);
	bind_whole(statement, 3, header->start_monotonic_ns);
	bind_whole(statement, 4, header->rank);
	bind_whole(statement, 5, header->forked_from);
	bind_text(statement, 6, header->job_id);
	bind_text(statement, 7, header->launch_id);
	bind_text(statement, 8, header->program);
	bind_text(statement, 9, header->arguments);
	bind_whole(statement, 10, header->ranks);
	bind_whole(statement, 11, header->start_realtime_ns);
}

static sn_status add_header(void *context, const struct sn_beat_header *header,
			    struct sn_error *err)
{
	struct importer *in = context;

	bind_process(in->process, header);
	bind_text(in->find_process, 1, header->host);
	bind_whole(in->find_process, 2, header->pid);
	bind_whole(in->find_process, 3, header->start_monotonic_ns);
	if (!step_done(in->process) || !step_id(in->find_process, &in->process_id))
		return sn_history_fail(in->history, err);
	bind_whole(in->touch, 1, in->process_id);
	if (!step_done(in->touch))
		return sn_history_fail(in->history, err);
	sqlite3_bind_int64(in->part, 1, in->process_id);
	sqlite3_bind_int64(in->part, 2, header->part > 0 ? header->part : 0);
	if (!step_done(in->part))
		return sn_history_fail(in->history, err);
	*sn_map_put(&in->by_pid, (uint64_t)header->pid, NULL) = (uint64_t)in->process_id;
	return SN_OK;
}

/* The buckets that are not 0, as "number:count;number:count". */
static void bind_histogram(sqlite3_stmt *statement, int place, const struct sn_beat_row *row)
{
	struct sn_text text = { 0 };

	for (int i = 0; i < SN_BEAT_BUCKETS; i++)
		if (row->histogram[i])
			sn_text_addf(&text, "%s%d:%lld", text.length ? ";" : "", i,
				     (long long)row->histogram[i]);
	bind_text(statement, place, text.chars);
	sn_text_free(&text);
}

/* Whole numbers, 0 is a number. */
static void bind_counts(sqlite3_stmt *statement, const struct sn_beat_row *row)
{
	const int64_t numbers[] = {
		row->count, row->timed,	  row->sum_ns, row->min_ns, row->max_ns,
		row->open,  row->open_ns, row->work,   row->misuse, row->dropped
	};

	for (int i = 0; i < 10; i++)
		sqlite3_bind_int64(statement, 7 + i, numbers[i]);
}

static sn_status add_row(void *context, const struct sn_beat_row *row, struct sn_error *err)
{
	struct importer *in = context;
	uint64_t *of_pid = row->pid >= 0 ? sn_map_get(&in->by_pid, (uint64_t)row->pid) : NULL;
	int64_t process = row->pid < 0 ? in->process_id : of_pid ? (int64_t)*of_pid : 0;

	if (!process) { /* its header was lost */
		in->counts->orphan_count++;
		return SN_OK;
	}
	sqlite3_bind_int64(in->beat, 1, process);
	bind_text(in->beat, 2, row->heartbeat);
	sqlite3_bind_int64(in->beat, 3, row->thread);
	sqlite3_bind_int64(in->beat, 4, row->t_ns);
	sqlite3_bind_int64(in->beat, 5, row->interval_ns);
	bind_whole(in->beat, 6, row->threads);
	bind_counts(in->beat, row);
	bind_histogram(in->beat, 17, row);
	in->counts->row_count++;
	return step_done(in->beat) ? SN_OK : sn_history_fail(in->history, err);
}

static void tell_faults(const struct sn_beat_reader *reader, uint64_t orphans, const char *path)
{
	if (reader->bad_line_count)
		sn_warn("heartbeat: %llu line%s of '%s' could not be read (the first is line "
			"%llu)%s; the others were imported",
			(unsigned long long)reader->bad_line_count,
			reader->bad_line_count == 1 ? "" : "s", path,
			(unsigned long long)reader->first_bad_line,
			orphans ? ", and rows without a header could not be placed" : "");
	else if (orphans)
		sn_warn("heartbeat: %llu rows of '%s' have no header before them and could not be "
			"placed; the others were imported",
			(unsigned long long)orphans, path);
}

static sn_status read_file(struct importer *in, const char *path, bool is_csv, struct sn_error *err)
{
	struct sn_beat_reader reader = { .sink = { in, add_header, add_row }, .is_csv = is_csv };
	uint64_t orphans_before = in->counts->orphan_count;
	struct sn_file_view view;
	size_t used;
	sn_status status = sn_file_map(path, &view, err);

	if (status != SN_OK)
		return status;
	in->process_id = 0;
	sn_map_free(&in->by_pid);
	status = sn_beat_reader_add(&reader, (const char *)view.bytes, view.length, true, &used,
				    err);
	tell_faults(&reader, in->counts->orphan_count - orphans_before, path);
	in->counts->file_count++;
	in->counts->bad_line_count += reader.bad_line_count;
	sn_beat_reader_free(&reader);
	sn_file_unmap(&view);
	return status;
}

/* Size and time as they were when the file was imported: nothing to do. */
static bool is_unchanged(struct importer *in, const char *path, const struct stat *file)
{
	bool is_same;

	bind_text(in->seen, 1, path);
	is_same = sqlite3_step(in->seen) == SQLITE_ROW &&
		  sqlite3_column_int64(in->seen, 0) == file->st_size &&
		  sqlite3_column_int64(in->seen, 1) ==
			  file->st_mtim.tv_sec * 1000000000 + file->st_mtim.tv_nsec;
	sqlite3_reset(in->seen);
	return is_same;
}

static sn_status add_file(struct importer *in, const char *path, bool is_csv, struct sn_error *err)
{
	char *real = realpath(path, NULL);
	struct stat file;
	sn_status status = SN_OK;

	if (!real || stat(real, &file) != 0) {
		free(real);
		return sn_error_errno(err, "heartbeat: cannot read '%s'", path);
	}
	if (is_unchanged(in, real, &file)) {
		in->counts->unchanged_count++;
	} else {
		status = read_file(in, path, is_csv, err);
		bind_text(in->see, 1, real);
		sqlite3_bind_int64(in->see, 2, file.st_size);
		sqlite3_bind_int64(in->see, 3,
				   file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec);
		if (status == SN_OK && !step_done(in->see))
			status = sn_history_fail(in->history, err);
	}
	free(real);
	return status;
}

static sn_status prepare_all(struct importer *in, struct sn_error *err)
{
	const struct {
		sqlite3_stmt **out;
		const char *sql;
	} statements[] = {
		{ &in->process, "INSERT OR IGNORE INTO process(host, pid, start_monotonic_ns, rank,"
				" forked_from, job, launch, program, arguments, ranks, start_ns)"
				" VALUES(?,?,?,?,?,?,?,?,?,?,?)" },
		{ &in->find_process,
		  "SELECT id FROM process WHERE host = ? AND pid = ? AND start_monotonic_ns = ?" },
		{ &in->touch, "INSERT OR IGNORE INTO touched VALUES(?)" },
		{ &in->part, "INSERT OR IGNORE INTO part VALUES(?, ?)" },
		{ &in->beat,
		  "INSERT OR REPLACE INTO beat VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)" },
		{ &in->seen, "SELECT size_bytes, changed_ns FROM file WHERE path = ?" },
		{ &in->see, "INSERT OR REPLACE INTO file VALUES(?, ?, ?)" },
	};
	sn_status status = sn_history_execute(in->history,
					      "CREATE TEMP TABLE IF NOT EXISTS touched("
					      "process INTEGER PRIMARY KEY); DELETE FROM touched",
					      err);

	for (size_t i = 0; status == SN_OK && i < sizeof(statements) / sizeof(*statements); i++)
		status = sn_history_prepare(in->history, statements[i].sql, statements[i].out, err);
	return status;
}

static void finalize_all(struct importer *in)
{
	sqlite3_finalize(in->process);
	sqlite3_finalize(in->find_process);
	sqlite3_finalize(in->touch);
	sqlite3_finalize(in->part);
	sqlite3_finalize(in->beat);
	sqlite3_finalize(in->seen);
	sqlite3_finalize(in->see);
	sn_map_free(&in->by_pid);
}

/* Runs whose files are new or have grown are summed anew. */
static const char summarize_sql[] =
	"CREATE TEMP TABLE changed AS SELECT DISTINCT p.run AS run FROM touched t"
	" JOIN process p ON p.id = t.process;"
	"UPDATE run SET"
	" threads = (SELECT max(n) FROM (SELECT max(count(DISTINCT b.thread),"
	"   coalesce(max(b.threads), 0)) AS n FROM process p JOIN beat b ON b.process = p.id"
	"   WHERE p.run = run.id GROUP BY p.id)),"
	" process_count = (SELECT count(*) FROM process p WHERE p.run = run.id),"
	" start_ns = (SELECT min(start_ns) FROM process p WHERE p.run = run.id),"
	" elapsed_ns = (SELECT max(b.t_ns) FROM process p JOIN beat b ON b.process = p.id"
	"   WHERE p.run = run.id)"
	" WHERE id IN (SELECT run FROM changed);"
	"DELETE FROM summary WHERE run IN (SELECT run FROM changed);"
	"INSERT INTO summary SELECT p.run, b.heartbeat, sum(b.count + b.dropped), sum(b.timed),"
	" sum(b.sum_ns)"
	" FROM process p JOIN beat b ON b.process = p.id WHERE p.run IN (SELECT run FROM changed)"
	" GROUP BY p.run, b.heartbeat;"
	"DROP TABLE changed;";

/* Where a process has written both formats, the CSV says nothing more. */
static bool has_json(struct dirent *const *entries, int count, const char *csv)
{
	size_t stem = strlen(csv) - 3;

	for (int i = 0; i < count; i++)
		if (!strncmp(entries[i]->d_name, csv, stem) &&
		    !strcmp(entries[i]->d_name + stem, "jsonl"))
			return true;
	return false;
}

static sn_status add_folder(struct importer *in, const char *folder, struct sn_error *err)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);
	sn_status status = SN_OK;

	if (count < 0)
		return sn_error_errno(err, "heartbeat: cannot read the folder '%s'", folder);
	for (int i = 0; i < count && status == SN_OK; i++) {
		const char *name = entries[i]->d_name;
		struct sn_text path = { 0 };
		bool is_csv;

		if (!sn_beat_is_file_name(name, &is_csv) ||
		    (is_csv && has_json(entries, count, name)))
			continue;
		sn_text_addf(&path, "%s/%s", folder, name);
		status = add_file(in, path.chars, is_csv, err);
		sn_text_free(&path);
	}
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	return status;
}

static sn_status count_cut(struct importer *in, struct sn_error *err)
{
	sqlite3_stmt *statement;
	int64_t count = 0;
	sn_status status = sn_history_prepare(
		in->history,
		"SELECT count(*) FROM (SELECT 1 FROM touched t JOIN part a ON a.process = t.process"
		" GROUP BY t.process HAVING max(a.part) >= count(*))",
		&statement, err);

	if (status != SN_OK)
		return status;
	if (!step_id(statement, &count))
		status = sn_history_fail(in->history, err);
	sqlite3_finalize(statement);
	in->counts->cut_count += (uint64_t)count;
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
		status = sn_history_place(history, err);
	if (status == SN_OK)
		status = sn_history_execute(history, summarize_sql, err);
	if (status == SN_OK)
		status = count_cut(&in, err);
	finalize_all(&in);
	if (status == SN_OK)
		return sn_history_execute(history, "COMMIT", err);
	sqlite3_exec(history->db, "ROLLBACK", NULL, NULL, NULL);
	return status;
}
