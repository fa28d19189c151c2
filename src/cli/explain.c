/*
 * sonde explain: what a word of any table or summary means. The texts live with the views and the
 * model; here they are looked up, listed and wrapped.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/command.h"
#include "cqa/words/table.h"
#include "views/explain.h"
#include "views/view.h"

static void put_wrapped(const char *text, const char *indent, size_t width)
{
	size_t column = 0;

	while (*text) {
		size_t length = strcspn(text, " ");
		struct sn_text word = { 0 };
		size_t columns;

		sn_text_add_bytes(&word, text, length);
		columns = word.chars ? sn_utf8_columns(word.chars) : 0;
		if (column && column + 1 + columns > width) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf("%s%s", column ? " " : indent,
					 word.chars ? word.chars : "") -
			  (length - columns);
		sn_text_free(&word);
		text += length + (text[length] == ' ');
	}
	putchar('\n');
}

/* The views in which the key is a column. */
static void put_views(const char *key)
{
	bool is_first = true;

	for (const struct sn_view *const *view = sn_views; *view; view++) {
		for (size_t c = 0; c < (*view)->column_count; c++) {
			if (strcmp((*view)->columns[c].key, key) != 0)
				continue;
			printf("%s%s", is_first ? "  in: sonde show " : ", ", (*view)->name);
			is_first = false;
			break;
		}
	}
	if (!is_first)
		putchar('\n');
}

static void put_explanation(const struct sn_explanation *e, size_t width)
{
	printf("%s (%s)\n", e->key, e->kind);
	put_wrapped(e->text, "  ", width);
	put_views(e->key);
	if (e->see)
		printf("  see: %s\n", e->see);
}

/* A column of 'show whatif' and 'sonde cqa' by key or heading, or -1; the name of a bound stands
 * for its cycles. */
static int static_column(const char *word)
{
	char cycles[64];

	for (size_t c = 0; c < sn_cqa_column_count; c++)
		if (!strcmp(sn_cqa_columns[c].key, word) ||
		    (sn_cqa_columns[c].title && !strcasecmp(sn_cqa_columns[c].title, word)))
			return (int)c;
	snprintf(cycles, sizeof(cycles), "%.40s_cycles", word);
	for (char *c = cycles; *c; c++)
		*c = *c == ' ' ? '_' : *c;
	for (unsigned b = 0; b < SN_BOUND_COUNT; b++)
		if (strncmp(sn_bound_names[b], cycles, strlen(sn_bound_names[b])) == 0)
			for (size_t c = 0; c < sn_cqa_column_count; c++)
				if (!strcmp(sn_cqa_columns[c].key, cycles))
					return (int)c;
	return -1;
}

static bool word_is_known(const char *word)
{
	return sn_explanation_find(word) || static_column(word) >= 0;
}

static void static_text(size_t column, struct sn_text *out)
{
	sn_cqa_column_explain(column, out);
	sn_text_add(out, ".");
	if (out->chars[0] >= 'a' && out->chars[0] <= 'z')
		out->chars[0] = (char)(out->chars[0] - 'a' + 'A');
}

static void put_static(size_t column, size_t width)
{
	struct sn_text text = { 0 };

	static_text(column, &text);
	printf("%s (static model)\n", sn_cqa_columns[column].key);
	put_wrapped(text.chars, "  ", width);
	printf("  in: sonde cqa, sonde show whatif (--cols %s for all of the group)\n",
	       sn_cqa_column_group(column));
	sn_text_free(&text);
}

static void put_word(const char *word, size_t width)
{
	const struct sn_explanation *e = sn_explanation_find(word);

	if (e)
		put_explanation(e, width);
	else
		put_static((size_t)static_column(word), width);
}

static const struct sn_column explain_columns[] = {
	{ "key", "word", SN_CELL_TEXT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "text", "meaning", SN_CELL_TEXT, 0 },
	{ "see", NULL, SN_CELL_TEXT, 0 },
};

static void explanation_row(struct sn_table *table, const struct sn_explanation *e)
{
	sn_table_add_row(table);
	sn_table_set_text(table, 0, e->key);
	sn_table_set_text(table, 1, e->kind);
	sn_table_set_text(table, 2, e->text);
	sn_table_set_text(table, 3, e->see);
}

static void static_row(struct sn_table *table, size_t column)
{
	struct sn_text text = { 0 };

	static_text(column, &text);
	sn_table_add_row(table);
	sn_table_set_text(table, 0, sn_cqa_columns[column].key);
	sn_table_set_text(table, 1, "static model");
	sn_table_set_text(table, 2, text.chars);
	sn_text_free(&text);
}

static int explain_list(const struct sn_args *args, struct sn_table_view *view)
{
	const struct sn_explanation *e;
	struct sn_table table;
	struct sn_error err;
	sn_status status = SN_OK;

	sn_table_init(&table, explain_columns, 4);
	for (size_t k = 0; (e = sn_explanation_at(k)) != NULL; k++) {
		bool is_asked = !args->operand_count;

		for (size_t i = 0; i < args->operand_count; i++)
			is_asked |= sn_explanation_find(args->operands[i]) == e;
		if (is_asked)
			explanation_row(&table, e);
	}
	for (size_t i = 0; i < args->operand_count; i++)
		if (!sn_explanation_find(args->operands[i]) &&
		    static_column(args->operands[i]) >= 0)
			static_row(&table, (size_t)static_column(args->operands[i]));
	view->schema = "sonde.explain/1";
	view->top = 0;
	status = sn_table_write(&table, view, stdout, NULL, NULL, &err);
	sn_table_free(&table);
	return status == SN_OK ? SN_EXIT_OK : sn_error_print(&err);
}

/* Words that contain what was asked for, or whose text does: a hint for the next try. */
static void warn_unknown(const char *word)
{
	const struct sn_explanation *e;
	struct sn_text near = { 0 };

	for (size_t i = 0; (e = sn_explanation_at(i)) != NULL; i++)
		if (strstr(e->key, word) || strstr(word, e->key) || strstr(e->text, word))
			sn_text_addf(&near, "%s%s", near.length ? ", " : "", e->key);
	if (near.length)
		sn_warn("there is no explanation of '%s'; near it are: %s", word, near.chars);
	else
		sn_warn("there is no explanation of '%s'; 'sonde explain' lists all words", word);
	sn_text_free(&near);
}

/* A heading of several words, as it was read: thr dev. */
static bool explain_joined(const struct sn_args *args, size_t width)
{
	bool is_one;
	struct sn_text words = { 0 };
	bool is_known = true;

	for (size_t i = 0; i < args->operand_count; i++) {
		is_known = is_known && word_is_known(args->operands[i]);
		sn_text_addf(&words, "%s%s", i ? " " : "", args->operands[i]);
	}
	is_one = !is_known && word_is_known(words.chars);
	if (is_one)
		put_word(words.chars, width);
	sn_text_free(&words);
	return is_one;
}

static int explain_run(const struct sn_args *args)
{
	struct sn_table_view view = { 0 };
	struct sn_error err;
	size_t terminal = sn_terminal_width();
	size_t width = terminal > 24 && terminal < 100 ? terminal - 4 : 96;
	int code = SN_EXIT_OK;

	if (sn_args_table_view(args, &view, &err) != SN_OK)
		return sn_error_print(&err);
	if (args->operand_count > 1 && view.format == SN_FORMAT_TEXT && explain_joined(args, width))
		return SN_EXIT_OK;
	for (size_t i = 0; i < args->operand_count; i++) {
		if (!word_is_known(args->operands[i])) {
			warn_unknown(args->operands[i]);
			code = SN_EXIT_USAGE;
		}
	}
	if (code != SN_EXIT_OK)
		return code;
	if (view.format != SN_FORMAT_TEXT || !args->operand_count)
		return explain_list(args, &view);
	for (size_t i = 0; i < args->operand_count; i++) {
		if (i)
			putchar('\n');
		put_word(args->operands[i], width);
	}
	return code;
}

static const struct sn_option explain_options[] = { SN_TABLE_OPTIONS, { 0 } };

static const char *const explain_examples[] = {
	"sonde explain inclusive_share",
	"what a column means, and which views have it",
	"sonde explain openmp spin",
	"what counts as OpenMP, and what spinning is",
	NULL,
};

const struct sn_command sn_command_explain = {
	.name = "explain",
	.operands = "[WORD...]",
	.summary = "Says what a column, metric or category means",
	.description =
		"WORD is the key or the heading of a column of any view ('sonde show VIEW --cols "
		"all' has them all), a word of the summary, a category such as 'openmp', or an "
		"idea such as 'inclusive'. Without one, all words are listed.",
	.options = explain_options,
	.examples = explain_examples,
	.run = explain_run,
};
