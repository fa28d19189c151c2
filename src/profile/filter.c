/*
 * Decides which stacks, processes and threads belong to what was asked for. Functions and modules
 * are matched once for all stacks, not once for each sample.
 */
#include "profile/profile_build.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static sn_status expression_compile(regex_t *regex, const char *what, const char *text,
				    struct sn_error *err)
{
	if (regcomp(regex, text, REG_EXTENDED | REG_NOSUB))
		return sn_error_set(err, SN_ERR_USAGE,
				    "--%s '%s' is no regular expression that parses", what, text);
	return SN_OK;
}

/* A whole name wins over a regular expression, so that `operator()` or `f(int)` can be asked for.
 */
static sn_status functions_match(const struct sn_program *program, const char *wanted,
				 uint8_t *matches, struct sn_error *err)
{
	size_t found = 0;
	regex_t regex;
	sn_status status;

	for (size_t f = 0; f < program->functions.count; f++) {
		matches[f] = !strcmp(program->functions.items[f].name, wanted) ||
			     !strcmp(program->functions.items[f].linkage_name, wanted);
		found += matches[f];
	}
	if (found)
		return SN_OK;
	status = expression_compile(&regex, "function", wanted, err);
	if (status != SN_OK)
		return status;
	for (size_t f = 0; f < program->functions.count; f++) {
		matches[f] = !regexec(&regex, program->functions.items[f].name, 0, NULL, 0);
		found += matches[f];
	}
	regfree(&regex);
	if (!found)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "no function of the experiment matches '%s' "
				    "(sonde show functions --all lists them)",
				    wanted);
	return SN_OK;
}

static sn_status modules_match(const struct sn_program *program, const char *wanted,
			       uint8_t *matches, struct sn_error *err)
{
	const struct sn_experiment *e = program->experiment;
	size_t found = 0;
	regex_t regex;
	sn_status status;

	for (uint32_t m = 0; m < e->modules.count; m++) {
		matches[m] =
			!strcmp(sn_program_module_name(program, m), wanted) ||
			(e->modules.items[m].path && !strcmp(e->modules.items[m].path, wanted));
		found += matches[m];
	}
	if (found)
		return SN_OK;
	status = expression_compile(&regex, "module", wanted, err);
	if (status != SN_OK)
		return status;
	for (uint32_t m = 0; m < e->modules.count; m++) {
		matches[m] = !regexec(&regex, sn_program_module_name(program, m), 0, NULL, 0);
		found += matches[m];
	}
	regfree(&regex);
	if (!found)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "no module of the experiment matches '%s' "
				    "(sonde show modules --all lists them)",
				    wanted);
	return SN_OK;
}

static bool stack_has_function(const struct sn_program *program, uint32_t stack,
			       const uint8_t *matches)
{
	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[i]];

		for (uint32_t s = 0; s < place->step_count; s++) {
			const struct sn_step *step = &program->steps.items[place->first_step + s];

			if (step->kind == SN_STEP_FUNCTION && matches[step->index])
				return true;
		}
	}
	return false;
}

static sn_status stacks_filter(struct sn_profile *profile, struct sn_error *err)
{
	const struct sn_program *program = profile->program;
	const struct sn_filter *filter = &profile->filter;
	uint8_t *functions = NULL, *modules = NULL;
	sn_status status = SN_OK;

	memset(profile->stack_passes, 1, program->stack_count + 1);
	if (filter->function) {
		functions = sn_alloc_zeroed(program->functions.count, 1);
		status = functions_match(program, filter->function, functions, err);
	}
	if (status == SN_OK && filter->module) {
		modules = sn_alloc_zeroed(profile->experiment->modules.count + 1, 1);
		status = modules_match(program, filter->module, modules, err);
	}
	for (uint32_t s = 0; status == SN_OK && s <= program->stack_count; s++) {
		uint32_t module = sn_program_leaf(program, s)->module;

		if (modules && (module == SN_NONE || !modules[module]))
			profile->stack_passes[s] = 0;
		if (functions && profile->stack_passes[s])
			profile->stack_passes[s] = stack_has_function(program, s, functions);
	}
	free(functions);
	free(modules);
	return status;
}

static sn_status processes_filter(struct sn_profile *profile, uint8_t *passes, struct sn_error *err)
{
	const struct sn_filter *filter = &profile->filter;

	memset(passes, !filter->process_count, profile->experiment->processes.count + 1);
	for (size_t i = 0; i < filter->process_count; i++) {
		if (filter->processes[i] >= profile->experiment->processes.count)
			return sn_error_set(err, SN_ERR_NOT_FOUND,
					    "there is no process %u: the experiment has %zu, "
					    "counted from 0 (sonde show processes)",
					    filter->processes[i],
					    profile->experiment->processes.count);
		passes[filter->processes[i]] = 1;
	}
	return SN_OK;
}

static sn_status threads_filter(struct sn_profile *profile, struct sn_error *err)
{
	const struct sn_experiment *e = profile->experiment;
	const struct sn_filter *filter = &profile->filter;
	uint8_t *processes = sn_alloc_zeroed(e->processes.count + 1, 1);
	sn_status status = processes_filter(profile, processes, err);

	for (size_t i = 0; status == SN_OK && i < filter->tid_count; i++) {
		bool found = false;

		for (size_t t = 0; t < e->threads.count && !found; t++)
			found = e->threads.items[t].tid == filter->tids[i];
		if (!found)
			status = sn_error_set(err, SN_ERR_NOT_FOUND,
					      "there is no thread %d in the experiment "
					      "(sonde show threads --all lists them)",
					      filter->tids[i]);
	}
	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];
		bool passes = !filter->tid_count;

		for (size_t i = 0; i < filter->tid_count; i++)
			passes |= filter->tids[i] == thread->tid;
		profile->thread_passes[t] = passes && (thread->process >= e->processes.count
							       ? !filter->process_count
							       : processes[thread->process]);
	}
	free(processes);
	return status;
}

bool sn_profile_is_in_range(const struct sn_profile *profile, const struct sn_sample *sample)
{
	return sample->thread < profile->experiment->threads.count &&
	       profile->thread_passes[sample->thread] && sample->time_ns >= profile->from_ns &&
	       sample->time_ns < profile->to_ns &&
	       sn_spans_have(&profile->filter.spans, sample->time_ns);
}

bool sn_profile_has_sample(const struct sn_profile *profile, const struct sn_sample *sample)
{
	uint32_t stack = sample->stack < profile->program->stack_count
				 ? sample->stack
				 : profile->program->stack_count;

	return sn_profile_is_in_range(profile, sample) && profile->stack_passes[stack];
}

sn_status sn_profile_filter(struct sn_profile *profile, struct sn_error *err)
{
	sn_status status = stacks_filter(profile, err);

	return status == SN_OK ? threads_filter(profile, err) : status;
}
