/* The tables of `sonde show` that a report repeats, filled once for all formats. */
#include "report/model/model_parts.h"

static bool is_wanted(const struct sn_view *view, const struct sn_report_options *options)
{
	return (options->has_tables && view->is_in_report) ||
	       (options->has_details && view->page_title);
}

sn_status sn_report_add_tables(struct sn_report *report, struct sn_structures *structures,
			       const struct sn_report_options *options, struct sn_error *err)
{
	struct sn_view_input input = { .profile = report->profile,
				       .structures = structures,
				       .is_utf8 = sn_locale_is_utf8() };
	sn_status status = SN_OK;

	for (const struct sn_view *const *view = sn_views; *view && status == SN_OK; view++) {
		struct sn_report_table table = { .view = *view };

		if (!is_wanted(*view, options))
			continue;
		sn_table_init(&table.table, table.view->columns, table.view->column_count);
		status = table.view->fill(&input, &table.table, err);
		sn_vec_push(&report->tables, table);
	}
	return status;
}
