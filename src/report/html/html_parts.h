/** The parts of the page, each in its file. */
#ifndef SN_REPORT_HTML_HTML_PARTS_H
#define SN_REPORT_HTML_HTML_PARTS_H

#include "base/json.h"
#include "base/text.h"
#include "report/html/page.h"
#include "report/model/model.h"

/** The part that needs no JavaScript: summary, ten hottest loops and functions, origin. Markup
 *  without style attributes (the page's policy forbids them). */
void sn_report_add_static_html(const struct sn_report *report, struct sn_text *out);
/** The member "whatif" of the table of contents. */
void sn_report_write_whatif(const struct sn_report *report, struct sn_json *json);
/** The chunks whatif, experts, paths and model (docs/format/report-page.md). */
sn_status sn_report_write_quality(const struct sn_report *report, struct sn_page *page,
				  struct sn_error *err);
/** The member "measured": what the program would gain by what was measured. */
void sn_report_write_curves(const struct sn_report *report, struct sn_json *json);
/** The chunks verdicts, evidence, advice, scaling, measured, entries and curves. */
sn_status sn_report_write_evidence(const struct sn_report *report, struct sn_page *page,
				   struct sn_error *err);
/** One column of the open chunk: text, or numbers with NaN for unknown. */
void sn_report_add_column(struct sn_page *page, const struct sn_table *table, size_t column);
/** "text", "integer", "real", "share", "bool". */
const char *sn_report_column_kind(const struct sn_column *column);
/** Whether a column is data. Marks and intervals made for a terminal are not. */
bool sn_report_is_data(const struct sn_column *column);
/** The member "views" of the table of contents, and their chunks. */
void sn_report_write_views(const struct sn_report *report, struct sn_json *json);
/** The member "row_columns": what views have of the page's own rows. */
void sn_report_write_row_columns(struct sn_json *json);
sn_status sn_report_write_tables(const struct sn_report *report, struct sn_page *page,
				 struct sn_error *err);
/** The element of phases (docs/format/page-phases.md), if the report has some. */
void sn_report_write_phases(const struct sn_report *report, struct sn_page *page);

#endif
