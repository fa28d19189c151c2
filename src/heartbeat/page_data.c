/*
 * Reads what a page shows out of the history. A row of a heartbeat covers an interval of time, so
 * its beats are shared among the bins that the interval lies in.
 */
#include "heartbeat/page_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "heartbeat/history_parts.h"

static const char *keep_text(struct sn_arena *arena, sqlite3_stmt *statement, int column)
{
	const char *chars = (const char *)sqlite3_column_text(statement, column);

	return chars ? sn_arena_strdup(arena, chars) : NULL;
}

static int64_t keep_whole(sqlite3_stmt *statement, int column)
{
	return sqlite3_column_type(statement, column) == SQLITE_NULL
		       ? -1
		       : sqlite3_column_int64(statement, column);
}

sn_status sn_page_run_read(struct sn_history *history, int64_t run, struct sn_page_run *out,
			   struct sn_error *err)
{
	static const char sql[] =
		"SELECT program, arguments, job, ranks, threads, start_ns,"
		" (SELECT max(coalesce(p.start_ns - run.start_ns, 0) + b.t_ns) / 1e9 FROM process p"
		"   JOIN beat b ON b.process = p.id WHERE p.run = run.id),"
		" (SELECT count(*) FROM process p WHERE p.run = run.id),"
		" (SELECT count(DISTINCT host) FROM process p WHERE p.run = run.id),"
		" (SELECT count(*) FROM summary s WHERE s.run = run.id),"
		" (SELECT max(b.interval_ns) / 1e9 FROM process p JOIN beat b ON b.process = p.id"
		"   WHERE p.run = run.id) FROM run WHERE id = ?";
	sqlite3_stmt *statement;
	sn_status status = sn_history_prepare(history, sql, &statement, err);

	*out = (struct sn_page_run){ .number = run };
	if (status != SN_OK)
		return status;
	sqlite3_bind_int64(statement, 1, run);
	if (sqlite3_step(statement) == SQLITE_ROW) {
		out->program = keep_text(&out->arena, statement, 0);
		out->arguments = keep_text(&out->arena, statement, 1);
		out->job = keep_text(&out->arena, statement, 2);
		out->ranks = keep_whole(statement, 3);
		out->threads = keep_whole(statement, 4);
		out->start_ns = sqlite3_column_int64(statement, 5);
		out->elapsed_s = sqlite3_column_double(statement, 6);
		out->process_count = sqlite3_column_int64(statement, 7);
		out->host_count = sqlite3_column_int64(statement, 8);
		out->heartbeat_count = sqlite3_column_int64(statement, 9);
		out->interval_s = sqlite3_column_double(statement, 10);
	} else {
		status = sn_history_fail(history, err);
	}
	sqlite3_finalize(statement);
	if (!out->program)
		out->program = "?";
	if (!out->arguments)
		out->arguments = "[]";
	return status;
}

void sn_page_run_free(struct sn_page_run *run)
{
	sn_arena_free(&run->arena);
}

sn_status sn_page_names_read(struct sn_history *history, int64_t run, struct sn_page_names *out,
			     struct sn_error *err)
{
	sqlite3_stmt *statement;
	int step;
	sn_status status =
		sn_history_prepare(history,
				   "SELECT heartbeat FROM summary WHERE run = ? AND heartbeat"
				   " IS NOT NULL ORDER BY sum_ns DESC, heartbeat",
				   &statement, err);

	*out = (struct sn_page_names){ 0 };
	if (status != SN_OK)
		return status;
	sqlite3_bind_int64(statement, 1, run);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW)
		sn_vec_push(&out->names, keep_text(&out->arena, statement, 0));
	if (step != SQLITE_DONE)
		status = sn_history_fail(history, err);
	sqlite3_finalize(statement);
	return status;
}

enum column {
	PROCESS,
	RANK,
	HOST,
	PID,
	THREAD,
	END_S,
	INTERVAL_S,
	COUNT,
	TIMED,
	SUM_S,
	MAX_S,
	MISUSE,
	DROPPED,
	HISTOGRAM,
};

/* The time of a row since the run began: ranks do not begin at the same moment. */
static const char beat_sql[] =
	"SELECT p.id, p.rank, p.host, p.pid, b.thread,"
	" (coalesce(p.start_ns - r.start_ns, 0) + b.t_ns) / 1e9, b.interval_ns / 1e9, b.count,"
	" b.timed, b.sum_ns / 1e9, b.max_ns / 1e9, b.misuse, b.dropped, b.histogram"
	" FROM run r JOIN process p ON p.run = r.id JOIN beat b ON b.process = p.id"
	" WHERE r.id = ?1 AND b.heartbeat = ?2"
	" ORDER BY p.rank, p.host, p.pid, p.id, b.thread, b.t_ns";

static const char *make_label(struct sn_arena *arena, sqlite3_stmt *row, bool by_thread,
			      bool has_one_process)
{
	int64_t rank = keep_whole(row, RANK);
	struct sn_text text = { 0 };
	const char *label;

	if (!by_thread || !has_one_process) {
		if (rank >= 0)
			sn_text_addf(&text, "rank %lld", (long long)rank);
		else
			sn_text_addf(&text, "%s/%lld",
				     sqlite3_column_text(row, HOST)
					     ? (const char *)sqlite3_column_text(row, HOST)
					     : "?",
				     (long long)sqlite3_column_int64(row, PID));
	}
	if (by_thread)
		sn_text_addf(&text, "%sthread %lld", text.length ? ", " : "",
			     (long long)sqlite3_column_int64(row, THREAD));
	label = sn_arena_strdup(arena, text.chars);
	sn_text_free(&text);
	return label;
}

static struct sn_page_line *add_line(struct sn_page_beat *beat, const char *label)
{
	struct sn_page_line line = {
		.label = label,
		.count = sn_arena_array(&beat->arena, double, beat->bin_count),
		.timed = sn_arena_array(&beat->arena, double, beat->bin_count),
		.sum_s = sn_arena_array(&beat->arena, double, beat->bin_count),
	};

	sn_vec_push(&beat->lines, line);
	return &beat->lines.items[beat->lines.count - 1];
}

/* Shared among the bins that the interval lies in. */
static void spread(struct sn_page_line *line, sqlite3_stmt *row, double bin_s, size_t bin_count)
{
	double end = sqlite3_column_double(row, END_S) / bin_s;
	double begin = end - sqlite3_column_double(row, INTERVAL_S) / bin_s;
	double length;

	end = end > (double)bin_count ? (double)bin_count : end;
	begin = begin < 0 ? 0 : begin;
	length = end - begin;
	if (!(length > 0)) { /* an interval of no length, or a clock that was set */
		begin = end > 0.5 ? end - 0.5 : 0;
		length = 0.5;
		end = begin + length;
	}
	for (size_t i = (size_t)begin; i < bin_count && (double)i < end; i++) {
		double from = begin > (double)i ? begin : (double)i;
		double to = end < (double)i + 1 ? end : (double)i + 1;
		double part = (to - from) / length;

		line->count[i] += part * sqlite3_column_double(row, COUNT);
		line->timed[i] += part * sqlite3_column_double(row, TIMED);
		line->sum_s[i] += part * sqlite3_column_double(row, SUM_S);
	}
}

static void add_histogram(struct sn_page_beat *beat, const char *text)
{
	while (text && *text) {
		char *end;
		long bucket = strtol(text, &end, 10);

		if (*end != ':' || bucket < 0 || bucket >= SN_BEAT_BUCKETS)
			return;
		beat->histogram[bucket] += strtoll(end + 1, &end, 10);
		text = *end == ';' ? end + 1 : NULL;
	}
}

static void add_totals(struct sn_page_beat *beat, struct sn_page_line *line, sqlite3_stmt *row)
{
	double max_s = sqlite3_column_double(row, MAX_S);

	line->total += sqlite3_column_double(row, COUNT);
	line->total_timed += sqlite3_column_double(row, TIMED);
	line->total_s += sqlite3_column_double(row, SUM_S);
	line->max_s = max_s > line->max_s ? max_s : line->max_s;
	beat->max_s = max_s > beat->max_s ? max_s : beat->max_s;
	beat->misuse += sqlite3_column_int64(row, MISUSE);
	beat->dropped += sqlite3_column_int64(row, DROPPED);
	add_histogram(beat, (const char *)sqlite3_column_text(row, HISTOGRAM));
}

static void sum_lines(struct sn_page_beat *beat)
{
	for (size_t i = 0; i < beat->lines.count; i++) {
		beat->total += beat->lines.items[i].total;
		beat->total_timed += beat->lines.items[i].total_timed;
		beat->total_s += beat->lines.items[i].total_s;
	}
}

static size_t bins_for(const struct sn_page_run *run)
{
	double bins = run->interval_s > 0 ? run->elapsed_s / run->interval_s : 1;

	return bins < 1 ? 1 : bins > SN_PAGE_BINS_MAX ? SN_PAGE_BINS_MAX : (size_t)(bins + 0.5);
}

sn_status sn_page_beat_read(struct sn_history *history, const struct sn_page_run *run,
			    const char *heartbeat, enum sn_page_by by, struct sn_page_beat *out,
			    struct sn_error *err)
{
	bool by_thread =
		by == SN_PAGE_BY_THREAD || (by == SN_PAGE_BY_ANY && run->process_count == 1);
	int64_t process = -1, thread = -1;
	struct sn_page_line *line = NULL;
	double bin_s;
	sqlite3_stmt *row;
	int step;
	sn_status status = sn_history_prepare(history, beat_sql, &row, err);

	*out = (struct sn_page_beat){ .bin_count = bins_for(run) };
	if (status != SN_OK)
		return status;
	bin_s = run->elapsed_s > 0 ? run->elapsed_s / (double)out->bin_count : 1;
	sqlite3_bind_int64(row, 1, run->number);
	sqlite3_bind_text(row, 2, heartbeat, -1, SQLITE_STATIC);
	while ((step = sqlite3_step(row)) == SQLITE_ROW) {
		if (!line || sqlite3_column_int64(row, PROCESS) != process ||
		    (by_thread && sqlite3_column_int64(row, THREAD) != thread))
			line = add_line(out, make_label(&out->arena, row, by_thread,
							run->process_count == 1));
		process = sqlite3_column_int64(row, PROCESS);
		thread = sqlite3_column_int64(row, THREAD);
		spread(line, row, bin_s, out->bin_count);
		add_totals(out, line, row);
	}
	if (step != SQLITE_DONE)
		status = sn_history_fail(history, err);
	sum_lines(out);
	sqlite3_finalize(row);
	return status;
}

void sn_page_beat_free(struct sn_page_beat *beat)
{
	sn_vec_free(&beat->lines);
	sn_arena_free(&beat->arena);
}
