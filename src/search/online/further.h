/**
 * Further starts of a program, each for one source, that an earlier search has left: a search of the recorded run
 * takes their values again.
 */
#ifndef SN_SEARCH_ONLINE_FURTHER_H
#define SN_SEARCH_ONLINE_FURTHER_H

#include "profile/analysis.h"
#include "search/evidence/sources.h"

/** The values that a source has in another run of the program, made ready to be joined to `to`, and to other parts of its run
 *  (sn_recorded_join). It borrows both; the caller frees. */
struct sn_recorded *sn_further_values_read(const struct sn_recorded *to, struct sn_analysis *other,
					   const struct sn_source *source);
/** Adds the values that a source has in another run of the program, whose own time is not the phase's. */
void sn_further_values_join(struct sn_recorded *recorded, struct sn_analysis *other,
			    const struct sn_source *source);

/** Takes the values of the starts that a search of this run has made: those beside the run, or in the folder where it was
 *  recorded, that say so in their label and began after it; and of a recording of accesses in its folder (sonde
 *  analyze). A source that the run has itself is left alone. Of several starts for one source the newest counts; what took
 *  more than `budget` of the CPU time, beside what the run itself took, is refused. Says on standard error which it
 *  takes, unless `is_quiet`. Returns the sources, bits. */
uint32_t sn_further_join(struct sn_recorded *recorded, struct sn_analysis *analysis,
			 const struct sn_analysis_options *options, double budget, bool is_quiet);

#endif
