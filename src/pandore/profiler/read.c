/*
 * Reads a profile (JSON), which may come from anywhere: numbers of nodes, phases and zones are
 * checked before they are used.
 */
#include "pandore/profiler/comm.h"

#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

enum { NODES_MAX = 1024 };

struct reading {
	struct sn_comm_profile *profile;
	bool failed;
	const char *key; /* that was missing or wrong */
};

static int64_t integer_of(struct reading *r, const json_t *object, const char *key, int64_t lowest,
			  int64_t highest)
{
	const json_t *value = json_object_get(object, key);
	int64_t number = json_is_integer(value) ? json_integer_value(value) : lowest;

	if (!json_is_integer(value) || number < lowest || number > highest) {
		r->failed = true;
		r->key = key;
		return lowest;
	}
	return number;
}

static double seconds_of(struct reading *r, const json_t *object, const char *key)
{
	return (double)integer_of(r, object, key, 0, INT64_MAX) * 1e-9;
}

static const char *string_of(struct reading *r, const json_t *object, const char *key)
{
	const char *chars = json_string_value(json_object_get(object, key));

	if (!chars) {
		r->failed = true;
		r->key = key;
		chars = "";
	}
	return sn_arena_strdup(&r->profile->arena, chars);
}

static const json_t *array_of(struct reading *r, const json_t *root, const char *key)
{
	const json_t *array = json_object_get(root, key);

	if (!json_is_array(array)) {
		r->failed = true;
		r->key = key;
	}
	return array;
}

static int node_of(struct reading *r, const json_t *row, const char *key)
{
	return (int)integer_of(r, row, key, 0, r->profile->nodes - 1);
}

static int phase_of(struct reading *r, const json_t *row)
{
	return (int)integer_of(r, row, "phase", 0, (int64_t)r->profile->phases.count - 1);
}

static int zone_of(struct reading *r, const json_t *row, int lowest)
{
	return (int)integer_of(r, row, "zone", lowest, (int64_t)r->profile->zones.count - 1);
}

static void read_names(struct reading *r, const json_t *root)
{
	struct sn_comm_profile *p = r->profile;
	const json_t *list = array_of(r, root, "phases");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		sn_vec_push(&p->phases, sn_arena_strdup(&p->arena, name ? name : "?"));
	}
	list = array_of(r, root, "zones");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);
		struct sn_comm_zone zone = { string_of(r, row, "zone"), phase_of(r, row) };

		sn_vec_push(&p->zones, zone);
	}
}

static void read_traffic(struct reading *r, const json_t *root)
{
	const json_t *list = array_of(r, root, "traffic");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);
		struct sn_comm_traffic t = {
			.line = (int)integer_of(r, row, "line", 0, INT32_MAX),
			.phase = phase_of(r, row),
			.zone = zone_of(r, row, -1),
			.is_broadcast = json_is_true(json_object_get(row, "broadcast")),
			.source = string_of(r, row, "source"),
			.target = string_of(r, row, "target"),
			.from = node_of(r, row, "from"),
			.to = node_of(r, row, "to"),
			.messages = (uint64_t)integer_of(r, row, "messages", 0, INT64_MAX),
			.bytes = (uint64_t)integer_of(r, row, "bytes", 0, INT64_MAX),
			.wait_s = seconds_of(r, row, "wait_ns"),
		};

		sn_vec_push(&r->profile->traffic, t);
	}
}

static void read_assignments(struct reading *r, const json_t *root)
{
	const json_t *list = array_of(r, root, "assignments");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);
		struct sn_comm_assignments a = {
			.line = (int)integer_of(r, row, "line", 0, INT32_MAX),
			.phase = phase_of(r, row),
			.zone = zone_of(r, row, -1),
			.node = node_of(r, row, "node"),
			.count = (uint64_t)integer_of(r, row, "count", 0, INT64_MAX),
		};

		sn_vec_push(&r->profile->assignments, a);
	}
}

static void read_times(struct reading *r, const json_t *root)
{
	const json_t *list = array_of(r, root, "phase_times");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);
		struct sn_comm_phase_time t = {
			.phase = phase_of(r, row),
			.node = node_of(r, row, "node"),
			.calls = (uint64_t)integer_of(r, row, "calls", 0, INT64_MAX),
			.trigger_wait_s = seconds_of(r, row, "trigger_wait_ns"),
			.distribution_s = seconds_of(r, row, "distribution_ns"),
			.run_s = seconds_of(r, row, "run_ns"),
			.collection_s = seconds_of(r, row, "collection_ns"),
		};

		sn_vec_push(&r->profile->phase_times, t);
	}
	list = array_of(r, root, "zone_times");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);
		struct sn_comm_zone_time t = {
			.zone = zone_of(r, row, 0),
			.node = node_of(r, row, "node"),
			.executions = (uint64_t)integer_of(r, row, "executions", 0, INT64_MAX),
			.time_s = seconds_of(r, row, "ns"),
		};

		sn_vec_push(&r->profile->zone_times, t);
	}
}

static void read_all(struct reading *r, const json_t *root)
{
	struct sn_comm_profile *p = r->profile;

	p->program = string_of(r, root, "program");
	p->source = string_of(r, root, "source");
	p->scheme = string_of(r, root, "scheme");
	p->backend = string_of(r, root, "backend");
	p->nodes = (int)integer_of(r, root, "nodes", 1, NODES_MAX);
	read_names(r, root);
	read_traffic(r, root);
	read_assignments(r, root);
	read_times(r, root);
}

static sn_status read_memory(const char *bytes, size_t length, const char *name,
			     struct sn_comm_profile **out, struct sn_error *err)
{
	struct reading r = { 0 };
	json_error_t fault;
	json_t *root = json_loadb(bytes, length, 0, &fault);
	const char *schema = json_string_value(json_object_get(root, "schema"));
	sn_status status = SN_OK;

	if (!root)
		return sn_error_set(err, SN_ERR_FORMAT, "'%s' is not JSON: line %d: %s", name,
				    fault.line, fault.text);
	if (!schema || strcmp(schema, "sonde.pandore-profile/1")) {
		json_decref(root);
		return sn_error_set(err, SN_ERR_FORMAT,
				    "'%s' is no profile of a Pandore program; compile it with "
				    "--profile and run it",
				    name);
	}
	r.profile = sn_alloc_zeroed(1, sizeof(*r.profile));
	read_all(&r, root);
	json_decref(root);
	if (r.failed) {
		status = sn_error_set(err, SN_ERR_FORMAT,
				      "'%s' is damaged: '%s' is missing or out of range", name,
				      r.key);
		sn_comm_profile_free(r.profile);
		return status;
	}
	*out = r.profile;
	return SN_OK;
}

sn_status sn_comm_profile_read(const char *path, struct sn_comm_profile **out, struct sn_error *err)
{
	struct sn_file_view view;
	sn_status status = sn_file_map(path, &view, err);

	if (status != SN_OK)
		return status;
	status = read_memory((const char *)view.bytes, view.length, path, out, err);
	sn_file_unmap(&view);
	return status;
}

void sn_comm_profile_free(struct sn_comm_profile *p)
{
	if (!p)
		return;
	sn_vec_free(&p->phases);
	sn_vec_free(&p->zones);
	sn_vec_free(&p->traffic);
	sn_vec_free(&p->assignments);
	sn_vec_free(&p->phase_times);
	sn_vec_free(&p->zone_times);
	sn_arena_free(&p->arena);
	sn_vec_release(p);
}
