/*
 * What a host's sources would have after some phases, as tables. The program is a region like any other: it
 * has what its outermost regions have, as a recorded run gives it.
 */
#include "search/simulate/scenario_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"

enum { ALL_HOSTS = SN_ALL };

struct making {
	const struct sn_scenario *s;
	const struct sn_library *library;
	uint32_t host;	 /* ALL_HOSTS: values of any host, unchanged */
	uint32_t phases; /* that are over; 0: all values, unchanged */
	json_t *metrics;
	struct sn_map covered; /* a value's keys -> phases in which it is given */
};

/* ---- sets ---- */

/* How many numbers below `most` a set has; all of them if there is none. */
static uint32_t set_count(const json_t *metric, const char *key, uint32_t most)
{
	const char *at = json_string_value(json_object_get(metric, key));
	uint32_t first, last, count = 0;

	if (!at)
		return most;
	while (*at && sn_scenario_set_next(&at, &first, &last))
		if (first < most)
			count += (last < most ? last + 1 : most) - first;
	return count;
}

static bool set_has(const json_t *metric, const char *key, uint32_t number)
{
	const char *at = json_string_value(json_object_get(metric, key));
	uint32_t first, last;
	bool has = !at;

	while (at && *at && sn_scenario_set_next(&at, &first, &last))
		has = has || (number >= first && number <= last);
	return has;
}

/* ---- metrics ---- */

static const struct sn_metric *metric_of(const struct sn_library *library, const json_t *metric)
{
	const char *name = json_string_value(json_object_get(metric, "metric"));

	return name ? sn_library_metric(library, name) : NULL;
}

/* A region's own time is not that of what is inside it. */
static bool is_exclusive(const char *metric)
{
	return !strcmp(metric, "own");
}

static uint64_t keys_hash(const json_t *metric)
{
	static const char *const keys[] = { "metric",  "level",	 "region", "data",
					    "process", "thread", "lock",   "file",
					    "peer",    "source", "hosts" };
	struct sn_text text = { 0 };
	uint64_t hash;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		char *value = json_dumps(json_object_get(metric, keys[i]),
					 JSON_ENCODE_ANY | JSON_COMPACT);

		sn_text_addf(&text, "%s|", value ? value : "");
		free(value);
	}
	hash = sn_hash_bytes(text.chars, text.length);
	sn_text_free(&text);
	return hash;
}

static void scale(json_t *metric, const char *key, double factor)
{
	const json_t *value = json_object_get(metric, key);

	if (json_is_number(value))
		json_object_set_new(metric, key, json_real(json_number_value(value) * factor));
}

/* From one phase to `phases` of them, in which it was given `count` times. */
static void phases_apply(struct making *m, json_t *metric, const json_t *given, uint32_t count)
{
	const struct sn_metric *declared = metric_of(m->library, metric);
	bool adds = !declared || declared->adds;
	const uint64_t *covered = sn_map_get(&m->covered, keys_hash(given));
	double share = covered && *covered ? count / (double)*covered : 1;

	scale(metric, "value", adds ? count : share);
	scale(metric, "samples", count);
	scale(metric, "error", adds ? sqrt(count) : share / sqrt(count));
}

static void member_renumber(const struct making *m, json_t *metric, const char *key)
{
	const json_t *given = json_object_get(metric, key), *id;
	const json_t *processes = json_object_get(m->s->root, "processes");
	size_t index;
	json_t *process;

	if (!given || json_is_null(given) || m->host == ALL_HOSTS)
		return;
	json_array_foreach(processes, index, process)
	{
		id = json_object_get(process, "process");
		if (!json_equal(id, given))
			continue;
		json_object_set_new(
			metric, key,
			json_integer((json_int_t)m->host * m->s->processes + (json_int_t)index));
		return;
	}
}

static bool is_program(const struct making *m, const json_t *id)
{
	return !id || json_is_null(id) ||
	       (json_is_string(id) && !strcmp(json_string_value(id), m->s->program));
}

/* Whether any value of the same metric and level is one of the program. */
static bool has_program_value(const struct making *m, const json_t *metric)
{
	size_t index;
	json_t *other;

	json_array_foreach(json_object_get(m->s->root, "metrics"), index,
			   other) if (json_equal(json_object_get(other, "metric"),
						 json_object_get(metric, "metric")) &&
				      json_equal(json_object_get(other, "level"),
						 json_object_get(metric, "level")) &&
				      is_program(m, json_object_get(other, "region"))) return true;
	return false;
}

static bool is_outermost(const struct making *m, const json_t *id)
{
	size_t index;
	json_t *region;

	json_array_foreach(
		json_object_get(m->s->root, "regions"), index,
		region) if (json_equal(json_object_get(region, "region"),
				       id)) return is_program(m, json_object_get(region, "parent"));
	return false;
}

/* A value of an outermost region is one of the program, too, unless the program has its own. */
static bool is_programs(const struct making *m, const json_t *metric)
{
	const struct sn_metric *declared = metric_of(m->library, metric);
	const json_t *region = json_object_get(metric, "region");

	if (!declared || !declared->adds || !(declared->keys & 1u << SN_KEY_REGION) ||
	    is_exclusive(declared->name))
		return false;
	if (!region || json_is_null(region))
		return true;
	return !is_program(m, region) && is_outermost(m, region) && !has_program_value(m, metric);
}

static void metric_add(struct making *m, const json_t *given)
{
	uint32_t count = m->phases ? set_count(given, "phases", m->phases) : 1;
	json_t *metric;

	if (m->host != ALL_HOSTS && m->phases && !set_has(given, "hosts", m->host))
		return;
	if (!count)
		return;
	metric = json_copy((json_t *)(uintptr_t)given);
	if (m->phases)
		phases_apply(m, metric, given, count);
	member_renumber(m, metric, "process");
	member_renumber(m, metric, "peer");
	json_array_append_new(m->metrics, metric);
}

static void covered_count(struct making *m)
{
	size_t index;
	json_t *metric;

	json_array_foreach(json_object_get(m->s->root, "metrics"), index, metric) if (m->phases) *
		sn_map_put(&m->covered, keys_hash(metric), NULL) +=
		set_count(metric, "phases", m->phases);
}

static json_t *metrics_make(struct making *m)
{
	size_t index, count;
	json_t *metric;

	m->metrics = json_array();
	covered_count(m);
	json_array_foreach(json_object_get(m->s->root, "metrics"), index, metric)
		metric_add(m, metric);
	count = json_array_size(m->metrics);
	for (index = 0; index < count; index++) {
		metric = json_array_get(m->metrics, index);
		if (!is_programs(m, metric))
			continue;
		metric = json_copy(metric);
		json_object_set_new(metric, "region", json_string(m->s->program));
		json_array_append_new(m->metrics, metric);
	}
	sn_map_free(&m->covered);
	return m->metrics;
}

/* ---- members ---- */

/* The program first; what has no parent hangs on it. */
static json_t *regions_make(const struct sn_scenario *s)
{
	json_t *regions = json_array(), *region, *program = NULL;
	size_t index;

	json_array_foreach(json_object_get(s->root, "regions"), index, region)
	{
		json_t *copy = json_copy(region);
		const json_t *parent = json_object_get(copy, "parent");
		const char *id = json_string_value(json_object_get(copy, "region"));

		if (id && !strcmp(id, s->program)) {
			json_object_del(copy, "parent");
			program = copy;
			continue;
		}
		if (!parent || json_is_null(parent))
			json_object_set_new(copy, "parent", json_string(s->program));
		if (!json_object_get(copy, "kind"))
			json_object_set_new(copy, "kind", json_string("function"));
		json_array_append_new(regions, copy);
	}
	if (!program)
		program = json_pack("{s:s,s:s,s:s}", "region", s->program, "kind", "program",
				    "name", "program");
	json_array_insert_new(regions, 0, program);
	return regions;
}

static void processes_add(const struct sn_scenario *s, uint32_t host, json_t *out)
{
	const json_t *processes = json_object_get(s->root, "processes");

	for (uint32_t i = 0; i < s->processes; i++) {
		json_t *given = json_array_get(processes, i);
		json_t *copy = given ? json_copy(given) : json_object();

		json_object_set_new(copy, "process",
				    json_integer((json_int_t)host * s->processes + i));
		json_array_append_new(out, copy);
	}
}

static json_t *root_make(const struct making *m, json_t *processes, json_t *metrics)
{
	static const char *const same[] = { "data", "locks", "files" };
	const uint32_t phases = m->phases ? m->phases : 1;
	json_t *root = json_object();

	json_object_set_new(root, "schema", json_string("sonde.tables/1"));
	json_object_set_new(root, "phase_s", json_real(m->s->phase_s * phases));
	json_object_set_new(root, "regions", regions_make(m->s));
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		json_object_set(root, same[i], json_object_get(m->s->root, same[i]));
	json_object_set_new(root, "processes", processes);
	json_object_set_new(root, "metrics", metrics);
	return root;
}

static sn_status tables_of(const struct sn_scenario *s, json_t *root, struct sn_tables **out,
			   struct sn_error *err)
{
	char *text = json_dumps(root, JSON_COMPACT);
	sn_status status =
		sn_tables_read_memory(s->name, text ? text : "", text ? strlen(text) : 0, out, err);

	free(text);
	json_decref(root);
	return status;
}

/* ---- all ---- */

static struct sn_recorded *recorded_of(const struct sn_library *library, struct sn_tables *tables)
{
	SN_VEC(struct sn_time_column) columns = { 0 };
	struct sn_recorded *recorded;

	for (size_t f = 0; f < library->files.count; f++)
		for (size_t i = 0; i < library->files.items[f]->metrics.count; i++) {
			const struct sn_metric *metric = library->files.items[f]->metrics.items[i];
			uint32_t column = sn_tables_find_column(tables, metric->name, NULL);

			if (column != SN_ALL && metric->keys & 1u << SN_KEY_REGION &&
			    metric->unit.seconds == 1 && !metric->unit.bytes &&
			    !metric->unit.samples)
				sn_vec_push(&columns, (struct sn_time_column){
							      column, is_exclusive(metric->name) });
		}
	recorded = sn_recorded_of_tables(tables, columns.items, columns.count);
	sn_vec_free(&columns);
	return recorded;
}

/* What is not a list is left for the reader of tables to say. */
sn_status sn_scenario_tables_check(const struct sn_scenario *s, const struct sn_library *library,
				   struct sn_error *err)
{
	struct making m = { .s = s, .library = library };
	const json_t *metrics = json_object_get(s->root, "metrics");
	const json_t *processes = json_object_get(s->root, "processes");
	struct sn_tables *tables = NULL;
	json_t *own;
	sn_status status;

	if (metrics && !json_is_array(metrics))
		return sn_error_set(err, SN_ERR_FORMAT, "scenario: '%s': \"metrics\" is no list",
				    s->path);
	if (processes && !json_is_array(processes))
		return sn_error_set(err, SN_ERR_FORMAT, "scenario: '%s': \"processes\" is no list",
				    s->path);
	/* with the ids that the user gave */
	own = json_array_size(processes) ? json_deep_copy(processes) : json_array();
	m.host = ALL_HOSTS;
	status = tables_of(
		s,
		root_make(&m, own,
			  metrics ? json_copy((json_t *)(uintptr_t)metrics) : json_array()),
		&tables, err);
	sn_tables_free(tables);
	return status;
}

struct sn_recorded *sn_scenario_of_host(const struct sn_scenario *s,
					const struct sn_library *library, uint32_t host,
					uint32_t phases)
{
	struct making m = { .s = s, .library = library, .host = host, .phases = phases };
	json_t *processes = json_array();
	struct sn_tables *tables = NULL;
	struct sn_error err;

	processes_add(s, host, processes);
	if (tables_of(s, root_make(&m, processes, metrics_make(&m)), &tables, &err) != SN_OK)
		return NULL;
	return recorded_of(library, tables);
}

struct sn_recorded *sn_scenario_of_all(const struct sn_scenario *s,
				       const struct sn_library *library)
{
	struct making m = { .s = s, .library = library, .host = ALL_HOSTS };
	json_t *processes = json_array(), *metrics = metrics_make(&m), *metric;
	struct sn_tables *tables = NULL;
	struct sn_error err;
	size_t index;

	for (uint32_t host = 0; host < s->hosts; host++)
		processes_add(s, host, processes);
	json_array_foreach(metrics, index, metric)
	{
		json_object_del(metric, "process");
		json_object_del(metric, "thread");
		json_object_del(metric, "peer");
	}
	if (tables_of(s, root_make(&m, processes, metrics), &tables, &err) != SN_OK)
		return NULL;
	return recorded_of(library, tables);
}
