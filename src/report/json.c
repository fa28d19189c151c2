#include "report/json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "profile/summary.h"
#include "profile/view.h"

static const char *const tables[] = { "functions", "loops",	"lines",      "modules",
				      "threads",   "processes", "categories", NULL };

static struct sn_view_input input_of(const struct sn_profile *profile,
				     struct sn_structures *structures)
{
	struct sn_view_input input = { .profile = profile, .structures = structures };

	input.is_utf8 = sn_locale_is_utf8();
	return input;
}

/** Writes one table as an object into a string of its own; the caller frees. */
static sn_status table_to_json(const struct sn_view *view, const struct sn_view_input *input,
			       char **out, struct sn_error *err)
{
	struct sn_table_view how = { .format = SN_FORMAT_JSON,
				     .schema = view->schema,
				     .columns = view->data_columns,
				     .sort = view->sort };
	struct sn_table table;
	size_t length = 0;
	FILE *memory = open_memstream(out, &length);
	sn_status status;

	if (!memory)
		sn_out_of_memory(4096);
	sn_table_init(&table, view->columns, view->column_count);
	status = view->fill(input, &table, err);
	if (status == SN_OK)
		status = sn_table_write(&table, &how, memory, NULL, NULL, err);
	sn_table_free(&table);
	fclose(memory);
	while (length && (*out)[length - 1] == '\n')
		(*out)[--length] = '\0';
	return status;
}

sn_status sn_report_write_json(const struct sn_profile *profile, struct sn_structures *structures,
			       FILE *out, struct sn_error *err)
{
	struct sn_view_input input = input_of(profile, structures);
	struct sn_summary *summary = sn_summary_new(profile, structures);
	struct sn_json json = { .out = out };
	sn_status status = SN_OK;

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.report/1");
	sn_json_member_string(&json, "experiment", profile->experiment->name);
	sn_json_key(&json, "summary");
	sn_json_object(&json);
	sn_summary_write_json(summary, &json);
	sn_json_close(&json);
	for (size_t i = 0; tables[i] && status == SN_OK; i++) {
		const struct sn_view *view = sn_view_find(tables[i]);
		char *words = NULL;

		status = table_to_json(view, &input, &words, err);
		if (status == SN_OK) /* a whole object, made by the same writer */
			fprintf(out, ",\"%s\":%s", tables[i], words);
		sn_vec_release(words);
	}
	sn_json_close(&json);
	sn_json_finish(&json);
	sn_summary_free(summary);
	return status;
}

sn_status sn_report_write_text(const struct sn_profile *profile, struct sn_structures *structures,
			       FILE *out, struct sn_error *err)
{
	struct sn_view_input input = input_of(profile, structures);
	struct sn_summary *summary = sn_summary_new(profile, structures);
	sn_status status = SN_OK;

	sn_summary_print(summary, out, input.is_utf8, 0);
	sn_summary_free(summary);
	for (size_t i = 0; tables[i] && status == SN_OK; i++) {
		const struct sn_view *view = sn_view_find(tables[i]);
		struct sn_table_view how = { .format = SN_FORMAT_TEXT,
					     .columns = view->text_columns,
					     .sort = view->sort,
					     .share_column = view->share_column,
					     .top = 20 };
		struct sn_table table;

		fprintf(out, "\n%s\n", tables[i]);
		sn_table_init(&table, view->columns, view->column_count);
		status = view->fill(&input, &table, err);
		if (status == SN_OK)
			status = sn_table_write(&table, &how, out, NULL, NULL, err);
		sn_table_free(&table);
	}
	return status;
}
