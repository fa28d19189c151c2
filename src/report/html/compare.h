/** Two sets of runs side by side, as one self-contained page (docs/format/report-page.md). */
#ifndef SN_REPORT_HTML_COMPARE_H
#define SN_REPORT_HTML_COMPARE_H

#include <stdbool.h>

#include "base/error.h"
#include "compare/compare.h"
#include "compare/paths.h"

struct sn_compare_side {
	const struct sn_compare_run *runs;
	size_t count;
};

struct sn_compare_page {
	const struct sn_comparison *comparison;
	const struct sn_compare_paths *paths; /* finished */
	struct sn_compare_side sides[2];
	const char *version; /* of sonde */
};

/** Writes the page to `path`; nothing stands there unless it is whole. SN_ERR_RANGE as for
 *  sn_report_write_html. */
sn_status sn_report_write_compare(const struct sn_compare_page *page, const char *path,
				  bool is_forced, struct sn_error *err);

#endif
