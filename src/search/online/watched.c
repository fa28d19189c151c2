/* Code that tells of arrivals at a phase's places, in the program's file. */
#include <string.h>

#include "code/image.h"
#include "machine/breakpoints.h"
#include "rewrite/rewrite.h"
#include "search/online/parts.h"

static const char *plan_in(struct sn_phase *phase, struct sn_image *image)
{
	struct sn_structure *structure = NULL;
	struct sn_rewriter *rewriter;
	const char *why;
	size_t count = 0;

	if (!sn_image_has_build_id(image))
		return "its file has no build-id (link with --build-id)";
	if (sn_structure_open(image, &structure, NULL) != SN_OK)
		return "its file cannot be read";
	while (count < SN_MONITOR_PLACES_MAX && phase->boundary.link_addrs[count])
		count++;
	rewriter = sn_rewriter_new(image, structure);
	why = sn_rewriter_told_points(rewriter, phase->boundary.link_addrs, count,
				      &phase->plan_bytes);
	if (!why)
		sn_text_add(&phase->plan_id, sn_image_id(image));
	sn_rewriter_free(rewriter);
	sn_structure_free(structure);
	return why;
}

const char *sn_phase_plan(struct sn_phase *phase)
{
	struct sn_image *image = NULL;
	const char *why = NULL;

	if (phase->boundary.kind != SN_MONITOR_BOUNDARY_ADDRESS || phase->plan_bytes.length)
		return NULL;
	if (sn_image_open(phase->boundary.module, NULL, &image, NULL) != SN_OK)
		why = "its file cannot be read";
	else
		why = plan_in(phase, image);
	sn_image_free(image);
	phase->plan = (struct sn_record_plan){ phase->plan_id.chars, phase->plan_bytes.chars,
					       phase->plan_bytes.length };
	return why;
}

void sn_phase_watch(const struct sn_phase *phase, struct sn_record_options *record)
{
	if (!phase->plan_bytes.length)
		return;
	record->plans = &phase->plan;
	record->plan_count = 1;
}

sn_status sn_online_phase_check(struct sn_phase *phase, struct sn_error *err)
{
	const char *why = sn_phase_plan(phase);

	if (!why || sn_breakpoints_fire())
		return SN_OK;
	return sn_error_set(
		err, SN_ERR_UNSUPPORTED,
		"search: '%s' cannot be watched: no code can be put there, because %s, and this machine lets "
		"hardware breakpoints be set that are never hit (most likely a virtual machine without debug "
		"registers). Name another function or line, or a heartbeat of the program; without --phase the "
		"whole program is searched",
		phase->name.chars, why);
}
