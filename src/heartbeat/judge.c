#include "heartbeat/history_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

/* Differences below a part in a thousand are never told: clocks and drains are not better. */
static const double scale_least = 0.001;

double sn_judge_score(double value, double *history, size_t count)
{
	double median = sn_median(history, count);
	double scale = sn_mad(history, count);

	return (value - median) / (scale > scale_least ? scale : scale_least);
}

/* A standard normal number (Box and Muller 1958). */
static double normal(struct sn_random *random)
{
	double u = 1 - sn_random_unit(random), v = sn_random_unit(random);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

double sn_judge_limit(size_t count, double rate)
{
	enum { DRAWS = 20000 };
	static double scores[DRAWS];
	double history[SN_JUDGE_RUNS_MAX];
	struct sn_random random;

	if (count > SN_JUDGE_RUNS_MAX)
		count = SN_JUDGE_RUNS_MAX;
	sn_random_seed(&random, 1);
	for (size_t i = 0; i < DRAWS; i++) {
		for (size_t k = 0; k < count; k++)
			history[k] = normal(&random);
		scores[i] = sn_judge_score(normal(&random), history, count);
	}
	return sn_quantile(scores, DRAWS, 1 - rate);
}

static const char judge_sql[] =
	"WITH me AS (SELECT * FROM run WHERE id = ?1),"
	" others AS (SELECT r.* FROM run r, me WHERE r.program = me.program AND r.id <> me.id"
	"  AND (r.start_ns, r.id) < (me.start_ns, me.id) AND (?2 OR (r.arguments = me.arguments"
	"  AND r.ranks IS me.ranks AND r.threads IS me.threads))"
	"  ORDER BY r.start_ns DESC LIMIT ?3),"
	" looked AS (SELECT * FROM others UNION ALL SELECT * FROM me)"
	"SELECT s.heartbeat, r.id = ?1, s.sum_ns / 1e9 / nullif(s.timed, 0),"
	" r.elapsed_ns / 1e9 / nullif(s.count, 0), (SELECT count(*) FROM others)"
	" FROM looked r JOIN summary s ON s.run = r.id ORDER BY s.heartbeat, r.id";

/* What the history and the run itself say about one metric of one heartbeat. */
struct series {
	double logs[SN_JUDGE_RUNS_MAX];
	size_t count;
	double mine; /* logarithm; NaN: not met in this run */
};

static void series_add(struct series *series, bool is_mine, double value)
{
	double logarithm = value > 0 ? log(value) : NAN;

	if (is_mine)
		series->mine = logarithm;
	else if (!isnan(logarithm) && series->count < SN_JUDGE_RUNS_MAX)
		series->logs[series->count++] = logarithm;
}

static void add_row(struct sn_judgement *out, const char *name, enum sn_judge_metric metric,
		    struct series *series)
{
	struct sn_judge_row row = { .heartbeat = name,
				    .metric = metric,
				    .runs = series->count,
				    .value_s = exp(series->mine),
				    .median_s = NAN,
				    .ratio = NAN,
				    .score = NAN };

	if (series->count) {
		row.median_s = exp(sn_median(series->logs, series->count));
		row.ratio = row.value_s / row.median_s;
	}
	if (series->count >= SN_JUDGE_RUNS_MIN && !isnan(series->mine))
		row.score = sn_judge_score(series->mine, series->logs, series->count);
	if (!isnan(series->mine) || series->count)
		sn_vec_push(&out->rows, row);
	out->tests += !isnan(row.score);
}

static void end_heartbeat(struct sn_judgement *out, const char *name, struct series series[2])
{
	if (name) {
		add_row(out, name, SN_JUDGE_DURATION, &series[SN_JUDGE_DURATION]);
		add_row(out, name, SN_JUDGE_PERIOD, &series[SN_JUDGE_PERIOD]);
	}
	for (int i = 0; i < 2; i++)
		series[i] = (struct series){ .mine = NAN };
}

/* All runs of the history had it, and this one has not a single beat. */
static bool is_missing(const struct sn_judgement *out, const struct sn_judge_row *row)
{
	return isnan(row->value_s) && row->metric == SN_JUDGE_PERIOD &&
	       row->runs == out->run_count && row->runs >= SN_JUDGE_RUNS_MIN;
}

static void give_verdicts(struct sn_judgement *out, double alarm_rate)
{
	size_t count = out->run_count;

	if (out->tests)
		out->limit = sn_judge_limit(count, alarm_rate / (double)out->tests);
	for (size_t i = 0; i < out->rows.count; i++) {
		struct sn_judge_row *row = &out->rows.items[i];
		/* fewer runs behind a row spread wider: its own limit */
		double limit = isnan(row->score) || row->runs == count
				       ? out->limit
				       : sn_judge_limit(row->runs, alarm_rate / (double)out->tests);

		row->verdict = is_missing(out, row)  ? "missing"
			       : row->runs == 0	     ? "new"
			       : isnan(row->score)   ? "repeat"
			       : row->score > limit  ? "slower"
			       : row->score < -limit ? "faster"
						     : "same";
		out->finding_count +=
			!strcmp(row->verdict, "slower") || !strcmp(row->verdict, "missing");
	}
}

sn_status sn_history_judge(struct sn_history *history, int64_t run, bool any_group,
			   double alarm_rate, struct sn_judgement *out, struct sn_error *err)
{
	struct series series[2] = { { .mine = NAN }, { .mine = NAN } };
	const char *name = NULL;
	sqlite3_stmt *statement;
	sn_status status = sn_history_prepare(history, judge_sql, &statement, err);
	int step;

	*out = (struct sn_judgement){ 0 };
	if (status != SN_OK)
		return status;
	sqlite3_bind_int64(statement, 1, run);
	sqlite3_bind_int(statement, 2, any_group);
	sqlite3_bind_int(statement, 3, SN_JUDGE_RUNS_MAX);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *next = (const char *)sqlite3_column_text(statement, 0);
		bool is_mine = sqlite3_column_int(statement, 1);

		if (!name || strcmp(name, next)) {
			end_heartbeat(out, name, series);
			name = sn_arena_strdup(&out->arena, next);
		}
		series_add(&series[SN_JUDGE_DURATION], is_mine,
			   sqlite3_column_double(statement, 2));
		series_add(&series[SN_JUDGE_PERIOD], is_mine, sqlite3_column_double(statement, 3));
		out->run_count = (uint64_t)sqlite3_column_int64(statement, 4);
	}
	end_heartbeat(out, name, series);
	if (step != SQLITE_DONE)
		status = sn_history_fail(history, err);
	sqlite3_finalize(statement);
	if (status == SN_OK)
		give_verdicts(out, alarm_rate);
	else
		sn_judgement_free(out);
	return status;
}

void sn_judgement_free(struct sn_judgement *judgement)
{
	sn_vec_free(&judgement->rows);
	sn_arena_free(&judgement->arena);
}
