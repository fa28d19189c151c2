#include "report/json/json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "views/summary/summary.h"
#include "views/view.h"
#include "views/whatif.h"
#include "whatif/sentence.h"

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

/* What the static model says of this processor's loops; NULL if it knows none. */
static struct sn_whatif *whatif_new(const struct sn_profile *profile,
				    struct sn_structures *structures, struct sn_error *err)
{
	const struct sn_machine *machine;

	return sn_machine_find("native", &machine, err) == SN_OK
		       ? sn_whatif_new(machine, profile, structures, SN_WHATIF_LOOPS_MAX)
		       : NULL;
}

/* With the advice on the hottest loop. */
static struct sn_summary *summary_new(const struct sn_profile *profile,
				      struct sn_structures *structures,
				      const struct sn_whatif *whatif)
{
	return sn_summary_new(profile, structures, whatif);
}

/* As `sonde show whatif` has it; null where this processor has no model. */
static void whatif_write(const struct sn_whatif *whatif, struct sn_json *json)
{
	struct sn_text columns = { 0 };
	struct sn_table table;

	sn_json_key(json, "whatif");
	if (!whatif) {
		sn_json_null(json);
		return;
	}
	sn_whatif_columns(SN_VARIANT_FULL_VECTOR, SN_FORMAT_JSON, &columns);
	sn_whatif_table(whatif, SN_VARIANT_COUNT, false, columns.chars, &table);
	sn_json_object(json);
	sn_json_member_string(json, "schema", "sonde.whatif/2");
	sn_whatif_write_json(whatif, json);
	sn_json_key(json, "rows");
	sn_json_array(json);
	sn_table_write_rows(&table, columns.chars, json);
	sn_json_close(json);
	sn_json_close(json);
	sn_table_free(&table);
	sn_text_free(&columns);
}

/* The table stands where it promises something. */
static sn_status whatif_print(const struct sn_whatif *whatif, const struct sn_view_input *input,
			      FILE *out, struct sn_error *err)
{
	struct sn_table_view how = { .format = SN_FORMAT_TEXT,
				     .share_column = "coverage_share",
				     .top = 20 };
	struct sn_text columns = { 0 };
	enum sn_variant variant;
	struct sn_table table;
	sn_status status;

	if (!sn_whatif_promises(whatif)) {
		fputs("\nWhat loops could gain: less than 1.05x of the program, by the static "
		      "model "
		      "(sonde show whatif)\n",
		      out);
		return SN_OK;
	}
	sn_whatif_variant_find(whatif, NULL, &variant, err);
	sn_whatif_columns(variant, SN_FORMAT_TEXT, &columns);
	sn_whatif_table(whatif, variant, input->is_utf8, columns.chars, &table);
	how.columns = columns.chars;
	fputc('\n', out);
	sn_whatif_print(whatif, out);
	fprintf(out, "\nloops, most to gain by %s first\n", sn_variant_names[variant]);
	status = sn_table_write(&table, &how, out, NULL, NULL, err);
	sn_table_free(&table);
	sn_text_free(&columns);
	return status;
}

sn_status sn_report_write_json(const struct sn_profile *profile, struct sn_structures *structures,
			       FILE *out, struct sn_error *err)
{
	struct sn_view_input input = input_of(profile, structures);
	struct sn_whatif *whatif = whatif_new(profile, structures, err);
	struct sn_summary *summary = summary_new(profile, structures, whatif);
	struct sn_json json = { .out = out };
	sn_status status = SN_OK;

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.report/2");
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
	if (status == SN_OK)
		whatif_write(whatif, &json);
	sn_json_close(&json);
	sn_json_finish(&json);
	sn_summary_free(summary);
	sn_whatif_free(whatif);
	return status;
}

sn_status sn_report_write_text(const struct sn_profile *profile, struct sn_structures *structures,
			       FILE *out, struct sn_error *err)
{
	struct sn_view_input input = input_of(profile, structures);
	struct sn_whatif *whatif = whatif_new(profile, structures, err);
	struct sn_summary *summary = summary_new(profile, structures, whatif);
	sn_status status = SN_OK;

	sn_summary_print(summary, out, input.is_utf8, 0);
	sn_summary_free(summary);
	if (whatif)
		status = whatif_print(whatif, &input, out, err);
	else
		fprintf(out, "\nwhat if: %s\n", err->sentence);
	sn_whatif_free(whatif);
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
