/* The chunks of the page on what is known of each hot loop. */
#include "report/html/columns.h"
#include "report/html/html_parts.h"

static sn_status write_verdicts(const struct sn_report_evidence *e, struct sn_page *page,
				struct sn_error *err)
{
	sn_page_chunk(page, "verdicts", e->verdicts.count);
	COLUMN_U32(e->verdicts, "loop_number", row->loop);
	COLUMN_TEXT(e->verdicts, "sentence", row->sentence);
	COLUMN_TEXT(e->verdicts, "confidence", row->confidence);
	COLUMN_TEXT(e->verdicts, "disagreement", row->disagreement);
	return sn_page_chunk_end(page, err);
}

static sn_status write_kinds(const struct sn_report_evidence *e, struct sn_page *page,
			     struct sn_error *err)
{
	sn_page_chunk(page, "evidence", e->kinds.count);
	COLUMN_U32(e->kinds, "loop_number", row->loop);
	COLUMN_U8(e->kinds, "missing", row->is_missing);
	COLUMN_TEXT(e->kinds, "kind", row->name);
	COLUMN_TEXT(e->kinds, "words", row->words);
	COLUMN_TEXT(e->kinds, "command", row->command);
	return sn_page_chunk_end(page, err);
}

static sn_status write_advice(const struct sn_report_evidence *e, struct sn_page *page,
			      struct sn_error *err)
{
	sn_page_chunk(page, "advice", e->advice.count);
	COLUMN_U32(e->advice, "loop_number", row->loop);
	COLUMN_TEXT(e->advice, "grade", row->grade);
	COLUMN_TEXT(e->advice, "subject", row->subject);
	COLUMN_TEXT(e->advice, "sentence", row->sentence);
	COLUMN_TEXT(e->advice, "for", row->for_it);
	COLUMN_TEXT(e->advice, "against", row->against);
	COLUMN_F64(e->advice, "low", row->range.low);
	COLUMN_F64(e->advice, "high", row->range.high);
	COLUMN_F64(e->advice, "program_low", row->program_range.low);
	COLUMN_F64(e->advice, "program_high", row->program_range.high);
	return sn_page_chunk_end(page, err);
}

static sn_status write_scaling(const struct sn_report_evidence *e, struct sn_page *page,
			       struct sn_error *err)
{
	sn_page_chunk(page, "scaling", e->scaling.count);
	COLUMN_U32(e->scaling, "loop_number", row->loop);
	COLUMN_TEXT(e->scaling, "configuration", row->configuration);
	COLUMN_TEXT(e->scaling, "reason", row->reason);
	COLUMN_F64(e->scaling, "workers", row->workers);
	COLUMN_F64(e->scaling, "speedup", row->speedup);
	COLUMN_F64(e->scaling, "ideal_speedup", row->ideal_speedup);
	COLUMN_F64(e->scaling, "efficiency", row->efficiency);
	COLUMN_F64(e->scaling, "efficiency_low", row->interval.low);
	COLUMN_F64(e->scaling, "efficiency_high", row->interval.high);
	return sn_page_chunk_end(page, err);
}

static sn_status write_measured(const struct sn_report_evidence *e, struct sn_page *page,
				struct sn_error *err)
{
	sn_page_chunk(page, "measured", e->figures.count);
	COLUMN_U32(e->figures, "loop_number", row->loop);
	COLUMN_TEXT(e->figures, "bucket", row->bucket);
	COLUMN_TEXT(e->figures, "name", row->name);
	COLUMN_F64(e->figures, "cycles", row->cycles);
	COLUMN_F64(e->figures, "low", row->low);
	COLUMN_F64(e->figures, "high", row->high);
	COLUMN_F64(e->figures, "samples", row->samples);
	COLUMN_TEXT(e->figures, "state", row->state);
	COLUMN_F64(e->figures, "speedup", row->speedup);
	COLUMN_F64(e->figures, "speedup_low", row->range.low);
	COLUMN_F64(e->figures, "speedup_high", row->range.high);
	return sn_page_chunk_end(page, err);
}

static sn_status write_entries(const struct sn_report_evidence *e, struct sn_page *page,
			       struct sn_error *err)
{
	sn_page_chunk(page, "entries", e->entries.count);
	COLUMN_U32(e->entries, "loop_number", row->loop);
	COLUMN_TEXT(e->entries, "bucket", row->bucket);
	COLUMN_TEXT(e->entries, "call_path", row->call_path);
	COLUMN_F64(e->entries, "instances", row->instances);
	COLUMN_F64(e->entries, "share", row->share);
	COLUMN_F64(e->entries, "cycles", row->cycles);
	return sn_page_chunk_end(page, err);
}

static sn_status write_curve_steps(const struct sn_report_evidence *e, struct sn_page *page,
				   struct sn_error *err)
{
	sn_page_chunk(page, "curves", e->steps.count);
	COLUMN_U8(e->steps, "variant", row->curve);
	COLUMN_U32(e->steps, "loop", row->loop);
	COLUMN_F64(e->steps, "saved_share", row->saved_share);
	COLUMN_F64(e->steps, "cumulative_speedup", row->cumulative_speedup);
	COLUMN_F64(e->steps, "low", row->range.low);
	COLUMN_F64(e->steps, "high", row->range.high);
	return sn_page_chunk_end(page, err);
}

void sn_report_write_curves(const struct sn_report *report, struct sn_json *json)
{
	sn_json_key(json, "measured");
	sn_json_array(json);
	for (size_t i = 0; i < report->evidence.curves.count; i++) {
		const struct sn_report_curve *curve = &report->evidence.curves.items[i];

		sn_json_object(json);
		sn_json_member_string(json, "variant", curve->variant);
		sn_json_member_double(json, "measured_share", curve->measured_share);
		sn_json_member_double(json, "speedup", curve->speedup);
		sn_json_member_double(json, "speedup_low", curve->range.low);
		sn_json_member_double(json, "speedup_high", curve->range.high);
		sn_json_member_uint(json, "loops", curve->loops);
		sn_json_member_uint(json, "loops_for_80_percent", curve->loops_for_80_percent);
		sn_json_close(json);
	}
	sn_json_close(json);
}

sn_status sn_report_write_evidence(const struct sn_report *report, struct sn_page *page,
				   struct sn_error *err)
{
	sn_status status = write_verdicts(&report->evidence, page, err);

	if (status == SN_OK)
		status = write_kinds(&report->evidence, page, err);
	if (status == SN_OK)
		status = write_advice(&report->evidence, page, err);
	if (status == SN_OK)
		status = write_scaling(&report->evidence, page, err);
	if (status == SN_OK)
		status = write_measured(&report->evidence, page, err);
	if (status == SN_OK)
		status = write_entries(&report->evidence, page, err);
	if (status == SN_OK)
		status = write_curve_steps(&report->evidence, page, err);
	return status;
}
