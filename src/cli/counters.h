/** The names of counters as commands print them. */
#ifndef SN_CLI_COUNTERS_H
#define SN_CLI_COUNTERS_H

#include <stdio.h>

#include "base/error.h"
#include "base/table.h"

/** As a table. */
sn_status sn_counters_write(struct sn_table_view *view, FILE *out, struct sn_error *err);
/** In the form of the Collector's manual, with the clock's range. */
void sn_counters_print(FILE *out);

#endif
