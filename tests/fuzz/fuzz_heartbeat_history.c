/* Histories of any bytes: what can be read of them is reported, judged and drawn. */
#include <stdio.h>

#include "heartbeat/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_page_options options = { .group = SN_GROUP_DEFAULT, .alarm_rate = 0.01 };
	struct sn_history *history;
	struct sn_table table;
	FILE *nowhere;
	int64_t run;

	if (sn_history_open_memory(bytes, length, &history, NULL) != SN_OK)
		return 0;
	if (sn_history_find_run(history, 0, &run, NULL) == SN_OK) {
		nowhere = fopen("/dev/null", "w");
		sn_table_init(&table, sn_history_report_columns, sn_history_report_column_count);
		sn_history_report(history, run, &table, NULL);
		sn_table_free(&table);
		if (nowhere) {
			sn_history_write_page(history, run, &options, nowhere, NULL);
			options.kind = SN_PAGE_SVG;
			sn_history_write_page(history, run, &options, nowhere, NULL);
			fclose(nowhere);
		}
	}
	sn_history_close(history);
	return 0;
}
