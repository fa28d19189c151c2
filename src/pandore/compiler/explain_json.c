/* --explain --format json: the remarks as rows, and the messages to expect. */
#include "base/json.h"
#include "pandore/compiler/remarks.h"

static void write_remark(struct sn_json *json, const struct sn_pnd_remark *r)
{
	sn_json_object(json);
	sn_json_member_string(json, "phase", r->phase);
	sn_json_member_string(json, "file", r->file);
	sn_json_member_int(json, "line", r->line);
	sn_json_member_int(json, "column", r->column);
	sn_json_member_string(json, "kind", sn_pnd_remark_kind(r->code));
	sn_json_member_string(json, "reason", r->reason);
	sn_json_key(json, "sent_bytes");
	r->has_bytes ? sn_json_int(json, r->sent_bytes) : sn_json_null(json);
	sn_json_key(json, "needed_bytes");
	r->has_bytes ? sn_json_int(json, r->needed_bytes) : sn_json_null(json);
	sn_json_close(json);
}

static void write_expected(struct sn_json *json, const struct sn_pnd_expected *e)
{
	sn_json_object(json);
	sn_json_member_int(json, "line", e->line);
	sn_json_member_string(json, "source", e->source);
	sn_json_member_string(json, "target", e->target);
	sn_json_key(json, "broadcast");
	sn_json_bool(json, e->is_broadcast);
	sn_json_member_int(json, "from", e->from);
	sn_json_member_int(json, "to", e->to);
	sn_json_member_int(json, "messages", e->messages);
	sn_json_member_int(json, "bytes", e->bytes);
	sn_json_close(json);
}

static void write_phase(struct sn_json *json, const struct sn_pnd_result *result,
			const struct sn_pnd_foretold *phase)
{
	sn_json_object(json);
	sn_json_member_string(json, "phase", phase->phase);
	sn_json_key(json, "unknown");
	if (phase->why) {
		sn_json_object(json);
		sn_json_member_int(json, "line", phase->line);
		sn_json_member_string(json, "reason", phase->why);
		sn_json_close(json);
	} else {
		sn_json_null(json);
	}
	sn_json_key(json, "messages");
	sn_json_array(json);
	for (size_t i = 0; i < result->expected.count; i++)
		if (result->expected.items[i].phase == phase->phase)
			write_expected(json, &result->expected.items[i]);
	sn_json_close(json);
	sn_json_close(json);
}

void sn_pnd_write_explanation(const struct sn_pnd_result *result, const char *source,
			      const char *scheme, FILE *out)
{
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.pandore-explain/1");
	sn_json_member_string(&json, "source", source);
	sn_json_member_int(&json, "nodes", result->nodes);
	sn_json_member_string(&json, "scheme", scheme);
	sn_json_key(&json, "rows");
	sn_json_array(&json);
	for (size_t i = 0; i < result->remarks.count; i++)
		write_remark(&json, &result->remarks.items[i]);
	sn_json_close(&json);
	sn_json_key(&json, "phases");
	sn_json_array(&json);
	for (size_t i = 0; i < result->foretold.count; i++)
		write_phase(&json, result, &result->foretold.items[i]);
	sn_json_close(&json);
	sn_json_close(&json);
	sn_json_finish(&json);
}
