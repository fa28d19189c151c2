/* The steps from an analysis to the report, and the report's end. */
#include "report/model/model.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "caches/replay.h"
#include "report/model/model_parts.h"

static void summarise(struct sn_report *report, struct sn_analysis *analysis)
{
	report->summary = sn_summary_new(analysis->profile, analysis->structures,
					 report->whatif ? report->whatif->answer : NULL);
	if (report->machine_warning)
		sn_summary_warn(report->summary, report->machine_warning);
}

/* Nothing to find phases in is no error: the report has none. */
static void add_phases(struct sn_report *report, const struct sn_analysis *analysis)
{
	struct sn_phases_options options = { .structures = analysis->structures };

	if (sn_phases_new(analysis->profile, &options, &report->phases, NULL) != SN_OK)
		report->phases = NULL;
}

struct sn_report *sn_report_begin(struct sn_analysis *analysis)
{
	struct sn_report *report = sn_alloc_zeroed(1, sizeof(*report));

	report->analysis = analysis;
	report->profile = analysis->profile;
	sn_report_ask_whatif(report, analysis);
	summarise(report, analysis);
	return report;
}

sn_status sn_report_complete(struct sn_report *report, const struct sn_report_options *options,
			     struct sn_error *err)
{
	struct sn_analysis *analysis = report->analysis;
	struct sn_progress progress;
	sn_status status;

	sn_progress_begin(&progress, "collecting times and phases", 0);
	sn_report_add_run(report);
	sn_report_add_rows(report);
	sn_report_add_whatif(report, analysis->structures, options->has_details);
	if (options->has_details) {
		sn_report_add_evidence(report, analysis->structures);
		sn_report_add_paths(report);
		add_phases(report, analysis);
		sn_report_add_code(report, analysis->structures);
	}
	status = sn_report_add_tables(report, analysis->structures, options, err);
	sn_progress_end(&progress);
	return status;
}

sn_status sn_report_new(struct sn_analysis *analysis, const struct sn_report_options *options,
			struct sn_report **out, struct sn_error *err)
{
	struct sn_report *report = sn_report_begin(analysis);
	sn_status status = sn_report_complete(report, options, err);

	if (status == SN_OK)
		*out = report;
	else
		sn_report_free(report);
	return status;
}

void sn_report_free(struct sn_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->tables.count; i++)
		sn_table_free(&report->tables.items[i].table);
	sn_vec_free(&report->tables);
	for (size_t i = 0; i < report->row_tables.count; i++)
		sn_table_free(&report->row_tables.items[i].table);
	sn_vec_free(&report->row_tables);
	sn_report_whatif_free(report->whatif);
	sn_report_evidence_free(&report->evidence);
	sn_replay_free(report->replay);
	sn_phases_free(report->phases);
	sn_summary_free(report->summary);
	sn_vec_free(&report->warnings);
	sn_vec_free(&report->environment);
	sn_vec_free(&report->categories);
	sn_vec_free(&report->modules);
	sn_vec_free(&report->files);
	sn_vec_free(&report->functions);
	sn_vec_free(&report->loops);
	sn_vec_free(&report->nodes);
	sn_vec_free(&report->places);
	sn_vec_free(&report->points);
	sn_vec_free(&report->processes);
	sn_vec_free(&report->threads);
	sn_vec_free(&report->records);
	sn_vec_free(&report->waits);
	sn_vec_free(&report->instructions);
	sn_interner_free(&report->file_paths);
	sn_arena_free(&report->arena);
	free(report);
}
