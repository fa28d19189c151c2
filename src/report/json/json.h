/** The report as text and as JSON: the tables of `sonde show`, together. */
#ifndef SN_REPORT_JSON_JSON_H
#define SN_REPORT_JSON_JSON_H

#include <stdio.h>

#include "base/error.h"

struct sn_profile;
struct sn_structures;

/** One object, "sonde.report/2": `summary`, and of each table of the page its rows, with the keys
 * of `sonde show TABLE --format json`, `whatif` among them. */
sn_status sn_report_write_json(const struct sn_profile *profile, struct sn_structures *structures,
			       FILE *out, struct sn_error *err);
/** The summary, what loops would bring, and the tables with twenty rows each. */
sn_status sn_report_write_text(const struct sn_profile *profile, struct sn_structures *structures,
			       FILE *out, struct sn_error *err);

#endif
