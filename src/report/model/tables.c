/* The tables of `sonde show` that a report repeats, filled once for all formats. */
#include "report/model/model_parts.h"

sn_status sn_report_add_tables(struct sn_report *report, struct sn_structures *structures,
			       struct sn_error *err)
{
	struct sn_view_input input = { .profile = report->profile,
				       .structures = structures,
				       .is_utf8 = sn_locale_is_utf8() };
	sn_status status = SN_OK;

	for (const struct sn_view *const *view = sn_views; *view && status == SN_OK; view++) {
		struct sn_report_table table = { .view = *view };

		if (!(*view)->is_in_report)
			continue;
		sn_table_init(&table.table, table.view->columns, table.view->column_count);
		status = table.view->fill(&input, &table.table, err);
		sn_vec_push(&report->tables, table);
	}
	return status;
}
