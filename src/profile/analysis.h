/**
 * From the name of an experiment to its profile, in one call: what every command begins with.
 */
#ifndef SN_PROFILE_ANALYSIS_H
#define SN_PROFILE_ANALYSIS_H

#include "machine/choice.h"
#include "profile/profile.h"
#include "profile/structures.h"

/** All of it is owned, and freed together. */
struct sn_analysis {
	struct sn_experiment *experiment;
	struct sn_structures *structures;
	struct sn_resolver resolver;
	struct sn_program *program;
	struct sn_profile *profile;
	struct sn_companions *companions;  /* further runs in the experiment's folder */
	struct sn_machine_choice *machine; /* NULL: nobody has asked yet (sn_analysis_machine) */
};

struct sn_analysis_options {
	const struct sn_filter *filter; /* NULL: none; must outlive the analysis */
	const char *const *source_maps; /* "FROM=TO", ended by NULL; NULL: none */
	bool sums_suffice; /* without a filter, sums of reduced nodes do (sn_experiment_open_sums) */
	const char *arch;  /* the machine to estimate loops for; NULL: this one */
};

/** Opens and analyses the experiment of this name (sn_experiment_open). `options` may be NULL. */
sn_status sn_analysis_open(const char *name, const struct sn_analysis_options *options,
			   struct sn_analysis **out, struct sn_error *err);
/** Analyses an experiment in memory, which the analysis takes on success. */
sn_status sn_analysis_of(struct sn_experiment *experiment,
			 const struct sn_analysis_options *options, struct sn_analysis **out,
			 struct sn_error *err);
/** The machine that loops are estimated for. It is chosen at the first call and stays the same. If
 * the options named an unknown machine, the analysis was refused when it was made. */
const struct sn_machine_choice *sn_analysis_machine(struct sn_analysis *analysis);
void sn_analysis_free(struct sn_analysis *analysis);

#endif
