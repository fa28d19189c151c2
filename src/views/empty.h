/**
 * Why a table has no row, in one sentence, and what would give it some.
 */
#ifndef SN_VIEWS_EMPTY_H
#define SN_VIEWS_EMPTY_H

#include "base/text.h"
#include "views/view.h"

/** Adds the reason why `table`, filled for `view`, shows no row as `how` says. Never empty. */
void sn_view_why_empty(const struct sn_view *view, const struct sn_view_input *input,
		       const struct sn_table *table, const struct sn_table_view *how,
		       struct sn_text *out);

/** Whether there is nothing at all to sum: no CPU time, no sample and no wait. */
bool sn_view_has_no_time(const struct sn_profile *profile);
/** Whether the run was not recorded with what the view shows. */
bool sn_view_lacks_data(const struct sn_view *view, const struct sn_profile *profile);
/** Tells the reason of a table without a row. It is SN_ERR_NO_DATA, with the reason, if the view lacks data or
 * there is no sample; else no row is an answer (nothing leaked), and the reason a warning. */
sn_status sn_view_tell_empty(const struct sn_view *view, const struct sn_view_input *input,
			     const char *why, struct sn_error *err);
/** Adds why there are no samples to show. */
void sn_view_add_why_no_samples(const struct sn_profile *profile, struct sn_text *out);

/** Adds that no row of the table passes its filter, and what may have been meant. */
void sn_view_add_why_filtered(const struct sn_table *table, const struct sn_table_view *how,
			      struct sn_text *out);

#endif
