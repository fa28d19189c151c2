/* Writes and reads untouched.tsv: two lines of heading, then a loop a line. */
#include "whatif/untouched.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

static void path_of(const char *experiment_path, struct sn_text *out)
{
	sn_text_addf(out, "%s/untouched.tsv", experiment_path);
}

sn_status sn_untouched_write(const struct sn_profile *first, double counter_hz,
			     const char *experiment_path, struct sn_error *err)
{
	struct sn_file_writer writer = { 0 };
	struct sn_text path = { 0 };
	sn_status status;

	path_of(experiment_path, &path);
	status = sn_file_writer_open(&writer, path.chars, err);
	if (status == SN_OK) {
		fprintf(writer.out, "counter_hz\t%.0f\nloop\tuser_ns\tsamples\n", counter_hz);
		for (size_t l = 0; l < first->program->loops.count; l++) {
			const struct sn_weight *w = &first->loops[l].inclusive;

			if (w->samples)
				fprintf(writer.out, "%s\t%" PRIu64 "\t%" PRIu64 "\n",
					first->program->loops.items[l].code->id,
					w->cpu_ns - w->system_ns, w->samples);
		}
		status = sn_file_writer_commit(&writer, err);
	}
	sn_text_free(&path);
	return status;
}

/* "ID\tNS\tSAMPLES"; false: it is none. */
static bool read_line(struct sn_arena *arena, const char *line, size_t length,
		      struct sn_untouched_loop *out)
{
	const char *tab = memchr(line, '\t', length);
	char numbers[48], *end;

	if (!tab || tab == line || length - (size_t)(tab - line) > sizeof(numbers) - 1)
		return false;
	memcpy(numbers, tab + 1, length - (size_t)(tab + 1 - line));
	numbers[length - (size_t)(tab + 1 - line)] = 0;
	out->id = sn_arena_strndup(arena, line, (size_t)(tab - line));
	out->user_ns = strtoull(numbers, &end, 10);
	if (end == numbers || *end != '\t')
		return false;
	line = end + 1;
	out->samples = strtoull(line, &end, 10);
	return end != line && !*end;
}

static bool read_all(const char *bytes, size_t length, struct sn_untouched *out)
{
	static const char heading[] = "loop\tuser_ns\tsamples\n";
	char first[64];
	int used = 0;

	snprintf(first, sizeof(first), "%.*s", (int)(length < 63 ? length : 63), bytes);
	if (sscanf(first, "counter_hz\t%lf\n%n", &out->counter_hz, &used) != 1 || !used ||
	    !(out->counter_hz > 0) || length - (size_t)used < sizeof(heading) - 1 ||
	    memcmp(bytes + used, heading, sizeof(heading) - 1) != 0)
		return false;
	for (size_t at = (size_t)used + sizeof(heading) - 1; at < length;) {
		const char *end = memchr(bytes + at, '\n', length - at);
		struct sn_untouched_loop loop;

		if (!end || !read_line(&out->arena, bytes + at, (size_t)(end - bytes) - at, &loop))
			return false;
		sn_vec_push(&out->loops, loop);
		at = (size_t)(end - bytes) + 1;
	}
	return true;
}

sn_status sn_untouched_read(const char *experiment_path, struct sn_untouched *out,
			    struct sn_error *err)
{
	struct sn_file_view view = { 0 };
	struct sn_text path = { 0 };
	sn_status status;

	*out = (struct sn_untouched){ 0 };
	path_of(experiment_path, &path);
	status = sn_file_map(path.chars, &view, err);
	if (status == SN_OK && !read_all((const char *)view.bytes, view.length, out)) {
		out->loops.count = 0;
		status = sn_error_set(err, SN_ERR_FORMAT, "'%s' is damaged", path.chars);
	}
	sn_file_unmap(&view);
	sn_text_free(&path);
	return status;
}

const struct sn_untouched_loop *sn_untouched_find(const struct sn_untouched *untouched,
						  const char *id)
{
	for (size_t i = 0; i < untouched->loops.count; i++)
		if (!strcmp(untouched->loops.items[i].id, id))
			return &untouched->loops.items[i];
	return NULL;
}

double sn_untouched_cycles(const struct sn_untouched *untouched,
			   const struct sn_untouched_loop *loop, uint64_t iterations)
{
	double cycles;

	if (!loop || loop->samples < SN_UNTOUCHED_SAMPLES_LEAST || !iterations)
		return NAN;
	cycles = (double)loop->user_ns / 1e9 * untouched->counter_hz / (double)iterations;
	return cycles > 0 ? cycles : NAN;
}

void sn_untouched_free(struct sn_untouched *untouched)
{
	sn_vec_free(&untouched->loops);
	sn_arena_free(&untouched->arena);
}
