/* Overflows of a counter as samples of it. */
#include "profile/event_profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static double sampled(const struct sn_experiment *experiment, uint32_t event)
{
	double sum = 0;

	for (size_t i = 0; i < experiment->event_counts.count; i++)
		if (experiment->event_counts.items[i].event == event)
			sum += experiment->event_counts.items[i].count;
	return sum;
}

static bool is_scaled(const struct sn_experiment *e, uint32_t event)
{
	for (size_t i = 0; i < e->event_counts.count; i++)
		if (e->event_counts.items[i].event == event && e->event_counts.items[i].is_scaled)
			return true;
	return false;
}

void sn_event_add_words(const struct sn_experiment *e, uint32_t number, struct sn_text *out)
{
	const struct sn_event *event = &e->events.items[number];

	sn_text_addf(out, "%s: %.0f sampled, one in %llu", event->name, sampled(e, number),
		     (unsigned long long)event->period);
	if (event->kernel_count >= 0)
		sn_text_addf(out, "; the kernel counted %lld in all processes",
			     (long long)event->kernel_count);
	if (is_scaled(e, number))
		sn_text_add(out,
			    "; the processor counted it in turn with others: scaled by the time in "
			    "which it did");
}

void sn_event_write_json(const struct sn_experiment *e, struct sn_json *json)
{
	sn_json_key(json, "events");
	sn_json_array(json);
	for (uint32_t v = 0; v < e->events.count; v++) {
		const struct sn_event *event = &e->events.items[v];

		sn_json_object(json);
		sn_json_member_string(json, "event", event->name);
		sn_json_member_uint(json, "period", event->period);
		sn_json_member_uint(json, "sampled", (uint64_t)sampled(e, v));
		sn_json_key(json, "kernel_count");
		if (event->kernel_count < 0)
			sn_json_null(json);
		else
			sn_json_int(json, event->kernel_count);
		sn_json_member_bool(json, "scaled", is_scaled(e, v));
		sn_json_close(json);
	}
	sn_json_close(json);
}

sn_status sn_event_find(const struct sn_experiment *e, const char *name, uint32_t *out,
			struct sn_error *err)
{
	struct sn_text names = { 0 };

	for (uint32_t i = 0; i < e->events.count; i++) {
		if (!strcmp(e->events.items[i].name, name)) {
			*out = i;
			return SN_OK;
		}
		sn_text_addf(&names, "%s%s", i ? ", " : "", e->events.items[i].name);
	}
	if (names.length)
		sn_error_set(err, SN_ERR_NOT_FOUND, "this run has no event '%s'; it has %s", name,
			     names.chars);
	else
		sn_error_set(err, SN_ERR_NOT_FOUND,
			     "this run has no events; 'sonde record -e %s PROGRAM' samples them",
			     name);
	sn_text_free(&names);
	return SN_ERR_NOT_FOUND;
}

static void samples_take(struct sn_event_profile *out, const struct sn_experiment *e,
			 uint32_t event)
{
	memset(&out->experiment.samples, 0, sizeof(out->experiment.samples));
	memset(&out->experiment.waits, 0, sizeof(out->experiment.waits));
	for (size_t i = 0; i < e->event_counts.count; i++) {
		const struct sn_event_count *count = &e->event_counts.items[i];
		struct sn_sample sample = { .time_ns = count->time_ns,
					    .cpu_ns = (uint64_t)count->count,
					    .thread = count->thread,
					    .stack = count->stack,
					    .cpu = count->cpu };

		if (count->event != event)
			continue;
		sn_vec_push(&out->experiment.samples, sample);
	}
}

sn_status sn_event_profile_new(const struct sn_program *program, const struct sn_filter *filter,
			       uint32_t event, struct sn_event_profile **out, struct sn_error *err)
{
	struct sn_event_profile *made = sn_alloc_zeroed(1, sizeof(*made));
	sn_status status;

	made->experiment = *program->experiment;
	samples_take(made, program->experiment, event);
	made->program = *program;
	made->program.experiment = &made->experiment;
	status = sn_profile_new(&made->program, filter, &made->profile, err);
	if (status != SN_OK) {
		sn_event_profile_free(made);
		return status;
	}
	*out = made;
	return SN_OK;
}

void sn_event_profile_free(struct sn_event_profile *event)
{
	if (!event)
		return;
	sn_profile_free(event->profile);
	sn_vec_free(&event->experiment.samples);
	free(event);
}
