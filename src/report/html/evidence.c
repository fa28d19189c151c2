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
	return status;
}
