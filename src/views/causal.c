/* The view of causal experiments: what the program would gain if a piece of code were faster. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "causal/carry.h"
#include "causal/sentence.h"
#include "views/loop_parts.h"
#include "views/parts.h"

enum {
	C_KIND,
	C_NAME,
	C_LOOP,
	C_FUNCTION,
	C_FILE,
	C_LINE_FIRST,
	C_LINE_LAST,
	C_CPU_SHARE,
	C_VERDICT,
	C_SLOPE,
	C_SLOPE_LOW,
	C_SLOPE_HIGH,
	C_POINTS,
	C_REASON,
	C_CURVE,
	C_SENTENCE,
};

static const struct sn_column causal_columns[] = {
	{ "kind", "kind", SN_CELL_TEXT, 0 },	   { "name", "name", SN_CELL_TEXT, 0 },
	{ "loop", NULL, SN_CELL_TEXT, 0 },	   { "function", "function", SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },	   { "line_first", NULL, SN_CELL_INT, 0 },
	{ "line_last", NULL, SN_CELL_INT, 0 },	   { "cpu_share", "CPU", SN_CELL_SHARE, 0 },
	{ "verdict", "verdict", SN_CELL_TEXT, 0 }, { "slope", "slope", SN_CELL_REAL, 2 },
	{ "slope_low", "from", SN_CELL_REAL, 2 },  { "slope_high", "to", SN_CELL_REAL, 2 },
	{ "points", NULL, SN_CELL_JSON, 0 },	   { "reason", "reason", SN_CELL_TEXT, 0 },
	{ "curve", "curve", SN_CELL_TEXT, 0 },	   { "sentence", NULL, SN_CELL_TEXT, 0 },
};
#define DATA_COLUMNS                                                                               \
	"kind,name,loop,function,file,line_first,line_last,cpu_share,verdict,slope,slope_low,"     \
	"slope_high,points,reason"

static void set_real(struct sn_table *table, size_t column, double value)
{
	if (!isnan(value))
		sn_table_set_real(table, column, value);
}

static void set_known(struct sn_table *table, size_t column, const char *text)
{
	if (*text)
		sn_table_set_text(table, column, text);
}

static void add_number(struct sn_text *text, const char *key, double value)
{
	sn_text_addf(text, ",\"%s\":", key);
	if (isnan(value))
		sn_text_add(text, "null");
	else
		sn_text_add_double(text, value);
}

static void set_points(struct sn_table *table, const struct sn_causal_answer *answer)
{
	struct sn_text text = { 0 };

	sn_text_add(&text, "[");
	for (size_t i = 0; i < answer->point_count; i++) {
		const struct sn_causal_point *point = &answer->points[i];

		sn_text_addf(&text, "%s{\"speedup\":", i ? "," : "");
		sn_text_add_double(&text, point->speedup);
		add_number(&text, "effect", point->effect);
		add_number(&text, "effect_low", point->low);
		add_number(&text, "effect_high", point->high);
		sn_text_addf(&text, ",\"experiments\":%u}", point->experiments);
	}
	sn_text_add(&text, "]");
	sn_table_set_text(table, C_POINTS, text.chars);
	sn_text_free(&text);
}

/* Without the sign of a zero. */
static double whole_percent(double value)
{
	return round(100 * value) + 0.0;
}

/* The curve for people, in per cent: "25: 22 [21 to 23]; 50: ...". */
static void add_curve(struct sn_text *text, const struct sn_causal_answer *answer)
{
	for (size_t i = 0; i < answer->point_count; i++) {
		const struct sn_causal_point *point = &answer->points[i];

		sn_text_addf(text, "%s%.0f: %.0f", i ? "; " : "", 100 * point->speedup,
			     whole_percent(point->effect));
		if (!isnan(point->low))
			sn_text_addf(text, " [%.0f to %.0f]", whole_percent(point->low),
				     whole_percent(point->high));
	}
}

static void set_curve(struct sn_table *table, const struct sn_causal_answer *answer)
{
	struct sn_text text = { 0 };

	add_curve(&text, answer);
	set_known(table, C_CURVE, text.chars ? text.chars : "");
	sn_text_free(&text);
}

static void set_sentence(struct sn_table *table, const struct sn_causal_log *log,
			 const struct sn_causal_answers *answers,
			 const struct sn_causal_answer *answer)
{
	struct sn_text text = { 0 };

	sn_causal_sentence(log, answers, answer, &text);
	set_known(table, C_SENTENCE, text.chars ? text.chars : "");
	sn_text_free(&text);
}

static void add_row(const struct sn_causal_log *log, const struct sn_causal_answers *answers,
		    const struct sn_causal_answer *answer, struct sn_table *table)
{
	const struct sn_causal_candidate *c = &log->candidates.items[answer->candidate];
	bool is_loop = !strcmp(c->kind, "loop");

	sn_table_add_row(table);
	sn_table_set_text(table, C_KIND, c->kind);
	sn_table_set_text(table, C_NAME, c->name);
	if (is_loop)
		sn_table_set_text(table, C_LOOP, c->id);
	set_known(table, C_FUNCTION, c->function);
	set_known(table, C_FILE, c->file);
	if (c->line_first)
		sn_table_set_int(table, C_LINE_FIRST, c->line_first);
	if (c->line_last)
		sn_table_set_int(table, C_LINE_LAST, c->line_last);
	sn_table_set_real(table, C_CPU_SHARE, c->cpu_share);
	sn_table_set_text(table, C_VERDICT, sn_causal_verdict_names[answer->verdict]);
	set_real(table, C_SLOPE, answer->slope);
	set_real(table, C_SLOPE_LOW, answer->slope_low);
	set_real(table, C_SLOPE_HIGH, answer->slope_high);
	set_points(table, answer);
	if (answer->reason)
		sn_table_set_text(table, C_REASON, answer->reason);
	set_curve(table, answer);
	set_sentence(table, log, answers, answer);
}

/* The log of the profile's experiment; NULL: none, or `err` says what is wrong with it. */
static struct sn_causal_log *log_of(const struct sn_profile *profile, struct sn_error *err)
{
	struct sn_causal_log *log = NULL;

	err->status = SN_OK;
	if (sn_causal_log_exists(profile->experiment->path))
		sn_causal_log_open(profile->experiment->path, &log, err);
	return log;
}

static sn_status causal_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	struct sn_causal_log *log = log_of(input->profile, err);
	struct sn_causal_answers answers;

	if (!log)
		return err->status;
	sn_causal_answers_find(log, &answers);
	for (size_t i = 0; i < answers.rows.count; i++)
		add_row(log, &answers, &answers.rows.items[i], table);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
	return SN_OK;
}

/* Without experiments the members are there all the same. */
static void write_no_members(struct sn_json *json)
{
	static const char *const members[] = { "progress",	    "observed_false_alarm_rate",
					       "delay_error_share", "overhead_share",
					       "cpu_wait_share",    "settle_s",
					       "carried_share" };

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		sn_json_key(json, members[i]);
		sn_json_null(json);
	}
	sn_json_member_uint(json, "runs", 0);
}

static void causal_members(const struct sn_view_input *input, struct sn_json *json)
{
	struct sn_error err;
	struct sn_causal_log *log = log_of(input->profile, &err);
	struct sn_causal_answers answers;

	if (!log) {
		write_no_members(json);
		return;
	}
	sn_causal_answers_find(log, &answers);
	sn_json_key(json, "progress");
	sn_json_object(json);
	sn_json_member_string(json, "name", log->name);
	sn_json_member_string(json, "kind", log->kind);
	sn_json_member_double(json, "rate_per_s", answers.rate_per_s);
	sn_json_close(json);
	sn_json_member_double(json, "observed_false_alarm_rate", answers.false_alarm_rate);
	sn_json_member_double(json, "delay_error_share", answers.delay_error_share);
	sn_json_member_double(json, "overhead_share", log->overhead_share);
	sn_json_member_double(json, "cpu_wait_share", sn_causal_queued_share(log));
	sn_json_member_double(json, "settle_s", sn_seconds(answers.settle_ns));
	sn_json_member_double(json, "carried_share", answers.carried_share);
	sn_json_member_uint(json, "runs", log->runs.count);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}

/* ---- text ---- */

/* Buffers between threads. */
static void put_carried(const struct sn_causal_answers *answers, FILE *out)
{
	if (answers->carried_share > 0)
		fprintf(out,
			" Buffers between threads carry over from one experiment to the next, also of those "
			"that first go on for %.3g s: effects may be off by %.2f. %s whole runs have them "
			"right (--progress end).\n",
			sn_seconds(answers->settle_ns), answers->carried_share,
			answers->settle_ns < SN_CAUSAL_SETTLE_MOST_NS
				? "More --max-time lets them settle;"
				: "Only");
	else if (answers->settle_ns > SN_CAUSAL_SETTLE_LEAST_NS)
		fprintf(out,
			" Buffers between threads carried over from one experiment to the next: those count "
			"that first went on for %.3g s.\n",
			sn_seconds(answers->settle_ns));
}

/* What a step is, and how long it takes. */
static void put_progress(const struct sn_causal_log *log, double rate_per_s, FILE *out)
{
	struct sn_text name = { 0 };

	sn_text_add_printable(&name, log->name, strlen(log->name));
	if (!strcmp(log->kind, "end"))
		fputs(", each a whole run", out);
	else
		fprintf(out, ", progress by %s '%s'",
			!strcmp(log->kind, "site")	? "arrivals at"
			: !strcmp(log->kind, "latency") ? "the latency of"
							: "heartbeat",
			name.chars);
	if (!isnan(rate_per_s) && !strcmp(log->kind, "end"))
		fprintf(out, " (%.3g s without delays)", 1 / rate_per_s);
	else if (!isnan(rate_per_s))
		fprintf(out, ", %.1f steps a second without delays", rate_per_s);
	sn_text_free(&name);
}

static void put_foot(const struct sn_view_input *input, FILE *out)
{
	struct sn_error err;
	struct sn_causal_log *log = log_of(input->profile, &err);
	struct sn_causal_answers answers;
	uint64_t timed_waits = 0, sealed = 0;

	if (!log)
		return;
	sn_causal_answers_find(log, &answers);
	for (size_t i = 0; i < answers.rows.count; i++) {
		struct sn_text sentence = { 0 }, printable = { 0 };

		sn_causal_sentence(log, &answers, &answers.rows.items[i], &sentence);
		sn_text_add_printable(&printable, sentence.chars, sentence.length);
		fprintf(out, " %s\n", printable.chars);
		sn_text_clear(&sentence);
		add_curve(&sentence, &answers.rows.items[i]);
		if (sentence.length)
			fprintf(out, "   %% spared: %% less: %s\n", sentence.chars);
		sn_text_free(&sentence);
		sn_text_free(&printable);
	}
	for (size_t i = 0; i < log->runs.count; i++) {
		timed_waits += log->runs.items[i].timed_waits;
		sealed += log->runs.items[i].sealed;
	}
	fprintf(out, " %zu experiment%s in %zu run%s", log->trials.count,
		log->trials.count == 1 ? "" : "s", log->runs.count,
		log->runs.count == 1 ? "" : "s");
	put_progress(log, answers.rate_per_s, out);
	if (!isnan(answers.false_alarm_rate))
		fprintf(out, ", false alarms among baselines %.0f %%",
			100 * answers.false_alarm_rate);
	if (!isnan(answers.delay_error_share))
		fprintf(out, ", pauses off by %.1f %%", 100 * answers.delay_error_share);
	fputs(".\n", out);
	if (answers.cut_trials)
		fprintf(out,
			" %zu of the experiments tell%s no effect: the run was cut off before it told how "
			"long its threads waited for CPUs.\n",
			answers.cut_trials, answers.cut_trials == 1 ? "s" : "");
	if (!answers.refusal)
		put_carried(&answers, out);
	if (sn_causal_queued_share(log) > SN_CAUSAL_QUEUED_MOST)
		fprintf(out,
			" Threads waited for CPUs %.0f %% of the time in which they wanted one%s.\n",
			100 * sn_causal_queued_share(log),
			answers.refusal ? "" : ": effects come out too small");
	if (*log->refused && strcmp(log->refused, "too-often") != 0 && !log->trials.count)
		fputs(" No experiments were made, as they could not answer, or need not: sonde causal --force "
		      "makes them all the same.\n",
		      out);
	else if (!log->trials.count && !*log->refused)
		fprintf(out,
			" No experiment was made: the progress point '%s' was not reached, or the program, or "
			"'sonde causal', ended before.\n",
			log->name);
	else if (answers.refusal && answers.refusal != SN_CAUSAL_REFUSED_SEALED)
		fputs(" Delays then do not do what a faster part would, so no effect is told. Run fewer "
		      "threads than CPUs, other programs later, or 'chrt -r 1 sonde causal ...'.\n",
		      out);
	if (!answers.refusal && answers.delay_error_share > SN_CAUSAL_DELAYS_OFF_MOST)
		fputs(" Pauses took longer than asked: threads waited for CPUs, and effects are off as well. "
		      "Fewer other programs, or 'chrt -r 1 sonde causal ...', help.\n",
		      out);
	if (timed_waits)
		fputs(" Waits with time limits see the delays: such a wait may end sooner than "
		      "without them.\n",
		      out);
	if (sealed)
		fputs(" A process forbade system calls (seccomp): from then on its threads were not "
		      "held up.\n",
		      out);
	if (log->threads <= 1 && strcmp(log->refused, "too-short") != 0)
		fputs(" One thread is at work: its profile says it all, by Amdahl's law (sonde show "
		      "loops, cpu_share).\n",
		      out);
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
}

static void why_no_causal(const struct sn_view_input *input, struct sn_text *out)
{
	(void)input;
	sn_text_add(out, "no causal experiments were made of this run: sonde causal makes them");
}

/* ---- on the page of a loop ---- */

static bool page_rows(const struct sn_loop_page *page, struct sn_table *table)
{
	struct sn_error err;
	struct sn_causal_log *log = log_of(page->profile, &err);
	struct sn_causal_answers answers;

	sn_table_init(table, causal_columns, sizeof(causal_columns) / sizeof(*causal_columns));
	if (!log)
		return false;
	sn_causal_answers_find(log, &answers);
	for (size_t i = 0; i < answers.rows.count; i++) {
		uint32_t c = answers.rows.items[i].candidate;

		if (!strcmp(log->candidates.items[c].id, page->loop->code->id))
			add_row(log, &answers, &answers.rows.items[i], table);
	}
	sn_causal_answers_free(&answers);
	sn_causal_log_free(log);
	return table->row_count != 0;
}

static void put_causal(const struct sn_loop_page *page, FILE *out)
{
	struct sn_table_view how = { .columns =
					     "verdict,slope,slope_low,slope_high,cpu_share,curve" };
	struct sn_table table;
	struct sn_error err;

	if (page_rows(page, &table)) {
		fputs("\nif it were faster (sonde show causal):\n", out);
		if (sn_table_write(&table, &how, out, NULL, NULL, &err) != SN_OK)
			fprintf(out, "%s\n", err.sentence);
	}
	sn_table_free(&table);
}

static void write_causal(const struct sn_loop_page *page, struct sn_json *json)
{
	struct sn_table table;

	sn_json_key(json, "causal");
	sn_json_array(json);
	if (page_rows(page, &table))
		sn_table_write_rows(&table, "cpu_share,verdict,slope,slope_low,slope_high,points",
				    json);
	sn_json_close(json);
	sn_table_free(&table);
}

const struct sn_loop_part sn_loop_causal = { .put = put_causal, .write = write_causal };

static const struct sn_explanation causal_words[] = {
	{ "slope", "ratio",
	  "Relative change of a progress step's time by the share of its time that the code is spared, "
	  "through the origin: 0.5 means that 10 % less time in it takes 5 % off a step.",
	  "cpu_share points" },
	{ "slope_low", "ratio",
	  "Lower end of the slope's 95 % interval: the noise of experiments, and what the method itself "
	  "may miss.",
	  "slope" },
	{ "slope_high", "ratio", "Upper end of the slope's 95 % interval.", "slope" },
	{ "cpu_share", "share",
	  "Share of CPU time of the code, of all threads, in the run that found the candidates. With one "
	  "thread at work the slope is this share.",
	  "slope" },
	{ "points", "text",
	  "The curve: for each speed-up (the share of its time that the code is spared, 0 to 1) the "
	  "effect (relative change of a step's time), its 95 % interval and how many experiments.",
	  "slope" },
	{ "curve", "text",
	  "The same points in words: what the code is spared, and by how much less time a step takes, "
	  "with the 95 % interval.",
	  "points" },
	{ 0 },
};

const struct sn_view sn_view_causal = {
	.name = "causal",
	.title = "what a faster piece of code would bring in elapsed time (sonde causal)",
	.needs = SN_VIEW_NEEDS_CAUSAL,
	.schema = "sonde.causal/1",
	.columns = causal_columns,
	.column_count = sizeof(causal_columns) / sizeof(*causal_columns),
	.words = causal_words,
	.data_columns = DATA_COLUMNS,
	.text_columns = "verdict,slope,slope_low,slope_high,cpu_share,kind,name,function",
	.page_title = "Causal",
	.page_group = "Why",
	.page_columns =
		"name,function,kind,verdict,cpu_share,slope,slope_low,slope_high,curve,points,sentence",
	.is_in_report = true,
	.fill = causal_fill,
	.why_empty = why_no_causal,
	.write_members = causal_members,
	.put_foot = put_foot,
};
