/* Finds loops by their place in the program's structure, sampled or not. */
#include "cli/unmet_loops.h"

#include <string.h>

#include "code/image.h"
#include "views/find.h"

struct seeker {
	const char *name;
	size_t begin;  /* of what it has found in `out` */
	uint32_t span; /* lines of what it has found, but one; UINT32_MAX: nothing yet */
	struct sn_unmet_loops *out;
};

static uint32_t span_of(const struct sn_loop *loop)
{
	return loop->line_last - loop->line_first;
}

/* One of less lines is nearer, and takes the place of all before. */
static void consider(struct seeker *seeker, uint32_t module, const struct sn_loop *loop)
{
	struct sn_unmet_loop one = { module, loop->header_link_addr };

	if (!sn_find_loop_is_called(loop, seeker->name) &&
	    !sn_find_loop_has_line(loop, seeker->name))
		return;
	if (span_of(loop) > seeker->span)
		return;
	if (span_of(loop) < seeker->span)
		seeker->out->count = seeker->begin;
	seeker->span = span_of(loop);
	sn_vec_push(seeker->out, one);
}

static void look_into(struct seeker *seeker, const struct sn_experiment *experiment,
		      uint32_t module)
{
	struct sn_structure *structure = NULL;
	struct sn_image *image;

	if (!sn_plan_image_open(&experiment->modules.items[module], &image) &&
	    sn_structure_open(image, &structure, NULL) == SN_OK) {
		sn_structure_prepare_all(structure, SN_PREPARE_ALL);
		for (size_t f = 0; f < sn_structure_function_count(structure); f++) {
			const struct sn_function *function = sn_structure_function(structure, f);

			for (uint32_t l = 0; l < function->loop_count; l++)
				consider(seeker, module, &function->loops[l]);
		}
	}
	sn_structure_free(structure);
	sn_image_free(image);
}

/* Whether nothing in the structure can be nearer than the loop that samples met. */
static bool is_nearest(const struct sn_loop *met, const char *name)
{
	return met->is_innermost || sn_find_loop_is_called(met, name) || !span_of(met);
}

bool sn_cli_unmet_loops_find(const struct sn_profile *profile, const char *name, uint32_t met,
			     struct sn_unmet_loops *out)
{
	const struct sn_experiment *experiment = profile->experiment;
	const struct sn_loop *code =
		met == SN_NONE ? NULL : profile->program->loops.items[met].code;
	struct seeker seeker = { name, out->count, UINT32_MAX, out };

	if (!strchr(name, ':') || (code && is_nearest(code, name)))
		return false;
	if (code)
		seeker.span = span_of(code) - 1;
	for (uint32_t m = 0; m < experiment->modules.count; m++)
		if (experiment->modules.items[m].is_main || profile->modules[m].exclusive.samples)
			look_into(&seeker, experiment, m);
	return out->count > seeker.begin;
}
