/** The steps of sn_report_new, in its order. */
#ifndef SN_REPORT_MODEL_MODEL_PARTS_H
#define SN_REPORT_MODEL_MODEL_PARTS_H

#include "report/model/model.h"
#include "views/loop_evidence.h"

/** Asks the static model of the analysis's machine about the hottest loops. The rows come later:
 *  the summary's hint needs no more. */
void sn_report_ask_whatif(struct sn_report *report, struct sn_analysis *analysis);
/** The summary's figures, warnings and verdict, and what the experiment says of itself. */
void sn_report_add_run(struct sn_report *report);
/** Modules, categories, functions, loops, processes and threads: all indexes point to these. */
void sn_report_add_rows(struct sn_report *report);
/** Call paths, places, points, records and waits. */
void sn_report_add_paths(struct sn_report *report);
/** Listings, sources and compile options of what is above 0.1 % of CPU time (or among the 500
 *  hottest functions). */
void sn_report_add_code(struct sn_report *report, struct sn_structures *structures);
/** The table of loops; `has_details`: each of its columns, the steps of the
 *  speed-ups, and the paths and instructions of hot loops. */
void sn_report_add_whatif(struct sn_report *report, struct sn_structures *structures,
			  bool has_details);
/** Verdict, evidence and advice of the loops above 0.1 % of CPU time. */
void sn_report_add_evidence(struct sn_report *report, struct sn_structures *structures);
/** What the static model says of a loop, beside what was measured of it. */
void sn_report_add_static_figure(struct sn_report *report, uint32_t loop,
				 const struct sn_loop_told *told);
/** Variants and instances of loops, and what the program would gain. */
void sn_report_add_measured(struct sn_report *report, const struct sn_loop_runs *runs);
/** Adds the tables of the views with `is_in_report` and with `page_title`, as the options want
 * them. */
sn_status sn_report_add_tables(struct sn_report *report, struct sn_structures *structures,
			       const struct sn_report_options *options, struct sn_error *err);

/** The index of a source file; SN_NONE for NULL. */
uint32_t sn_report_file(struct sn_report *report, const char *path);

#endif
