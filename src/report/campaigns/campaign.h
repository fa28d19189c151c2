/** A campaign as one self-contained page: runs, curves, loops by configuration; and as a workbook. */
#ifndef SN_REPORT_CAMPAIGN_CAMPAIGN_H
#define SN_REPORT_CAMPAIGN_CAMPAIGN_H

#include "base/table.h"
#include "campaign/scaling/read.h"

struct sn_campaign_page {
	const struct sn_scaling_campaign *read;
	const struct sn_table *runs; /* campaign/status.h */
	/* how units were compiled: columns as `sonde show compile --format csv` has them of a campaign. NULL: no
	 * run is done */
	const struct sn_table *compile;
	const char *compile_left_out; /* what was left out of it, as a sentence; NULL: nothing */
	const char *version;	      /* of sonde */
	bool lies_within;	      /* in the campaign's folder: runs' pages can be linked to */
};

/** Writes the page to `path`; nothing stands there unless it is whole. */
sn_status sn_report_write_campaign(const struct sn_campaign_page *page, const char *path,
				   struct sn_error *err);

/** Writes the same as a workbook (report/xlsx): Runs, Scalability, Laws, Compare, Compile and Provenance, as far as
 * there are rows. `compare` (may be NULL) is the table of `sonde diff CAMPAIGN`. */
sn_status sn_report_write_campaign_xlsx(const struct sn_campaign_page *page,
					const struct sn_table *compare, const char *path,
					struct sn_error *err);

#endif
