/* sonde scalability: what scales, what does not, and where efficiency ends. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/scaling/scaling.h"
#include "cli/command.h"
#include "profile/analysis.h"

/* ---- reading ---- */

/* A campaign with the figures of all runs that are done. */
struct scaling_read {
	struct sn_campaign *campaign;
	struct sn_scaling_configuration *configurations;
	struct sn_scaling_member *members;
	size_t member_count;
	struct sn_scaling *scaling;
};

static sn_status member_read(const struct sn_campaign *c, const struct sn_campaign_attempt *a,
			     struct sn_scaling_member *out, struct sn_error *err)
{
	struct sn_analysis *analysis;
	struct sn_text path = { 0 };
	uint32_t ranks, threads;
	sn_status status;

	sn_campaign_experiment_path(c, a, &path);
	status = sn_analysis_open(path.chars, NULL, &analysis, err);
	sn_text_free(&path);
	if (status != SN_OK)
		return status;
	sn_campaign_configuration_size(c, a->configuration, &ranks, &threads);
	if (!ranks)
		ranks = a->facts.ranks > 0 ? (uint32_t)a->facts.ranks : 1;
	if (!threads)
		threads = a->facts.threads_least > 0 ? (uint32_t)a->facts.threads_least : 1;
	out->configuration = a->configuration;
	out->block = a->block;
	sn_scaling_run_fill(&out->run, analysis->profile, ranks * threads);
	sn_analysis_free(analysis);
	return SN_OK;
}

static sn_status members_read(struct scaling_read *s, struct sn_error *err)
{
	const struct sn_campaign_state *state = s->campaign->state;
	struct sn_progress progress;
	sn_status status = SN_OK;

	s->members = sn_alloc_zeroed(state->attempts.count + 1, sizeof(*s->members));
	sn_progress_begin(&progress, "reading runs", state->attempts.count);
	for (size_t i = 0; status == SN_OK && i < state->attempts.count; i++) {
		sn_progress_update(&progress, i);
		if (state->attempts.items[i].state != SN_RUN_DONE ||
		    !state->attempts.items[i].experiment)
			continue;
		status = member_read(s->campaign, &state->attempts.items[i],
				     &s->members[s->member_count], err);
		s->member_count += status == SN_OK;
	}
	sn_progress_end(&progress);
	return status;
}

static void configurations_take(struct scaling_read *s)
{
	uint32_t count = sn_campaign_configuration_count(s->campaign);
	const char **series = sn_alloc_zeroed(count + 1, sizeof(*series));

	s->configurations = sn_alloc_zeroed(count + 1, sizeof(*s->configurations));
	sn_campaign_series(s->campaign, series);
	for (uint32_t i = 0; i < count; i++) {
		struct sn_scaling_configuration *c = &s->configurations[i];

		c->name = sn_campaign_configuration_name(s->campaign, i);
		c->series = series[i];
		sn_campaign_configuration_size(s->campaign, i, &c->ranks, &c->threads);
	}
	free(series);
}

static void scaling_free(struct scaling_read *s)
{
	for (size_t m = 0; m < s->member_count; m++)
		sn_scaling_run_free(&s->members[m].run);
	free(s->members);
	free(s->configurations);
	sn_scaling_free(s->scaling);
	sn_campaign_free(s->campaign);
	*s = (struct scaling_read){ 0 };
}

static sn_status scaling_open(const char *name, const char *reference, bool is_weak,
			      struct scaling_read *out, struct sn_error *err)
{
	struct sn_scaling_options options = { .reference = reference };
	sn_status status;

	*out = (struct scaling_read){ 0 };
	status = sn_campaign_open(name, &out->campaign, err);
	if (status == SN_OK)
		status = members_read(out, err);
	if (status == SN_OK) {
		configurations_take(out);
		options.is_weak = is_weak || out->campaign->plan->is_weak;
		options.is_in_blocks = out->campaign->plan->order == SN_CAMPAIGN_BLOCKS;
		status = sn_scaling_new(out->members, out->member_count, out->configurations,
					sn_campaign_configuration_count(out->campaign), &options,
					&out->scaling, err);
	}
	if (status != SN_OK)
		scaling_free(out);
	return status;
}

/* ---- the table ---- */

enum {
	V_KIND,
	V_NAME,
	V_LOOP,
	V_CONFIGURATION,
	V_RANKS,
	V_THREADS,
	V_WORKERS,
	V_REPEATS,
	V_TIME,
	V_CPU,
	V_SPEEDUP,
	V_IDEAL,
	V_EFFICIENCY,
	V_LOW,
	V_HIGH,
	V_WORK,
	V_BALANCE,
	V_SHARE,
	V_LOAD_BALANCE,
	V_COMMUNICATION,
	V_COMPUTATION,
	V_SPIN,
	V_BLOCKED,
	V_WAIT_CPU,
	V_SYSTEM,
	V_SERIES,
	V_FUNCTION,
	V_MODULE,
	V_FILE,
	V_FIRST,
	V_LAST,
	V_REASON,
};

static const struct sn_column columns[] = {
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "name", "name", SN_CELL_TEXT, 0 },
	{ "loop", NULL, SN_CELL_TEXT, 0 },
	{ "configuration", "configuration", SN_CELL_TEXT, 0 },
	{ "ranks", NULL, SN_CELL_INT, 0 },
	{ "threads", NULL, SN_CELL_INT, 0 },
	{ "workers", "n", SN_CELL_INT, 0 },
	{ "repeats", NULL, SN_CELL_INT, 0 },
	{ "time_s", "time s", SN_CELL_SECONDS, 0 },
	{ "cpu_s", NULL, SN_CELL_SECONDS, 0 },
	{ "speedup", "speed-up", SN_CELL_REAL, 2 },
	{ "ideal_speedup", NULL, SN_CELL_REAL, 2 },
	{ "efficiency", "efficiency", SN_CELL_REAL, 2 },
	{ "efficiency_low", "low", SN_CELL_REAL, 2 },
	{ "efficiency_high", "high", SN_CELL_REAL, 2 },
	{ "work_efficiency", "work", SN_CELL_REAL, 2 },
	{ "balance_efficiency", "balance", SN_CELL_REAL, 2 },
	{ "share", "of CPU", SN_CELL_SHARE, 0 },
	{ "load_balance", NULL, SN_CELL_REAL, 2 },
	{ "communication_efficiency", NULL, SN_CELL_REAL, 2 },
	{ "computation_scaling", NULL, SN_CELL_REAL, 2 },
	{ "spin_share", NULL, SN_CELL_SHARE, 0 },
	{ "blocked_share", NULL, SN_CELL_SHARE, 0 },
	{ "wait_cpu_share", NULL, SN_CELL_SHARE, 0 },
	{ "system_share", NULL, SN_CELL_SHARE, 0 },
	{ "series", NULL, SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "module", NULL, SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line_first", NULL, SN_CELL_INT, 0 },
	{ "line_last", NULL, SN_CELL_INT, 0 },
	{ "reason", "why", SN_CELL_TEXT, 0 },
};

static const double GOOD = 0.9, BUSY = 0.2;

/* The smaller of work and balance says where the loss is. */
static const char *reason_of(const struct sn_scaling_row *row)
{
	if (row->configuration == row->reference || !(row->efficiency < GOOD))
		return NULL;
	if (row->wait_cpu_share > BUSY)
		return "waiting for CPUs";
	if (!isnan(row->load_balance)) {
		if (row->load_balance <= row->communication &&
		    row->load_balance <= row->computation)
			return "load balance";
		return row->communication <= row->computation
			       ? "waiting and communication"
			       : "more CPU time: contention or more work";
	}
	if (row->balance < row->work)
		return row->balance * row->workers < 1.2 ? "one worker does nearly all"
							 : "workers are uneven";
	return "more CPU time: contention or more work";
}

static void names_set(struct sn_table *table, const struct sn_compare_entry *entry)
{
	sn_table_set_text(table, V_FUNCTION, entry->function);
	sn_table_set_text(table, V_MODULE, entry->module[0] ? entry->module : "[program]");
	sn_table_set_text(table, V_FILE, entry->file);
	if (entry->line_first)
		sn_table_set_int(table, V_FIRST, entry->line_first);
	if (entry->line_last)
		sn_table_set_int(table, V_LAST, entry->line_last);
}

static void row_add(struct sn_table *table, const struct scaling_read *s,
		    const struct sn_scaling_row *row)
{
	const struct sn_scaling_configuration *c = &s->configurations[row->configuration];
	const struct {
		int column;
		double value;
	} reals[] = { { V_TIME, row->time_s },
		      { V_CPU, row->cpu_s },
		      { V_SPEEDUP, row->speedup },
		      { V_IDEAL, row->ideal_speedup },
		      { V_EFFICIENCY, row->efficiency },
		      { V_LOW, row->interval.low },
		      { V_HIGH, row->interval.high },
		      { V_WORK, row->work },
		      { V_BALANCE, row->balance },
		      { V_SHARE, row->share },
		      { V_LOAD_BALANCE, row->load_balance },
		      { V_COMMUNICATION, row->communication },
		      { V_COMPUTATION, row->computation },
		      { V_SPIN, row->spin_share },
		      { V_BLOCKED, row->blocked_share },
		      { V_WAIT_CPU, row->wait_cpu_share },
		      { V_SYSTEM, row->system_share } };

	sn_table_add_row(table);
	sn_table_set_text(table, V_KIND, sn_scaling_kind_name(row->kind));
	sn_table_set_text(table, V_NAME, row->name);
	sn_table_set_text(table, V_LOOP, row->loop);
	sn_table_set_text(table, V_CONFIGURATION, c->name);
	sn_table_set_int(table, V_RANKS, c->ranks ? c->ranks : 1);
	sn_table_set_int(table, V_THREADS, (int64_t)row->workers / (c->ranks ? c->ranks : 1));
	sn_table_set_int(table, V_WORKERS, (int64_t)row->workers);
	sn_table_set_int(table, V_REPEATS, row->repeats);
	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++)
		sn_table_set_real(table, (size_t)reals[i].column, reals[i].value);
	sn_table_set_text(table, V_SERIES, c->series);
	if (row->kind == SN_SCALING_FUNCTION || row->kind == SN_SCALING_LOOP)
		names_set(table, row->entry);
	sn_table_set_text(table, V_REASON, reason_of(row));
}

/* ---- JSON ---- */

static void prediction_write(struct sn_json *json, const struct sn_fit_prediction *p)
{
	sn_json_object(json);
	sn_json_member_double(json, "workers", p->workers);
	sn_json_member_double(json, "time_s", p->time_s);
	sn_json_member_double(json, "low_s", p->low_s);
	sn_json_member_double(json, "high_s", p->high_s);
	sn_json_close(json);
}

static void fit_write(struct sn_json *json, const struct sn_scaling_fit *fit)
{
	sn_json_object(json);
	sn_json_member_string(json, "kind", sn_scaling_kind_name(fit->kind));
	sn_json_member_string(json, "name", fit->name);
	sn_json_member_string(json, "loop", fit->loop);
	sn_json_member_string(json, "series", fit->series);
	sn_json_member_string(json, "model", fit->fit.model);
	sn_json_member_double(json, "workers_80", fit->fit.workers_80);
	sn_json_member_double(json, "workers_50", fit->fit.workers_50);
	sn_json_key(json, "predicted");
	sn_json_array(json);
	for (int i = 0; fit->fit.model && i < SN_FIT_PREDICTIONS; i++)
		prediction_write(json, &fit->fit.predicted[i]);
	sn_json_close(json);
	sn_json_member_string(json, "reason", fit->fit.reason[0] ? fit->fit.reason : NULL);
	sn_json_close(json);
}

static const char *reference_of(const struct scaling_read *s)
{
	return s->configurations[s->scaling->rows.items[0].reference].name;
}

static void extra_write(struct sn_json *json, void *context)
{
	const struct scaling_read *s = context;

	sn_json_member_string(json, "campaign", sn_base_name(s->campaign->path));
	sn_json_member_string(json, "mode", s->scaling->is_weak ? "weak" : "strong");
	sn_json_member_string(json, "reference", reference_of(s));
	sn_json_key(json, "fits");
	sn_json_array(json);
	for (size_t i = 0; i < s->scaling->fits.count; i++)
		fit_write(json, &s->scaling->fits.items[i]);
	sn_json_close(json);
}

/* ---- text ---- */

static void lost_print(const struct scaling_read *s, const struct sn_scaling_row *row)
{
	printf("  %-24s n %-4.0f load balance %.2f x communication %.2f x computation %.2f; of workers' "
	       "time %.0f %% spun, %.0f %% blocked or not there, %.0f %% waited for a CPU, %.0f %% "
	       "system\n",
	       s->configurations[row->configuration].name, row->workers, row->load_balance,
	       row->communication, row->computation, 100 * row->spin_share,
	       100 * row->blocked_share, 100 * row->wait_cpu_share, 100 * row->system_share);
}

static void fit_print(const struct sn_scaling_fit *fit)
{
	const struct sn_fit *f = &fit->fit;

	if (!f->model) {
		printf("  %s: %s\n", fit->name, f->reason);
		return;
	}
	printf("  %s: %s; efficiency below 0.8 ", fit->name, f->model);
	if (isnan(f->workers_80))
		printf("nowhere up to 10^6");
	else
		printf("from %.0f", f->workers_80);
	if (!isnan(f->workers_50))
		printf(", below 0.5 from %.0f", f->workers_50);
	printf("; n %.0f: %.3g s (%.3g-%.3g), n %.0f: %.3g s (%.3g-%.3g)\n",
	       f->predicted[0].workers, f->predicted[0].time_s, f->predicted[0].low_s,
	       f->predicted[0].high_s, f->predicted[1].workers, f->predicted[1].time_s,
	       f->predicted[1].low_s, f->predicted[1].high_s);
}

enum { FITS_SHOWN = 8 };

static void head_print(const struct scaling_read *s)
{
	const struct sn_scaling *scaling = s->scaling;
	size_t shown = 0;

	printf("%s: %s scaling, %zu runs, against '%s'\n", s->campaign->path,
	       scaling->is_weak ? "weak" : "strong", s->member_count, reference_of(s));
	printf("\nThe application's efficiency:\n");
	for (size_t i = 0; i < scaling->rows.count; i++)
		if (scaling->rows.items[i].kind == SN_SCALING_APPLICATION)
			lost_print(s, &scaling->rows.items[i]);
	printf("\nLaws over the number of workers:\n");
	for (size_t i = 0; i < scaling->fits.count && shown < FITS_SHOWN; i++) {
		const struct sn_scaling_fit *fit = &scaling->fits.items[i];

		if (fit->kind != SN_SCALING_APPLICATION &&
		    !(fit->kind == SN_SCALING_LOOP && fit->fit.model))
			continue;
		fit_print(fit);
		shown++;
	}
	putchar('\n');
}

static sn_status scalability(const struct sn_args *args, struct sn_error *err)
{
	struct sn_table_view view = { .schema = "sonde.scalability/1" };
	struct scaling_read s;
	struct sn_table table;
	sn_status status = sn_args_table_view(args, &view, err);

	if (status == SN_OK)
		status = scaling_open(args->operand_count ? args->operands[0] : NULL,
				      sn_args_value(args, "reference"), sn_args_flag(args, "weak"),
				      &s, err);
	if (status != SN_OK)
		return status;
	sn_table_init(&table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < s.scaling->rows.count; i++)
		row_add(&table, &s, &s.scaling->rows.items[i]);
	if (view.format == SN_FORMAT_TEXT)
		head_print(&s);
	status = sn_table_write(&table, &view, stdout, extra_write, &s, err);
	sn_table_free(&table);
	scaling_free(&s);
	return status;
}

static int scalability_run(const struct sn_args *args)
{
	struct sn_error err;

	return scalability(args, &err) == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

static const struct sn_option scalability_options[] = {
	SN_TABLE_OPTIONS,
	{ "reference", 0, "NAME",
	  "the configuration to set others against, or fastest (default: fewest workers)", NULL },
	{ "weak", 0, NULL, "weak scaling: the work grew with the workers", NULL },
	{ 0 },
};

const struct sn_command sn_command_scalability = {
	.name = "scalability",
	.operands = "[CAMPAIGN]",
	.summary = "Says what scales and what does not, from the runs of a campaign",
	.description =
		"Workers are ranks times threads. Of the application time is elapsed time; of a "
		"function, loop or category the largest exclusive CPU time of one worker. "
		"Efficiency is speed-up over the ideal, and the exact product of work (CPU time "
		"against the reference) and balance (mean over largest of workers). The "
		"application's is also load balance x communication x computation, as POP has it.\n\n"
		"From four numbers of workers on, laws (Amdahl, USL, a + b ln n) are fitted and "
		"checked by leaving out the last; predictions are 95 % intervals of a run's time.\n\n"
		"'sonde show scalability' is the same. Failed and suspicious runs are left out.",
	.options = scalability_options,
	.examples =
		(const char *const[]){ "sonde scalability", "of the newest campaign in this folder",
				       "sonde scalability --filter 'kind=loop,efficiency<0.8'",
				       "loops that stop scaling", NULL },
	.run = scalability_run,
};
