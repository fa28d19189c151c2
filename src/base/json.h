/**
 * A streaming JSON writer. The caller opens and closes objects and arrays; the writer sets commas
 * and escapes.
 *
 *	struct sn_json json = { .out = stdout };
 *	sn_json_object(&json);
 *	sn_json_key(&json, "schema"); sn_json_string(&json, "sonde.functions/1");
 *	sn_json_close(&json);
 *	sn_json_finish(&json);
 */
#ifndef SN_BASE_JSON_H
#define SN_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SN_JSON_DEPTH_MAX = 64 };

struct sn_json {
	FILE *out;
	unsigned depth;
	bool after_key;
	bool has_member[SN_JSON_DEPTH_MAX];
	char closers[SN_JSON_DEPTH_MAX];
};

void sn_json_object(struct sn_json *json);
void sn_json_array(struct sn_json *json);
/** Closes the innermost open object or array. */
void sn_json_close(struct sn_json *json);
void sn_json_key(struct sn_json *json, const char *key);
/** NULL is written as null. */
void sn_json_string(struct sn_json *json, const char *chars);
/** A whole value of JSON, as it is. */
void sn_json_raw(struct sn_json *json, const char *value);
void sn_json_int(struct sn_json *json, int64_t value);
void sn_json_uint(struct sn_json *json, uint64_t value);
/** Shortest form that reads back the same; NaN and infinities are null. */
void sn_json_double(struct sn_json *json, double value);
void sn_json_bool(struct sn_json *json, bool value);
void sn_json_null(struct sn_json *json);
/** Ends the line after the outermost value. */
void sn_json_finish(struct sn_json *json);

/* key and value in one call */
void sn_json_member_string(struct sn_json *json, const char *key, const char *chars);
void sn_json_member_int(struct sn_json *json, const char *key, int64_t value);
void sn_json_member_uint(struct sn_json *json, const char *key, uint64_t value);
void sn_json_member_double(struct sn_json *json, const char *key, double value);
void sn_json_member_bool(struct sn_json *json, const char *key, bool value);
void sn_json_member_null(struct sn_json *json, const char *key);

#endif
