/* The table of a running job: its title, the columns that say something, its facts as JSON. */
#include "heartbeat/top.h"

static void add_age(struct sn_text *text, int64_t ns)
{
	double seconds = (double)ns * 1e-9;

	if (seconds < 90)
		sn_text_addf(text, "%.0f s", seconds);
	else if (seconds < 5400)
		sn_text_addf(text, "%.0f min", seconds / 60);
	else
		sn_text_addf(text, "%.1f h", seconds / 3600);
}

/* "app ["x"], job 77: 8 processes on 2 hosts, running for 12 min" */
static void add_title(struct sn_text *text, const struct sn_live *live, double window_s,
		      int64_t now_ns)
{
	struct sn_live_facts facts = sn_live_facts(live);

	if (!facts.process_count) {
		sn_text_add(text, "no process has written a heartbeat yet\n");
		return;
	}
	sn_live_add_title(live, text);
	sn_text_addf(text, ": %llu process%s on %llu host%s, ",
		     (unsigned long long)facts.process_count, facts.process_count == 1 ? "" : "es",
		     (unsigned long long)facts.host_count, facts.host_count == 1 ? "" : "s");
	if (facts.running_count) {
		sn_text_add(text, "running for ");
		add_age(text, now_ns - facts.first_start_ns);
	} else {
		sn_text_add(text, "ended; ran for ");
		add_age(text, facts.last_row_ns - facts.first_start_ns);
	}
	sn_text_add(text, ", last row ");
	add_age(text, now_ns - facts.last_row_ns);
	sn_text_addf(text, " ago; figures of the last %g s", window_s);
	if (facts.bad_line_count)
		sn_text_addf(text, " (%llu lines could not be read)",
			     (unsigned long long)facts.bad_line_count);
	sn_text_add(text, "\n");
}

/* Columns that say something here: without ranks, threads or work theirs are left out. */
static const char *columns_of(enum sn_live_by by, bool has_many)
{
	if (by == SN_LIVE_BY_THREAD)
		return "heartbeat,rank,thread,total,rate_hz,mean_s,max_s,open,work_hz,recent";
	if (by == SN_LIVE_BY_RANK)
		return "heartbeat,rank,pid,threads,total,rate_hz,mean_s,max_s,open,work_hz,recent";
	return has_many ? "heartbeat,processes,threads,total,rate_hz,mean_s,max_s,slowest_rank,"
			  "slowest_ratio,open,work_hz,recent"
			: "heartbeat,threads,total,rate_hz,mean_s,max_s,open,work_hz,recent";
}

static void write_facts(struct sn_json *json, void *context)
{
	const struct sn_top *top = context;
	struct sn_live_facts facts = sn_live_facts(top->live);

	sn_json_member_uint(json, "processes", facts.process_count);
	sn_json_member_uint(json, "running", facts.running_count);
	sn_json_member_uint(json, "hosts", facts.host_count);
	sn_json_member_double(json, "window_s", top->window_s);
	sn_json_member_double(json, "last_row_realtime_s", (double)facts.last_row_ns * 1e-9);
}

sn_status sn_top_print(const struct sn_top *top, int64_t now_ns, FILE *out, struct sn_error *err)
{
	struct sn_table_view view = top->view;
	struct sn_table table;
	sn_status status;

	sn_table_init(&table, sn_live_columns, sn_live_column_count);
	sn_live_fill(top->live, top->by, &table);
	if (view.format == SN_FORMAT_TEXT) {
		struct sn_text title = { 0 };

		add_title(&title, top->live, top->window_s, now_ns);
		fputs(title.chars, out);
		sn_text_free(&title);
		if (!view.columns)
			view.columns =
				columns_of(top->by, sn_live_facts(top->live).process_count > 1);
	}
	view.schema = "sonde.heartbeat-top/1";
	status = sn_table_write(&table, &view, out, write_facts, (void *)(uintptr_t)top, err);
	sn_table_free(&table);
	return status;
}
