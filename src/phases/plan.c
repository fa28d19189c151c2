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
	sn_json_member_string(json, "id", loop->code->id);
	sn_json_member_string(json, "label", loop->code->label);
	sn_json_member_string(json, "file", loop->code->file);
	line_write(json, "line_first", loop->code->line_first);
	line_write(json, "line_last", loop->code->line_last);
	hex_write(json, "header_link_addr", loop->code->header_link_addr);
	hex_write(json, "function_link_addr", loop->code->function->link_addr);
	sn_json_close(json);
}

static bool phase_has(const struct sn_phase *phase, uint32_t heartbeat)
{
	for (size_t s = 0; s < phase->sites.count; s++)
		if (phase->sites.items[s].heartbeat == heartbeat)
			return true;
	return false;
}

/* The phases that a heartbeat marks: its number may stand in several; of a part of the main loop
 * also the phase whose main loop that is. */
static void phases_write(struct sn_json *json, const struct sn_phases *p, uint32_t heartbeat)
{
	sn_json_key(json, "phases");
	sn_json_array(json);
	for (uint32_t i = 0; i < p->phases.count; i++) {
		bool has = phase_has(&p->phases.items[i], heartbeat);

		for (size_t c = 0; c < p->cycles.count; c++)
			has |= p->cycles.items[c].site.heartbeat == heartbeat &&
			       p->cycles.items[c].phase == i;
		if (has)
			sn_json_uint(json, p->phases.items[i].number);
	}
	sn_json_close(json);
}

static void heartbeat_write(struct sn_json *json, const struct sn_phases *p,
			    const struct sn_phase_site *site)
{
	const struct sn_program *program = p->paths->program;
	const struct sn_program_function *f = &program->functions.items[site->function];
	const struct sn_module *module =
		f->module == SN_NONE ? NULL : &program->experiment->modules.items[f->module];

	sn_json_object(json);
	sn_json_member_uint(json, "heartbeat", site->heartbeat);
	sn_json_member_string(json, "name", site->name);
	sn_json_member_string(json, "type", sn_site_type_name(site->type));
	sn_json_member_string(json, "function", p->functions[site->function].name);
	sn_json_member_string(json, "linkage_name", f->linkage_name);
	sn_json_member_string(json, "file", p->functions[site->function].file);
	line_write(json, "line", p->functions[site->function].line);
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
				heartbeat_write(&json, p, site);
		}
	for (size_t i = 0; i < p->cycles.count; i++)
		if (p->cycles.items[i].site.heartbeat > written) {
			written = p->cycles.items[i].site.heartbeat;
			heartbeat_write(&json, p, &p->cycles.items[i].site);
		}
	sn_json_close(&json);
	sn_json_close(&json);
	sn_json_finish(&json);
}
