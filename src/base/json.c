/*
 * A stack of open objects and arrays knows whether a comma is due. Numbers that JSON cannot hold
 * (NaN, infinity) are written as null.
 */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"

static void value_begin(struct sn_json *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->depth && json->has_member[json->depth - 1])
		fputc(',', json->out);
	if (json->depth)
		json->has_member[json->depth - 1] = true;
}

static void open_with(struct sn_json *json, char opener, char closer)
{
	value_begin(json);
	assert(json->depth < SN_JSON_DEPTH_MAX);
	fputc(opener, json->out);
	json->closers[json->depth] = closer;
	json->has_member[json->depth++] = false;
}

void sn_json_object(struct sn_json *json)
{
	open_with(json, '{', '}');
}

void sn_json_array(struct sn_json *json)
{
	open_with(json, '[', ']');
}

void sn_json_close(struct sn_json *json)
{
	assert(json->depth && !json->after_key);
	fputc(json->closers[--json->depth], json->out);
}

static void quoted(struct sn_json *json, const char *chars)
{
	struct sn_text text = { 0 };

	sn_text_add_json(&text, chars, strlen(chars));
	fwrite(text.chars, 1, text.length, json->out);
	sn_text_free(&text);
}

void sn_json_key(struct sn_json *json, const char *key)
{
	value_begin(json);
	quoted(json, key);
	fputc(':', json->out);
	json->after_key = true;
}

void sn_json_string(struct sn_json *json, const char *chars)
{
	if (!chars) {
		sn_json_null(json);
		return;
	}
	value_begin(json);
	quoted(json, chars);
}

void sn_json_raw(struct sn_json *json, const char *value)
{
	value_begin(json);
	fputs(value, json->out);
}

void sn_json_int(struct sn_json *json, int64_t value)
{
	value_begin(json);
	fprintf(json->out, "%" PRId64, value);
}

void sn_json_uint(struct sn_json *json, uint64_t value)
{
	value_begin(json);
	fprintf(json->out, "%" PRIu64, value);
}

void sn_json_double(struct sn_json *json, double value)
{
	struct sn_text text = { 0 };

	value_begin(json);
	sn_text_add_double(&text, value);
	fputs(text.chars, json->out);
	sn_text_free(&text);
}

void sn_json_bool(struct sn_json *json, bool value)
{
	value_begin(json);
	fputs(value ? "true" : "false", json->out);
}

void sn_json_null(struct sn_json *json)
{
	value_begin(json);
	fputs("null", json->out);
}

void sn_json_finish(struct sn_json *json)
{
	assert(!json->depth);
	fputc('\n', json->out);
}

void sn_json_member_string(struct sn_json *json, const char *key, const char *chars)
{
	sn_json_key(json, key);
	sn_json_string(json, chars);
}

void sn_json_member_int(struct sn_json *json, const char *key, int64_t value)
{
	sn_json_key(json, key);
	sn_json_int(json, value);
}

void sn_json_member_uint(struct sn_json *json, const char *key, uint64_t value)
{
	sn_json_key(json, key);
	sn_json_uint(json, value);
}

void sn_json_member_double(struct sn_json *json, const char *key, double value)
{
	sn_json_key(json, key);
	sn_json_double(json, value);
}

void sn_json_member_bool(struct sn_json *json, const char *key, bool value)
{
	sn_json_key(json, key);
	sn_json_bool(json, value);
}

void sn_json_member_null(struct sn_json *json, const char *key)
{
	sn_json_key(json, key);
	sn_json_null(json);
}
