/*
 * Reads sonde.tables/1: one JSON object with the members and the values of metrics on them.
 */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/file.h"
#include "search/database/tables.h"

struct reading {
	struct sn_tables *tables;
	const char *name; /* of the file */
	struct sn_error *err;
};

enum { ID_ROOM = 32 };

__attribute__((format(printf, 2, 3))) static sn_status fail(struct reading *r, const char *format,
							    ...)
{
	char sentence[512];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	return sn_error_set(r->err, SN_ERR_FORMAT, "properties: '%s': %s", r->name, sentence);
}

/* An id is a string or a whole number; NULL: neither. */
static const char *id_of(const json_t *value, char room[ID_ROOM])
{
	if (json_is_string(value))
		return json_string_value(value);
	if (!json_is_integer(value))
		return NULL;
	snprintf(room, ID_ROOM, "%lld", (long long)json_integer_value(value));
	return room;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static uint32_t line_of(const json_t *object, const char *key)
{
	long long line = json_integer_value(json_object_get(object, key));

	return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

/* A number that may be absent or null: NaN. */
static sn_status number_read(struct reading *r, const json_t *object, const char *key, size_t at,
			     double *out)
{
	const json_t *value = json_object_get(object, key);

	*out = json_is_number(value) ? json_number_value(value) : NAN;
	if (!value || json_is_null(value) || (json_is_number(value) && isfinite(*out)))
		return SN_OK;
	return fail(r, "\"%s\" of metrics[%zu] is no number", key, at);
}

/* ---- members ---- */

static sn_status member_add(struct reading *r, enum sn_key kind, const json_t *object, size_t at)
{
	const char *key = sn_key_name(kind);
	struct sn_member member = { .parent = SN_ALL, .bytes = NAN };
	char room[ID_ROOM];

	member.id = id_of(json_object_get(object, key), room);
	if (!member.id)
		return fail(r, "entry %zu of the %ss has no \"%s\" (a string or a whole number)",
			    at, key, key);
	if (sn_tables_member(r->tables, kind, SN_ALL, member.id) != SN_ALL)
		return fail(r, "%s '%s' is there twice", key, member.id);
	member.name = text_of(object, "name");
	member.kind = text_of(object, "kind");
	member.function = text_of(object, "function");
	member.file = text_of(object, "file");
	member.line_first =
		line_of(object, json_object_get(object, "line") ? "line" : "line_first");
	member.line_last = line_of(object, "line_last");
	if (json_is_number(json_object_get(object, "bytes")))
		member.bytes = json_number_value(json_object_get(object, "bytes"));
	sn_tables_add_member(r->tables, kind, &member);
	return SN_OK;
}

static sn_status members_read(struct reading *r, enum sn_key kind, const json_t *root,
			      const char *list)
{
	const json_t *array = json_object_get(root, list);
	size_t at;
	json_t *object;
	sn_status status = SN_OK;

	if (array && !json_is_array(array))
		return fail(r, "\"%s\" is no list", list);
	json_array_foreach(array, at, object)
	{
		status = member_add(r, kind, object, at);
		if (status != SN_OK)
			break;
	}
	return status;
}

/* Whether a region's parents lead to itself. */
static bool is_in_circle(const struct sn_tables *tables, uint32_t region)
{
	const sn_member_vec *regions = &tables->members[SN_KEY_REGION];
	uint32_t at = region;

	for (size_t i = 0; i <= regions->count; i++) {
		if (at == SN_ALL)
			return false;
		at = regions->items[at].parent;
	}
	return true;
}

static sn_status parents_read(struct reading *r, const json_t *root)
{
	sn_member_vec *regions = &r->tables->members[SN_KEY_REGION];
	size_t at;
	json_t *object;

	json_array_foreach(json_object_get(root, "regions"), at, object)
	{
		const json_t *parent = json_object_get(object, "parent");
		char room[ID_ROOM];
		const char *id = id_of(parent, room);

		if (!parent || json_is_null(parent))
			continue;
		regions->items[at].parent =
			id ? sn_tables_member(r->tables, SN_KEY_REGION, SN_ALL, id) : SN_ALL;
		if (regions->items[at].parent == SN_ALL)
			return fail(r, "the parent of region '%s' is no region of the file",
				    regions->items[at].id);
	}
	for (uint32_t i = 0; i < regions->count; i++)
		if (is_in_circle(r->tables, i))
			return fail(r, "region '%s' is inside itself", regions->items[i].id);
	return SN_OK;
}

static sn_status threads_read(struct reading *r, uint32_t process, const json_t *object)
{
	const json_t *threads = json_object_get(object, "threads");
	size_t at;
	json_t *value;

	json_array_foreach(threads, at, value)
	{
		struct sn_member thread = { .parent = process, .bytes = NAN };
		char room[ID_ROOM];

		thread.id = id_of(value, room);
		if (!thread.id)
			return fail(r, "a thread of process '%s' is no string and no whole number",
				    r->tables->members[SN_KEY_PROCESS].items[process].id);
		if (sn_tables_member(r->tables, SN_KEY_THREAD, process, thread.id) != SN_ALL)
			return fail(r, "thread '%s' of process '%s' is there twice", thread.id,
				    r->tables->members[SN_KEY_PROCESS].items[process].id);
		sn_tables_add_member(r->tables, SN_KEY_THREAD, &thread);
	}
	return SN_OK;
}

/* Tables without processes are those of one. */
static sn_status processes_read(struct reading *r, const json_t *root)
{
	const json_t *processes = json_object_get(root, "processes");
	const struct sn_member only = { .parent = SN_ALL, .bytes = NAN };
	size_t at;
	json_t *object;
	sn_status status = SN_OK;

	if (processes && !json_is_array(processes))
		return fail(r, "\"processes\" is no list");
	json_array_foreach(processes, at, object)
	{
		status = member_add(r, SN_KEY_PROCESS, object, at);
		if (status == SN_OK)
			status = threads_read(r, (uint32_t)at, object);
		if (status != SN_OK)
			return status;
	}
	if (!json_array_size(processes))
		sn_tables_add_member(r->tables, SN_KEY_PROCESS, &only);
	return SN_OK;
}

/* ---- values ---- */

static sn_status key_read(struct reading *r, const json_t *object, enum sn_key kind, size_t at,
			  struct sn_value *value)
{
	const json_t *given = json_object_get(object, sn_key_name(kind));
	char room[ID_ROOM];
	const char *id = id_of(given, room);

	value->keys[kind] = SN_ALL;
	if (!given || json_is_null(given) || kind == SN_KEY_THREAD)
		return SN_OK;
	if (id)
		value->keys[kind] = sn_tables_member(r->tables, kind, SN_ALL, id);
	if (value->keys[kind] == SN_ALL)
		return fail(r, "metrics[%zu] names a %s that the file does not have%s%s%s", at,
			    sn_key_name(kind), id ? ": '" : "", id ? id : "", id ? "'" : "");
	return SN_OK;
}

/* A thread is one of a process: without one, that of every process that has such a thread. */
static sn_status threads_add(struct reading *r, const json_t *object, size_t at,
			     struct sn_value *value)
{
	const sn_member_vec *processes = &r->tables->members[SN_KEY_PROCESS];
	const json_t *given = json_object_get(object, "thread");
	uint32_t only = value->keys[SN_KEY_PROCESS];
	char room[ID_ROOM];
	const char *id = id_of(given, room);
	bool is_found = false;

	if (!given || json_is_null(given)) {
		sn_tables_add(r->tables, value);
		return SN_OK;
	}
	for (uint32_t p = 0; id && p < processes->count; p++) {
		if (only != SN_ALL && p != only)
			continue;
		value->keys[SN_KEY_PROCESS] = p;
		value->keys[SN_KEY_THREAD] = sn_tables_member(r->tables, SN_KEY_THREAD, p, id);
		if (value->keys[SN_KEY_THREAD] == SN_ALL)
			continue;
		sn_tables_add(r->tables, value);
		is_found = true;
	}
	if (is_found)
		return SN_OK;
	return fail(r, "metrics[%zu] names a thread that no process has: '%s'", at, id ? id : "?");
}

static sn_status value_read(struct reading *r, const json_t *object, size_t at)
{
	const char *metric = text_of(object, "metric"), *source = text_of(object, "source");
	struct sn_value value = { 0 };
	sn_status status = SN_OK;

	if (!metric)
		return fail(r, "metrics[%zu] has no \"metric\"", at);
	value.column = sn_tables_column(r->tables, metric, text_of(object, "level"));
	value.source = sn_tables_source(r->tables, source ? source : "");
	for (int k = 0; k < SN_KEYS && status == SN_OK; k++)
		status = key_read(r, object, (enum sn_key)k, at, &value);
	if (status == SN_OK)
		status = number_read(r, object, "value", at, &value.value);
	if (status == SN_OK)
		status = number_read(r, object, "samples", at, &value.samples);
	if (status == SN_OK)
		status = number_read(r, object, "error", at, &value.error);
	if (status != SN_OK || isnan(value.value))
		return status; /* null: nothing is known */
	return threads_add(r, object, at, &value);
}

static sn_status values_read(struct reading *r, const json_t *root)
{
	const json_t *metrics = json_object_get(root, "metrics");
	size_t at;
	json_t *object;
	sn_status status = SN_OK;

	if (metrics && !json_is_array(metrics))
		return fail(r, "\"metrics\" is no list");
	json_array_foreach(metrics, at, object)
	{
		status = value_read(r, object, at);
		if (status != SN_OK)
			break;
	}
	return status;
}

static sn_status root_read(struct reading *r, const json_t *root)
{
	const char *schema = text_of(root, "schema");
	const json_t *phase = json_object_get(root, "phase_s");
	sn_status status;

	if (!schema || strcmp(schema, "sonde.tables/1") != 0)
		return fail(r, "its \"schema\" is not \"sonde.tables/1\"");
	if (phase && !json_is_null(phase) && !(json_number_value(phase) > 0))
		return fail(r, "\"phase_s\" is no number above 0");
	if (json_is_number(phase))
		r->tables->phase_s = json_number_value(phase);
	status = members_read(r, SN_KEY_REGION, root, "regions");
	if (status == SN_OK)
		status = parents_read(r, root);
	if (status == SN_OK)
		status = members_read(r, SN_KEY_DATA, root, "data");
	if (status == SN_OK)
		status = members_read(r, SN_KEY_LOCK, root, "locks");
	if (status == SN_OK)
		status = members_read(r, SN_KEY_FILE, root, "files");
	if (status == SN_OK)
		status = processes_read(r, root);
	return status == SN_OK ? values_read(r, root) : status;
}

sn_status sn_tables_read_memory(const char *name, const char *bytes, size_t length,
				struct sn_tables **out, struct sn_error *err)
{
	struct reading r = { .name = name, .err = err };
	json_error_t fault;
	json_t *root = json_loadb(length ? bytes : "", length, 0, &fault);
	sn_status status;

	if (!root)
		return fail(&r, "no JSON: %s (line %d, column %d)", fault.text, fault.line,
			    fault.column);
	r.tables = sn_tables_new();
	status = root_read(&r, root);
	json_decref(root);
	if (status == SN_OK)
		*out = r.tables;
	else
		sn_tables_free(r.tables);
	return status;
}

sn_status sn_tables_read(const char *path, struct sn_tables **out, struct sn_error *err)
{
	struct sn_file_view view;
	sn_status status = sn_file_map(path, &view, err);

	if (status != SN_OK)
		return status;
	status = sn_tables_read_memory(path, (const char *)view.bytes, view.length, out, err);
	sn_file_unmap(&view);
	return status;
}
