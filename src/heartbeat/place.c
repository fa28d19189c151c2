/*
 * Which processes make up one run. Processes are placed in the order of their start:
 *
 * 1. a forked process belongs to the run of the process that it was forked from;
 * 2. a process without a rank is a run of its own;
 * 3. a rank belongs to the run of the same launch (of mpirun, srun) in which its rank is not taken
 *    yet: two runs of a program one after the other within a launch stay two;
 * 4. launches known to one node only, or not at all: it joins the run of the same job, program,
 *    arguments and number of ranks that began within a minute of it, lacks its rank, and has
 *    nothing on this host from another launch.
 */
#include "heartbeat/history_parts.h"

#include <string.h>

static const char forked_sql[] = "SELECT q.run FROM process q WHERE q.host = ?2 AND q.pid = ?3"
				 " AND q.start_monotonic_ns <= ?4 AND q.run IS NOT NULL"
				 " ORDER BY q.start_monotonic_ns DESC LIMIT 1";

static const char rank_sql[] =
	"SELECT r.id FROM run r WHERE r.program = ?5"
	" AND r.start_ns BETWEEN ?10 - 3600000000000 AND ?10 + 3600000000000"
	" AND r.arguments = ?6 AND r.ranks IS ?7 AND r.job IS ?8"
	" AND NOT EXISTS (SELECT 1 FROM process o WHERE o.run = r.id AND o.rank = ?1"
	"   AND o.forked_from IS NULL)"
	" AND CASE WHEN ?9 NOT LIKE 'node:%' THEN r.launch = ?9"
	" ELSE coalesce(r.launch, 'node:') LIKE 'node:%' AND abs(r.start_ns - ?10) <= 60000000000"
	"   AND NOT EXISTS (SELECT 1 FROM process o WHERE o.run = r.id AND o.host = ?2"
	"     AND coalesce(o.launch, 'node:') <> ?9) END"
	" ORDER BY coalesce(r.launch, 'node:') <> ?9, abs(r.start_ns - ?10), r.id LIMIT 1";

static const char waiting_sql[] =
	"SELECT id, host, forked_from, start_monotonic_ns, program, arguments, ranks, job, launch,"
	" start_ns, rank FROM process WHERE run IS NULL ORDER BY start_ns, id";

/* Columns of waiting_sql, and the parameters of the other statements that take them. */
enum { ID, HOST, FORKED_FROM, BEGAN, PROGRAM, ARGUMENTS, RANKS, JOB, LAUNCH, START, RANK };

struct placer {
	struct sn_history *history;
	sqlite3_stmt *waiting, *forked, *rank, *make, *place;
};

static void bind(struct placer *p, sqlite3_stmt *statement, int parameter, int column)
{
	if (parameter <= sqlite3_bind_parameter_count(statement))
		sqlite3_bind_value(statement, parameter, sqlite3_column_value(p->waiting, column));
}

/* The run that the statement finds; 0: none. */
static bool find(struct placer *p, sqlite3_stmt *statement, int64_t *run)
{
	int step;

	for (int column = HOST; column <= START; column++)
		bind(p, statement, column + 1, column);
	bind(p, statement, 1, RANK);
	/* a launch that is not known at all is like one of this node without a name */
	if (statement == p->rank && sqlite3_column_type(p->waiting, LAUNCH) == SQLITE_NULL)
		sqlite3_bind_text(statement, 9, "node:", -1, SQLITE_STATIC);
	step = sqlite3_step(statement);
	*run = step == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
	sqlite3_reset(statement);
	return step == SQLITE_ROW || step == SQLITE_DONE;
}

static bool make_run(struct placer *p, int64_t *run)
{
	bool is_made;

	for (int column = PROGRAM; column <= START; column++)
		bind(p, p->make, column - PROGRAM + 1, column);
	is_made = sqlite3_step(p->make) == SQLITE_DONE;
	sqlite3_reset(p->make);
	*run = sqlite3_last_insert_rowid(p->history->db);
	return is_made;
}

static bool place_one(struct placer *p)
{
	int64_t run = 0;
	bool is_ok = true;

	if (sqlite3_column_type(p->waiting, FORKED_FROM) != SQLITE_NULL)
		is_ok = find(p, p->forked, &run);
	else if (sqlite3_column_type(p->waiting, RANK) != SQLITE_NULL)
		is_ok = find(p, p->rank, &run);
	if (is_ok && !run)
		is_ok = make_run(p, &run);
	sqlite3_bind_int64(p->place, 1, run);
	bind(p, p->place, 2, ID);
	is_ok = is_ok && sqlite3_step(p->place) == SQLITE_DONE;
	sqlite3_reset(p->place);
	return is_ok;
}

sn_status sn_history_place(struct sn_history *history, struct sn_error *err)
{
	struct placer p = { .history = history };
	int step = SQLITE_DONE;
	sn_status status = sn_history_prepare(history, waiting_sql, &p.waiting, err);

	if (status == SN_OK)
		status = sn_history_prepare(history, forked_sql, &p.forked, err);
	if (status == SN_OK)
		status = sn_history_prepare(history, rank_sql, &p.rank, err);
	if (status == SN_OK)
		status =
			sn_history_prepare(history,
					   "INSERT INTO run(program, arguments, ranks, job, launch,"
					   " start_ns) VALUES(?, ?, ?, ?, ?, ?)",
					   &p.make, err);
	if (status == SN_OK)
		status = sn_history_prepare(history, "UPDATE process SET run = ? WHERE id = ?",
					    &p.place, err);
	while (status == SN_OK && (step = sqlite3_step(p.waiting)) == SQLITE_ROW)
		if (!place_one(&p))
			status = sn_history_fail(history, err);
	if (status == SN_OK && step != SQLITE_DONE)
		status = sn_history_fail(history, err);
	sqlite3_finalize(p.waiting);
	sqlite3_finalize(p.forked);
	sqlite3_finalize(p.rank);
	sqlite3_finalize(p.make);
	sqlite3_finalize(p.place);
	return status;
}
