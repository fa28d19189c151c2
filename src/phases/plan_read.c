/* Heartbeat plans, read: by whoever inserts the heartbeats. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "phases/heartbeat_plan.h"

enum { NAME_LONGEST = 255, SITES_MAX = 4096 };

struct reader {
	struct sn_heartbeat_plan *plan;
	const char *name;
	size_t number; /* of the heartbeat, from 1 */
	struct sn_error *err;
};

static sn_status fail(struct reader *r, const char *what)
{
	return sn_error_set(r->err, SN_ERR_FORMAT, "'%s': heartbeat %zu %s", r->name, r->number,
			    what);
}

/* NULL where it is missing, null or empty. */
static const char *string_of(struct reader *r, const json_t *object, const char *key)
{
	const char *chars = json_string_value(json_object_get(object, key));

	return chars && *chars ? sn_arena_strdup(&r->plan->arena, chars) : NULL;
}

static uint32_t count_of(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* A count that may be left out; false where there is something else. */
static bool count_is_there(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	json_int_t number = json_integer_value(value);

	return !value || json_is_null(value) ||
	       (json_is_integer(value) && number >= 0 && number <= UINT32_MAX);
}

/* "0x1a0"; false where there is something else. */
static bool address_of(const json_t *object, const char *key, uint64_t *out)
{
	const json_t *value = json_object_get(object, key);
	const char *chars = json_string_value(value);
	char *end;

	*out = 0;
	if (!value || json_is_null(value))
		return true;
	if (!chars || strncmp(chars, "0x", 2) || !strchr("0123456789abcdefABCDEF", chars[2]) ||
	    !chars[2])
		return false;
	errno = 0;
	*out = strtoull(chars + 2, &end, 16);
	return !*end && !errno;
}

static sn_status loop_read(struct reader *r, const json_t *loop, struct sn_heartbeat_site *site)
{
	if (!json_is_object(loop))
		return fail(r, "is one of a loop and does not say of which (\"loop\")");
	site->loop_file = string_of(r, loop, "file");
	site->loop_line_first = count_of(loop, "line_first");
	site->loop_line_last = count_of(loop, "line_last");
	if (!address_of(loop, "header_link_addr", &site->loop_header_link_addr))
		return fail(r, "has an address of its loop's header that is no number \"0x...\"");
	if (!site->loop_header_link_addr && !site->loop_line_first)
		return fail(r, "has neither lines nor an address of its loop");
	return SN_OK;
}

static sn_status site_read(struct reader *r, const json_t *object)
{
	const char *type = json_string_value(json_object_get(object, "type"));
	struct sn_heartbeat_site site = { .name = string_of(r, object, "name") };

	if (!site.name || strlen(site.name) > NAME_LONGEST)
		return fail(r, "has no \"name\" of 1 to 255 bytes");
	if (!type || (strcmp(type, "body") && strcmp(type, "loop")))
		return fail(r, "has a \"type\" that is neither \"body\" nor \"loop\"");
	site.is_loop = !strcmp(type, "loop");
	site.function = string_of(r, object, "function");
	site.linkage_name = string_of(r, object, "linkage_name");
	site.module = string_of(r, object, "module");
	site.build_id = string_of(r, object, "build_id");
	if (!count_is_there(object, "every"))
		return fail(r, "has an \"every\" that is no number from 0 to 4294967295");
	site.every = count_of(object, "every");
	site.every = site.every ? site.every : 1;
	if (!address_of(object, "function_link_addr", &site.function_link_addr))
		return fail(r, "has an address of its function that is no number \"0x...\"");
	if (!site.function && !site.linkage_name)
		return fail(r, "does not say which function it is in (\"function\")");
	if (site.is_loop) {
		sn_status status = loop_read(r, json_object_get(object, "loop"), &site);

		if (status != SN_OK)
			return status;
	}
	sn_vec_push(&r->plan->sites, site);
	return SN_OK;
}

static sn_status root_read(struct reader *r, const json_t *root)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	const json_t *heartbeats = json_object_get(root, "heartbeats");

	if (!schema || strcmp(schema, "sonde.heartbeat-plan/1"))
		return sn_error_set(
			r->err, SN_ERR_FORMAT,
			"'%s' is no heartbeat plan: its \"schema\" is not "
			"sonde.heartbeat-plan/1 ('sonde phases --emit-heartbeats' writes one)",
			r->name);
	if (!json_is_array(heartbeats) || json_array_size(heartbeats) > SITES_MAX)
		return sn_error_set(r->err, SN_ERR_FORMAT,
				    "'%s' has no list \"heartbeats\" of at most %d", r->name,
				    SITES_MAX);
	for (size_t i = 0; i < json_array_size(heartbeats); i++) {
		sn_status status;

		r->number = i + 1;
		status = site_read(r, json_array_get(heartbeats, i));
		if (status != SN_OK)
			return status;
	}
	return SN_OK;
}

sn_status sn_heartbeat_plan_read(const char *bytes, size_t length, const char *name,
				 struct sn_heartbeat_plan *out, struct sn_error *err)
{
	struct reader reader = { .plan = out, .name = name, .err = err };
	json_error_t fault;
	json_t *root;
	sn_status status;

	*out = (struct sn_heartbeat_plan){ 0 };
	root = json_loadb(length ? bytes : "", length, 0, &fault);
	if (!root)
		return sn_error_set(err, SN_ERR_FORMAT, "'%s' is not JSON: line %d: %s", name,
				    fault.line, fault.text);
	status = root_read(&reader, root);
	json_decref(root);
	return status;
}

void sn_heartbeat_plan_free(struct sn_heartbeat_plan *plan)
{
	sn_vec_free(&plan->sites);
	sn_arena_free(&plan->arena);
}
