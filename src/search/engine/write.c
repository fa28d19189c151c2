/* The result as JSON: schema sonde.search/1. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "search/engine/parts.h"
#include "search/properties/write.h"

static const struct sn_member *data_of(const struct sn_search *s, const struct sn_finding *f)
{
	return f->what.data == SN_ALL
		       ? NULL
		       : &s->recorded->tables->members[SN_KEY_DATA].items[f->what.data];
}

static void line_write(struct sn_json *json, const char *key, uint32_t line)
{
	if (line)
		sn_json_member_uint(json, key, line);
	else
		sn_json_member_null(json, key);
}

double sn_finding_low(const struct sn_finding *f)
{
	return fmax(0, f->severity * f->confidence);
}

double sn_finding_high(const struct sn_search *s, const struct sn_finding *f)
{
	double high = f->severity * (2 - f->confidence);

	return sn_finding_unit(s, f) == SN_SEVERITY_RATE ? high : fmin(1, high);
}

bool sn_finding_may_be_nothing(const struct sn_finding *f)
{
	return !(sn_finding_low(f) > 0);
}

/* ---- processes and threads ---- */

static void set_write(const struct sn_finding *f, enum sn_key key, struct sn_json *json,
		      const char *name)
{
	struct sn_text text = { 0 };

	sn_search_who_print(f, key, &text);
	sn_json_member_string(json, name, text.chars);
	sn_text_free(&text);
}

static int members_compare(const void *left, const void *right)
{
	const struct sn_finding_member *a = left, *b = right;

	if (a->severity != b->severity)
		return a->severity < b->severity ? -1 : 1;
	return (a->process > b->process) - (a->process < b->process);
}

struct sn_finding_member *sn_search_members_sorted(const struct sn_finding *f)
{
	struct sn_finding_member *sorted = sn_alloc_zeroed(f->members.count + 1, sizeof(*sorted));

	memcpy(sorted, f->members.items, f->members.count * sizeof(*sorted));
	qsort(sorted, f->members.count, sizeof(*sorted), members_compare);
	return sorted;
}

static void class_write(const struct sn_recorded *recorded, const struct sn_finding_member *members,
			size_t count, struct sn_json *json)
{
	uint32_t *indices = sn_alloc_zeroed(count + 1, sizeof(*indices));
	struct sn_text text = { 0 };
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		indices[i] = members[i].process;
		sum += members[i].severity;
	}
	sn_search_set_print(recorded->tables->members[SN_KEY_PROCESS].items, indices, count, &text);
	sn_json_object(json);
	sn_json_member_string(json, "processes", text.chars);
	sn_json_member_uint(json, "count", count);
	sn_json_member_double(json, "mean", sum / (double)count);
	sn_json_member_double(json, "min", members[0].severity);
	sn_json_member_double(json, "max", members[count - 1].severity);
	sn_json_close(json);
	sn_text_free(&text);
	free(indices);
}

static void classes_write(const struct sn_finding *f, struct sn_json *json)
{
	size_t count = f->members.count, firsts[SN_CLASSES_MAX], classes;
	struct sn_finding_member *sorted = sn_search_members_sorted(f);
	double *severities = sn_alloc_zeroed(count, sizeof(*severities));

	for (size_t i = 0; i < count; i++)
		severities[i] = sorted[i].severity;
	classes = sn_search_classes(severities, count, firsts);
	sn_json_member_uint(json, "members", count);
	sn_json_member_double(json, "severity_min", sorted[0].severity);
	sn_json_member_double(json, "severity_max", sorted[count - 1].severity);
	sn_json_key(json, "classes");
	sn_json_array(json);
	for (size_t c = 0; c < classes; c++) {
		size_t end = c + 1 < classes ? firsts[c + 1] : count;

		class_write(f->recorded, sorted + firsts[c], end - firsts[c], json);
	}
	sn_json_close(json);
	free(sorted);
	free(severities);
}

/* ---- rows ---- */

/* The sources of the values that a property asks for. */
static void sources_write(const struct sn_recorded *recorded, const struct sn_property *property,
			  struct sn_json *json)
{
	const struct sn_tables *t = recorded->tables;
	struct sn_map seen = { 0 };

	sn_json_key(json, "sources");
	sn_json_array(json);
	for (size_t r = 0; r < property->requests.count; r++) {
		const struct sn_prop_request *request = &property->requests.items[r];
		uint32_t column = sn_tables_find_column(t, request->metric->name, request->level);

		for (size_t i = 0; i < t->values.count && column != SN_ALL; i++) {
			bool is_new = false;

			if (t->values.items[i].column == column)
				sn_map_put(&seen, t->values.items[i].source, &is_new);
			if (is_new)
				sn_json_string(json, sn_interned_chars(&t->names,
								       t->values.items[i].source));
		}
	}
	sn_json_close(json);
	sn_map_free(&seen);
}

static void path_write(const struct sn_search *s, const struct sn_finding *f, struct sn_json *json)
{
	size_t count = 0;
	uint32_t *path =
		f->what.region == SN_ALL ? NULL : sn_search_path(s, f->what.region, &count);

	sn_json_key(json, "path");
	sn_json_array(json);
	for (size_t i = 0; i < count; i++) {
		const struct sn_member *region =
			&s->recorded->tables->members[SN_KEY_REGION].items[path[i]];

		sn_json_object(json);
		sn_json_member_string(json, "kind", region->kind);
		sn_json_member_string(json, "name", region->name);
		sn_json_member_string(json, "file", region->file);
		line_write(json, "line", region->line_first);
		sn_json_member_double(
			json, "severity",
			sn_search_severity_at(s, f->what.property, path[i], f->what.data));
		sn_json_close(json);
	}
	sn_json_close(json);
	free(path);
}

static void place_write(const struct sn_search *s, const struct sn_finding *f, struct sn_json *json)
{
	const struct sn_member *region = sn_finding_region(s, f), *data = data_of(s, f);

	sn_json_member_string(json, "region_kind", region ? region->kind : NULL);
	sn_json_member_string(json, "region", region ? region->id : NULL);
	sn_json_member_string(json, "function", region ? region->function : NULL);
	sn_json_member_string(json, "file", region ? region->file : NULL);
	line_write(json, "line_first", region ? region->line_first : 0);
	line_write(json, "line_last", region ? region->line_last : 0);
	sn_json_member_string(json, "data", data ? data->name ? data->name : data->id : NULL);
	sn_json_member_string(json, "data_file", data ? data->file : NULL);
	line_write(json, "data_line", data ? data->line_first : 0);
}

static void row_write(const struct sn_search *s, const struct sn_finding *f, struct sn_json *json)
{
	const struct sn_property *property = sn_finding_property(s, f);
	const char *source;
	double scale;

	sn_json_object(json);
	sn_json_member_string(json, "property", property->name);
	sn_json_member_double(json, "severity", f->severity);
	sn_json_member_string(json, "severity_unit", sn_severity_name(sn_finding_unit(s, f)));
	sn_json_member_double(json, "severity_low", sn_finding_low(f));
	sn_json_member_double(json, "severity_high", sn_finding_high(s, f));
	sn_json_member_double(json, "confidence", f->confidence);
	sn_json_member_string(json, "condition", f->condition);
	place_write(s, f, json);
	set_write(f, SN_KEY_PROCESS, json, "processes");
	set_write(f, SN_KEY_THREAD, json, "threads");
	classes_write(f, json);
	sn_json_key(json, "evidence");
	sn_json_object(json);
	for (size_t i = 0; i < property->evidence.count; i++) {
		sn_json_key(json, property->evidence.items[i].name);
		sn_prop_value_write(f->recorded->tables, property->evidence.items[i].expr->type,
				    f->evidence[i], json);
	}
	scale = sn_finding_start_scale(s, f, &source);
	if (scale > 0)
		sn_json_member_double(json, "further_start_scale", scale);
	sn_json_close(json);
	sources_write(f->recorded, property, json);
	sn_json_member_uint(json, "step", f->step);
	path_write(s, f, json);
	sn_json_member_bool(json, "refined", f->refined);
	sn_json_close(json);
}

/* ---- the rest ---- */

static void missing_write(const struct sn_search *s, const struct sn_not_measurable *missing,
			  struct sn_json *json)
{
	const struct sn_property *property = s->library->properties.items[missing->property];
	struct sn_text text = { 0 };

	sn_json_object(json);
	sn_json_member_string(json, "property", property->name);
	sn_json_member_string(json, "region",
			      sn_member_id(s->recorded->tables, SN_KEY_REGION, missing->region));
	sn_json_key(json, "needs");
	sn_json_array(json);
	for (size_t i = 0; i < missing->needs.count; i++) {
		sn_text_clear(&text);
		sn_prop_request_print(&property->requests.items[missing->needs.items[i]], &text);
		sn_json_string(json, text.chars);
	}
	sn_json_close(json);
	sn_text_clear(&text);
	sn_not_measurable_reason(s, missing, &text);
	sn_json_member_string(json, "reason", text.chars);
	sn_json_close(json);
	sn_text_free(&text);
}

static void steps_write(const struct sn_search *s, struct sn_json *json)
{
	sn_json_key(json, "steps");
	sn_json_array(json);
	for (size_t i = 0; i < s->steps.count; i++) {
		const struct sn_search_step *step = &s->steps.items[i];

		sn_json_object(json);
		sn_json_member_uint(json, "step", i + 1);
		sn_json_member_uint(json, "candidates", step->candidates);
		sn_json_member_uint(json, "proven", step->proven);
		sn_json_member_uint(json, "not_measurable", step->not_measurable);
		sn_json_member_uint(json, "executions", step->executions);
		sn_json_member_double(json, "elapsed_s", step->elapsed_s);
		sn_json_member_double(json, "overhead_share", step->overhead_share);
		sn_json_close(json);
	}
	sn_json_close(json);
}

/* A recorded run is one execution of its phase, itself; a restarted program is one each time. */
static void phase_write(const struct sn_search *s, struct sn_json *json)
{
	struct sn_text left_out = { 0 };
	const struct sn_member *program =
		&s->recorded->tables->members[SN_KEY_REGION].items[SN_REGION_PROGRAM];

	sn_json_key(json, "phase");
	sn_json_object(json);
	sn_json_member_string(json, "name", s->phase.name ? s->phase.name : program->name);
	sn_json_member_string(json, "file", s->phase.file);
	line_write(json, "line", s->phase.line);
	sn_json_member_uint(json, "executions", s->phase.executions);
	sn_json_member_double(json, "mean_s", s->phase.mean_s);
	sn_json_member_uint(json, "lanes", (uint64_t)sn_search_lanes(s->recorded->tables));
	sn_search_left_out_print(s, &left_out);
	if (left_out.chars)
		sn_json_member_string(json, "ranks_left_out", left_out.chars);
	sn_text_free(&left_out);
	sn_json_close(json);
}

static void counts_write(struct sn_json *json, const char *key, const char *const *names,
			 const uint64_t *values, size_t count)
{
	sn_json_key(json, key);
	sn_json_object(json);
	for (size_t i = 0; i < count; i++)
		sn_json_member_uint(json, names[i], values[i]);
	sn_json_close(json);
}

/* No agents are at work on a recorded run, nor on one that is restarted. */
static void agents_write(const struct sn_search *s, struct sn_json *json)
{
	static const char *const agents[] = { "hosts", "joined", "lost", "restarted", "refused" };
	static const char *const results[] = { "received", "repeated", "lost" };
	const uint64_t counts[] = { s->agents.hosts, s->agents.joined, s->agents.lost,
				    s->agents.restarted, s->agents.refused };
	const bool are_sent = s->results.received != 0;
	const uint64_t received[] = { are_sent ? s->results.received : s->findings.count,
				      s->results.repeated, s->results.lost };

	counts_write(json, "agents", agents, counts, 5);
	counts_write(json, "results", results, received, 3);
}

const char *sn_search_experiment_name(const struct sn_search *s)
{
	return s->recorded->profile ? s->recorded->profile->experiment->name
				    : s->options.experiment;
}

/* Files of properties with errors, which nothing was asked of; where there are none the key is not there. */
static void bad_files_write(const struct sn_search *s, struct sn_json *json)
{
	bool has_begun = false;

	for (size_t i = 0; i < s->library->files.count; i++) {
		const struct sn_prop_file *file = s->library->files.items[i];

		if (!file->diags.errors)
			continue;
		if (!has_begun) {
			sn_json_key(json, "bad_files");
			sn_json_array(json);
			has_begun = true;
		}
		sn_json_object(json);
		sn_json_member_string(json, "file", file->name);
		sn_json_member_uint(json, "errors", file->diags.errors);
		sn_json_close(json);
	}
	if (has_begun)
		sn_json_close(json);
}

/* Exit statuses above are of signals, by the shell's rule. */
static bool is_death(int exit_status)
{
	enum { SIGNALLED = 128 };

	return exit_status > SIGNALLED && exit_status < SIGNALLED + NSIG;
}

/* All agents came to their end, and the run was not cut short: that which is searched, and the last one. */
static bool is_complete(const struct sn_search *s)
{
	const struct sn_profile *profile = s->recorded->profile;

	return !(profile && (profile->experiment->is_salvaged ||
			     is_death(profile->experiment->exit_status))) &&
	       !is_death(s->exit_status) && !s->agents.lost && !s->is_partial;
}

void sn_search_write_json(const struct sn_search *s, FILE *out)
{
	const struct sn_profile *profile = s->recorded->profile;
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.search/1");
	sn_json_member_string(&json, "experiment", sn_search_experiment_name(s));
	sn_json_member_string(&json, "program",
			      profile ? sn_recorded_program(profile) : s->options.program);
	if (s->exit_status >= 0)
		sn_json_member_int(&json, "exit_status", s->exit_status);
	else
		sn_json_member_null(&json, "exit_status");
	sn_json_member_string(&json, "strategy", s->strategy->name);
	sn_json_member_string(&json, "mode", s->options.mode);
	sn_json_member_string(&json, "severity_unit", sn_severity_name(s->options.severity));
	phase_write(s, &json);
	steps_write(s, &json);
	sn_json_key(&json, "properties");
	sn_json_array(&json);
	for (size_t i = 0; i < s->findings.count; i++)
		if (!s->findings.items[i].is_left_out)
			row_write(s, &s->findings.items[i], &json);
	sn_json_close(&json);
	sn_json_key(&json, "not_measurable");
	sn_json_array(&json);
	for (size_t i = 0; i < s->not_measurable.count; i++)
		missing_write(s, &s->not_measurable.items[i], &json);
	sn_json_close(&json);
	bad_files_write(s, &json);
	agents_write(s, &json);
	sn_json_member_bool(&json, "complete", is_complete(s));
	sn_json_close(&json);
	sn_json_finish(&json);
}
