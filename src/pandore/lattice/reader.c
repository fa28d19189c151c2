/*
 * Parses a trace, at once or piece by piece while it grows. A line with a fault is named, and the
 * next one is read.
 */
#include "pandore/lattice/reader.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "pandore/lattice/read_plain.h"

struct sn_trace_reading {
	struct sn_execution_builder builder;
	uint32_t line;
	bool has_events, has_ended;
	struct sn_text partial; /* a line whose end has not come yet */
	void (*see)(const struct sn_lattice_event *event, void *context); /* or NULL */
	void *context;
	SN_VEC(struct sn_lattice_ref) after;
	SN_VEC(uint32_t) clock;
	struct sn_plain_event plain;
};

/* Notes a fault of the present line; false, so that a check can end in it. */
__attribute__((format(printf, 2, 3))) static bool fail(struct sn_trace_reading *reading,
						       const char *format, ...)
{
	char sentence[512];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	sn_execution_builder_fault(&reading->builder, reading->line, "%s", sentence);
	return false;
}

static bool is_number(const json_t *value, uint32_t *out)
{
	json_int_t integer = json_integer_value(value);

	if (!json_is_integer(value) || integer < 0 || integer > UINT32_MAX / 2)
		return false;
	*out = (uint32_t)integer;
	return true;
}

/* A number that may be missing (`*out` stays) but not be something else. */
static bool get_number(struct sn_trace_reading *reading, const json_t *object, const char *key,
		       uint32_t *out)
{
	const json_t *value = json_object_get(object, key);

	if (!value || json_is_null(value) || is_number(value, out))
		return true;
	return fail(reading, "\"%s\" must be a whole number from 0 to %u", key, UINT32_MAX / 2);
}

static bool get_seconds(struct sn_trace_reading *reading, const json_t *object, const char *key,
			double *out)
{
	const json_t *value = json_object_get(object, key);

	*out = NAN;
	if (!value || json_is_null(value))
		return true;
	if (!json_is_number(value))
		return fail(reading, "\"%s\" must be a number of seconds", key);
	*out = json_number_value(value);
	return true;
}

static bool get_string(struct sn_trace_reading *reading, const json_t *object, const char *key,
		       const char **out)
{
	const json_t *value = json_object_get(object, key);

	*out = json_string_value(value);
	if (!value || json_is_null(value) || *out)
		return true;
	return fail(reading, "\"%s\" must be a string", key);
}

static bool get_after(struct sn_trace_reading *reading, const json_t *object)
{
	const json_t *list = json_object_get(object, "after");

	reading->after.count = 0;
	if (!list || json_is_null(list))
		return true;
	if (!json_is_array(list))
		return fail(reading, "\"after\" must be a list of [process,index] pairs");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *pair = json_array_get(list, i);
		struct sn_lattice_ref ref;

		if (json_array_size(pair) != 2 ||
		    !is_number(json_array_get(pair, 0), &ref.process) ||
		    !is_number(json_array_get(pair, 1), &ref.index))
			return fail(reading,
				    "\"after\" must be a list of [process,index] pairs, both "
				    "numbers from 0");
		sn_vec_push(&reading->after, ref);
	}
	return true;
}

static bool get_clock(struct sn_trace_reading *reading, const json_t *object)
{
	const json_t *list = json_object_get(object, "clock");

	reading->clock.count = 0;
	if (!list || json_is_null(list))
		return true;
	if (!json_is_array(list) || json_array_size(list) == 0)
		return fail(reading, "\"clock\" must be a list of numbers, one for each process");
	for (size_t i = 0; i < json_array_size(list); i++) {
		uint32_t component;

		if (!is_number(json_array_get(list, i), &component))
			return fail(reading, "\"clock\" must be a list of whole numbers from 0");
		sn_vec_push(&reading->clock, component);
	}
	return true;
}

static bool get_observed(struct sn_trace_reading *reading, const json_t *object, bool *out)
{
	const json_t *value = json_object_get(object, "observed");

	*out = !json_is_false(value);
	return !value || json_is_boolean(value) ||
	       fail(reading, "\"observed\" must be true or false");
}

static void give_event(struct sn_trace_reading *reading, const struct sn_lattice_event *event)
{
	sn_execution_builder_add(&reading->builder, event);
	if (reading->see)
		reading->see(event, reading->context);
}

static bool read_event(struct sn_trace_reading *reading, const json_t *object)
{
	struct sn_lattice_event event = { .where = reading->line };

	if (!json_object_get(object, "process") || !json_object_get(object, "index"))
		return fail(reading, "an event needs \"process\" and \"index\"");
	if (!get_number(reading, object, "process", &event.process) ||
	    !get_number(reading, object, "index", &event.index) ||
	    !get_number(reading, object, "line", &event.line) ||
	    !get_string(reading, object, "label", &event.label) ||
	    !get_string(reading, object, "file", &event.file) ||
	    !get_seconds(reading, object, "duration_s", &event.duration_s) ||
	    !get_seconds(reading, object, "start_s", &event.start_s) ||
	    !get_observed(reading, object, &event.is_observed) || !get_after(reading, object) ||
	    !get_clock(reading, object))
		return false;
	event.after = reading->after.items;
	event.after_count = reading->after.count;
	event.clock = reading->clock.count ? reading->clock.items : NULL;
	event.clock_count = reading->clock.count;
	give_event(reading, &event);
	return true;
}

static bool read_header(struct sn_trace_reading *reading, const json_t *object)
{
	uint32_t count;

	if (reading->has_events)
		return fail(reading, "the number of processes must stand on the first line");
	if (!is_number(json_object_get(object, "processes"), &count) || count == 0 ||
	    count > SN_LATTICE_PROCESSES_MAX)
		return fail(reading, "\"processes\" must be a whole number from 1 to %d",
			    SN_LATTICE_PROCESSES_MAX);
	reading->builder.process_count = count;
	return get_number(reading, object, "cpus", &reading->builder.cpu_count);
}

static bool read_plain(struct sn_trace_reading *reading, const char *line, size_t length)
{
	if (!sn_plain_event_read(line, length, &reading->plain))
		return false;
	reading->plain.event.where = reading->line;
	give_event(reading, &reading->plain.event);
	reading->has_events = true;
	return true;
}

static void read_line(struct sn_trace_reading *reading, const char *line, size_t length,
		      bool is_complete)
{
	json_error_t error;
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);

	if (!object && !is_complete)
		fail(reading, "the last line is cut short, so the trace was probably truncated");
	else if (!object)
		fail(reading, "this is no JSON: %.200s (column %d)", error.text, error.column);
	else if (!json_is_object(object))
		fail(reading, "an event is a JSON object, {\"process\":0,\"index\":0}");
	else if (json_is_true(json_object_get(object, "end")) &&
		 !json_object_get(object, "process"))
		reading->has_ended = true;
	else if (json_object_get(object, "processes") && !json_object_get(object, "process"))
		read_header(reading, object);
	else
		read_event(reading, object);
	json_decref(object);
	reading->has_events = true;
}

static bool is_blank(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr(" \t\r", line[i]) || !line[i])
			return false;
	return true;
}

static void read_lines(struct sn_trace_reading *reading, const char *bytes, size_t length)
{
	const char *next = bytes, *end = bytes + length;

	while (next < end) {
		const char *newline = memchr(next, '\n', (size_t)(end - next));
		const char *stop = newline ? newline : end;

		reading->line++;
		if (!read_plain(reading, next, (size_t)(stop - next)) &&
		    !is_blank(next, (size_t)(stop - next)))
			read_line(reading, next, (size_t)(stop - next), newline != NULL);
		next = newline ? newline + 1 : end;
	}
}

static sn_status finish(struct sn_trace_reading *reading, const char *name,
			struct sn_execution **out, struct sn_error *err)
{
	struct sn_error cause;
	sn_status status;

	sn_vec_free(&reading->after);
	sn_vec_free(&reading->clock);
	sn_text_free(&reading->partial);
	*out = NULL;
	if (!reading->has_events) {
		sn_execution_builder_free(&reading->builder);
		return sn_error_set(err, SN_ERR_NO_DATA, "lattice: '%s' has no event", name);
	}
	status = sn_execution_build(&reading->builder, out, &cause);
	if (status != SN_OK)
		sn_error_set(err, status, "lattice: '%s': %s", name, cause.sentence);
	return status;
}

sn_status sn_execution_read_memory(const char *bytes, size_t length, const char *name,
				   struct sn_execution **out, struct sn_error *err)
{
	struct sn_trace_reading reading = { 0 };

	if (length)
		read_lines(&reading, bytes, length);
	return finish(&reading, name, out, err);
}

sn_status sn_execution_read(const char *path, struct sn_execution **out, struct sn_error *err)
{
	struct sn_file_view view;
	sn_status status = sn_file_map(strcmp(path, "-") ? path : "/dev/stdin", &view, err);

	*out = NULL;
	if (status != SN_OK)
		return status;
	status = sn_execution_read_memory((const char *)view.bytes, view.length, path, out, err);
	sn_file_unmap(&view);
	return status;
}

/* ---- Piece by piece ------------------------------------------------------------------------- */

struct sn_trace_reading *sn_trace_reading_new(void (*see)(const struct sn_lattice_event *event,
							  void *context),
					      void *context)
{
	struct sn_trace_reading *reading = sn_alloc_zeroed(1, sizeof(*reading));

	reading->see = see;
	reading->context = context;
	return reading;
}

void sn_trace_reading_add(struct sn_trace_reading *reading, const char *bytes, size_t length)
{
	size_t whole;
	const char *last;

	sn_text_add_bytes(&reading->partial, bytes, length);
	last = reading->partial.length
		       ? memrchr(reading->partial.chars, '\n', reading->partial.length)
		       : NULL;
	if (!last)
		return;
	whole = (size_t)(last - reading->partial.chars) + 1;
	read_lines(reading, reading->partial.chars, whole);
	reading->partial.length -= whole;
	memmove(reading->partial.chars, reading->partial.chars + whole,
		reading->partial.length + 1);
}

uint32_t sn_trace_reading_processes(const struct sn_trace_reading *reading)
{
	return reading->builder.process_count;
}

bool sn_trace_reading_has_ended(const struct sn_trace_reading *reading)
{
	return reading->has_ended;
}

sn_status sn_trace_reading_finish(struct sn_trace_reading *reading, const char *name,
				  struct sn_execution **out, struct sn_error *err)
{
	sn_status status;

	if (reading->partial.length)
		read_lines(reading, reading->partial.chars, reading->partial.length);
	status = finish(reading, name, out, err);
	free(reading);
	return status;
}
