/* Scenarios: read and checked. What hosts measure is made of them in scenario_tables.c. */
#include "search/simulate/scenario.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "search/simulate/scenario_parts.h"
#include "wire/link.h"

__attribute__((format(printf, 3, 4))) static sn_status
fail(const struct sn_scenario *s, struct sn_error *err, const char *format, ...)
{
	char sentence[512];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	return sn_error_set(err, SN_ERR_FORMAT, "scenario: '%s': %s", s->path, sentence);
}

/* ---- sets ---- */

static bool set_number(const char **at, uint32_t *out)
{
	uint64_t number = 0;
	const char *begin = *at;

	for (; **at >= '0' && **at <= '9' && number < UINT32_MAX; (*at)++)
		number = number * 10 + (uint64_t)(**at - '0');
	*out = (uint32_t)number;
	return *at > begin && number < UINT32_MAX;
}

bool sn_scenario_set_next(const char **at, uint32_t *first, uint32_t *last)
{
	if (!set_number(at, first))
		return false;
	*last = *first;
	if (**at == '-') {
		(*at)++;
		if (!set_number(at, last) || *last < *first)
			return false;
	}
	if (**at == ',' && (*at)[1])
		(*at)++;
	else if (**at)
		return false;
	return true;
}

static sn_status set_check(const struct sn_scenario *s, const json_t *metric, size_t index,
			   const char *key, uint32_t count, struct sn_error *err)
{
	const json_t *given = json_object_get(metric, key);
	const char *at = json_string_value(given);
	uint32_t first, last;

	if (!given || json_is_null(given))
		return SN_OK;
	if (!at || !*at)
		return fail(s, err, "\"%s\" of metrics[%zu] is no set such as \"0-3,7\"", key,
			    index);
	while (*at) {
		if (!sn_scenario_set_next(&at, &first, &last))
			return fail(s, err,
				    "\"%s\" of metrics[%zu] is no set such as \"0-3,7\": '%s'", key,
				    index, json_string_value(given));
		if (last >= count)
			return fail(
				s, err,
				"\"%s\" of metrics[%zu] names %u, and there are %u, from 0 to %u",
				key, index, last, count, count - 1);
	}
	return SN_OK;
}

static sn_status sets_check(const struct sn_scenario *s, struct sn_error *err)
{
	size_t index;
	json_t *metric;
	sn_status status = SN_OK;

	json_array_foreach(json_object_get(s->root, "metrics"), index, metric)
	{
		status = set_check(s, metric, index, "hosts", s->hosts, err);
		if (status == SN_OK)
			status = set_check(s, metric, index, "phases", s->phases, err);
		if (status != SN_OK)
			break;
	}
	return status;
}

/* Values of a metric that nothing declares would be asked for by no property. */
static sn_status names_check(const struct sn_scenario *s, const struct sn_library *library,
			     struct sn_error *err)
{
	size_t index;
	json_t *metric;

	json_array_foreach(json_object_get(s->root, "metrics"), index, metric)
	{
		const char *name = json_string_value(json_object_get(metric, "metric"));
		const char *near;

		if (!name || sn_library_metric(library, name))
			continue;
		near = sn_library_metric_near(library, name);
		return fail(s, err, "metrics[%zu]: there is no metric '%.80s'%s%s%s", index, name,
			    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	}
	return SN_OK;
}

/* ---- faults ---- */

static bool agent_read(const char *text, struct sn_fault *fault)
{
	const bool is_inner = sn_starts_with(text, "inner "),
		   is_node = sn_starts_with(text, "node ");
	const char *at = is_inner ? text + 6 : text + 5;
	uint32_t number;

	fault->agent = SN_LINK_FRONT;
	if (!strcmp(text, "front"))
		return true;
	if ((!is_inner && !is_node) || !set_number(&at, &number) || *at || number >= SN_LINK_INNER)
		return false;
	fault->agent = is_inner ? SN_LINK_INNER + number : number;
	return true;
}

static sn_status fault_read(struct sn_scenario *s, const json_t *object, size_t index,
			    struct sn_error *err)
{
	static const char *const kinds[] = { "kill", "freeze", "cut" };
	const char *kind = json_string_value(json_object_get(object, "kind"));
	const char *agent = json_string_value(json_object_get(object, "agent"));
	const json_t *at = json_object_get(object, "at_s"),
		     *length = json_object_get(object, "for_s");
	struct sn_fault fault = { .at_s = json_number_value(at), .for_s = NAN };
	size_t which = 0;

	while (kind && which < 3 && strcmp(kind, kinds[which]) != 0)
		which++;
	if (!kind || which == 3)
		return fail(s, err, "\"kind\" of faults[%zu] is not kill, freeze or cut", index);
	fault.kind = (enum sn_fault_kind)which;
	if (!json_is_number(at) || !(fault.at_s >= 0))
		return fail(s, err, "\"at_s\" of faults[%zu] is no number of seconds", index);
	if (!agent || !agent_read(agent, &fault))
		return fail(s, err,
			    "\"agent\" of faults[%zu] is not \"front\", \"inner N\" or \"node N\"",
			    index);
	if (fault.agent < SN_LINK_INNER && fault.agent >= s->hosts)
		return fail(s, err, "faults[%zu] names node %u, and there are %u, from 0 to %u",
			    index, fault.agent, s->hosts, s->hosts - 1);
	if (json_is_number(length) && json_number_value(length) > 0)
		fault.for_s = json_number_value(length);
	else if (length && !json_is_null(length))
		return fail(s, err, "\"for_s\" of faults[%zu] is no number of seconds", index);
	if (fault.kind == SN_FAULT_CUT && isnan(fault.for_s))
		return fail(s, err, "faults[%zu] is a cut and lacks \"for_s\", how long it lasts",
			    index);
	sn_vec_push(&s->faults, fault);
	return SN_OK;
}

static sn_status faults_read(struct sn_scenario *s, struct sn_error *err)
{
	const json_t *faults = json_object_get(s->root, "faults");
	size_t index;
	json_t *object;
	sn_status status = SN_OK;

	if (faults && !json_is_array(faults))
		return fail(s, err, "\"faults\" is no list");
	json_array_foreach(faults, index, object)
	{
		status = fault_read(s, object, index, err);
		if (status != SN_OK)
			break;
	}
	return status;
}

/* ---- all ---- */

static sn_status count_read(const struct sn_scenario *s, const char *key, uint32_t most,
			    uint32_t *out, struct sn_error *err)
{
	const json_t *value = json_object_get(s->root, key);
	long long number = json_integer_value(value);

	*out = 1;
	if (!value)
		return SN_OK;
	if (!json_is_integer(value) || number < 1 || number > most)
		return fail(s, err, "\"%s\" is no whole number from 1 to %u", key, most);
	*out = (uint32_t)number;
	return SN_OK;
}

static void lanes_count(struct sn_scenario *s)
{
	const json_t *processes = json_object_get(s->root, "processes");
	size_t index;
	json_t *process;

	s->processes = (uint32_t)json_array_size(processes);
	json_array_foreach(processes, index, process) s->threads +=
		(uint32_t)json_array_size(json_object_get(process, "threads"));
	if (!s->processes)
		s->processes = 1;
}

/* The region of kind "program", or an id that no region has. */
static void program_find(struct sn_scenario *s)
{
	struct sn_text own = { 0 };
	bool is_taken = true;
	size_t index;
	json_t *region;

	json_array_foreach(json_object_get(s->root, "regions"), index, region)
	{
		const char *kind = json_string_value(json_object_get(region, "kind"));

		if (!s->program && kind && !strcmp(kind, "program") &&
		    json_is_string(json_object_get(region, "region")))
			s->program =
				sn_strdup(json_string_value(json_object_get(region, "region")));
	}
	sn_text_add(&own, "program");
	while (!s->program && is_taken) {
		is_taken = false;
		json_array_foreach(json_object_get(s->root, "regions"), index, region)
		{
			const char *id = json_string_value(json_object_get(region, "region"));

			is_taken = is_taken || (id && !strcmp(id, own.chars));
		}
		if (is_taken)
			sn_text_add_char(&own, '\'');
	}
	if (!s->program)
		s->program = sn_strdup(own.chars);
	sn_text_free(&own);
}

static sn_status root_read(struct sn_scenario *s, const struct sn_library *library,
			   struct sn_error *err)
{
	const char *schema = json_string_value(json_object_get(s->root, "schema"));
	const json_t *phase = json_object_get(s->root, "phase_s");
	sn_status status;

	if (!schema || strcmp(schema, "sonde.scenario/1") != 0)
		return fail(s, err, "its \"schema\" is not \"sonde.scenario/1\"");
	s->phase_s = json_number_value(phase);
	if (!(s->phase_s > 0))
		return fail(s, err, "\"phase_s\", the seconds of a phase, is no number above 0");
	status = count_read(s, "hosts", SN_HOSTS_MOST, &s->hosts, err);
	if (status == SN_OK)
		status = count_read(s, "phases", SN_PHASES_MOST, &s->phases, err);
	if (status == SN_OK)
		status = sets_check(s, err);
	if (status == SN_OK)
		status = names_check(s, library, err);
	if (status == SN_OK)
		status = faults_read(s, err);
	if (status != SN_OK)
		return status;
	lanes_count(s);
	program_find(s);
	return sn_scenario_tables_check(s, library, err);
}

static char *name_of(const char *path)
{
	const char *base = sn_base_name(path), *end = strrchr(base, '.');

	return sn_strndup(base, end && end > base ? (size_t)(end - base) : strlen(base));
}

sn_status sn_scenario_read_memory(const char *name, const char *bytes, size_t length,
				  const struct sn_library *library, struct sn_scenario **out,
				  struct sn_error *err)
{
	struct sn_scenario *s = sn_alloc_zeroed(1, sizeof(*s));
	json_error_t fault;
	sn_status status;

	s->name = name_of(name);
	s->path = sn_strdup(name);
	s->root = json_loadb(length ? bytes : "", length, 0, &fault);
	if (!s->root)
		status = fail(s, err, "no JSON: %s (line %d, column %d)", fault.text, fault.line,
			      fault.column);
	else
		status = root_read(s, library, err);
	if (status == SN_OK)
		*out = s;
	else
		sn_scenario_free(s);
	return status;
}

sn_status sn_scenario_read(const char *path, const struct sn_library *library,
			   struct sn_scenario **out, struct sn_error *err)
{
	struct sn_file_view view;
	sn_status status = sn_file_map(path, &view, err);

	if (status != SN_OK)
		return status;
	status = sn_scenario_read_memory(path, (const char *)view.bytes, view.length, library, out,
					 err);
	sn_file_unmap(&view);
	return status;
}

void sn_scenario_free(struct sn_scenario *s)
{
	if (!s)
		return;
	json_decref(s->root);
	sn_vec_free(&s->faults);
	free(s->program);
	free(s->name);
	free(s->path);
	free(s);
}
