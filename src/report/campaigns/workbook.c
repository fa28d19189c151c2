/* A campaign as a workbook: what its page and its commands tell, a sheet each. */
#include <stdio.h>

#include "campaign/scaling/table.h"
#include "campaign/scaling/words.h"
#include "report/campaigns/campaign.h"
#include "report/xlsx/xlsx.h"

static const struct sn_column provenance_columns[] = {
	{ "key", "key", SN_CELL_TEXT, 0 },
	{ "value", "value", SN_CELL_TEXT, 0 },
};

static void fact_add(struct sn_table *out, const char *key, const char *value)
{
	sn_table_add_row(out);
	sn_table_set_text(out, 0, key);
	sn_table_set_text(out, 1, value);
}

static void number_add(struct sn_table *out, const char *key, unsigned long long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", value);
	fact_add(out, key, text);
}

static void sentences_add(struct sn_table *out, const char *key,
			  const struct sn_scaling_campaign *s, sn_scaling_sentence_adder *add)
{
	struct sn_text text = { 0 };
	size_t at = 0;

	for (; add(s->scaling, s->configurations, &at, &text); sn_text_clear(&text))
		fact_add(out, key, text.chars);
	sn_text_free(&text);
}

static void provenance_fill(const struct sn_campaign_page *page, struct sn_table *out)
{
	const struct sn_scaling_campaign *read = page->read;
	const struct sn_campaign *c = read->campaign;

	sn_table_init(out, provenance_columns, 2);
	fact_add(out, "campaign", sn_base_name(c->path));
	fact_add(out, "plan", c->state->plan_name);
	number_add(out, "seed", c->state->seed);
	number_add(out, "repeat", c->plan->repeat);
	fact_add(out, "order", c->plan->order == SN_CAMPAIGN_BLOCKS ? "blocks" : "sequential");
	if (read->scaling) {
		fact_add(out, "mode", read->scaling->is_weak ? "weak" : "strong");
		fact_add(out, "reference",
			 read->configurations[read->scaling->rows.items[0].reference].name);
		sentences_add(out, "answer", read, sn_scaling_add_answer);
		sentences_add(out, "warning", read, sn_scaling_add_warning);
	} else {
		fact_add(out, "warning", read->none.sentence);
	}
	fact_add(out, "sonde", page->version);
}

static size_t application_rows(const struct sn_scaling *scaling)
{
	size_t count = 0;

	while (count < scaling->rows.count &&
	       scaling->rows.items[count].kind == SN_SCALING_APPLICATION)
		count++;
	return count;
}

sn_status sn_report_write_campaign_xlsx(const struct sn_campaign_page *page,
					const struct sn_table *compare, const char *path,
					struct sn_error *err)
{
	const struct sn_scaling *scaling = page->read->scaling;
	struct sn_table figures = { 0 }, laws = { 0 }, provenance;
	SN_VEC(struct sn_xlsx_sheet) sheets = { 0 };
	sn_status status;

	provenance_fill(page, &provenance);
	sn_vec_push(&sheets, ((struct sn_xlsx_sheet){ .name = "Runs", .table = page->runs }));
	if (scaling) {
		sn_scaling_table(page->read, &figures);
		sn_scaling_laws_table(scaling, &laws);
		sn_vec_push(&sheets,
			    ((struct sn_xlsx_sheet){ .name = "Scalability",
						     .table = &figures,
						     .chart_names = "configuration",
						     .chart_values = "efficiency",
						     .chart_rows = application_rows(scaling) }));
		sn_vec_push(&sheets, ((struct sn_xlsx_sheet){ .name = "Laws", .table = &laws }));
	}
	if (compare)
		sn_vec_push(&sheets,
			    ((struct sn_xlsx_sheet){ .name = "Compare", .table = compare }));
	if (page->compile)
		sn_vec_push(&sheets,
			    ((struct sn_xlsx_sheet){ .name = "Compile", .table = page->compile }));
	sn_vec_push(&sheets,
		    ((struct sn_xlsx_sheet){ .name = "Provenance", .table = &provenance }));
	status = sn_xlsx_write(path, sheets.items, sheets.count, err);
	sn_vec_free(&sheets);
	if (scaling) {
		sn_table_free(&figures);
		sn_table_free(&laws);
	}
	sn_table_free(&provenance);
	return status;
}
