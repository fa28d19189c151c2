/*
 * What all views share: which columns a format has, a user's headings as keys, and setting the
 * cells that many views have.
 */
#include "views/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/companions.h"
#include "profile/rank.h"
#include "views/parts.h"

const struct sn_view *sn_view_find(const char *name)
{
	for (const struct sn_view *const *view = sn_views; *view; view++)
		if (!strcmp((*view)->name, name))
			return *view;
	return NULL;
}

bool sn_view_list_has(const char *list, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = list; at && *at;) {
		size_t next = strcspn(at, ",");

		if (next == length && !strncmp(at, key, length))
			return true;
		at += next + (at[next] == ',');
	}
	return false;
}

bool sn_view_is_of_whole_run(const struct sn_view *view)
{
	return view->needs &
	       (SN_VIEW_NEEDS_A_TRACE | SN_VIEW_NEEDS_CAUSAL | SN_VIEW_NEEDS_VARIANTS);
}

void sn_view_take_run(const struct sn_view *view, struct sn_view_input *input)
{
	if (view->needs & SN_VIEW_NEEDS_WINDOWS)
		input->profile = sn_profile_with_accesses(input->profile, &input->structures);
}

bool sn_view_is_composed(const struct sn_view *view, const char *key)
{
	return sn_view_list_has("mark,interval,heat,source,path,nest", key)
		       ? strcmp(key, "path") != 0 || !sn_view_list_has(view->data_columns, key)
		       : view->names_are_indented && !strcmp(key, "name");
}

char *sn_view_data_columns(const struct sn_view *view, enum sn_time_kind time)
{
	struct sn_text text = { 0 };

	if (!view->data_columns)
		return NULL;
	sn_text_add(&text, view->data_columns);
	for (size_t c = 0; time == SN_TIME_WALL && c < view->column_count; c++) {
		const char *key = view->columns[c].key;

		if (!sn_view_list_has(view->data_columns, key) && !sn_view_is_composed(view, key) &&
		    (strstr(key, "_wall_") || sn_view_list_has(view->wall_columns, key)))
			sn_text_addf(&text, ",%s", key);
	}
	return sn_text_take(&text);
}

char *sn_view_event_columns(const char *columns)
{
	static const struct {
		const char *of_time, *of_events;
	} pairs[] = {
		{ "exclusive_cpu_s", "exclusive" }, { "inclusive_cpu_s", "inclusive" },
		{ "exclusive_share_low", NULL },    { "exclusive_share_high", NULL },
		{ "inclusive_share_low", NULL },    { "inclusive_share_high", NULL },
		{ "exclusive_system_s", NULL },	    { "interval", NULL },
	};
	struct sn_text text = { 0 };

	for (const char *at = columns; *at;) {
		size_t length = strcspn(at, ",");
		struct sn_text key = { 0 };
		const char *kept;

		sn_text_add_bytes(&key, at, length);
		kept = key.chars;
		for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
			if (key.chars && !strcmp(key.chars, pairs[i].of_time))
				kept = pairs[i].of_events;
		if (kept)
			sn_text_addf(&text, "%s%s", text.length ? "," : "", kept);
		sn_text_free(&key);
		at += length + (at[length] == ',');
	}
	return sn_text_take(&text);
}

/* The key of a column asked for by key or heading; NULL: neither. */
static const char *column_key(const struct sn_view *view, const char *asked, size_t length)
{
	const char *key = NULL;

	for (size_t c = 0; c < view->column_count; c++) {
		const struct sn_column *column = &view->columns[c];

		if (strlen(column->key) == length && !strncmp(column->key, asked, length))
			return column->key;
		if (!key && column->title && length && strlen(column->title) == length &&
		    !strncasecmp(column->title, asked, length))
			key = column->key;
	}
	return key;
}

char *sn_view_columns_of(const struct sn_view *view, const char *asked)
{
	struct sn_text text = { 0 };

	for (const char *at = asked; *at;) {
		size_t sign = *at == '-', length = strcspn(at, ",");
		const char *key = column_key(view, at + sign, length - sign);

		sn_text_addf(&text, "%s%s", at > asked ? "," : "", sign ? "-" : "");
		if (key)
			sn_text_add(&text, key);
		else
			sn_text_add_bytes(&text, at + sign, length - sign);
		at += length + (at[length] == ',');
	}
	sn_text_add(&text, "");
	return text.chars ? sn_text_take(&text) : sn_strdup("");
}

bool sn_weight_is_empty(const struct sn_weight *weight)
{
	return !weight->cpu_ns && !weight->samples && !weight->waits;
}

bool sn_view_is_empty(const struct sn_view_input *input, const struct sn_weight *weight)
{
	return !weight->cpu_ns && !weight->samples &&
	       (input->time == SN_TIME_CPU || !weight->waits);
}

void sn_view_set_line(struct sn_table *table, size_t column, uint32_t line)
{
	if (line)
		sn_table_set_int(table, column, line);
}

void sn_view_set_site(struct sn_table *table, const struct sn_site_columns *columns,
		      const struct sn_program *program, struct sn_site site)
{
	const struct sn_program_function *function;
	struct sn_text text = { 0 };

	sn_site_add_name(program, site, &text);
	sn_table_set_text(table, columns->site, text.chars);
	sn_text_free(&text);
	if (site.function == SN_NONE)
		return;
	function = &program->functions.items[site.function];
	sn_table_set_text(table, columns->function, function->name);
	sn_table_set_text(table, columns->module,
			  sn_program_module_name(program, function->module));
	if (site.line != SN_NONE && site.line < program->lines.count &&
	    program->lines.items[site.line].file) {
		sn_table_set_text(table, columns->file, program->lines.items[site.line].file);
		sn_view_set_line(table, columns->line, program->lines.items[site.line].line);
	}
}

void sn_view_set_source(struct sn_table *table, size_t column, const char *file, uint32_t line)
{
	struct sn_text text = { 0 };

	if (!file)
		return;
	sn_text_add(&text, sn_base_name(file));
	if (line)
		sn_text_addf(&text, ":%u", line);
	sn_table_set_text(table, column, text.chars);
	sn_text_free(&text);
}

static void interval_set(struct sn_table *table, size_t column, struct sn_interval interval)
{
	char text[48];

	snprintf(text, sizeof(text), "%.1f-%.1f %%", 100 * interval.low, 100 * interval.high);
	sn_table_set_text(table, column, text);
}

void sn_view_set_metrics(const struct sn_view_input *input, struct sn_table *table, size_t first,
			 const struct sn_metrics *m)
{
	static const char *const words[] = { "good", "fair", "poor" };
	const struct sn_weight *total = &input->profile->total;
	uint64_t cpu = total->cpu_ns, wall = cpu + total->wait_ns;
	enum sn_quality quality = sn_quality_of(m->exclusive.samples);

	if (input->event) {
		sn_table_set_int(table, first + M_EXCLUSIVE, (int64_t)m->exclusive.cpu_ns);
		sn_table_set_int(table, first + M_INCLUSIVE, (int64_t)m->inclusive.cpu_ns);
		sn_table_set_real(table, first + M_EXCLUSIVE_SHARE,
				  sn_share(m->exclusive.cpu_ns, cpu));
		sn_table_set_real(table, first + M_INCLUSIVE_SHARE,
				  sn_share(m->inclusive.cpu_ns, cpu));
		sn_table_set_int(table, first + M_SAMPLES, (int64_t)m->exclusive.samples);
		sn_table_set_int(table, first + M_THREADS, m->spread.threads);
		sn_table_set_real(table, first + M_DEVIATION, m->spread.deviation);
		sn_table_set_text(table, first + M_QUALITY, words[quality]);
		sn_table_set_text(table, first + M_MARK, sn_quality_mark(quality, input->is_utf8));
		return;
	}
	sn_table_set_real(table, first + M_EXCLUSIVE_CPU, (double)m->exclusive.cpu_ns / 1e9);
	sn_table_set_real(table, first + M_INCLUSIVE_CPU, (double)m->inclusive.cpu_ns / 1e9);
	sn_table_set_real(table, first + M_EXCLUSIVE_SHARE, sn_share(m->exclusive.cpu_ns, cpu));
	sn_table_set_real(table, first + M_INCLUSIVE_SHARE, sn_share(m->inclusive.cpu_ns, cpu));
	sn_table_set_int(table, first + M_SAMPLES, (int64_t)m->exclusive.samples);
	if (cpu) {
		sn_table_set_real(table, first + M_EXCLUSIVE_LOW, m->exclusive_share.low);
		sn_table_set_real(table, first + M_EXCLUSIVE_HIGH, m->exclusive_share.high);
		sn_table_set_real(table, first + M_INCLUSIVE_LOW, m->inclusive_share.low);
		sn_table_set_real(table, first + M_INCLUSIVE_HIGH, m->inclusive_share.high);
		interval_set(table, first + M_INTERVAL, m->exclusive_share);
	}
	sn_table_set_real(table, first + M_SYSTEM, (double)m->exclusive.system_ns / 1e9);
	sn_table_set_int(table, first + M_THREADS, m->spread.threads);
	sn_table_set_real(table, first + M_DEVIATION, m->spread.deviation);
	sn_table_set_real(table, first + M_MAX_THREAD, (double)m->spread.max_ns / 1e9);
	sn_table_set_real(table, first + M_EXCLUSIVE_WALL,
			  (double)sn_weight_time(&m->exclusive, SN_TIME_WALL) / 1e9);
	sn_table_set_real(table, first + M_INCLUSIVE_WALL,
			  (double)sn_weight_time(&m->inclusive, SN_TIME_WALL) / 1e9);
	sn_table_set_real(table, first + M_EXCLUSIVE_WALL_SHARE,
			  sn_share(sn_weight_time(&m->exclusive, SN_TIME_WALL), wall));
	sn_table_set_real(table, first + M_INCLUSIVE_WALL_SHARE,
			  sn_share(sn_weight_time(&m->inclusive, SN_TIME_WALL), wall));
	sn_table_set_text(table, first + M_QUALITY, words[quality]);
	sn_table_set_text(table, first + M_MARK, sn_quality_mark(quality, input->is_utf8));
}
