/** The report as one JSON object. */
#ifndef SN_REPORT_JSON_JSON_H
#define SN_REPORT_JSON_JSON_H

#include <stdio.h>

#include "base/error.h"

struct sn_report;

/** Writes one object, "sonde.report/2" (docs/manual/report.md): the machine that loops are
 * estimated for, `summary`, each table's rows with the keys of `sonde show TABLE --format json`,
 * and `whatif`. The report must have been made with tables. */
sn_status sn_report_write_json(const struct sn_report *report, FILE *out, struct sn_error *err);

#endif
