/*
 * One writer for every table. Rows are collected first; then filter, order and number of rows
 * select some of them, and the selection is written as CSV, JSON or JSON lines here, as text in
 * table_text.c.
 */
#include "base/table_filter.h"
#include "base/table_parts.h"

#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/csv.h"
#include "base/spelling.h"
#include "base/text.h"

/* ---- building ---- */

void sn_table_init(struct sn_table *table, const struct sn_column *columns, size_t column_count)
{
	*table = (struct sn_table){ .columns = columns, .column_count = column_count };
}

void sn_table_add_row(struct sn_table *table)
{
	sn_vec_reserve(&table->cells, table->cells.count + table->column_count);
	memset(table->cells.items + table->cells.count, 0,
	       table->column_count * sizeof(*table->cells.items));
	table->cells.count += table->column_count;
	table->row_count++;
}

size_t sn_table_leave_out(struct sn_table *table,
			  bool (*is_left_out)(const struct sn_table *table, size_t row,
					      void *context),
			  void *context)
{
	size_t n = table->column_count, kept = 0;

	for (size_t row = 0; row < table->row_count; row++) {
		if (is_left_out(table, row, context))
			continue;
		if (kept < row)
			memcpy(&table->cells.items[kept * n], &table->cells.items[row * n],
			       n * sizeof(*table->cells.items));
		kept++;
	}
	table->row_count = kept;
	table->cells.count = kept * n;
	return kept;
}

static struct sn_cell *cell_of_last_row(struct sn_table *table, size_t column)
{
	return &table->cells.items[table->cells.count - table->column_count + column];
}

void sn_table_set_text(struct sn_table *table, size_t column, const char *chars)
{
	if (chars)
		*cell_of_last_row(table, column) = (struct sn_cell){
			true, { .text = sn_arena_strdup(&table->arena, chars) }, 0
		};
}

void sn_table_set_depth(struct sn_table *table, size_t column, unsigned depth)
{
	cell_of_last_row(table, column)->depth = depth;
}

void sn_table_set_int(struct sn_table *table, size_t column, int64_t value)
{
	*cell_of_last_row(table, column) = (struct sn_cell){ true, { .integer = value }, 0 };
}

void sn_table_set_real(struct sn_table *table, size_t column, double value)
{
	if (isfinite(value))
		*cell_of_last_row(table, column) = (struct sn_cell){ true, { .real = value }, 0 };
}

void sn_table_free(struct sn_table *table)
{
	sn_arena_free(&table->arena);
	sn_vec_free(&table->cells);
	table->row_count = 0;
}

/* ---- choosing columns and rows ---- */

/* Headings without a title are keys, with blanks for people. */
void sn_table_heading_add(const struct sn_column *column, struct sn_text *out)
{
	sn_text_add(out, ""); /* a heading may be empty */
	for (const char *c = column->title ? column->title : column->key; *c; c++)
		sn_text_add_char(out, *c == '_' ? ' ' : *c);
}

static bool is_heading(const struct sn_column *column, const char *word, size_t length)
{
	struct sn_text heading = { 0 };
	bool is_it;

	sn_table_heading_add(column, &heading);
	is_it = heading.length == length && !strncasecmp(heading.chars, word, length);
	sn_text_free(&heading);
	return is_it;
}

static void name_add(struct sn_text *names, const char *key)
{
	sn_text_addf(names, "%s%s", names->length ? ", " : "", key);
}

/* The key that a word is probably meant to be: misspelt, or a part of it. */
static bool is_near(const struct sn_column *column, const char *word)
{
	return sn_spelling_is_near(word, column->key) ||
	       (column->title && sn_spelling_is_near(word, column->title)) ||
	       (strlen(word) > 2 && (strstr(column->key, word) || strstr(word, column->key)));
}

static void explain_unknown(const struct sn_table *table, const char *word, struct sn_error *err)
{
	enum { NEAR_MAX = 8 };
	struct sn_text near = { 0 }, known = { 0 };
	unsigned count = 0;

	for (size_t c = 0; c < table->column_count; c++) {
		name_add(&known, table->columns[c].key);
		if (is_near(&table->columns[c], word) && count++ < NEAR_MAX)
			name_add(&near, table->columns[c].key);
	}
	if (count)
		sn_error_set(err, SN_ERR_USAGE,
			     "there is no column '%s' here; near it are: %s%s (of %zu; 'sonde "
			     "explain' tells of each)",
			     word, near.chars, count > NEAR_MAX ? ", ..." : "",
			     table->column_count);
	else
		sn_error_set(err, SN_ERR_USAGE, "there is no column '%s' here; the columns are: %s",
			     word, known.chars);
	sn_text_free(&near);
	sn_text_free(&known);
}

/* By key, else by the heading that a text table has, if only one column has it. */
sn_status sn_table_column_find(const struct sn_table *table, const char *key, size_t length,
			       size_t *out, struct sn_error *err)
{
	struct sn_text headed = { 0 };
	unsigned count = 0;
	char *word;

	for (size_t c = 0; c < table->column_count; c++) {
		if (strlen(table->columns[c].key) == length &&
		    !strncmp(table->columns[c].key, key, length)) {
			*out = c;
			sn_text_free(&headed);
			return SN_OK;
		}
	}
	for (size_t c = 0; c < table->column_count; c++) {
		if (!is_heading(&table->columns[c], key, length))
			continue;
		if (!count++)
			*out = c;
		name_add(&headed, table->columns[c].key);
	}
	word = sn_strndup(key, length);
	if (!count)
		explain_unknown(table, word, err);
	else if (count > 1)
		sn_error_set(err, SN_ERR_USAGE, "several columns are headed '%s': %s", word,
			     headed.chars);
	free(word);
	sn_text_free(&headed);
	return count == 1 ? SN_OK : SN_ERR_USAGE;
}

double sn_table_cell_number(const struct sn_column *column, const struct sn_cell *cell)
{
	if (!cell->is_known)
		return NAN;
	return column->kind == SN_CELL_INT || column->kind == SN_CELL_BOOL ? (double)cell->integer
									   : cell->real;
}

static sn_status rows_filter(const struct sn_table *table, const char *text,
			     struct sn_table_selection *sel, struct sn_error *err)
{
	struct sn_table_filter *filter;
	sn_status status = sn_table_filter_new(table, text ? text : "", &filter, err);

	sel->rows = sn_alloc_zeroed(table->row_count, sizeof(*sel->rows));
	if (status != SN_OK)
		return status;
	for (size_t row = 0; row < table->row_count; row++)
		if (sn_table_filter_passes(filter, table, row))
			sel->rows[sel->row_count++] = row;
	sn_table_filter_free(filter);
	return SN_OK;
}

struct sort_order {
	const struct sn_table *table;
	size_t column;
	bool is_ascending;
};

static int rows_compare(const void *a, const void *b, void *context)
{
	const struct sort_order *order = context;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const struct sn_column *column = &order->table->columns[order->column];
	const struct sn_cell *cx = sn_table_cell(order->table, x, order->column);
	const struct sn_cell *cy = sn_table_cell(order->table, y, order->column);
	int result;

	if (cx->is_known != cy->is_known)
		return cx->is_known ? -1 : 1; /* unknown last, either way */
	if (!cx->is_known) {
		result = 0;
	} else if (sn_cell_kind_is_text(column->kind)) {
		result = strcmp(cy->text, cx->text);
	} else {
		double nx = sn_table_cell_number(column, cx), ny = sn_table_cell_number(column, cy);

		result = (nx < ny) - (nx > ny);
	}
	if (order->is_ascending)
		result = -result;
	return result ? result : (x > y) - (x < y);
}

sn_status sn_table_sort(const struct sn_table *table, const char *sort, size_t *rows, size_t count,
			struct sn_error *err)
{
	struct sort_order order = { table, 0, sort[0] == '-' };
	const char *key = sort + order.is_ascending;
	sn_status status = sn_table_column_find(table, key, strlen(key), &order.column, err);

	if (status != SN_OK)
		return status;
	/* Text reads best from A to Z, numbers from the largest: that is the default. */
	if (sn_cell_kind_is_text(table->columns[order.column].kind))
		order.is_ascending = !order.is_ascending;
	qsort_r(rows, count, sizeof(*rows), rows_compare, &order);
	return SN_OK;
}

static sn_status selection_make(const struct sn_table *table, const struct sn_table_view *view,
				struct sn_table_selection *sel, struct sn_error *err)
{
	sn_status status = SN_OK;

	sel->columns = sn_alloc_zeroed(table->column_count + 64, sizeof(*sel->columns));
	if (view->columns) {
		for (const char *at = view->columns; *at && status == SN_OK;) {
			size_t length = strcspn(at, ","), column;

			status = sn_table_column_find(table, at, length, &column, err);
			if (status == SN_OK && sel->column_count < table->column_count + 64)
				sel->columns[sel->column_count++] = column;
			at += length + (at[length] == ',');
		}
	} else {
		for (size_t c = 0; c < table->column_count; c++)
			if (view->format != SN_FORMAT_TEXT || table->columns[c].title)
				sel->columns[sel->column_count++] = c;
	}
	if (status == SN_OK)
		status = rows_filter(table, view->filter, sel, err);
	if (status == SN_OK && view->sort)
		status = sn_table_sort(table, view->sort, sel->rows, sel->row_count, err);
	sel->matching_rows = sel->row_count;
	if (view->top && sel->row_count > view->top)
		sel->row_count = view->top;
	return status;
}

/* ---- writing ---- */

static void cell_write_json(struct sn_json *json, const struct sn_column *column,
			    const struct sn_cell *cell)
{
	if (!cell->is_known)
		sn_json_null(json);
	else if (column->kind == SN_CELL_JSON)
		sn_json_raw(json, cell->text);
	else if (sn_cell_kind_is_text(column->kind))
		sn_json_string(json, cell->text);
	else if (column->kind == SN_CELL_BOOL)
		sn_json_bool(json, cell->integer != 0);
	else if (column->kind == SN_CELL_INT)
		sn_json_int(json, cell->integer);
	else
		sn_json_double(json, cell->real);
}

static void row_write_json(const struct sn_table *table, const struct sn_table_selection *sel,
			   size_t row, const char *schema, struct sn_json *json)
{
	sn_json_object(json);
	if (schema)
		sn_json_member_string(json, "schema", schema);
	for (size_t i = 0; i < sel->column_count; i++) {
		const struct sn_column *column = &table->columns[sel->columns[i]];

		sn_json_key(json, column->key);
		cell_write_json(json, column, sn_table_cell(table, row, sel->columns[i]));
	}
	sn_json_close(json);
}

static void write_selected(const struct sn_table *table, const struct sn_table_selection *sel,
			   struct sn_json *json)
{
	sn_json_key(json, "rows");
	sn_json_array(json);
	for (size_t i = 0; i < sel->row_count; i++)
		row_write_json(table, sel, sel->rows[i], NULL, json);
	sn_json_close(json);
}

static void write_json(const struct sn_table *table, const struct sn_table_selection *sel,
		       const struct sn_table_view *view, FILE *out,
		       void (*extra)(struct sn_json *, void *), void *context)
{
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", view->schema);
	if (view->experiment)
		sn_json_member_string(&json, "experiment", view->experiment);
	if (extra)
		extra(&json, context);
	write_selected(table, sel, &json);
	sn_json_close(&json);
	sn_json_finish(&json);
}

static void write_jsonl(const struct sn_table *table, const struct sn_table_selection *sel,
			const struct sn_table_view *view, FILE *out)
{
	for (size_t i = 0; i < sel->row_count; i++) {
		struct sn_json json = { .out = out };

		row_write_json(table, sel, sel->rows[i], view->schema, &json);
		sn_json_finish(&json);
	}
}

static void cell_add_csv(struct sn_text *line, const struct sn_column *column,
			 const struct sn_cell *cell)
{
	if (!cell->is_known)
		return;
	if (sn_cell_kind_is_text(column->kind))
		sn_csv_add(line, cell->text);
	else if (column->kind == SN_CELL_INT || column->kind == SN_CELL_BOOL)
		sn_text_addf(line, "%" PRId64, cell->integer);
	else
		sn_text_add_double(line, cell->real);
}

static void write_csv(const struct sn_table *table, const struct sn_table_selection *sel,
		      const struct sn_table_view *view, FILE *out)
{
	struct sn_text line = { 0 };

	for (size_t i = 0; i < sel->column_count && !view->without_header; i++)
		fprintf(out, "%s%s", i ? "," : "", table->columns[sel->columns[i]].key);
	if (!view->without_header)
		fputc('\n', out);
	for (size_t r = 0; r < sel->row_count; r++) {
		sn_text_clear(&line);
		for (size_t i = 0; i < sel->column_count; i++) {
			if (i)
				sn_text_add_char(&line, ',');
			cell_add_csv(&line, &table->columns[sel->columns[i]],
				     sn_table_cell(table, sel->rows[r], sel->columns[i]));
		}
		sn_text_add_char(&line, '\n');
		fwrite(line.chars, 1, line.length, out);
	}
	sn_text_free(&line);
}

sn_status sn_table_write(const struct sn_table *table, const struct sn_table_view *view, FILE *out,
			 void (*extra)(struct sn_json *, void *), void *context,
			 struct sn_error *err)
{
	struct sn_table_selection sel = { 0 };
	sn_status status = selection_make(table, view, &sel, err);

	if (status == SN_OK) {
		switch (view->format) {
		case SN_FORMAT_TEXT:
			sn_table_write_text(table, &sel, view, out);
			break;
		case SN_FORMAT_CSV:
			write_csv(table, &sel, view, out);
			break;
		case SN_FORMAT_JSON:
			write_json(table, &sel, view, out, extra, context);
			break;
		case SN_FORMAT_JSONL:
			write_jsonl(table, &sel, view, out);
			break;
		}
	}
	free(sel.columns);
	free(sel.rows);
	return status;
}

size_t sn_table_rows_shown(const struct sn_table *table, const struct sn_table_view *view)
{
	struct sn_table_selection sel = { 0 };
	struct sn_error err;
	sn_status status;

	if (!view->filter)
		return view->top && table->row_count > view->top ? view->top : table->row_count;
	status = selection_make(table, view, &sel, &err);
	free(sel.columns);
	free(sel.rows);
	return status == SN_OK ? sel.row_count : 0;
}

bool sn_table_shows(const struct sn_table *table, const struct sn_table_view *view, size_t column,
		    int64_t value)
{
	struct sn_table_selection sel = { 0 };
	struct sn_error err;
	bool is_shown = false, has_value = false;
	sn_status status = selection_make(table, view, &sel, &err);

	for (size_t c = 0; c < sel.column_count; c++)
		is_shown |= sel.columns[c] == column;
	for (size_t i = 0; status == SN_OK && is_shown && i < sel.row_count; i++) {
		const struct sn_cell *cell = sn_table_cell(table, sel.rows[i], column);

		has_value |= cell->is_known && cell->integer == value;
	}
	free(sel.columns);
	free(sel.rows);
	return has_value;
}

sn_status sn_table_write_member(const struct sn_table *table, const struct sn_table_view *view,
				struct sn_json *json, struct sn_error *err)
{
	struct sn_table_selection sel = { 0 };
	sn_status status = selection_make(table, view, &sel, err);

	if (status == SN_OK)
		write_selected(table, &sel, json);
	free(sel.columns);
	free(sel.rows);
	return status;
}

sn_status sn_table_write_rows(const struct sn_table *table, const char *columns,
			      struct sn_json *json)
{
	struct sn_table_view view = { .format = SN_FORMAT_JSON, .columns = columns };
	struct sn_table_selection sel = { 0 };
	sn_status status = selection_make(table, &view, &sel, NULL);

	for (size_t i = 0; status == SN_OK && i < sel.row_count; i++)
		row_write_json(table, &sel, sel.rows[i], NULL, json);
	free(sel.columns);
	free(sel.rows);
	return status;
}

sn_status sn_format_parse(const char *name, enum sn_format *out, struct sn_error *err)
{
	static const char *const names[] = { "text", "csv", "json", "jsonl" };

	if (!name)
		name = "text";
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(name, names[i])) {
			*out = (enum sn_format)i;
			return SN_OK;
		}
	}
	return sn_error_set(err, SN_ERR_USAGE,
			    "there is no format '%s'; the formats are text, csv, json and jsonl",
			    name);
}
