/* speedscope's file format (its JSON schema is in the npm package,
 * dist/release/file-format-schema.json): frames shared by all, and one sampled profile for each
 * thread. */
#include <inttypes.h>

#include "base/json.h"
#include "exchange/frames.h"

enum { RAW_SAMPLES_MAX = 1000000 }; /* beyond, browsers fail on the text: stacks are summed */

static void write_frames(struct sn_json *json, const struct sn_program *program)
{
	char room[512];

	sn_json_key(json, "shared");
	sn_json_object(json);
	sn_json_key(json, "frames");
	sn_json_array(json);
	for (uint32_t f = 0; f < sn_frame_count(program); f++) {
		const char *file = NULL;
		uint32_t line = 0;

		sn_json_object(json);
		sn_json_member_string(json, "name", sn_frame_name(program, f, room));
		if (sn_frame_is_loop(program, f)) {
			file = program->loops.items[f - program->functions.count].code->file;
			line = program->loops.items[f - program->functions.count].code->line_first;
		} else {
			file = program->functions.items[f].file;
			line = program->functions.items[f].line;
		}
		if (file)
			sn_json_member_string(json, "file", file);
		if (file && line)
			sn_json_member_uint(json, "line", line);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_json_close(json);
}

static void begin_profile(struct sn_json *json, const char *name, int64_t start_ns, uint64_t end_ns)
{
	sn_json_object(json);
	sn_json_member_string(json, "type", "sampled");
	sn_json_member_string(json, "name", name);
	sn_json_member_string(json, "unit", "nanoseconds");
	sn_json_member_int(json, "startValue", start_ns);
	sn_json_member_uint(json, "endValue", end_ns);
	sn_json_key(json, "samples");
	sn_json_array(json);
}

static void write_stack(struct sn_json *json, const struct sn_frames *frames)
{
	sn_json_array(json);
	for (size_t i = 0; i < frames->count; i++)
		sn_json_uint(json, frames->items[i]);
	sn_json_close(json);
}

/** The samples of one thread, [first, end) of the experiment's. */
static void write_thread(struct sn_json *json, const struct sn_profile *profile,
			 const struct sn_export_options *options, size_t first, size_t end,
			 struct sn_frames *frames)
{
	const struct sn_experiment *e = profile->experiment;
	const struct sn_thread *thread = &e->threads.items[e->samples.items[first].thread];
	uint64_t total = 0;
	char name[256];

	for (size_t i = first; i < end; i++)
		if (sn_profile_has_sample(profile, &e->samples.items[i]))
			total += e->samples.items[i].cpu_ns;
	if (!total)
		return;
	snprintf(name, sizeof(name), "%.100s %d (process %" PRIu32 ")",
		 thread->name ? thread->name : "thread", thread->tid, thread->process);
	begin_profile(json, name, 0, total);
	frames->count = 0;
	for (size_t i = first; i < end; i++) {
		if (!sn_profile_has_sample(profile, &e->samples.items[i]))
			continue;
		if (sn_program_is_rest(profile->program, &e->samples.items[i]) && frames->count) {
			write_stack(json,
				    frames); /* nobody observed it: where the thread was last */
			continue;
		}
		sn_frames_of_stack(profile->program,
				   sn_stack_number(profile->program, e->samples.items[i].stack),
				   options->with_loops, frames);
		write_stack(json, frames);
	}
	sn_json_close(json);
	sn_json_key(json, "weights");
	sn_json_array(json);
	for (size_t i = first; i < end; i++)
		if (sn_profile_has_sample(profile, &e->samples.items[i]))
			sn_json_uint(json, e->samples.items[i].cpu_ns);
	sn_json_close(json);
	sn_json_close(json);
}

static void write_threads(struct sn_json *json, const struct sn_profile *profile,
			  const struct sn_export_options *options, struct sn_frames *frames)
{
	const struct sn_experiment *e = profile->experiment;

	for (size_t first = 0, end; first < e->samples.count; first = end) {
		end = first + 1;
		while (end < e->samples.count &&
		       e->samples.items[end].thread == e->samples.items[first].thread)
			end++;
		write_thread(json, profile, options, first, end, frames);
	}
}

/** One profile of all stacks, heaviest or not: what is too many for time, and what was blocked. */
static void write_sums(struct sn_json *json, const struct sn_profile *profile,
		       const struct sn_export_options *options, const char *name, bool blocked,
		       struct sn_frames *frames)
{
	uint64_t total = 0;
	uint32_t count = profile->program->stack_count + 1;

	for (uint32_t s = 0; s < count; s++)
		total += blocked ? profile->stacks[s].wait_ns : profile->stacks[s].cpu_ns;
	if (!total)
		return;
	begin_profile(json, name, 0, total);
	for (uint32_t s = 0; s < count; s++) {
		if (!(blocked ? profile->stacks[s].wait_ns : profile->stacks[s].cpu_ns))
			continue;
		sn_frames_of_stack(profile->program, s, options->with_loops, frames);
		write_stack(json, frames);
	}
	sn_json_close(json);
	sn_json_key(json, "weights");
	sn_json_array(json);
	for (uint32_t s = 0; s < count; s++) {
		uint64_t ns = blocked ? profile->stacks[s].wait_ns : profile->stacks[s].cpu_ns;

		if (ns)
			sn_json_uint(json, ns);
	}
	sn_json_close(json);
	sn_json_close(json);
}

sn_status sn_export_speedscope(const struct sn_profile *profile,
			       const struct sn_export_options *options, FILE *out,
			       struct sn_error *err)
{
	struct sn_json json = { .out = out };
	struct sn_frames frames = { 0 };

	(void)err;
	sn_json_object(&json);
	sn_json_member_string(&json, "$schema",
			      "https://www.speedscope.app/file-format-schema.json");
	sn_json_member_string(&json, "exporter", "sonde");
	sn_json_member_string(&json, "name", profile->experiment->name);
	sn_json_member_int(&json, "activeProfileIndex", 0);
	write_frames(&json, profile->program);
	sn_json_key(&json, "profiles");
	sn_json_array(&json);
	if (profile->experiment->samples.count > RAW_SAMPLES_MAX)
		write_sums(&json, profile, options, "CPU time of all threads (summed)", false,
			   &frames);
	else
		write_threads(&json, profile, options, &frames);
	if (options->with_blocked)
		write_sums(&json, profile, options, "blocked time of all threads (summed)", true,
			   &frames);
	sn_json_close(&json);
	sn_json_close(&json);
	sn_json_finish(&json);
	sn_frames_free(&frames);
	return SN_OK;
}
