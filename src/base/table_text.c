/*
 * Tables as text: columns as wide as their cells, cut to the terminal where they must be.
 */
#include "base/table_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/terminal.h"
#include "base/text.h"

enum { DEPTH_SHOWN_MAX = 20 };

static void add_rate(struct sn_text *text, double value)
{
	static const char *const prefixes[] = { "", " k", " M", " G", " T", " P" };
	size_t p = 0;

	while (fabs(value) >= 1000 && p + 1 < sizeof(prefixes) / sizeof(*prefixes)) {
		value /= 1000;
		p++;
	}
	sn_text_addf(text, "%.*f%s",
		     fabs(value) >= 100	 ? 0
		     : fabs(value) >= 10 ? 1
					 : 2,
		     value, prefixes[p]);
}

static void cell_add_text(struct sn_text *text, const struct sn_column *column,
			  const struct sn_cell *cell)
{
	double value;

	if (!cell->is_known) {
		sn_text_add(text, "-");
		return;
	}
	switch (column->kind) {
	case SN_CELL_JSON:
	case SN_CELL_TEXT:
		for (unsigned i = 0; i < cell->depth && i < DEPTH_SHOWN_MAX; i++)
			sn_text_add(text, "  ");
		sn_text_add_printable(text, cell->text, strlen(cell->text));
		break;
	case SN_CELL_INT:
		sn_text_addf(text, "%" PRId64, cell->integer);
		break;
	case SN_CELL_BOOL:
		sn_text_add(text, cell->integer ? "yes" : "no");
		break;
	case SN_CELL_REAL:
		sn_text_addf(text, "%.*f", fabs(cell->real) >= 100 ? 0 : column->decimals,
			     cell->real);
		break;
	case SN_CELL_SECONDS:
		value = fabs(cell->real);
		sn_text_addf(text, "%.*f",
			     value >= 100		? 1
			     : value >= 10		? 2
			     : value > 0 && value < 0.1 ? 4
							: 3,
			     cell->real);
		break;
	case SN_CELL_DURATION:
		sn_text_add_duration(text, cell->real);
		break;
	case SN_CELL_RATE:
		add_rate(text, cell->real);
		break;
	case SN_CELL_SHARE:
		sn_text_addf(text, "%.1f %%", 100 * cell->real);
		break;
	}
}

static void print_cell(FILE *out, const char *chars, size_t width, bool is_left, bool is_last)
{
	size_t columns = sn_utf8_columns(chars), padding = width > columns ? width - columns : 0;

	if (!is_left)
		fprintf(out, "%*s", (int)padding, "");
	fputs(chars, out);
	if (is_left && !is_last)
		fprintf(out, "%*s", (int)padding, "");
	if (!is_last)
		fputs("  ", out);
}

static void write_footer(const struct sn_table *table, const struct sn_table_selection *sel,
			 const struct sn_table_view *view, FILE *out)
{
	struct sn_text text = { 0 };
	size_t column;

	if (sel->row_count == sel->matching_rows)
		return;
	sn_text_add(&text, "showing ");
	sn_text_add_count(&text, sel->row_count);
	sn_text_add(&text, " of ");
	sn_text_add_count(&text, sel->matching_rows);
	sn_text_add(&text, " rows");
	if (view->share_column &&
	    sn_table_column_find(table, view->share_column, strlen(view->share_column), &column,
				 NULL) == SN_OK) {
		double sum = 0;

		for (size_t i = 0; i < sel->row_count; i++) {
			const struct sn_cell *cell = sn_table_cell(table, sel->rows[i], column);

			sum += cell->is_known ? cell->real : 0;
		}
		sn_text_addf(&text, " = %.1f %% of time", 100 * sum);
	}
	fprintf(out, "%s (--all shows every row)\n", text.chars);
	sn_text_free(&text);
}

/* Of a column in text. */
struct extent {
	size_t width;
	size_t least; /* texts are cut to no less */
	bool is_left_out, is_whole;
	bool is_empty; /* left out, and not told of: no row has it */
};

static bool column_is_text(const struct sn_table *table, const struct sn_table_selection *sel,
			   size_t i)
{
	return sn_cell_kind_is_text(table->columns[sel->columns[i]].kind);
}

static bool is_known_anywhere(const struct sn_table *table, const struct sn_table_selection *sel,
			      size_t i)
{
	for (size_t r = 0; r < sel->row_count; r++)
		if (sn_table_cell(table, sel->rows[r], sel->columns[i])->is_known)
			return true;
	return false;
}

/* Texts that no row has take no room. An unknown number stays: that it is not known says something. */
static void leave_out_empty(const struct sn_table *table, const struct sn_table_selection *sel,
			    struct extent *extents)
{
	for (size_t i = 1; i < sel->column_count && sel->row_count; i++)
		extents[i].is_left_out = extents[i].is_empty =
			column_is_text(table, sel, i) && !is_known_anywhere(table, sel, i);
}

/* The order in which columns are left out that a terminal has no room for. Columns that say nothing
 * go first, then all that is no name, but for the share that rows stand by. */
static bool may_go(const struct sn_table *table, const struct sn_table_selection *sel,
		   const struct sn_table_view *view, size_t i, bool is_empty_asked)
{
	const char *key = table->columns[sel->columns[i]].key;

	if (is_empty_asked)
		return !is_known_anywhere(table, sel, i);
	return (!column_is_text(table, sel, i) || !strcmp(key, "interval") ||
		!strcmp(key, "role")) &&
	       !(view->share_column && !strcmp(key, view->share_column));
}

/* From the right, until a line with its texts cut fits. */
static void leave_out(const struct sn_table *table, const struct sn_table_selection *sel,
		      const struct sn_table_view *view, struct extent *extents, size_t limit)
{
	size_t total = 0;

	for (size_t i = 0; i < sel->column_count; i++)
		if (!extents[i].is_left_out)
			total += 2 + (column_is_text(table, sel, i) &&
						      extents[i].least < extents[i].width
					      ? extents[i].least
					      : extents[i].width);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = sel->column_count; i-- > 1 && total > limit + 2;) {
			if (extents[i].is_left_out || !may_go(table, sel, view, i, !pass))
				continue;
			extents[i].is_left_out = true;
			total -= extents[i].width + 2;
		}
}

static void write_left_out(const struct sn_table *table, const struct sn_table_selection *sel,
			   const struct extent *extents, FILE *out)
{
	struct sn_text names = { 0 };

	for (size_t i = 0; i < sel->column_count; i++) {
		if (!extents[i].is_left_out || extents[i].is_empty)
			continue;
		sn_text_add(&names, names.length ? ", " : "");
		sn_table_heading_add(&table->columns[sel->columns[i]], &names);
	}
	if (names.length)
		fprintf(out, "no room for: %s (--cols)\n", names.chars);
	sn_text_free(&names);
}

/* Takes from the widest columns of text until a line fits. What is never cut may run over: nothing
 * else is cut for it. */
static void fit_columns(const struct sn_table *table, const struct sn_table_selection *sel,
			struct extent *extents, size_t limit)
{
	size_t n = sel->column_count, total = 0;

	for (size_t i = 0; i < n; i++)
		if (!extents[i].is_left_out && !extents[i].is_whole)
			total += extents[i].width + 2;
	for (size_t pass = 0; pass < n && total > limit + 2; pass++) {
		struct extent *widest = NULL;
		size_t taken;

		for (size_t i = 0; i < n; i++)
			if (column_is_text(table, sel, i) && !extents[i].is_whole &&
			    extents[i].width > (widest ? widest->width : extents[i].least) &&
			    extents[i].width > extents[i].least)
				widest = &extents[i];
		if (!widest)
			break;
		taken = widest->width - widest->least;
		taken = total - limit - 2 < taken ? total - limit - 2 : taken;
		total -= taken;
		widest->width -= taken;
	}
}

/* A cell that was cut, as it was and as it is. */
struct cut_cell {
	char *whole, *shown;
	size_t row;
};

/* A column of names is cut to its width; what would then look the same is told apart. */
static void elide_column(struct sn_text *texts, size_t rows, size_t step, size_t columns)
{
	enum { CELLS_MOST = 1000 };
	SN_VEC(struct cut_cell) cells = { 0 };

	for (size_t r = 0; r < rows; r++) {
		struct sn_text *text = &texts[r * step];
		struct cut_cell cell = { NULL, NULL, r };

		if (text->length > columns && text->chars[0] != ' ' && cells.count < CELLS_MOST)
			cell.whole = sn_strdup(text->chars);
		sn_text_elide(text, columns);
		if (cell.whole) {
			cell.shown = sn_strdup(text->chars);
			sn_vec_push(&cells, cell);
		}
	}
	for (size_t i = 0; i < cells.count; i++) {
		const struct cut_cell *a = &cells.items[i];
		struct sn_text *text = &texts[a->row * step];

		for (size_t k = 0; k < cells.count; k++) {
			const struct cut_cell *b = &cells.items[k];

			if (strcmp(a->shown, b->shown) != 0 || !strcmp(a->whole, b->whole))
				continue;
			sn_text_clear(text);
			sn_text_add(text, a->whole);
			sn_text_elide_apart(text, columns, b->whole);
			break;
		}
	}
	for (size_t i = 0; i < cells.count; i++) {
		free(cells.items[i].whole);
		free(cells.items[i].shown);
	}
	sn_vec_free(&cells);
}

/* Whether a key is in "a,b"; NULL: nothing is. */
static bool is_listed(const char *keys, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = keys; at;) {
		if (!strncmp(at, key, length) && (!at[length] || at[length] == ','))
			return true;
		at = strchr(at, ',');
		if (at)
			at++;
	}
	return false;
}

void sn_table_write_text(const struct sn_table *table, const struct sn_table_selection *sel,
			 const struct sn_table_view *view, FILE *out)
{
	size_t n = sel->column_count;
	struct sn_text *texts = sn_alloc_zeroed((sel->row_count + 1) * n, sizeof(*texts));
	struct extent *extents = sn_alloc_zeroed(n, sizeof(*extents));
	const struct sn_style *style = sn_terminal_style(out);
	size_t limit = view->width ? view->width : sn_terminal_width(), last = 0;

	for (size_t r = 0; r <= sel->row_count; r++) {
		for (size_t i = 0; i < n; i++) {
			const struct sn_column *column = &table->columns[sel->columns[i]];
			struct sn_text *text = &texts[r * n + i];
			size_t width, least;

			if (!r)
				sn_table_heading_add(column, text);
			else
				cell_add_text(
					text, column,
					sn_table_cell(table, sel->rows[r - 1], sel->columns[i]));
			width = sn_utf8_columns(text->chars);
			least = sn_text_columns_least(text->chars);
			extents[i].width = width > extents[i].width ? width : extents[i].width;
			extents[i].least = least > extents[i].least ? least : extents[i].least;
		}
	}
	for (size_t i = 0; i < n; i++)
		extents[i].is_whole =
			is_listed(view->whole_column, table->columns[sel->columns[i]].key);
	if (view->may_leave_out)
		leave_out_empty(table, sel, extents);
	if (view->may_leave_out && isatty(fileno(out)))
		leave_out(table, sel, view, extents, limit);
	fit_columns(table, sel, extents, limit);
	for (size_t i = 0; i < n; i++)
		last = extents[i].is_left_out ? last : i;
	for (size_t i = 0; i < n; i++)
		if (column_is_text(table, sel, i) && !extents[i].is_whole)
			elide_column(texts + i, sel->row_count + 1, n, extents[i].width);
	fputs(style->strong, out);
	for (size_t r = 0; r <= sel->row_count; r++) {
		for (size_t i = 0; i < n; i++) {
			struct sn_text *text = &texts[r * n + i];
			bool is_left = column_is_text(table, sel, i);

			if (!extents[i].is_left_out)
				print_cell(out, text->chars, extents[i].width, is_left, i == last);
			sn_text_free(text);
		}
		fprintf(out, "%s\n", r ? "" : style->off);
	}
	write_footer(table, sel, view, out);
	write_left_out(table, sel, extents, out);
	free(texts);
	free(extents);
}
