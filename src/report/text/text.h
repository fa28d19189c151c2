/** The report as text. */
#ifndef SN_REPORT_TEXT_TEXT_H
#define SN_REPORT_TEXT_TEXT_H

#include <stdio.h>

#include "base/error.h"

struct sn_report;

/** Writes the summary, what loops would bring, and the tables with twenty rows each. The report
 * must have been made with tables. */
sn_status sn_report_write_text(const struct sn_report *report, FILE *out, struct sn_error *err);

#endif
