/* Writes the phases of a run as JSON, schema sonde.phases/1. */
#include "base/json.h"
#include "phases/phases.h"

static const struct sn_program *program_of(const struct sn_phases *p)
{
	return p->paths->program;
}

static void source_write(struct sn_json *json, const struct sn_phases *p, uint32_t function)
{
	const struct sn_phase_function *f = &p->functions[function];

	sn_json_member_string(json, "function", p->functions[function].name);
	sn_json_member_string(json, "file", f->file);
	sn_json_key(json, "line");
	if (f->line)
		sn_json_uint(json, f->line);
	else
		sn_json_null(json);
}

static void site_write(struct sn_json *json, const struct sn_phases *p,
		       const struct sn_phase_site *site)
{
	const struct sn_program_loop *loop =
		site->loop == SN_NONE ? NULL : &program_of(p)->loops.items[site->loop];

	sn_json_object(json);
	sn_json_member_uint(json, "heartbeat", site->heartbeat);
	sn_json_member_string(json, "heartbeat_name", site->name);
	source_write(json, p, site->function);
	sn_json_member_string(json, "loop", loop ? loop->code->id : NULL);
	sn_json_member_string(json, "loop_label", loop ? loop->code->label : NULL);
	sn_json_member_string(json, "type", sn_site_type_name(site->type));
	sn_json_member_bool(json, "alternative", site->is_alternative);
	sn_json_member_double(json, "phase_share", site->phase_share);
	sn_json_member_double(json, "app_share", site->app_share);
	sn_pace_write(&site->pace, json);
	if (p->lengths.count)
		sn_json_member_uint(json, "length_count", site->length_count);
	sn_json_close(json);
}

static void phase_write(struct sn_json *json, const struct sn_phases *p,
			const struct sn_phase *phase)
{
	sn_json_object(json);
	sn_json_member_uint(json, "phase", phase->number);
	sn_json_member_string(json, "name", phase->name);
	sn_json_member_double(json, "share", phase->share);
	sn_json_member_uint(json, "interval_count", phase->interval_count);
	sn_json_member_double(json, "cpu_s", (double)(phase->user_ns + phase->system_ns) / 1e9);
	sn_json_member_double(json, "system_s", (double)phase->system_ns / 1e9);
	sn_json_member_double(json, "blocked_s", (double)phase->blocked_ns / 1e9);
	sn_json_key(json, "sites");
	sn_json_array(json);
	for (size_t i = 0; i < phase->sites.count; i++)
		site_write(json, p, &phase->sites.items[i]);
	sn_json_close(json);
	sn_json_key(json, "profile");
	sn_json_array(json);
	for (size_t i = 0; i < phase->profile.count && i < 20; i++) {
		sn_json_object(json);
		source_write(json, p, phase->profile.items[i].function);
		sn_json_member_double(json, "share", phase->profile.items[i].share);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_json_close(json);
}

static void intervals_write(struct sn_json *json, const struct sn_phases *p)
{
	sn_json_key(json, "intervals");
	sn_json_array(json);
	for (size_t r = 0; r < p->intervals->row_count; r++) {
		const struct sn_interval_row *row = &p->intervals->rows.items[r];

		sn_json_object(json);
		sn_json_member_uint(json, "process", row->process);
		sn_json_member_double(json, "t0_s",
				      (double)row->number * (double)p->intervals->interval_ns /
					      1e9);
		sn_json_member_double(json, "t1_s", (double)row->end_ns / 1e9);
		sn_json_key(json, "phase");
		if (p->phase_of[r] == SN_NONE)
			sn_json_null(json);
		else
			sn_json_uint(json, p->phase_of[r]);
		sn_json_close(json);
	}
	sn_json_close(json);
}

/* Where the part is instrumented; heartbeat null: nowhere. */
static void part_site_write(struct sn_json *json, const struct sn_phases *p,
			    const struct sn_phase_cycle *cycle)
{
	const struct sn_phase_site *site = &cycle->site;
	const struct sn_program_loop *loop =
		site->loop == SN_NONE ? NULL : &program_of(p)->loops.items[site->loop];

	sn_json_member_string(json, "kind", sn_cycle_kind_name(cycle->kind));
	sn_json_key(json, "heartbeat");
	if (site->heartbeat)
		sn_json_uint(json, site->heartbeat);
	else
		sn_json_null(json);
	sn_json_member_string(json, "heartbeat_name", site->heartbeat ? site->name : NULL);
	sn_json_member_string(json, "type", sn_site_type_name(site->type));
	sn_json_member_string(json, "loop", loop ? loop->code->id : NULL);
	sn_json_member_string(json, "loop_label", loop ? loop->code->label : NULL);
	sn_pace_write(&site->pace, json);
}

static void cycles_write(struct sn_json *json, const struct sn_phases *p)
{
	sn_json_key(json, "cyclic");
	sn_json_array(json);
	for (size_t i = 0; i < p->cycles.count; i++) {
		const struct sn_phase_cycle *cycle = &p->cycles.items[i];

		sn_json_object(json);
		sn_json_member_string(json, "owner", p->functions[cycle->owner].name);
		source_write(json, p,
			     cycle->site.heartbeat ? cycle->site.function : cycle->function);
		part_site_write(json, p, cycle);
		sn_json_key(json, "phase");
		if (cycle->phase == SN_NONE)
			sn_json_null(json);
		else
			sn_json_uint(json, cycle->phase);
		sn_json_key(json, "calls");
		if (cycle->calls)
			sn_json_uint(json, cycle->calls);
		else
			sn_json_null(json);
		sn_json_member_bool(json, "calls_are_exact",
				    p->activity->calls_source == SN_CALLS_EXACT);
		sn_json_member_double(json, "share", cycle->share);
		sn_json_member_double(json, "mean_s", cycle->mean_ns / 1e9);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void choice_write(struct sn_json *json, const struct sn_phases *p)
{
	sn_json_key(json, "clustering");
	sn_json_array(json);
	for (size_t i = 0; i < p->choice->rows.count; i++) {
		const struct sn_choice_row *row = &p->choice->rows.items[i];

		sn_json_object(json);
		sn_json_member_uint(json, "k", row->k);
		sn_json_member_double(json, "inertia", row->inertia);
		sn_json_member_double(json, "silhouette", row->silhouette);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_json_member_uint(json, "clustering_rows", p->choice->model_rows);
	sn_json_member_bool(json, "clustering_is_subsample", p->choice->is_subsample);
}

static void lengths_write(struct sn_json *json, const struct sn_phases *p)
{
	sn_json_key(json, "lengths");
	sn_json_array(json);
	for (size_t i = 0; i < p->lengths.count; i++) {
		sn_json_object(json);
		sn_json_member_double(json, "interval_s",
				      (double)p->lengths.items[i].interval_ns / 1e9);
		sn_json_member_uint(json, "phase_count", p->lengths.items[i].phase_count);
		sn_json_member_double(json, "explained", p->lengths.items[i].explained);
		sn_json_member_double(json, "agreement", p->lengths.items[i].agreement);
		sn_json_close(json);
	}
	sn_json_close(json);
}

void sn_phases_write_json(const struct sn_phases *p, FILE *out)
{
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.phases/1");
	sn_json_member_string(&json, "experiment", p->profile->experiment->name);
	sn_json_member_double(&json, "interval_s", (double)p->intervals->interval_ns / 1e9);
	sn_json_member_uint(&json, "k_clusters", p->choice->k);
	sn_json_member_string(&json, "method", sn_phase_method_name(p->options.choose.method));
	sn_json_member_string(&json, "sites_method", sn_sites_method_name(p->options.sites));
	sn_json_member_string(&json, "calls_source",
			      sn_calls_source_name(p->activity->calls_source));
	choice_write(&json, p);
	lengths_write(&json, p);
	sn_json_key(&json, "phases");
	sn_json_array(&json);
	for (size_t i = 0; i < p->phases.count; i++)
		phase_write(&json, p, &p->phases.items[i]);
	sn_json_close(&json);
	intervals_write(&json, p);
	cycles_write(&json, p);
	sn_json_key(&json, "warnings");
	sn_json_array(&json);
	for (size_t i = 0; i < p->warnings.count; i++)
		sn_json_string(&json, p->warnings.items[i]);
	sn_json_close(&json);
	sn_json_close(&json);
	sn_json_finish(&json);
}
