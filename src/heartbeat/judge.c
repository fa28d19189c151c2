/*
 * Whether a run is slower than the runs before it. Each heartbeat is compared with the median and
 * the median deviation of its history, in logarithms. Limits come from simulated histories of the
 * same length, since a deviation that was estimated from few runs is often too small.
 * docs/method/heartbeats.md has the method.
 */
#include "heartbeat/history_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

/* Differences below a part in a thousand are never told: clocks and drains are not better. */
static const double scale_least = 0.001;

static double scale_of(const double *history, size_t count)
{
	double copy[SN_JUDGE_RUNS_MAX], scale; /* sn_mad() leaves deviations behind */

	memcpy(copy, history, count * sizeof(*copy));
	scale = sn_mad(copy, count);

	return scale > scale_least ? scale : scale_least;
}

double sn_judge_score(double value, double *history, size_t count)
{
	return (value - sn_median(history, count)) / scale_of(history, count);
}

/* A standard normal number (Box and Muller 1958). */
static double normal(struct sn_random *random)
{
	double u = 1 - sn_random_unit(random), v = sn_random_unit(random);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Medians and scales of simulated histories: more of them where they are short, since their scales
 * are sometimes tiny, and those decide how often a large score comes. */
enum { DRAWN_VALUES = 256000, DRAWS_MAX = DRAWN_VALUES / SN_JUDGE_RUNS_MIN };

struct draws {
	size_t count;
	double medians[DRAWS_MAX], scales[DRAWS_MAX];
};

static void draw(struct draws *draws, size_t count)
{
	double history[SN_JUDGE_RUNS_MAX];
	struct sn_random random;

	sn_random_seed(&random, 1);
	draws->count = DRAWN_VALUES / (count > SN_JUDGE_RUNS_MIN ? count : SN_JUDGE_RUNS_MIN);
	for (size_t i = 0; i < draws->count; i++) {
		for (size_t k = 0; k < count; k++)
			history[k] = normal(&random);
		draws->medians[i] = sn_median(history, count);
		draws->scales[i] = sn_mad(history, count);
	}
}

/* The chance that a normal value exceeds median + limit * scale of a history, averaged over
 * histories: exact for each of them, so that also small chances are known well. */
static double exceeding(const struct draws *draws, double limit)
{
	double sum = 0;

	for (size_t i = 0; i < draws->count; i++)
		sum += erfc((draws->medians[i] + limit * draws->scales[i]) * M_SQRT1_2) / 2;
	return sum / (double)draws->count;
}

double sn_judge_limit(size_t count, double rate)
{
	static struct draws draws;
	double low = 0, high = 1;

	draw(&draws, count > SN_JUDGE_RUNS_MAX ? SN_JUDGE_RUNS_MAX : count);
	while (exceeding(&draws, high) > rate && high < 1e6)
		high *= 2;
	for (int i = 0; i < 24; i++) {
		double middle = (low + high) / 2;

		if (exceeding(&draws, middle) > rate)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* A heartbeat of which only one in n beats is timed needs this many for a verdict. */
enum { TIMED_MIN = 16 };

static const char judge_sql[] =
	"WITH me AS (SELECT * FROM run WHERE id = ?1),"
	" others AS (SELECT r.* FROM run r, me WHERE r.program = me.program AND r.id <> me.id"
	"  AND (r.start_ns, r.id) < (me.start_ns, me.id)"
	"  AND (NOT ?2 & 1 OR r.arguments IS me.arguments) AND (NOT ?2 & 2 OR r.ranks IS me.ranks)"
	"  AND (NOT ?2 & 4 OR r.threads IS me.threads)"
	"  ORDER BY r.start_ns DESC LIMIT ?3),"
	" looked AS (SELECT * FROM others UNION ALL SELECT * FROM me)"
	"SELECT s.heartbeat, r.id, s.sum_ns / 1e9 / nullif(s.timed, 0),"
	" iif(EXISTS(SELECT 1 FROM process p JOIN part a ON a.process = p.id WHERE p.run = r.id"
	"  GROUP BY p.id HAVING max(a.part) >= count(*)), NULL,"
	"  r.elapsed_ns / 1e9 * r.process_count / nullif(s.count, 0)),"
	" (SELECT count(*) FROM others),"
	" iif(r.id = ?1, (s.sum_ns - (SELECT max(b.max_ns) FROM process p JOIN beat b"
	"  ON b.process = p.id WHERE p.run = r.id AND b.heartbeat = s.heartbeat)) / 1e9"
	"  / nullif(s.timed - 1, 0), NULL),"
	" r.id = ?1 AND s.timed < ?4 AND s.timed * 2 < s.count"
	" FROM looked r JOIN summary s ON s.run = r.id WHERE s.heartbeat IS NOT NULL"
	" ORDER BY s.heartbeat, r.start_ns, r.id";

/* What the history and the run itself say about one metric of one heartbeat. */
struct series {
	double logs[SN_JUDGE_RUNS_MAX]; /* oldest first */
	int64_t runs[SN_JUDGE_RUNS_MAX];
	size_t count;
	double mine;   /* logarithm; NaN: not met in this run */
	double rest_s; /* this run's value without its longest beat */
	bool is_scarce;
};

static void series_add(struct series *series, bool is_mine, int64_t run, double value)
{
	double logarithm = value > 0 ? log(value) : NAN;

	if (is_mine)
		series->mine = logarithm;
	else if (!isnan(logarithm) && series->count < SN_JUDGE_RUNS_MAX) {
		series->runs[series->count] = run;
		series->logs[series->count++] = logarithm;
	}
}

/* Before medians sort it. */
static void keep_history(struct sn_judgement *out, const struct series *series,
			 struct sn_judge_row *row)
{
	double *values_s = sn_arena_array(&out->arena, double, series->count + 1);
	int64_t *runs = sn_arena_array(&out->arena, int64_t, series->count + 1);

	for (size_t i = 0; i < series->count; i++) {
		values_s[i] = exp(series->logs[i]);
		runs[i] = series->runs[i];
	}
	row->history_s = values_s;
	row->history_runs = runs;
}

static bool is_factor(double x, double y, double factor)
{
	return fabs(x - factor * y) <= 1e-9 * fabs(x);
}

/* The step of a loop and its parts have the same number of beats in every run, or so many times the
 * number: one period. */
static const char *beats_with(const struct sn_judgement *out, const struct sn_judge_row *row)
{
	for (size_t i = 0; i < out->rows.count; i++) {
		const struct sn_judge_row *other = &out->rows.items[i];
		double factor = row->value_s / other->value_s;
		bool is_same = other->metric == SN_JUDGE_PERIOD && other->runs == row->runs &&
			       row->runs > 0 && !other->same_as && factor > 0;

		for (size_t k = 0; k < row->runs && is_same; k++)
			is_same = row->history_runs[k] == other->history_runs[k] &&
				  is_factor(row->history_s[k], other->history_s[k], factor);
		if (is_same)
			return other->heartbeat;
	}
	return NULL;
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
				    .score = NAN,
				    .rest_s = series->rest_s,
				    .is_scarce = series->is_scarce,
				    .noise_ratio = NAN,
				    .limit_ratio = NAN };

	keep_history(out, series, &row);
	for (size_t i = 0; i < series->count; i++)
		row.as_slow += series->logs[i] >= series->mine;
	if (series->count) {
		row.median_s = exp(sn_median(series->logs, series->count));
		row.ratio = row.value_s / row.median_s;
	}
	if (series->count >= SN_JUDGE_RUNS_MIN)
		row.noise_ratio = exp(scale_of(series->logs, series->count));
	if (series->count >= SN_JUDGE_RUNS_MIN && !isnan(series->mine))
		row.score = sn_judge_score(series->mine, series->logs, series->count);
	if (metric == SN_JUDGE_PERIOD)
		row.same_as = beats_with(out, &row);
	if (!isnan(series->mine) || series->count)
		sn_vec_push(&out->rows, row);
	out->tests += !isnan(row.score) && !row.same_as;
}

static void end_heartbeat(struct sn_judgement *out, const char *name, struct series series[2])
{
	if (name) {
		add_row(out, name, SN_JUDGE_DURATION, &series[SN_JUDGE_DURATION]);
		if (!out->cut_count)
			add_row(out, name, SN_JUDGE_PERIOD, &series[SN_JUDGE_PERIOD]);
	}
	for (int i = 0; i < 2; i++)
		series[i] = (struct series){ .mine = NAN, .rest_s = NAN };
}

/* All runs of the history had it, and this one has not a single beat. */
static bool is_missing(const struct sn_judgement *out, const struct sn_judge_row *row)
{
	return isnan(row->value_s) && row->metric == SN_JUDGE_PERIOD &&
	       row->runs == out->run_count && row->runs >= SN_JUDGE_RUNS_MIN;
}

/* Slower, and without the one longest beat not: an interruption of the run, not the program. What
 * it cost shows in the period. */
static bool is_outlier(const struct sn_judge_row *row, double limit)
{
	return row->score > limit && row->rest_s > 0 &&
	       row->score + log(row->rest_s / row->value_s) / log(row->noise_ratio) <= limit;
}

bool sn_judge_is_known(size_t as_slow, size_t count)
{
	return as_slow > (count >= 20 ? count / 10 : 1);
}

/* "slower" only beyond the limit for as many runs as stand behind the row: fewer spread wider. */
static const char *verdict_of(const struct sn_judgement *out, const struct sn_judge_row *row,
			      double limit)
{
	return is_missing(out, row)						  ? "missing"
	       : row->is_scarce							  ? "few"
	       : is_outlier(row, limit)						  ? "outlier"
	       : row->runs == 0							  ? "new"
	       : isnan(row->score)						  ? "repeat"
	       : row->score > limit && sn_judge_is_known(row->as_slow, row->runs) ? "known"
	       : row->score > limit						  ? "slower"
	       : row->score < -limit						  ? "faster"
										  : "same";
}

/* The row with this verdict that is farthest from its history. */
static const struct sn_judge_row *worst_of(const struct sn_judgement *out, const char *verdict)
{
	const struct sn_judge_row *worst = NULL;

	for (size_t i = 0; i < out->rows.count; i++) {
		const struct sn_judge_row *row = &out->rows.items[i];

		if (!strcmp(row->verdict, verdict) && !row->same_as &&
		    (!worst || fabs(log(row->ratio)) > fabs(log(worst->ratio))))
			worst = row;
	}
	return worst;
}

static void judge_run(struct sn_judgement *out)
{
	static const char *const verdicts[] = { "slower", "missing", "faster" };

	out->verdict = out->tests ? "same" : "repeat";
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(*verdicts) && !out->reason; i++) {
		out->reason = worst_of(out, verdicts[i]);
		if (out->reason)
			out->verdict = verdicts[i];
	}
}

static void give_verdicts(struct sn_judgement *out, double alarm_rate)
{
	double limits[SN_JUDGE_RUNS_MAX + 1] = { 0 }; /* by the number of runs; 0: not asked for */

	for (size_t i = 0; i < out->rows.count; i++) {
		struct sn_judge_row *row = &out->rows.items[i];
		double *limit = &limits[row->runs];

		if (!isnan(row->score) && *limit == 0)
			*limit = sn_judge_limit(row->runs, alarm_rate / (double)out->tests);
		row->verdict = verdict_of(out, row, *limit);
		if (!isnan(row->score))
			row->limit_ratio = pow(row->noise_ratio, *limit);
		out->finding_count += !row->same_as && (!strcmp(row->verdict, "slower") ||
							!strcmp(row->verdict, "missing"));
	}
	judge_run(out);
}

sn_status sn_run_group_parse(const char *words, unsigned *out, struct sn_error *err)
{
	static const char *const names[] = { "arguments", "ranks", "threads", "program" };
	unsigned group = 0;

	*out = SN_GROUP_DEFAULT;
	if (!words)
		return SN_OK;
	for (; *words; words += *words == ',') {
		size_t length = strcspn(words, ","), i;

		for (i = 0; i < 4; i++)
			if (strlen(names[i]) == length && !memcmp(words, names[i], length))
				break;
		if (i == 4)
			return sn_error_set(err, SN_ERR_USAGE,
					    "heartbeat: runs are grouped by program, arguments, "
					    "ranks and threads, not by '%.*s'",
					    (int)length, words);
		group |= 1u << i;
		words += length;
	}
	*out = group & SN_GROUP_DEFAULT;
	return SN_OK;
}

sn_status sn_history_judge(struct sn_history *history, int64_t run, unsigned group,
			   double alarm_rate, struct sn_judgement *out, struct sn_error *err)
{
	struct series series[2] = { { .mine = NAN, .rest_s = NAN },
				    { .mine = NAN, .rest_s = NAN } };
	const char *name = NULL;
	sqlite3_stmt *statement;
	sn_status status = sn_history_prepare(history, judge_sql, &statement, err);
	int step;

	*out = (struct sn_judgement){ 0 };
	if (status != SN_OK)
		return status;
	status = sn_history_count_cut(history, run, &out->cut_count, err);
	if (status != SN_OK) {
		sqlite3_finalize(statement);
		return status;
	}
	sqlite3_bind_int64(statement, 1, run);
	sqlite3_bind_int(statement, 2, (int)group);
	sqlite3_bind_int(statement, 3, SN_JUDGE_RUNS_MAX);
	sqlite3_bind_int(statement, 4, TIMED_MIN);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *next = (const char *)sqlite3_column_text(statement, 0);
		int64_t of = sqlite3_column_int64(statement, 1);

		if (!name || strcmp(name, next)) {
			end_heartbeat(out, name, series);
			name = sn_arena_strdup(&out->arena, next);
		}
		series_add(&series[SN_JUDGE_DURATION], of == run, of,
			   sqlite3_column_double(statement, 2));
		series_add(&series[SN_JUDGE_PERIOD], of == run, of,
			   sqlite3_column_double(statement, 3));
		if (of == run) {
			series[SN_JUDGE_DURATION].is_scarce = sqlite3_column_int(statement, 6);
			if (sqlite3_column_double(statement, 5) > 0)
				series[SN_JUDGE_DURATION].rest_s =
					sqlite3_column_double(statement, 5);
		}
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
