/* Tables of `sonde show` on the page: those whose view has a title for it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/columns.h"
#include "report/html/html_parts.h"

static const struct sn_cell *cell_of(const struct sn_table *table, size_t row, size_t column)
{
	return &table->cells.items[row * table->column_count + column];
}

static void add_texts(struct sn_page *page, const struct sn_table *table, size_t column)
{
	const char **texts = sn_realloc_array(NULL, table->row_count + 1, sizeof(*texts));

	for (size_t i = 0; i < table->row_count; i++) {
		const struct sn_cell *cell = cell_of(table, i, column);

		texts[i] = cell->is_known ? cell->text : NULL;
	}
	sn_page_add_text(page, table->columns[column].key, texts, NULL);
	sn_vec_release(texts);
}

static void add_numbers(struct sn_page *page, const struct sn_table *table, size_t column)
{
	enum sn_cell_kind kind = table->columns[column].kind;
	bool is_whole = kind == SN_CELL_INT || kind == SN_CELL_BOOL;
	double *numbers = sn_realloc_array(NULL, table->row_count + 1, sizeof(*numbers));

	for (size_t i = 0; i < table->row_count; i++) {
		const struct sn_cell *cell = cell_of(table, i, column);

		numbers[i] = !cell->is_known ? (double)NAN
			     : is_whole	     ? (double)cell->integer
					     : cell->real;
	}
	sn_page_add_f64(page, table->columns[column].key, numbers);
	sn_vec_release(numbers);
}

void sn_report_add_column(struct sn_page *page, const struct sn_table *table, size_t column)
{
	if (table->columns[column].kind == SN_CELL_TEXT ||
	    table->columns[column].kind == SN_CELL_JSON)
		add_texts(page, table, column);
	else
		add_numbers(page, table, column);
}

const char *sn_report_column_kind(const struct sn_column *column)
{
	static const char *const kinds[] = {
		[SN_CELL_TEXT] = "text",    [SN_CELL_INT] = "integer",	 [SN_CELL_REAL] = "real",
		[SN_CELL_SECONDS] = "real", [SN_CELL_DURATION] = "real", [SN_CELL_RATE] = "rate",
		[SN_CELL_SHARE] = "share",  [SN_CELL_BOOL] = "bool",	 [SN_CELL_JSON] = "text",
	};

	return kinds[column->kind];
}

/* Marks for a terminal are no data. */
bool sn_report_is_data(const struct sn_column *column)
{
	return strcmp(column->key, "mark") != 0 && strcmp(column->key, "interval") != 0;
}

/** The columns that the page has: those that the view names for it, else those of its text, in its order,
 *  and all where it has room for sentences; the caller gives room for all. */
static size_t columns_shown(const struct sn_view *view, size_t *shown)
{
	const char *at = view->page_columns    ? view->page_columns
			 : view->has_sentences ? NULL
					       : view->text_columns;
	size_t count = 0;

	for (size_t c = 0; !at && c < view->column_count; c++)
		if (view->columns[c].title && sn_report_is_data(&view->columns[c]))
			shown[count++] = c;
	for (; at && *at; at += strspn(at, ",")) {
		size_t length = strcspn(at, ",");

		for (size_t c = 0; c < view->column_count; c++)
			if (!strncmp(view->columns[c].key, at, length) &&
			    !view->columns[c].key[length] && sn_report_is_data(&view->columns[c]))
				shown[count++] = c;
		at += length;
	}
	return count;
}

static size_t *shown_new(const struct sn_view *view, size_t *count)
{
	size_t *shown = sn_alloc_zeroed(view->column_count + 1, sizeof(*shown));

	*count = columns_shown(view, shown);
	return shown;
}

static void write_help(const struct sn_column *column, struct sn_json *json)
{
	const struct sn_explanation *explanation = sn_explanation_find(column->key);

	if (explanation)
		sn_json_member_string(json, "help", explanation->text);
}

static void write_view(const struct sn_report_table *table, struct sn_json *json)
{
	const struct sn_view *view = table->view;
	size_t count, *shown = shown_new(view, &count);

	sn_json_object(json);
	sn_json_member_string(json, "name", view->name);
	sn_json_member_string(json, "title", view->page_title);
	sn_json_member_string(json, "what", view->title);
	sn_json_member_string(json, "sort", view->sort);
	if (view->page_group)
		sn_json_member_string(json, "group", view->page_group);
	if (view->has_sentences)
		sn_json_member_bool(json, "has_sentences", true);
	if (table->foot)
		sn_json_member_string(json, "foot", table->foot);
	if (table->why_empty)
		sn_json_member_string(json, "why_empty", table->why_empty);
	sn_json_key(json, "columns");
	sn_json_array(json);
	for (size_t i = 0; i < count; i++) {
		const struct sn_column *column = &view->columns[shown[i]];

		sn_json_object(json);
		sn_json_member_string(json, "key", column->key);
		sn_json_member_string(json, "title", column->title);
		sn_json_member_string(json, "kind", sn_report_column_kind(column));
		if (column->kind == SN_CELL_REAL)
			sn_json_member_int(json, "decimals", column->decimals);
		write_help(column, json);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_json_close(json);
	free(shown);
}

void sn_report_write_views(const struct sn_report *report, struct sn_json *json)
{
	sn_json_key(json, "views");
	sn_json_array(json);
	for (size_t i = 0; i < report->tables.count; i++)
		if (report->tables.items[i].view->page_title)
			write_view(&report->tables.items[i], json);
	sn_json_close(json);
}

/* All columns, for their words; those that the page has as they are have a kind. */
static void write_row_columns(const struct sn_view *view, struct sn_json *json)
{
	sn_json_key(json, view->page_rows);
	sn_json_array(json);
	for (size_t c = 0; c < view->column_count; c++) {
		const struct sn_column *column = &view->columns[c];

		sn_json_object(json);
		sn_json_member_string(json, "key", column->key);
		sn_json_member_string(json, "title", sn_view_page_heading(column));
		if (sn_view_is_on_page(view, column->key))
			sn_json_member_string(json, "kind", sn_report_column_kind(column));
		write_help(column, json);
		sn_json_close(json);
	}
	sn_json_close(json);
}

void sn_report_write_row_columns(struct sn_json *json)
{
	sn_json_key(json, "row_columns");
	sn_json_object(json);
	for (const struct sn_view *const *view = sn_views; *view; view++)
		if ((*view)->page_rows)
			write_row_columns(*view, json);
	sn_json_close(json);
}

static sn_status write_row_table(const struct sn_report_table *table, struct sn_page *page,
				 struct sn_error *err)
{
	char name[64];

	snprintf(name, sizeof(name), "%s-columns", table->view->page_rows);
	sn_page_chunk(page, name, table->table.row_count);
	for (size_t c = 0; c < table->table.column_count; c++)
		if (sn_view_is_on_page(table->view, table->table.columns[c].key))
			sn_report_add_column(page, &table->table, c);
	return sn_page_chunk_end(page, err);
}

/* Rows of loops have their ids, also where they are not shown: the loop's own view has them, too. */
static void add_loop_ids(struct sn_page *page, const struct sn_table *table, const size_t *shown,
			 size_t count)
{
	for (size_t c = 0; c < table->column_count; c++) {
		bool is_there = strcmp(table->columns[c].key, "loop") != 0;

		for (size_t i = 0; i < count && !is_there; i++)
			is_there = shown[i] == c;
		if (!is_there)
			sn_report_add_column(page, table, c);
	}
}

static sn_status write_table(const struct sn_report_table *table, struct sn_page *page,
			     struct sn_error *err)
{
	size_t count, *shown = shown_new(table->view, &count);
	char name[64];

	snprintf(name, sizeof(name), "view-%s", table->view->name);
	sn_page_chunk(page, name, table->table.row_count);
	for (size_t i = 0; i < count; i++)
		sn_report_add_column(page, &table->table, shown[i]);
	add_loop_ids(page, &table->table, shown, count);
	free(shown);
	return sn_page_chunk_end(page, err);
}

sn_status sn_report_write_tables(const struct sn_report *report, struct sn_page *page,
				 struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t i = 0; i < report->tables.count && status == SN_OK; i++)
		if (report->tables.items[i].view->page_title)
			status = write_table(&report->tables.items[i], page, err);
	for (size_t i = 0; i < report->row_tables.count && status == SN_OK; i++)
		status = write_row_table(&report->row_tables.items[i], page, err);
	return status;
}
