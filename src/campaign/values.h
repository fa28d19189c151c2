/**
 * Values of plans: durations, and names in braces that are filled in.
 */
#ifndef SN_CAMPAIGN_VALUES_H
#define SN_CAMPAIGN_VALUES_H

#include "campaign/plan.h"

/** The index of a name, or -1. */
int sn_plan_index_of(const char *const *names, int count, const char *name);
/** The known name that was probably meant, or NULL. */
const char *sn_plan_nearest(const char *const *names, int count, const char *name);

/** Seconds of "90", "1.5", "30s", "5m", "2h", "1d". SN_ERR_USAGE for anything else; the sentence names
 * no place. */
sn_status sn_campaign_duration_parse(const char *text, double *seconds, struct sn_error *err);

/** Adds what a name stands for. */
typedef sn_status (*sn_fill_value)(void *context, const char *name, struct sn_text *out,
				   struct sn_error *err);
/** Adds `text` with names in braces filled in; "{{" is a brace. In a text for a shell "${name}" is the shell's. */
sn_status sn_fill(const char *text, bool is_shell, sn_fill_value value, void *context,
		  struct sn_text *out, struct sn_error *err);

/** What a name in braces stands for. */
struct sn_campaign_fill {
	const struct sn_campaign_configuration *configuration;
	const char *build_folder; /* NULL: nothing is built */
};

/** Adds `text` with {ranks} {threads} {nodes} {ranks_per_node} {dataset} {build} filled in; "{{" is a
 * brace. SN_ERR_USAGE for another name in braces, or one that has no value here. */
sn_status sn_campaign_fill(const char *text, const struct sn_campaign_fill *fill,
			   struct sn_text *out, struct sn_error *err);

#endif
