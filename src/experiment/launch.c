/*
 * Writes and reads the launch file. A member that is missing or of another type reads as empty, so
 * files of older versions stay readable.
 */
#include "experiment/launch.h"

#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

static void write_members(const struct sn_launch *l, struct sn_json *json)
{
	sn_json_member_string(json, "schema", "sonde.launch/1");
	sn_json_member_string(json, "version", l->version);
	sn_json_member_string(json, "program", l->program);
	sn_json_member_string(json, "arguments", l->arguments);
	sn_json_member_string(json, "label", l->label);
	sn_json_member_string(json, "host", l->host);
	sn_json_member_string(json, "cpu_model", l->cpu_model);
	sn_json_member_string(json, "kernel", l->kernel);
	sn_json_member_string(json, "boot", l->boot);
	sn_json_member_int(json, "memory_bytes", l->memory_bytes);
	sn_json_member_string(json, "folder", l->folder);
	sn_json_member_string(json, "live_folder", l->live_folder);
	sn_json_member_string(json, "clock", l->clock);
	sn_json_member_double(json, "rate_hz", l->rate_hz);
	sn_json_member_int(json, "pid", l->pid);
	sn_json_member_int(json, "rank", l->rank);
	sn_json_member_int(json, "target_pid", l->target_pid);
	sn_json_member_int(json, "exit_status", l->exit_status);
	sn_json_member_int(json, "exit_signal", l->exit_signal);
	sn_json_member_bool(json, "has_ended", l->has_ended);
	sn_json_member_bool(json, "is_windowed", l->is_windowed);
	sn_json_member_int(json, "started_monotonic_ns", l->started_monotonic_ns);
	sn_json_member_int(json, "started_realtime_ns", l->started_realtime_ns);
	sn_json_member_int(json, "elapsed_ns", l->elapsed_ns);
	sn_json_member_int(json, "tree_user_ns", l->tree_user_ns);
	sn_json_member_int(json, "tree_system_ns", l->tree_system_ns);
	sn_json_member_int(json, "own_cpu_ns", l->own_cpu_ns);
	sn_json_member_double(json, "others_share", l->others_share);
	sn_json_member_int(json, "processes_not_measured", l->processes_not_measured);
}

static void write_lists(const struct sn_launch *l, struct sn_json *json)
{
	sn_json_key(json, "environment");
	sn_json_object(json);
	for (size_t i = 0; i < l->environment.count; i++)
		sn_json_member_string(json, l->environment.items[i].name,
				      l->environment.items[i].value);
	sn_json_close(json);
	sn_json_key(json, "warnings");
	sn_json_array(json);
	for (size_t i = 0; i < l->warnings.count; i++)
		sn_json_string(json, l->warnings.items[i]);
	sn_json_close(json);
	sn_json_key(json, "events");
	sn_json_object(json);
	for (size_t i = 0; i < l->events.count; i++)
		sn_json_member_int(json, l->events.items[i].name, l->events.items[i].count);
	sn_json_close(json);
}

sn_status sn_launch_write(const struct sn_launch *launch, const char *folder, struct sn_error *err)
{
	struct sn_file_writer writer;
	struct sn_text path = { 0 };
	sn_status status;

	sn_text_addf(&path, "%s/launch.%s.%d.json", folder, launch->host, launch->pid);
	status = sn_file_writer_open(&writer, path.chars, err);
	sn_text_free(&path);
	if (status != SN_OK)
		return status;
	struct sn_json json = { .out = writer.out };

	sn_json_object(&json);
	write_members(launch, &json);
	write_lists(launch, &json);
	sn_json_close(&json);
	sn_json_finish(&json);
	return sn_file_writer_commit(&writer, err);
}

static const char *text_of(struct sn_launch *l, const json_t *root, const char *key)
{
	const char *chars = json_string_value(json_object_get(root, key));

	return chars ? sn_arena_strdup(&l->arena, chars) : NULL;
}

static const char *text_or_empty(struct sn_launch *l, const json_t *root, const char *key)
{
	const char *chars = text_of(l, root, key);

	return chars ? chars : "";
}

static int64_t int_of(const json_t *root, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(root, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static void read_members(struct sn_launch *l, json_t *root)
{
	l->version = text_or_empty(l, root, "version");
	l->program = text_or_empty(l, root, "program");
	l->arguments = text_or_empty(l, root, "arguments");
	l->label = text_of(l, root, "label");
	l->host = text_or_empty(l, root, "host");
	l->cpu_model = text_or_empty(l, root, "cpu_model");
	l->kernel = text_or_empty(l, root, "kernel");
	l->boot = text_or_empty(l, root, "boot");
	l->memory_bytes = int_of(root, "memory_bytes", -1);
	l->folder = text_or_empty(l, root, "folder");
	l->live_folder = text_of(l, root, "live_folder");
	l->clock = text_or_empty(l, root, "clock");
	l->rate_hz = json_number_value(json_object_get(root, "rate_hz"));
	l->pid = (int32_t)int_of(root, "pid", -1);
	l->rank = (int32_t)int_of(root, "rank", -1);
	l->target_pid = (int32_t)int_of(root, "target_pid", -1);
	l->exit_status = (int32_t)int_of(root, "exit_status", -1);
	l->exit_signal = (int32_t)int_of(root, "exit_signal", 0);
	l->has_ended = json_is_true(json_object_get(root, "has_ended"));
	l->is_windowed = json_is_true(json_object_get(root, "is_windowed"));
	l->started_monotonic_ns = int_of(root, "started_monotonic_ns", 0);
	l->started_realtime_ns = int_of(root, "started_realtime_ns", 0);
	l->elapsed_ns = int_of(root, "elapsed_ns", -1);
	l->tree_user_ns = int_of(root, "tree_user_ns", -1);
	l->tree_system_ns = int_of(root, "tree_system_ns", -1);
	l->own_cpu_ns = int_of(root, "own_cpu_ns", -1);
	l->others_share = json_is_number(json_object_get(root, "others_share"))
				  ? json_number_value(json_object_get(root, "others_share"))
				  : -1;
	l->processes_not_measured = (uint32_t)int_of(root, "processes_not_measured", 0);
}

static void read_lists(struct sn_launch *l, json_t *root)
{
	const char *name;
	json_t *value;
	size_t i;

	json_object_foreach(json_object_get(root, "environment"), name, value)
	{
		struct sn_launch_variable variable = { sn_arena_strdup(&l->arena, name), "" };

		if (json_is_string(value))
			variable.value = sn_arena_strdup(&l->arena, json_string_value(value));
		sn_vec_push(&l->environment, variable);
	}
	json_object_foreach(json_object_get(root, "events"), name, value)
	{
		struct sn_launch_event event = { sn_arena_strdup(&l->arena, name), -1 };

		if (json_is_integer(value) && json_integer_value(value) >= 0)
			event.count = json_integer_value(value);
		sn_vec_push(&l->events, event);
	}
	json_array_foreach(json_object_get(root, "warnings"), i, value) if (json_is_string(value))
		sn_vec_push(&l->warnings, sn_arena_strdup(&l->arena, json_string_value(value)));
}

sn_status sn_launch_read(const char *path, struct sn_launch *out, struct sn_error *err)
{
	json_error_t fault;
	json_t *root = json_load_file(path, 0, &fault);
	const char *schema;

	*out = (struct sn_launch){ 0 };
	if (!root)
		return sn_error_set(err, SN_ERR_FORMAT,
				    "cannot read '%s': line %d: %s; the file is damaged", path,
				    fault.line, fault.text);
	schema = json_string_value(json_object_get(root, "schema"));
	if (!schema || strcmp(schema, "sonde.launch/1") != 0) {
		json_decref(root);
		return sn_error_set(
			err, SN_ERR_FORMAT,
			"'%s' was not written by this version of sonde (its schema is not "
			"sonde.launch/1); read it with the sonde that recorded it",
			path);
	}
	read_members(out, root);
	read_lists(out, root);
	json_decref(root);
	return SN_OK;
}

void sn_launch_free(struct sn_launch *launch)
{
	sn_vec_free(&launch->environment);
	sn_vec_free(&launch->warnings);
	sn_vec_free(&launch->events);
	sn_arena_free(&launch->arena);
}
