/* Chrome's trace event format ("Trace Event Format", JSON object form): begin and end of every
 * frame of every thread, as sampling saw them. A frame that successive samples share is one slice.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "exchange/frames.h"
#include "profile/wait.h"

struct builder {
	const struct sn_profile *profile;
	const struct sn_export_options *options;
	struct sn_json json;
	struct sn_frames frames, open; /* of this sample; begun and not ended */
	int64_t open_until_ns;
	int32_t pid, tid;
	int64_t gap_ns; /* samples further apart are different slices */
};

static void begin_event(struct builder *b, const char *phase, int64_t time_ns)
{
	sn_json_object(&b->json);
	sn_json_member_string(&b->json, "ph", phase);
	sn_json_member_int(&b->json, "pid", b->pid);
	sn_json_member_int(&b->json, "tid", b->tid);
	sn_json_member_double(&b->json, "ts", (double)time_ns / 1000);
}

static void put_name(struct builder *b, const char *kind, const char *name)
{
	begin_event(b, "M", 0);
	sn_json_member_string(&b->json, "name", kind);
	sn_json_key(&b->json, "args");
	sn_json_object(&b->json);
	sn_json_member_string(&b->json, "name", name);
	sn_json_close(&b->json);
	sn_json_close(&b->json);
}

/** Ends frames until `depth` are open. */
static void close_to(struct builder *b, size_t depth, int64_t time_ns)
{
	for (; b->open.count > depth; b->open.count--) {
		begin_event(b, "E", time_ns);
		sn_json_close(&b->json);
	}
}

static void open_frame(struct builder *b, uint32_t frame, int64_t time_ns)
{
	const struct sn_program *program = b->profile->program;
	char room[512];

	begin_event(b, "B", time_ns);
	sn_json_member_string(&b->json, "name", sn_frame_name(program, frame, room));
	sn_json_member_string(&b->json, "cat",
			      sn_frame_is_loop(program, frame) ? "loop" : "function");
	sn_json_close(&b->json);
	sn_vec_push(&b->open, frame);
}

static void put_sample(struct builder *b, const struct sn_sample *sample)
{
	int64_t start_ns = sample->time_ns - (int64_t)sample->cpu_ns;
	size_t same = 0;

	if (sample->flags & SN_SAMPLE_REMAINDER)
		return; /* time, but nobody looked where */
	if (start_ns < b->open_until_ns)
		start_ns = b->open_until_ns;
	if (start_ns > sample->time_ns)
		start_ns = sample->time_ns;
	if (start_ns - b->open_until_ns > b->gap_ns)
		close_to(b, 0, b->open_until_ns);
	sn_frames_of_stack(b->profile->program, sn_stack_number(b->profile->program, sample->stack),
			   b->options->with_loops, &b->frames);
	while (same < b->open.count && same < b->frames.count &&
	       b->open.items[same] == b->frames.items[same])
		same++;
	close_to(b, same, start_ns);
	for (size_t i = same; i < b->frames.count; i++)
		open_frame(b, b->frames.items[i], start_ns);
	b->open_until_ns = sample->time_ns;
}

static void begin_thread(struct builder *b, uint32_t number)
{
	const struct sn_experiment *e = b->profile->experiment;
	const struct sn_thread *thread = &e->threads.items[number];

	close_to(b, 0, b->open_until_ns);
	b->pid = e->processes.items[thread->process].pid;
	b->tid = thread->tid;
	b->open_until_ns = thread->start_ns;
	if (thread->name)
		put_name(b, "thread_name", thread->name);
}

static void put_waits(struct builder *b)
{
	const struct sn_experiment *e = b->profile->experiment;

	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		const struct sn_thread *thread = &e->threads.items[wait->thread];

		b->pid = e->processes.items[thread->process].pid;
		b->tid = thread->tid;
		begin_event(b, "X", wait->time_ns);
		sn_json_member_double(&b->json, "dur", (double)wait->duration_ns / 1000);
		sn_json_member_string(&b->json, "name", sn_wait_kind_name(wait->kind));
		sn_json_member_string(&b->json, "cat", "blocked");
		sn_json_close(&b->json);
	}
}

sn_status sn_export_chrome(const struct sn_profile *profile,
			   const struct sn_export_options *options, FILE *out, struct sn_error *err)
{
	const struct sn_experiment *e = profile->experiment;
	struct builder b = { .profile = profile, .options = options, .json = { .out = out } };
	uint32_t thread = SN_NONE;

	(void)err;
	b.gap_ns = e->processes.count && e->processes.items[0].rate_hz > 0
			   ? (int64_t)(2e9 / sn_process_least_hz(&e->processes.items[0]))
			   : 20000000;
	sn_json_object(&b.json);
	sn_json_member_string(&b.json, "displayTimeUnit", "ms");
	sn_json_key(&b.json, "traceEvents");
	sn_json_array(&b.json);
	for (size_t i = 0; i < e->processes.count; i++) {
		b.pid = b.tid = e->processes.items[i].pid;
		if (e->processes.items[i].program)
			put_name(&b, "process_name", e->processes.items[i].program);
	}
	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		if (!sn_profile_has_sample(profile, sample))
			continue;
		if (sample->thread != thread)
			begin_thread(&b, thread = sample->thread);
		put_sample(&b, sample);
	}
	close_to(&b, 0, b.open_until_ns);
	if (options->with_blocked)
		put_waits(&b);
	sn_json_close(&b.json);
	sn_json_close(&b.json);
	sn_json_finish(&b.json);
	sn_frames_free(&b.frames);
	sn_frames_free(&b.open);
	return SN_OK;
}
