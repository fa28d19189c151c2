/* Reads and writes campaign.json in an experiment. */
#include "experiment/campaign_mark.h"

#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#define SCHEMA "sonde.campaign-run/1"

sn_status sn_campaign_mark_write(const struct sn_campaign_mark *mark, const char *experiment,
				 struct sn_error *err)
{
	struct sn_file_writer writer;
	struct sn_text path = { 0 };
	sn_status status;

	sn_text_addf(&path, "%s/campaign.json", experiment);
	status = sn_file_writer_open(&writer, path.chars, err);
	sn_text_free(&path);
	if (status != SN_OK)
		return status;
	struct sn_json json = { .out = writer.out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", SCHEMA);
	sn_json_member_string(&json, "campaign", mark->campaign);
	sn_json_member_string(&json, "configuration", mark->configuration);
	sn_json_member_uint(&json, "block", mark->block);
	sn_json_member_uint(&json, "position", mark->position);
	sn_json_member_bool(&json, "is_in_blocks", mark->is_in_blocks);
	sn_json_member_uint(&json, "ranks", mark->ranks);
	sn_json_member_uint(&json, "threads", mark->threads);
	sn_json_close(&json);
	sn_json_finish(&json);
	return sn_file_writer_commit(&writer, err);
}

static bool whole_of(const json_t *root, const char *key, uint32_t *out)
{
	const json_t *value = json_object_get(root, key);

	*out = 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > INT32_MAX)
		return false;
	*out = (uint32_t)json_integer_value(value);
	return true;
}

static bool members_read(const json_t *root, struct sn_arena *arena, struct sn_campaign_mark *mark)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	const char *campaign = json_string_value(json_object_get(root, "campaign"));
	const char *configuration = json_string_value(json_object_get(root, "configuration"));

	if (!schema || strcmp(schema, SCHEMA) != 0 || !campaign || !configuration ||
	    !whole_of(root, "block", &mark->block) ||
	    !whole_of(root, "position", &mark->position) ||
	    !whole_of(root, "ranks", &mark->ranks) || !whole_of(root, "threads", &mark->threads))
		return false;
	mark->is_in_blocks = json_is_true(json_object_get(root, "is_in_blocks"));
	mark->campaign = sn_arena_strdup(arena, campaign);
	mark->configuration = sn_arena_strdup(arena, configuration);
	return true;
}

const struct sn_campaign_mark *sn_campaign_mark_read(const char *experiment, struct sn_arena *arena)
{
	struct sn_campaign_mark *mark = NULL;
	struct sn_text path = { 0 };
	json_t *root;

	sn_text_addf(&path, "%s/campaign.json", experiment);
	root = json_load_file(path.chars, 0, NULL);
	sn_text_free(&path);
	if (root) {
		mark = sn_arena_new(arena, struct sn_campaign_mark);
		if (!members_read(root, arena, mark))
			mark = NULL;
	}
	json_decref(root);
	return mark;
}
