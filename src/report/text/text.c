/* The report as text: what `sonde show` prints, one after the other. */
#include "report/text/text.h"

#include "base/text.h"
#include "report/model/model.h"
#include "views/whatif.h"
#include "whatif/sentence.h"

enum { ROWS = 20 };

/* The table stands where it promises something. */
static sn_status whatif_print(const struct sn_whatif *whatif, FILE *out, struct sn_error *err)
{
	struct sn_table_view how = { .format = SN_FORMAT_TEXT,
				     .share_column = "coverage_share",
				     .top = ROWS };
	enum sn_variant variant;

	if (!sn_whatif_promises(whatif)) {
		fputs("\nWhat loops could gain: less than 1.05x of the program, by the static model "
		      "(sonde show whatif)\n",
		      out);
		return SN_OK;
	}
	sn_whatif_variant_find(whatif, NULL, &variant, err);
	fputc('\n', out);
	return sn_whatif_show(whatif, variant, sn_locale_is_utf8(), &how, out, err);
}

static sn_status table_print(const struct sn_report_table *table, FILE *out, struct sn_error *err)
{
	struct sn_table_view how = { .format = SN_FORMAT_TEXT,
				     .columns = table->view->text_columns,
				     .sort = table->view->sort,
				     .share_column = table->view->share_column,
				     .top = ROWS };

	fprintf(out, "\n%s\n", table->view->name);
	return sn_table_write(&table->table, &how, out, NULL, NULL, err);
}

sn_status sn_report_write_text(const struct sn_report *report, FILE *out, struct sn_error *err)
{
	sn_status status = SN_OK;

	sn_summary_print(report->summary, out, sn_locale_is_utf8(), 0);
	if (report->whatif)
		status = whatif_print(report->whatif->answer, out, err);
	else if (report->machine_absence)
		fprintf(out, "\nwhat if: %s\n", report->machine_absence);
	for (size_t i = 0; i < report->tables.count && status == SN_OK; i++)
		if (report->tables.items[i].view->is_in_report)
			status = table_print(&report->tables.items[i], out, err);
	return status;
}
