/**
 * Every table that sonde prints: rows of typed cells, written as text, CSV or JSON.
 *
 * Columns have a stable key (the schema of CSV and JSON, unit last) and a title for people.
 * Filters, order, choice of columns and number of rows are applied here, in one place. So every
 * view has the same options.
 */
#ifndef SN_BASE_TABLE_H
#define SN_BASE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/vec.h"

enum sn_cell_kind {
	SN_CELL_TEXT,
	SN_CELL_INT,
	SN_CELL_REAL,	  /* shown with `decimals` digits after the point, from 100 on with none */
	SN_CELL_SECONDS,  /* shown with three significant digits or more */
	SN_CELL_DURATION, /* seconds, shown as "12.3 ns", "4.56 ms", "1.20 s", "75.0 s" */
	SN_CELL_SHARE,	  /* 0..1, shown in per cent with one digit */
	SN_CELL_RATE,	  /* so many a second, shown as "12.3 G", "456 M" */
	SN_CELL_BOOL,
	SN_CELL_JSON, /* a text that is a value of JSON, and stands there as it is */
};

struct sn_column {
	const char *key;   /* stable */
	const char *title; /* for people; NULL: not shown in text unless asked for by --cols */
	enum sn_cell_kind kind;
	uint8_t decimals;
};

struct sn_cell {
	bool is_known; /* false: null in JSON, empty in CSV, "-" in text */
	union {
		const char *text;
		int64_t integer;
		double real;
	};
	unsigned depth; /* of a tree: texts for people are set in by it */
};

struct sn_table {
	struct sn_arena arena;		 /* owns copies of all texts */
	const struct sn_column *columns; /* borrowed, static */
	size_t column_count;
	SN_VEC(struct sn_cell) cells; /* row after row */
	size_t row_count;
};

enum sn_format { SN_FORMAT_TEXT, SN_FORMAT_CSV, SN_FORMAT_JSON, SN_FORMAT_JSONL };

struct sn_table_view {
	enum sn_format format;
	const char *schema;	/* "sonde.functions/1" */
	const char *experiment; /* base name, or NULL: none was read */
	/* columns are named by key or by the heading that they have in text */
	const char *sort;	  /* key, or "-key" for ascending; NULL: as added */
	const char *columns;	  /* "a,b,c"; NULL: all (text: those with a title) */
	const char *filter;	  /* base/table_filter.h; NULL: all rows */
	size_t top;		  /* rows at most; 0: all */
	const char *share_column; /* text footer: "showing 20 of 1,431 rows = 96.2 % of time" */
	const char *whole_column; /* text: "a" or "a,b", what is never cut; NULL: none */
	bool without_header;	  /* CSV: more rows of a table begun before */
	unsigned width;		  /* text: columns of the terminal; 0: ask it, else 100 */
	/* text: nobody asked for these columns; texts that no row has go, and on a terminal figures that it has no
	 * room for, from the right, and the foot says which */
	bool may_leave_out;
};

void sn_table_init(struct sn_table *table, const struct sn_column *columns, size_t column_count);
/** A new row of unknown cells; then set them by column index. */
void sn_table_add_row(struct sn_table *table);
void sn_table_set_text(struct sn_table *table, size_t column,
		       const char *chars); /* NULL: unknown */
/** Sets the row's depth in a tree. Text for people is indented by two blanks a level; data are not.
 * Call it after the column's text was set. */
void sn_table_set_depth(struct sn_table *table, size_t column, unsigned depth);
void sn_table_set_int(struct sn_table *table, size_t column, int64_t value);
void sn_table_set_real(struct sn_table *table, size_t column, double value); /* NaN: unknown */

/** Takes the rows out that `is_left_out` names; the others keep their order. Gives how many are left. */
size_t sn_table_leave_out(struct sn_table *table,
			  bool (*is_left_out)(const struct sn_table *table, size_t row,
					      void *context),
			  void *context);

/** Writes the table. SN_ERR_USAGE for an unknown column or a filter that does not parse. For JSON,
 *  `extra` (may be NULL) writes members of its own before "rows". */
sn_status sn_table_write(const struct sn_table *table, const struct sn_table_view *view, FILE *out,
			 void (*extra)(struct sn_json *json, void *context), void *context,
			 struct sn_error *err);
/** Gives how many rows the view shows; 0 also where its filter does not parse. */
size_t sn_table_rows_shown(const struct sn_table *table, const struct sn_table_view *view);
/** Whether any row that the view shows has this value in a column of whole numbers. */
bool sn_table_shows(const struct sn_table *table, const struct sn_table_view *view, size_t column,
		    int64_t value);
/** Puts numbers of rows in the order that `sort` names: a key, or "-key" for ascending. */
sn_status sn_table_sort(const struct sn_table *table, const char *sort, size_t *rows, size_t count,
			struct sn_error *err);

/** Writes the member "rows" of an open object. `view` filters, orders and cuts the rows; its format
 * does not count. */
sn_status sn_table_write_member(const struct sn_table *table, const struct sn_table_view *view,
				struct sn_json *json, struct sn_error *err);
/** Writes the rows alone, as objects into an open array. `columns` is as in a view. */
sn_status sn_table_write_rows(const struct sn_table *table, const char *columns,
			      struct sn_json *json);
void sn_table_free(struct sn_table *table);

/** "text", "csv", "json" or "jsonl"; SN_ERR_USAGE otherwise. NULL means text. */
sn_status sn_format_parse(const char *name, enum sn_format *out, struct sn_error *err);

#endif
