/**
 * The filter of a table's rows: one language for every table.
 *
 *   EITHER    = BOTH { "or" BOTH }
 *   BOTH      = TERM { ("and" | ",") TERM }
 *   TERM      = "(" EITHER ")" | CONDITION
 *   CONDITION = COLUMN ("=" | "==" | "!=" | "~" | "<" | "<=" | ">" | ">=") VALUE
 *
 * COLUMN is a key or a heading. A VALUE of text ends before a comma, a closing parenthesis that it has not opened, and an "and"
 * or "or" behind which another condition stands; in quotes it may have all of them. A number may have a unit: ns us ms s min h
 * of a time, B kB MB GB TB KiB MiB GiB TiB of bytes, % of a share. A number that is not known passes "!=" alone.
 */
#ifndef SN_BASE_TABLE_FILTER_H
#define SN_BASE_TABLE_FILTER_H

#include "base/table.h"

struct sn_table_filter;

/** SN_ERR_USAGE for what does not parse, a column that is not there, a unit that the column has not. "" lets all through. */
sn_status sn_table_filter_new(const struct sn_table *table, const char *text,
			      struct sn_table_filter **out, struct sn_error *err);
bool sn_table_filter_passes(const struct sn_table_filter *filter, const struct sn_table *table,
			    size_t row);
void sn_table_filter_free(struct sn_table_filter *filter);

#endif
