/** The figures of scalability as tables: for the terminal, CSV, JSON, and a workbook. */
#ifndef SN_CAMPAIGN_SCALING_TABLE_H
#define SN_CAMPAIGN_SCALING_TABLE_H

#include "base/table.h"
#include "campaign/scaling/read.h"

/** A row for each of the campaign's rows, with the columns of sonde.scalability/1; the application's
 * come first. The campaign has runs that are done. Free the table. */
void sn_scaling_table(const struct sn_scaling_campaign *campaign, struct sn_table *out);
/** A row for the application and for each law, then one for all functions, and one for all loops, that have none for
 * the same reason. */
void sn_scaling_laws_table(const struct sn_scaling *scaling, struct sn_table *out);

#endif
