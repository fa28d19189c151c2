/**
 * A workbook (XLSX) of tables, a sheet each, with every column. Rows go to disk as they are written, so
 * memory does not grow with them.
 *
 * Headers are the keys of CSV and JSON. Numbers are numbers, in the units of the keys, shown with a format
 * of their kind; unknown cells are empty. Text is text, whatever it begins with.
 */
#ifndef SN_REPORT_XLSX_XLSX_H
#define SN_REPORT_XLSX_XLSX_H

#include "base/table.h"
#include "report/model/model.h"

struct sn_xlsx_sheet {
	const char *name;	      /* at most 31 characters, unique, without []:*?/\ */
	const struct sn_table *table; /* borrowed */
	const char *sort;	      /* as for sn_table_sort; NULL: as filled */
	/* a chart of the first `chart_rows` rows: the values of one column by the names of another; NULL:
	 * of the ten first, if they have a name and a share of the time */
	const char *chart_names, *chart_values;
	size_t chart_rows;
};

/** Writes a workbook, whole or not at all. SN_ERR_UNSUPPORTED: this sonde was built without
 * libxlsxwriter. SN_ERR_USAGE: a path that is no file's, as '-'. */
sn_status sn_xlsx_write(const char *path, const struct sn_xlsx_sheet *sheets, size_t count,
			struct sn_error *err);

/** Writes a report that was made with tables: Global, its tables, Experts (the static model's) and
 * Provenance, as far as there are rows. */
sn_status sn_report_write_xlsx(const struct sn_report *report, const char *path,
			       struct sn_error *err);

#endif
