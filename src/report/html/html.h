/** The report as one self-contained page (docs/format/report-page.md). */
#ifndef SN_REPORT_HTML_HTML_H
#define SN_REPORT_HTML_HTML_H

#include "report/model/model.h"

enum { SN_REPORT_HTML_BYTES_MAX = 64 << 20 };

/**
 * Writes the page to `path`; nothing stands there unless it is whole. A page over
 * SN_REPORT_HTML_BYTES_MAX is refused with SN_ERR_RANGE unless `is_forced`: browsers fail on it.
 */
sn_status sn_report_write_html(const struct sn_report *report, const char *path, bool is_forced,
			       struct sn_error *err);

#endif
