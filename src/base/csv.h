/**
 * CSV fields (RFC 4180, section 2), safe to open in a spreadsheet.
 */
#ifndef SN_BASE_CSV_H
#define SN_BASE_CSV_H

#include "base/text.h"

/** Adds one field, quoted where needed. Text that a spreadsheet would take for a formula (it begins
 *  with = + - @ tab or return) is given a leading apostrophe; control bytes are escaped. */
void sn_csv_add(struct sn_text *line, const char *chars);

#endif
