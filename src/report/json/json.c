/* The report as one JSON object: members that every reader has met in `sonde show`. */
#include "report/json/json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/text.h"
#include "base/vec.h"
#include "report/model/model.h"
#include "views/whatif.h"

/** Writes one table as an object into a string of its own; the caller frees. */
static sn_status table_to_json(const struct sn_report_table *table, char **out,
			       struct sn_error *err)
{
	struct sn_table_view how = { .format = SN_FORMAT_JSON,
				     .schema = table->view->schema,
				     .columns = table->view->data_columns,
				     .sort = table->view->sort };
	size_t length = 0;
	FILE *memory = open_memstream(out, &length);
	sn_status status;

	if (!memory)
		sn_out_of_memory(4096);
	status = sn_table_write(&table->table, &how, memory, NULL, NULL, err);
	fclose(memory);
	while (length && (*out)[length - 1] == '\n')
		(*out)[--length] = '\0';
	return status;
}

/* As `sonde show whatif` has it; null where this processor has no model. */
static void whatif_write(const struct sn_report_whatif *whatif, struct sn_json *json)
{
	struct sn_text columns = { 0 };

	sn_json_key(json, "whatif");
	if (!whatif) {
		sn_json_null(json);
		return;
	}
	sn_whatif_columns(SN_VARIANT_FULL_VECTOR, SN_FORMAT_JSON, &columns);
	sn_json_object(json);
	sn_json_member_string(json, "schema", SN_WHATIF_SCHEMA);
	sn_whatif_write_json(whatif->answer, json);
	sn_json_key(json, "rows");
	sn_json_array(json);
	sn_table_write_rows(&whatif->experts, columns.chars, json);
	sn_json_close(json);
	sn_json_close(json);
	sn_text_free(&columns);
}

sn_status sn_report_write_json(const struct sn_report *report, FILE *out, struct sn_error *err)
{
	struct sn_json json = { .out = out };
	sn_status status = SN_OK;

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.report/2");
	sn_json_member_string(&json, "experiment", report->experiment);
	sn_json_member_string(&json, "machine", report->machine ? report->machine->name : NULL);
	sn_json_member_string(&json, "machine_warning", report->machine_warning);
	sn_json_key(&json, "summary");
	sn_json_object(&json);
	sn_summary_write_json(report->summary, &json);
	sn_json_close(&json);
	for (size_t i = 0; i < report->tables.count && status == SN_OK; i++) {
		const struct sn_report_table *table = &report->tables.items[i];
		char *words = NULL;

		if (!table->view->is_in_report)
			continue;
		status = table_to_json(table, &words, err);
		if (status == SN_OK) /* a whole object, made by the same writer */
			fprintf(out, ",\"%s\":%s", table->view->name, words);
		sn_vec_release(words);
	}
	if (status == SN_OK)
		whatif_write(report->whatif, &json);
	sn_json_close(&json);
	sn_json_finish(&json);
	return status;
}
