/* The phases of a report's page: docs/format/page-phases.md. */
#include "phases/phases.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/json.h"
#include "report/html/html_parts.h"

enum { PROFILE_ROWS = 20 };

struct writer {
	struct sn_json *json;
	const struct sn_phases *phases;
	const struct sn_report *report;
	const struct sn_program *program;
};

static void index_write(const struct writer *w, const char *key, uint32_t index)
{
	sn_json_key(w->json, key);
	if (index == SN_NONE)
		sn_json_null(w->json);
	else
		sn_json_uint(w->json, index);
}

static uint32_t function_index(const struct writer *w, uint32_t function)
{
	return w->report->function_of[function];
}

static void site_write(const struct writer *w, const struct sn_phase_site *site)
{
	struct sn_json *json = w->json;
	bool has_loop = site->loop != SN_NONE;

	sn_json_object(json);
	sn_json_member_uint(json, "heartbeat", site->heartbeat);
	index_write(w, "function", function_index(w, site->function));
	index_write(w, "loop", has_loop ? w->report->loop_of[site->loop] : SN_NONE);
	sn_json_member_string(json, "name", w->program->functions.items[site->function].name);
	sn_json_member_string(json, "label",
			      has_loop ? w->program->loops.items[site->loop].code->label : NULL);
	sn_json_member_string(json, "type", sn_site_type_name(site->type));
	sn_json_member_bool(json, "alternative", site->is_alternative);
	sn_json_member_double(json, "phase_share", site->phase_share);
	sn_json_member_double(json, "app_share", site->app_share);
	sn_pace_write(&site->pace, json);
	sn_json_close(json);
}

static void profile_write(const struct writer *w, const struct sn_phase *phase)
{
	struct sn_json *json = w->json;

	sn_json_key(json, "profile");
	sn_json_array(json);
	for (size_t i = 0; i < phase->profile.count && i < PROFILE_ROWS; i++) {
		uint32_t function = function_index(w, phase->profile.items[i].function);

		if (function == SN_NONE)
			continue;
		sn_json_array(json);
		sn_json_uint(json, function);
		sn_json_double(json, phase->profile.items[i].share);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void phase_write(const struct writer *w, const struct sn_phase *phase)
{
	struct sn_json *json = w->json;

	sn_json_object(json);
	sn_json_member_uint(json, "phase", phase->number);
	sn_json_member_string(json, "name", phase->name);
	sn_json_member_double(json, "share", phase->share);
	sn_json_member_uint(json, "interval_count", phase->interval_count);
	sn_json_member_uint(json, "cpu_ns", phase->user_ns + phase->system_ns);
	sn_json_member_uint(json, "system_ns", phase->system_ns);
	sn_json_member_uint(json, "blocked_ns", phase->blocked_ns);
	sn_json_key(json, "sites");
	sn_json_array(json);
	for (size_t i = 0; i < phase->sites.count; i++)
		site_write(w, &phase->sites.items[i]);
	sn_json_close(json);
	profile_write(w, phase);
	sn_json_close(json);
}

/* Phase, count, phase, count: from row `from` on as long as the process is the same. */
static size_t runs_write(const struct writer *w, size_t from)
{
	const struct sn_interval_row *rows = w->phases->intervals->rows.items;
	size_t r = from, count = w->phases->intervals->row_count;

	while (r < count && rows[r].process == rows[from].process) {
		uint32_t phase = w->phases->phase_of[r];
		uint64_t length = 0;

		while (r < count && rows[r].process == rows[from].process &&
		       w->phases->phase_of[r] == phase) {
			length++;
			r++;
		}
		sn_json_int(w->json, phase == SN_NONE ? -1 : (int64_t)phase);
		sn_json_uint(w->json, length);
	}
	return r;
}

static void ribbons_write(const struct writer *w)
{
	const struct sn_intervals *intervals = w->phases->intervals;

	sn_json_key(w->json, "ribbons");
	sn_json_array(w->json);
	for (size_t r = 0; r < intervals->row_count;) {
		sn_json_object(w->json);
		sn_json_member_uint(w->json, "process", intervals->rows.items[r].process);
		sn_json_member_uint(w->json, "first", intervals->rows.items[r].number);
		sn_json_key(w->json, "runs");
		sn_json_array(w->json);
		r = runs_write(w, r);
		sn_json_close(w->json);
		sn_json_close(w->json);
	}
	sn_json_close(w->json);
}

static void cycles_write(const struct writer *w)
{
	sn_json_key(w->json, "cyclic");
	sn_json_array(w->json);
	for (size_t i = 0; i < w->phases->cycles.count; i++) {
		const struct sn_phase_cycle *cycle = &w->phases->cycles.items[i];

		if (cycle->kind != SN_CYCLE_PART)
			continue;
		sn_json_object(w->json);
		index_write(w, "owner", function_index(w, cycle->owner));
		sn_json_member_string(w->json, "owner_name",
				      w->program->functions.items[cycle->owner].name);
		index_write(w, "function", function_index(w, cycle->function));
		sn_json_member_string(w->json, "name",
				      w->program->functions.items[cycle->function].name);
		index_write(w, "phase", cycle->phase);
		sn_json_key(w->json, "calls");
		if (cycle->calls)
			sn_json_uint(w->json, cycle->calls);
		else
			sn_json_null(w->json);
		sn_json_member_double(w->json, "share", cycle->share);
		sn_json_member_double(w->json, "mean_ns", cycle->mean_ns);
		sn_json_close(w->json);
	}
	sn_json_close(w->json);
}

static void model_write(const struct writer *w)
{
	const struct sn_phases *p = w->phases;
	struct sn_json *json = w->json;

	sn_json_member_string(json, "schema", "sonde.page-phases/1");
	sn_json_member_int(json, "interval_ns", p->intervals->interval_ns);
	sn_json_member_string(json, "method", sn_phase_method_name(p->options.choose.method));
	sn_json_member_uint(json, "k_clusters", p->choice->k);
	sn_json_member_string(json, "sites_method", sn_sites_method_name(p->options.sites));
	sn_json_member_string(json, "calls", sn_calls_source_name(p->activity->calls_source));
	sn_json_key(json, "warnings");
	sn_json_array(json);
	for (size_t i = 0; i < p->warnings.count; i++)
		sn_json_string(json, p->warnings.items[i]);
	sn_json_close(json);
	sn_json_key(json, "clustering");
	sn_json_array(json);
	for (size_t i = 0; i < p->choice->rows.count; i++) {
		sn_json_object(json);
		sn_json_member_uint(json, "k", p->choice->rows.items[i].k);
		sn_json_member_double(json, "inertia", p->choice->rows.items[i].inertia);
		sn_json_member_double(json, "silhouette", p->choice->rows.items[i].silhouette);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void phases_write(const struct writer *w)
{
	sn_json_object(w->json);
	model_write(w);
	sn_json_key(w->json, "phases");
	sn_json_array(w->json);
	for (size_t i = 0; i < w->phases->phases.count; i++)
		phase_write(w, &w->phases->phases.items[i]);
	sn_json_close(w->json);
	ribbons_write(w);
	cycles_write(w);
	sn_json_close(w->json);
}

void sn_report_write_phases(const struct sn_report *report, struct sn_page *page)
{
	char *chars = NULL;
	size_t length = 0;
	FILE *memory;
	struct sn_json json = { 0 };
	struct writer w = { .json = &json, .report = report, .phases = report->phases };

	if (!report->phases)
		return; /* nothing to find them in: no section */
	memory = open_memstream(&chars, &length);
	if (!memory)
		sn_out_of_memory(4096);
	json.out = memory;
	w.program = report->profile->program;
	phases_write(&w);
	fclose(memory);
	sn_page_add_json(page, "phases", chars);
	free(chars);
}
