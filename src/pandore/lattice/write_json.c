/*
 * The answer as JSON. Counts are strings of decimal digits, as they may have more of them than a
 * JSON reader keeps.
 */
#include <math.h>

#include "base/json.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/lattice.h"

static void write_number(struct sn_json *json, const uint64_t *number, unsigned limbs)
{
	struct sn_text text = { 0 };

	sn_limbs_add_decimal(&text, number, limbs);
	sn_json_string(json, text.chars);
	sn_text_free(&text);
}

static void write_numbers(struct sn_json *json, const char *key, const uint64_t *numbers,
			  size_t count, unsigned limbs)
{
	sn_json_key(json, key);
	sn_json_array(json);
	for (size_t i = 0; i < count; i++)
		write_number(json, numbers + i * limbs, limbs);
	sn_json_close(json);
}

static void write_degrees(struct sn_json *json, const struct sn_interval_counts *counts)
{
	char key[16];

	sn_json_key(json, "out_degrees");
	sn_json_object(json);
	for (uint32_t d = 0; d < counts->degree_count; d++) {
		const uint64_t *number = counts->degrees + (size_t)d * counts->limbs;

		if (sn_limbs_is_zero(number, counts->limbs))
			continue;
		snprintf(key, sizeof(key), "%u", d);
		sn_json_key(json, key);
		write_number(json, number, counts->limbs);
	}
	sn_json_close(json);
}

/* The totals of the lattice, or of a window. */
static void write_counts(struct sn_json *json, const struct sn_lattice_window *window)
{
	const struct sn_interval_counts *counts = &window->counts;

	sn_json_key(json, "cuts");
	write_number(json, counts->cuts, counts->limbs);
	sn_json_key(json, "arcs");
	write_number(json, counts->arcs, counts->limbs);
	write_numbers(json, "levels", counts->levels, counts->level_count, counts->limbs);
	write_numbers(json, "level_arcs", counts->level_arcs, counts->level_count, counts->limbs);
	write_degrees(json, counts);
	sn_json_member_double(json, "mean_out_degree", sn_lattice_window_mean(window));
}

static void write_unknown_counts(struct sn_json *json)
{
	static const char *const KEYS[] = { "cuts",	  "arcs",	 "levels",
					    "level_arcs", "out_degrees", "mean_out_degree" };

	for (size_t i = 0; i < sizeof(KEYS) / sizeof(*KEYS); i++)
		sn_json_member_null(json, KEYS[i]);
}

static void write_cut(struct sn_json *json, const char *key, const uint32_t *cut, uint32_t count)
{
	sn_json_key(json, key);
	sn_json_array(json);
	for (uint32_t p = 0; p < count; p++)
		sn_json_uint(json, cut[p]);
	sn_json_close(json);
}

static void write_windows(struct sn_json *json, const struct sn_lattice_answer *answer)
{
	const struct sn_lattice_profile *profile = &answer->profile;

	sn_json_key(json, "windows");
	if (sn_lattice_answer_is_exact(answer)) {
		sn_json_null(json);
		return;
	}
	sn_json_array(json);
	for (size_t w = 0; w < profile->windows.count; w++) {
		const struct sn_lattice_window *window = &profile->windows.items[w];

		sn_json_object(json);
		write_cut(json, "from", window->from, profile->process_count);
		write_cut(json, "to", window->to, profile->process_count);
		sn_json_member_uint(json, "level_first", window->level_first);
		sn_json_member_uint(json, "level_last", window->level_last);
		sn_json_member_bool(json, "whole", window->is_whole);
		write_counts(json, window);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void write_event(struct sn_json *json, const struct sn_execution_event *event)
{
	sn_json_member_uint(json, "process", event->process);
	sn_json_member_uint(json, "index", event->index);
	sn_json_member_string(json, "label", event->label);
	if (event->file)
		sn_json_member_string(json, "file", event->file);
	if (event->line)
		sn_json_member_uint(json, "line", event->line);
	if (event->work_label)
		sn_json_member_string(json, "work", event->work_label);
	if (event->work_file && event->work_line) {
		sn_json_member_string(json, "work_file", event->work_file);
		sn_json_member_uint(json, "work_line", event->work_line);
	}
}

static void write_enabled(struct sn_json *json, const struct sn_lattice_answer *answer,
			  const struct sn_segment *segment)
{
	sn_json_key(json, "enabled");
	sn_json_array(json);
	for (size_t i = 0; i < segment->enabled.count; i++) {
		const struct sn_segment_enabled *entry = &segment->enabled.items[i];

		sn_json_object(json);
		write_event(json, &answer->execution->events[entry->event]);
		if (segment->is_by_time)
			sn_json_member_double(json, "runs_s", entry->seconds);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void write_blocked(struct sn_json *json, const struct sn_lattice_answer *answer,
			  const struct sn_segment *segment)
{
	sn_json_key(json, "blocked");
	sn_json_array(json);
	for (size_t i = 0; i < segment->blocked.count; i++) {
		const struct sn_segment_blocked *entry = &segment->blocked.items[i];
		const struct sn_execution_event *waits_for =
			&answer->execution->events[entry->waits_for];

		sn_json_object(json);
		write_event(json, &answer->execution->events[entry->event]);
		sn_json_key(json, "waits_for");
		sn_json_array(json);
		sn_json_uint(json, waits_for->process);
		sn_json_uint(json, waits_for->index);
		sn_json_close(json);
		sn_json_member_string(json, "waits_for_label", waits_for->label);
		if (waits_for->line)
			sn_json_member_uint(json, "waits_for_line", waits_for->line);
		if (segment->is_by_time)
			sn_json_member_double(json, "idle_s", entry->seconds);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void write_segment(struct sn_json *json, const struct sn_lattice_answer *answer,
			  const struct sn_segment *segment)
{
	sn_json_object(json);
	sn_json_member_uint(json, "level_first", segment->level_first);
	sn_json_member_uint(json, "level_last", segment->level_last);
	sn_json_member_double(json, "mean_out_degree", segment->mean_out_degree);
	sn_json_member_uint(json, "processes_max", segment->processes_max);
	sn_json_member_string(json, "found_by", segment->is_by_time ? "time" : "cuts");
	sn_json_member_double(json, "time_lost_s", segment->time_lost_s);
	sn_json_member_double(json, "t0_s", segment->t0_s);
	sn_json_member_double(json, "t1_s", segment->t1_s);
	sn_json_member_double(json, "mean_busy", segment->mean_busy);
	write_enabled(json, answer, segment);
	sn_json_member_uint(json, "enabled_count", segment->enabled_count);
	write_blocked(json, answer, segment);
	sn_json_member_uint(json, "blocked_count", segment->blocked_count);
	sn_json_close(json);
}

static void write_measured(struct sn_json *json, const struct sn_lattice_answer *answer)
{
	const struct sn_lattice_run *run = &answer->run;

	sn_json_member_double(json, "measured_wait_s", sn_lattice_answer_measured_wait_s(answer));
	sn_json_key(json, "crowded_cpus");
	if (run->cpu_count)
		sn_json_uint(json, run->cpu_count);
	else
		sn_json_null(json);
}

static void write_time(struct sn_json *json, const struct sn_lattice_answer *answer)
{
	const struct sn_schedule *schedule = &answer->schedule;

	sn_json_key(json, "time");
	if (!answer->execution->has_durations) {
		sn_json_null(json);
		return;
	}
	sn_json_object(json);
	sn_json_member_double(json, "work_s", schedule->work_s);
	sn_json_member_double(json, "critical_path_s", schedule->critical_s);
	sn_json_member_double(json, "potential_parallelism",
			      schedule->work_s / schedule->critical_s);
	sn_json_member_double(json, "modelled_wait_s", schedule->wait_s);
	write_measured(json, answer);
	sn_json_member_double(json, "elapsed_s", schedule->elapsed_s);
	sn_json_member_double(json, "realised_parallelism", schedule->work_s / schedule->elapsed_s);
	sn_json_member_uint(json, "unknown_durations", schedule->unknown_count);
	sn_json_key(json, "critical_path");
	sn_json_array(json);
	for (uint32_t i = 0; i < schedule->path_count && i < SN_SEGMENT_ENTRIES_MAX; i++) {
		const struct sn_execution_event *event =
			&answer->execution->events[schedule->path[i]];

		sn_json_object(json);
		write_event(json, event);
		sn_json_member_double(json, "duration_s", event->duration_s);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_json_member_uint(json, "critical_path_count", schedule->path_count);
	sn_json_close(json);
}

static void write_event_member(struct sn_json *json, const char *key,
			       const struct sn_lattice_answer *answer, uint32_t event)
{
	sn_json_key(json, key);
	sn_json_object(json);
	write_event(json, &answer->execution->events[event]);
	sn_json_close(json);
}

static void write_receives(struct sn_json *json, const struct sn_lattice_answer *answer)
{
	const struct sn_lattice_run *run = &answer->run;

	sn_json_key(json, "receives");
	if (!run->knows_receives) {
		sn_json_null(json);
		return;
	}
	sn_json_object(json);
	sn_json_member_uint(json, "from_any_source", run->wildcard_count);
	sn_json_member_uint(json, "race_count", run->race_count);
	sn_json_key(json, "races");
	sn_json_array(json);
	for (size_t i = 0; i < run->race_count && i < SN_SEGMENT_ENTRIES_MAX; i++) {
		sn_json_object(json);
		write_event_member(json, "receive", answer, run->races[i].receive);
		write_event_member(json, "met", answer, run->races[i].sent);
		write_event_member(json, "other", answer, run->races[i].other);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_json_close(json);
}

void sn_lattice_write_json(const struct sn_lattice_answer *answer, FILE *out)
{
	const struct sn_lattice_profile *profile = &answer->profile;
	bool is_exact = sn_lattice_answer_is_exact(answer);
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.lattice/1");
	sn_json_member_string(&json, "trace", answer->name);
	sn_json_member_uint(&json, "processes", profile->process_count);
	sn_json_member_uint(&json, "events", profile->event_count);
	sn_json_member_double(&json, "mean_level_out_degree", sn_lattice_mean_of_levels(profile));
	sn_json_member_double(&json, "events_per_step", sn_lattice_answer_per_step(answer));
	if (is_exact)
		write_counts(&json, &profile->windows.items[0]);
	else
		write_unknown_counts(&json);
	sn_json_member_bool(&json, "exact", is_exact);
	write_windows(&json, answer);
	sn_json_key(&json, "level_processes");
	sn_json_array(&json);
	for (uint32_t k = 0; k < profile->level_count; k++)
		sn_json_uint(&json, profile->level_processes[k]);
	sn_json_close(&json);
	sn_json_member_string(&json, "stopped_by", profile->stopped_by);
	sn_json_member_string(&json, "fault", answer->fault);
	sn_json_member_string(&json, "ended_early", answer->run.ended_early);
	sn_json_member_uint(&json, "depth", answer->depth);
	sn_json_member_uint(&json, "synchronisations", profile->synchronisation_count);
	write_time(&json, answer);
	write_receives(&json, answer);
	sn_json_key(&json, "segments");
	sn_json_array(&json);
	for (size_t s = 0; s < answer->segments.items.count; s++)
		write_segment(&json, answer, &answer->segments.items.items[s]);
	sn_json_close(&json);
	sn_json_close(&json);
	sn_json_finish(&json);
}
