/** Views of a campaign: one run of each configuration, beside each other. */
#ifndef SN_VIEWS_OF_CAMPAIGN_H
#define SN_VIEWS_OF_CAMPAIGN_H

#include "profile/analysis.h"
#include "views/view.h"

/**
 * Shows a view that takes campaigns (`takes_campaign`) of each configuration that has a run: of the one to which a level
 * was added, else of the one whose elapsed time is nearest the median. The figures of `global` for elapsed and CPU
 * time are means over all runs. Rows of CSV and JSON have `configuration experiment runs` before the view's
 * columns, and the schema "sonde.campaign-VIEW/1"; the text of `global` has a column for each configuration.
 * `options` may be NULL. Errors: those of sn_campaign_open and sn_experiment_open; SN_ERR_NO_DATA: no run is done.
 */
sn_status sn_view_show_campaign(const struct sn_view *view, const char *campaign,
				const struct sn_analysis_options *options,
				struct sn_table_view *how, FILE *out, struct sn_error *err);

/** Gives the same rows, all of them, as a table that the caller frees, in which the view's columns begin at `first`.
 * Errors: the same. */
sn_status sn_view_of_campaign(const struct sn_view *view, const char *campaign,
			      struct sn_table *out, size_t *first, struct sn_error *err);

#endif
