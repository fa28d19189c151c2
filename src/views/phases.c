/* The phases of a run as text and tables: sites, intervals, parts of the main loop, pairs of two runs. */
#include "views/phases.h"

#include <inttypes.h>
#include <math.h>

#include "views/view.h"

/* ---- the table of sites: the columns of the paper's Tables II to VI, and more ---- */

enum {
	S_PHASE,
	S_NAME,
	S_HEARTBEAT,
	S_FUNCTION,
	S_PHASE_SHARE,
	S_APP_SHARE,
	S_TYPE,
	S_LOOP_LABEL,
	S_BEATS,
	S_PROCESSES,
	S_FILE,
	S_LINE,
	S_LOOP,
	S_SHARE,
	S_INTERVALS,
	S_ALTERNATIVE,
	S_LEAST_HZ,
	S_EXPECTED_HZ,
	S_MOST_HZ,
};

static const struct sn_column site_columns[] = {
	{ "phase", "Phase ID", SN_CELL_INT, 0 },
	{ "name", NULL, SN_CELL_TEXT, 0 },
	{ "heartbeat", "HB ID", SN_CELL_INT, 0 },
	{ "function", "Discovered site", SN_CELL_TEXT, 0 },
	{ "phase_share", "Phase", SN_CELL_SHARE, 0 },
	{ "app_share", "App", SN_CELL_SHARE, 0 },
	{ "type", "Inst. type", SN_CELL_TEXT, 0 },
	{ "loop_label", "Loop", SN_CELL_TEXT, 0 },
	{ "beats_per_s", "Beats/s", SN_CELL_TEXT, 0 },
	{ "processes", "Ranks", SN_CELL_INT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "loop", NULL, SN_CELL_TEXT, 0 },
	{ "share", NULL, SN_CELL_SHARE, 0 },
	{ "interval_count", NULL, SN_CELL_INT, 0 },
	{ "alternative", NULL, SN_CELL_BOOL, 0 },
	{ "at_least_hz", NULL, SN_CELL_REAL, 3 },
	{ "expected_hz", NULL, SN_CELL_REAL, 3 },
	{ "at_most_hz", NULL, SN_CELL_REAL, 3 },
};

/* How many processes go through a phase. */
static uint32_t phase_processes(const struct sn_phases *p, uint32_t phase)
{
	uint32_t count = 0, last = SN_NONE;

	for (size_t r = 0; r < p->intervals->row_count; r++)
		if (p->phase_of[r] == phase && p->intervals->rows.items[r].process != last) {
			last = p->intervals->rows.items[r].process;
			count++;
		}
	return count;
}

static void pace_set(struct sn_table *table, const struct sn_pace *pace)
{
	const double hz[] = { pace->at_least_hz, pace->expected_hz, pace->at_most_hz };
	struct sn_text text = { 0 };

	sn_pace_text(pace, &text);
	sn_table_set_text(table, S_BEATS, sn_arena_strdup(&table->arena, text.chars));
	sn_text_free(&text);
	for (size_t i = 0; i < 3; i++)
		if (!isnan(hz[i]))
			sn_table_set_real(table, S_LEAST_HZ + i, hz[i]);
}

static void site_row_add(struct sn_table *table, const struct sn_phases *p,
			 const struct sn_phase *phase, const struct sn_phase_site *site,
			 bool is_text)
{
	const struct sn_program *program = p->paths->program;
	const char *name;

	sn_table_add_row(table);
	sn_table_set_int(table, S_PHASE, phase->number);
	sn_table_set_text(table, S_NAME, phase->name);
	sn_table_set_real(table, S_SHARE, phase->share);
	sn_table_set_int(table, S_INTERVALS, (int64_t)phase->interval_count);
	sn_table_set_int(table, S_PROCESSES, phase_processes(p, phase->number));
	if (!site)
		return;
	sn_table_set_int(table, S_HEARTBEAT, site->heartbeat);
	name = is_text ? sn_phase_function_shown(p, site->function, &table->arena)
		       : p->functions[site->function].name;
	sn_table_set_int(table, S_ALTERNATIVE, site->is_alternative);
	if (site->is_alternative && is_text)
		name = sn_arena_printf(&table->arena, "or %s", name);
	sn_table_set_text(table, S_FUNCTION, name);
	sn_table_set_text(table, S_FILE, p->functions[site->function].file);
	if (p->functions[site->function].line)
		sn_table_set_int(table, S_LINE, p->functions[site->function].line);
	sn_table_set_real(table, S_PHASE_SHARE, site->phase_share);
	sn_table_set_real(table, S_APP_SHARE, site->app_share);
	sn_table_set_text(table, S_TYPE, sn_site_type_name(site->type));
	pace_set(table, &site->pace);
	if (site->loop == SN_NONE)
		return;
	sn_table_set_text(table, S_LOOP, program->loops.items[site->loop].code->id);
	sn_table_set_text(table, S_LOOP_LABEL, program->loops.items[site->loop].code->label);
}

static sn_status sites_print(const struct sn_phases *p, struct sn_table_view *view, FILE *out,
			     struct sn_error *err)
{
	bool is_text = view->format == SN_FORMAT_TEXT;
	struct sn_table table;
	sn_status status;

	sn_table_init(&table, site_columns, sizeof(site_columns) / sizeof(*site_columns));
	for (size_t i = 0; i < p->phases.count; i++) {
		const struct sn_phase *phase = &p->phases.items[i];

		for (size_t s = 0; s < phase->sites.count; s++)
			site_row_add(&table, p, phase, &phase->sites.items[s], is_text);
		if (!phase->sites.count)
			site_row_add(&table, p, phase, NULL, is_text);
	}
	view->schema = "sonde.phase-sites/1";
	status = sn_table_write(&table, view, out, NULL, NULL, err);
	sn_table_free(&table);
	return status;
}

/* ---- the table of intervals ---- */

enum { I_PROCESS, I_RANK, I_T0, I_T1, I_PHASE, I_NAME, I_SAMPLES, I_CPU, I_SYSTEM, I_BLOCKED };

static const struct sn_column interval_columns[] = {
	{ "process", "process", SN_CELL_INT, 0 },
	{ "rank", "rank", SN_CELL_INT, 0 },
	{ "t0_s", "from s", SN_CELL_REAL, 3 },
	{ "t1_s", "to s", SN_CELL_REAL, 3 },
	{ "phase", "phase", SN_CELL_INT, 0 },
	{ "name", "name", SN_CELL_TEXT, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "cpu_s", "CPU s", SN_CELL_SECONDS, 0 },
	{ "system_s", "system s", SN_CELL_SECONDS, 0 },
	{ "blocked_s", "blocked s", SN_CELL_SECONDS, 0 },
};

static sn_status intervals_print(const struct sn_phases *p, struct sn_table_view *view, FILE *out,
				 struct sn_error *err)
{
	struct sn_table table;
	sn_status status;

	sn_table_init(&table, interval_columns,
		      sizeof(interval_columns) / sizeof(*interval_columns));
	for (size_t r = 0; r < p->intervals->row_count; r++) {
		const struct sn_interval_row *row = &p->intervals->rows.items[r];
		const struct sn_process *process =
			&p->profile->experiment->processes.items[row->process];

		sn_table_add_row(&table);
		sn_table_set_int(&table, I_PROCESS, row->process);
		if (process->rank >= 0)
			sn_table_set_int(&table, I_RANK, process->rank);
		sn_table_set_real(&table, I_T0,
				  (double)row->number * (double)p->intervals->interval_ns / 1e9);
		sn_table_set_real(&table, I_T1, (double)row->end_ns / 1e9);
		if (p->phase_of[r] != SN_NONE) {
			sn_table_set_int(&table, I_PHASE, p->phase_of[r]);
			sn_table_set_text(&table, I_NAME, p->phases.items[p->phase_of[r]].name);
		}
		sn_table_set_int(&table, I_SAMPLES, row->samples);
		sn_table_set_real(&table, I_CPU, (double)(row->user_ns + row->system_ns) / 1e9);
		sn_table_set_real(&table, I_SYSTEM, (double)row->system_ns / 1e9);
		sn_table_set_real(&table, I_BLOCKED, (double)row->blocked_ns / 1e9);
	}
	view->schema = "sonde.phase-intervals/1";
	status = sn_table_write(&table, view, out, NULL, NULL, err);
	sn_table_free(&table);
	return status;
}

/* ---- text ---- */

static void head_print(const struct sn_phases *p, FILE *out)
{
	const struct sn_intervals *in = p->intervals;
	size_t idle = in->row_count - in->busy_count;

	fprintf(out, "%zu phase%s in %zu interval%s of %g s", p->phases.count,
		p->phases.count == 1 ? "" : "s", in->busy_count, in->busy_count == 1 ? "" : "s",
		(double)in->interval_ns / 1e9);
	if (in->is_auto)
		fprintf(out, " (chosen by itself)");
	if (!isnan(in->median_samples))
		fprintf(out, ", median %.0f samples", in->median_samples);
	if (idle)
		fprintf(out, "; %zu idle", idle);
	fprintf(out, "\n");
	for (size_t i = 0; i < p->warnings.count; i++)
		fprintf(out, "note: %s\n", p->warnings.items[i]);
	fprintf(out, "\n");
}

/* How much hangs on the length of the intervals. */
static void lengths_print(const struct sn_phases *p, FILE *out)
{
	double agreement = 0;
	size_t others = 0;

	for (size_t i = 0; i < p->lengths.count; i++) {
		if (p->lengths.items[i].interval_ns == p->intervals->interval_ns)
			continue;
		fprintf(out, "%s%g", others ? ", " : "stable: intervals of ",
			(double)p->lengths.items[i].interval_ns / 1e9);
		agreement += p->lengths.items[i].agreement;
		others++;
	}
	if (others)
		fprintf(out, " s give the same sites for %.0f %% of the time\n",
			100 * agreement / (double)others);
}

static void clustering_print(const struct sn_phases *p, FILE *out)
{
	fprintf(out, "k-means by %s chose k = %u", sn_phase_method_name(p->options.choose.method),
		p->choice->k);
	if (p->phases.count < p->choice->k)
		fprintf(out, "; phases with one set of sites were joined");
	if (p->choice->is_subsample)
		fprintf(out, " (numbers of %zu intervals, drawn by seed)", p->choice->model_rows);
	fprintf(out, "\n         k");
	for (size_t i = 0; i < p->choice->rows.count; i++)
		fprintf(out, "%9u", p->choice->rows.items[i].k);
	fprintf(out, "\n   inertia");
	for (size_t i = 0; i < p->choice->rows.count; i++)
		fprintf(out, "%9.3g", p->choice->rows.items[i].inertia);
	fprintf(out, "\nsilhouette");
	for (size_t i = 0; i < p->choice->rows.count; i++)
		if (isnan(p->choice->rows.items[i].silhouette))
			fprintf(out, "%9s", "-");
		else
			fprintf(out, "%9.3f", p->choice->rows.items[i].silhouette);
	fprintf(out, "\n");
}

enum { C_OWNER, C_HEARTBEAT, C_FUNCTION, C_SHARE, C_TYPE, C_LOOP, C_CALLS, C_MEAN };
static const struct sn_column cycle_columns[] = {
	{ "owner", "Owner", SN_CELL_TEXT, 0 },	   { "heartbeat", "HB ID", SN_CELL_INT, 0 },
	{ "function", "Part", SN_CELL_TEXT, 0 },   { "share", "App", SN_CELL_SHARE, 0 },
	{ "type", "Inst. type", SN_CELL_TEXT, 0 }, { "loop_label", "Loop", SN_CELL_TEXT, 0 },
	{ "calls", "Calls", SN_CELL_TEXT, 0 },	   { "mean_s", "Mean s", SN_CELL_TEXT, 0 },
};

static void part_site_set(struct sn_table *table, const struct sn_phases *p,
			  const struct sn_phase_cycle *cycle)
{
	const struct sn_phase_site *site = &cycle->site;

	sn_table_set_text(
		table, C_FUNCTION,
		sn_phase_function_shown(p, site->heartbeat ? site->function : cycle->function,
					&table->arena));
	if (!site->heartbeat)
		return;
	sn_table_set_int(table, C_HEARTBEAT, site->heartbeat);
	sn_table_set_text(table, C_TYPE, sn_site_type_name(site->type));
	if (site->loop != SN_NONE)
		sn_table_set_text(table, C_LOOP,
				  p->paths->program->loops.items[site->loop].code->label);
}

static sn_status cycles_print(const struct sn_phases *p, FILE *out, struct sn_error *err)
{
	bool is_exact = p->activity->calls_source == SN_CALLS_EXACT;
	struct sn_table_view view = { .format = SN_FORMAT_TEXT };
	struct sn_table table;
	sn_status status;

	if (!p->cycles.count)
		return SN_OK;
	fprintf(out, "\nParts: what the owner of a main loop calls again and again, or stays in\n");
	sn_table_init(&table, cycle_columns, sizeof(cycle_columns) / sizeof(*cycle_columns));
	for (size_t i = 0; i < p->cycles.count; i++) {
		const struct sn_phase_cycle *cycle = &p->cycles.items[i];

		sn_table_add_row(&table);
		sn_table_set_text(&table, C_OWNER,
				  sn_phase_function_shown(p, cycle->owner, &table.arena));
		part_site_set(&table, p, cycle);
		sn_table_set_real(&table, C_SHARE, cycle->share);
		if (!cycle->calls)
			continue;
		sn_table_set_text(&table, C_CALLS,
				  sn_arena_printf(&table.arena, "%s%" PRIu64,
						  is_exact ? "" : ">= ", cycle->calls));
		sn_table_set_text(&table, C_MEAN,
				  sn_arena_printf(&table.arena,
						  cycle->mean_ns < 1e11 ? "%s%#.3g" : "%s%.1f",
						  is_exact ? "" : "<= ", cycle->mean_ns / 1e9));
	}
	status = sn_table_write(&table, &view, out, NULL, NULL, err);
	sn_table_free(&table);
	return status;
}

static sn_status text_print(const struct sn_phases *p, struct sn_table_view *view, FILE *out,
			    struct sn_error *err)
{
	sn_status status;

	head_print(p, out);
	status = sites_print(p, view, out, err);
	if (status != SN_OK)
		return status;
	fprintf(out, "\n");
	lengths_print(p, out);
	clustering_print(p, out);
	fprintf(out, "calls: %s%s\n", sn_calls_source_name(p->activity->calls_source),
		p->activity->calls_source == SN_CALLS_EXACT
			? ""
			: ", at least so many, for calls that follow each other at once look like one");
	return cycles_print(p, out, err);
}

sn_status sn_phases_show(const struct sn_phases *p, bool by_interval, struct sn_table_view *view,
			 FILE *out, struct sn_error *err)
{
	view->experiment = p->profile->experiment->name;
	if (by_interval)
		return intervals_print(p, view, out, err);
	if (view->format == SN_FORMAT_TEXT)
		return text_print(p, view, out, err);
	if (view->format != SN_FORMAT_JSON)
		return sites_print(p, view, out, err);
	sn_phases_write_json(p, out);
	return SN_OK;
}

/* ---- two runs ---- */

enum { D_NAME, D_A, D_B, D_A_SHARE, D_B_SHARE, D_A_S, D_B_S, D_RATIO, D_LIKENESS };
static const struct sn_column pair_columns[] = {
	{ "name", "Phase", SN_CELL_TEXT, 0 },	   { "a_phase", "A ID", SN_CELL_INT, 0 },
	{ "b_phase", "B ID", SN_CELL_INT, 0 },	   { "a_share", "A", SN_CELL_SHARE, 0 },
	{ "b_share", "B", SN_CELL_SHARE, 0 },	   { "a_s", "A s", SN_CELL_SECONDS, 0 },
	{ "b_s", "B s", SN_CELL_SECONDS, 0 },	   { "ratio", "B / A", SN_CELL_REAL, 3 },
	{ "likeness", "alike", SN_CELL_SHARE, 0 },
};

/* Time that processes spent in a phase: the lengths of its intervals. */
static double phase_seconds(const struct sn_phases *p, const struct sn_phase *phase)
{
	int64_t ns = 0;

	for (size_t r = 0; r < p->intervals->row_count; r++) {
		const struct sn_interval_row *row = &p->intervals->rows.items[r];

		if (p->phase_of[r] == phase->number)
			ns += row->end_ns - (int64_t)row->number * p->intervals->interval_ns;
	}
	return (double)ns / 1e9;
}

static void pair_row_add(struct sn_table *table, const struct sn_phases *a,
			 const struct sn_phases *b, const struct sn_phase_pair *pair)
{
	double seconds[2] = { 0, 0 };

	sn_table_add_row(table);
	sn_table_set_text(table, D_NAME, pair->a ? pair->a->name : pair->b->name);
	if (pair->a) {
		seconds[0] = phase_seconds(a, pair->a);
		sn_table_set_int(table, D_A, pair->a->number);
		sn_table_set_real(table, D_A_SHARE, pair->a->share);
		sn_table_set_real(table, D_A_S, seconds[0]);
	}
	if (pair->b) {
		seconds[1] = phase_seconds(b, pair->b);
		sn_table_set_int(table, D_B, pair->b->number);
		sn_table_set_real(table, D_B_SHARE, pair->b->share);
		sn_table_set_real(table, D_B_S, seconds[1]);
	}
	if (!pair->a || !pair->b)
		return;
	sn_table_set_real(table, D_LIKENESS, pair->likeness);
	if (seconds[0] > 0)
		sn_table_set_real(table, D_RATIO, seconds[1] / seconds[0]);
}

struct runs {
	const char *a, *b;
};

static void runs_write(struct sn_json *json, void *context)
{
	const struct runs *runs = context;

	sn_json_member_string(json, "a", runs->a);
	sn_json_member_string(json, "b", runs->b);
}

sn_status sn_phases_show_pairs(const struct sn_phases *a, const struct sn_phases *b,
			       struct sn_table_view *view, FILE *out, struct sn_error *err)
{
	struct runs runs = { a->profile->experiment->name, b->profile->experiment->name };
	struct sn_phase_pairs pairs;
	struct sn_table table;
	sn_status status;

	sn_phases_match(a, b, &pairs);
	sn_table_init(&table, pair_columns, sizeof(pair_columns) / sizeof(*pair_columns));
	for (size_t i = 0; i < pairs.items.count; i++)
		pair_row_add(&table, a, b, &pairs.items.items[i]);
	view->schema = "sonde.phase-pairs/1";
	if (view->format == SN_FORMAT_TEXT)
		fprintf(out, "A: %s\nB: %s\n\n", runs.a, runs.b);
	status = sn_table_write(&table, view, out, runs_write, &runs, err);
	sn_table_free(&table);
	sn_vec_free(&pairs.items);
	return status;
}

const struct sn_view sn_view_phases = {
	.name = "phases",
	.title = "what the run goes through, and where to watch it in production",
	.command = "phases",
};
