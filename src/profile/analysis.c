/*
 * Opens an experiment with all that analysis needs: structures of its modules, the program, the
 * profile and, when first asked for, the machine model.
 */
#include "profile/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "profile/companions.h"

static sn_status source_maps_add(struct sn_structures *structures, const char *const *maps,
				 struct sn_error *err)
{
	for (; maps && *maps; maps++) {
		const char *equals = strchr(*maps, '=');
		char *from;

		if (!equals || equals == *maps)
			return sn_error_set(err, SN_ERR_USAGE,
					    "--source-map takes FROM=TO, not '%s'", *maps);
		from = sn_strndup(*maps, (size_t)(equals - *maps));
		sn_structures_map_source(structures, from, equals + 1);
		free(from);
	}
	return SN_OK;
}

static sn_status machine_choose(struct sn_analysis *analysis, const char *arch,
				struct sn_error *err)
{
	struct sn_machine_choice choice;
	sn_status status = sn_machine_choose(arch, analysis->experiment->cpu_model, &choice, err);

	if (status != SN_OK)
		return status;
	analysis->machine = sn_alloc(sizeof(choice));
	*analysis->machine = choice;
	return SN_OK;
}

const struct sn_machine_choice *sn_analysis_machine(struct sn_analysis *analysis)
{
	if (!analysis->machine)
		machine_choose(analysis, NULL, NULL); /* without a name it cannot fail */
	return analysis->machine;
}

sn_status sn_analysis_of(struct sn_experiment *experiment,
			 const struct sn_analysis_options *options, struct sn_analysis **out,
			 struct sn_error *err)
{
	struct sn_analysis *analysis = sn_alloc_zeroed(1, sizeof(*analysis));
	sn_status status;

	analysis->experiment = experiment;
	analysis->structures = sn_structures_new(experiment);
	status = source_maps_add(analysis->structures, options ? options->source_maps : NULL, err);
	if (status == SN_OK && options && options->arch)
		status = machine_choose(analysis, options->arch, err);
	if (status == SN_OK) {
		analysis->resolver = sn_structures_resolver(analysis->structures);
		analysis->program = sn_program_new(experiment, &analysis->resolver);
		status = sn_profile_new(analysis->program, options ? options->filter : NULL,
					&analysis->profile, err);
	}
	if (status != SN_OK) {
		analysis->experiment = NULL; /* stays the caller's */
		sn_program_free(analysis->program);
		sn_structures_free(analysis->structures);
		free(analysis->machine);
		free(analysis);
		return status;
	}
	analysis->companions = sn_companions_new(experiment->path);
	analysis->profile->companions = analysis->companions;
	*out = analysis;
	return SN_OK;
}

static bool is_filtered(const struct sn_filter *filter)
{
	return filter &&
	       (filter->from_ns || filter->to_ns || filter->from_label || filter->to_label ||
		filter->process_count || filter->tid_count || filter->module || filter->function);
}

sn_status sn_analysis_open(const char *name, const struct sn_analysis_options *options,
			   struct sn_analysis **out, struct sn_error *err)
{
	struct sn_experiment *experiment = NULL;
	struct sn_progress progress;
	sn_status status;

	sn_progress_begin(&progress, "reading the experiment", 0);
	status = options && options->sums_suffice && !is_filtered(options->filter)
			 ? sn_experiment_open_sums(name, &experiment, err)
			 : sn_experiment_open(name, &experiment, err);
	if (status == SN_OK)
		status = sn_analysis_of(experiment, options, out, err);
	sn_progress_end(&progress);
	if (status != SN_OK)
		sn_experiment_free(experiment);
	return status;
}

void sn_analysis_free(struct sn_analysis *analysis)
{
	if (!analysis)
		return;
	sn_companions_free(analysis->companions);
	sn_profile_free(analysis->profile);
	sn_program_free(analysis->program);
	sn_structures_free(analysis->structures);
	sn_experiment_free(analysis->experiment);
	free(analysis->machine);
	free(analysis);
}
