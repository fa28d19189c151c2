/* Sheets from tables, by libxlsxwriter in its mode of constant memory: row by row. */
#include "report/xlsx/xlsx.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef SN_HAS_XLSX
#include <xlsxwriter.h>
#endif

#include "base/alloc.h"
#include "base/file.h"
#include "base/table_parts.h"
#include "base/text.h"
#include "views/whatif.h"

#ifdef SN_HAS_XLSX

/* The library is loaded when a workbook is written. It brings in OpenSSL: starting with it took half of the time that a
 * command takes to begin. */
#define FUNCTIONS(X)                                                                               \
	X(workbook_add_format)                                                                     \
	X(format_set_num_format)                                                                   \
	X(format_set_bg_color)                                                                     \
	X(format_set_bold)                                                                         \
	X(worksheet_write_string)                                                                  \
	X(worksheet_write_number)                                                                  \
	X(worksheet_write_boolean)                                                                 \
	X(worksheet_conditional_format_range)                                                      \
	X(workbook_add_chart)                                                                      \
	X(chart_add_series)                                                                        \
	X(chart_series_set_categories)                                                             \
	X(chart_series_set_values)                                                                 \
	X(chart_title_set_name)                                                                    \
	X(chart_legend_set_position)                                                               \
	X(chart_axis_set_reverse)                                                                  \
	X(worksheet_insert_chart)                                                                  \
	X(workbook_add_worksheet)                                                                  \
	X(worksheet_set_column)                                                                    \
	X(worksheet_freeze_panes)                                                                  \
	X(worksheet_autofilter)                                                                    \
	X(workbook_new_opt)                                                                        \
	X(workbook_set_properties)                                                                 \
	X(workbook_close)                                                                          \
	X(lxw_strerror)

#define POINTER(name) __typeof__(&name) name;
static struct {
	FUNCTIONS(POINTER)
} xlsx;
#undef POINTER

static sn_status library_load(struct sn_error *err)
{
	static const char name[] = "libxlsxwriter.so." LXW_SOVERSION;
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	bool is_whole = library != NULL;

	if (!library)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "workbooks need %s, which is not installed (Debian: "
				    "libxlsxwriter%s); or take --format json",
				    name, LXW_SOVERSION);
#define FIND(function)                                                                             \
	*(void **)&xlsx.function = dlsym(library, #function);                                      \
	is_whole = is_whole && xlsx.function;
	FUNCTIONS(FIND)
#undef FIND
	if (is_whole)
		return SN_OK;
	dlclose(library);
	return sn_error_set(err, SN_ERR_UNSUPPORTED,
			    "the %s that is installed is another than sonde was built with; take "
			    "--format json",
			    name);
}

enum { TEXT_MOST = 32000, CHART_ROWS = 10, WIDTH_MOST = 60, ROWS_MOST = 1048575 };

struct book {
	lxw_workbook *workbook;
	lxw_format *header, *share, *seconds, *whole, *good, *fair, *poor;
};

static lxw_format *format_new(lxw_workbook *workbook, const char *number)
{
	lxw_format *format = xlsx.workbook_add_format(workbook);

	if (number)
		xlsx.format_set_num_format(format, number);
	return format;
}

static lxw_format *colour_new(lxw_workbook *workbook, lxw_color_t background)
{
	lxw_format *format = xlsx.workbook_add_format(workbook);

	xlsx.format_set_bg_color(format, background);
	return format;
}

static void formats_make(struct book *b)
{
	b->header = format_new(b->workbook, NULL);
	xlsx.format_set_bold(b->header);
	b->share = format_new(b->workbook, "0.0%");
	b->seconds = format_new(b->workbook, "0.000");
	b->whole = format_new(b->workbook, "#,##0");
	b->good = colour_new(b->workbook, 0xC6EFCE);
	b->fair = colour_new(b->workbook, 0xFFEB9C);
	b->poor = colour_new(b->workbook, 0xFFC7CE);
}

/* Control bytes have no place in XML, and a cell has a limit. */
static void text_write(lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column, const char *chars)
{
	struct sn_text text = { 0 };
	size_t length = strlen(chars);

	sn_text_add_printable(&text, chars, length > TEXT_MOST ? TEXT_MOST : length);
	if (text.length > TEXT_MOST) {
		size_t end = TEXT_MOST;

		while (end && ((unsigned char)text.chars[end] & 0xc0) == 0x80)
			end--;
		text.chars[end] = '\0';
	}
	xlsx.worksheet_write_string(sheet, row, column, text.chars ? text.chars : "", NULL);
	sn_text_free(&text);
}

static void cell_write(const struct book *b, lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column,
		       enum sn_cell_kind kind, const struct sn_cell *cell)
{
	if (!cell->is_known)
		return;
	switch (kind) {
	case SN_CELL_TEXT:
	case SN_CELL_JSON:
		text_write(sheet, row, column, cell->text);
		break;
	case SN_CELL_INT:
		xlsx.worksheet_write_number(sheet, row, column, (double)cell->integer, b->whole);
		break;
	case SN_CELL_BOOL:
		xlsx.worksheet_write_boolean(sheet, row, column, cell->integer != 0, NULL);
		break;
	case SN_CELL_SHARE:
		xlsx.worksheet_write_number(sheet, row, column, cell->real, b->share);
		break;
	case SN_CELL_SECONDS:
	case SN_CELL_DURATION:
		xlsx.worksheet_write_number(sheet, row, column, cell->real, b->seconds);
		break;
	case SN_CELL_REAL:
	case SN_CELL_RATE:
		xlsx.worksheet_write_number(sheet, row, column, cell->real, NULL);
		break;
	}
}

static size_t column_named(const struct sn_table *table, const char *key)
{
	size_t c = 0;

	while (c < table->column_count && strcmp(table->columns[c].key, key) != 0)
		c++;
	return c;
}

/* The marks of the terminal, as colours and as the words that stand in the cells. */
static void quality_colour(const struct book *b, lxw_worksheet *sheet, lxw_col_t column,
			   lxw_row_t last)
{
	static char good[] = "good", fair[] = "fair", poor[] = "poor";
	struct {
		char *word;
		lxw_format *format;
	} rules[] = { { good, b->good }, { fair, b->fair }, { poor, b->poor } };

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		lxw_conditional_format rule = { .type = LXW_CONDITIONAL_TYPE_TEXT,
						.criteria =
							LXW_CONDITIONAL_CRITERIA_TEXT_CONTAINING,
						.value_string = rules[i].word,
						.format = rules[i].format };

		xlsx.worksheet_conditional_format_range(sheet, 1, column, last, column, &rule);
	}
}

/* Bars of the first rows, where rows have a name and a share of the time. */
static void chart_add(const struct book *b, lxw_worksheet *sheet, const struct sn_xlsx_sheet *what)
{
	static const char *const shares[] = { "exclusive_share", "share", "efficiency" };
	const struct sn_table *table = what->table;
	size_t rows = what->chart_names ? what->chart_rows : CHART_ROWS;
	size_t name = column_named(table, what->chart_names ? what->chart_names : "name");
	size_t value =
		what->chart_names ? column_named(table, what->chart_values) : table->column_count;
	lxw_row_t last = (lxw_row_t)(table->row_count < rows ? table->row_count : rows);
	lxw_chart_series *series;
	lxw_chart *chart;

	if (!what->chart_names && name == table->column_count)
		name = column_named(table, "category");
	for (size_t i = 0; i < 3 && value == table->column_count; i++)
		value = column_named(table, shares[i]);
	if (name == table->column_count || value == table->column_count || !last)
		return;
	chart = xlsx.workbook_add_chart(b->workbook, LXW_CHART_BAR);
	series = xlsx.chart_add_series(chart, NULL, NULL);
	xlsx.chart_series_set_categories(series, what->name, 1, (lxw_col_t)name, last,
					 (lxw_col_t)name);
	xlsx.chart_series_set_values(series, what->name, 1, (lxw_col_t)value, last,
				     (lxw_col_t)value);
	xlsx.chart_title_set_name(chart, table->columns[value].key);
	xlsx.chart_legend_set_position(chart, LXW_CHART_LEGEND_NONE);
	xlsx.chart_axis_set_reverse(chart->x_axis);
	xlsx.worksheet_insert_chart(sheet, 1, (lxw_col_t)table->column_count + 1, chart);
}

static double width_of(const struct sn_table *table, size_t column)
{
	size_t widest = strlen(table->columns[column].key);

	for (size_t r = 0; r < table->row_count && r < 200; r++) {
		const struct sn_cell *cell = sn_table_cell(table, r, column);

		if (table->columns[column].kind == SN_CELL_TEXT && cell->is_known &&
		    strlen(cell->text) > widest)
			widest = strlen(cell->text);
	}
	return (double)(widest < WIDTH_MOST ? widest : WIDTH_MOST) + 2;
}

static void sheet_write(const struct book *b, const struct sn_xlsx_sheet *what)
{
	const struct sn_table *table = what->table;
	lxw_worksheet *sheet = xlsx.workbook_add_worksheet(b->workbook, what->name);
	size_t rows = table->row_count < ROWS_MOST ? table->row_count : ROWS_MOST;
	size_t quality = column_named(table, "quality");
	size_t *order = sn_alloc_zeroed(table->row_count + 1, sizeof(*order));

	for (size_t r = 0; r < table->row_count; r++)
		order[r] = r;
	if (what->sort) /* a table without that column stays as it is */
		(void)!sn_table_sort(table, what->sort, order, table->row_count, NULL);
	for (size_t c = 0; c < table->column_count; c++)
		xlsx.worksheet_set_column(sheet, (lxw_col_t)c, (lxw_col_t)c, width_of(table, c),
					  NULL);
	xlsx.worksheet_freeze_panes(sheet, 1, 0);
	for (size_t c = 0; c < table->column_count; c++)
		xlsx.worksheet_write_string(sheet, 0, (lxw_col_t)c, table->columns[c].key,
					    b->header);
	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < table->column_count; c++)
			cell_write(b, sheet, (lxw_row_t)r + 1, (lxw_col_t)c, table->columns[c].kind,
				   sn_table_cell(table, order[r], c));
	if (rows)
		xlsx.worksheet_autofilter(sheet, 0, 0, (lxw_row_t)rows,
					  (lxw_col_t)table->column_count - 1);
	if (quality < table->column_count)
		quality_colour(b, sheet, (lxw_col_t)quality, (lxw_row_t)rows);
	chart_add(b, sheet, what);
	free(order);
}

static sn_status book_write(const char *temporary, const char *path,
			    const struct sn_xlsx_sheet *sheets, size_t count, struct sn_error *err)
{
	lxw_workbook_options options = { .constant_memory = LXW_TRUE };
	struct book b = { .workbook = xlsx.workbook_new_opt(temporary, &options) };
	lxw_error fault;

	if (!b.workbook)
		return sn_error_set(err, SN_ERR_IO, "cannot begin the workbook '%s'", path);
	/* the same report gives the same bytes */
	xlsx.workbook_set_properties(b.workbook, &(lxw_doc_properties){ .created = 315532800 });
	formats_make(&b);
	for (size_t i = 0; i < count; i++)
		sheet_write(&b, &sheets[i]);
	errno = 0;
	fault = xlsx.workbook_close(b.workbook);
	if (fault != LXW_NO_ERROR)
		return errno ? sn_error_errno(err, "cannot write the workbook '%s'", path)
			     : sn_error_set(err, SN_ERR_IO, "cannot write the workbook '%s': %s",
					    path, xlsx.lxw_strerror(fault));
	return SN_OK;
}

sn_status sn_xlsx_write(const char *path, const struct sn_xlsx_sheet *sheets, size_t count,
			struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status;

	if (!strcmp(path, "-"))
		return sn_error_set(err, SN_ERR_USAGE,
				    "a workbook goes to a file; give its name with -o");
	status = library_load(err);
	if (status == SN_OK)
		status = sn_file_writer_open(&writer, path, err);
	if (status != SN_OK)
		return status;
	if (!writer.temporary) {
		sn_file_writer_abandon(&writer);
		return sn_error_set(err, SN_ERR_USAGE,
				    "a workbook goes to a file, and '%s' is none", path);
	}
	status = book_write(writer.temporary, path, sheets, count, err);
	if (status == SN_OK)
		return sn_file_writer_commit(&writer, err);
	sn_file_writer_abandon(&writer);
	return status;
}

#else

sn_status sn_xlsx_write(const char *path, const struct sn_xlsx_sheet *sheets, size_t count,
			struct sn_error *err)
{
	(void)sheets;
	(void)count;
	return sn_error_set(
		err, SN_ERR_UNSUPPORTED,
		"cannot write '%s': this sonde was built without libxlsxwriter; install "
		"libxlsxwriter-dev and build again, or take --format json",
		path);
}

#endif

/* ---- a report ---- */

static const struct sn_column provenance_columns[] = {
	{ "key", "key", SN_CELL_TEXT, 0 },
	{ "value", "value", SN_CELL_TEXT, 0 },
};

static void provenance_fill(const struct sn_report *report, struct sn_table *table)
{
	const struct sn_experiment *e = report->profile->experiment;
	const char *const rows[][2] = { { "experiment", e->name },
					{ "label", e->label },
					{ "program", e->program },
					{ "arguments", e->arguments },
					{ "host", e->host },
					{ "cpu_model", e->cpu_model },
					{ "kernel", e->kernel },
					{ "sonde", e->version },
					{ "machine_warning", report->machine_warning } };

	sn_table_init(table, provenance_columns, 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		sn_table_add_row(table);
		sn_table_set_text(table, 0, rows[i][0]);
		sn_table_set_text(table, 1, rows[i][1]);
	}
	for (size_t i = 0; i < report->warnings.count; i++) {
		sn_table_add_row(table);
		sn_table_set_text(table, 0, "warning");
		sn_table_set_text(table, 1, report->warnings.items[i]);
	}
}

struct names {
	sn_strings items;
};

/* "functions" -> "Functions" */
static const char *sheet_name(struct names *names, const char *view)
{
	char *name = sn_strndup(view, 31);

	name[0] = (char)toupper((unsigned char)name[0]);
	sn_vec_push(&names->items, name);
	return name;
}

sn_status sn_report_write_xlsx(const struct sn_report *report, const char *path,
			       struct sn_error *err)
{
	SN_VEC(struct sn_xlsx_sheet) sheets = { 0 };
	struct sn_table provenance, gains = { 0 };
	struct names names = { 0 };
	sn_status status;

	provenance_fill(report, &provenance);
	for (size_t i = 0; i < report->tables.count; i++) {
		const struct sn_report_table *table = &report->tables.items[i];
		struct sn_xlsx_sheet sheet = { .name = sheet_name(&names, table->view->name),
					       .table = &table->table,
					       .sort = table->view->sort };

		if (table->view->is_in_report && table->table.row_count)
			sn_vec_push(&sheets, sheet);
	}
	if (report->whatif && report->whatif->experts.row_count)
		sn_vec_push(&sheets, (struct sn_xlsx_sheet){ .name = "Experts",
							     .table = &report->whatif->experts });
	if (report->whatif && report->whatif->answer) {
		sn_whatif_totals_table(report->whatif->answer, &gains);
		sn_vec_push(&sheets, (struct sn_xlsx_sheet){ .name = "WhatIf", .table = &gains });
	}
	sn_vec_push(&sheets, (struct sn_xlsx_sheet){ .name = "Provenance", .table = &provenance });
	status = sn_xlsx_write(path, sheets.items, sheets.count, err);
	sn_vec_free_owned(&names.items);
	sn_vec_free(&sheets);
	sn_table_free(&provenance);
	if (gains.column_count)
		sn_table_free(&gains);
	return status;
}
