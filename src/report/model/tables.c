/* The tables of `sonde show` that a report repeats, filled once for all formats. */
#include "report/model/model_parts.h"

static const char *const names[] = { "functions", "loops",     "lines",	    "modules",
				     "threads",	  "processes", "categories" };

sn_status sn_report_add_tables(struct sn_report *report, struct sn_structures *structures,
			       struct sn_error *err)
{
	struct sn_view_input input = { .profile = report->profile,
				       .structures = structures,
				       .is_utf8 = sn_locale_is_utf8() };
	sn_status status = SN_OK;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && status == SN_OK; i++) {
		struct sn_report_table table = { .view = sn_view_find(names[i]) };

		sn_table_init(&table.table, table.view->columns, table.view->column_count);
		status = table.view->fill(&input, &table.table, err);
		sn_vec_push(&report->tables, table);
	}
	return status;
}
