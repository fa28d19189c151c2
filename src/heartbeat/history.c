/*
 * The SQLite file: its schema and the steps from older versions of it, opening one that came from
 * elsewhere without trusting it, and the report of a run.
 */
#include "heartbeat/history_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"

enum { VERSION = 3 };

/* Version 1, which the first histories were written in; the next version is made from it, here and
 * in files that have it. */
static const char schema_1[] =
	"CREATE TABLE run(id INTEGER PRIMARY KEY, key TEXT UNIQUE, job TEXT, program TEXT,"
	" arguments TEXT, ranks INTEGER, threads INTEGER, start_ns INTEGER, elapsed_ns INTEGER);"
	"CREATE INDEX run_group ON run(program, start_ns);"
	"CREATE TABLE process(id INTEGER PRIMARY KEY, run INTEGER, host TEXT, pid INTEGER,"
	" rank INTEGER, start_monotonic_ns INTEGER, UNIQUE(host, pid, start_monotonic_ns));"
	"CREATE INDEX process_run ON process(run);"
	"CREATE TABLE beat(process INTEGER, heartbeat TEXT, thread INTEGER, t_ns INTEGER,"
	" interval_ns INTEGER, threads INTEGER, count INTEGER, timed INTEGER, sum_ns INTEGER,"
	" min_ns INTEGER, max_ns INTEGER, open INTEGER, open_ns INTEGER, work INTEGER,"
	" misuse INTEGER, dropped INTEGER,"
	" PRIMARY KEY(process, heartbeat, thread, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE summary(run INTEGER, heartbeat TEXT, count INTEGER, timed INTEGER,"
	" sum_ns INTEGER, PRIMARY KEY(run, heartbeat)) WITHOUT ROWID;";

static const char schema_2[] =
	"ALTER TABLE run ADD COLUMN launch TEXT;"
	"ALTER TABLE run ADD COLUMN process_count INTEGER NOT NULL DEFAULT 1;"
	"UPDATE run SET process_count = (SELECT count(*) FROM process p WHERE p.run = run.id);"
	"ALTER TABLE process ADD COLUMN forked_from INTEGER;"
	"ALTER TABLE process ADD COLUMN job TEXT;"
	"ALTER TABLE process ADD COLUMN launch TEXT;"
	"ALTER TABLE process ADD COLUMN program TEXT;"
	"ALTER TABLE process ADD COLUMN arguments TEXT;"
	"ALTER TABLE process ADD COLUMN ranks INTEGER;"
	"ALTER TABLE process ADD COLUMN start_ns INTEGER;"
	"UPDATE process SET start_ns = (SELECT start_ns FROM run r WHERE r.id = process.run);"
	"ALTER TABLE beat ADD COLUMN histogram TEXT;" /* "3:100;12:2": buckets that are not 0 */
	"CREATE TABLE file(path TEXT PRIMARY KEY, size_bytes INTEGER, changed_ns INTEGER)"
	" WITHOUT ROWID;"
	"PRAGMA user_version = 2;";

/* Which parts of a process's rows have been met: rotation throws old ones away. */
static const char schema_3[] = "CREATE TABLE part(process INTEGER, part INTEGER,"
			       " PRIMARY KEY(process, part)) WITHOUT ROWID;"
			       "PRAGMA user_version = 3;";

static sn_status fail_damaged(struct sn_history *history, struct sn_error *err)
{
	return sn_error_set(err, SN_ERR_FORMAT,
			    "heartbeat: '%s' is damaged or no SQLite database; import the "
			    "heartbeat files into a new one",
			    history->path);
}

sn_status sn_history_fail(struct sn_history *history, struct sn_error *err)
{
	int code = sqlite3_errcode(history->db) & 0xff;

	if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		return sn_error_set(err, SN_ERR_IO,
				    "heartbeat: '%s' is locked by another process; try again "
				    "when it has finished",
				    history->path);
	if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
		return fail_damaged(history, err);
	return sn_error_set(err, SN_ERR_IO, "heartbeat: cannot use '%s': %s", history->path,
			    sqlite3_errmsg(history->db));
}

sn_status sn_history_prepare(struct sn_history *history, const char *sql, sqlite3_stmt **out,
			     struct sn_error *err)
{
	if (sqlite3_prepare_v2(history->db, sql, -1, out, NULL) == SQLITE_OK)
		return SN_OK;
	return sn_history_fail(history, err);
}

sn_status sn_history_execute(struct sn_history *history, const char *sql, struct sn_error *err)
{
	if (sqlite3_exec(history->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return SN_OK;
	return sn_history_fail(history, err);
}

static sn_status read_version(struct sn_history *history, int *out, struct sn_error *err)
{
	sqlite3_stmt *statement;
	sn_status status = sn_history_prepare(history, "PRAGMA user_version", &statement, err);

	if (status != SN_OK)
		return status;
	if (sqlite3_step(statement) == SQLITE_ROW)
		*out = sqlite3_column_int(statement, 0);
	else
		status = sn_history_fail(history, err);
	sqlite3_finalize(statement);
	return status;
}

/* The whole step or none of it; who comes second finds it done. */
static sn_status upgrade(struct sn_history *history, int version, struct sn_error *err)
{
	sn_status status = sn_history_execute(history, "BEGIN IMMEDIATE", err);

	if (status != SN_OK)
		return status;
	status = read_version(history, &version, err);
	if (status == SN_OK && version == 0)
		status = sn_history_execute(history, schema_1, err);
	if (status == SN_OK && version < 2)
		status = sn_history_execute(history, schema_2, err);
	if (status == SN_OK && version < 3)
		status = sn_history_execute(history, schema_3, err);
	if (status == SN_OK)
		return sn_history_execute(history, "COMMIT", err);
	sqlite3_exec(history->db, "ROLLBACK", NULL, NULL, NULL);
	return status;
}

static sn_status check_version(struct sn_history *history, bool is_writer, struct sn_error *err)
{
	int version = 0;
	sn_status status = read_version(history, &version, err);

	if (status != SN_OK)
		return status;
	if (version > VERSION)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "heartbeat: '%s' was written by a newer sonde (version %d, "
				    "this one knows %d)",
				    history->path, version, VERSION);
	if (version == 0 && !is_writer)
		return sn_error_set(err, SN_ERR_FORMAT,
				    "heartbeat: '%s' is no heartbeat history; make one with "
				    "'sonde heartbeat import DIR --db %s'",
				    history->path, history->path);
	if (version < VERSION && !is_writer)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "heartbeat: '%s' was written by an older sonde; 'sonde "
				    "heartbeat import DIR --db %s' brings it up to date",
				    history->path, history->path);
	return version < VERSION ? upgrade(history, version, err) : SN_OK;
}

/* A page that is torn or zeroed would else be rows that are not there, or an empty history. */
static sn_status check_pages(struct sn_history *history, struct sn_error *err)
{
	sqlite3_stmt *statement;
	sn_status status = sn_history_prepare(history, "PRAGMA quick_check(1)", &statement, err);
	const char *answer;
	int step;

	if (status != SN_OK)
		return status;
	step = sqlite3_step(statement);
	answer = step == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	if (step != SQLITE_ROW)
		status = sn_history_fail(history, err);
	else if (!answer || strcmp(answer, "ok") != 0)
		status = fail_damaged(history, err);
	sqlite3_finalize(statement);
	return status;
}

/* A database from elsewhere must not run anything: no triggers and views, no functions that its
 * schema calls. */
static void distrust(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
}

sn_status sn_history_open_memory(const uint8_t *bytes, size_t length, struct sn_history **out,
				 struct sn_error *err)
{
	struct sn_history *history = sn_alloc_zeroed(1, sizeof(*history));
	sn_status status = SN_OK;

	history->path = sn_strdup("memory");
	if (sqlite3_open_v2(":memory:", &history->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
	    sqlite3_deserialize(history->db, "main", (unsigned char *)(uintptr_t)bytes,
				(sqlite3_int64)length, (sqlite3_int64)length,
				SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		status = sn_history_fail(history, err);
	if (status == SN_OK) {
		distrust(history->db);
		status = check_version(history, false, err);
	}
	if (status != SN_OK) {
		sn_history_close(history);
		return status;
	}
	*out = history;
	return SN_OK;
}

sn_status sn_history_open(const char *path, bool is_writer, struct sn_history **out,
			  struct sn_error *err)
{
	struct sn_history *history = sn_alloc_zeroed(1, sizeof(*history));
	int flags = is_writer ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
	sn_status status = SN_OK;

	history->path = sn_strdup(path);
	if (sqlite3_open_v2(path, &history->db, flags, NULL) != SQLITE_OK)
		status = sn_error_set(err, SN_ERR_IO, "heartbeat: cannot open '%s': %s", path,
				      sqlite3_errmsg(history->db));
	if (status == SN_OK) {
		distrust(history->db);
		sqlite3_busy_timeout(history->db, 2000);
		status = check_version(history, is_writer, err);
	}
	if (status == SN_OK)
		status = check_pages(history, err);
	if (status != SN_OK) {
		sn_history_close(history);
		return status;
	}
	*out = history;
	return SN_OK;
}

void sn_history_close(struct sn_history *history)
{
	if (!history)
		return;
	sqlite3_close(history->db);
	free(history->path);
	free(history);
}

sn_status sn_history_find_run(struct sn_history *history, int64_t run, int64_t *out,
			      struct sn_error *err)
{
	sqlite3_stmt *statement;
	sn_status status = sn_history_prepare(
		history,
		run ? "SELECT id FROM run WHERE id = ?"
		    : "SELECT id FROM run WHERE ?=0 ORDER BY start_ns DESC, id DESC LIMIT 1",
		&statement, err);
	int step;

	if (status != SN_OK)
		return status;
	sqlite3_bind_int64(statement, 1, run);
	step = sqlite3_step(statement);
	if (step == SQLITE_ROW)
		*out = sqlite3_column_int64(statement, 0);
	else if (step == SQLITE_DONE)
		status = sn_error_set(err, SN_ERR_NO_DATA, "heartbeat: '%s' has no %s",
				      history->path, run ? "run of this number" : "runs yet");
	else
		status = sn_history_fail(history, err);
	sqlite3_finalize(statement);
	return status;
}

sn_status sn_history_count_cut(struct sn_history *history, int64_t run, uint64_t *out,
			       struct sn_error *err)
{
	sqlite3_stmt *statement;
	sn_status status = sn_history_prepare(
		history,
		"SELECT count(*) FROM (SELECT 1 FROM process p JOIN part a ON a.process = p.id"
		" WHERE p.run = ? GROUP BY p.id HAVING max(a.part) >= count(*))",
		&statement, err);

	if (status != SN_OK)
		return status;
	sqlite3_bind_int64(statement, 1, run);
	if (sqlite3_step(statement) == SQLITE_ROW)
		*out = (uint64_t)sqlite3_column_int64(statement, 0);
	else
		status = sn_history_fail(history, err);
	sqlite3_finalize(statement);
	return status;
}

const struct sn_column sn_history_report_columns[] = {
	{ "run", NULL, SN_CELL_INT, 0 },
	{ "rank", "Rank", SN_CELL_INT, 0 },
	{ "host", NULL, SN_CELL_TEXT, 0 },
	{ "pid", NULL, SN_CELL_INT, 0 },
	{ "thread", "Thread", SN_CELL_INT, 0 },
	{ "heartbeat", "Heartbeat", SN_CELL_TEXT, 0 },
	{ "t_s", "Time", SN_CELL_SECONDS, 0 },
	{ "interval_s", NULL, SN_CELL_DURATION, 0 },
	{ "count", "Beats", SN_CELL_INT, 0 },
	{ "rate_hz", "Per second", SN_CELL_REAL, 1 },
	{ "mean_s", "Mean", SN_CELL_DURATION, 0 },
	{ "min_s", NULL, SN_CELL_DURATION, 0 },
	{ "max_s", "Longest", SN_CELL_DURATION, 0 },
	{ "open", "Open", SN_CELL_INT, 0 },
	{ "open_s", NULL, SN_CELL_DURATION, 0 },
	{ "work", "Work", SN_CELL_INT, 0 },
	{ "misuse", NULL, SN_CELL_INT, 0 },
	{ "dropped", NULL, SN_CELL_INT, 0 },
};
const size_t sn_history_report_column_count =
	sizeof(sn_history_report_columns) / sizeof(*sn_history_report_columns);

static const char report_sql[] =
	"SELECT p.run, p.rank, p.host, p.pid, nullif(b.thread, 0), b.heartbeat, b.t_ns / 1e9,"
	" b.interval_ns / 1e9, b.count, b.count * 1e9 / nullif(b.interval_ns, 0),"
	" b.sum_ns / 1e9 / nullif(b.timed, 0), iif(b.timed, b.min_ns / 1e9, NULL),"
	" iif(b.timed, b.max_ns / 1e9, NULL), b.open, b.open_ns / 1e9, b.work, b.misuse, b.dropped"
	" FROM process p JOIN beat b ON b.process = p.id WHERE p.run = ?"
	" ORDER BY b.heartbeat, p.rank, p.host, p.pid, b.thread, b.t_ns";

static void fill_cell(struct sn_table *table, sqlite3_stmt *statement, int column)
{
	enum sn_cell_kind kind = sn_history_report_columns[column].kind;

	if (sqlite3_column_type(statement, column) == SQLITE_NULL)
		return;
	if (kind == SN_CELL_TEXT)
		sn_table_set_text(table, (size_t)column,
				  (const char *)sqlite3_column_text(statement, column));
	else if (kind == SN_CELL_INT)
		sn_table_set_int(table, (size_t)column, sqlite3_column_int64(statement, column));
	else
		sn_table_set_real(table, (size_t)column, sqlite3_column_double(statement, column));
}

sn_status sn_history_report(struct sn_history *history, int64_t run, struct sn_table *table,
			    struct sn_error *err)
{
	sqlite3_stmt *statement;
	sn_status status = sn_history_prepare(history, report_sql, &statement, err);
	int step;

	if (status != SN_OK)
		return status;
	sqlite3_bind_int64(statement, 1, run);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		sn_table_add_row(table);
		for (int i = 0; i < (int)sn_history_report_column_count; i++)
			fill_cell(table, statement, i);
	}
	if (step != SQLITE_DONE)
		status = sn_history_fail(history, err);
	sqlite3_finalize(statement);
	return status;
}
