/*
 * The list of formats, the frames that all of them share, and the simplest format: folded stacks.
 */
#include "exchange/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "exchange/frames.h"

const char *sn_frame_name(const struct sn_program *program, uint32_t frame, char *room)
{
	if (!sn_frame_is_loop(program, frame))
		return program->functions.items[frame].name;
	snprintf(room, 512, "loop %s",
		 program->loops.items[frame - program->functions.count].code->label);
	return room;
}

void sn_frames_of_stack(const struct sn_program *program, uint32_t stack, bool with_loops,
			struct sn_frames *out)
{
	sn_program_stack_steps(program, stack, &out->steps);
	out->count = 0;
	for (size_t i = 0; i < out->steps.count; i++) {
		const struct sn_step *step = &out->steps.items[i];

		if (step->kind == SN_STEP_FUNCTION)
			sn_vec_push(out, step->index);
		else if (with_loops)
			sn_vec_push(out, (uint32_t)program->functions.count + step->index);
	}
}

void sn_frames_free(struct sn_frames *frames)
{
	sn_vec_release(frames->items);
	sn_vec_free(&frames->steps);
}

/* ---- folded stacks: "main;solve;kernel 1234", one line a path ---- */

/** A frame's name with what separates frames and lines taken out, as flamegraph.pl expects. */
static void add_folded_name(struct sn_text *line, const char *name)
{
	size_t start = line->length;

	sn_text_add_printable(line, name, strlen(name));
	for (size_t i = start; i < line->length; i++)
		if (line->chars[i] == ';')
			line->chars[i] = ':';
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/** Different stacks (by address) may be one path of functions: equal lines are summed. */
static void write_merged(char **lines, size_t count, FILE *out)
{
	qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count;) {
		uint64_t sum = 0;
		size_t same = i;

		/* a line is the path, a zero, and the weight's digits */
		for (; same < count && !strcmp(lines[same], lines[i]); same++)
			sum += strtoull(lines[same] + strlen(lines[same]) + 1, NULL, 10);
		fprintf(out, "%s %" PRIu64 "\n", lines[i], sum);
		i = same;
	}
}

static sn_status export_folded(const struct sn_profile *profile,
			       const struct sn_export_options *options, FILE *out,
			       struct sn_error *err)
{
	const struct sn_program *program = profile->program;
	struct sn_frames frames = { 0 };
	struct sn_text line = { 0 };
	sn_strings lines = { 0 };
	char room[512];

	(void)err;
	for (uint32_t s = 0; s <= program->stack_count; s++) {
		const struct sn_weight *weight = &profile->stacks[s];
		uint64_t ns = weight->cpu_ns + (options->with_blocked ? weight->wait_ns : 0);
		uint64_t value = options->count_samples ? weight->samples : (ns + 500) / 1000;

		if (!value)
			continue;
		sn_frames_of_stack(program, s, options->with_loops, &frames);
		sn_text_clear(&line);
		for (size_t i = 0; i < frames.count; i++) {
			if (i)
				sn_text_add_char(&line, ';');
			add_folded_name(&line, sn_frame_name(program, frames.items[i], room));
		}
		sn_text_add_char(&line, '\0');
		sn_text_addf(&line, "%" PRIu64, value);
		sn_vec_push(&lines, sn_text_take(&line));
	}
	write_merged(lines.items, lines.count, out);
	sn_vec_free_owned(&lines);
	sn_frames_free(&frames);
	return SN_OK;
}

static const struct sn_export_format export_formats[] = {
	{ "folded", "folded", "folded stacks: one line a call path, for flame graph tools",
	  export_folded, NULL },
	{ "speedscope", "speedscope.json", "speedscope: call paths of each thread in time",
	  sn_export_speedscope, NULL },
	{ "pprof", "pb.gz", "pprof: call paths with addresses, lines and inlined functions",
	  sn_export_pprof, NULL },
	{ "callgrind", "callgrind", "callgrind: lines and calls, for KCachegrind",
	  sn_export_callgrind, NULL },
	{ "chrome", "trace.json", "Chrome trace: a timeline, also for Perfetto", sn_export_chrome,
	  NULL },
	{ "otf2", "otf2",
	  "OTF2: MPI calls, messages and functions of each thread, for Vampir and its kin", NULL,
	  sn_export_otf2 },
	{ NULL, NULL, NULL, NULL, NULL },
};

const struct sn_export_format *sn_export_find(const char *name)
{
	for (const struct sn_export_format *f = export_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}
