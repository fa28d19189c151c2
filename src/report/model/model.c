#include "report/model/model.h"

#include <stdlib.h>

#include "report/model/whatif.h"

void sn_report_free(struct sn_report *report)
{
	if (!report)
		return;
	sn_report_whatif_free(report->whatif);
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
