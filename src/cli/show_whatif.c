#include "cli/show_whatif.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cqa/words/table.h"
#include "views/whatif.h"

struct members {
	const struct sn_whatif *whatif;
	const struct sn_profile *profile;
};

static void write_members(struct sn_json *json, void *context)
{
	const struct members *members = context;

	sn_json_member_double(json, "sampled_cpu_s", (double)members->profile->total.cpu_ns / 1e9);
	sn_whatif_write_json(members->whatif, json);
}

/* Keys of this view and groups of `sonde cqa`. */
static void take_columns(struct sn_table_view *how, enum sn_variant variant,
			 struct sn_text *columns)
{
	if (how->columns)
		sn_whatif_columns_expand(how->columns, columns);
	else
		sn_whatif_columns(variant, how->format, columns);
	how->columns = columns->chars;
}

sn_status sn_show_whatif(const struct sn_view_input *input, const struct sn_machine *machine,
			 struct sn_table_view *how, struct sn_error *err)
{
	struct sn_whatif *whatif =
		sn_whatif_new(machine, input->profile, input->structures, SN_WHATIF_LOOPS_MAX);
	struct members members = { whatif, input->profile };
	struct sn_text columns = { 0 }, looked_at = { 0 };
	enum sn_variant variant;
	struct sn_table table;
	sn_status status = sn_whatif_variant_find(whatif, input->subject, &variant, err);

	if (status == SN_OK) {
		take_columns(how, variant, &columns);
		sn_text_addf(&looked_at, "%s %s %s", how->columns, how->filter ? how->filter : "",
			     how->sort ? how->sort : "");
		sn_whatif_table(whatif, variant, input->is_utf8, looked_at.chars, &table);
		how->schema = "sonde.whatif/2";
		how->share_column = "coverage_share";
		if (how->format == SN_FORMAT_TEXT) {
			sn_whatif_print(whatif, stdout);
			printf("\nLoops, most to gain by %s first:\n", sn_variant_names[variant]);
		}
		status = sn_table_write(&table, how, stdout, write_members, &members, err);
		sn_table_free(&table);
	}
	sn_text_free(&columns);
	sn_text_free(&looked_at);
	sn_whatif_free(whatif);
	return status;
}
