/* One row for a part of the program in a configuration; one for a law. */
#include "campaign/scaling/table.h"

#include <math.h>
#include <string.h>

#include "campaign/scaling/words.h"

/* ---- figures ---- */

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
	V_CONFIDENCE,
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
	{ "confidence", "confidence", SN_CELL_TEXT, 0 },
};

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

static void row_add(struct sn_table *table, const struct sn_scaling_campaign *s,
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

	struct sn_text why = { 0 };

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
	sn_scaling_add_reason(row, &why);
	sn_table_set_text(table, V_REASON, why.length ? why.chars : NULL);
	sn_table_set_text(table, V_CONFIDENCE, sn_scaling_confidence(row));
	sn_text_free(&why);
}

void sn_scaling_table(const struct sn_scaling_campaign *campaign, struct sn_table *out)
{
	sn_table_init(out, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < campaign->scaling->rows.count; i++)
		row_add(out, campaign, &campaign->scaling->rows.items[i]);
}

/* ---- laws ---- */

enum {
	L_KIND,
	L_NAME,
	L_LOOP,
	L_SERIES,
	L_MODEL,
	L_80,
	L_50,
	L_PREDICTED,
	L_REASON = L_PREDICTED + 8
};

static const struct sn_column law_columns[] = {
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "name", "name", SN_CELL_TEXT, 0 },
	{ "loop", NULL, SN_CELL_TEXT, 0 },
	{ "series", NULL, SN_CELL_TEXT, 0 },
	{ "model", "law", SN_CELL_TEXT, 0 },
	{ "workers_80", "0.8 from", SN_CELL_REAL, 0 },
	{ "workers_50", "0.5 from", SN_CELL_REAL, 0 },
	{ "predicted_2x_workers", "n", SN_CELL_REAL, 0 },
	{ "predicted_2x_s", "time s", SN_CELL_SECONDS, 0 },
	{ "predicted_2x_low_s", "low", SN_CELL_SECONDS, 0 },
	{ "predicted_2x_high_s", "high", SN_CELL_SECONDS, 0 },
	{ "predicted_4x_workers", "n", SN_CELL_REAL, 0 },
	{ "predicted_4x_s", "time s", SN_CELL_SECONDS, 0 },
	{ "predicted_4x_low_s", "low", SN_CELL_SECONDS, 0 },
	{ "predicted_4x_high_s", "high", SN_CELL_SECONDS, 0 },
	{ "reason", "why none", SN_CELL_TEXT, 0 },
};

static void law_add(const struct sn_scaling_fit *fit, struct sn_table *out)
{
	sn_table_add_row(out);
	sn_table_set_text(out, L_KIND, sn_scaling_kind_name(fit->kind));
	sn_table_set_text(out, L_NAME, fit->name);
	sn_table_set_text(out, L_LOOP, fit->loop);
	sn_table_set_text(out, L_SERIES, fit->series);
	sn_table_set_text(out, L_MODEL, fit->fit.model);
	sn_table_set_text(out, L_REASON, fit->fit.reason[0] ? fit->fit.reason : NULL);
	if (!fit->fit.model)
		return;
	sn_table_set_real(out, L_80, fit->fit.workers_80);
	sn_table_set_real(out, L_50, fit->fit.workers_50);
	for (size_t i = 0; i < SN_FIT_PREDICTIONS; i++) {
		const struct sn_fit_prediction *p = &fit->fit.predicted[i];
		const double cells[] = { p->workers, p->time_s, p->low_s, p->high_s };

		for (size_t c = 0; c < 4; c++)
			sn_table_set_real(out, L_PREDICTED + 4 * i + c, cells[c]);
	}
}

/* The application has its row in any case, others where there is a law. */
static bool has_row(const struct sn_scaling_fit *fit)
{
	return fit->fit.model || fit->kind == SN_SCALING_APPLICATION;
}

/* Reasons differ in figures behind their colon. */
static bool is_alike(const struct sn_scaling_fit *a, const struct sn_scaling_fit *b)
{
	size_t length = strcspn(a->fit.reason, ":");

	return !has_row(b) && a->kind == b->kind && length == strcspn(b->fit.reason, ":") &&
	       !strncmp(a->fit.reason, b->fit.reason, length);
}

/* One row for all that have no law for the same reason, at the first of them. */
static void lawless_add(const struct sn_scaling *scaling, size_t first, struct sn_table *out)
{
	const struct sn_scaling_fit *fit = &scaling->fits.items[first];
	const char *kind = sn_scaling_kind_name(fit->kind);
	bool is_one_reason = true;
	size_t count = 0;

	for (size_t i = 0; i < scaling->fits.count; i++) {
		const struct sn_scaling_fit *other = &scaling->fits.items[i];

		if (!is_alike(fit, other))
			continue;
		if (i < first)
			return;
		count++;
		is_one_reason &= !strcmp(fit->fit.reason, other->fit.reason);
	}
	sn_table_add_row(out);
	sn_table_set_text(out, L_KIND, kind);
	sn_table_set_text(
		out, L_NAME,
		count == 1 ? fit->name
			   : sn_arena_printf(&out->arena, "%zu %ss without a law", count, kind));
	sn_table_set_text(out, L_LOOP, count == 1 ? fit->loop : NULL);
	sn_table_set_text(out, L_SERIES, count == 1 ? fit->series : NULL);
	sn_table_set_text(out, L_REASON,
			  is_one_reason ? fit->fit.reason
					: sn_arena_printf(&out->arena, "%.*s",
							  (int)strcspn(fit->fit.reason, ":"),
							  fit->fit.reason));
}

void sn_scaling_laws_table(const struct sn_scaling *scaling, struct sn_table *out)
{
	sn_table_init(out, law_columns, sizeof(law_columns) / sizeof(*law_columns));
	for (size_t i = 0; i < scaling->fits.count; i++)
		if (has_row(&scaling->fits.items[i]))
			law_add(&scaling->fits.items[i], out);
	for (size_t i = 0; i < scaling->fits.count; i++)
		if (!has_row(&scaling->fits.items[i]))
			lawless_add(scaling, i, out);
}
