/** From a profile to the report model. */
#ifndef SN_REPORT_MODEL_MODEL_PARTS_H
#define SN_REPORT_MODEL_MODEL_PARTS_H

#include "profile/profile.h"
#include "report/model/model.h"

struct sn_structures;

/**
 * The report of a profile: numbers, call paths, records. The profile's texts are copied. What the
 * profile's filter leaves out is not in the report. The caller frees.
 */
struct sn_report *sn_report_new(const struct sn_profile *profile, struct sn_structures *structures);

/** Takes the run's figures and the verdict from the summary, and adds listings, sources and compile
 * options of what is above 0.1 % of CPU time (or among the 500 hottest), as far as the structures
 * have them; and what the static model says of the hottest loops (200 at most) for the machine that
 * this runs on, if its CPU is known. */
void sn_report_add_code(struct sn_report *report, const struct sn_profile *profile,
			struct sn_structures *structures);

/* ---- between the files of this folder ---- */

/** Call paths, places, points, records and waits; functions and loops are there already. */
void sn_report_add_paths(struct sn_report *report, const struct sn_profile *profile);
/** The phases of the run, as the page reads them (docs/format/page-phases.md); nothing where there
 * are none to find. Functions and loops are there already. */
void sn_report_add_phases(struct sn_report *report, const struct sn_profile *profile,
			  struct sn_structures *structures);
/** The index of a source file; SN_NONE for NULL. */
uint32_t sn_report_file(struct sn_report *report, const char *path);

#endif
