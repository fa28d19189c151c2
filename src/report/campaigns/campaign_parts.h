/** The parts of a campaign's page, each in its file. They add markup to a text. */
#ifndef SN_REPORT_CAMPAIGN_CAMPAIGN_PARTS_H
#define SN_REPORT_CAMPAIGN_CAMPAIGN_PARTS_H

#include "base/text.h"
#include "report/campaigns/campaign.h"

/** Rows of one application, category, loop or function: one a configuration, by workers. */
struct sn_campaign_part {
	const struct sn_scaling_row *rows;
	size_t count;
};

/** The part that begins at a row. */
struct sn_campaign_part sn_campaign_part_at(const struct sn_scaling *scaling, size_t first);

/** Its speed-up (weak: efficiency) over workers, with the ideal and 95 % bars; nothing where all
 * configurations have as many workers. */
void sn_campaign_add_curve(const struct sn_scaling_campaign *read,
			   const struct sn_campaign_part *part, struct sn_text *out);
/** Tables loop by configuration and function by configuration, and what their cells open. */
void sn_campaign_add_parts(const struct sn_campaign_page *page, struct sn_text *out);

/** Its configurations compared. NULL: fewer than two have runs, or runs were not asked for. Borrows from `read`. */
struct sn_campaign_differences *sn_campaign_differences_new(const struct sn_scaling_campaign *read);
void sn_campaign_differences_free(struct sn_campaign_differences *differences);
/** Which takes the least elapsed time, as a sentence of plain text. */
void sn_campaign_add_fastest(const struct sn_campaign_differences *differences,
			     struct sn_text *out);
/** Each row in each configuration: totals and rows that differ first. */
void sn_campaign_add_differences(const struct sn_campaign_differences *differences,
				 struct sn_text *out);

/** How units were compiled: a row for each unit that was compiled in one way, whatever the configuration. */
void sn_campaign_add_compiled(const struct sn_campaign_page *page, struct sn_text *out);

/** Whether the page of a run of the campaign's folder can be linked to. */
bool sn_campaign_run_has_page(const struct sn_campaign_page *page, const char *experiment);

/** "threads=4" */
const char *sn_campaign_row_name(const struct sn_scaling_campaign *read,
				 const struct sn_scaling_row *row);
/** ", SERIES" where laws are of more than one. */
void sn_campaign_add_series(const struct sn_scaling *scaling, const struct sn_scaling_fit *fit,
			    struct sn_text *out);
/** A cell: a number of two decimals, or a dash. */
void sn_campaign_add_real(struct sn_text *out, double value);
/** A cell with an interval, "0.82 [0.78, 0.86]". */
void sn_campaign_add_interval(struct sn_text *out, double value, double low, double high);
/** A cell of seconds. */
void sn_campaign_add_seconds(struct sn_text *out, double seconds);
/** A cell of a share. */
void sn_campaign_add_share(struct sn_text *out, double share);
/** A cell of text, escaped. */
void sn_campaign_add_text(struct sn_text *out, const char *text);
/** Two cells: where a row loses efficiency, and how sure that is. */
void sn_campaign_add_reason(const struct sn_scaling_row *row, struct sn_text *out);
/** Begins a table: its head, from titles with bars between; "#" before those of numbers. */
void sn_campaign_add_head(struct sn_text *out, const char *class, const char *titles);

#endif
