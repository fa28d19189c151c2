/* Writes verdicts: a row for each property and context. */
#include "search/properties/write.h"

#include <math.h>

#include "base/error.h"

struct writing {
	struct sn_tables *tables;
	struct sn_evaluator *evaluator;
	const struct sn_property *property;
	struct sn_json json;
	double most; /* severity of the property, unclamped */
};

const char *sn_member_id(const struct sn_tables *tables, enum sn_key key, uint32_t index)
{
	if (index == SN_ALL)
		return NULL;
	return tables->members[key == SN_KEY_PEER ? SN_KEY_PROCESS : key].items[index].id;
}

static void needs_write(const struct sn_verdict *verdict, struct sn_json *json)
{
	struct sn_text text = { 0 };

	sn_json_key(json, "needs");
	sn_json_array(json);
	for (uint32_t i = 0; i < verdict->need_count; i++) {
		sn_text_clear(&text);
		sn_prop_request_print(&verdict->property->requests.items[verdict->needs[i]], &text);
		sn_json_string(json, text.chars);
	}
	sn_json_close(json);
	sn_text_free(&text);
}

void sn_prop_value_write(const struct sn_tables *tables, struct sn_prop_type type,
			 struct sn_prop_value value, struct sn_json *json)
{
	if (!value.is_known || (type.kind == SN_TYPE_MEMBER && type.member >= SN_KEYS))
		sn_json_null(json);
	else if (type.kind == SN_TYPE_MEMBER)
		sn_json_string(json, sn_member_id(tables, (enum sn_key)type.member, value.member));
	else if (type.kind == SN_TYPE_BOOL)
		sn_json_bool(json, value.number != 0);
	else
		sn_json_double(json, value.number);
}

static void all_evidence_write(const struct sn_tables *tables, const struct sn_verdict *verdict,
			       struct sn_json *json)
{
	const sn_prop_named_vec *evidence = &verdict->property->evidence;

	sn_json_key(json, "evidence");
	sn_json_object(json);
	for (size_t i = 0; i < evidence->count; i++) {
		sn_json_key(json, evidence->items[i].name);
		sn_prop_value_write(tables, evidence->items[i].expr->type, verdict->evidence[i],
				    json);
	}
	sn_json_close(json);
}

static void verdict_write(const uint32_t keys[SN_KEYS], void *context)
{
	static const enum sn_key always[] = { SN_KEY_REGION, SN_KEY_DATA, SN_KEY_PROCESS,
					      SN_KEY_THREAD };
	struct writing *w = context;
	struct sn_json *json = &w->json;
	struct sn_verdict verdict;

	sn_property_evaluate(w->evaluator, w->property, keys, &verdict);
	if (verdict.severity_unclamped > w->most)
		w->most = verdict.severity_unclamped;
	sn_json_object(json);
	sn_json_member_string(json, "property", w->property->name);
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		sn_json_member_string(json, sn_key_name(always[i]),
				      sn_member_id(w->tables, always[i], keys[always[i]]));
	for (enum sn_key k = SN_KEY_LOCK; k < SN_KEYS; k++)
		if (keys[k] != SN_ALL)
			sn_json_member_string(json, sn_key_name(k),
					      sn_member_id(w->tables, k, keys[k]));
	sn_json_member_string(json, "state", sn_state_name(verdict.state));
	sn_json_member_string(json, "condition", verdict.condition);
	sn_json_member_double(json, "severity", verdict.severity);
	sn_json_member_double(json, "rate", verdict.rate);
	sn_json_member_double(json, "confidence", verdict.confidence);
	needs_write(&verdict, json);
	all_evidence_write(w->tables, &verdict, json);
	sn_json_close(json);
}

static void too_severe_tell(const struct sn_property *property, double severity)
{
	struct sn_text text = { 0 };

	sn_text_add_number(&text, severity);
	sn_warn("properties: '%s' claims a severity of %s; a severity is a share of the phase's lanes, and "
		"was cut to 1",
		property->name, text.chars);
	sn_text_free(&text);
}

void sn_verdicts_write(const struct sn_library *library, struct sn_tables *tables, FILE *out)
{
	struct writing w = { .tables = tables, .json = { .out = out } };
	static const uint32_t none[SN_KEYS] = { SN_ALL, SN_ALL, SN_ALL, SN_ALL,
						SN_ALL, SN_ALL, SN_ALL };
	bool has_own = library->files.count > library->shipped_files;

	w.evaluator = sn_evaluator_new(tables, SN_SEVERITY_LOST);
	sn_json_object(&w.json);
	sn_json_member_string(&w.json, "schema", "sonde.verdicts/1");
	sn_json_key(&w.json, "rows");
	sn_json_array(&w.json);
	for (size_t i = 0; i < library->properties.count; i++) {
		w.property = library->properties.items[i];
		w.most = 0;
		if (has_own && w.property->file->is_shipped)
			continue;
		sn_property_contexts(tables, w.property, none, verdict_write, &w);
		if (w.most > 1 + 1e-9)
			too_severe_tell(w.property, w.most);
	}
	sn_json_close(&w.json);
	sn_json_close(&w.json);
	sn_json_finish(&w.json);
	sn_evaluator_free(w.evaluator);
}
