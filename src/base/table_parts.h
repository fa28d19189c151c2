/**
 * What table.c and table_text.c share: the chosen columns and rows.
 */
#ifndef SN_BASE_TABLE_PARTS_H
#define SN_BASE_TABLE_PARTS_H

#include "base/table.h"
#include "base/text.h"

/** Numbers of the columns and rows that a view shows, in its order. */
struct sn_table_selection {
	size_t *columns, column_count;
	size_t *rows, row_count, matching_rows;
};

static inline const struct sn_cell *sn_table_cell(const struct sn_table *table, size_t row,
						  size_t column)
{
	return &table->cells.items[row * table->column_count + column];
}

static inline bool sn_cell_kind_is_text(enum sn_cell_kind kind)
{
	return kind == SN_CELL_TEXT || kind == SN_CELL_JSON;
}

/** NaN: unknown. */
double sn_table_cell_number(const struct sn_column *column, const struct sn_cell *cell);
/** The title of a column, or its key with blanks. */
void sn_table_heading_add(const struct sn_column *column, struct sn_text *out);
/** Finds a column by its key, or by the heading that it has in text. */
sn_status sn_table_column_find(const struct sn_table *table, const char *key, size_t length,
			       size_t *out, struct sn_error *err);
/** Writes the chosen rows as text. */
void sn_table_write_text(const struct sn_table *table, const struct sn_table_selection *sel,
			 const struct sn_table_view *view, FILE *out);

#endif
