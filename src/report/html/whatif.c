/* The static model's chunks of the page. */
#include "base/text.h"
#include "cqa/core/bounds.h"
#include "cqa/words/table.h"
#include "report/html/columns.h"
#include "report/html/html_parts.h"
#include "views/whatif.h"

static void write_columns(const struct sn_report_whatif *w, struct sn_json *json)
{
	size_t own = w->experts.column_count - sn_cqa_column_count;
	struct sn_text help = { 0 };

	sn_json_key(json, "columns");
	sn_json_array(json);
	for (size_t c = 0; c < w->experts.column_count; c++) {
		const struct sn_column *column = &w->experts.columns[c];

		if (!sn_report_is_data(column))
			continue;
		sn_json_object(json);
		sn_json_member_string(json, "key", column->key);
		sn_json_member_string(json, "title", column->title);
		sn_json_member_string(json, "group",
				      c < own ? "program" : sn_cqa_column_group(c - own));
		sn_json_member_string(json, "kind", sn_report_column_kind(column));
		sn_text_clear(&help);
		if (c >= own && sn_cqa_column_explain(c - own, &help))
			sn_json_member_string(json, "help", help.chars);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_text_free(&help);
}

void sn_report_write_whatif(const struct sn_report *report, struct sn_json *json)
{
	const struct sn_report_whatif *w = report->whatif;

	sn_json_key(json, "whatif");
	if (!w) {
		sn_json_null(json);
		return;
	}
	sn_json_object(json);
	sn_whatif_write_totals(w->answer, json);
	write_columns(w, json);
	sn_json_close(json);
}

static sn_status write_steps(const struct sn_report_whatif *w, struct sn_page *page,
			     struct sn_error *err)
{
	sn_page_chunk(page, "whatif", w->steps.count);
	COLUMN_U8(w->steps, "variant", row->variant);
	COLUMN_U32(w->steps, "loop", row->loop);
	COLUMN_F64(w->steps, "saved_share", row->saved_share);
	COLUMN_F64(w->steps, "cumulative_speedup", row->cumulative_speedup);
	COLUMN_U8(w->steps, "reliable", row->is_reliable);
	return sn_page_chunk_end(page, err);
}

static sn_status write_experts(const struct sn_report_whatif *w, struct sn_page *page,
			       struct sn_error *err)
{
	sn_page_chunk(page, "experts", w->experts.row_count);
	COLUMN_U32(w->expert_loops, "loop_number", *row);
	for (size_t c = 0; c < w->experts.column_count; c++)
		if (sn_report_is_data(&w->experts.columns[c]))
			sn_report_add_column(page, &w->experts, c);
	return sn_page_chunk_end(page, err);
}

static sn_status write_paths(const struct sn_report_whatif *w, struct sn_page *page,
			     struct sn_error *err)
{
	sn_page_chunk(page, "paths", w->paths.count);
	COLUMN_U32(w->paths, "loop_number", row->loop);
	COLUMN_U32(w->paths, "path", row->path);
	COLUMN_F64(w->paths, "weight", row->weight);
	COLUMN_F64(w->paths, "cycles", row->cycles);
	COLUMN_TEXT(w->paths, "bottleneck", row->bottleneck);
	COLUMN_F64(w->paths, "ports", row->bounds[0]);
	COLUMN_F64(w->paths, "divider", row->bounds[1]);
	COLUMN_F64(w->paths, "issue", row->bounds[2]);
	COLUMN_F64(w->paths, "front_end", row->bounds[3]);
	COLUMN_F64(w->paths, "latency", row->bounds[4]);
	COLUMN_F64(w->paths, "l2", row->levels[0]);
	COLUMN_F64(w->paths, "l3", row->levels[1]);
	COLUMN_F64(w->paths, "ram", row->levels[2]);
	COLUMN_TEXT(w->paths, "units", row->units);
	COLUMN_TEXT(w->paths, "busiest", row->busiest);
	COLUMN_TEXT(w->paths, "front_end_part", row->front_end);
	COLUMN_U32(w->paths, "chain_passes", row->chain_passes);
	return sn_page_chunk_end(page, err);
}

static sn_status write_model(const struct sn_report_whatif *w, struct sn_page *page,
			     struct sn_error *err)
{
	sn_page_chunk(page, "model", w->instructions.count);
	COLUMN_U32(w->instructions, "loop_number", row->loop);
	COLUMN_U32(w->instructions, "path", row->path);
	COLUMN_D32(w->instructions, "address_low", row->link_addr & 0xffffffffu);
	COLUMN_D32(w->instructions, "address_high", row->link_addr >> 32);
	COLUMN_F64(w->instructions, "latency", row->latency);
	COLUMN_U8(w->instructions, "chain", row->is_on_chain);
	COLUMN_U8(w->instructions, "flags", row->flags);
	COLUMN_TEXT(w->instructions, "units", row->units);
	COLUMN_F64(w->instructions, "part_ports", row->parts[SN_BOUND_PORTS]);
	COLUMN_F64(w->instructions, "part_divider", row->parts[SN_BOUND_DIVIDER]);
	COLUMN_F64(w->instructions, "part_issue", row->parts[SN_BOUND_ISSUE]);
	COLUMN_F64(w->instructions, "part_front_end", row->parts[SN_BOUND_FRONT_END]);
	COLUMN_F64(w->instructions, "part_latency", row->parts[SN_BOUND_LATENCY]);
	return sn_page_chunk_end(page, err);
}

sn_status sn_report_write_quality(const struct sn_report *report, struct sn_page *page,
				  struct sn_error *err)
{
	static sn_status (*const writers[])(const struct sn_report_whatif *, struct sn_page *,
					    struct sn_error *) = {
		write_steps,
		write_experts,
		write_paths,
		write_model,
	};
	static const struct sn_report_whatif none;
	const struct sn_report_whatif *w = report->whatif ? report->whatif : &none;
	sn_status status = SN_OK;

	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]) && status == SN_OK; i++)
		status = writers[i](w, page, err);
	return status;
}
