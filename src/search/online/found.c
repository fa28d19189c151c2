/* Parts of main loops as phases to be searched. */
#include "search/online/found.h"

#include <stdlib.h>
#include <string.h>

#include "phases/application.h"
#include "phases/phases.h"

static const double share_least = 0.05, /* of the run's time, for a part to stand for its loop */
	often_hz = 200; /* a breakpoint follows 400 arrivals a second; counts are lower bounds */

static uint64_t processes_count(const struct sn_profile *profile)
{
	uint8_t *counts = sn_application_processes(profile);
	uint64_t count = 0;

	for (size_t i = 0; i < profile->experiment->processes.count; i++)
		count += counts[i];
	free(counts);
	return count;
}

/* A breakpoint needs an address in a file, that one call passes once. */
static bool has_entry(const struct sn_phases *p, uint32_t function)
{
	const struct sn_program_function *f = &p->paths->program->functions.items[function];

	return f->module != SN_NONE && f->link_addr && !p->paths->is_recursive[function];
}

/* Of a rank that comes last to where all meet, samples see one long call: what one of them is seen to repeat all do. */
static bool is_repeated(const struct sn_phase_cycle *cycle, uint64_t processes)
{
	return cycle->calls >= SN_PHASES_ROUNDS_MIN * processes ||
	       cycle->thread_calls >= SN_PHASES_ROUNDS_MIN;
}

static bool is_fit(const struct sn_phases *p, const struct sn_phase_cycle *cycle,
		   uint64_t processes)
{
	return is_repeated(cycle, processes) && cycle->site.pace.at_least_hz <= often_hz &&
	       cycle->share >= share_least && has_entry(p, cycle->function);
}

static const struct sn_phase_cycle *part_find(const struct sn_phases *p)
{
	uint64_t processes = processes_count(p->profile);
	const struct sn_phase_cycle *best = NULL;

	for (size_t i = 0; i < p->cycles.count; i++) {
		const struct sn_phase_cycle *cycle = &p->cycles.items[i];

		if (cycle->kind == SN_CYCLE_PART && is_fit(p, cycle, processes) &&
		    (!best || cycle->share > best->share))
			best = cycle;
	}
	return best;
}

/* The loop that calls the part, where both were seen about as often: a loop is counted by its parts, and may
 * have rounds without this one. */
static const struct sn_program_loop *loop_find(const struct sn_phases *p,
					       const struct sn_phase_cycle *part)
{
	for (size_t i = 0; i < p->cycles.count; i++) {
		const struct sn_phase_cycle *cycle = &p->cycles.items[i];

		if (cycle->kind == SN_CYCLE_LOOP && cycle->owner == part->owner &&
		    cycle->phase == part->phase && cycle->site.loop != SN_NONE &&
		    cycle->calls <= 2 * part->calls && part->calls <= 2 * cycle->calls)
			return &p->paths->program->loops.items[cycle->site.loop];
	}
	return NULL;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void loop_tell(const struct sn_phases *p, const struct sn_program_loop *loop,
		      struct sn_found_phase *out)
{
	const struct sn_experiment *e = p->profile->experiment;

	sn_text_add(&out->module, e->modules.items[loop->module].path);
	out->link_addr = loop->code->header_link_addr;
	sn_text_add(&out->file, loop->code->file ? loop->code->file : "");
	out->line = loop->code->line_first;
	if (loop->code->file && out->line)
		sn_text_addf(&out->name, "%s:%u", file_name(loop->code->file), out->line);
	else
		sn_text_add(&out->name, loop->code->label);
}

static void part_tell(const struct sn_phases *p, const struct sn_phase_cycle *part,
		      struct sn_found_phase *out)
{
	const struct sn_program_function *f = &p->paths->program->functions.items[part->function];

	sn_text_add(&out->module, p->profile->experiment->modules.items[f->module].path);
	sn_text_add(&out->name, p->functions[part->function].name);
	sn_text_add(&out->file, f->file ? f->file : "");
	out->line = f->line;
	out->link_addr = f->link_addr;
}

sn_status sn_found_phase_of(const struct sn_analysis *analysis, struct sn_found_phase *out,
			    struct sn_error *err)
{
	const struct sn_phases_options options = { .structures = analysis->structures };
	const struct sn_phase_cycle *part;
	const struct sn_program_loop *loop;
	struct sn_phases *p = NULL;
	sn_status status = sn_phases_new(analysis->profile, &options, &p, err);

	*out = (struct sn_found_phase){ 0 };
	if (status != SN_OK)
		return status;
	part = part_find(p);
	loop = part ? loop_find(p, part) : NULL;
	if (loop)
		loop_tell(p, loop, out);
	else if (part)
		part_tell(p, part, out);
	else
		status = sn_error_set(err, SN_ERR_NO_DATA,
				      "nothing was seen to repeat %d times, and at most %.0f times "
				      "a second ('sonde phases' tells what was)",
				      SN_PHASES_ROUNDS_MIN, often_hz);
	out->passed = part ? part->calls : 0;
	sn_phases_free(p);
	return status;
}

void sn_found_phase_free(struct sn_found_phase *found)
{
	sn_text_free(&found->name);
	sn_text_free(&found->module);
	sn_text_free(&found->file);
}
