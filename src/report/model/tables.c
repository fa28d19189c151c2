/* The tables of `sonde show` that a report repeats, filled once for all formats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "caches/replay.h"
#include "report/model/model_parts.h"
#include "views/empty.h"

static bool is_wanted(const struct sn_report *report, const struct sn_view *view,
		      const struct sn_report_options *options)
{
	if (sn_view_lacks_data(view, report->profile))
		return false;
	return (options->has_tables && view->is_in_report) ||
	       (options->has_details && view->page_title);
}

/* ---- columns of the report's own rows ---- */

struct rows {
	const char *name;      /* as in `page_rows` */
	const uint32_t *index; /* of the program's entities: their rows here; NULL: the same */
	size_t entities, count;
};

static bool has_page_column(const struct sn_view *view)
{
	for (size_t c = 0; c < view->column_count; c++)
		if (sn_view_is_on_page(view, view->columns[c].key))
			return true;
	return false;
}

static void add_row_table(struct sn_report *report, const struct sn_view_input *input,
			  const struct sn_view *view, const struct rows *rows)
{
	struct sn_report_table table = { .view = view };
	uint32_t *numbers = sn_alloc((rows->count + 1) * sizeof(*numbers));

	memset(numbers, 0xff, rows->count * sizeof(*numbers)); /* SN_NONE: what was folded */
	for (uint32_t i = 0; i < rows->entities; i++) {
		uint32_t row = rows->index ? rows->index[i] : i;

		if (row != SN_NONE && numbers[row] == SN_NONE)
			numbers[row] = i;
	}
	sn_table_init(&table.table, view->columns, view->column_count);
	for (size_t i = 0; i < rows->count; i++)
		if (numbers[i] == SN_NONE)
			sn_table_add_row(&table.table);
		else
			view->add_row(input, &table.table, numbers[i]);
	sn_vec_push(&report->row_tables, table);
	free(numbers);
}

static void add_row_tables(struct sn_report *report, const struct sn_view_input *input)
{
	const struct sn_program *program = report->profile->program;
	const struct rows all[] = {
		{ "functions", report->function_of, program->functions.count,
		  report->functions.count },
		{ "loops", report->loop_of, program->loops.count, report->loops.count },
		{ "modules", NULL, report->modules.count, report->modules.count },
		{ "threads", NULL, report->threads.count, report->threads.count },
	};

	for (const struct sn_view *const *view = sn_views; *view; view++)
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			if ((*view)->page_rows && !strcmp((*view)->page_rows, all[i].name) &&
			    has_page_column(*view))
				add_row_table(report, input, *view, &all[i]);
}

/* What `sonde show` prints below its rows, or in their place. */
static void add_words(struct sn_report *report, const struct sn_view_input *input,
		      struct sn_report_table *table)
{
	struct sn_table_view how = { .format = SN_FORMAT_TEXT };
	struct sn_text reason = { 0 };
	char *foot = NULL;
	size_t length;
	FILE *out = table->view->put_foot ? open_memstream(&foot, &length) : NULL;

	if (out) {
		table->view->put_foot(input, out);
		fclose(out);
	}
	if (foot && *foot)
		table->foot = sn_arena_strdup(&report->arena, foot);
	free(foot);
	if (table->table.row_count)
		return;
	sn_view_why_empty(table->view, input, &table->table, &how, &reason);
	table->why_empty = sn_arena_strdup(&report->arena, reason.chars);
	sn_text_free(&reason);
}

sn_status sn_report_add_tables(struct sn_report *report, struct sn_structures *structures,
			       const struct sn_report_options *options, struct sn_error *err)
{
	struct sn_heap *heap = NULL;
	struct sn_mpi *mpi = NULL;
	struct sn_locks *locks = NULL;
	struct sn_io *io = NULL;
	struct sn_openmp *openmp = NULL;
	struct sn_view_input input = { .profile = report->profile,
				       .structures = structures,
				       .is_utf8 = sn_locale_is_utf8(),
				       .leaves_out_zeros = !options->has_tables,
				       .heap = &heap,
				       .mpi = &mpi,
				       .locks = &locks,
				       .io = &io,
				       .replay = &report->replay,
				       .openmp = &openmp,
				       .whatif = report->whatif ? report->whatif->answer : NULL };
	sn_status status = SN_OK;

	for (const struct sn_view *const *view = sn_views; *view && status == SN_OK; view++) {
		struct sn_report_table table = { .view = *view };
		struct sn_view_input of_view = input;

		if (!is_wanted(report, *view, options))
			continue;
		sn_view_take_run(*view, &of_view);
		sn_table_init(&table.table, table.view->columns, table.view->column_count);
		status = table.view->fill(&of_view, &table.table, err);
		if (status == SN_OK && options->has_details && (*view)->page_title)
			add_words(report, &of_view, &table);
		sn_vec_push(&report->tables, table);
	}
	if (status == SN_OK && options->has_details)
		add_row_tables(report, &input);
	sn_heap_free(heap);
	sn_mpi_free(mpi);
	sn_locks_free(locks);
	sn_io_free(io);
	sn_openmp_free(openmp);
	return status;
}
