/* sonde.heartbeat-plan/1: where to put begin and end, for people and for tools that insert them. */
#include "base/json.h"
#include "base/text.h"
#include "phases/phases.h"

static void hex_write(struct sn_json *json, const char *key, uint64_t value)
{
	struct sn_text text = { 0 };

	if (!value) {
		sn_json_member_null(json, key);
		return;
	}
	sn_text_addf(&text, "0x%llx", (unsigned long long)value);
	sn_json_member_string(json, key, text.chars);
	sn_text_free(&text);
}

static void line_write(struct sn_json *json, const char *key, uint32_t line)
{
	sn_json_key(json, key);
	if (line)
		sn_json_uint(json, line);
	else
		sn_json_null(json);
}

static void loop_write(struct sn_json *json, const struct sn_program_loop *loop)
{
	sn_json_key(json, "loop");
	if (!loop) {
		sn_json_null(json);
		return;
	}
	sn_json_object(json);
	sn_json_member_string(json, "id", loop->id);
	sn_json_member_string(json, "label", loop->label);
	sn_json_member_string(json, "file", loop->file);
	line_write(json, "line_first", loop->line_first);
	line_write(json, "line_last", loop->line_last);
	hex_write(json, "header_link_addr", loop->header_link_addr);
	hex_write(json, "function_link_addr", loop->function_link_addr);
	sn_json_close(json);
}

/* The phases that a heartbeat marks: its number may stand in several. */
static void phases_write(struct sn_json *json, const struct sn_phases *p, uint32_t heartbeat)
{
	sn_json_key(json, "phases");
	sn_json_array(json);
	for (size_t i = 0; i < p->phases.count; i++)
		for (size_t s = 0; s < p->phases.items[i].sites.count; s++)
			if (p->phases.items[i].sites.items[s].heartbeat == heartbeat) {
				sn_json_uint(json, p->phases.items[i].number);
				break;
			}
	sn_json_close(json);
}

static void heartbeat_write(struct sn_json *json, const struct sn_phases *p,
			    const struct sn_phase *phase, const struct sn_phase_site *site)
{
	const struct sn_program *program = p->paths->program;
	const struct sn_program_function *f = &program->functions.items[site->function];
	const struct sn_module *module =
		f->module == SN_NONE ? NULL : &program->experiment->modules.items[f->module];

	sn_json_object(json);
	sn_json_member_uint(json, "heartbeat", site->heartbeat);
	sn_json_member_string(json, "name", phase->name);
	sn_json_member_string(json, "type", sn_site_type_name(site->type));
	sn_json_member_string(json, "function", f->name);
	sn_json_member_string(json, "linkage_name", f->linkage_name);
	sn_json_member_string(json, "file", f->file);
	line_write(json, "line", f->line);
	sn_json_member_string(json, "module", module ? module->path : NULL);
	sn_json_member_string(json, "build_id", module ? module->build_id : NULL);
	hex_write(json, "function_link_addr", f->link_addr);
	loop_write(json, site->loop == SN_NONE ? NULL : &program->loops.items[site->loop]);
	phases_write(json, p, site->heartbeat);
	sn_pace_write(&site->pace, json);
	sn_json_member_uint(json, "every", sn_pace_every(&site->pace));
	sn_json_close(json);
}

void sn_phases_write_plan(const struct sn_phases *p, FILE *out)
{
	struct sn_json json = { .out = out };
	uint32_t written = 0; /* heartbeats are numbered in the order in which they are met */

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.heartbeat-plan/1");
	sn_json_member_string(&json, "experiment", p->profile->experiment->name);
	sn_json_member_string(&json, "program", p->profile->experiment->program);
	sn_json_key(&json, "heartbeats");
	sn_json_array(&json);
	for (size_t i = 0; i < p->phases.count; i++)
		for (size_t s = 0; s < p->phases.items[i].sites.count; s++) {
			const struct sn_phase_site *site = &p->phases.items[i].sites.items[s];

			if (site->heartbeat <= written)
				continue;
			written = site->heartbeat;
			if (!site->is_alternative)
				heartbeat_write(&json, p, &p->phases.items[i], site);
		}
	sn_json_close(&json);
	sn_json_close(&json);
	sn_json_finish(&json);
}
